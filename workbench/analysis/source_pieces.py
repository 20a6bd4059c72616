"""Grammar and regex trees as pieces with source spans, and matchers of their terminals.

Used for explanations. Unlike the machines that masks are made from, a matcher knows which piece
of the grammar's text continues to read. Simplicity matters more than speed.

Pieces that derive no text are left out, so every text that a piece begins to read can be
completed.
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
    Look,
    Regex,
    Repeat,
)

_BYTES = 256

#: The state of a matcher after the bytes it has read.
MatcherState = Hashable


class Matcher(Protocol):
    """An automaton over bytes without dead ends: whatever it reads can be completed."""

    @property
    def initial(self) -> MatcherState:
        """The state before the first byte."""

    def step(self, state: MatcherState, byte: int) -> MatcherState | None:
        """The state after one more byte; None if it cannot read the byte."""

    def is_final(self, state: MatcherState) -> bool:
        """Whether the bytes read are a complete text."""

    def is_exhausted(self, state: MatcherState) -> bool:
        """Whether it certainly reads no further byte."""

    def boundaries(self) -> Iterable[int]:
        """Bytes that it may treat differently from the preceding byte."""


@dataclass(frozen=True, slots=True, eq=False)
class SetMatcher:
    """One character out of a set, or one byte out of a set."""

    #: For each node its edges (low, high, target); node 0 is final.
    edges: tuple[tuple[tuple[int, int, int], ...], ...]
    #: The characters; None for a set of bytes.
    characters: Ranges | None
    initial: int

    def step(self, state: MatcherState, byte: int) -> MatcherState | None:
        assert isinstance(state, int)
        for low, high, target in self.edges[state]:
            if low <= byte <= high:
                return target
        return None

    def is_final(self, state: MatcherState) -> bool:
        return state == 0

    is_exhausted = is_final

    def boundaries(self) -> Iterable[int]:
        return (edge for row in self.edges for low, high, _ in row for edge in (low, high + 1))


@lru_cache(maxsize=1024)
def character_matcher(ranges: Ranges) -> SetMatcher:
    """The matcher of a nonempty set of characters."""
    edges = character_machine(ranges).edges
    return SetMatcher(edges, ranges, len(edges) - 1)


@lru_cache(maxsize=1024)
def byte_matcher(ranges: Ranges) -> SetMatcher:
    """The matcher of a nonempty set of bytes."""
    return SetMatcher(((), tuple((low, high, 0) for low, high in ranges)), None, 1)


@dataclass(frozen=True, slots=True, eq=False)
class SubstringMatcher:
    """Any substring of a byte string (``#substrs``); the state is the set of its possible ends."""

    value: bytes

    @property
    def initial(self) -> MatcherState:
        return frozenset(range(len(self.value) + 1))

    def step(self, state: MatcherState, byte: int) -> MatcherState | None:
        assert isinstance(state, frozenset)
        value = self.value
        return frozenset(i + 1 for i in state if i < len(value) and value[i] == byte) or None

    def is_final(self, state: MatcherState) -> bool:
        return True

    def is_exhausted(self, state: MatcherState) -> bool:
        return state == frozenset((len(self.value),))

    def boundaries(self) -> Iterable[int]:
        return (edge for byte in self.value for edge in (byte, byte + 1))


class ExceptMatcher:
    """A nonempty byte string in which none of some strings occurs (``except!``).

    The state is the longest suffix read that is a prefix of one of the strings, and how many
    bytes may follow (Aho & Corasick 1975; failure links are searched at every step).
    """

    def __init__(self, strings: Iterable[bytes], limit: int | None) -> None:
        self._strings = tuple(strings)
        self._prefixes = {s[:length] for s in self._strings for length in range(len(s))} | {b""}
        #: The suffix is None before the first byte.
        self.initial: tuple[bytes | None, int | None] = (None, limit)

    def step(self, state: MatcherState, byte: int) -> MatcherState | None:
        assert isinstance(state, tuple)
        suffix, bytes_left = state
        if bytes_left == 0:
            return None
        tail = (suffix or b"") + bytes((byte,))
        if tail.endswith(self._strings):
            return None
        while tail not in self._prefixes:
            tail = tail[1:]
        return tail, None if bytes_left is None else bytes_left - 1

    def is_final(self, state: MatcherState) -> bool:
        assert isinstance(state, tuple)
        return state[0] is not None

    def is_exhausted(self, state: MatcherState) -> bool:
        assert isinstance(state, tuple)
        return bool(state[1] == 0)

    def boundaries(self) -> Iterable[int]:
        return (edge for s in self._strings for byte in s for edge in (byte, byte + 1))


@dataclass(frozen=True, slots=True, eq=False)
class DfaMatcher:
    """The texts of a DFA over bytes."""

    machine: Dfa

    @property
    def initial(self) -> MatcherState:
        return self.machine.initial

    def step(self, state: MatcherState, byte: int) -> MatcherState | None:
        assert isinstance(state, int)
        there = self.machine.step(state, byte)
        return None if there == DEAD else there

    def is_final(self, state: MatcherState) -> bool:
        assert isinstance(state, int)
        return self.machine.is_final(state)

    def is_exhausted(self, state: MatcherState) -> bool:
        assert isinstance(state, int)
        return not (self.machine.table[state] != DEAD).any()

    def boundaries(self) -> Iterable[int]:
        changes: list[int] = np.flatnonzero(np.diff(self.machine.classes[:_BYTES])).tolist()
        return (byte + 1 for byte in changes)


class NfaMatcher:
    """The texts of an NFA over bytes; the state is the set of its possible states."""

    def __init__(self, nfa: Nfa) -> None:
        self._nfa = nfa
        self._edges, self._epsilons = nfa.edge_rows(), nfa.epsilon_rows()
        flat = nfa.flat
        self._alive = coaccessible(
            flat.edges, flat.first, flat.epsilons, flat.first_epsilon, flat.finals
        )
        #: Empty if the NFA accepts no text.
        self.initial: frozenset[int] = self._closure([nfa.initial])

    def _closure(self, states: list[int]) -> frozenset[int]:
        """The co-accessible states in the epsilon closure of some states."""
        reached = {state for state in states if self._alive[state]}
        waiting = list(reached)
        while waiting:
            for target in self._epsilons[waiting.pop()]:
                if target not in reached and self._alive[target]:
                    reached.add(target)
                    waiting.append(target)
        return frozenset(reached)

    def step(self, state: MatcherState, byte: int) -> MatcherState | None:
        assert isinstance(state, frozenset)
        reached = [
            target
            for origin in state
            for low, high, target in self._edges[origin]
            if low <= byte <= high
        ]
        return self._closure(reached) or None

    def is_final(self, state: MatcherState) -> bool:
        assert isinstance(state, frozenset)
        return not self._nfa.finals.isdisjoint(state)

    def is_exhausted(self, state: MatcherState) -> bool:
        assert isinstance(state, frozenset)
        return not any(self._alive[target] for s in state for _, _, target in self._edges[s])

    def boundaries(self) -> Iterable[int]:
        lows, highs = self._nfa.flat.edges[:, 0], self._nfa.flat.edges[:, 1]
        bounds: list[int] = np.union1d(lows, highs + 1).tolist()
        return bounds


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A piece that reads bytes, with its source span."""

    matcher: Matcher
    span: Span
    #: The terminal, or the regex, that contains it.
    whole: Span
    #: The named groups of a regex that contain it, the outermost first.
    groups: tuple[Group, ...] = ()
    is_nullable: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A call of a rule, with the source span of the call."""

    rule: str
    span: Span
    is_nullable: bool


@dataclass(frozen=True, slots=True, eq=False)
class Concatenation:
    """Parts in sequence; without parts the empty text."""

    parts: tuple[Piece, ...]
    is_nullable: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_nullable", all(part.is_nullable for part in self.parts))


@dataclass(frozen=True, slots=True, eq=False)
class Alternation:
    """One of the options."""

    options: tuple[Piece, ...]
    is_nullable: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_nullable", any(option.is_nullable for option in self.options))


@dataclass(frozen=True, slots=True, eq=False)
class Repeated:
    """From ``low`` to ``high`` copies of a part; ``low`` is 0 for a nullable part."""

    part: Piece
    low: int
    high: int | None

    @property
    def is_nullable(self) -> bool:
        return self.low == 0


Piece = Leaf | Call | Concatenation | Alternation | Repeated

#: The empty text.
EMPTY_PIECE = Concatenation(())


def concatenation(parts: list[Piece | None]) -> Piece | None:
    """The parts in sequence; None (no text) if one of them has no text."""
    kept = [part for part in parts if part is not None]
    if len(kept) < len(parts):
        return None
    return kept[0] if len(kept) == 1 else Concatenation(tuple(kept))


def alternation(options: list[Piece | None]) -> Piece | None:
    """The options that have texts; None if none has any."""
    kept = tuple(option for option in options if option is not None)
    if len(kept) > 1:
        return Alternation(kept)
    return kept[0] if kept else None


def repeated(part: Piece | None, low: int, high: int | None) -> Piece | None:
    """Copies of a part; None if a copy is needed and the part has no text."""
    if high == 0 or (part is None and low == 0):
        return EMPTY_PIECE
    if part is None:
        return None
    return Repeated(part, 0 if part.is_nullable else low, high)


def regex_piece(regex: Regex, whole: Span, groups: tuple[Group, ...] = ()) -> Piece | None:
    """A regex with the source span ``whole``, or a part of it inside some named groups.

    None if it matches no text.
    """
    match regex:
        case Characters(ranges=ranges, span=span):
            return Leaf(character_matcher(ranges), span, whole, groups) if ranges else None
        case Bytes(ranges=ranges, span=span):
            return Leaf(byte_matcher(ranges), span, whole, groups) if ranges else None
        case Concat(parts=parts):
            return concatenation([regex_piece(part, whole, groups) for part in parts])
        case Alternate(options=options):
            return alternation([regex_piece(option, whole, groups) for option in options])
        case Repeat(part=part, low=low, high=high):
            return repeated(regex_piece(part, whole, groups), low, high)
        case Group(part=part, name=name):
            return regex_piece(part, whole, groups if name is None else (*groups, regex))
        case Extension(span=span):
            matcher = NfaMatcher(thompson(regex))
            empty = matcher.is_final(matcher.initial)
            return Leaf(matcher, span, whole, groups, empty) if matcher.initial else None
        case Look():
            raise AssertionError("an assertion is inside an extension")


def literal_piece(literal: Literal, source: Source) -> Piece | None:
    """A string as a sequence of characters, each with a separate span."""
    text = literal.value.decode("utf-8")
    letters: list[Piece | None] = []
    for letter, span in zip(text, _letters(literal, text, source), strict=True):
        letters.append(Leaf(character_matcher(((ord(letter), ord(letter)),)), span, literal.span))
    return concatenation(letters)


def _letters(literal: Literal, text: str, source: Source) -> list[Span]:
    """The span of each letter of a string; if unknown, the span of the whole string.

    It is unknown in trees that were not parsed from KBNF, and for escapes that KBNF lacks.
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
        case Concatenation(parts=parts) | Alternation(options=parts):
            for part in parts:
                yield from leaves(part)
        case Repeated(part=part):
            yield from leaves(part)
        case Call():
            pass
