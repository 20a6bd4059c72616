"""Places: a grammar and a text come in; which pieces of the grammar's text could read next go out.

Slow and obvious on purpose, and apart from the machines that masks are made of: what it says is
checked against them. Nothing is determinized or unrolled, so what explodes there does not here.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from workbench.automata.fold import character_edges
from workbench.limits import LIMITS, Clock, Limits
from workbench.pushdown.pieces import Leaf, Piece, leaves, regex_piece
from workbench.pushdown.positions import FirstMatch, Position, Positions
from workbench.pushdown.readers import Memory, OneOf
from workbench.pushdown.rule_pieces import RulePieces
from workbench.pushdown.situations import Reading, Situation, Situations
from workbench.pushdown.stacks import Frame, Stack, stacks_of
from workbench.source import Span
from workbench.syntax.grammar_tree import GrammarTree
from workbench.syntax.ranges import ANY_CHARACTER, difference, union
from workbench.syntax.regex.tree import Ranges, Regex

__all__ = ["Frame", "Place", "Places", "Reached", "Stack"]

#: Stacks told of one place.
MOST_STACKS = 4

#: What a regex is called where a rule has its name; no rule of a grammar is called so.
_REGEX = ""

#: The last character that is one byte.
_ASCII = 0x7F

#: The bytes from which on a character has one, two, three bytes after its first.
_LEADS = (0xC0, 0xE0, 0xF0)

Tried = TypeVar("Tried", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Place:
    """A piece of a grammar that could read next.

    A letter of a string, a class of a regex, or a whole terminal such as ``except!('…')``.
    """

    span: Span
    #: The terminal it is a piece of; the whole regex.
    whole: Span
    #: The characters it could read there, all of which some accepted text goes on with.
    reads: Ranges
    #: The rules being read, each with the place it was called from; the shortest few of the ways
    #: to come here. For a regex its named groups.
    stacks: tuple[Stack, ...]


@dataclass(frozen=True, slots=True)
class Reached:
    """Where a text has led to."""

    #: In the order they are written.
    places: tuple[Place, ...]
    #: Whether the text may end here.
    may_end: bool

    @property
    def reads(self) -> Ranges:
        """The characters that could come next."""
        return union((), *(place.reads for place in self.places))


@dataclass(frozen=True, slots=True, eq=False)
class _Reads:
    """What is found out about one piece."""

    leaf: Leaf
    #: What it reads by itself.
    ranges: dict[Ranges, None] = field(default_factory=dict)
    #: The rules it is read in.
    readings: dict[Reading, None] = field(default_factory=dict)
    #: Where it reads bytes rather than characters: what is left to be read from there on.
    tried: list[tuple[Position, Reading]] = field(default_factory=list)


class Places:
    """Tells of any text which places of one grammar could read next. Safe to share.

    Raises: LimitError from ``after`` where the text is too ambiguous for the time allowed.
    """

    def __init__(
        self, rules: Mapping[str, Piece], start: str, defined: Span, positions: Positions
    ) -> None:
        self._rules = rules
        self._defined = defined
        self._positions = positions
        self._situations = Situations(rules, start, positions)
        self._lock = threading.Lock()
        self._last: tuple[bytes, Situation] | None = None

    @staticmethod
    def of_grammar(tree: GrammarTree, start: str = "start", limits: Limits = LIMITS) -> Places:
        """Of a grammar that has been built: its start symbol derives a text.

        Raises: BuildError for what ``except!`` cannot except; LimitError.
        """
        positions = Positions(limits)
        rules = RulePieces(tree, start, positions, limits).rules
        defined = next(rule.name_span for rule in tree.rules if rule.name == start)
        return Places(rules, start, defined, positions)

    @staticmethod
    def of_regex(regex: Regex, limits: Limits = LIMITS) -> Places:
        """Of a regex."""
        piece = regex_piece(regex, regex.span)
        rules = {} if piece is None else {_REGEX: piece}
        return Places(rules, _REGEX, regex.span, Positions(limits))

    def after(self, text: bytes, limits: Limits = LIMITS) -> Reached | None:
        """What could read on after a text, or None where no accepted text begins with this text.

        Cost:   some 10 µs a byte for a regex, 50 for grammars in use; a text that goes on where
                the last one ended is read from there.
        Raises: LimitError past ``limits.seconds``.
        """
        clock = limits.clock()
        with self._lock:
            here = self._run(text, clock)
            if here is None:
                return None
            return Reached(tuple(self._places(here, clock)), here.ends)

    def _run(self, text: bytes, clock: Clock) -> Situation | None:
        if not self._rules:
            return None
        here: Situation | None
        if self._last is not None and text.startswith(self._last[0]):
            known, here = self._last
        else:
            known, here = b"", self._situations.initial(clock)
        for byte in text[len(known) :]:
            here = self._situations.step(here, byte, clock)
            if here is None:
                return None
        self._last = (text, here)
        return here

    def _places(self, here: Situation, clock: Clock) -> Iterator[Place]:
        """One for each piece, in the order they are written."""
        found: dict[Span, _Reads] = {}
        for position, reading in here.items:
            for leaf, memory, rest in self._positions.open(position).reads:
                item = (self._positions.begun(leaf, memory, rest), reading)
                for piece, ranges in self._pieces(leaf, memory):
                    reads = found.setdefault(piece.span, _Reads(piece))
                    reads.readings[reading] = None
                    reads.ranges[ranges] = None
                    if _characters(leaf, memory) is None:
                        reads.tried.append(item)
        for span in sorted(found, key=lambda span: (span.start, span.end)):
            reads = found[span]
            ranges = self._read(reads, here.bytes_read, clock)
            yield Place(span, reads.leaf.whole, ranges, self._stacks(reads))

    def _pieces(self, leaf: Leaf, memory: Memory) -> Iterator[tuple[Leaf, Ranges]]:
        """The pieces of a leaf that read next, and the characters they read by themselves."""
        reader = leaf.reader
        if isinstance(reader, FirstMatch):
            for inner, its in reader.reading(memory):
                yield from self._pieces(inner, its)
        else:
            simple = _characters(leaf, memory)
            if simple is None:
                simple = _explored(reader.step, memory, _byte_classes([leaf]))
            yield leaf, simple

    def _read(self, reads: _Reads, bytes_read: int, clock: Clock) -> Ranges:
        """All characters a piece can begin to read."""
        alone = union((), *reads.ranges)
        missing = difference(ANY_CHARACTER, alone)
        if not (reads.tried and self._reads_halves and missing and missing[-1][1] > _ASCII):
            return alone

        # it may read half a character, and what follows it the other half
        def step(here: Situation, byte: int) -> Situation | None:
            return self._situations.step(here, byte, clock)

        together = Situation(tuple(reads.tried), ends=False, bytes_read=bytes_read)
        return union(alone, _explored(step, together, self._classes))

    @cached_property
    def _leaves(self) -> list[Leaf]:
        return [leaf for piece in self._rules.values() for leaf in leaves(piece)]

    @cached_property
    def _classes(self) -> npt.NDArray[np.uint16]:
        return _byte_classes(self._leaves)

    @cached_property
    def _reads_halves(self) -> bool:
        """Whether any leaf may begin with a byte that begins no character."""
        return any(
            leaf.reader.step(leaf.reader.initial, byte) is not None
            for leaf in self._leaves
            if not _characters(leaf, leaf.reader.initial)
            for byte in range(0x80, 0xC0)
        )

    def _stacks(self, reads: _Reads) -> tuple[Stack, ...]:
        root = self._situations.root
        if root.rule == _REGEX:
            return (tuple(Frame(group.name or "", group.span) for group in reads.leaf.groups),)
        found: dict[Stack, None] = {}
        for reading in reads.readings:
            wanted = MOST_STACKS - len(found)
            found.update(dict.fromkeys(stacks_of(reading, root, self._defined, wanted)))
            if len(found) >= MOST_STACKS:
                break
        return tuple(found)


def _explored(
    step: Callable[[Tried, int], Tried | None], begin: Tried, classes: npt.NDArray[np.uint16]
) -> Ranges:
    """The characters a machine over bytes can read."""

    # where a character ends does not matter, so all ends are one: thousands fold into a few
    def go(here: tuple[Tried, int] | None, byte: int) -> tuple[Tried, int] | None:
        if here is None:
            return None
        there = step(here[0], byte)
        left = here[1] - 1 if here[1] else bisect_right(_LEADS, byte)
        if there is None:
            return None
        return (there, left) if left else (begin, 0)

    edges = character_edges(go, (begin, 0), classes, dead=None)
    return union((), *(ranges for ranges, _ in edges))


def _byte_classes(some: Iterable[Leaf]) -> npt.NDArray[np.uint16]:
    """Bytes that all these leaves treat alike have one number."""
    edges = np.zeros(257, np.uint16)
    for leaf in some:
        edges[list(leaf.reader.boundaries())] = 1
    edges[0] = 0
    return np.cumsum(edges[:256]).astype(np.uint16)


def _characters(leaf: Leaf, memory: Memory) -> Ranges | None:
    """The characters of a leaf that is about to read one out of a set; None for all others."""
    reader = leaf.reader
    if isinstance(reader, OneOf) and memory == reader.initial:
        return reader.characters
    return None
