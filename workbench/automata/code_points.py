"""Sets of code points: as UTF-8 byte ranges, and folded back from byte edges.

Automata read bytes, regexes and pictures use characters. ``utf8_sequences`` and
``character_machine`` translate a set of code points to bytes; ``character_edges`` and ``fold``
translate the byte edges of an automaton back to sets of code points.

Automata over the atoms of an ``Alphabet``, sets of code points that need not be distinguished, have
the smallest tables; two of them are combined over the common refinement of their alphabets.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import xor
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.automata.nfa import BYTES
from workbench.base.dfa import DEAD, Dfa, State, table_rows
from workbench.base.limits import check_time_budget
from workbench.syntax.ranges import (
    Ranges,
    intersection,
    normalized,
)

#: One byte range for each byte of a character, in reading order.
ByteSequence = tuple[tuple[int, int], ...]

MAX_CODE_POINT = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)
#: The last code point that fits in one, two, three, four bytes.
_LAST_OF_LENGTH = (0x7F, 0x7FF, 0xFFFF, MAX_CODE_POINT)


def utf8_sequences(low: int, high: int) -> list[ByteSequence]:
    """The UTF-8 encodings of the code points ``low`` to ``high``, as a short list of sequences.

    Surrogates are left out. The sequences are sorted and do not overlap.

    Source: the method of R. Cox, "Regular expression matching in the wild" (2010), and of
            Thompson's grep before it: cut where the length or a leading byte changes.
    """
    return [sequence for piece in _without_surrogates(low, high) for sequence in _split(*piece)]


def _without_surrogates(low: int, high: int) -> Iterator[tuple[int, int]]:
    first, last = SURROGATES
    if low < first:
        yield low, min(high, first - 1)
    if high > last:
        yield max(low, last + 1), high


def _split(low: int, high: int) -> Iterator[ByteSequence]:
    """Cut a range until each piece is the product of the byte ranges between its two ends."""
    if low > high:
        return
    for last in _LAST_OF_LENGTH:
        if low <= last < high:
            yield from _split(low, last)
            yield from _split(last + 1, high)
            return
    if high > 0x7F:
        for level in range(1, 4):
            tail = (1 << (6 * level)) - 1
            if low & ~tail == high & ~tail:
                break
            if low & tail:
                yield from _split(low, low | tail)
                yield from _split((low | tail) + 1, high)
                return
            if high & tail != tail:
                yield from _split(low, (high & ~tail) - 1)
                yield from _split(high & ~tail, high)
                return
    yield tuple(zip(chr(low).encode(), chr(high).encode(), strict=True))


@dataclass(frozen=True, slots=True)
class CharacterMachine:
    """The smallest machine over bytes that reads exactly one character of a set.

    ``edges[i]`` lists ``(low, high, target)`` for node i: the byte ranges it reads and the nodes
    they lead to. Node 0 is final and has no edges; the last node is initial. The initial node of
    an empty set has no edges.
    """

    edges: tuple[tuple[tuple[int, int, int], ...], ...]


@lru_cache(maxsize=512)
def character_machine(ranges: Ranges) -> CharacterMachine:
    """The machine of a code point set; equal tails are shared: ``\\w`` has about 250 nodes."""
    sequences = [s for low, high in ranges for s in utf8_sequences(low, high)]
    nodes: dict[tuple[tuple[int, int, int], ...], int] = {(): 0}
    _node(sequences, nodes)
    edges = tuple(nodes)
    return CharacterMachine(edges if len(edges) > 1 else ((), ()))


def _node(sequences: list[ByteSequence], nodes: dict[tuple[tuple[int, int, int], ...], int]) -> int:
    """The node that reads exactly these sequences; added unless an equal one exists."""
    edges: list[tuple[int, int, int]] = []
    start = 0
    while start < len(sequences) and sequences[start]:
        lead = sequences[start][0]
        stop = start + 1
        # sorted and disjoint, so sequences that share a leading range are neighbours
        while stop < len(sequences) and sequences[stop][0] == lead:
            stop += 1
        target = _node([s[1:] for s in sequences[start:stop]], nodes)
        if edges and edges[-1][1] + 1 == lead[0] and edges[-1][2] == target:
            edges[-1] = (edges[-1][0], lead[1], target)
        else:
            edges.append((*lead, target))
        start = stop
    return nodes.setdefault(tuple(edges), len(nodes))


Place = TypeVar("Place", bound=Hashable)

#: A run of code points (or of their last bits) and the state all of them lead to.
_Piece = tuple[int, int, Place]

#: First and last lead byte, how many bytes follow, and the valid code points: no overlong
#: forms, no surrogates, nothing past the last one. (Unicode 15, table 3-7.)
_LENGTHS: tuple[tuple[int, int, int, Ranges], ...] = (
    (0x00, 0x7F, 0, ((0x00, 0x7F),)),
    (0xC2, 0xDF, 1, ((0x80, 0x7FF),)),
    (0xE0, 0xEF, 2, ((0x800, 0xD7FF), (0xE000, 0xFFFF))),
    (0xF0, 0xF4, 3, ((0x10000, 0x10FFFF),)),
)


def character_edges(
    step: Callable[[Place, int], Place],
    state: Place,
    classes: npt.NDArray[np.uint16],
    dead: Place | int = DEAD,
) -> list[tuple[Ranges, Place]]:
    """The outgoing edges over characters of a state between two characters.

    ``step`` is any deterministic machine over bytes that returns ``dead`` where it cannot read;
    bytes of one class must lead to the same state. Sets are merged by target, disjoint, and
    sorted by their first member.

    Cost: one step for each class and each state passed inside a character.
    """
    ranges_of: dict[Place, list[tuple[int, int]]] = defaultdict(list)
    tails = _Tails(step, classes, dead)
    for first, last, more, valid in _LENGTHS:
        bits = 6 * more
        base = first & (0x3F >> more)
        for low, high, target in tails.through(state, first, last, more):
            offset = base << bits
            ranges_of[target] += intersection(((offset + low, offset + high),), valid)
    edges = [(normalized(pieces), target) for target, pieces in ranges_of.items() if pieces]
    return sorted(edges, key=lambda edge: edge[0])


class _Tails(Generic[Place]):
    """Where the last bytes of a character lead, from states inside it; cached by state."""

    def __init__(
        self,
        step: Callable[[Place, int], Place],
        classes: npt.NDArray[np.uint16],
        dead: Place | int,
    ) -> None:
        self._step = step
        self._classes: list[int] = classes[:BYTES].tolist()
        self._dead = dead
        self._known: dict[tuple[Place, int], list[_Piece[Place]]] = {}

    def through(self, state: Place, first: int, last: int, more: int) -> list[_Piece[Place]]:
        """The pieces read by one byte from ``first`` to ``last`` and then ``more`` bytes.

        Code points in a piece are relative to the first of these characters.
        """
        pieces: list[_Piece[Place]] = []
        width = 1 << (6 * more)
        for low, high in self._runs(first, last):
            target = self._step(state, low)
            if target == self._dead:
                continue
            tail = self._tail(target, more)
            if len(tail) == 1 and tail[0][1] - tail[0][0] == width - 1:
                _add(pieces, ((low - first) * width, (high - first + 1) * width - 1, tail[0][2]))
                continue
            for byte in range(low - first, high - first + 1):
                for start, end, result in tail:
                    _add(pieces, (byte * width + start, byte * width + end, result))
        return pieces

    def _tail(self, state: Place, more: int) -> list[_Piece[Place]]:
        if not more:
            return [(0, 0, state)]
        key = (state, more)
        cached = self._known.get(key)
        if cached is None:
            cached = self._known[key] = self.through(state, 0x80, 0xBF, more - 1)
        return cached

    def _runs(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The runs of neighbouring bytes that have the same class."""
        start = first
        for byte in range(first + 1, last + 2):
            if byte > last or self._classes[byte] != self._classes[start]:
                yield start, byte - 1
                start = byte


def _changes(classes: list[int]) -> list[int]:
    """The bytes whose class is not that of the byte before."""
    return [byte for byte in range(1, BYTES) if classes[byte] != classes[byte - 1]]


def _add(pieces: list[_Piece[Place]], piece: _Piece[Place]) -> None:
    """Append a piece, or extend the last one if the new piece continues it."""
    if pieces and pieces[-1][1] + 1 == piece[0] and pieces[-1][2] == piece[2]:
        pieces[-1] = (pieces[-1][0], piece[1], piece[2])
    else:
        pieces.append(piece)


@dataclass(frozen=True, slots=True, eq=False)
class CharacterFsa:
    """An automaton over characters, for pictures and samples; its states are states of the Dfa.

    A text is read character by character along ``edges``, and along ``raw`` where a byte is not
    part of a valid character. Automata of regexes over characters have no raw edges; complements
    and substrings have some, because they cut characters.
    """

    initial: State
    #: Every state between two characters, breadth first.
    states: tuple[State, ...]
    finals: frozenset[State]
    #: Source, code points, target; sorted by source and first code point, at most one for each
    #: pair of states.
    edges: tuple[tuple[State, Ranges, State], ...]
    #: Source, bytes, target, where the machine reads bytes that are not valid UTF-8.
    raw: tuple[tuple[State, Ranges, State], ...]


def fold(dfa: Dfa) -> CharacterFsa:
    """The automaton of the same language that reads characters instead of bytes.

    Cost: that of ``character_edges`` for each state between characters.
    """
    steps = Steps(dfa)
    states, waiting = {dfa.initial: None}, deque([dfa.initial])
    edges: list[tuple[State, Ranges, State]] = []
    raw: list[tuple[State, Ranges, State]] = []
    while waiting:
        state = waiting.popleft()
        check_time_budget()
        outgoing = character_edges(steps.step, state, dfa.classes)
        stray = steps.stray(state)
        edges += [(state, ranges, target) for ranges, target in outgoing]
        raw += [(state, ranges, target) for ranges, target in stray]
        for _, target in [*outgoing, *stray]:
            if target not in states:
                states[target] = None
                waiting.append(target)
    finals = frozenset(state for state in states if dfa.finals[state])
    return CharacterFsa(dfa.initial, tuple(states), finals, tuple(edges), tuple(raw))


class Steps:
    """A Dfa's table as lists, with a test for bytes that are not part of a valid character."""

    def __init__(self, dfa: Dfa) -> None:
        self._classes: list[int] = dfa.classes.tolist()
        self._rows = table_rows(dfa.table)
        self._finals: list[bool] = dfa.finals.tolist()
        self._leaves: dict[tuple[State, int, int, int], bool] = {}
        #: Runs of bytes of one class: first, last, class. Testing every byte took ten times as
        #: long.
        self._runs = [
            (first, end - 1, self._classes[first])
            for first, end in pairwise([0, *_changes(self._classes), BYTES])
        ]

    def step(self, state: State, byte: int) -> State:
        return self._rows[state][self._classes[byte]]

    def stray(self, state: State) -> list[tuple[Ranges, State]]:
        """The bytes after which the machine accepts some text that is not valid UTF-8."""
        ranges_of: dict[State, list[tuple[int, int]]] = defaultdict(list)
        for byte in range(0x80, BYTES):
            target = self.step(state, byte)
            if target != DEAD and self._is_stray(byte, target):
                ranges_of[target].append((byte, byte))
        return sorted((normalized(pieces), target) for target, pieces in ranges_of.items())

    def _is_stray(self, byte: int, target: State) -> bool:
        for first, last, more, _ in _LENGTHS[1:]:
            if first <= byte <= last:
                low = {0xE0: 0xA0, 0xF0: 0x90}.get(byte, 0x80)
                high = {0xED: 0x9F, 0xF4: 0x8F}.get(byte, 0xBF)
                return self._leaves_utf8(target, more, low, high)
        return True

    def _leaves_utf8(self, state: State, more: int, low: int, high: int) -> bool:
        """Whether a text may end here, or continue with bytes that do not complete the character.

        The character needs ``more`` bytes; ``low`` and ``high`` bound the first of them.
        """
        if more == 0:
            return False
        key = (state, more, low, high)
        cached = self._leaves.get(key)
        if cached is None:
            row = self._rows[state]
            cached = self._leaves[key] = self._finals[state] or any(
                first < low
                or last > high
                or self._leaves_utf8(row[its_class], more - 1, 0x80, 0xBF)
                for first, last, its_class in self._runs
                if row[its_class] != DEAD
            )
        return cached


#: A set of code points that no automaton over an alphabet distinguishes.
Atom = int


@dataclass(frozen=True, slots=True)
class Alphabet:
    """The code points divided into ranges, each of which belongs to one atom.

    Surrogates are not characters: they belong to the range before them and are never accepted.
    """

    #: The first code point of each range; the first range starts at 0.
    starts: tuple[int, ...] = (0,)
    #: The atom of each range; atoms are numbered in order of first occurrence.
    atoms: tuple[Atom, ...] = (0,)

    @property
    def size(self) -> int:
        """The number of atoms."""
        return max(self.atoms) + 1

    def atom(self, code: int) -> Atom:
        """The atom of a code point."""
        return self.atoms[bisect_right(self.starts, code) - 1]

    def uniform(self, low: int, high: int) -> Atom | None:
        """The atom of all code points from ``low`` to ``high``; None if they differ."""
        first, last = bisect_right(self.starts, low) - 1, bisect_right(self.starts, high) - 1
        atom = self.atoms[first]
        return atom if all(other == atom for other in self.atoms[first + 1 : last + 1]) else None

    def pieces(self) -> Iterable[tuple[int, int, Atom]]:
        """The first and last code point and the atom of each range."""
        ends = (*(start - 1 for start in self.starts[1:]), MAX_CODE_POINT)
        return zip(self.starts, ends, self.atoms, strict=True)

    def atoms_of(self, ranges: Ranges) -> Ranges:
        """The atoms of a set as ranges of consecutive atoms; it must be a union of atoms."""
        members: set[Atom] = set()
        for low, high in ranges:
            first, last = bisect_right(self.starts, low) - 1, bisect_right(self.starts, high)
            members.update(self.atoms[first:last])
        atoms = sorted(members)
        cuts = [index for index in range(1, len(atoms)) if atoms[index] != atoms[index - 1] + 1]
        bounds = pairwise([0, *cuts, len(atoms)])
        return tuple((atoms[first], atoms[end - 1]) for first, end in bounds) if atoms else ()


#: The alphabet with a single atom.
ONE_ATOM = Alphabet()


def alphabet_of(sets: Iterable[Ranges]) -> Alphabet:
    """The coarsest alphabet in which each of the sets is a union of atoms."""
    return _alphabet_of(tuple(dict.fromkeys(sets)))


@lru_cache(maxsize=512)
def _alphabet_of(sets: tuple[Ranges, ...]) -> Alphabet:
    cuts = {0}
    for ranges in sets:
        for low, high in ranges:
            cuts.update((_before_surrogates(low), _before_surrogates(high + 1)))
    starts = sorted(cut for cut in cuts if cut <= MAX_CODE_POINT)
    index_of = {start: index for index, start in enumerate(starts)}
    changes = [0] * (len(starts) + 1)  # bit n: set n begins or ends
    for number, ranges in enumerate(sets):
        for low, high in ranges:
            changes[index_of[_before_surrogates(low)]] ^= 1 << number
            changes[index_of.get(_before_surrogates(high + 1), len(starts))] ^= 1 << number
    return _number_ranges(starts, list(accumulate(changes[:-1], xor)))


def _before_surrogates(code: int) -> int:
    """Moves a boundary inside the surrogates to their end, so that they do not form a range."""
    first, last = SURROGATES
    return last + 1 if first <= code <= last else code


def _number_ranges(starts: list[int], marks: list[int] | list[tuple[int, int]]) -> Alphabet:
    """Ranges with equal marks are one atom; adjacent ranges of one atom are merged."""
    numbers: dict[object, Atom] = {}
    atoms = [numbers.setdefault(mark, len(numbers)) for mark in marks]
    kept = [index for index in range(len(atoms)) if index == 0 or atoms[index] != atoms[index - 1]]
    return Alphabet(tuple(starts[index] for index in kept), tuple(atoms[index] for index in kept))


@lru_cache(maxsize=512)
def common_refinement(
    left: Alphabet, right: Alphabet
) -> tuple[Alphabet, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The coarsest alphabet finer than both; for each of its atoms, the atoms in both."""
    starts = sorted({*left.starts, *right.starts})
    pairs = [(left.atom(start), right.atom(start)) for start in starts]
    alphabet = _number_ranges(starts, pairs)
    ordered = list(dict.fromkeys(pairs))
    return (
        alphabet,
        np.array([a for a, _ in ordered], np.intp),
        np.array([b for _, b in ordered], np.intp),
    )
