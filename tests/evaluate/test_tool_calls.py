"""The experiment of tool calls: questions of a package, read and scored; the package is made here."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.experiments import tool_calls
from lab.experiments.experiment import Column, Setting, Size
from lab.experiments.results_page import chosen_experiments
from lab.experiments.tool_calls import (
    TOOL_CALLS,
    call_in,
    data_folder,
    is_right,
    simple_questions,
)
from workbench.base.errors import WorkbenchError
from workbench.decoding.model import ToyModel
from workbench.grammar.tool_calls import ToolCall
from workbench.vocabulary.toy_vocabularies import all_bytes

SMALL = Size(questions=1, tokens=120)
ROW = {
    "id": "simple_python_0",
    "question": [[{"role": "user", "content": "Book a table for two."}]],
    "function": [
        {
            "name": "table.book",
            "description": "",
            "parameters": {
                "type": "dict",
                "properties": {
                    "guests": {"type": "integer", "description": ""},
                    "price": {"type": "float", "description": ""},
                    "name": {"type": "string", "description": ""},
                    "dishes": {"type": "array", "items": {"type": "dict", "properties": {
                        "dish": {"type": "string"}}}},
                },
                "required": ["guests"],
            },
        }
    ],
}  # fmt: skip
ANSWER = {
    "id": "simple_python_0",
    "ground_truth": [
        {
            "table.book": {
                "guests": [2],
                "price": ["", 10.0],
                "name": ["Ada Lovelace", ""],
                "dishes": ["", [{"dish": ["soup"]}]],
            }
        }
    ],
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    data = tmp_path / tool_calls.PACKAGE / "data"
    (data / "possible_answer").mkdir(parents=True)
    (data.parent / "__init__.py").write_text("raise RuntimeError('it must not be imported')")
    name = "BFCL_v4_simple_python.json"
    (data / name).write_text(json.dumps(ROW) + "\n")
    (data / "possible_answer" / name).write_text(json.dumps(ANSWER) + "\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return data


#: The arguments of a call, and whether they are accepted.
CALLS: list[tuple[dict[str, Any], bool]] = [
    ({"guests": 2}, True),
    ({"guests": 3}, False),
    ({}, False),
    ({"guests": True}, False),
    ({"guests": 2, "price": 10}, True),
    ({"guests": 2, "name": "ada-lovelace"}, True),
    ({"guests": 2, "name": "Ada"}, False),
    ({"guests": 2, "where": "here"}, False),
    ({"guests": 2, "dishes": [{"dish": "Soup"}]}, True),
    ({"guests": 2, "dishes": [{"dish": "fish"}]}, False),
    ({"guests": 2, "dishes": []}, False),
]


@pytest.mark.parametrize(("arguments", "right"), CALLS)
def test_a_call_is_scored(package: Path, arguments: dict[str, Any], right: bool) -> None:
    (question,) = simple_questions(package)
    assert is_right(ToolCall("table.book", arguments), question) == right
    assert not is_right(ToolCall("book", arguments), question)
    assert not is_right(None, question)


def test_the_schema_is_a_json_schema(package: Path) -> None:
    assert data_folder() == package
    (question,) = simple_questions(package)
    schema = question.tool.parameters
    assert schema["properties"]["price"] == {"type": "number", "description": ""}
    assert schema["properties"]["dishes"]["items"]["additionalProperties"] is False


def test_a_call_is_found_inside_other_text() -> None:
    call = ToolCall("f", {"a": 1})
    assert call_in('Well {"name": 3} {"name": "f", "arguments": {"a": 1}} then') == call
    assert call_in('{"name": "f"') is None
    assert call_in('{"name": "f", "arguments": 3}') is None


def test_under_the_grammar_a_complete_text_is_a_call(package: Path) -> None:
    (unit,) = TOOL_CALLS.units(SMALL)
    record = unit.work(Setting(ToyModel(all_bytes()), SMALL, lambda: False))
    assert {method: len(rows) for method, rows in record.items()} == {
        "unconstrained": 1,
        "automaton": 1,
        "finishing": 1,
    }
    (row,) = record["automaton"]
    assert row["text"].startswith('<tool_call>\n{"name": "table.book", "arguments": {')
    assert not record["unconstrained"][0]["valid"]
    told = TOOL_CALLS.section([Column("toy", SMALL, {unit.key: record})])
    assert "| toy | constrained, must finish | 1 | 1.000 " in told
    verdict = "right constrained (0.000) not distinguishable from alone (0.000)."
    assert f"* toy (without a chat template, at most 120 tokens): {verdict}" in told
    assert "failed" not in told


def test_a_run_that_fails_is_a_row_and_the_page_says_why(package: Path) -> None:
    size = Size(questions=1, tokens=20)
    (unit,) = TOOL_CALLS.units(size)
    record = unit.work(Setting(ToyModel(all_bytes()), size, lambda: False))
    assert [len(rows) for rows in record.values()] == [1, 1, 1]
    assert "failed" not in record["automaton"][0]
    reason = record["finishing"][0]["failed"]
    told = TOOL_CALLS.section([Column("toy", size, {unit.key: record})])
    assert f"* toy, constrained, must finish: 1 of 1 failed and count as cut: {reason}." in told


def test_the_page_says_whether_more_calls_are_right() -> None:
    wrong = {"text": "", "valid": False, "cut": False, "named": False, "right": False}
    right = wrong | {"valid": True, "named": True, "right": True}
    record = {"unconstrained": [wrong] * 9, "automaton": [right] * 9, "finishing": [right] * 9}
    columns = [
        Column("toy", SMALL, {"k": record}),
        Column("small", SMALL, {"k": {"too long": ["f"]}}),
    ]
    told = TOOL_CALLS.section(columns)
    assert "right constrained (1.000) higher than alone (0.000)." in told
    assert "* small (without a chat template, at most 120 tokens): no question fits" in told


def test_error_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_calls, "find_spec", lambda _: None)
    monkeypatch.setattr("lab.experiments.results_page.find_spec", lambda _: None)
    with pytest.raises(WorkbenchError, match="bfcl-eval, which is not installed"):
        chosen_experiments(["tool-calls"])
    assert TOOL_CALLS not in chosen_experiments([])


def test_error_for_files_of_another_format(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="cannot read the questions"):
        simple_questions(tmp_path)
