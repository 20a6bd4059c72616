r"""Labels of edges: bytes as characters, and character classes as their author wrote them.

An edge over the set that ``\w`` reads is labelled ``\w`` and not with a list of 700 ranges
(``written_classes``).

``folded`` and ``read_back`` convert byte edges to character edges: the first for a DFA (by
``automata.code_points.fold``), the second for machines that are not deterministic (an NFA, a PDA,
the rules of a network). Chains that are no whole characters remain bytes.

``fold_escapes`` folds the escapes of JSON strings into the edges of their characters.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt

from workbench.analysis.missing_characters import literals_and_sets
from workbench.automata.code_points import fold
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import ParseError
from workbench.base.source import Source, Span
from workbench.drawing.graph import budgeted
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import LABEL_CODES, LEAD
from workbench.grammar.notations import Notation
from workbench.syntax.kbnf.kbnf_lexer import unescape
from workbench.syntax.ranges import Ranges, contains, size
from workbench.syntax.regex.extensions import LABELS, Label
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Dialect
from workbench.syntax.regex.tree import Characters

#: The most characters of a written class in a label.
MAX_LABEL = 24

#: Dialects in which ``\w`` alone has its Unicode meaning; in the ECMA dialect it is ASCII.
_DIALECTS = (Dialect.PYTHON, Dialect.RUST)

#: A class in brackets, an escape such as ``\d`` or ``\p{Lu}``, or a dot.
_CLASS = re.compile(r"\[.+\]|\\[dswDSW]|\\[pP](?:\w|\{[^}]+\})|\.", re.DOTALL)


def written_classes(grammar: Grammar) -> Mapping[Ranges, str]:
    """Each set of characters that the grammar's text writes as a class, with that class.

    Of several classes with the same set, the first in the text counts. Left out are classes that
    are longer than ``MAX_LABEL``, that hold a single character or one that cannot be printed, and
    those that by themselves read another set, such as ``[a-z]`` where case is ignored.
    """
    sets = (piece for piece in literals_and_sets(grammar) if isinstance(piece, Characters))
    classes: dict[Ranges, str] = {}
    for characters in sorted(sets, key=lambda characters: characters.span.start):
        if characters.ranges in classes or size(characters.ranges) < 2:
            continue
        text = _regex_text(grammar, characters.span)
        if _is_label(text) and characters.ranges in (_read_alone(text, each) for each in _DIALECTS):
            classes[characters.ranges] = text
    return classes


def _is_label(text: str) -> bool:
    return len(text) <= MAX_LABEL and text.isprintable() and bool(_CLASS.fullmatch(text))


def _regex_text(grammar: Grammar, span: Span) -> str:
    """The text at a span, with the escapes of KBNF's quotes resolved."""
    text = grammar.source.text[span.start : span.end]
    if grammar.notation is not Notation.KBNF or "\\" not in text:
        return text
    try:
        return unescape(grammar.source, span, regex=True).text
    except ParseError:
        return ""  # the span covers more than the inside of quotes


def _read_alone(text: str, dialect: Dialect) -> Ranges | None:
    """The set of a class without flags; None if the text is no class."""
    try:
        read = parse_regex(Source(text, "class"), dialect=dialect)
    except ParseError:
        return None
    return read.ranges if isinstance(read, Characters) else None


#: ``(low, high, target)``
ByteEdge = tuple[int, int, int]

_FULL = (0x80, 0xBF)

#: First byte of a character: how many bytes follow.
_LEADS = ((0xC2, 0xDF, 1), (0xE0, 0xEF, 2), (0xF0, 0xF4, 3))


@dataclass(frozen=True, slots=True)
class CharacterEdges:
    """The edges of a machine as characters where possible, else as bytes."""

    characters: dict[tuple[int, int], Ranges]
    raw: dict[tuple[int, int], Ranges]
    #: The states between characters, in the order of discovery.
    states: tuple[int, ...]
    #: For each edge the states between the bytes of its characters and of its labels.
    between: dict[tuple[int, int], tuple[int, ...]]
    #: The terminal labels that are read.
    labels: dict[tuple[int, int], tuple[Label, ...]] = field(default_factory=dict)


def read_back(
    rows: Sequence[Sequence[ByteEdge]], entries: Iterable[int], solid: Collection[int]
) -> CharacterEdges:
    """The character edges of all states reached from ``entries``.

    ``solid`` states are never inside a character: they have other transitions than reading bytes.
    """
    rows = [_tidy(row) for row in rows]
    characters: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    raw: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    between: defaultdict[tuple[int, int], dict[int, None]] = defaultdict(dict)
    states = list(dict.fromkeys(entries))
    visited = set(states)
    for state in budgeted(states):  # the list grows during the loop
        for low, high, target in rows[state]:
            for part_low, part_high, length in _parts(low, high):
                ends = list(_follow(rows, target, length, solid)) if length >= 0 else [None]
                whole = [end for end in ends if end is not None]
                if len(whole) < len(ends):  # some path is no character: the byte is shown
                    raw[state, target].append((part_low, part_high))
                    reached = [target]
                else:
                    for rest, passed in whole:
                        points = _code_points(((part_low, part_high), *rest))
                        characters[state, passed[-1]].extend(points)
                        between[state, passed[-1]].update(dict.fromkeys(passed[:-1]))
                    reached = [passed[-1] for _, passed in whole]
                states.extend(new for new in dict.fromkeys(reached) if new not in visited)
                visited.update(reached)
    return _with_labels(
        CharacterEdges(
            {ends: joined(ranges) for ends, ranges in characters.items()},
            {ends: joined(ranges) for ends, ranges in raw.items()},
            tuple(states),
            {ends: tuple(ranges) for ends, ranges in between.items() if ranges},
        )
    )


def folded(dfa: Dfa) -> CharacterEdges:
    """The character edges of a DFA, by ``code_points.fold``."""
    machine = fold(dfa)
    targets = [set(row.tolist()) - {DEAD} for row in dfa.table]
    whole = set(machine.states)
    leads_to: dict[int, set[int]] = {}
    between = {}
    for source, _, target in budgeted(machine.edges):
        inside = [
            s for s in targets[source] - whole if target in _ends(s, targets, whole, leads_to)
        ]
        for state in inside:
            deeper = targets[state] - whole - set(inside)
            inside += [s for s in deeper if target in _ends(s, targets, whole, leads_to)]
        if inside:
            between[source, target] = tuple(inside)
    return _with_labels(
        CharacterEdges(
            {(source, target): ranges for source, ranges, target in machine.edges},
            {(source, target): ranges for source, ranges, target in machine.raw},
            machine.states,
            between,
        )
    )


def _with_labels(read: CharacterEdges) -> CharacterEdges:
    """Replaces the two bytes of an encoded label by the label."""
    entering = [ends for ends, ranges in read.raw.items() if ranges == ((LEAD, LEAD),)]
    inside = {middle for _, middle in entering}
    behind: defaultdict[int, list[tuple[int, tuple[Label, ...]]]] = defaultdict(list)
    for (source, target), ranges in read.raw.items():
        if source in inside:
            read_labels = tuple(
                label for label in LABELS if contains(ranges, LABEL_CODES[label.name][1])
            )
            behind[source].append((target, read_labels))
    labels: dict[tuple[int, int], tuple[Label, ...]] = {}
    between = dict(read.between)
    for source, middle in entering:
        for target, read_labels in behind[middle]:
            ends = source, target
            labels[ends] = tuple(dict.fromkeys((*labels.get(ends, ()), *read_labels)))
            between[ends] = tuple(dict.fromkeys((*between.get(ends, ()), middle)))
    return CharacterEdges(
        read.characters,
        {ends: ranges for ends, ranges in read.raw.items() if inside.isdisjoint(ends)},
        tuple(state for state in read.states if state not in inside),
        between,
        labels,
    )


def _ends(
    state: int, targets: list[set[int]], whole: set[int], memo: dict[int, set[int]]
) -> set[int]:
    """The states between characters in which an incomplete character can end."""
    if state in whole:
        return {state}
    if state not in memo:
        memo[state] = set()
        for target in targets[state]:
            memo[state] |= _ends(target, targets, whole, memo)
    return memo[state]


def byte_edges(
    classes: npt.NDArray[np.uint16], table: npt.NDArray[np.int32]
) -> list[list[ByteEdge]]:
    """The byte edges of every row of a table; adjacent bytes of one class are one edge.

    Shape: ``classes`` (256 or more,), ``table`` (Q, C).
    """
    columns = classes[:256]
    cuts = [0, *(np.flatnonzero(np.diff(columns)) + 1).tolist(), 256]
    targets = table[:, columns[cuts[:-1]]]  # (Q, runs)
    sources, runs = np.nonzero(targets != DEAD)
    rows: list[list[ByteEdge]] = [[] for _ in range(len(table))]
    for source, run, target in zip(
        sources.tolist(), runs.tolist(), targets[sources, runs].tolist(), strict=True
    ):
        rows[source].append((cuts[run], cuts[run + 1] - 1, target))
    return rows


def _tidy(row: Iterable[ByteEdge]) -> list[ByteEdge]:
    """Merges adjacent ranges with the same target."""
    to: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for low, high, target in row:
        to[target].append((low, high))
    return [(low, high, target) for target, ranges in to.items() for low, high in joined(ranges)]


def joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The union as sorted ranges that neither overlap nor touch."""
    result: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return tuple(result)


def _parts(low: int, high: int) -> Iterator[tuple[int, int, int]]:
    """Splits a byte range by the number of continuation bytes; -1 if no character starts there."""
    cuts = [(0x00, 0x7F, 0), *_LEADS, (0x80, 0xC1, -1), (0xF5, 0xFF, -1)]
    for first, last, length in cuts:
        if low <= last and first <= high:
            yield max(low, first), min(high, last), length


#: The remaining byte ranges, and the states passed, of which the last is the end.
_Rest = tuple[tuple[tuple[int, int], ...], tuple[int, ...]]


def _follow(
    rows: Sequence[Sequence[ByteEdge]], state: int, length: int, solid: Collection[int]
) -> Iterator[_Rest | None]:
    """Every path of ``length`` more bytes; None for a path that is no character."""
    if length == 0:
        yield (), (state,)
        return
    if state in solid or not rows[state]:
        yield None
        return
    for low, high, target in rows[state]:
        if low < _FULL[0] or high > _FULL[1]:
            yield None
            return
        for rest in _follow(rows, target, length - 1, solid):
            yield rest and (((low, high), *rest[0]), (state, *rest[1]))


@lru_cache(maxsize=4096)
def _code_points(sequence: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """The characters whose bytes are in these ranges, in this order."""
    whole = len(sequence)
    while whole > 1 and sequence[whole - 1] == _FULL:
        whole -= 1
    # bytes before the last partial range are enumerated; the rest is contiguous
    heads = product(*(range(low, high + 1) for low, high in sequence[: whole - 1]))
    low, high = sequence[whole - 1]
    tail = len(sequence) - whole
    return [
        (
            _decode((*head, low, *[_FULL[0]] * tail)),
            _decode((*head, high, *[_FULL[1]] * tail)),
        )
        for head in heads
    ]


def _decode(data: Sequence[int]) -> int:
    if len(data) == 1:
        return data[0]
    point = data[0] & (0x7F >> len(data))
    for byte in data[1:]:
        point = point << 6 | byte & 0x3F
    return point
