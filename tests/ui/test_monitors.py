"""Runs under a monitor: what the page offers, reasons, programs to take away, comparisons."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.ui.toy import toy_room
from workbench.app.ui.compare_view import compare_records, compared_run
from workbench.app.ui.explain_view import explain_tokens, why
from workbench.app.ui.grammar_view import compile_grammar
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.replay import ReplayRequest, drawn
from workbench.app.ui.runs import run_records
from workbench.app.ui.takeaway import take_code
from workbench.grammar.gallery import load_gallery
from workbench.grammar.monitors.well_typed import TypeMonitor

TYPED = load_gallery()["typed"].text
SENT: dict[str, Any] = {
    "text": TYPED, "notation": "kbnf", "prompt": "at ", "seed": 5, "temperature": 1.0,
    "max_tokens": 12, "monitor": "types",
}  # fmt: skip
BEFORE = b'let s: string = "a";\nlet n: number = s'


@pytest.fixture
def handlers() -> Handlers:
    return Handlers(toy_room())


def test_the_page_offers_the_monitors_that_fit(handlers: Handlers) -> None:
    offered = compile_grammar(handlers, {"text": TYPED, "notation": "kbnf"})["monitors"]
    assert [each["name"] for each in offered] == ["types"]
    assert "monitors" not in compile_grammar(handlers, {"text": "a+", "notation": "regex"})


def test_every_token_of_a_run_keeps_the_meaning(handlers: Handlers) -> None:
    for seed in range(3):
        steps = [r for r in run_records(handlers, {**SENT, "seed": seed}) if r["k"] == "step"]
        ids = [step["id"] for step in steps if not step.get("end")]
        text = handlers.room.vocabulary().decode(ids)
        assert steps
        assert TypeMonitor().read(text)[1] == len(text)


def test_reasons_say_what_has_no_meaning(handlers: Handlers) -> None:
    sent = {**SENT, "so_far": BEFORE.hex()}
    tokens = [b";".hex(), b".length".hex(), b"?".hex()]
    reasons = explain_tokens(handlers, {**sent, "tokens": tokens})["reasons"]
    assert reasons[:2] == ["this is string, and number is expected", ""]
    assert "needs" in reasons[2]
    told = why(handlers, {**sent, "token": b";".hex()})
    assert (told["allowed"], told["reason"]) == (False, "this is string, and number is expected")
    assert why(handlers, {**sent, "monitor": "", "token": b";".hex()})["allowed"]
    replay = drawn(handlers, ReplayRequest.of(SENT), [(BEFORE, []), (b";", [b";"])])
    assert replay["reasons"][1] == ["this is string, and number is expected"]


def test_the_library_explains_with_a_monitor() -> None:
    grammar = wb.Grammar.from_kbnf(TYPED)
    assert wb.explain(grammar, BEFORE, ";").allowed
    found = wb.explain(grammar, BEFORE, ";", monitor="types")
    assert not found.allowed
    assert str(found).endswith("this is string, and number is expected")
    assert wb.explain(grammar, BEFORE, ".length", monitor="types").allowed


def test_the_monitor_is_in_every_program(handlers: Handlers) -> None:
    code = take_code(handlers, SENT)
    assert 'monitor="types")' in code["python"]
    assert "--monitor types" in code["shell"]
    assert '    monitor="types",\n' in code["client"]
    assert (
        "monitor" not in take_code(handlers, {**SENT, "monitor": ""})["python"].split("GRAMMAR")[2]
    )


def test_error_for_an_unknown_monitor_and_one_that_does_not_fit(handlers: Handlers) -> None:
    for text, monitor, message in (
        (TYPED, "names", "expected one of scope, types, keys"),
        ("start ::= 'a';", "types", "does not fit this grammar"),
    ):
        *_, last = run_records(handlers, {**SENT, "text": text, "monitor": monitor})
        assert last["k"] == "error"
        assert message in last["message"]


def test_a_comparison_has_the_grammar_with_and_without(handlers: Handlers) -> None:
    sent = {**SENT, "monitor": "", "methods": ["automaton", "types", "scope"], "seeds": 2}
    records = list(compare_records(handlers, {**sent, "max_tokens": 6, "prompts": ["at "]}))
    assert [r["method"] for r in records if r["k"] == "ended"] == ["automaton", "types"] * 2
    failed = [r for r in records if r["k"] == "failed"]
    assert {r["method"] for r in failed} == {"scope"}, "its programs are in C"
    let = handlers.room.vocabulary().ids(b"l", b"e", b"t")
    opened = compared_run(handlers, {**SENT, "monitor": "", "method": "types", "prefix": let})
    assert opened["ok"], opened
    assert opened["monitor"] == "types"
