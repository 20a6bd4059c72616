"""The set of strings in which a JSON Schema pattern is found.

Each state of the Nfa is a node of the regex's graph, with what has been read before (nothing, a
character of a word, another) and what has to come next (anything, a character of a word, none of
a word, nothing at all).

A pattern without assertions but at its edges becomes a machine as any regex does. Others are read
beside what their assertions ask: whether the place is the start or after a letter, and what has
to come next. What looks ahead or behind cuts the pattern into a part before and a part after it,
whose strings are intersected; inside a repetition there is no such cut, and it is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import lru_cache, reduce

from workbench.automata.build import smallest
from workbench.automata.nfa import Nfa, NfaBuilder
from workbench.automata.thompson import thompson
from workbench.base.errors import ParseError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source, Span
from workbench.schema.string_machines import (
    Alphabet,
    Content,
    alphabet_of,
    concatenation,
    difference,
    intersection,
    union,
)
from workbench.syntax.ranges import ANY_CHARACTER, Ranges, normalized
from workbench.syntax.regex.searched import Assertion, Assertions, Kind, parse_search
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Group,
    Regex,
    Repeat,
    walk,
)
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


#: The trees made here were written nowhere.
_HERE = Span(0, 0)
_ANYTHING = Repeat(Characters(ANY_CHARACTER, _HERE), 0, None, _HERE)


@lru_cache(maxsize=512)
def search(pattern: str, limits: Limits = LIMITS) -> Content:
    """The strings in which a pattern is found somewhere.

    Raises: ParseError where the pattern cannot be read or is not regular, with its place in the
            pattern; LimitError where its machine is too large.
    Source: JSON Schema 2020-12 Validation, section 6.3.3; ECMA-262, section 22.2.
    """
    source = Source(pattern, "pattern")
    regex, assertions = parse_search(source, limits.clock())
    sets = _sets(regex, assertions)
    if any(a.kind in (Kind.BOUNDARY, Kind.INSIDE) for a in assertions.values()):
        sets.append(ASCII_WORD)
    return _Search(source, assertions, alphabet_of(sets), limits).found(_parts(regex))


def _sets(regex: Regex, assertions: Assertions) -> list[Ranges]:
    """Every set of characters of a tree and its assertions."""
    trees = [regex, *(a.part for a in assertions.values() if a.part is not None)]
    return [part.ranges for tree in trees for part in walk(tree) if isinstance(part, Characters)]


@dataclass(frozen=True, slots=True)
class _Search:
    """One pattern on its way to a machine."""

    source: Source
    assertions: Assertions
    alphabet: Alphabet
    limits: Limits

    def found(self, parts: Sequence[Regex], *, before: bool = True, after: bool = True) -> Content:
        """The strings that are these parts one after the other.

        Anything may stand ``before`` them, or come ``after`` them.
        """
        for at, part in enumerate(parts):
            assertion = self._assertion(part)
            if assertion is not None and assertion.part is not None:
                return self._cut(parts, at, assertion, before=before, after=after)
            if assertion is None and self._looks(part):
                if self._only_end(parts[at + 1 :], after) and (run := self._tempered(part)):
                    return self._then(parts[:at], *run, part.span, before=before)
                options = [(*parts[:at], *o, *parts[at + 1 :]) for o in self._options(part)]
                every = [self.found(option, before=before, after=after) for option in options]
                return reduce(lambda a, b: union(a, b, self.limits), every)
        return self._machine(parts, before=before, after=after)

    def _cut(
        self, parts: Sequence[Regex], at: int, look: Assertion, *, before: bool, after: bool
    ) -> Content:
        """The same where the part at a place looks ahead or behind."""
        start, following, span = parts[:at], parts[at + 1 :], parts[at].span
        looked = _parts(look.part)
        keep = intersection if look.kind in (Kind.AHEAD, Kind.BEHIND) else difference
        rest = self.found(following, before=False, after=after)
        if look.kind in (Kind.AHEAD, Kind.NOT_AHEAD):
            rest = keep(rest, self.found(looked, before=False), self.limits)
            return self._then(start, rest, [*looked, *following], span, before=before)
        self._check([*start, *looked], Kind.END, span)
        self._check(following, Kind.START, span)
        found = self.found(start, before=before, after=False)
        found = keep(found, self.found(looked, after=False), self.limits)
        return concatenation(found, rest, self.limits)

    def _then(
        self,
        start: Sequence[Regex],
        rest: Content,
        asking: Sequence[Regex],
        span: Span,
        *,
        before: bool,
    ) -> Content:
        """The parts of the start, then the rest, whose parts may ask what stands before them."""
        anchors = [self._is(part, Kind.START) for part in start]
        if all(anchors) and (anchors or not before):
            return rest
        self._check(start, Kind.END, span)
        self._check(asking, Kind.START, span)
        found = self.found(start, before=before, after=False)
        return concatenation(found, rest, self.limits)

    def _check(self, parts: Sequence[Regex], asked: Kind, span: Span) -> None:
        """Refuse parts beside a cut that ask about what stands on its other side."""
        kinds = {a.kind for part in parts for a in self._asserted(part)}
        if not kinds.isdisjoint((asked, Kind.BOUNDARY, Kind.INSIDE)):
            raise self._refused(span)

    def _tempered(self, part: Regex) -> tuple[Content, list[Regex]] | None:
        """The strings of ``((?!X).)*`` up to the end of the text, and X; None for other parts."""
        if not isinstance(part, Repeat) or part.high is not None or part.low > 1:
            return None
        match _parts(part.part):
            case [Concat(()) as look, Characters() as one]:
                assertion = self._assertion(look)
                if assertion is None or assertion.kind is not Kind.NOT_AHEAD:
                    return None
                looked = _parts(assertion.part)
                every = self.found([replace(part, part=one)], before=False, after=False)
                return difference(every, self.found(looked), self.limits), looked
            case _:
                return None

    def _only_end(self, parts: Sequence[Regex], after: bool) -> bool:
        return all(self._is(part, Kind.END) for part in parts) and bool(parts or not after)

    def _options(self, part: Regex) -> list[tuple[Regex, ...]]:
        """What a part that looks somewhere may be, as parts one after the other."""
        match part:
            case Alternate(options):
                return [tuple(_parts(option)) for option in options]
            case Repeat(inner, 0, 1):
                return [tuple(_parts(inner)), ()]
            case _:
                inside = [s for s, a in self.assertions.items() if a.part is not None]
                raise self._refused(next((s for s in inside if _within(s, part.span)), part.span))

    def _refused(self, span: Span) -> ParseError:
        return ParseError(
            "what looks ahead or behind is read between the parts of a pattern, not inside them",
            self.source,
            span,
            "write it at the start of the pattern, or use a class for what may come there",
            "unsupported_regex",
        )

    def _looks(self, regex: Regex) -> bool:
        """Whether something looks ahead or behind in a part."""
        return any(a.part is not None for a in self._asserted(regex))

    def _asserted(self, regex: Regex) -> list[Assertion]:
        """The assertions of a part, those that others look for left out."""
        if not self.assertions:
            return []
        every = (self._assertion(part) for part in walk(regex))
        return [assertion for assertion in every if assertion is not None]

    def _assertion(self, regex: Regex) -> Assertion | None:
        """What a node asserts, if it is one that does."""
        match regex:
            case Concat(()):
                return self.assertions.get(regex.span)
            case _:
                return None

    def _is(self, regex: Regex, kind: Kind) -> bool:
        assertion = self._assertion(regex)
        return assertion is not None and assertion.kind is kind

    def _machine(self, parts: Sequence[Regex], *, before: bool, after: bool) -> Content:
        """The machine of parts that look nowhere."""
        first, last = 0, len(parts)
        while first < last and self._is(parts[first], Kind.START):
            first += 1
        while first < last and self._is(parts[last - 1], Kind.END):
            last -= 1
        core = Concat(tuple(parts[first:last]), _HERE)
        if self._asserted(core):
            whole = Concat(tuple(parts), _HERE)
            nfa = asking(
                whole, self.assertions, self.alphabet, self.limits, before=before, after=after
            )
        else:
            start = (_ANYTHING,) if before and not first else ()
            end = (_ANYTHING,) if after and last == len(parts) else ()
            tree = self._atoms(Concat((*start, core, *end), _HERE))
            nfa = replace(thompson(tree, self.limits), symbols=self.alphabet.size)
        return Content(self.alphabet, smallest(nfa, self.limits))

    def _atoms(self, regex: Regex) -> Regex:
        """The same tree over atoms."""
        match regex:
            case Characters(ranges):
                return _of_atoms(self.alphabet, ranges)
            case Concat(parts):
                return Concat(tuple(map(self._atoms, parts)), _HERE)
            case Alternate(options):
                return Alternate(tuple(map(self._atoms, options)), _HERE)
            case Repeat(part, low, high):
                return Repeat(self._atoms(part), low, high, _HERE)
            case Group(part):
                return self._atoms(part)
            case _:
                return regex


@lru_cache(maxsize=4096)
def _of_atoms(alphabet: Alphabet, ranges: Ranges) -> Regex:
    """A set of characters as a set of atoms."""
    return Bytes(normalized((atom, atom) for atom in alphabet.atoms_of(ranges)), _HERE)


def _parts(regex: Regex | None) -> list[Regex]:
    """What a regex reads one after the other."""
    match regex:
        case None:
            return []
        case Concat(parts) if parts:
            return [inner for part in parts for inner in _parts(part)]
        case Group(part):
            return _parts(part)
        case _:
            return [regex]


def _within(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end
