"""Holes on the page: the run writes what fits between two texts, under the grammar of the hole."""

from __future__ import annotations

import json
from typing import Any

import pytest

import workbench as wb
from workbench.app.ui.grammar_view import check_texts, compile_grammar
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.requests import RunRequest, TextRequest
from workbench.app.ui.runs import read_prompt, run_records
from workbench.app.ui.takeaway import take_code
from workbench.base.errors import WorkbenchError

LIST = "start ::= '[' (item (',' item)*)? ']'; item ::= #'[0-9]' | start;"
HOLE = {"prefix": "[1,[", "suffix": ",2]]"}
SENT: dict[str, Any] = {
    "text": LIST,
    "notation": "kbnf",
    "prompt": "A list: ",
    "hole": HOLE,
    "seed": 3,
    "max_tokens": 12,
    "finish": True,
}


def text_of(records: list[dict[str, Any]]) -> str:
    return "".join(r["token"].get("text", "") for r in records if r["k"] == "step")


def test_a_run_fills_the_hole(handlers: Handlers) -> None:
    records = list(run_records(handlers, SENT))
    assert records[-1]["k"] == "stop"
    assert records[-1]["good"]
    whole = HOLE["prefix"] + text_of(records) + HOLE["suffix"]
    assert wb.Grammar.from_kbnf(LIST).accepts(whole)


def test_the_model_reads_the_text_before_the_hole(handlers: Handlers) -> None:
    request = RunRequest.of(SENT)
    assert request.context == "A list: [1,["
    answer = read_prompt(handlers, SENT)
    assert "".join(token.get("text", "") for token in answer["tokens"]) == "A list: [1,["
    chat = RunRequest.of({**SENT, "chat": []})
    assert (chat.context, chat.reply) == ("A list: ", "[1,[")


def test_requests_with_a_hole_are_about_its_grammar(handlers: Handlers) -> None:
    whole = {name: value for name, value in SENT.items() if name != "hole"}
    accepted = [
        check_texts(handlers, {**sent, "texts": ["3"]})["results"][0]["accepted"]
        for sent in (SENT, whole)
    ]
    assert accepted == [True, False]
    assert compile_grammar(handlers, SENT)["facts"] != compile_grammar(handlers, whole)["facts"]


def test_a_hole_without_a_text_is_a_problem_without_a_place(handlers: Handlers) -> None:
    answer = compile_grammar(handlers, {**SENT, "hole": {"prefix": "[", "suffix": "x]"}})
    assert not answer["ok"]
    assert answer["problems"][0]["message"] == (
        "no text ends with this suffix: the longest end that fits is ']'"
        " (line 1, column 1 of the text after the hole)"
    )


def test_programs_have_the_hole(handlers: Handlers) -> None:
    code = take_code(handlers, {**SENT, "tests": [{"text": "[1]", "expect": "accept"}]})
    assert 'wb.fill("[1,[", ",2]]", wb.Grammar.from_kbnf(GRAMMAR))' in code["python"]
    assert "assert" not in code["python"]
    assert code["shell"].startswith("workbench fill --kbnf - --prompt 'A list: ' --prefix '[1,['")
    assert f"hole={json.dumps(HOLE)}" in code["client"]
    assert 'PROMPT = "A list: "' in code["client"]
    assert 'PROMPT = "A list: [1,["' in code["python"]


def test_error_of_a_malformed_hole() -> None:
    with pytest.raises(WorkbenchError, match="expected a hole with a prefix and a suffix"):
        TextRequest.of({"text": "a", "hole": "[▢]"})
    with pytest.raises(WorkbenchError, match="expected a text as suffix"):
        TextRequest.of({"text": "a", "hole": {"prefix": "a", "suffix": 3}})
    assert TextRequest.of({"text": "a", "hole": {"prefix": "", "suffix": ""}}).hole is None


@pytest.mark.parametrize(
    ("text", "suffix", "unfilled", "because"),
    [
        (LIST, "x]", True, "the grammar can be read"),
        (LIST, "]", False, "the hole has texts"),
        (LIST[:-1], "x]", False, "the grammar itself cannot be read"),
    ],
)
def test_a_hole_without_a_text_differs_from_a_grammar_that_cannot_be_read(
    handlers: Handlers, text: str, suffix: str, unfilled: bool, because: str
) -> None:
    answer = compile_grammar(
        handlers, {**SENT, "text": text, "hole": {"prefix": "[", "suffix": suffix}}
    )
    assert answer.get("unfilled", False) is unfilled, because
