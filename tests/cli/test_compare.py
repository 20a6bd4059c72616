"""``workbench compare`` and ``python -m lab evaluate``: what they print, how they exit, what they keep."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from lab.experiments.experiment import Experiment, Unit
from lab.experiments.results_page import EXPERIMENTS
from tests.cli.test_cli import needs_model, records, run, run_lab

COMPARE = ("compare", "--example", "date", "--seeds", "1", "--max-tokens", "12")


@pytest.mark.slow
@needs_model
def test_compare_tells_a_table_and_where_texts_part() -> None:
    result = run(*COMPARE, "--methods", "unconstrained,automaton,domino-0")
    assert result.exit_code == 0
    texts, cost, empty, head, *rows = result.stdout.splitlines()[:7]
    assert "valid text" in texts
    assert "passes of the model per token" in cost
    assert empty == ""
    assert head.split()[:2] == ["valid", "proper"]
    assert head.split().index("passes/token") < head.split().index("tokens/s")
    assert [row.split()[0] for row in rows] == ["unconstrained", "automaton", "domino-0"]
    assert "· seed 0" in result.stdout


@pytest.mark.slow
@needs_model
def test_compare_as_json_has_runs_then_summaries() -> None:
    result = run(*COMPARE, "--methods", "automaton,lalr,template", "--json")
    assert result.exit_code == 1  # it has no template
    found = records(result)
    assert [(r["kind"], r.get("method", r.get("contender"))) for r in found] == [
        ("run", "automaton"),
        ("run", "lalr"),
        ("failed", "template"),
        ("summary", "automaton"),
        ("summary", "lalr"),
    ]
    assert found[0]["valid"] is True
    assert found[0]["tokens"] == len(found[0]["token_ids"])
    assert found[2]["message"] == "there is no template for this grammar"


@pytest.mark.slow
@needs_model
def test_compare_as_csv_has_a_line_for_each_run() -> None:
    result = run(
        *COMPARE, "--methods", "unconstrained,automaton", "--csv", "--prompt", "1", "--prompt", "2"
    )
    assert result.exit_code == 0
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(row["prompt"], row["method"]) for row in rows] == [
        (prompt, method) for prompt in "12" for method in ("unconstrained", "automaton")
    ]


@needs_model
def test_compare_as_csv_tells_beside_it_what_could_not_be() -> None:
    result = run(*COMPARE, "--methods", "template", "--csv")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "template: there is no template for this grammar\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("compare",), "expected one grammar, not 0"),
        (("compare", "--example", "date", "--json", "--csv"), "expected one of --json and --csv"),
        (("compare", "--example", "date", "--methods", "magic"), "there is no method 'magic'"),
        (("compare", "--example", "date", "--seeds", "0"), "--seeds"),
        (("compare", "--example", "date", "--jobs", "2"), "--jobs has no effect without --dataset"),
        (("compare", "--dataset", "x.jsonl", "--csv"), "--csv has no effect with --dataset"),
        (("compare", "--dataset", "x.jsonl", "--methods", "magic"), "no method 'magic' to compare"),
    ],
)
def test_error_wrong_use(arguments: tuple[str, ...], reported: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert reported in result.stderr


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("magic",), "there is no experiment 'magic'"),
        (("koo-a", "--all"), "expected names of experiments or --all"),
        (("koo-a", "--page", "/no/such/folder/page.md"), "cannot write /no/such"),
        (("--model", "/no/such/model", "koo-a"), "/no/such/model"),
    ],
)
def test_error_wrong_use_of_evaluate(arguments: tuple[str, ...], reported: str) -> None:
    result = run_lab("evaluate", *arguments)
    assert result.exit_code == 2
    assert reported in result.stderr


def test_evaluate_lists_the_experiments() -> None:
    result = run_lab("evaluate", "--list")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(EXPERIMENTS)
    assert result.stderr == ""


def test_evaluate_without_names_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run_lab("evaluate")
    assert result.exit_code == 0
    assert result.stdout == run_lab("evaluate", "--list").stdout
    assert result.stderr == (
        "start one by its name, as in python -m lab evaluate koo-a, or all with --all\n"
    )
    assert not list(tmp_path.iterdir())


@needs_model
def test_the_page_has_the_experiments_that_were_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("alpha", "beta"):
        unit = Unit(f"{name} 1", lambda _: {"value": 1})
        monkeypatch.setitem(
            EXPERIMENTS,
            name,
            Experiment(
                name=name,
                title=name.title(),
                source="none",
                units=lambda _, unit=unit: [unit],  # type: ignore[misc]
                section=lambda columns: f"{len(columns)} model",
            ),
        )
    out = ("--out", str(tmp_path))
    assert "## Alpha" in run_lab("evaluate", "alpha", *out).stdout
    second = run_lab("evaluate", "beta", *out).stdout
    assert "## Beta" in second
    assert "Alpha" not in second
    both = run_lab("evaluate", "beta", "alpha", *out).stdout
    assert [line for line in both.splitlines() if line[:2] == "##"] == ["## Beta", "## Alpha"]


@needs_model
def test_evaluate_stores_results_and_writes_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    asked = ("evaluate", "koo-a", "--questions", "5", "--out", str(tmp_path), "--page", str(page))
    first = run_lab(*asked)
    assert first.exit_code == 0
    assert "koo A/ranking: done" in first.stderr
    begun, kept = map(json.loads, (tmp_path / "results.jsonl").read_text().splitlines())
    assert begun["begun"]["size"]["questions"] == 5
    assert (kept["model"], kept["key"]) == ("builtin", "koo A/ranking")
    assert "the ranking is inverted by domino-0, domino-1, lalr" in page.read_text()
    again = run_lab(*asked)
    assert "koo A/ranking: done before" in again.stderr
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 2


KBNF, ORDERED = (
    "start ::= 'a' | 'b';\n",
    {"properties": {"x": {"const": None}, "y": {"const": True}}},
)
#   options                                              grammar of the file, or of stdin   texts
FOR_ALL_ROWS = [
    (("--kbnf", "FILE"),                                 KBNF,                       {"a", "b"}),
    (("--gbnf", "-"),                                    'root ::= "a" | "b"',       {"a", "b"}),
    (
        ("--json-schema", "FILE", "--whitespace", "compact", "--order", "any"),
        json.dumps({**ORDERED, "required": ["x", "y"], "additionalProperties": False}),
        {'{"x":null,"y":true}', '{"y":true,"x":null}'},
    ),
]  # fmt: skip


@pytest.mark.slow
@needs_model
@pytest.mark.parametrize(
    ("options", "text", "texts"), FOR_ALL_ROWS, ids=[r[0][0] for r in FOR_ALL_ROWS]
)
def test_one_grammar_for_all_rows_of_a_dataset(
    options: tuple[str, ...], text: str, texts: set[str], tmp_path: Path
) -> None:
    rows, out, file = tmp_path / "r.jsonl", tmp_path / "a.parquet", tmp_path / "grammar"
    rows.write_text('{"question": "Ada, as JSON: "}\n')
    file.write_text(text)
    named = [str(file) if one == "FILE" else one for one in options]
    result = run(
        "compare", "--dataset", str(rows), "--column", "prompt=question", *named,
        "--methods", "automaton", "--out", str(out), stdin=text,
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    found = [json.loads(one) for one in run("results", str(out), "--json").stdout.splitlines()]
    assert len(found) == 3
    assert {row["text"] for row in found} <= texts
