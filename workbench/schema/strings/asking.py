"""Asking: a regex whose assertions ask about their place comes in, an Nfa without them goes out.

Each state of the Nfa is a node of the regex's graph, with what has been read before (nothing, a
character of a word, another) and what has to come next (anything, a character of a word, none of
a word, nothing at all).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from workbench.automata.nfa import Nfa, NfaBuilder
from workbench.limits import Limits
from workbench.schema.strings.alphabet import Alphabet
from workbench.syntax.regex.search import Assertions, Kind
from workbench.syntax.regex.tree import Alternate, Characters, Concat, Group, Regex, Repeat
from workbench.syntax.regex.unicode_sets import ASCII_WORD


class Before(IntEnum):
    """What has been read last."""

    NOTHING = 0
    WORD = 1
    OTHER = 2


class Next(IntEnum):
    """What has to come."""

    ANYTHING = 0
    WORD = 1
    NO_WORD = 2
    NOTHING = 3


_Place = tuple[int, Before, Next]


def asking(
    regex: Regex,
    assertions: Assertions,
    alphabet: Alphabet,
    limits: Limits,
    *,
    before: bool,
    after: bool,
) -> Nfa:
    """The Nfa over atoms of a regex with anchors and word boundaries.

    Anything may stand ``before`` what it matches, or come ``after`` it.

    Raises: LimitError past ``limits.unrolled`` nodes of its graph.
    """
    graph = _Graph(assertions, alphabet, limits)
    start, end = graph.node(), graph.node()
    graph.add(regex, start, end)
    every = tuple(range(alphabet.size))
    if before:
        graph.reads[start].append((every, start))
        start, inner = graph.node(), start
        graph.moves[start].append((None, inner))
    if after:
        graph.reads[end].append((every, end))
    words = frozenset(alphabet.atoms_of(ASCII_WORD)) if graph.asks_words else frozenset()
    return _unfolded(graph, start, end, words)


@dataclass(slots=True)
class _Graph:
    """Thompson's graph of a regex, its assertions kept on the moves that read nothing."""

    assertions: Assertions
    alphabet: Alphabet
    limits: Limits
    reads: list[list[tuple[tuple[int, ...], int]]] = field(default_factory=list)
    moves: list[list[tuple[Kind | None, int]]] = field(default_factory=list)

    @property
    def asks_words(self) -> bool:
        """Whether a word boundary is among the moves."""
        kinds = {kind for row in self.moves for kind, _ in row}
        return not kinds.isdisjoint((Kind.BOUNDARY, Kind.INSIDE))

    def node(self) -> int:
        """A node without edges."""
        self.limits.check("unrolled", len(self.reads))
        self.reads.append([])
        self.moves.append([])
        return len(self.reads) - 1

    def add(self, regex: Regex, start: int, end: int) -> None:
        """Write a regex between two nodes."""
        match regex:
            case Characters(ranges):
                self.reads[start].append((self.alphabet.atoms_of(ranges), end))
            case Concat(()) if regex.span in self.assertions:
                self.moves[start].append((self.assertions[regex.span].kind, end))
            case Concat(parts):
                for part in parts:
                    start, here = self.node(), start
                    self.add(part, here, start)
                self.moves[start].append((None, end))
            case Alternate(options):
                for option in options:
                    self.add(option, start, end)
            case Group(part):
                self.add(part, start, end)
            case Repeat(part, low, high):
                self._add_copies(part, low, high, start, end)
            case _:
                raise AssertionError("a pattern reads characters")

    def _add_copies(self, part: Regex, low: int, high: int | None, start: int, end: int) -> None:
        for _ in range(low if high is None else high):
            if low <= 0:
                self.moves[start].append((None, end))
            low -= 1
            start, here = self.node(), start
            self.add(part, here, start)
        if high is None:
            # a node of its own: nothing that begins at the start may be met again in the circle
            circle = self.node()
            self.moves[start].append((None, circle))
            self.add(part, circle, again := self.node())
            self.moves[again].append((None, circle))
            start = circle
        self.moves[start].append((None, end))


def _unfolded(graph: _Graph, start: int, end: int, words: frozenset[int]) -> Nfa:
    """The places of a graph that can be reached, as an Nfa."""
    builder = NfaBuilder(graph.alphabet.size)
    numbers: dict[_Place, int] = {}
    waiting: list[_Place] = []

    def number(place: _Place) -> int:
        if place not in numbers:
            numbers[place] = builder.new_state()
            waiting.append(place)
        return numbers[place]

    number((start, Before.NOTHING, Next.ANYTHING))
    for place in waiting:  # grows while it is read
        node, before, following = place
        for kind, target in graph.moves[node]:
            for needed in _needed(kind, before):
                if (both := _both(following, needed)) is not None:
                    builder.epsilon(numbers[place], number((target, before, both)))
        for atoms, target in graph.reads[node] if following is not Next.NOTHING else ():
            for atom in atoms:
                word = atom in words
                if following is Next.ANYTHING or word == (following is Next.WORD):
                    read = Before.WORD if word else Before.OTHER
                    there = number((target, read, Next.ANYTHING))
                    builder.edge(numbers[place], atom, atom, there)
    finals = {
        n for (node, _, next_), n in numbers.items() if node == end and next_ is not Next.WORD
    }
    return builder.build(0, finals)


def _needed(kind: Kind | None, before: Before) -> tuple[Next, ...]:
    """What has to come next where an assertion holds; nothing where it cannot."""
    match kind:
        case None:
            return (Next.ANYTHING,)
        case Kind.START:
            return (Next.ANYTHING,) if before is Before.NOTHING else ()
        case Kind.END:
            return (Next.NOTHING,)
        case Kind.BOUNDARY:
            return (Next.NO_WORD if before is Before.WORD else Next.WORD,)
        case _:
            return (Next.WORD if before is Before.WORD else Next.NO_WORD,)


def _both(one: Next, other: Next) -> Next | None:
    """What has to come next where both say so; None where nothing can. The end is no word."""
    if one is other or other is Next.ANYTHING:
        return one
    if one is Next.ANYTHING:
        return other
    return Next.NOTHING if Next.WORD not in (one, other) else None
