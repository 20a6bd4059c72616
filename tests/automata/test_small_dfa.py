"""small_dfa() and minimize() give the same tables as determinize() and minimize_in_rounds()."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.automata.determinize import determinize
from workbench.automata.minimize import minimize, minimize_in_rounds
from workbench.automata.nfa import Nfa, NfaBuilder
from workbench.automata.small_dfa import SMALL, small_dfa
from workbench.automata.thompson import thompson
from workbench.base.dfa import Dfa
from workbench.base.limits import LIMITS
from workbench.base.source import Source
from workbench.syntax.regex.parser import parse_regex


def check(nfa: Nfa) -> None:
    small, large = small_dfa(nfa), determinize(nfa)
    slow = minimize_in_rounds(large, LIMITS.clock())
    assert small is not None
    check_equal(small, slow)
    check_equal(minimize(large), slow)


def check_equal(small: Dfa, slow: Dfa) -> None:
    assert np.array_equal(small.classes, slow.classes)
    assert np.array_equal(small.table, slow.table)
    assert np.array_equal(small.finals, slow.finals)
    assert (small.table.dtype, small.classes.dtype) == (slow.table.dtype, slow.classes.dtype)


#   pattern                          because
PATTERNS = [
    ("", "the empty text"),
    ("a", "two states"),
    (r"a[^\s\S]", "nothing is accepted"),
    (r"b|a[^\s\S]", "a branch without texts"),
    ("(a|b)*a(a|b){3}", "sets of several states"),
    ("a{0,100}b*", "a chain: each round of refinement splits off one state"),
    (r"\w+", "many states inside characters: more than 64 states of the Nfa"),
    ("(foo|bar|baz|football)*", "words that share prefixes and ends"),
    ("[a-f]x|[b-z]y", "ranges that overlap"),
    ("((a*)*|b*)*", "cycles of ε-edges"),
]


@pytest.mark.parametrize(("pattern", "because"), PATTERNS, ids=[row[1] for row in PATTERNS])
def test_patterns(pattern: str, because: str) -> None:
    check(thompson(parse_regex(Source(pattern, "regex"))))


STATES = st.integers(0, 6)
EDGES = st.lists(st.tuples(STATES, st.integers(0, 11), st.integers(0, 3), STATES), max_size=14)


@pytest.mark.slow
@given(EDGES, st.lists(st.tuples(STATES, STATES), max_size=6), st.frozensets(STATES), STATES)
@settings(deadline=None, max_examples=300)
def test_any_machine(
    edges: list[tuple[int, int, int, int]],
    epsilons: list[tuple[int, int]],
    finals: frozenset[int],
    initial: int,
) -> None:
    builder = NfaBuilder(symbols=15)
    for _ in range(7):
        builder.new_state()
    for source, low, more, target in edges:
        builder.edge(source, low, low + more, target)
    for source, target in epsilons:
        builder.epsilon(source, target)
    check(builder.build(initial, finals))


def test_none_for_large_machines() -> None:
    large = thompson(parse_regex(Source("(a|b)*a(a|b){12}", "regex")))
    assert small_dfa(large) is None, f"2^13 states, not {SMALL}"
    few = thompson(parse_regex(Source("abcdef", "regex")))
    assert small_dfa(few, most=6) is None, "seven states"
    assert small_dfa(few, most=7) is not None
