"""LazyDfa agrees with the complete DFA, and works where the complete one would explode."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.automata.build import regex_dfa
from workbench.automata.lazy_dfa import LazyDfa
from workbench.automata.nfa import NfaBuilder
from workbench.automata.thompson import thompson
from workbench.base.dfa import DEAD
from workbench.base.errors import LimitError, VocabularyError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source
from workbench.constraint.compile import compile
from workbench.constraint.engine.automaton import DfaConstraint, LazyConstraint, automaton
from workbench.grammar.grammar import Grammar
from workbench.syntax.regex.parser import parse_regex
from workbench.vocabulary.vocabulary import Vocabulary

BYTES = Vocabulary(
    (*(bytes([i]) for i in range(256)), b"ab", b"ba", b"aab", b"bbbb", b"<end>"), end=260
)
PATTERNS = [
    "(a|b)*a(a|b){5}",
    "[a-z]{0,20}x",
    r"(\w|b)*é{1,3}",
    "",
    "b|a[^\\s\\S]",
    "((a*)*|b*)*c?",
]
PIECES = st.sampled_from([b"a", b"b", b"x", b"\xc3", b"\xa9", b"c", b"~"])


@pytest.mark.slow
@pytest.mark.parametrize("pattern", PATTERNS)
@given(pieces=st.lists(PIECES, max_size=12))
@settings(deadline=None, max_examples=60)
def test_reads_like_the_complete_dfa(pattern: str, pieces: list[bytes]) -> None:
    regex = parse_regex(Source(pattern, "regex"))
    lazy, whole, text = LazyDfa(thompson(regex)), regex_dfa(regex), b"".join(pieces)
    here, there = lazy.run(text), whole.run(text)
    assert (here == DEAD) == (there == DEAD)
    assert here == DEAD or lazy.is_final(here) == whole.is_final(there)
    assert here == DEAD or lazy.run(text) == here, "numbers do not change"


@pytest.mark.parametrize("pattern", ["(a|b)*a(a|b){5}", "[ab]{0,20}b", "(a|ab|aab)*b{3}"])
def test_masks_are_those_of_the_complete_dfa(pattern: str) -> None:
    regex = parse_regex(Source(pattern, "regex"))
    dfa = regex_dfa(regex)
    lazy, whole = LazyConstraint(LazyDfa(thompson(regex)), BYTES), DfaConstraint(dfa, BYTES)
    here, there = lazy.initial, whole.initial
    for token_id in BYTES.ids("a", "b", "aab", "ab", "b", "ba", "a"):
        assert lazy.mask(here) == whole.mask(there)
        if token_id in whole.mask(there):
            here, there = lazy.advance(here, token_id), whole.advance(there, token_id)


@pytest.mark.slow
def test_a_regex_that_explodes_still_reads_and_decodes() -> None:
    grammar = Grammar.from_regex("(a|b)*a(a|b){30}", limits=Limits(seconds=0.5))
    assert grammar.is_regular
    assert grammar.accepts("ba" + "ab" * 15)
    assert not grammar.accepts("bb" + "ab" * 15)
    assert grammar.is_prefix("ab" * 40)
    assert grammar.check("abc").offset == 2
    constraint = automaton(grammar, BYTES, LIMITS)
    state = constraint.initial
    for token_id in BYTES.ids("aab", "bbbb", "a") * 5:
        assert set(constraint.mask(state)) - {260} == {97, 98, 256, 257, 258, 259}
        state = constraint.advance(state, token_id)
    with pytest.raises(LimitError):
        _ = grammar.machine
    with pytest.raises(LimitError):
        compile(grammar, BYTES, "composed")


def test_complete_dfa_if_bytes_are_missing() -> None:
    toy = Vocabulary((b"a", b"ab", b"<end>"), end=2)
    grammar = Grammar.from_regex("(a|b)*a(a|b){9}")
    assert isinstance(grammar.reader, LazyDfa)
    constraint = automaton(grammar, toy, LIMITS)
    assert isinstance(constraint, DfaConstraint), "dead ends are found on tokens"
    with pytest.raises(VocabularyError):
        automaton(Grammar.from_regex("[xy]{400}z"), toy, LIMITS)


def test_memory_is_bounded() -> None:
    builder = NfaBuilder()
    states = [builder.new_state() for _ in range(8_000)]
    for here, there in pairwise(states):
        builder.edge(here, 97, 97, there)
    lazy = LazyDfa(builder.build(states[0], {states[-1]}), Limits(megabytes=1))
    with pytest.raises(LimitError, match="megabytes"):
        lazy.run(b"a" * 7_999)


def test_constraints_of_one_grammar_have_separate_sets() -> None:
    """Two threads may use two constraints at the same time."""
    lazy = LazyDfa(thompson(parse_regex(Source("(a|b)*a(a|b){9}", "regex"))))
    lazy.run(b"ab")
    states = len(lazy)
    one, other = LazyConstraint(lazy, BYTES), LazyConstraint(lazy, BYTES)
    assert one.mask(one.initial) == other.mask(other.initial)
    for constraint in (one, other):
        state = constraint.step_bytes(constraint.initial, b"abbabaab")
        assert state is not None
        assert constraint.mask(state) == one.mask(state)
    assert len(lazy) == states
