"""The figures about requests of the page: what is followed, and their limits."""

from __future__ import annotations

from functools import partial
from typing import Any

from lab.house import RequestTrace
from workbench.app.ui.explain_view import why
from workbench.app.ui.grammar_view import compile_grammar
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.picture_view import draw_machine
from workbench.app.ui.runs import run_batches
from workbench.automata.build import regex_machine
from workbench.base.source import Source
from workbench.syntax.grammar_tree import holds
from workbench.syntax.regex.parser import parse_regex
from workbench.vocabulary.toy_vocabularies import toy

SENT: dict[str, Any] = {
    "text": "start ::= 'a' start 'b' | 'c';",
    "notation": "kbnf",
    "token": "6262",
    "max_tokens": 6,
}


def test_a_callback_of_a_higher_package_is_a_climb() -> None:
    def handler(sent: dict[str, Any]) -> list[object]:
        tree = parse_regex(Source(sent["text"], "test"))
        return [holds(tree, lambda node: regex_machine(node).is_empty)]

    trace = RequestTrace.of(handler, {"text": "[ab]"})
    assert {"base", "syntax", "automata"} <= trace.packages
    assert trace.climbs == {
        "workbench.syntax.grammar_tree:holds → workbench.automata.build:regex_machine"
    }


def test_a_call_without_a_part_of_the_request_is_left_out() -> None:
    trace = RequestTrace.of(
        lambda sent: [toy(["ab"]), Source(sent["text"], "test")], {"text": "ab|cd"}
    )
    assert trace.packages == {"base"}
    assert not trace.climbs


def test_a_run_and_why_are_within_their_limits(handlers: Handlers) -> None:
    compile_grammar(handlers, SENT)
    for tab in ("stack", "rules"):
        draw_machine(handlers, {**SENT, "tab": tab})
    run = RequestTrace.of(partial(run_batches, handlers), SENT)
    explanation = RequestTrace.of(partial(why, handlers), SENT)
    assert {"app", "decoding", "constraint"} <= run.packages
    assert {"app", "analysis", "grammar"} <= explanation.packages
    assert len(run.packages) <= 8
    assert len(explanation.packages) <= 8
    assert len(run.climbs) <= 1
    assert len(explanation.climbs) <= 1
