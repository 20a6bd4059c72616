"""Combining terminals, compared with the same operations on sets of short texts."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.dfa import Dfa
from workbench.base.errors import BuildError
from workbench.base.limits import LIMITS
from workbench.base.source import Source, Span
from workbench.pushdown.build import Combining
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Repetition,
    Sequence,
)

SPAN = Span(0, 0)
COMBINING = Combining(Source("", "grammar"), LIMITS)
TEXTS = ["".join(letters) for size in range(5) for letters in product("aé", repeat=size)]

letters = st.sampled_from("aé").map(lambda letter: Literal(letter.encode(), SPAN))


def larger(parts: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    pairs = st.tuples(parts, parts)
    return (
        pairs.map(lambda pair: Sequence(pair, SPAN))
        | pairs.map(lambda pair: Choice(pair, SPAN))
        | parts.map(lambda part: Repetition(part, 0, None, SPAN))
        | parts.map(lambda part: Repetition(part, 1, 2, SPAN))
    )


expressions: st.SearchStrategy[Expression] = st.recursive(letters, larger, max_leaves=4)


def texts(expression: Expression) -> set[str]:
    """The texts of an expression that are in ``TEXTS``."""
    match expression:
        case Literal(value):
            return {value.decode()}
        case Sequence((left, right)):
            return {a + b for a in texts(left) for b in texts(right)} & set(TEXTS)
        case Choice(options):
            return set().union(*map(texts, options))
        case Repetition(item, low, high):
            found = {""} if low == 0 else set[str]()
            row = {""}
            for count in range(1, (len(TEXTS[-1]) if high is None else high) + 1):
                row = {a + b for a in row for b in texts(item)} & set(TEXTS)
                found |= row if count >= low else set()
            return found
        case _:
            raise AssertionError("not drawn")


def read(machine: Dfa) -> set[str]:
    return {text for text in TEXTS if machine.accepts(text.encode())}


@pytest.mark.slow
@given(expressions, expressions)
def test_operations_are_those_of_sets(left: Expression, right: Expression) -> None:
    assert read(COMBINING.both((left, right), {})) == texts(left) & texts(right)
    assert read(COMBINING.but(left, right, {})) == texts(left) - texts(right)
    assert read(COMBINING.but(None, right, {})) == set(TEXTS) - texts(right)


@given(expressions, st.integers(0, 3))
def test_shortest_and_at_most(part: Expression, most: int) -> None:
    all_of_them = texts(part)
    shortest = {
        text
        for text in all_of_them
        if not any(text[:size] in all_of_them for size in range(len(text)))
    }
    assert read(COMBINING.shortest(part, {})) == shortest
    assert read(COMBINING.at_most(part, most, {})) == {t for t in all_of_them if len(t) <= most}


def test_a_complement_contains_only_valid_utf8() -> None:
    machine = COMBINING.but(None, Literal(b"a", SPAN), {})
    assert not machine.accepts(b"\xff"), "not valid UTF-8"


def test_rules_are_called() -> None:
    rules: dict[str, Expression] = {
        "A": Sequence((Literal(b"a", SPAN), Nonterminal("B", SPAN)), SPAN),
        "B": Literal(b"b", SPAN),
    }
    assert COMBINING.shortest(Nonterminal("A", SPAN), rules).accepts(b"ab")


def test_error_where_a_stack_is_needed() -> None:
    call, a, b = Nonterminal("A", SPAN), Literal(b"a", SPAN), Literal(b"b", SPAN)
    rules = {"A": Choice((Sequence((a, call, b), SPAN), a), SPAN)}
    with pytest.raises(BuildError, match="without a stack"):
        COMBINING.shortest(call, rules)


def test_error_where_a_rule_is_missing() -> None:
    with pytest.raises(BuildError, match="'A' has no rule"):
        COMBINING.shortest(Nonterminal("A", SPAN), {})
