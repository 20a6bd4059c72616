"""``workbench audit`` with an engine in a process of its own; adapters of the engines in use."""

from __future__ import annotations

import json
import sys
import time
import tomllib
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.audit.wrong_engine import WRONG
from tests.cli.test_cli import records, run
from workbench.audits import engines
from workbench.audits.audit_tasks import read_audits, row_of
from workbench.audits.auditor import SITES
from workbench.audits.engines import AUDITED
from workbench.audits.findings import (
    Audit,
    Finding,
    Kind,
    Level,
    Policy,
    Reproduction,
    Status,
)
from workbench.base.errors import WorkbenchError
from workbench.tasks.results import ResultsFile
from workbench.tasks.task import Outcome, Task

pytest.importorskip("jsonschema")

ROOT = Path(__file__).parents[2]
UNDER = {"type": "integer", "maximum": 90}


@pytest.fixture(autouse=True)
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine with mistakes is known; its process finds it in this repository."""
    monkeypatch.setitem(AUDITED, "wrong", WRONG)
    monkeypatch.setenv(SITES, str(ROOT))


def schema_file(folder: Path, name: str, schema: object) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(schema))
    return path


@pytest.mark.slow
def test_a_finding_is_printed_with_its_program(tmp_path: Path) -> None:
    path, page = schema_file(tmp_path, "ninety", UNDER), tmp_path / "page.md"
    result = run("audit", str(path), "--engines", "wrong", "--page", str(page))
    assert result.exit_code == 1
    assert "it allows" in result.stdout
    assert "in /maximum; jsonschema" in result.stdout
    assert "reproduction (confirmed)" in result.stdout
    written = page.read_text()
    assert "under-constraining: `maximum` | 1 | 1 |" in written
    assert "ninety.json" in written
    assert str(tmp_path) not in written


@pytest.mark.slow
def test_a_process_that_crashes_or_hangs_ends_one_audit(tmp_path: Path) -> None:
    for name in ("crash", "hang", "z"):
        schema_file(tmp_path, name, {"$comment": name, **UNDER})
    kept, page = tmp_path / "kept.parquet", tmp_path / "page.md"
    command = ("audit", str(tmp_path), "--engines", "wrong", "--patience", "4", "--json")
    result = run(*command, "--out", str(kept))
    found = records(result)
    assert [one["status"] for one in found] == ["crashed", "timed out", "audited"]
    assert "its process ended" in found[0]["reason"]
    assert [one["kind"] for one in found[2]["findings"]] == [Kind.UNDER]
    started = time.monotonic()
    assert records(run(*command, "--out", str(kept))) == found, "nothing is audited again"
    assert time.monotonic() - started < 4
    again = run("audit", "--earlier", str(kept), "--page", str(page))
    assert again.exit_code == 1
    assert "wrong" in again.stdout.splitlines()[1]
    assert f"workbench audit {tmp_path.name} --engines wrong --patience 4" in page.read_text()
    head, row, *_ = run("results", str(kept)).stdout.splitlines()
    assert head.split()[:4] == ["engine", "version", "results", "audited"]
    assert row.split()[2:6] == ["3", "1", "0", "1"], "one of three audited, over 0, under 1"


def rows_file(folder: Path, count: int) -> Path:
    rows = [{"id": f"row \ud800{i}", "schema": {**UNDER, "minimum": i}} for i in range(count)]
    path = folder / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


RUNNERS = [
    ("--jobs", "2"),
    pytest.param(("--ray", "local"), marks=pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("options", RUNNERS)
def test_every_runner_writes_the_same_audits(options: tuple[str, ...], tmp_path: Path) -> None:
    rows, one, other = rows_file(tmp_path, 3), tmp_path / "1.parquet", tmp_path / "2.parquet"
    command = ("audit", str(rows), "--engines", "wrong", "--shorten", "0", "--out")
    assert run(*command, str(one)).exit_code == 1
    assert run(*command, str(other), *options).exit_code == 1
    assert one.read_bytes() == other.read_bytes()


def audit(name: str) -> Audit:
    made = Reproduction(
        constraint="{}", text="9", so_far="", token=None, program="print()\n", printed="allowed",
        confirmed=True,
    )  # fmt: skip
    shown: dict[str, Any] = {
        "so_far": "\N{SNOWMAN}",
        "token": None,
        "text": "9",
        "why": "",
        "place": "/x",
    }
    findings = tuple(
        Finding(kind=kind, level=Level.TEXT, evidence="", reproduction=again, **shown)
        for kind, again in ((Kind.OVER, made), (Kind.OURS, None))
    )
    return Audit(
        name=name, engine="wrong", version="1", status=Status.AUDITED, texts=3, masks=9, cut=True,
        findings=findings, policies=(Policy("white space", " 1"),), seconds=0.25,
    )  # fmt: skip


def test_an_audit_is_read_as_it_was_written(tmp_path: Path) -> None:
    path, found = tmp_path / "audits.parquet", audit("a")
    plain = Audit(name="b", engine="wrong", version="1", status=Status.REFUSED, reason="no")
    tasks = [Task("a", "", {}), Task("b", "", {})]
    results = ResultsFile(path, tasks, {"work": "audit", "files": ["x y.json"], "texts": 6})
    for task, one in zip(tasks, (found, plain), strict=True):
        made = row_of(one)
        results.keep(
            Outcome(key=task.key, status="done", record=made.record, measured=made.measured)
        )
    assert read_audits(path)[1] == [found, plain], "from the journal"
    results.write()
    command, read = read_audits(path)
    assert read == [found, plain]
    assert command == "workbench audit 'x y.json' --engines wrong --texts 6"


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_one_constraint_that_cannot_be_judged_is_an_error(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    bad = schema_file(tmp_path, "bad", {"type": 5})
    result = run("audit", str(bad), "--engines", "wrong", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "type" in result.stderr
    both = run("audit", str(bad), str(bad), "--engines", "wrong", "--json", "--shorten", "0")
    assert [one["status"] for one in records(both)] == ["not judged"]


def test_a_file_of_other_settings_is_left_as_it_is(tmp_path: Path) -> None:
    kept = tmp_path / "kept.parquet"
    results = ResultsFile(kept, [], {"work": "audit", "texts": 5})
    results.write()
    before = kept.read_bytes()
    path = schema_file(tmp_path, "ninety", UNDER)
    result = run("audit", str(path), "--engines", "wrong", "--out", str(kept))
    assert result.exit_code == 2
    assert "has results with other settings" in result.stderr
    assert kept.read_bytes() == before


@pytest.mark.slow
def test_json_lines_and_the_public_function(tmp_path: Path) -> None:
    rows = [{"id": f"row {i}", "schema": {"type": "boolean"}} for i in range(9)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    result = run("audit", str(path), "--engines", "wrong", "--sample", "2", "--json")
    assert result.exit_code == 0
    assert len(records(result)) == 2
    (found,) = wb.audit(wb.Grammar.from_regex("a|bc"), "wrong")
    assert (found.status, found.findings) == (Status.AUDITED, ())
    assert found.texts == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--engines", "nobody", "s.json"), "there is no engine 'nobody' to audit"),
        (("--engines", "absent", "s.json"), "absent is not installed"),
        (("--engines", "wrong"), "expected a schema or a grammar"),
        (("--engines", "wrong", "no.json"), "cannot read no.json"),
        (("--engines", "wrong", "s.json", "--instances", "no.txt"), "cannot read no.txt"),
        (("--earlier", "s.json"), "cannot read results from s.json"),
        (("--earlier", "runs.parquet"), "runs.parquet has no audits"),
        (("--engines", "wrong", "s.txt"), "the notation of s.txt is not known"),
    ],
)
def test_error_wrong_use(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = engines.AuditedEngine("absent", "no-such-distribution", "", "", "", {})
    monkeypatch.setitem(AUDITED, "absent", absent)
    monkeypatch.chdir(tmp_path)
    schema_file(tmp_path, "s", UNDER)
    (tmp_path / "s.txt").write_text("{}")
    ResultsFile(tmp_path / "runs.parquet", [], {"temperature": 1.0}).write()
    result = run("audit", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_error_no_engine_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(engines, "AUDITED", {})
    result = run("audit", str(schema_file(tmp_path, "s", UNDER)))
    assert result.exit_code == 2
    assert "none of the engines is installed" in result.stderr


def test_error_without_the_validator_before_an_engine_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(engines, "AUDITED", {})
    monkeypatch.setitem(sys.modules, "jsonschema.validators", None)
    result = run("audit", str(schema_file(tmp_path, "s", UNDER)))
    assert result.exit_code == 2
    assert "the package jsonschema, which is missing" in result.stderr
    assert "pip install 'grammar-workbench[audit]'" in result.stderr
    with pytest.raises(WorkbenchError, match="jsonschema, which is missing"):
        wb.audit(wb.Grammar.from_json_schema(UNDER))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert any("jsonschema" in one for one in extras["optional-dependencies"]["audit"])
    (tmp_path / "a.regex").write_text("a|b")  # a regex is judged without it
    result = run("audit", str(tmp_path / "a.regex"))
    assert "none of the engines is installed" in result.stderr


@pytest.mark.slow
def test_an_engine_that_cannot_be_imported_is_not_usable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = replace(WRONG, name="broken", adapter="tests.audit.no_such_module:Peer")
    monkeypatch.setitem(AUDITED, "broken", broken)
    for name in "ab":
        schema_file(tmp_path, name, {"$comment": name, **UNDER})
    result = run("audit", str(tmp_path), "--engines", "broken")
    assert (result.exit_code, result.stdout) == (1, "")
    why = "the engine is not usable: its process ended: ModuleNotFoundError"
    assert why in result.stderr
    assert "broken" in result.stderr
    assert "and 1 more" in result.stderr, "one line for both"
    with pytest.raises(WorkbenchError, match=why):
        wb.audit(wb.Grammar.from_json_schema(UNDER), "broken")


@pytest.mark.peers
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in AUDITED if name != "wrong"])
def test_an_engine_in_use_reads_schemas_and_regexes(name: str, tmp_path: Path) -> None:
    if not AUDITED[name].version():
        pytest.skip(f"{name} is not installed")
    for grammar in (
        wb.Grammar.from_regex("(ab|cd)+e"),
        wb.Grammar.from_json_schema({"type": "object", "properties": {"a": {"type": "boolean"}},
                                     "required": ["a"], "additionalProperties": False}),
    ):  # fmt: skip
        (found,) = wb.audit(grammar, name)
        assert (found.status, found.claims) == (Status.AUDITED, ())
        assert found.masks > 5
