"""Answers on the effect of an edit, and conversions to other notations."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from workbench.app.ui import author
from workbench.app.ui.author import convert_grammar, lint_grammar, what_changed
from workbench.app.ui.grammar_view import compile_grammar
from workbench.app.ui.handlers import Handlers
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation


def regex(text: str) -> dict[str, Any]:
    return {"text": text, "notation": "regex"}


def kbnf(text: str) -> dict[str, Any]:
    return {"text": text, "notation": "kbnf"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "now", "gained", "lost"),
    [
        (regex("2[0-3]"), regex("2[0-4]"), "24", None),
        (regex("2[0-4]"), regex("2[0-3]"), None, "24"),
        (regex("a+"), regex("b"), "b", "a"),
        (regex("a|ab"), kbnf("start ::= 'a' 'b'?;"), None, None),
        (
            kbnf("start ::= '(' start ')' | 'x';"),
            kbnf("start ::= '(' start? ')' | 'x';"),
            "()",
            None,
        ),
    ],
)
def test_shortest_text_gained_and_lost(
    handlers: Handlers,
    before: dict[str, Any],
    now: dict[str, Any],
    gained: str | None,
    lost: str | None,
) -> None:
    answer = what_changed(handlers, {**now, "before": before})
    assert answer["ok"]
    assert answer["gained"] == (gained and {"text": gained})
    assert answer["lost"] == (lost and {"text": lost})
    assert answer["same"] is (gained is None and lost is None)


@pytest.mark.slow
def test_bound_of_an_unfinished_search_is_reported(handlers: Handlers) -> None:
    # the second writes the first's rule out once: the same language, and nothing proves it
    before = kbnf("start ::= '(' start ')' start | 'x';")
    now = kbnf("start ::= '(' ('(' start ')' start | 'x') ')' start | 'x';")
    answer = what_changed(handlers, {**now, "before": before})
    assert not answer["same"]
    assert not answer["exact"]
    assert "characters were compared" in answer["how"]


@pytest.mark.parametrize("before", [None, "text", regex("(["), {"text": 1}, {}])
def test_unreadable_earlier_grammar_is_reported(handlers: Handlers, before: Any) -> None:
    answer = what_changed(handlers, {**regex("a"), "before": before})
    assert answer["ok"] or answer["why"]


@pytest.mark.parametrize("to", ["kbnf", "gbnf", "lark", "regex"])
def test_a_grammar_comes_back_in_another_notation(handlers: Handlers, to: str) -> None:
    answer = convert_grammar(handlers, {**kbnf("start ::= 'a' b*; b ::= #'[0-9]{2}';"), "to": to})
    assert answer["ok"], answer
    again = Grammar.from_text(answer["text"], Notation(to), answer["start"])
    assert [again.accepts(text) for text in ("a", "a12", "a1234", "a1", "")] == [True] * 3 + [
        False
    ] * 2


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({**kbnf("start ::= '(' start ')' | 'x';"), "to": "regex"}, "takes a stack"),
        ({**regex("(["), "to": "kbnf"}, "cannot be read"),
        ({**regex("a"), "to": "klingon"}, "klingon"),
        ({**regex("a"), "to": 5}, "text"),
    ],
)
def test_failed_conversion_is_reported(handlers: Handlers, asked: dict[str, Any], why: str) -> None:
    answer = convert_grammar(handlers, asked)
    assert not answer["ok"]
    assert why in answer["why"]


OPEN = {"type": "object", "properties": {"a": {"type": "string", "format": "uri"}}}


def test_closing_objects_is_offered_where_it_changes_the_language(handlers: Handlers) -> None:
    sent = {"text": json.dumps(OPEN), "notation": "json_schema"}
    words = "objects may have members that the schema does not name"
    for ask in (partial(compile_grammar, handlers), partial(lint_grammar, handlers)):
        (note,) = [each for each in ask(sent)["problems"] if each["message"] == words]
        assert note["severity"] == "note"
        assert "close objects" in note["hint"]
        assert sent["text"][note["start"] : note["end"]] == '"properties"'
        for other in (
            {**sent, "options": {"closed": True}},
            {**sent, "text": '{"type": "object"}'},
        ):
            assert words not in {each["message"] for each in ask(other)["problems"]}


def test_a_conversion_that_is_too_long_names_closed_objects(
    handlers: Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(author, "MAX_TEXT_CHARACTERS", 20)
    sent = {"text": json.dumps(OPEN), "notation": "json_schema", "to": "kbnf"}
    assert "close objects" in convert_grammar(handlers, sent)["why"]
    closed = convert_grammar(handlers, {**sent, "options": {"closed": True}})
    assert "close objects" not in closed["why"]
