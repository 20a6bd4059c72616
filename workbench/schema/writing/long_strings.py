"""Long strings: how many characters of which kind in, an expression that counts by blocks out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from workbench.automata.dfa import DEAD, Dfa
from workbench.schema.strings.spelling import QUOTE
from workbench.schema.strings.texts import Texts
from workbench.schema.writing.counting import Counting
from workbench.source import Span
from workbench.syntax.grammar_tree import Automaton, Expression, Literal, Sequence


def characters(texts: Texts, span: Span, block: Callable[[int], str]) -> Counting:
    """Characters of a string as what is counted, of the kind that is in a set."""
    kind = replace(texts, low=1, high=1)
    return Counting(lambda low, high: _characters(kind, low, high, span), block, span)


def long_string(low: int, high: int | None, counting: Counting) -> Expression:
    """The JSON strings of ``low`` to ``high`` characters."""
    quote = Literal(b'"', counting.span)
    return Sequence((quote, *counting.counted(low, high), quote), counting.span)


def _characters(kind: Texts, low: int, high: int | None, span: Span) -> Expression:
    told = str(low) if low == high else f"{low} or more" if high is None else f"{low} to {high}"
    return Automaton(_machine(kind, low, high), f"{told} characters", span)


@lru_cache(maxsize=256)
def _machine(kind: Texts, low: int, high: int | None) -> Dfa:
    """As many copies of the machine of one character, each beginning where the last one ends."""
    one, copies = _character(kind), 1 if high is None else high
    inner = len(one) - 1  # all states but the last, which reads nothing
    table = np.full((copies * inner + 1, one.table.shape[1]), DEAD, np.int32)
    for copy in range(copies):
        part = one.table[:inner]
        table[copy * inner : (copy + 1) * inner] = np.where(part == DEAD, DEAD, part + copy * inner)
    finals = np.zeros(len(table), np.bool_)
    if high is None:
        table = np.where(table == inner, 0, table)[:inner]
        return Dfa(one.classes, table, np.arange(inner) == 0)
    finals[low * inner :: inner] = True
    return Dfa(one.classes, table, finals)


@lru_cache(maxsize=256)
def _character(kind: Texts) -> Dfa:
    """The machine of one character: it begins in state 0 and ends in its last state alone."""
    quoted = kind.machine()
    closes = quoted.table[:, quoted.classes[QUOTE]]
    first = int(closes[quoted.initial])
    (last,) = np.flatnonzero((closes != DEAD) & quoted.finals[closes]).tolist()
    outside = (quoted.initial, first, last, int(closes[last]))
    order = [first, *(s for s in range(len(quoted)) if s not in outside), last]
    number = np.full(len(quoted) + 1, DEAD, np.int32)
    number[order] = np.arange(len(order))
    table = number[quoted.table[order]]
    table[-1] = DEAD
    return Dfa(quoted.classes, table, np.arange(len(order)) == len(order) - 1)
