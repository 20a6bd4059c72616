"""small_dfa(), direct_dfa() and minimize() give the tables of determinize() and minimize_in_rounds()."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.automata.determinize import determinize
from workbench.automata.minimize import minimize, minimize_in_rounds
from workbench.automata.nfa import Nfa, NfaBuilder
from workbench.automata.small_dfa import SMALL, direct_dfa, small_dfa
from workbench.automata.thompson import thompson
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source
from workbench.syntax.regex.parser import parse_regex


def nfa_of(pattern: str) -> Nfa:
    return thompson(parse_regex(Source(pattern, "regex")))


def check(nfa: Nfa) -> None:
    large = determinize(nfa)
    slow, small, direct = minimize_in_rounds(large, LIMITS.clock()), small_dfa(nfa), direct_dfa(nfa)
    assert small is not None
    for dfa in (small, minimize(large), direct or slow):
        assert np.array_equal(dfa.classes, slow.classes)
        assert np.array_equal(dfa.table, slow.table)
        assert np.array_equal(dfa.finals, slow.finals)
        assert dfa.initial == slow.initial
        assert (dfa.table.dtype, dfa.classes.dtype) == (slow.table.dtype, slow.classes.dtype)


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
def test_patterns_have_the_tables_of_the_slow_functions(pattern: str, because: str) -> None:
    check(nfa_of(pattern))


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


def test_small_dfa_is_none_for_large_machines() -> None:
    large = nfa_of("(a|b)*a(a|b){12}")
    assert small_dfa(large) is None, f"2^13 states, not {SMALL}"
    few = nfa_of("abcdef")
    assert small_dfa(few, most=6) is None, "seven states"
    assert small_dfa(few, most=7) is not None


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
def test_built_directly_if_a_symbol_leads_to_one_state(
    pattern: str, made: bool, because: str
) -> None:
    assert (direct_dfa(nfa_of(pattern)) is not None) is made, because
    check(nfa_of(pattern))


def test_nothing_is_built_directly_above_the_states_limit() -> None:
    assert direct_dfa(nfa_of("abcdef"), Limits(states=6)) is None
    assert direct_dfa(nfa_of("abcdef"), Limits(states=7)) is not None


def test_nothing_is_built_directly_for_a_language_without_texts() -> None:
    assert direct_dfa(nfa_of(r"a[^\s\S]")) is None
