"""Derivatives of regexes compared with the minimal automata of the same languages."""

from __future__ import annotations

from itertools import product

import pytest

from workbench.automata.build import regex_dfa
from workbench.automata.derivatives import (
    EMPTY_TEXT,
    NOTHING,
    derivative,
    derivatives,
    is_nullable,
    plain,
    shown,
)
from workbench.automata.operations import equivalent
from workbench.base.dfa import DEAD
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import Limits
from workbench.base.source import Source
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.tree import Regex


def _plain(regex: str) -> Regex:
    return plain(parse_regex(Source(regex, "test")))


#   regex                     because
REGEXES = [
    ("",                      "the empty text"),
    ("a|ab|b?",               "options that begin alike"),
    ("(ab|a)*b",              "a loop with two ways"),
    ("(a?b?){2,3}",           "bounded copies that may be empty"),
    ("(a{2}|b){1,2}",         "bounded copies inside bounded copies"),
    ("(a*)*b+",               "a loop of loops"),
    ("[ab]a(b|c)+|a{0,2}",    "classes that overlap"),
    ("(?P<x>a(?P<y>b))*c{3}", "groups"),
    ("[^a]*a",                "a complement"),
]  # fmt: skip


@pytest.mark.parametrize(("regex", "because"), REGEXES, ids=[row[1] for row in REGEXES])
def test_a_text_is_accepted_if_its_derivative_accepts_the_empty_text(
    regex: str, because: str
) -> None:
    dfa = regex_dfa(parse_regex(Source(regex, "test")))
    for length in range(6):
        for text in map("".join, product("abc", repeat=length)):
            rest = _plain(regex)
            for character in text:
                rest = derivative(rest, ord(character))
            assert is_nullable(rest) == dfa.accepts(text.encode()), (text, because)
            assert (rest == NOTHING) == (dfa.run(text.encode()) == DEAD), (text, because)


@pytest.mark.parametrize(("regex", "because"), REGEXES, ids=[row[1] for row in REGEXES])
def test_every_state_of_the_minimal_automaton_is_a_derivative(regex: str, because: str) -> None:
    begin, dfa = _plain(regex), regex_dfa(parse_regex(Source(regex, "test")))
    states = {begin: dfa.initial}
    for source, code, target in derivatives(begin):
        step = dfa.run(chr(code).encode(), states[source])
        assert states.setdefault(target, step) == step, because
    between_characters = set(states.values())
    reached = {dfa.initial} | {dfa.run(c.encode(), s) for s in between_characters for c in "abc"}
    assert between_characters >= reached - {DEAD}
    for rest, state in states.items():
        text = shown(rest)
        if text != "ε":
            again = regex_dfa(parse_regex(Source(text, "test")))
            moved = type(dfa)(dfa.classes, dfa.table, dfa.finals, state)
            assert equivalent(again, moved), (text, because)


def test_the_derivatives_of_a_string_by_hand() -> None:
    begin = _plain('"[a-z]*"')
    inside = derivative(begin, ord('"'))
    assert shown(inside) == '[a-z]*"'
    assert derivative(inside, ord("a")) == inside
    assert derivative(inside, ord('"')) == EMPTY_TEXT
    assert shown(derivative(begin, ord("a"))) == "∅"


def test_error_for_an_assertion() -> None:
    with pytest.raises(WorkbenchError, match="expected a regex of characters"):
        _plain(r"a\b")


def test_error_past_the_limit() -> None:
    with pytest.raises(LimitError, match="too many derivatives"):
        list(derivatives(_plain("(a|b)*a(a|b){12}"), Limits(states=100)))
