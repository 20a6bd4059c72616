"""Every small regex over {a, b}, read and built, against ``re`` on every short text.

In the manner of RE2's exhaustive tester: what is wrong with a construct is nearly always wrong
with a small one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.oracles import brute_force
from workbench.automata.build import regex_dfa
from workbench.automata.determinize import determinize
from workbench.automata.operations import first_match, without_match
from workbench.automata.thompson import thompson
from workbench.base.dfa import DEAD
from workbench.base.source import Source
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Dialect

ATOMS = ["a", "b", ".", "[^a]", ""]
COUNTS = ["*", "+", "?", "{2}", "{1,2}"]
TEXTS = list(brute_force.texts("ab", 4))


@cache
def of_size(size: int) -> tuple[str, ...]:
    """The regexes with so many operators."""
    return tuple(dict.fromkeys(_of_size(size)))


def _of_size(size: int) -> Iterator[str]:
    if size == 0:
        yield from ATOMS
        return
    for part in of_size(size - 1):
        yield from (f"(?:{part}){count}" for count in COUNTS)
    for left_size in range(size):
        for left in of_size(left_size):
            for right in of_size(size - 1 - left_size):
                yield f"(?:{left})(?:{right})"
                yield f"(?:{left}|{right})"


def check(patterns: tuple[str, ...]) -> None:
    for pattern in patterns:
        matches = re.compile(pattern).fullmatch
        regex = parse_regex(Source(pattern, "regex"))
        dfa = regex_dfa(regex)
        accepted = {text for text in TEXTS if matches(text)}
        assert {text for text in TEXTS if dfa.accepts(text.encode())} == accepted, pattern
        # alive is exactly what some longer text goes on from, as far as the texts reach
        alive = {text for text in TEXTS if dfa.run(text.encode()) != DEAD}
        assert {text[:end] for text in accepted for end in range(len(text) + 1)} <= alive, pattern


def test_regexes_of_up_to_one_operator() -> None:
    check(of_size(0) + of_size(1))


@pytest.mark.exhaustive
def test_regexes_of_two_operators() -> None:
    check(of_size(2))


@pytest.mark.exhaustive
def test_both_dialects_read_small_regexes_alike() -> None:
    for pattern in of_size(1) + of_size(2)[::7]:
        source = Source(pattern, "regex")
        assert parse_regex(source, dialect=Dialect.RUST) == parse_regex(source), pattern


@pytest.mark.exhaustive
def test_the_stops_of_kbnf() -> None:
    texts = [text.encode() for text in TEXTS]
    for pattern in of_size(1):
        regex = parse_regex(Source(pattern, "regex"))
        whole = regex_dfa(regex)
        first, without = first_match(whole), without_match(regex)
        for text in texts:
            assert first.accepts(text) is brute_force.is_first_match(whole.accepts, text), pattern
            assert without.accepts(text) is brute_force.is_without_match(whole.accepts, text), (
                pattern
            )


@pytest.mark.exhaustive
def test_minimal_machines_are_never_larger_than_the_subsets() -> None:
    for pattern in of_size(1):
        regex = parse_regex(Source(pattern, "regex"))
        assert len(regex_dfa(regex)) <= len(determinize(thompson(regex))), pattern
