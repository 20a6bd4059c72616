from __future__ import annotations

import time

import pytest

from tests.automata.machines import dfa_of
from tests.constraint.proper.oracles import toy
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.constraint.methods.proper.proper import NestedRows, ProperConstraint
from workbench.grammar.grammar import Grammar
from workbench.pushdown.network import Network
from workbench.vocabulary.tokenization.bpe import Bpe


def nested(text: str, limits: Limits) -> NestedRows:
    machine = Grammar.from_kbnf(text).machine
    assert isinstance(machine, Network)
    return NestedRows(machine, Bpe.of(toy("abc", [("a", "a"), ("b", "c")])), limits)


NESTING = "start ::= 'a' start 'b' | 'c';"


def test_each_search_has_its_own_time_limit() -> None:
    rows = nested(NESTING, Limits(seconds=0.05))
    rows.rows((rows.initial, rows.guesses.start))
    time.sleep(0.06)
    assert rows.is_coaccessible((rows.after(rows.initial, b"c"), rows.guesses.start), 2)


def test_a_search_that_takes_too_long_is_an_error() -> None:
    rows = nested(NESTING, Limits())
    rows._limits = Limits(seconds=1e-9)
    with pytest.raises(LimitError, match="seconds"):
        rows.rows((rows.initial, rows.guesses.start))


def test_a_search_that_gives_up_forbids_its_token() -> None:
    """With no patience for places behind the next nothing of a longer text is found."""
    rows = nested(NESTING, Limits())
    rows.patience = 1
    (c,) = rows.bpe.vocabulary.ids("c")
    inside, _ = rows.rows((rows.initial, rows.guesses.start))
    assert inside[0] == 1 << c
    assert rows.given_up > 0


def test_cached_rows_stay_within_the_limit() -> None:
    vocabulary = toy("ab", [("a", "b")])
    dfa = dfa_of("(a|b){0,40}")
    constraint = ProperConstraint(dfa, vocabulary, Limits(rows=4))
    state = constraint.initial
    for _ in range(30):
        state = constraint.advance(state, vocabulary.ids("b")[0])
        assert len(constraint.mask(state)) == 4
    assert len(constraint.rows._rows) <= 4
