"""Intersections: what both accept, without dead ends, and what happens past the bounds."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings

from tests.constraint.test_outlines import regexes
from workbench.automata.operations import intersection
from workbench.base.errors import LimitError, TokenNotAllowed, VocabularyError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.combined import Intersection
from workbench.constraint.compile import compile
from workbench.constraint.engine.automaton import DfaConstraint, automaton
from workbench.constraint.protocol import Constraint, State
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import all_bytes, toy

WORDS = toy(["a", "b", "c", "ab", "bc", "abc", "aa", "é", "0", "1"])


def of(pattern: str) -> Constraint:
    return automaton(Grammar.from_regex(pattern), WORDS, LIMITS)


def texts(constraint: Constraint, most: int) -> set[bytes]:
    """Every text that a constraint accepts within a number of tokens; no mask may be empty."""
    found = set()
    waiting: list[tuple[State, bytes, int]] = [(constraint.initial, b"", 0)]
    while waiting:
        state, text, length = waiting.pop()
        mask = constraint.mask(state)
        assert len(mask), f"a dead end after {text!r}"
        for token_id in mask:
            if token_id == constraint.vocabulary.end:
                assert constraint.is_final(state)
                found.add(text)
            elif length < most:
                token = constraint.vocabulary.tokens[token_id] or b""
                waiting.append((constraint.advance(state, token_id), text + token, length + 1))
    return found


#   one                     other               accepted                because
PAIRS = [
    ("(a|b)*",              "a*b*",             {b"", b"a", b"b", b"aa", b"ab", b"bb"}, "one in the other"),
    ("a(b|c)?",             "ab|ac|b",          {b"ab", b"ac"},         "an end only one has"),
    ("(ab)*c?",             "(abc|ab)",         {b"ab", b"abc"},        "several tokens of one text"),
    ("a*b|c",               "a*c",              {b"c"},                 "a is a dead end: b and c never agree"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "accepted", "because"), PAIRS, ids=[r[3] for r in PAIRS])
def test_what_both_accept(one: str, other: str, accepted: set[bytes], because: str) -> None:
    both = Intersection(of(one), of(other))
    assert {text for text in texts(both, 3) if len(text) <= 2 or text == b"abc"} == accepted
    assert both.is_exact, because


def test_dead_ends_are_pruned() -> None:
    both = Intersection(of("a*b|c"), of("a*c"))
    assert {WORDS.tokens[i] for i in both.mask(both.initial)} == {b"c"}
    with pytest.raises(TokenNotAllowed):
        both.advance(both.initial, 0)


@pytest.mark.exhaustive
@settings(max_examples=100, deadline=None)
@given(regexes, regexes)
def test_masks_are_those_of_the_product_automaton(one: str, other: str) -> None:
    left, right = Grammar.from_regex(one).dfa, Grammar.from_regex(other).dfa
    assert left is not None
    assert right is not None
    product = intersection(left, right)
    try:
        both = Intersection(DfaConstraint(left, WORDS), DfaConstraint(right, WORDS))
    except VocabularyError:
        with pytest.raises(VocabularyError):
            _ = [DfaConstraint(dfa, WORDS) for dfa in (left, right, product)]
        return
    exact = DfaConstraint(product, WORDS)
    waiting = [(both.initial, exact.initial)]
    for here, there in waiting:  # grows while it is read
        mask = both.mask(here)
        assert mask == exact.mask(there)
        assert exact.forced(there).startswith(both.forced(here))
        for token_id in mask:
            after = both.advance(here, token_id), exact.advance(there, token_id)
            if token_id != WORDS.end and after not in waiting and len(waiting) < 15:
                waiting.append(after)


def test_a_stack_and_an_automaton() -> None:
    """Brackets at most two deep: the first needs a stack, the second none; together neither."""
    brackets = Grammar.from_kbnf("start ::= '(' start ')' start | '';")
    words = toy(["(", ")", "()", "))"])
    shallow = automaton(Grammar.from_regex(r"(\((\(\))*\))*"), words, LIMITS)
    both = Intersection(automaton(brackets, words, LIMITS), shallow)
    found = texts(both, 4)
    assert {b"", b"()", b"(())", b"()()", b"(()())"} <= found
    assert all(brackets.accepts(text) and b"(((" not in text for text in found)


def test_methods_may_differ() -> None:
    one = compile(Grammar.from_regex("(ab|c)+"), WORDS, "outlines")
    other = compile(Grammar.from_kbnf("start ::= 'a' start | 'b' start | 'c';"), WORDS, "lalr")
    both = Intersection(one, other)
    assert texts(both, 5) == {b"c", b"abc", b"ababc"}
    assert both.forced(both.initial) == b""
    assert both.forced(both.advance(both.initial, 0)) == b"b"


def test_ends_are_those_of_both() -> None:
    both = Intersection(of("ab?"), of("a*b*"))
    a = both.advance(both.initial, 0)
    end = WORDS.end
    assert end is not None
    assert end in both.mask(a)
    assert both.advance(a, end) == a
    with pytest.raises(TokenNotAllowed):
        both.advance(both.initial, end)


def test_a_search_past_its_limits_sets_is_exact_to_false() -> None:
    """aⁿbⁿ and aⁿb²ⁿ agree on no text but the empty one, and there are ever more pairs to look at."""
    grammar = Grammar.from_kbnf
    equal = automaton(grammar("start ::= 'a' start 'b' | 'c' | 'x' | 'y';"), all_bytes(), LIMITS)
    twice = automaton(grammar("start ::= 'a' start 'bb' | 'c' | 'd';"), all_bytes(), LIMITS)
    both = Intersection(equal, twice, Limits(states=50))
    assert set(both.mask(both.initial)) == {ord("a"), ord("c")}, (
        "a is a dead end, which the search does not find"
    )
    assert not both.is_exact


def test_a_mask_is_computed_within_the_time_limit() -> None:
    """Many states to look ahead from, each with more behind it than there is time for."""
    rules = "start ::= #'[a-z]' start #'[a-z]' | '!';"
    palindromes = automaton(Grammar.from_kbnf(rules), all_bytes(), LIMITS)
    endless = automaton(Grammar.from_regex("([a-z]{2})*[A-Z]|!"), all_bytes(), LIMITS)
    started = time.thread_time()
    both = Intersection(palindromes, endless, Limits(seconds=0.2))
    state = both.initial
    for byte in b"abc":
        both.mask(state)
        state = both.advance(state, byte)
    assert not both.is_exact
    assert time.thread_time() - started < 5


def test_error_nothing_is_accepted_by_both() -> None:
    with pytest.raises(VocabularyError, match="no accepted text can be spelled"):
        Intersection(of("a+"), of("b+"))


def test_error_two_vocabularies() -> None:
    other = automaton(Grammar.from_regex("a"), toy(["a", "b"]), LIMITS)
    with pytest.raises(VocabularyError, match="over one vocabulary"):
        Intersection(of("a"), other)


def test_a_mask_of_many_tokens_ends_at_the_limit() -> None:
    anything = compile(Grammar.from_regex("(?s:.*)"), all_bytes())
    both = Intersection(anything, anything, Limits(seconds=1e-6))
    with pytest.raises(LimitError, match="seconds"):
        both.mask(both.initial)
