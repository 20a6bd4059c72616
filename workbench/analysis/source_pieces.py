"""Grammar and regex trees as pieces with places, and readers of their terminals.

Slow and obvious, for explanations: a reader knows which piece of the text it was written in reads
on, which the machines made for speed have forgotten.

What derives no text is left out, so that whatever a piece begins to read can be finished.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Protocol

import numpy as np

from workbench.automata.code_points import character_machine
from workbench.automata.nfa import Nfa, coaccessible
from workbench.automata.thompson import thompson
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import ParseError
from workbench.base.source import Source, Span
from workbench.syntax.grammar_tree import Literal
from workbench.syntax.kbnf.kbnf_lexer import unescape
from workbench.syntax.ranges import Ranges
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Extension,
    Group,
    Regex,
    Repeat,
)

_BYTES = 256

#: What a reader remembers of what it has read.
Memory = Hashable


class Reader(Protocol):
    """A machine over bytes. Whatever it reads can be finished: it never runs into a dead end."""

    @property
    def initial(self) -> Memory:
        """Before anything is read."""

    def step(self, memory: Memory, byte: int) -> Memory | None:
        """What it remembers after one more byte; None where it cannot read it."""

    def ends(self, memory: Memory) -> bool:
        """Whether what it has read is a whole text of its own."""

    def is_over(self, memory: Memory) -> bool:
        """Whether it is known that it reads nothing more."""

    def boundaries(self) -> Iterable[int]:
        """Bytes that it may treat otherwise than the byte before them."""


@dataclass(frozen=True, slots=True, eq=False)
class OneOf:
    """One character out of a set, or one byte out of a set."""

    #: For each node what is read and where it leads; node 0 is the end.
    edges: tuple[tuple[tuple[int, int, int], ...], ...]
    #: The characters, or None where it reads a byte.
    characters: Ranges | None
    initial: int

    def step(self, memory: Memory, byte: int) -> Memory | None:
        assert isinstance(memory, int)
        for low, high, target in self.edges[memory]:
            if low <= byte <= high:
                return target
        return None

    def ends(self, memory: Memory) -> bool:
        return memory == 0

    is_over = ends

    def boundaries(self) -> Iterable[int]:
        return (edge for row in self.edges for low, high, _ in row for edge in (low, high + 1))


@lru_cache(maxsize=1024)
def character(ranges: Ranges) -> OneOf:
    """The reader of a set of characters, which is not empty."""
    edges = character_machine(ranges).edges
    return OneOf(edges, ranges, len(edges) - 1)


@lru_cache(maxsize=1024)
def one_byte(ranges: Ranges) -> OneOf:
    """The reader of a set of bytes, which is not empty."""
    return OneOf(((), tuple((low, high, 0) for low, high in ranges)), None, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Any contiguous piece of a byte string (``#substrs``): it remembers where that may end."""

    value: bytes

    @property
    def initial(self) -> Memory:
        return frozenset(range(len(self.value) + 1))

    def step(self, memory: Memory, byte: int) -> Memory | None:
        assert isinstance(memory, frozenset)
        value = self.value
        return frozenset(i + 1 for i in memory if i < len(value) and value[i] == byte) or None

    def ends(self, memory: Memory) -> bool:
        return True

    def is_over(self, memory: Memory) -> bool:
        return memory == frozenset((len(self.value),))

    def boundaries(self) -> Iterable[int]:
        return (edge for byte in self.value for edge in (byte, byte + 1))


class Without:
    """A byte string in which none of some strings occurs, not empty (``except!``).

    It remembers the longest end of what it has read that one of them begins with, and how
    many bytes may follow (Aho & Corasick 1975, with the failures looked for at every step).
    """

    def __init__(self, strings: Iterable[bytes], limit: int | None) -> None:
        self._strings = tuple(strings)
        self._begun = {s[:length] for s in self._strings for length in range(len(s))} | {b""}
        #: Nothing has been read where the first is None.
        self.initial: tuple[bytes | None, int | None] = (None, limit)

    def step(self, memory: Memory, byte: int) -> Memory | None:
        assert isinstance(memory, tuple)
        kept, left = memory
        if left == 0:
            return None
        tail = (kept or b"") + bytes((byte,))
        if tail.endswith(self._strings):
            return None
        while tail not in self._begun:
            tail = tail[1:]
        return tail, None if left is None else left - 1

    def ends(self, memory: Memory) -> bool:
        assert isinstance(memory, tuple)
        return memory[0] is not None

    def is_over(self, memory: Memory) -> bool:
        assert isinstance(memory, tuple)
        return bool(memory[1] == 0)

    def boundaries(self) -> Iterable[int]:
        return (edge for s in self._strings for byte in s for edge in (byte, byte + 1))


@dataclass(frozen=True, slots=True, eq=False)
class OfMachine:
    """The texts of a byte machine: it remembers the state."""

    machine: Dfa

    @property
    def initial(self) -> Memory:
        return self.machine.initial

    def step(self, memory: Memory, byte: int) -> Memory | None:
        assert isinstance(memory, int)
        there = self.machine.step(memory, byte)
        return None if there == DEAD else there

    def ends(self, memory: Memory) -> bool:
        assert isinstance(memory, int)
        return self.machine.is_final(memory)

    def is_over(self, memory: Memory) -> bool:
        assert isinstance(memory, int)
        return not (self.machine.table[memory] != DEAD).any()

    def boundaries(self) -> Iterable[int]:
        changes: list[int] = np.flatnonzero(np.diff(self.machine.classes[:_BYTES])).tolist()
        return (byte + 1 for byte in changes)


class OfNfa:
    """The texts of a machine that is not deterministic: it remembers the states it may be in."""

    def __init__(self, nfa: Nfa) -> None:
        self._nfa = nfa
        flat = nfa.flat
        self._alive = coaccessible(
            flat.edges, flat.first, flat.epsilons, flat.first_epsilon, flat.finals
        )
        #: Empty where it has no text at all.
        self.initial: frozenset[int] = self._closed([nfa.initial])

    def _closed(self, states: list[int]) -> frozenset[int]:
        """These and all that is reached from them without reading, as far as an end is reached."""
        found = {state for state in states if self._alive[state]}
        waiting = list(found)
        while waiting:
            for target in self._nfa.epsilons[waiting.pop()]:
                if target not in found and self._alive[target]:
                    found.add(target)
                    waiting.append(target)
        return frozenset(found)

    def step(self, memory: Memory, byte: int) -> Memory | None:
        assert isinstance(memory, frozenset)
        edges = self._nfa.edges
        reached = [
            target for state in memory for low, high, target in edges[state] if low <= byte <= high
        ]
        return self._closed(reached) or None

    def ends(self, memory: Memory) -> bool:
        assert isinstance(memory, frozenset)
        return not self._nfa.finals.isdisjoint(memory)

    def is_over(self, memory: Memory) -> bool:
        assert isinstance(memory, frozenset)
        edges = self._nfa.edges
        return not any(self._alive[target] for s in memory for _, _, target in edges[s])

    def boundaries(self) -> Iterable[int]:
        lows, highs = self._nfa.flat.edges[:, 0], self._nfa.flat.edges[:, 1]
        found: list[int] = np.union1d(lows, highs + 1).tolist()
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """Something that reads, and where it is written."""

    reader: Reader
    span: Span
    #: The terminal, or the regex, it is a piece of.
    whole: Span
    #: The named groups of a regex it is in, the outermost first.
    groups: tuple[Group, ...] = ()
    is_nullable: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A rule is called, at a place."""

    rule: str
    span: Span
    is_nullable: bool


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One part after the other; no part: the empty text."""

    parts: tuple[Piece, ...]
    is_nullable: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_nullable", all(part.is_nullable for part in self.parts))


@dataclass(frozen=True, slots=True, eq=False)
class AnyOf:
    """One of the options."""

    options: tuple[Piece, ...]
    is_nullable: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_nullable", any(option.is_nullable for option in self.options))


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """From ``low`` to ``high`` copies of a part; of a part that may be empty none is needed."""

    part: Piece
    low: int
    high: int | None

    @property
    def is_nullable(self) -> bool:
        return self.low == 0


Piece = Leaf | Call | Row | AnyOf | Loop

#: The empty text.
NOTHING = Row(())


def row(parts: list[Piece | None]) -> Piece | None:
    """One after the other; None, no text at all, where one of them has none."""
    kept = [part for part in parts if part is not None]
    if len(kept) < len(parts):
        return None
    return kept[0] if len(kept) == 1 else Row(tuple(kept))


def any_of(options: list[Piece | None]) -> Piece | None:
    """Whichever has texts; None where none has any."""
    kept = tuple(option for option in options if option is not None)
    if len(kept) > 1:
        return AnyOf(kept)
    return kept[0] if kept else None


def loop(part: Piece | None, low: int, high: int | None) -> Piece | None:
    """Copies of a part; None where a copy is needed and there is none."""
    if high == 0 or (part is None and low == 0):
        return NOTHING
    if part is None:
        return None
    return Loop(part, 0 if part.is_nullable else low, high)


def regex_piece(regex: Regex, whole: Span, groups: tuple[Group, ...] = ()) -> Piece | None:
    """A regex that stands at ``whole``, or a part of it in some named groups.

    None where it matches nothing at all.
    """
    match regex:
        case Characters(ranges=ranges, span=span):
            return Leaf(character(ranges), span, whole, groups) if ranges else None
        case Bytes(ranges=ranges, span=span):
            return Leaf(one_byte(ranges), span, whole, groups) if ranges else None
        case Concat(parts=parts):
            return row([regex_piece(part, whole, groups) for part in parts])
        case Alternate(options=options):
            return any_of([regex_piece(option, whole, groups) for option in options])
        case Repeat(part=part, low=low, high=high):
            return loop(regex_piece(part, whole, groups), low, high)
        case Group(part=part, name=name):
            return regex_piece(part, whole, groups if name is None else (*groups, regex))
        case Extension(span=span):
            reader = OfNfa(thompson(regex))
            empty = reader.ends(reader.initial)
            return Leaf(reader, span, whole, groups, empty) if reader.initial else None


def literal_piece(literal: Literal, source: Source) -> Piece | None:
    """A string, letter by letter, each at its own place."""
    text = literal.value.decode("utf-8")
    letters: list[Piece | None] = []
    for letter, span in zip(text, _letters(literal, text, source), strict=True):
        letters.append(Leaf(character(((ord(letter), ord(letter)),)), span, literal.span))
    return row(letters)


def _letters(literal: Literal, text: str, source: Source) -> list[Span]:
    """Where each letter of a string is written; the whole where that is not told.

    A tree made by hand has only that, and so have strings with escapes KBNF does not know.
    """
    start, end = literal.span.start, literal.span.end
    quoted = source.text[start:end]
    if len(quoted) >= 2 and quoted[0] == quoted[-1] and quoted[0] in "'\"":
        with suppress(ParseError):
            inside = unescape(source, Span(start + 1, end - 1), regex=False)
            if inside.text == text:
                return [Span(low, high) for low, high in pairwise(inside.places)]
    return [literal.span] * len(text)


def leaves(piece: Piece) -> Iterator[Leaf]:
    """Every leaf, from left to right."""
    match piece:
        case Leaf():
            yield piece
        case Row(parts=parts) | AnyOf(options=parts):
            for part in parts:
                yield from leaves(part)
        case Loop(part=part):
            yield from leaves(part)
        case Call():
            pass
