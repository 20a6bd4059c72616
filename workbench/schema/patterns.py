"""The set of strings in which a JSON Schema ``pattern`` is found.

* A pattern whose only assertions are anchors at its ends is compiled like any regex.
* For anchors and word boundaries inside it (``assertion_nfa``), a state of the NFA is a node of the
  regex's graph with the kind of the last character read (none, word, other) and a condition on the
  next one (any, word, not word, none).
* A lookaround divides the pattern into a part before it and a part after it, and the strings of
  one part are intersected with those of the lookaround, or those are subtracted. Inside a
  repetition this is not possible, and the lookaround is an error.
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


class LastRead(IntEnum):
    """The kind of the last character read."""

    NOTHING = 0
    WORD = 1
    OTHER = 2


class NextRead(IntEnum):
    """The condition on the next character."""

    ANYTHING = 0
    WORD = 1
    NO_WORD = 2
    NOTHING = 3


_State = tuple[int, LastRead, NextRead]


def assertion_nfa(
    regex: Regex,
    assertions: Assertions,
    alphabet: Alphabet,
    limits: Limits,
    *,
    before: bool,
    after: bool,
) -> Nfa:
    """The NFA over atoms of a regex with anchors and word boundaries.

    ``before`` and ``after``: any characters may precede or follow the match.

    Raises: LimitError past ``limits.unrolled`` nodes of its graph.
    """
    graph = _Graph(assertions, alphabet, limits)
    start, end = graph.node(), graph.node()
    graph.add(regex, start, end)
    every = tuple(range(alphabet.size))
    if before:
        graph.edges[start].append((every, start))
        start, inner = graph.node(), start
        graph.epsilons[start].append((None, inner))
    if after:
        graph.edges[end].append((every, end))
    words = frozenset(alphabet.atoms_of(ASCII_WORD)) if graph.has_word_boundary else frozenset()
    return _product_nfa(graph, start, end, words)


@dataclass(slots=True)
class _Graph:
    """Thompson's graph of a regex, with its assertions on the epsilon edges."""

    assertions: Assertions
    alphabet: Alphabet
    limits: Limits
    edges: list[list[tuple[tuple[int, ...], int]]] = field(default_factory=list)
    epsilons: list[list[tuple[Kind | None, int]]] = field(default_factory=list)

    @property
    def has_word_boundary(self) -> bool:
        """Whether the regex contains a word boundary."""
        kinds = {kind for row in self.epsilons for kind, _ in row}
        return not kinds.isdisjoint((Kind.BOUNDARY, Kind.INSIDE))

    def node(self) -> int:
        """A node without edges."""
        self.limits.check("unrolled", len(self.edges))
        self.edges.append([])
        self.epsilons.append([])
        return len(self.edges) - 1

    def add(self, regex: Regex, start: int, end: int) -> None:
        """Add a regex between two nodes."""
        match regex:
            case Characters(ranges):
                self.edges[start].append((self.alphabet.atoms_of(ranges), end))
            case Concat(()) if regex.span in self.assertions:
                self.epsilons[start].append((self.assertions[regex.span].kind, end))
            case Concat(parts):
                for part in parts:
                    start, here = self.node(), start
                    self.add(part, here, start)
                self.epsilons[start].append((None, end))
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
                self.epsilons[start].append((None, end))
            low -= 1
            start, here = self.node(), start
            self.add(part, here, start)
        if high is None:
            # a separate node: edges that leave the start must not be part of the loop
            loop = self.node()
            self.epsilons[start].append((None, loop))
            self.add(part, loop, again := self.node())
            self.epsilons[again].append((None, loop))
            start = loop
        self.epsilons[start].append((None, end))


def _product_nfa(graph: _Graph, start: int, end: int, words: frozenset[int]) -> Nfa:
    """The NFA of the reachable combinations of node, last character and condition."""
    builder = NfaBuilder(graph.alphabet.size)
    numbers: dict[_State, int] = {}
    waiting: list[_State] = []

    def number(state: _State) -> int:
        if state not in numbers:
            numbers[state] = builder.new_state()
            waiting.append(state)
        return numbers[state]

    number((start, LastRead.NOTHING, NextRead.ANYTHING))
    for state in waiting:  # grows during the iteration
        node, before, following = state
        for kind, target in graph.epsilons[node]:
            for needed in _next_conditions(kind, before):
                if (both := _conjunction(following, needed)) is not None:
                    builder.epsilon(numbers[state], number((target, before, both)))
        for atoms, target in graph.edges[node] if following is not NextRead.NOTHING else ():
            for atom in atoms:
                word = atom in words
                if following is NextRead.ANYTHING or word == (following is NextRead.WORD):
                    read = LastRead.WORD if word else LastRead.OTHER
                    there = number((target, read, NextRead.ANYTHING))
                    builder.edge(numbers[state], atom, atom, there)
    finals = {
        n for (node, _, next_), n in numbers.items() if node == end and next_ is not NextRead.WORD
    }
    return builder.build(0, finals)


def _next_conditions(kind: Kind | None, before: LastRead) -> tuple[NextRead, ...]:
    """The conditions on the next character under which an assertion holds; empty if it cannot."""
    match kind:
        case None:
            return (NextRead.ANYTHING,)
        case Kind.START:
            return (NextRead.ANYTHING,) if before is LastRead.NOTHING else ()
        case Kind.END:
            return (NextRead.NOTHING,)
        case Kind.BOUNDARY:
            return (NextRead.NO_WORD if before is LastRead.WORD else NextRead.WORD,)
        case _:
            return (NextRead.WORD if before is LastRead.WORD else NextRead.NO_WORD,)


def _conjunction(one: NextRead, other: NextRead) -> NextRead | None:
    """The conjunction of two conditions; None if it cannot hold. The end is not a word."""
    if one is other or other is NextRead.ANYTHING:
        return one
    if one is NextRead.ANYTHING:
        return other
    return NextRead.NOTHING if NextRead.WORD not in (one, other) else None


#: The span of generated trees.
_NO_SPAN = Span(0, 0)
_ANYTHING = Repeat(Characters(ANY_CHARACTER, _NO_SPAN), 0, None, _NO_SPAN)


@lru_cache(maxsize=512)
def search(pattern: str, limits: Limits = LIMITS) -> Content:
    """The strings in which a pattern is found at some position.

    Raises: ParseError if the pattern cannot be parsed or is not regular, with a span in the
            pattern; LimitError if its automaton is too large.
    Source: JSON Schema 2020-12 Validation, section 6.3.3; ECMA-262, section 22.2.
    """
    source = Source(pattern, "pattern")
    regex, assertions = parse_search(source, limits.clock())
    sets = _sets(regex, assertions)
    if any(a.kind in (Kind.BOUNDARY, Kind.INSIDE) for a in assertions.values()):
        sets.append(ASCII_WORD)
    return _Search(source, assertions, alphabet_of(sets), limits).content(_parts(regex))


def _sets(regex: Regex, assertions: Assertions) -> list[Ranges]:
    """All sets of characters in a tree and its assertions."""
    trees = [regex, *(a.part for a in assertions.values() if a.part is not None)]
    return [part.ranges for tree in trees for part in walk(tree) if isinstance(part, Characters)]


@dataclass(frozen=True, slots=True)
class _Search:
    """Compiles one pattern."""

    source: Source
    assertions: Assertions
    alphabet: Alphabet
    limits: Limits

    def content(
        self, parts: Sequence[Regex], *, before: bool = True, after: bool = True
    ) -> Content:
        """The strings that match a concatenation of parts.

        ``before`` and ``after``: any characters may precede or follow the match.
        """
        for at, part in enumerate(parts):
            assertion = self._assertion(part)
            if assertion is not None and assertion.part is not None:
                return self._divide(parts, at, assertion, before=before, after=after)
            if assertion is None and self._has_lookaround(part):
                if self._at_end(parts[at + 1 :], after) and (run := self._tempered_dot(part)):
                    return self._followed_by(parts[:at], *run, part.span, before=before)
                options = [(*parts[:at], *o, *parts[at + 1 :]) for o in self._alternatives(part)]
                every = [self.content(option, before=before, after=after) for option in options]
                return reduce(lambda a, b: union(a, b, self.limits), every)
        return self._machine(parts, before=before, after=after)

    def _divide(
        self, parts: Sequence[Regex], at: int, look: Assertion, *, before: bool, after: bool
    ) -> Content:
        """The same if the part at index ``at`` is a lookaround."""
        start, following, span = parts[:at], parts[at + 1 :], parts[at].span
        target = _parts(look.part)
        operation = intersection if look.kind in (Kind.AHEAD, Kind.BEHIND) else difference
        rest = self.content(following, before=False, after=after)
        if look.kind in (Kind.AHEAD, Kind.NOT_AHEAD):
            rest = operation(rest, self.content(target, before=False), self.limits)
            return self._followed_by(start, rest, [*target, *following], span, before=before)
        self._check([*start, *target], Kind.END, span)
        self._check(following, Kind.START, span)
        strings = self.content(start, before=before, after=False)
        strings = operation(strings, self.content(target, after=False), self.limits)
        return concatenation(strings, rest, self.limits)

    def _followed_by(
        self,
        start: Sequence[Regex],
        rest: Content,
        looking_back: Sequence[Regex],
        span: Span,
        *,
        before: bool,
    ) -> Content:
        """The start followed by the rest; assertions of ``looking_back`` may look back at it."""
        anchors = [self._asserts(part, Kind.START) for part in start]
        if all(anchors) and (anchors or not before):
            return rest
        self._check(start, Kind.END, span)
        self._check(looking_back, Kind.START, span)
        strings = self.content(start, before=before, after=False)
        return concatenation(strings, rest, self.limits)

    def _check(self, parts: Sequence[Regex], asked: Kind, span: Span) -> None:
        """Raises ParseError if an assertion of the parts depends on the other part."""
        kinds = {a.kind for part in parts for a in self._assertions_in(part)}
        if not kinds.isdisjoint((asked, Kind.BOUNDARY, Kind.INSIDE)):
            raise self._refused(span)

    def _tempered_dot(self, part: Regex) -> tuple[Content, list[Regex]] | None:
        """The strings of ``((?!X).)*`` at the end of the pattern, and X; None for other parts."""
        if not isinstance(part, Repeat) or part.high is not None or part.low > 1:
            return None
        match _parts(part.part):
            case [Concat(()) as look, Characters() as one]:
                assertion = self._assertion(look)
                if assertion is None or assertion.kind is not Kind.NOT_AHEAD:
                    return None
                target = _parts(assertion.part)
                every = self.content([replace(part, part=one)], before=False, after=False)
                return difference(every, self.content(target), self.limits), target
            case _:
                return None

    def _at_end(self, parts: Sequence[Regex], after: bool) -> bool:
        return all(self._asserts(part, Kind.END) for part in parts) and bool(parts or not after)

    def _alternatives(self, part: Regex) -> list[tuple[Regex, ...]]:
        """The alternatives of a part that contains a lookaround, each as a list of parts."""
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
            "this lookaround is inside a repetition or depends on an assertion next to it",
            self.source,
            span,
            "write it at the start of the pattern, or use a class for the characters allowed there",
            "unsupported_regex",
        )

    def _has_lookaround(self, regex: Regex) -> bool:
        """Whether a part contains a lookaround."""
        return any(a.part is not None for a in self._assertions_in(regex))

    def _assertions_in(self, regex: Regex) -> list[Assertion]:
        """The assertions in a part, without those inside lookarounds."""
        if not self.assertions:
            return []
        every = (self._assertion(part) for part in walk(regex))
        return [assertion for assertion in every if assertion is not None]

    def _assertion(self, regex: Regex) -> Assertion | None:
        """The assertion of a node, if it is one."""
        match regex:
            case Concat(()):
                return self.assertions.get(regex.span)
            case _:
                return None

    def _asserts(self, regex: Regex, kind: Kind) -> bool:
        assertion = self._assertion(regex)
        return assertion is not None and assertion.kind is kind

    def _machine(self, parts: Sequence[Regex], *, before: bool, after: bool) -> Content:
        """The automaton of parts without lookarounds."""
        first, last = 0, len(parts)
        while first < last and self._asserts(parts[first], Kind.START):
            first += 1
        while first < last and self._asserts(parts[last - 1], Kind.END):
            last -= 1
        core = Concat(tuple(parts[first:last]), _NO_SPAN)
        if self._assertions_in(core):
            whole = Concat(tuple(parts), _NO_SPAN)
            nfa = assertion_nfa(
                whole, self.assertions, self.alphabet, self.limits, before=before, after=after
            )
        else:
            start = (_ANYTHING,) if before and not first else ()
            end = (_ANYTHING,) if after and last == len(parts) else ()
            tree = self._atoms(Concat((*start, core, *end), _NO_SPAN))
            nfa = replace(thompson(tree, self.limits), symbols=self.alphabet.size)
        return Content(self.alphabet, smallest(nfa, self.limits))

    def _atoms(self, regex: Regex) -> Regex:
        """The same tree with atoms in place of characters."""
        match regex:
            case Characters(ranges):
                return _of_atoms(self.alphabet, ranges)
            case Concat(parts):
                return Concat(tuple(map(self._atoms, parts)), _NO_SPAN)
            case Alternate(options):
                return Alternate(tuple(map(self._atoms, options)), _NO_SPAN)
            case Repeat(part, low, high):
                return Repeat(self._atoms(part), low, high, _NO_SPAN)
            case Group(part):
                return self._atoms(part)
            case _:
                return regex


@lru_cache(maxsize=4096)
def _of_atoms(alphabet: Alphabet, ranges: Ranges) -> Regex:
    """A set of characters as a set of atoms."""
    return Bytes(normalized((atom, atom) for atom in alphabet.atoms_of(ranges)), _NO_SPAN)


def _parts(regex: Regex | None) -> list[Regex]:
    """The parts of a concatenation, groups removed."""
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
