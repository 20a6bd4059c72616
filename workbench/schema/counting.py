"""Rules that count items and characters in blocks.

An automaton that counts to 65,535 has at least one state for each number, and twenty for the
characters of a string, because of their escapes. Counting in blocks takes a hundredth of that: a
block is a rule, and the number of blocks read is given by the position from which it is called.
Many blocks are grouped into larger blocks in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from workbench.automata.determinize import trimmed
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.limits import Limits
from workbench.base.source import Span
from workbench.schema.bounded_lengths import with_lengths
from workbench.schema.json_literals import ARRAY_STATES, QUOTE, character_machine, literals_machine
from workbench.schema.string_machines import is_finite
from workbench.schema.string_sets import StringSet
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Repetition,
    Sequence,
    choice,
)

_LENGTH_HINT = "lower the bounds of the string's length"

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
        expressions: list[Expression] = [self.copies(rest, rest)] if rest else []
        level = 1
        while blocks:
            blocks, rest = divmod(blocks, BLOCK)
            expressions += self._blocks(rest, rest, level)
            level += 1
        return expressions

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
    return Automaton(_machine(kind, low, high), _count_label(low, high), span)


def _count_label(low: int, high: int | None) -> str:
    count = str(low) if low == high else f"{low} or more" if high is None else f"{low} to {high}"
    return f"{count} characters"


@lru_cache(maxsize=256)
def _machine(kind: StringSet, low: int, high: int | None) -> Dfa:
    """Copies of the automaton of one character, each starting where the last one ends."""
    machine, copies = _character(kind), 1 if high is None else high
    inner = len(machine) - 1  # all states except the last, which has no edges
    table = np.full((copies * inner + 1, machine.table.shape[1]), DEAD, np.int32)
    for copy in range(copies):
        part = machine.table[:inner]
        table[copy * inner : (copy + 1) * inner] = np.where(part == DEAD, DEAD, part + copy * inner)
    finals = np.zeros(len(table), np.bool_)
    if high is None:
        table = np.where(table == inner, 0, table)[:inner]
        return Dfa(machine.classes, table, np.arange(inner) == 0)
    finals[low * inner :: inner] = True
    return Dfa(machine.classes, table, finals)


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


# -- strings of a pattern --------------------------------------------------------------------------

#: The characters of a block of strings of a pattern, and the blocks of a larger block.
_CHARACTERS, _BLOCKS = 16, 32
#: Up to this (estimated) number of states, the strings of a pattern are one automaton; so are those
#: of a pattern with more states, since a block has a rule for each pair of them.
_MAX_STATES, _MAX_PATTERN_STATES = 30_000, 64


def needs_blocks(texts: StringSet) -> bool:
    """Whether the strings of a pattern are so long that they are counted in blocks."""
    longest = max(texts.low, texts.high or 0)
    if longest <= MAX_COUNTED_SINGLY or texts.content is None or texts.without:
        return False
    states = len(texts.content.machine)
    characters = character_machine(texts.content.alphabet, unescaped=texts.content.unescaped)
    return (
        states <= _MAX_PATTERN_STATES
        and longest * states * len(characters.table) > _MAX_STATES
        and not is_finite(texts.content)
    )


class BlockRules(Protocol):
    """Where rules are written."""

    def new_name(self, wanted: str) -> str:
        """An unused name."""

    def rule(self, name: str, body: Expression, span: Span) -> None:
        """Add a rule."""


class PatternCounter:
    """Counts the characters of the strings of a pattern in blocks.

    A block is a rule for each pair of states of the pattern's automaton: it reads that number of
    characters on the way from one to the other. The state in which a block ends is not known before
    its end, so every possible one is an alternative.
    """

    def __init__(self, texts: StringSet, span: Span, writer: BlockRules, limits: Limits) -> None:
        assert texts.content is not None
        self._content, self._machine = texts.content, texts.content.machine
        self._low, self._below = texts.low, None if texts.high is None else texts.high + 1
        self._span, self._writer, self._limits = span, writer, limits
        self._clock = limits.clock()
        self._states = 0
        sources, columns = np.nonzero(self._machine.table != DEAD)
        step = np.zeros((len(self._machine), len(self._machine)), np.bool_)
        step[sources, self._machine.table[sources, columns]] = True
        #: For each number of characters and pair of states: whether a string leads to the second.
        self._ways = {1: step}
        #: The rules that are written, by what they read; None if there is no such string.
        self._written: dict[tuple[int | None, ...], Nonterminal | None] = {}

    def expression(self) -> Expression | None:
        """The strings with their quotes; None for no strings."""
        inside = self._strings(self._low, self._below, self._machine.initial)
        quote = Literal(b'"', self._span)
        return inside and Sequence((quote, inside, quote), self._span)

    def _strings(self, low: int, below: int | None, state: State) -> Nonterminal | None:
        """From a state, the ends of strings of at least ``low`` and fewer than ``below``."""
        key = low, below, state
        if key not in self._written:
            if (low if below is None else below) <= _CHARACTERS:
                high = None if below is None else below - 1
                nonterminal = self._characters(low, high, state, self._machine.finals)
            else:
                nonterminal = self._rule("characters", [*self._options(low, below, state)])
            self._written[key] = nonterminal
        return self._written[key]

    def _options(self, low: int, below: int | None, state: State) -> Iterator[Expression]:
        if low:
            size = low if low < _CHARACTERS else _block_within(low)
        else:
            assert below is not None
            size = _block_within(below - 1)
            less = self._strings(0, size, state)
            if less is not None:
                yield less
        for target in np.flatnonzero(self._leads(size)[state]).tolist():
            more = self._strings(max(low - size, 0), below and below - size, target)
            if more is not None:
                yield Sequence((self._exactly(size, state, target), more), self._span)

    def _exactly(self, size: int, state: State, target: State) -> Nonterminal:
        """So many characters from one state to another, which there are."""
        key = size, None, state, target
        nonterminal = self._written.get(key)
        if nonterminal is None:
            if size <= _CHARACTERS:
                finals = np.arange(len(self._machine)) == target
                nonterminal = self._characters(size, size, state, finals)
            else:
                first = _block_within(size - 1)
                onward = self._leads(first)[state] & self._leads(size - first)[:, target]
                options: list[Expression] = [
                    Sequence(
                        (
                            self._exactly(first, state, between),
                            self._exactly(size - first, between, target),
                        ),
                        self._span,
                    )
                    for between in np.flatnonzero(onward).tolist()
                ]
                nonterminal = self._rule(f"{size}_characters", options)
            assert nonterminal is not None
            self._written[key] = nonterminal
        return nonterminal

    def _leads(self, size: int) -> npt.NDArray[np.bool_]:
        """For each pair of states: whether a string of ``size`` characters leads to the second."""
        if size not in self._ways:
            first = size - 1 if size <= _CHARACTERS else _block_within(size - 1)
            self._ways[size] = self._leads(first) @ self._leads(size - first)
        return self._ways[size]

    def _characters(
        self, low: int, high: int | None, state: State, finals: npt.NDArray[np.bool_]
    ) -> Nonterminal | None:
        """An automaton of the characters from a state to one of others."""
        part = Dfa(self._machine.classes, self._machine.table, finals, state)
        content = with_lengths(replace(self._content, machine=part), low, high, self._limits)
        if content.is_empty:
            return None
        inside = _without_quotes(literals_machine(content, self._limits))
        self._states += len(inside)
        self._limits.check("states", self._states / ARRAY_STATES, _LENGTH_HINT)
        label = _count_label(low, high)
        return self._rule(f"{low}_characters", [Automaton(inside, label, self._span)])

    def _rule(self, wanted: str, options: list[Expression]) -> Nonterminal | None:
        """The call of a new rule; None without options."""
        if not options:
            return None
        self._clock.check()
        name = self._writer.new_name(wanted)
        self._writer.rule(name, choice(options, self._span), self._span)
        return Nonterminal(name, self._span)


def _block_within(count: int) -> int:
    """The size of the largest block that ``count`` characters contain; at least one block."""
    size = _CHARACTERS
    while size * _BLOCKS <= count:
        size *= _BLOCKS
    return size


def _without_quotes(quoted: Dfa) -> Dfa:
    """An automaton of JSON literals, as ``literals_machine`` makes it, without their quotes."""
    opened = int(quoted.table[quoted.initial, quoted.classes[QUOTE]])
    closed = 1
    finals = quoted.table[:, quoted.classes[QUOTE]] == closed
    table = np.where(quoted.table == closed, DEAD, quoted.table)
    return trimmed(quoted.classes, table, finals, opened)
