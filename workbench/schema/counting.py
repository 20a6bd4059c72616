"""Rules that count items and characters in blocks.

An automaton that counts to 65,535 has at least one state for each number, and twenty for the
characters of a string, because of their escapes. Counting in blocks takes a hundredth of that: a
block is a rule, and the number of blocks read is given by the position from which it is called.
Many blocks are grouped into larger blocks in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from workbench.base.dfa import DEAD, Dfa
from workbench.base.source import Span
from workbench.schema.json_literals import QUOTE
from workbench.schema.string_sets import StringSet
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Repetition,
    Sequence,
)

#: Copies in a block. Measured on strings of up to 65,535 characters: 32 takes fewer states (4,600,
#: not 6,100) and more calls (a machine in 2.6 ms, not 0.9); 128 and 256 take more states and no
#: less time.
BLOCK = 64
#: Bounds up to this number are counted without blocks.
MAX_COUNTED_SINGLY = 256


@dataclass(frozen=True, slots=True)
class BlockCounter:
    """Counts copies of one expression; blocks of it are rules with names."""

    #: The expression of a least to a largest number of copies (None: unbounded).
    copies: Callable[[int, int | None], Expression]
    #: The name of the rule of ``BLOCK ** level`` copies, level 1 or more.
    block: Callable[[int], str]
    span: Span

    def body(self, level: int) -> Expression:
        """The body of the rule of a block."""
        if level == 1:
            return self.copies(BLOCK, BLOCK)
        return Sequence(tuple(self._blocks(BLOCK, BLOCK, level - 1)), self.span)

    def counted(self, low: int, high: int | None) -> list[Expression]:
        """The expressions that together read ``low`` to ``high`` copies.

        At every position there are few possible continuations, two for each size of block: the
        current block is full, or the text ends in it.
        """
        if high is None:
            return [*self._exactly(low), self.copies(0, None)]
        return [*self._exactly(low), *self._at_most(high - low, _level(high - low))]

    def _exactly(self, count: int) -> list[Expression]:
        blocks, rest = divmod(count, BLOCK)
        found: list[Expression] = [self.copies(rest, rest)] if rest else []
        level = 1
        while blocks:
            blocks, rest = divmod(blocks, BLOCK)
            found += self._blocks(rest, rest, level)
            level += 1
        return found

    def _at_most(self, count: int, level: int) -> list[Expression]:
        """First the remainder that fills no block, then blocks, the last of which may end early."""
        if level == 0:
            return [self.copies(0, count)] if count else []
        size = BLOCK**level
        blocks, rest = divmod(count, size)
        if not blocks:
            return self._at_most(count, level - 1)
        many = [*self._blocks(0, blocks - 1, level), *self._at_most(size, level - 1)]
        if not rest:
            return many
        less = Sequence(tuple(self._at_most(rest - 1, level - 1)), self.span)
        return [Choice((less, Sequence((*self._exactly(rest), *many), self.span)), self.span)]

    def _blocks(self, low: int, high: int, level: int) -> list[Expression]:
        """``low`` to ``high`` blocks; the first is a separate call, so single calls are inlined."""
        if not high:
            return []
        call = Nonterminal(self.block(level), self.span)
        further = (Repetition(call, max(low - 1, 0), high - 1, self.span),) if high > 1 else ()
        row = Sequence((call, *further), self.span)
        return [row if low else Repetition(row, 0, 1, self.span)]


def _level(count: int) -> int:
    """The level of the largest block that fits into a count."""
    level = 0
    while BLOCK ** (level + 1) <= count:
        level += 1
    return level


def character_counter(texts: StringSet, span: Span, block: Callable[[int], str]) -> BlockCounter:
    """Counts characters of the class to which the strings of a set are restricted."""
    kind = replace(texts, low=1, high=1)
    return BlockCounter(lambda low, high: _characters(kind, low, high, span), block, span)


def long_string(low: int, high: int | None, counting: BlockCounter) -> Expression:
    """The JSON strings of ``low`` to ``high`` characters."""
    quote = Literal(b'"', counting.span)
    return Sequence((quote, *counting.counted(low, high), quote), counting.span)


def _characters(kind: StringSet, low: int, high: int | None, span: Span) -> Expression:
    count = str(low) if low == high else f"{low} or more" if high is None else f"{low} to {high}"
    return Automaton(_machine(kind, low, high), f"{count} characters", span)


@lru_cache(maxsize=256)
def _machine(kind: StringSet, low: int, high: int | None) -> Dfa:
    """Copies of the automaton of one character, each starting where the last one ends."""
    one, copies = _character(kind), 1 if high is None else high
    inner = len(one) - 1  # all states except the last, which has no edges
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
def _character(kind: StringSet) -> Dfa:
    """The automaton of one character: state 0 is initial, and only its last state is final."""
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
