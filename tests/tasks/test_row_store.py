"""Results files as rows in SQLite: what is read, how it is filtered and sorted, damaged and hostile files."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import time_budget
from workbench.tasks.results import ResultsFile, files_of, measured_path, read_results
from workbench.tasks.row_store import MAX_CELL, MAX_COLUMNS, StoredRows, write_rows
from workbench.tasks.summary import default_groups, summary_of
from workbench.tasks.task import Outcome, Task, Work

WORK = Work("", "", "workbench.decoding.grid:given")
LONG = json.dumps({"enum": ["x" * 2_000]})


def results(path: Path, count: int = 60) -> Path:
    """A file of runs, every seventh of which failed."""
    draw = random.Random(3)
    grammar = {"text": LONG, "notation": "json_schema", "start": "start"}
    tasks = [
        Task(f"row {i // 2} · {'ab'[i % 2]}", "m", {"prompt": f"number {i}: ", "grammar": grammar})
        for i in range(count)
    ]
    file = ResultsFile(path, tasks, {"temperature": 0.5, "chat": None}, WORK)
    for i, task in enumerate(tasks):
        record = {
            "row": i // 2, "contender": "ab"[i % 2], "model": "m", "valid": draw.random() < 0.5,
            "tokens": draw.randint(1, 9), "perplexity": 1 / (1 + i), "ended": True, "token_ids": [i],
            "free_nats": 1.0, "forced_nats": 0.0,
        }  # fmt: skip
        failed = i % 7 == 6
        file.outcomes[task.key] = Outcome(
            key=task.key,
            status="failed" if failed else "done",
            record={} if failed else record,
            error=f"refused {i % 2}" if failed else "",
            measured={} if failed else {"task_seconds": float(i)},
        )
    file.write()
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return results(tmp_path_factory.mktemp("stored") / "runs.parquet")


@pytest.fixture(scope="module")
def stored(file: Path) -> StoredRows:
    return opened(*files_of(file))


def opened(*files: Path) -> StoredRows:
    out = files[0].with_suffix(".db")
    out.unlink(missing_ok=True)
    write_rows(files, out)
    return StoredRows(out)


def test_the_rows_are_those_of_the_command(file: Path, stored: StoredRows) -> None:
    settings, rows = read_results(file)
    assert stored.about["settings"] == settings
    got = [stored.row(n) for n in stored.numbers("", "", down=False)]
    assert len(got) == len(rows) == 60
    for own, row in zip(got, rows, strict=True):
        for name, value in row.items():
            assert own[name] == (json.dumps(value) if isinstance(value, list) else value)
    done = next(row for row in got if row["status"] == "done")
    assert done["prompt"].startswith("number ")
    assert done["grammar"] == LONG, "longer than a cell"
    assert stored.about["summary"] == summary_of(rows, default_groups(rows))
    assert stored.about["groups"] == ["model", "contender"]


def test_what_failed_has_its_reasons(stored: StoredRows) -> None:
    assert stored.about["failed"] == 8
    assert stored.about["reasons"] == [["refused 0", 4, "row 3 · a"], ["refused 1", 4, "row 6 · b"]]


CONDITIONS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "": lambda row: True,
    "tokens > 5": lambda row: (row["tokens"] or 0) > 5,
    "tokens <= 3 and valid = true": lambda row: (
        row["tokens"] is not None and row["tokens"] <= 3 and row["valid"]
    ),
    "tokens>=3": lambda row: (row["tokens"] or 0) >= 3,
    "tokens!=3": lambda row: row["tokens"] != 3,
    "valid != true": lambda row: row["valid"] is not True,
    "REFUSED 1": lambda row: "refused 1" in (row["error"] or ""),
    "contender = b and number 1": lambda row: (
        row["contender"] == "b" and "number 1" in row["prompt"]
    ),
    "status = failed": lambda row: row["status"] == "failed",
    "nothing has this": lambda row: False,
    "a = b": lambda row: False,  # no column: a text
}


@pytest.mark.parametrize("wanted", CONDITIONS)
@pytest.mark.parametrize("sort", ["", "perplexity", "contender", "valid"])
@pytest.mark.parametrize("down", [False, True])
def test_filters_and_orders(stored: StoredRows, wanted: str, sort: str, down: bool) -> None:
    every = {n: stored.row(n) for n in stored.numbers("", "", down=False)}
    kept = [n for n, row in every.items() if CONDITIONS[wanted](row)]
    if sort:
        with_value = [n for n in kept if every[n][sort] is not None]
        with_value.sort(key=lambda n: every[n][sort], reverse=down)
        if down:  # equal values stay in the order of the file
            with_value.sort(key=lambda n: (_negated(every[n][sort]), n))
        kept = with_value + [n for n in kept if every[n][sort] is None]
    assert stored.numbers(wanted, sort, down=down) == kept


def _negated(value: Any) -> Any:
    return tuple(-ord(one) for one in value) if isinstance(value, str) else -value


def test_cells_are_cut_and_rows_are_whole(stored: StoredRows) -> None:
    (row,) = stored.rows([1])
    place = [*stored.about["columns"]].index("grammar")
    assert row[1 + place] == LONG[:MAX_CELL]
    assert stored.whole_rows([1])[0][place] == LONG
    assert stored.rows([10**9]) == []


def test_a_distribution_has_the_values_of_each_group(file: Path, stored: StoredRows) -> None:
    frame = pd.DataFrame([row for row in read_results(file)[1] if row["status"] == "done"])
    found = dict(stored.distribution("perplexity", "tokens > 2"))
    for name, its in frame[frame["tokens"] > 2].groupby("contender"):
        assert found[f"m {name}"] == list(its["perplexity"])


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda rows: rows.numbers("tokens > x", "", down=False), "expected a number"),
        (lambda rows: rows.numbers("valid = x", "", down=False), "expected a number"),
        (lambda rows: rows.numbers("", 'c0"; DROP TABLE rows', down=False), "no column"),
        (lambda rows: rows.distribution("contender", ""), "no column 'contender' of numbers"),
        (lambda rows: rows.row(10**9), "no row"),
    ],
)
def test_error_for_what_the_rows_do_not_have(stored: StoredRows, ask: Any, says: str) -> None:
    with pytest.raises(WorkbenchError, match=says):
        ask(stored)


def test_a_question_ends_at_its_deadline(tmp_path: Path) -> None:
    many = tmp_path / "many.jsonl"
    many.write_text("".join(json.dumps({"a": f"<{i}> {'x' * 400}"}) + "\n" for i in range(20_000)))
    rows = opened(many)
    with time_budget(1e-9), pytest.raises(LimitError):
        rows.numbers("zzz", "a", down=True)
    assert rows.numbers("<199>", "", down=False) == [200]


def test_a_journal_is_read_while_tasks_run(tmp_path: Path) -> None:
    tasks = [Task(f"t{i}", "", {}) for i in range(3)]
    file = ResultsFile(tmp_path / "runs.parquet", tasks, {"work": "audit"})
    file.keep(Outcome(key="t1", status="done", record={"over": True}))
    with file._journal.open("a") as journal:
        journal.write('{"key": "t2", "sta')  # the process writes it now
    rows = opened(file._journal)
    assert rows.about["settings"] == {"work": "audit"}
    assert [rows.row(n)["key"] for n in rows.numbers("", "", down=False)] == ["t1"]
    assert rows.about["bad"][0][0] == 3
    assert rows.about["bad"][0][1].startswith("not JSON")


def test_a_row_of_the_journal_replaces_that_of_the_file(tmp_path: Path) -> None:
    tasks = [Task(f"t{i}", "", {}) for i in range(2)]
    file = ResultsFile(tmp_path / "runs.parquet", tasks, {})
    file.keep(Outcome(key="t0", status="failed", error="lost"))
    file.write()
    again = ResultsFile(tmp_path / "runs.parquet", tasks, {})
    again.keep(Outcome(key="t0", status="done", record={"tokens": 1}))
    rows = opened(*files_of(tmp_path / "runs.parquet"))
    assert rows.about["rows"] == 1
    assert rows.about["failed"] == 0


LINES: dict[str, tuple[str, dict[str, Any]]] = {
    "evaluate": (
        '{"begun": {"model": "builtin", "size": {}, "experiments": [], "machine": ""}}\n'
        '{"model": "builtin", "key": "table 2", "record": {"f1": 0.5}, "seconds": 1.0, "date": "x"}\n',
        {"key": "table 2 · builtin", "f1": 0.5, "status": "done", "seconds": 1.0},
    ),
    "compare --json": (
        '{"kind": "failed", "method": "lalr", "prompt": "", "seed": 0, "message": "no", "hint": ""}\n',
        {"status": "failed", "error": "no", "method": "lalr"},
    ),
    "audit --json": (
        '{"name": "a", "engine": "x", "status": "audited", "findings": []}\n',
        {"ended": "audited", "status": "done", "findings": "[]"},
    ),
    "names of ours": (
        '{"n": 7, "c0": "x", "": 1, "rows": 2}\n',
        {"n": 7, "c0": "x", "": 1, "rows": 2},
    ),
    "surrogates": (
        '{"a": "\\ud800", "b": 1e999, "c": 1180591620717411303424}\n',
        {"a": "\\ud800", "b": None},
    ),
}


@pytest.mark.parametrize("kind", LINES)
def test_json_lines(kind: str, tmp_path: Path) -> None:
    text, expected = LINES[kind]
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    rows = opened(path)
    (n,) = rows.numbers("", "", down=False)
    assert rows.row(n).items() >= expected.items()


def damaged(file: Path) -> dict[str, bytes]:
    whole = file.read_bytes()
    draw = random.Random(1)
    flipped = bytearray(whole)
    for _ in range(40):
        flipped[draw.randrange(4, len(whole))] ^= 1 << draw.randrange(8)
    return {
        "empty": b"",
        "half": whole[: len(whole) // 2],
        "head": b"PAR1",
        "flipped": bytes(flipped),
        "noise": draw.randbytes(5_000),
        "text": b"hello\n" * 100,
        "pickle": b"cos\nsystem\n(S'touch /tmp/no'\ntR.",
        "nested": b'{"a": ' + b"[" * 100_000 + b"\n",
        "list": b"[1, 2]\n",
        "line": b'{"key": 5, "record": 7}\n{"settings": 3}\n',
    }


@pytest.mark.parametrize("kind", ["empty", "half", "head", "noise", "text", "pickle", "nested", "list", "line"])  # fmt: skip
def test_error_for_damaged_files(kind: str, file: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(damaged(file)[kind])
    with pytest.raises(WorkbenchError) as error:
        opened(path)
    assert error.value.hint


def test_error_for_a_file_without_results(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(WorkbenchError, match="no column 'key'"):
        opened(path)
    with pytest.raises(WorkbenchError, match="has no results"):
        opened(measured_path(file))
    wide = {"key": "a", "status": "done"} | {f"x{i}": i for i in range(MAX_COLUMNS)}
    pq.write_table(pa.table({name: [value] for name, value in wide.items()}), path)
    with pytest.raises(WorkbenchError, match="columns"):
        opened(path)


def as_process(path: Path, out: Path, megabytes: int = 256, seconds: int = 60) -> tuple[int, str]:
    command = (sys.executable, "-m", "workbench.tasks.row_store", out, megabytes, seconds, path)
    ended = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout


@pytest.mark.slow
def test_a_separate_process_survives_what_a_file_describes(file: Path, tmp_path: Path) -> None:
    """A dictionary with one text of a megabyte, used by a million rows: a terabyte."""
    path, out = tmp_path / "bomb.parquet", tmp_path / "bomb.db"
    count = 1_000_000
    column = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), ["x" * 1_000_000])
    keys = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), ["k"])
    table = pa.table({"key": keys, "status": keys, "text": column})
    pq.write_table(table, path, compression="zstd")
    assert path.stat().st_size < 100_000
    code, said = as_process(path, out)
    assert code
    assert "memory" in said or "cannot read" in said
    path.write_bytes(damaged(file)["flipped"])
    assert as_process(path, tmp_path / "flipped.db")[0] in (0, 1, -6, -11)  # an error, or a crash
    assert as_process(file, tmp_path / "good.db") == (0, "")
