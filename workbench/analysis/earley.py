"""Earley recogniser over source spans: which pieces of a grammar's text can read next.

It is used for explanations. It keeps all derivations of a text, however ambiguous, and the source
spans where rules were called; the machines that masks are made from do not have these spans.

It is kept simple and independent of those machines, and tests check the two against each other.
Nothing is determinized or unrolled, so a grammar whose automaton explodes can still be explained.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from workbench.analysis.position_automata import (
    END,
    FirstMatchMatcher,
    Position,
    Positions,
    RulePieces,
)
from workbench.analysis.source_pieces import (
    Call,
    Leaf,
    MatcherState,
    Piece,
    SetMatcher,
    leaves,
    regex_piece,
)
from workbench.automata.code_points import character_edges
from workbench.base.cached_property import cached_property
from workbench.base.limits import LIMITS, Clock, Limits, time_budget
from workbench.base.locks import WorkLock
from workbench.base.source import Span
from workbench.grammar.grammar import Grammar
from workbench.syntax.grammar_tree import GrammarTree
from workbench.syntax.ranges import ANY_CHARACTER, Ranges, difference, union
from workbench.syntax.regex.tree import Regex

#: Where to continue after a rule: the position in the caller, the caller, and the call.
_Return = tuple[Position, "Invocation", Call]

_Item = tuple[Position, "Invocation"]

#: How many items are processed between two checks of the clock.
_ITEMS_PER_CLOCK_CHECK = 256


@dataclass(slots=True, eq=False)
class Invocation:
    """A rule predicted at one position of the text, with all its callers there."""

    rule: str
    #: The number of bytes before it (Earley's origin).
    origin: int
    #: The fewest calls between the start rule and it.
    depth: int
    #: Its callers, in the order of discovery.
    callers: dict[_Return, None] = field(default_factory=dict)
    #: The same, with callers that end with this rule replaced by their own callers. Computed at
    #: the first completion, which comes after all callers are known.
    returns: tuple[_Return, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ItemSet:
    """The Earley items between two bytes."""

    #: The remainder of a rule and its invocation; only items that read a byte themselves.
    items: tuple[_Item, ...]
    #: Whether the text may end here.
    ends: bool
    #: The number of bytes read.
    bytes_read: int


class EarleyRecognizer:
    """Steps from item set to item set; item sets are immutable.

    Cost:   the items of each set: a few dozen for common grammars, up to the length of the text
            if a rule was predicted at every position; right recursion adds none.
    Source: Earley 1970; invocations are the graph-structured stack of Tomita 1985, nullable
            rules are skipped as in Aycock & Horspool 2002, and a chain of calls at the ends of
            rules returns directly to where the chain began (Leo 1991).
    """

    def __init__(self, rules: Mapping[str, Piece], start: str, positions: Positions) -> None:
        self._positions = positions
        self._starts = {name: positions.before(piece) for name, piece in rules.items()}
        self.root = Invocation(start, 0, 0)

    def initial(self, clock: Clock) -> ItemSet:
        """The item set before the first byte."""
        first = (self._starts[self.root.rule], self.root)
        return self._closure({first: None}, {self.root.rule: self.root}, 0, clock)

    def step(self, item_set: ItemSet, byte: int, clock: Clock) -> ItemSet | None:
        """Scan: the item set after one more byte, or None if no item can read it.

        Raises: LimitError when the clock's time is over.
        """
        items = {
            (there, invocation): None
            for position, invocation in item_set.items
            for there in self._positions.step(position, byte)
        }
        return self._closure(items, {}, item_set.bytes_read + 1, clock) if items else None

    def _closure(
        self,
        items: dict[_Item, None],
        predicted: dict[str, Invocation],
        bytes_read: int,
        clock: Clock,
    ) -> ItemSet:
        """Predict and complete until nothing is added; ``predicted`` begin here."""
        ends = False
        waiting = list(items)
        for number, item in enumerate(waiting):  # extended in the loop
            if number % _ITEMS_PER_CLOCK_CHECK == 0:
                clock.check("the grammar is too ambiguous to list all places")
            position, invocation = item
            first_set = self._positions.first(position)
            added = [
                (
                    self._starts[call.rule],
                    self._predict(call, rest, invocation, predicted, bytes_read),
                )
                for call, rest in first_set.calls
            ]
            if first_set.ends:
                ends = ends or invocation is self.root
                # nullable calls are skipped, so no invocation completes at its origin
                if predicted.get(invocation.rule) is not invocation:
                    added += [
                        (rest, caller) for rest, caller, _ in self._return_addresses(invocation)
                    ]
            for pair in added:
                if pair not in items:
                    items[pair] = None
                    waiting.append(pair)
        scanning = [item for item in waiting if self._positions.first(item[0]).reads]
        return ItemSet(tuple(scanning), ends, bytes_read)

    @staticmethod
    def _predict(
        call: Call,
        rest: Position,
        caller: Invocation,
        predicted: dict[str, Invocation],
        bytes_read: int,
    ) -> Invocation:
        """The invocation of a rule that begins here, with one more caller."""
        invocation = predicted.get(call.rule)
        if invocation is None:
            invocation = predicted[call.rule] = Invocation(call.rule, bytes_read, caller.depth + 1)
        invocation.callers[rest, caller, call] = None
        return invocation

    def _return_addresses(self, invocation: Invocation) -> tuple[_Return, ...]:
        """Where a rule returns to; callers with no remainder return as well."""
        if invocation.returns is None:
            returns: dict[_Return, None] = {}
            seen = {invocation}
            waiting = deque([invocation])
            while waiting:
                pending = waiting.popleft()
                if pending.returns is not None:
                    returns.update(dict.fromkeys(pending.returns))
                    continue
                for back in pending.callers:
                    rest, caller, _ = back
                    if rest is not END or caller is self.root:
                        returns[back] = None
                    elif caller not in seen:
                        seen.add(caller)
                        waiting.append(caller)
            invocation.returns = tuple(returns)
        return invocation.returns


#: The paths explored in addition to those of the shortest stack.
_MAX_EXTRA_PATHS = 512


@dataclass(frozen=True, slots=True)
class Frame:
    """A rule being read and the span of its call; for the start rule the span of its definition."""

    rule: str
    span: Span


Stack = tuple[Frame, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _StackPath:
    """A path from an invocation back to the innermost one: a linked list of frames."""

    invocation: Invocation
    frame: Span | None
    inner: _StackPath | None
    length: int


def stacks_of(
    invocation: Invocation, root: Invocation, defined: Span, most: int
) -> Iterator[Stack]:
    """The shortest stacks without cycles, at most ``most``; the outermost rule first.

    Cost: that of the shortest stack, and a bounded search for more.
    """
    number = 0
    queue = [(invocation.depth, number, _StackPath(invocation, None, None, 1))]
    paths_left = invocation.depth + _MAX_EXTRA_PATHS
    while queue and most > 0 and paths_left > 0:
        _, _, path = heappop(queue)
        paths_left -= 1
        if path.invocation is root:
            most -= 1
            yield _frames(path, defined)
            continue
        for _, caller, call in path.invocation.callers:
            if not _is_on(path, caller):
                number += 1
                longer = _StackPath(caller, call.span, path, path.length + 1)
                # of equally long paths the one with the fewest calls left comes first
                heappush(queue, (longer.length + caller.depth, -number, longer))


def _is_on(path: _StackPath, invocation: Invocation) -> bool:
    """Whether the path contains an invocation.

    Invocations with the same origin are adjacent on a path.
    """
    current: _StackPath | None = path
    while current is not None and current.invocation.origin == invocation.origin:
        if current.invocation is invocation:
            return True
        current = current.inner
    return False


def _frames(path: _StackPath, defined: Span) -> Stack:
    frames = [Frame(path.invocation.rule, defined)]
    current: _StackPath | None = path
    while current is not None and current.inner is not None:
        assert current.frame is not None
        frames.append(Frame(current.inner.invocation.rule, current.frame))
        current = current.inner
    return tuple(frames)


#: The most stacks listed for one piece.
MAX_STACKS = 4

#: The rule name of a regex; no rule of a grammar has this name.
_REGEX = ""

#: The last character of one byte.
_ASCII = 0x7F

#: From these lead bytes on a character has one, two, three continuation bytes.
_LEADS = (0xC0, 0xE0, 0xF0)

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class ExpectedPiece:
    """A piece of a grammar's text that could read next.

    It is a letter of a string, a class of a regex, or a whole terminal such as ``except!('…')``.
    """

    span: Span
    #: The terminal that contains it; the whole regex.
    whole: Span
    #: The characters it could read; each continues some accepted text.
    reads: Ranges
    #: The rules being read, each with the span of its call; at most ``MAX_STACKS``, the shortest
    #: first. For a regex its named groups.
    stacks: tuple[Stack, ...]


@dataclass(frozen=True, slots=True)
class Expected:
    """What could follow a text."""

    #: In the order of the grammar's text.
    pieces: tuple[ExpectedPiece, ...]
    #: Whether the text may end here.
    may_end: bool

    @property
    def reads(self) -> Ranges:
        """The characters that could come next."""
        return union((), *(piece.reads for piece in self.pieces))


@dataclass(frozen=True, slots=True, eq=False)
class _PieceReads:
    """What is collected about one piece."""

    leaf: Leaf
    #: The characters it reads without the pieces that follow it.
    ranges: dict[Ranges, None] = field(default_factory=dict)
    #: The invocations it is read in.
    invocations: dict[Invocation, None] = field(default_factory=dict)
    #: The items of a piece that reads bytes rather than characters.
    byte_items: list[tuple[Position, Invocation]] = field(default_factory=list)


#: The name of the recogniser among what is stored with a grammar.
_SHARED = "source recogniser"


class SourceRecognizer:
    """Finds the pieces of one grammar that could read after a text. Safe to share across threads.

    Raises: LimitError from ``after`` if the text is too ambiguous for the time allowed.
    """

    def __init__(
        self, rules: Mapping[str, Piece], start: str, defined: Span, positions: Positions
    ) -> None:
        self._rules = rules
        self._defined = defined
        self._positions = positions
        self._earley = EarleyRecognizer(rules, start, positions)
        self._lock = WorkLock()
        self._last: tuple[bytes, ItemSet] | None = None
        #: The spans of the pieces that read next at a position.
        self._spans: dict[Position, tuple[Span, ...]] = {}

    @staticmethod
    def shared(grammar: Grammar) -> SourceRecognizer:
        """The recogniser of a grammar that all callers share; it exists as long as the grammar.

        Raises: LimitError
        """
        recogniser: SourceRecognizer | None = grammar.derived.get(_SHARED)
        if recogniser is None:
            with time_budget(grammar.limits.seconds):
                recogniser = grammar.derived.setdefault(_SHARED, SourceRecognizer.of(grammar))
        return recogniser

    @staticmethod
    def of(grammar: Grammar) -> SourceRecognizer:
        """For any grammar.

        Raises: LimitError
        """
        if grammar.tree is not None:
            return SourceRecognizer.of_grammar(grammar.tree, grammar.start, grammar.limits)
        assert grammar.regex is not None, "a grammar has a tree or a regex"
        return SourceRecognizer.of_regex(grammar.regex, grammar.limits)

    @staticmethod
    def of_grammar(
        tree: GrammarTree, start: str = "start", limits: Limits = LIMITS
    ) -> SourceRecognizer:
        """For a grammar that can be built: its start symbol derives a text.

        Raises: BuildError for what ``except!`` cannot except; LimitError.
        """
        positions = Positions(limits)
        rules = RulePieces(tree, start, positions, limits).rules
        defined = next(rule.name_span for rule in tree.rules if rule.name == start)
        return SourceRecognizer(rules, start, defined, positions)

    @staticmethod
    def of_regex(regex: Regex, limits: Limits = LIMITS) -> SourceRecognizer:
        """For a regex."""
        piece = regex_piece(regex, regex.span)
        rules = {} if piece is None else {_REGEX: piece}
        return SourceRecognizer(rules, _REGEX, regex.span, Positions(limits))

    def after(self, text: bytes, limits: Limits = LIMITS) -> Expected | None:
        """What could follow a text, or None if no accepted text begins with it.

        Cost:   about 10 µs a byte for a regex, 50 for common grammars. A text that continues the
                previous one is read from where that one ended.
        Raises: LimitError past ``limits.seconds``.
        """
        clock = limits.clock()
        with self._lock, time_budget(limits.seconds):
            item_set = self._run(text, clock)
            if item_set is None:
                return None
            return Expected(tuple(self._pieces(item_set, clock)), item_set.ends)

    def spans_after(self, text: bytes, limits: Limits = LIMITS) -> tuple[Span, ...] | None:
        """The spans of the pieces of ``after``, in its order, without what the pieces read.

        Raises: LimitError past ``limits.seconds``.
        """
        with self._lock, time_budget(limits.seconds):
            item_set = self._run(text, limits.clock())
            if item_set is None:
                return None
            spans = {span: 0 for position, _ in item_set.items for span in self._spans_at(position)}
        return tuple(sorted(spans, key=lambda span: (span.start, span.end)))

    def _spans_at(self, position: Position) -> tuple[Span, ...]:
        spans = self._spans.get(position)
        if spans is None:
            spans = self._spans[position] = tuple(
                piece.span
                for leaf, state, _ in self._positions.first(position).reads
                for piece, _ in self._reading(leaf, state)
            )
        return spans

    def _run(self, text: bytes, clock: Clock) -> ItemSet | None:
        if not self._rules:
            return None
        item_set: ItemSet | None
        if self._last is not None and text.startswith(self._last[0]):
            read, item_set = self._last
        else:
            read, item_set = b"", self._earley.initial(clock)
        for byte in text[len(read) :]:
            item_set = self._earley.step(item_set, byte, clock)
            if item_set is None:
                return None
        self._last = (text, item_set)
        return item_set

    def _pieces(self, item_set: ItemSet, clock: Clock) -> Iterator[ExpectedPiece]:
        """One for each span, in the order of the grammar's text."""
        reads_of: dict[Span, _PieceReads] = {}
        for position, invocation in item_set.items:
            clock.check()
            for leaf, state, rest in self._positions.first(position).reads:
                item = (self._positions.begun(leaf, state, rest), invocation)
                for piece, ranges in self._leaf_pieces(leaf, state):
                    reads = reads_of.setdefault(piece.span, _PieceReads(piece))
                    reads.invocations[invocation] = None
                    reads.ranges[ranges] = None
                    if _characters(leaf, state) is None:
                        reads.byte_items.append(item)
        for span in sorted(reads_of, key=lambda span: (span.start, span.end)):
            clock.check()
            reads = reads_of[span]
            ranges = self._read(reads, item_set.bytes_read, clock)
            yield ExpectedPiece(span, reads.leaf.whole, ranges, self._stacks(reads))

    def _leaf_pieces(self, leaf: Leaf, state: MatcherState) -> Iterator[tuple[Leaf, Ranges]]:
        """The pieces of a leaf that read next, and the characters each reads alone."""
        for inner, its in self._reading(leaf, state):
            simple = _characters(inner, its)
            if simple is None:
                simple = _readable_characters(inner.matcher.step, its, _byte_classes([inner]))
            yield inner, simple

    def _reading(self, leaf: Leaf, state: MatcherState) -> Iterator[tuple[Leaf, MatcherState]]:
        """The pieces of a leaf that read next, with the states of their matchers."""
        matcher = leaf.matcher
        if isinstance(matcher, FirstMatchMatcher):
            for inner, its in matcher.reading(state):
                yield from self._reading(inner, its)
        else:
            yield leaf, state

    def _read(self, reads: _PieceReads, bytes_read: int, clock: Clock) -> Ranges:
        """All characters a piece can begin to read."""
        alone = union((), *reads.ranges)
        missing = difference(ANY_CHARACTER, alone)
        if not (reads.byte_items and self._reads_halves and missing and missing[-1][1] > _ASCII):
            return alone

        # it may read half a character, and the pieces after it the other half
        def step(item_set: ItemSet, byte: int) -> ItemSet | None:
            return self._earley.step(item_set, byte, clock)

        together = ItemSet(tuple(reads.byte_items), ends=False, bytes_read=bytes_read)
        return union(alone, _readable_characters(step, together, self._classes))

    @cached_property
    def _leaves(self) -> list[Leaf]:
        return [leaf for piece in self._rules.values() for leaf in leaves(piece)]

    @cached_property
    def _classes(self) -> npt.NDArray[np.uint16]:
        return _byte_classes(self._leaves)

    @cached_property
    def _reads_halves(self) -> bool:
        """Whether some leaf can begin with a continuation byte."""
        return any(
            leaf.matcher.step(leaf.matcher.initial, byte) is not None
            for leaf in self._leaves
            if not _characters(leaf, leaf.matcher.initial)
            for byte in range(0x80, 0xC0)
        )

    def _stacks(self, reads: _PieceReads) -> tuple[Stack, ...]:
        root = self._earley.root
        if root.rule == _REGEX:
            return (tuple(Frame(group.name or "", group.span) for group in reads.leaf.groups),)
        stacks: dict[Stack, None] = {}
        for invocation in reads.invocations:
            wanted = MAX_STACKS - len(stacks)
            stacks.update(dict.fromkeys(stacks_of(invocation, root, self._defined, wanted)))
            if len(stacks) >= MAX_STACKS:
                break
        return tuple(stacks)


def _readable_characters(
    step: Callable[[T, int], T | None], begin: T, classes: npt.NDArray[np.uint16]
) -> Ranges:
    """The characters that a machine over bytes can read from one state."""

    # all ends of characters are merged into one state, which folds thousands of edges into a few
    def go(progress: tuple[T, int] | None, byte: int) -> tuple[T, int] | None:
        if progress is None:
            return None
        there = step(progress[0], byte)
        bytes_left = progress[1] - 1 if progress[1] else bisect_right(_LEADS, byte)
        if there is None:
            return None
        return (there, bytes_left) if bytes_left else (begin, 0)

    edges = character_edges(go, (begin, 0), classes, dead=None)
    return union((), *(ranges for ranges, _ in edges))


def _byte_classes(some: Iterable[Leaf]) -> npt.NDArray[np.uint16]:
    """Byte classes: bytes that all these leaves treat alike have one number."""
    edges = np.zeros(257, np.uint16)
    for leaf in some:
        edges[list(leaf.matcher.boundaries())] = 1
    edges[0] = 0
    return np.cumsum(edges[:256]).astype(np.uint16)


def _characters(leaf: Leaf, state: MatcherState) -> Ranges | None:
    """The set of characters of a leaf that has not read a byte yet; None for other leaves."""
    matcher = leaf.matcher
    if isinstance(matcher, SetMatcher) and state == matcher.initial:
        return matcher.characters
    return None
