"""The schema benchmark: spellings of instances, verdicts of engines, the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lab.bench.schema_page import page
from lab.bench.schema_worker import SchemaRecord, Tally, judged
from lab.bench.schemas import WORK, Plan, prepare, records_of, report
from lab.commands import app
from workbench.app.cli.main import app as installed
from workbench.audits.instances import in_declared_order, rows_of, spellings
from workbench.tasks.runners import InProcess

A_B: dict[str, Any] = {"properties": {"a": {}, "b": {}}}
B_A: dict[str, Any] = {"properties": {"b": {}, "a": {}}}
NESTED = {"properties": {"o": A_B, "l": {"items": A_B}}}
DEFINED = {
    "$defs": {"x": {"properties": {"n": {"$ref": "#/$defs/x"}, "v": {}}}},
    "$ref": "#/$defs/x",
}

#   schema                                    instance                              ordered                               because
ORDERS = [
    (A_B,                                     {"b": 1, "a": 2},                     {"a": 2, "b": 1},                     "as the properties are declared"),
    (A_B,                                     {"z": 0, "b": 1, "y": 0},             {"b": 1, "z": 0, "y": 0},             "others last, in their order"),
    (NESTED,                                  {"o": {"b": 1, "a": 2}},              {"o": {"a": 2, "b": 1}},              "inside a property"),
    (NESTED,                                  {"l": [{"b": 1, "a": 2}]},            {"l": [{"a": 2, "b": 1}]},            "inside items"),
    (DEFINED,                                 {"v": 1, "n": {"v": 1, "n": {}}},     {"n": {"n": {}, "v": 1}, "v": 1},     "through references, also recursive"),
    ({"allOf": [B_A], **A_B},                 {"b": 1, "a": 2},                     {"a": 2, "b": 1},                     "its own first, wherever they are"),
    ({"anyOf": [B_A, A_B]},                   {"a": 1, "b": 2},                     {"b": 2, "a": 1},                     "the first mention counts"),
    ({"if": B_A, "then": A_B},                {"a": 1, "b": 2},                     {"b": 2, "a": 1},                     "conditions apply to the same value"),
    ({"patternProperties": {"^o": A_B}},      {"ox": {"b": 1, "a": 2}},             {"ox": {"a": 2, "b": 1}},             "names that fit a pattern"),
    ({"additionalProperties": A_B},           {"x": {"b": 1, "a": 2}},              {"x": {"a": 2, "b": 1}},              "all other names"),
    ({"prefixItems": [A_B], "items": B_A},    [{"b": 1, "a": 2}, {"a": 1, "b": 2}], [{"a": 2, "b": 1}, {"b": 2, "a": 1}], "items by position"),
    ({"items": [A_B], "additionalItems": B_A}, [{"b": 1, "a": 2}, {"a": 1, "b": 2}], [{"a": 2, "b": 1}, {"b": 2, "a": 1}], "as draft 7 has them"),
    ({"$ref": "https://elsewhere/x"},         {"b": 1, "a": 2},                     {"b": 1, "a": 2},                     "nothing is fetched"),
    (True,                                    {"b": 1, "a": 2},                     {"b": 1, "a": 2},                     "nothing is declared"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "instance", "ordered", "because"), ORDERS, ids=[row[3] for row in ORDERS]
)
def test_declared_order(schema: Any, instance: Any, ordered: Any, because: str) -> None:
    assert json.dumps(in_declared_order(schema, instance)) == json.dumps(ordered), because


def test_an_instance_has_twelve_spellings() -> None:
    texts = spellings(A_B, {"b": "é", "a": 1})
    assert len(texts) == 12
    assert texts["declared/spaced/raw"] == '{"a": 1, "b": "é"}'
    assert texts["declared/compact/ascii"] == '{"a":1,"b":"\\u00e9"}'
    assert texts["file/indented/raw"] == '{\n  "b": "é",\n  "a": 1\n}'


def test_each_spelling_is_judged() -> None:
    row = {"schema": A_B, "tests": [{"data": {"a": 1}, "valid": True}, {"data": 1, "valid": False}]}
    tallies, wrong = judged(lambda text: " " not in text, row)
    assert tallies["declared/spaced/raw"] == Tally(0, 1, 1, 1)
    assert tallies["declared/compact/raw"] == Tally(1, 1, 1, 1)
    assert len(wrong["0"]) == 8
    assert len(wrong["1"]) == 12


ROWS: list[dict[str, Any]] = [
    {"id": "one", "schema": {"type": "integer"}, "tests": [{"data": 1, "valid": True}, {"data": "", "valid": False}]},
    {"id": "two", "schema": {"type": "array", "uniqueItems": True}, "tests": [{"data": [], "valid": True}]},
    {"id": "three", "schema": {"type": 5}, "tests": []},
]  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    written = tmp_path / "schemas.jsonl"
    written.write_text("\n".join(map(json.dumps, ROWS)))
    return written


@pytest.mark.slow
def test_a_file_is_measured_in_a_process(file: Path) -> None:
    tasks = Plan(file, ("workbench",), "all-bytes").tasks()
    one, two, three = records_of([*InProcess().outcomes(WORK, tasks)])
    assert (one.status, two.status, three.status) == ("compiled", "refused", "refused")
    assert one.tallies["file/compact/raw"] == Tally(1, 1, 0, 1)
    assert one.ms is not None
    assert one.ms <= (one.first_ms or 0)
    assert two.keyword == "uniqueItems"
    assert one.mask_us
    assert one.kilobytes >= 0


@pytest.mark.slow
def test_a_folder_is_measured_in_the_order_of_its_instances(tmp_path: Path) -> None:
    closed = {**A_B, "additionalProperties": False}
    tests = [
        {"data": {"b": 1, "a": 2}, "valid": True, "description": "in another order"},
        {"data": {"c": 1}, "valid": False},
    ]
    for name in ("Github_easy---o1", "JME_7"):
        text = json.dumps({"schema": closed, "tests": tests, "meta": {}})
        (tmp_path / f"{name}.json").write_text(text)
    engines = ("workbench", "workbench-any-order")
    plan = Plan(tmp_path, engines, "all-bytes", "easy")
    declared, any_order = records_of([*InProcess().outcomes(WORK, plan.tasks())])
    assert (declared.id, declared.subset) == ("Github_easy---o1", "Github_easy")
    assert (declared.passes, declared.refuses_valid, declared.accepts_invalid) == (
        True,
        True,
        False,
    )
    assert (any_order.passes, any_order.refuses_valid, any_order.valid_tests) == (True, False, [0])
    lines = report([declared, any_order]).splitlines()
    assert [line.split()[2:6] for line in lines[1:3]] == [
        ["1", "100.0", "%", "0"],
        ["1", "100.0", "%", "1"],
    ]
    assert {row["subset"] for row in rows_of(tmp_path, "JME")} == {"JME"}


@pytest.mark.slow
def test_the_walk_of_a_refused_instance_ends(tmp_path: Path) -> None:
    row = {**ROWS[0], "tests": [{"data": 1, "valid": True}, {"data": "x", "valid": True}]}
    (tmp_path / "one.jsonl").write_text(json.dumps(row))
    tasks = Plan(tmp_path / "one.jsonl", ("workbench",), "all-bytes").tasks()
    (one,) = records_of([*InProcess().outcomes(WORK, tasks)])
    assert one.status == "compiled", one.reason
    assert one.tallies["file/compact/raw"] == Tally(1, 2, 0, 0)
    assert len(one.mask_us) == 1


@pytest.mark.slow
def test_a_process_that_ends_costs_one_schema(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measuring = prepare('{"engine": "workbench", "vocabulary": "all-bytes", "patience": 30}')
    rows = [dict(task.arguments) for task in Plan(file, ("workbench",), "all-bytes").tasks()]
    found = measuring.record({**rows[0], "tests": 5})
    assert (found.status, found.id) == ("crashed", "one")
    assert "TypeError" in found.reason
    assert measuring.record(rows[0]).status == "compiled"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["bench", "--vocab", "all-bytes", "--peers", "none", *arguments])


@pytest.mark.slow
def test_command_reports_shares_and_refusals(file: Path) -> None:
    result = run("--schemas", str(file), "--only", "o")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[1].split()[2:4] == ["1", "50.0"], "one of two: 'three' has no o"
    assert "workbench, declared order, every spelling" in result.stdout
    assert any(line.startswith("refused    1 uniqueItems") for line in lines)


@pytest.mark.slow
def test_results_are_kept_and_equal_from_two_processes(file: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "1.parquet", tmp_path / "2.parquet"
    first = run("--schemas", str(file), "--out", str(one))
    assert first.exit_code == 0, first.stderr
    assert run("--schemas", str(file), "--out", str(two), "--jobs", "2").exit_code == 0
    assert one.read_bytes() == two.read_bytes()
    assert run("--schemas", str(file), "--out", str(one)).stdout == first.stdout, "nothing is new"
    shown = (
        CliRunner().invoke(installed, ["results", str(one), "--by", "engine"]).stdout.splitlines()
    )
    assert shown[0].split()[:5] == ["engine", "results", "refused", "compiled", "passing"]
    assert shown[1].split()[1:5] == ["3", "2", "0.333", "0.333"]
    other = run("--schemas", str(file), "--out", str(one), "--timeout", "9")
    assert other.exit_code == 2
    assert "has results with other settings: timeout" in other.stderr


def test_error_where_a_line_is_no_schema(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a"')
    result = run("--schemas", str(path))
    assert result.exit_code == 2
    assert "cannot read" in result.stderr


def test_error_where_there_is_no_file() -> None:
    result = run("--schemas", "missing.jsonl")
    assert result.exit_code == 2
    assert "there is no file 'missing.jsonl'" in result.stderr


WRITTEN = "file/spaced/raw"
#   status, wrong judgements of the valid test 0 and the invalid test 1, the verdict
VERDICTS: list[tuple[Any, dict[str, list[str]], str]] = [
    ("compiled", {}, "passes"),
    ("compiled", {"0": ["file/compact/raw"], "1": ["file/compact/raw"]}, "passes"),
    ("compiled", {"0": [WRITTEN]}, "over-constrained"),
    ("compiled", {"1": [WRITTEN]}, "under-constrained"),
    ("compiled", {"0": [WRITTEN], "1": [WRITTEN]}, "under-constrained"),
    ("refused", {}, "refused"),
    ("timed out", {}, "timed out"),
]


def _record(engine: str, status: Any, wrong: dict[str, list[str]], name: str) -> SchemaRecord:
    times: dict[str, Any] = {"cpu_ms": 2.0, "mask_us": [5.0]} if status == "compiled" else {}
    return SchemaRecord(
        engine=engine,
        version="1",
        id=name,
        suite="",
        subset=name[:1],
        chars=1,
        status=status,
        wrong=wrong,
        valid_tests=[0],
        **times,
    )


@pytest.mark.parametrize(("status", "wrong", "verdict"), VERDICTS)
def test_verdicts(status: Any, wrong: dict[str, list[str]], verdict: str) -> None:
    assert _record("workbench", status, wrong, "a").verdict == verdict


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_the_page_has_the_claims_that_a_program_confirms(
    is_confirmed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = [{"data": 1, "valid": True}, {"data": "x", "valid": False}]
    (tmp_path / "b.json").write_text(json.dumps({"schema": {"type": "integer"}, "tests": tests}))
    program = f"accepted = {'TEXT' if is_confirmed else 'SCHEMA'} == '\"x\"'\n"
    monkeypatch.setattr("lab.bench.schema_page._PROGRAMS", {"xgrammar": program})
    records = [
        *(_record("workbench", "compiled", {}, name) for name in "ab"),
        _record("xgrammar", "refused", {}, "a"),
        _record("xgrammar", "compiled", {"1": [WRITTEN]}, "b"),
    ]
    text = page(records, tmp_path, 20.0)
    assert "| workbench 1 | 2 | 2 | 0 | 0 | 0 | 0 | 0 | 0 |" in text
    assert "| xgrammar 1 | 2 | 0 | 0 | 1 | 1 | 0 | 0 | 0 |" in text
    assert "| b | 1 of 1 | 0 of 1 |" in text
    assert ("# xgrammar 1 accepts an invalid text: True" in text) == is_confirmed
    assert str(tmp_path) not in text


def test_report_names_wrong_judgements() -> None:
    about: dict[str, Any] = {
        "engine": "workbench",
        "version": "0",
        "suite": "",
        "subset": "",
        "chars": 1,
    }
    wrong = SchemaRecord(
        **about, id="x", status="compiled", ms=1.0, cpu_ms=1.0, first_ms=2.0, parts={"read": 1.0},
        tallies={"declared/a": Tally(0, 1, 0, 0), "declared/b": Tally(1, 1, 0, 0)},
        wrong={"3": ["declared/a"], "4": ["file/a"]}, kilobytes=2048,
    )  # fmt: skip
    text = report([wrong])
    assert "wrong x test 3: declared/a" in text
    assert "test 4" not in text
    assert "workbench, declared/a" in text, "spellings with different results have separate rows"
