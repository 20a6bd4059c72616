"""The escapes of JSON strings, as other spellings of the characters of an edge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator
from contextlib import suppress
from dataclasses import replace
from string import hexdigits

from workbench.drawing.edge_labels import joined
from workbench.drawing.graph import Edge, Graph
from workbench.schema.json_literals import SHORT_ESCAPES
from workbench.syntax.ranges import Ranges, difference, intersection, size, union

#: The note on a picture in which escapes are folded, and the beginning of the titles of its edges.
ESCAPES_NOTE = "JSON escapes, such as \\u0041 for A, are folded"
_INCLUDED = "JSON escapes such as"

_BACKSLASH: Ranges = ((0x5C, 0x5C),)
_SURROGATES: Ranges = ((0xD800, 0xDFFF),)

#: The letter after the backslash for each character that has a short escape.
_SHORT = {meant: letter for letter, meant in SHORT_ESCAPES.items()}

#: Escapes of one state that are written out.
_MAX_WRITTEN_ESCAPES = 2


def fold_escapes(graph: Graph, keep: Container[str] = ()) -> Graph:
    r"""The graph of a machine that reads JSON, without the states inside escapes of strings.

    An edge that reads ``A`` also reads ``\u0041`` then; characters that only have escapes get a
    label such as ``\n``. States inside escapes are found in the edges (``Graph.where``). An escape
    with a state in ``keep`` is not folded.

    Cost: a walk through the states inside escapes.
    """
    if not graph.is_json:
        return graph
    ends, inside = _Escapes(graph).read(keep)
    if not ends:
        return graph
    gone = {state for passed in inside.values() for state in passed}
    escaped = {
        (edge.source, target): (ranges, inside[edge.target])
        for edge in graph.edges
        if edge.target in ends and edge.source not in gone
        for target, ranges in ends[edge.target].items()
    }
    edges: list[Edge] = []
    for edge in graph.edges:
        if not gone.isdisjoint((edge.source, edge.target)):
            continue
        more = escaped.pop((edge.source, edge.target), None) if edge.reads else None
        edges.append(_with_escapes(edge, *more) if more else edge)
    for (source, target), (ranges, passed) in escaped.items():
        edges.append(_with_escapes(Edge(source, target), ranges, passed))
    return replace(
        graph,
        nodes=tuple(node for node in graph.nodes if node.id not in gone),
        edges=tuple(edges),
    )


def shows_escapes(graph: Graph) -> bool:
    """Whether an edge of the picture includes JSON escapes."""
    steps = (step for edge in graph.edges for chain in edge.chains for step in chain)
    return any(_INCLUDED in edge.title for edge in (*graph.edges, *steps))


def _with_escapes(edge: Edge, escaped: Ranges, passed: tuple[str, ...]) -> Edge:
    """An edge that also reads characters as escapes, through the states ``passed``."""
    only = difference(escaped, edge.reads)
    labels, kinds = edge.labels, edge.kinds
    if only:
        few = size(only) <= _MAX_WRITTEN_ESCAPES
        written = " ".join(map(_escape, _each(only))) if few else "\\…"
        labels = (*labels, written)
        kinds = kinds if len(labels) == 1 and few else tuple(dict.fromkeys((*kinds, "class")))
    example = _escape(chr(escaped[0][0]))
    return replace(
        edge,
        labels=labels,
        kinds=kinds,
        title=f"{'  '.join(labels)} · {_INCLUDED} {example} included",
        between=(*edge.between, *passed),
        reads=union(edge.reads, escaped),
    )


def _escape(character: str) -> str:
    if character in _SHORT:
        return f"\\{_SHORT[character]}"
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[offset : offset + 4]}" for offset in range(0, len(units), 4))


def _each(ranges: Ranges) -> Iterator[str]:
    """The characters of a small set."""
    return (chr(code) for low, high in ranges for code in range(low, high + 1))


class _NoEscapeError(Exception):
    """The states after a backslash are not those of escapes in JSON."""


class _Escapes:
    """Reads the characters of JSON escapes from a graph."""

    def __init__(self, graph: Graph) -> None:
        self._out: dict[str, list[Edge]] = defaultdict(list)
        self._into: dict[str, list[Edge]] = defaultdict(list)
        for edge in graph.edges:
            self._out[edge.source].append(edge)
            self._into[edge.target].append(edge)
        self._plain = {node.id for node in graph.nodes if not node.kinds}

    def read(
        self, keep: Container[str]
    ) -> tuple[dict[str, dict[str, Ranges]], dict[str, tuple[str, ...]]]:
        """For each state after a backslash the characters that lead to others; states inside.

        Left out are escapes with a state in ``keep``, or one that another edge enters.
        """
        ends: dict[str, dict[str, Ranges]] = {}
        inside: dict[str, tuple[str, ...]] = {}
        backslashes = (edge for edges in self._out.values() for edge in edges)
        for first in dict.fromkeys(e.target for e in backslashes if e.reads == _BACKSLASH):
            with suppress(_NoEscapeError):
                read, passed = self._after_backslash(first)
                if not any(state in keep for state in passed):
                    ends[first], inside[first] = read, passed
        while True:
            within = {state for passed in inside.values() for state in passed}
            entered = {
                state
                for state in within
                for edge in self._into[state]
                if edge.source not in within and (state not in ends or edge.reads != _BACKSLASH)
            }
            if not entered:
                return ends, inside
            for first in [
                state for state, passed in inside.items() if not entered.isdisjoint(passed)
            ]:
                del ends[first], inside[first]

    def _after_backslash(self, first: str) -> tuple[dict[str, Ranges], tuple[str, ...]]:
        """The characters that lead from a backslash to each state, and the states inside.

        Raises: _NoEscapeError if other texts are read there.
        """
        passed: dict[str, None] = {}
        ends: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for edge in self._edges(first, passed):
            for letter in _each(edge.reads):
                if letter == "u":
                    for target, ranges in self._units(edge.target, passed).items():
                        ends[target] += ranges
                elif letter in SHORT_ESCAPES:
                    meant = ord(SHORT_ESCAPES[letter])
                    ends[edge.target].append((meant, meant))
                else:
                    raise _NoEscapeError
        return {target: joined(ranges) for target, ranges in ends.items()}, tuple(passed)

    def _edges(self, state: str, passed: dict[str, None]) -> list[Edge]:
        """The edges of a state inside an escape."""
        edges = self._out[state]
        if state not in self._plain or not edges:
            raise _NoEscapeError
        if any(not edge.reads or size(edge.reads) > len(_HEX_DIGITS) for edge in edges):
            raise _NoEscapeError
        passed[state] = None
        return edges

    def _units(self, state: str, passed: dict[str, None]) -> dict[str, list[tuple[int, int]]]:
        """The characters that four digits lead to, or two times four for a surrogate pair."""
        by_target: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for target, units in self._digits(state, 4, passed).items():
            if not intersection(units, _SURROGATES):
                by_target[target] += units
                continue
            if units[0][0] < 0xD800 or units[-1][1] > 0xDBFF:
                raise _NoEscapeError
            for end, lows in self._digits(self._next_unit(target, passed), 4, passed).items():
                by_target[end] += _pairs(units, lows)
        return by_target

    def _next_unit(self, state: str, passed: dict[str, None]) -> str:
        r"""The state after ``\u``, the only text that is read."""
        for letter in "\\u":
            edges = self._edges(state, passed)
            if len(edges) > 1 or edges[0].reads != ((ord(letter), ord(letter)),):
                raise _NoEscapeError
            state = edges[0].target
        return state

    def _digits(self, state: str, more: int, passed: dict[str, None]) -> dict[str, Ranges]:
        """The numbers of ``more`` hexadecimal digits that lead to each state."""
        if not more:
            return {state: ((0, 0),)}
        by_target: dict[str, list[tuple[int, int]]] = defaultdict(list)
        unit = 16 ** (more - 1)
        for edge in self._edges(state, passed):
            digits = set(_each(edge.reads))
            if not digits <= _HEX_DIGITS:
                raise _NoEscapeError
            for target, rest in self._digits(edge.target, more - 1, passed).items():
                for first in {int(digit, 16) * unit for digit in digits}:
                    by_target[target] += ((first + low, first + high) for low, high in rest)
        return {target: joined(ranges) for target, ranges in by_target.items()}


_HEX_DIGITS = frozenset(hexdigits)


def _pairs(highs: Ranges, lows: Ranges) -> Iterator[tuple[int, int]]:
    """The characters of surrogate pairs.

    Raises: _NoEscapeError for units that are no low surrogates.
    """
    if lows[0][0] < 0xDC00 or lows[-1][1] > 0xDFFF:
        raise _NoEscapeError
    for first, last in highs:
        for high in range(first, last + 1):
            base = 0x10000 + ((high - 0xD800) << 10) - 0xDC00
            yield from ((base + low, base + end) for low, end in lows)
