"""Rules that count copies and characters by blocks.

A machine that counts to 65,535 has a state for each of them; for characters of a string, which are
spelled in many ways, twenty. Counting by blocks takes a hundredth: a block is a rule, and how many
there were is where it is called from. Of many blocks there are blocks again.
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

#: Copies in a block. Tried on strings of up to 65,535 characters: 32 takes fewer states (4,600, not
#: 6,100) and more calls (a machine in 2.6 ms, not 0.9); 128 and 256 more states and no less time.
BLOCK = 64
#: Bounds up to here are counted one by one.
MAX_COUNTED_SINGLY = 256


@dataclass(frozen=True, slots=True)
class BlockCounter:
    """What is counted, and the names of its blocks."""

    #: The expression of so many to so many copies, without end for None.
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
        """``low`` to ``high`` copies one after the other.

        At any place there are few ways to go on, two for each size of blocks: the block that is
        begun is full, or the text ends in it.
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
        """A rest that no block holds comes first; then blocks, the last of which may end early."""
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
        """``low`` to ``high`` blocks, the first apart: what is called once is written in."""
        if not high:
            return []
        call = Nonterminal(self.block(level), self.span)
        further = (Repetition(call, max(low - 1, 0), high - 1, self.span),) if high > 1 else ()
        row = Sequence((call, *further), self.span)
        return [row if low else Repetition(row, 0, 1, self.span)]


def _level(count: int) -> int:
    """The largest blocks of which there are some."""
    level = 0
    while BLOCK ** (level + 1) <= count:
        level += 1
    return level


def character_counter(texts: StringSet, span: Span, block: Callable[[int], str]) -> BlockCounter:
    """Characters of a string as what is counted, of the kind that is in a set."""
    kind = replace(texts, low=1, high=1)
    return BlockCounter(lambda low, high: _characters(kind, low, high, span), block, span)


def long_string(low: int, high: int | None, counting: BlockCounter) -> Expression:
    """The JSON strings of ``low`` to ``high`` characters."""
    quote = Literal(b'"', counting.span)
    return Sequence((quote, *counting.counted(low, high), quote), counting.span)


def _characters(kind: StringSet, low: int, high: int | None, span: Span) -> Expression:
    told = str(low) if low == high else f"{low} or more" if high is None else f"{low} to {high}"
    return Automaton(_machine(kind, low, high), f"{told} characters", span)


@lru_cache(maxsize=256)
def _machine(kind: StringSet, low: int, high: int | None) -> Dfa:
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
def _character(kind: StringSet) -> Dfa:
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
