"""direct_dfa() gives the same tables as determinize() and minimize_in_rounds()."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.automata.determinize import determinize
from workbench.automata.minimize import minimize_in_rounds
from workbench.automata.nfa import Nfa, NfaBuilder
from workbench.automata.small_dfa import direct_dfa
from workbench.automata.thompson import thompson
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source
from workbench.syntax.regex.parser import parse_regex


def nfa_of(pattern: str) -> Nfa:
    return thompson(parse_regex(Source(pattern, "regex")))


def assert_same(nfa: Nfa) -> None:
    made, right = direct_dfa(nfa), minimize_in_rounds(determinize(nfa), LIMITS.clock())
    if made is not None:
        assert np.array_equal(made.table, right.table)
        assert np.array_equal(made.classes, right.classes)
        assert np.array_equal(made.finals, right.finals)
        assert made.initial == right.initial


@pytest.mark.parametrize(
    ("pattern", "made", "because"),
    [
        ("abc", True, "one path"),
        (
            '"(?P<SUBSTRING_OF>abcbcé)"',
            True,
            "each letter leads to one state of the suffix automaton",
        ),
        ("(?P<TEXT_UNTIL>aab)", True, "each letter leads to one state of the phrase"),
        ("[^x]{3}é*", True, "characters of several bytes"),
        ("(ab|ac)d", True, "options share their first letters"),
        ("a*a", False, "'a' leads back and to the end"),
        ("(a|b)*a(a|b)", False, "several states for one text"),
    ],
)
def test_built_if_a_symbol_leads_to_one_state(pattern: str, made: bool, because: str) -> None:
    assert (direct_dfa(nfa_of(pattern)) is not None) is made, because
    assert_same(nfa_of(pattern))


def test_none_above_the_states_limit() -> None:
    assert direct_dfa(nfa_of("abcdef"), Limits(states=6)) is None
    assert direct_dfa(nfa_of("abcdef"), Limits(states=7)) is not None


def test_none_of_a_language_without_texts() -> None:
    assert direct_dfa(nfa_of(r"a[^\s\S]")) is None


EDGES = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0x61, 0x64), st.integers(0, 2), st.integers(0, 5)),
    max_size=12,
)
EPSILONS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=5)


@pytest.mark.slow
@given(EDGES, EPSILONS, st.sets(st.integers(0, 5), min_size=1))
def test_the_same_as_by_subsets(
    edges: list[tuple[int, int, int, int]], epsilons: list[tuple[int, int]], finals: set[int]
) -> None:
    builder = NfaBuilder()
    for _ in range(6):
        builder.new_state()
    for source, low, more, target in edges:
        builder.edge(source, low, low + more, target)
    for source, target in epsilons:
        builder.epsilon(source, target)
    assert_same(builder.build(0, finals))
