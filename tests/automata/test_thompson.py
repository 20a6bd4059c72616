"""thompson(): the automata of small regexes, and the limits for large ones."""

from __future__ import annotations

import time

import pytest

from tests.automata.machines import machine, tree
from workbench.automata.regex_program import simple_repeat
from workbench.automata.thompson import thompson
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.syntax.regex.tree import Repeat


def test_one_character() -> None:
    nfa = thompson(tree("a"))
    assert nfa.edges[nfa.initial] == ((97, 97, 1),)
    assert nfa.finals == frozenset({1})


def test_characters_outside_ascii_share_no_states() -> None:
    nfa = thompson(tree("é|è"))
    assert len(nfa) == 4  # initial, final, and one after the byte C3 of each


def test_words_share_their_prefixes() -> None:
    assert len(thompson(tree("word1|word2|word3"))) == 2 + len("word")


#   pattern       as                  because
SIMPLER = [
    ("(a?){3}",   ("a", 0, 3),        "each copy may be empty"),
    ("(a?){2,}",  ("a", 0, None),     "the same without an upper bound"),
    ("(a*){2,5}", ("a", 0, None),     "one copy is already unbounded"),
    ("(a*){0}",   ("a", 0, 0),        "no copy at all"),
    ("((a*)?)+",  ("a", 0, None),     "through two layers"),
    ("(a+){3}",   ("a+", 3, 3),       "three times one or more is at least three"),
    ("(a{2}){3}", ("a{2}", 3, 3),     "not changed"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "simpler", "because"), SIMPLER)
def test_simple_repeat(pattern: str, simpler: tuple[str, int, int | None], because: str) -> None:
    regex = tree(pattern)
    assert isinstance(regex, Repeat)
    part, low, high = simple_repeat(regex)
    assert (pattern[part.span.start : part.span.end], low, high) == simpler, because


#   pattern                     budget      because
TOO_LARGE = [
    (r"(\w{1,500}){1,500}",     "unrolled", "a quarter of a million copies of a large set"),
    ("a{9999999}",              "unrolled", "more copies than the limit"),
    ("(((a{99}){99}){99}){99}", "unrolled", "copies of copies"),
    ("(){9999999}",             "unrolled", "empty copies count"),
    ("a" * 60_000,              "states",   "the shortest text passes 60,001 states"),
    ("(b|c){45000}d*", "states", "the shortest text passes 45,001 states"),
    ("a{0,60000}",              "states",   "a finite language: the longest text passes 60,001 states"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "budget", "because"), TOO_LARGE, ids=[row[0][:24] for row in TOO_LARGE]
)
def test_error_before_anything_is_built(pattern: str, budget: str, because: str) -> None:
    regex = tree(pattern)
    started = time.thread_time()
    with pytest.raises(LimitError) as error:
        thompson(regex, Limits(states=40_000))
    assert error.value.budget == budget, because
    assert time.thread_time() - started < 5


def test_error_message_of_the_budget() -> None:
    with pytest.raises(LimitError) as error:
        thompson(tree("a{300000}"))
    assert str(error.value) == (
        "the counted repetitions need more than 200,000 states\n"
        "hint: lower the bound of a repetition, or use '*' or '+'"
    )


@pytest.mark.parametrize("pattern", [r"[^\s\S]a{100}", r"([^\s\S]|a){100}", r"(?:[^\s\S]b)*"])
def test_empty_sets_are_measured(pattern: str) -> None:
    thompson(tree(pattern), Limits(states=101))


def test_optional_copies_cost_no_more_than_others() -> None:
    assert len(machine("(?:a?){0,500}")) == 501
