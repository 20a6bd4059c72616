"""Earley recogniser over source spans: which pieces of a grammar's text may read next.

A recogniser for explanations: it keeps all ways to read a text, however ambiguous, and the places
where rules were called. Masks are made from machines that have forgotten these.

Slow and obvious on purpose, and apart from the machines that masks are made of: what it says is
checked against them. Nothing is determinized or unrolled, so what explodes there does not here.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from workbench.analysis.position_automata import END, FirstMatchMatcher, Position, Positions, RulePieces
from workbench.analysis.source_pieces import Call, Leaf, MatcherState, SetMatcher, Piece, leaves, regex_piece
from workbench.automata.code_points import character_edges
from workbench.base.limits import LIMITS, Clock, Limits
from workbench.base.source import Span
from workbench.grammar.grammar import Grammar
from workbench.syntax.grammar_tree import GrammarTree
from workbench.syntax.ranges import ANY_CHARACTER, Ranges, difference, union
from workbench.syntax.regex.tree import Regex

#: What is left to be read of a caller, the caller, and where it called.
_Return = tuple[Position, "Reading", Call]

_Item = tuple[Position, "Reading"]

#: Items between looks at the clock.
_ITEMS = 256


@dataclass(slots=True, eq=False)
class Invocation:
    """A rule being read from one place of the text on, whoever called it there."""

    rule: str
    #: How many bytes stand before it.
    began: int
    #: Calls between the start rule and it, on the shortest way.
    depth: int
    #: Where it was called; in the order it was found out.
    callers: dict[_Return, None] = field(default_factory=dict)
    #: The same with callers that end with it left out for theirs; known after the place is passed.
    returns: tuple[_Return, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ItemSet:
    """All that may be going on between two bytes."""

    #: What is left of a rule, and the reading of that rule; those alone that read on.
    items: tuple[_Item, ...]
    #: Whether the text may end here.
    ends: bool
    #: How many bytes have been read.
    bytes_read: int


class EarleyRecognizer:
    """Reads texts from one situation to the next; situations never change.

    Cost:   the items of each situation: a few dozen for grammars in use, up to the length of
            the text where a rule has been read from everywhere; right recursion adds none.
    Source: Earley 1970; the readings are the stack graph of Tomita 1985, rules that may be empty
            are skipped as in Aycock & Horspool 2002, and calls at the end of a rule return at
            once to where their chain began (Leo 1991).
    """

    def __init__(self, rules: Mapping[str, Piece], start: str, positions: Positions) -> None:
        self._positions = positions
        self._begins = {name: positions.before(piece) for name, piece in rules.items()}
        self.root = Invocation(start, 0, 0)

    def initial(self, clock: Clock) -> ItemSet:
        """Before anything is read."""
        first = (self._begins[self.root.rule], self.root)
        return self._closed({first: None}, {self.root.rule: self.root}, 0, clock)

    def step(self, here: ItemSet, byte: int, clock: Clock) -> ItemSet | None:
        """After one more byte, or None where nothing can read it.

        Raises: LimitError when the time of the clock is over.
        """
        found = {
            (there, reading): None
            for position, reading in here.items
            for there in self._positions.step(position, byte)
        }
        return self._closed(found, {}, here.bytes_read + 1, clock) if found else None

    def _closed(
        self, items: dict[_Item, None], begun: dict[str, Invocation], bytes_read: int, clock: Clock
    ) -> ItemSet:
        """The items with all that calls and returns lead to; ``begun`` are rules begun here."""
        ends = False
        waiting = list(items)
        for number, item in enumerate(waiting):  # grows while it is read
            if number % _ITEMS == 0:
                clock.check("the grammar is too ambiguous to list all places")
            position, reading = item
            opened = self._positions.open(position)
            added = [
                (self._begins[call.rule], self._called(call, rest, reading, begun, bytes_read))
                for call, rest in opened.calls
            ]
            if opened.ends:
                ends = ends or reading is self.root
                # what is empty has been skipped, so nothing returns where it began
                if begun.get(reading.rule) is not reading:
                    added += [(rest, caller) for rest, caller, _ in self._returns(reading)]
            for one in added:
                if one not in items:
                    items[one] = None
                    waiting.append(one)
        reading_on = [item for item in waiting if self._positions.open(item[0]).reads]
        return ItemSet(tuple(reading_on), ends, bytes_read)

    @staticmethod
    def _called(
        call: Call, rest: Position, caller: Invocation, begun: dict[str, Invocation], bytes_read: int
    ) -> Invocation:
        """The reading of a rule that begins here, which has one caller more."""
        reading = begun.get(call.rule)
        if reading is None:
            reading = begun[call.rule] = Invocation(call.rule, bytes_read, caller.depth + 1)
        reading.callers[rest, caller, call] = None
        return reading

    def _returns(self, reading: Invocation) -> tuple[_Return, ...]:
        """Where a rule returns to; callers that have nothing left to read have returned too."""
        if reading.returns is None:
            found: dict[_Return, None] = {}
            seen = {reading}
            waiting = [reading]
            for one in waiting:  # grows while it is read
                if one.returns is not None:
                    found.update(dict.fromkeys(one.returns))
                    continue
                for back in one.callers:
                    rest, caller, _ = back
                    if rest is not END or caller is self.root:
                        found[back] = None
                    elif caller not in seen:
                        seen.add(caller)
                        waiting.append(caller)
            reading.returns = tuple(found)
        return reading.returns


#: Ways back that are followed beyond those of the shortest stack.
_SEARCHED = 512


@dataclass(frozen=True, slots=True)
class Frame:
    """A rule that is being read, and where it was called; the start rule: where it is defined."""

    rule: str
    span: Span


Stack = tuple[Frame, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """From a reading back to where the search began: the frames on it."""

    at: Invocation
    frame: Span | None
    inner: _Way | None
    length: int


def stacks_of(reading: Invocation, root: Invocation, defined: Span, most: int) -> Iterator[Stack]:
    """The shortest stacks, at most so many; the outermost rule first. None goes round in circles.

    Cost: that of the shortest one, and a bounded search for more.
    """
    number = 0
    queue = [(reading.depth, number, _Way(reading, None, None, 1))]
    left = reading.depth + _SEARCHED
    while queue and most > 0 and left > 0:
        _, _, way = heappop(queue)
        left -= 1
        if way.at is root:
            most -= 1
            yield _frames(way, defined)
            continue
        for _, caller, call in way.at.callers:
            if not _is_on(way, caller):
                number += 1
                longer = _Way(caller, call.span, way, way.length + 1)
                # of equally short ways those that are nearly done go first
                heappush(queue, (longer.length + caller.depth, -number, longer))


def _is_on(way: _Way, reading: Invocation) -> bool:
    """Whether the way has passed a reading.

    Those that began at one place of the text follow one another on a way.
    """
    here: _Way | None = way
    while here is not None and here.at.began == reading.began:
        if here.at is reading:
            return True
        here = here.inner
    return False


def _frames(way: _Way, defined: Span) -> Stack:
    frames = [Frame(way.at.rule, defined)]
    here: _Way | None = way
    while here is not None and here.inner is not None:
        assert here.frame is not None
        frames.append(Frame(here.inner.at.rule, here.frame))
        here = here.inner
    return tuple(frames)


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
class ExpectedPiece:
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
class Expected:
    """Where a text has led to."""

    #: In the order they are written.
    places: tuple[ExpectedPiece, ...]
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
    readings: dict[Invocation, None] = field(default_factory=dict)
    #: Where it reads bytes rather than characters: what is left to be read from there on.
    tried: list[tuple[Position, Invocation]] = field(default_factory=list)


class SourceRecognizer:
    """Tells of any text which places of one grammar could read next. Safe to share.

    Raises: LimitError from ``after`` where the text is too ambiguous for the time allowed.
    """

    def __init__(
        self, rules: Mapping[str, Piece], start: str, defined: Span, positions: Positions
    ) -> None:
        self._rules = rules
        self._defined = defined
        self._positions = positions
        self._situations = EarleyRecognizer(rules, start, positions)
        self._lock = threading.Lock()
        self._last: tuple[bytes, ItemSet] | None = None

    @staticmethod
    def of(grammar: Grammar) -> SourceRecognizer:
        """Of any grammar.

        Raises: LimitError
        """
        if grammar.tree is not None:
            return SourceRecognizer.of_grammar(grammar.tree, grammar.start, grammar.limits)
        assert grammar.regex is not None, "a grammar has a tree or a regex"
        return SourceRecognizer.of_regex(grammar.regex, grammar.limits)

    @staticmethod
    def of_grammar(tree: GrammarTree, start: str = "start", limits: Limits = LIMITS) -> SourceRecognizer:
        """Of a grammar that has been built: its start symbol derives a text.

        Raises: BuildError for what ``except!`` cannot except; LimitError.
        """
        positions = Positions(limits)
        rules = RulePieces(tree, start, positions, limits).rules
        defined = next(rule.name_span for rule in tree.rules if rule.name == start)
        return SourceRecognizer(rules, start, defined, positions)

    @staticmethod
    def of_regex(regex: Regex, limits: Limits = LIMITS) -> SourceRecognizer:
        """Of a regex."""
        piece = regex_piece(regex, regex.span)
        rules = {} if piece is None else {_REGEX: piece}
        return SourceRecognizer(rules, _REGEX, regex.span, Positions(limits))

    def after(self, text: bytes, limits: Limits = LIMITS) -> Expected | None:
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
            return Expected(tuple(self._places(here, clock)), here.ends)

    def _run(self, text: bytes, clock: Clock) -> ItemSet | None:
        if not self._rules:
            return None
        here: ItemSet | None
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

    def _places(self, here: ItemSet, clock: Clock) -> Iterator[ExpectedPiece]:
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
            yield ExpectedPiece(span, reads.leaf.whole, ranges, self._stacks(reads))

    def _pieces(self, leaf: Leaf, memory: MatcherState) -> Iterator[tuple[Leaf, Ranges]]:
        """The pieces of a leaf that read next, and the characters they read by themselves."""
        reader = leaf.reader
        if isinstance(reader, FirstMatchMatcher):
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
        def step(here: ItemSet, byte: int) -> ItemSet | None:
            return self._situations.step(here, byte, clock)

        together = ItemSet(tuple(reads.tried), ends=False, bytes_read=bytes_read)
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


def _characters(leaf: Leaf, memory: MatcherState) -> Ranges | None:
    """The characters of a leaf that is about to read one out of a set; None for all others."""
    reader = leaf.reader
    if isinstance(reader, SetMatcher) and memory == reader.initial:
        return reader.characters
    return None
