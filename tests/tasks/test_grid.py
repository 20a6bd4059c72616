"""``workbench compare --dataset`` and ``workbench results``."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.test_cli import needs_model, records, run

pytestmark = [pytest.mark.slow, needs_model]

ROWS = [
    {"q": "A colour: ", "schema": {"enum": ["red", "green", "blue"]}},
    {"q": "Is it? ", "schema": {"type": "boolean"}},
    {"q": "A number: ", "schema": {"type": "nonsense"}},
]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of three rows, one of them bad."""
    folder = tmp_path_factory.mktemp("grid")
    rows = folder / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS) + "not json\n")
    out = folder / "runs.parquet"
    result = run(
        "compare", "--dataset", str(rows), "--column", "prompt=q", "--seeds", "2",
        "--methods", "unconstrained,automaton,asap", "--max-tokens", "12", "--out", str(out),
    )  # fmt: skip
    assert result.exit_code == 1  # bad rows
    assert "row 4: not JSON" in result.stderr
    assert "/type: expected one of array" in result.stderr
    return out


def test_every_run_is_a_row(compared: Path) -> None:
    rows = pq.read_table(compared).to_pylist()
    assert [row["status"] for row in rows].count("done") == 2 * 3 * 2
    exact = [row for row in rows if row["contender"] == "automaton"]
    assert all(row["valid"] for row in exact)


def test_a_row_has_what_was_given_and_the_tokens(compared: Path) -> None:
    rows = pq.read_table(compared).to_pylist()
    assert {row["prompt"] for row in rows} == {row["q"] for row in ROWS}
    schemas = [json.loads(row["grammar"]) for row in rows]
    assert all(schema in [row["schema"] for row in ROWS] for schema in schemas)
    assert {row["notation"] for row in rows} == {"json_schema"}
    for row in rows:
        assert len(row["token_ids"] or ()) == (row["tokens"] or 0)


def test_a_second_call_computes_nothing_again(compared: Path) -> None:
    before = compared.read_bytes()
    rows = compared.with_name("rows.jsonl")
    run(
        "compare", "--dataset", str(rows), "--column", "prompt=q", "--seeds", "2",
        "--methods", "unconstrained,automaton,asap", "--max-tokens", "12", "--out", str(compared),
    )  # fmt: skip
    assert compared.read_bytes() == before


def test_other_processes_write_the_same_file(compared: Path) -> None:
    out = compared.with_name("jobs.parquet")
    rows = compared.with_name("rows.jsonl")
    run(
        "compare", "--dataset", str(rows), "--column", "prompt=q", "--seeds", "2", "--jobs", "2",
        "--methods", "unconstrained,automaton,asap", "--max-tokens", "12", "--out", str(out),
    )  # fmt: skip
    assert out.read_bytes() == compared.read_bytes()


def test_rows_share_passes_and_take_their_own_tokens(compared: Path) -> None:
    rows = compared.with_name("rows.jsonl")
    together = ("compare", "--dataset", str(rows), "--column", "prompt=q", "--seeds", "2",
                "--methods", "unconstrained,automaton,asap", "--max-tokens", "12")  # fmt: skip
    files = {}
    for name, more in {
        "shared": ("--together", "3"),
        "jobs": ("--together", "3", "--jobs", "2"),
    }.items():
        files[name] = compared.with_name(f"{name}-together.parquet")
        run(*together, *more, "--out", str(files[name]))
    assert files["shared"].read_bytes() == files["jobs"].read_bytes()
    alone, shared = (pq.read_table(path).to_pylist() for path in (compared, files["shared"]))
    for one, other in zip(alone, shared, strict=True):
        nats = [(row.pop("free_nats"), row.pop("forced_nats")) for row in (one, other)]
        for row in (one, other):
            for derived in ("perplexity", "perplexity_free", "perplexity_forced", "mask_bits"):
                row.pop(derived)
        assert one == other
        assert nats[0] == pytest.approx(nats[1], abs=1e-3, nan_ok=True)
    refused = run(*together, "--out", str(files["shared"]))
    assert "other settings: together 3" in refused.stderr


def test_results_are_a_table_rows_or_a_plot(compared: Path, tmp_path: Path) -> None:
    table = run("results", str(compared))
    assert table.exit_code == 0
    head, *rows = table.stdout.splitlines()
    assert head.split()[:4] == ["model", "contender", "results", "valid"]
    assert [row.split()[1:3] for row in rows[:3]] == [
        ["unconstrained", "4"],
        ["automaton", "4"],
        ["asap", "4"],
    ]
    assert "6 failed" in table.stdout
    assert len(records(run("results", str(compared), "--json"))) == 3 * 3 * 2
    assert run("results", str(compared), "--csv").stdout.startswith("key,status")
    by_row = run("results", str(compared), "--by", "row").stdout.splitlines()
    assert [line.split()[0] for line in by_row[1:3]] == ["1", "2"]
    wrong = run("results", str(compared), "--by", "rows")
    assert wrong.exit_code == 2
    assert "no column 'rows'" in wrong.stderr
    assert run("results", str(tmp_path / "none.parquet")).exit_code == 2


def test_a_distribution_is_drawn(compared: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "perplexity.svg"
    assert run("results", str(compared), "--plot", str(picture)).exit_code == 0
    assert "<svg" in picture.read_text("utf-8")
    assert run("results", str(compared), "--plot", str(tmp_path / "a.txt")).exit_code == 2
