from __future__ import annotations

import pytest

import workbench as wb
from tests.constraint.proper.oracles import toy
from workbench.base.errors import LimitError, TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.base.limits import Limits
from workbench.constraint.protocol import Constraint
from workbench.grammar.grammar import Grammar

TABLE_1 = toy("abc", [("a", "b"), ("a", "a"), ("a", "c")])


def test_masks_are_those_of_the_method_proper() -> None:
    grammar = Grammar.from_regex("a*b*c?")
    one = wb.compile(grammar, TABLE_1, "direct_merge")
    other = wb.compile(grammar, TABLE_1, "proper")
    assert isinstance(one, Constraint)
    waiting = [(one.initial, other.initial, 0)]
    for here, there, depth in waiting:
        assert one.mask(here) == other.mask(there)
        assert one.is_final(here) == other.is_final(there)
        assert one.forced(here) == other.forced(there)
        waiting += [
            (one.advance(here, token), other.advance(there, token), depth + 1)
            for token in one.mask(here)
            if token != TABLE_1.end and depth < 5
        ]
    assert len(waiting) == 71


def test_the_end_token_stays_and_others_are_refused() -> None:
    found = wb.compile(Grammar.from_regex("a"), TABLE_1, "direct_merge")
    (a,) = TABLE_1.ids("a")
    there = found.advance(found.initial, a)
    assert TABLE_1.end is not None
    assert found.advance(there, TABLE_1.end) == there
    with pytest.raises(TokenNotAllowed):
        found.advance(found.initial, TABLE_1.end)


def test_error_of_a_grammar_with_a_stack() -> None:
    nested = Grammar.from_kbnf("start ::= 'a' start 'b' | 'c';")
    with pytest.raises(WorkbenchError, match="needs a stack"):
        wb.compile(nested, TABLE_1, "direct_merge")


def test_error_of_an_automaton_that_grows_too_large() -> None:
    with pytest.raises(LimitError, match="token edges"):
        wb.compile(
            Grammar.from_regex("[abc]{50}"), TABLE_1, "direct_merge", limits=Limits(token_edges=200)
        )


def test_error_of_a_language_that_cannot_be_tokenized() -> None:
    with pytest.raises(VocabularyError, match="no accepted text can be spelled"):
        wb.compile(Grammar.from_regex("d"), TABLE_1, "direct_merge")
