"""Stack rows: the rows of a running network over a vocabulary, by the cheapest way each allows.

In come a ``Runner`` and the number of a situation; out come the number of its row and the row's
bits. The runner grows inside the walk, so that a new situation costs one call of a kernel: looked
up among the rows that looked at the same, else walked, else taken from a loop of the vocabulary.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.automata.dfa import DEAD
from workbench.automata.kernel import njit
from workbench.constraint import loops
from workbench.constraint.cuts import Cuts, keep_row, known_row, larger
from workbench.constraint.entering import mark_entering
from workbench.constraint.loops import Local, find, mark_leaving
from workbench.constraint.rows import Classes, Ints, Offsets, Records, Words, mark
from workbench.limits import Clock, Limits
from workbench.pushdown.room import Room, Rules
from workbench.pushdown.runner import Runner, Situation
from workbench.pushdown.stepping import successor
from workbench.vocabulary.trie import DEPTH_AT, DEPTHS
from workbench.vocabulary.vocabulary import Vocabulary

_DEAD = DEAD
_BYTES = np.uint64(255)
_DEPTH_AT, _DEPTHS = np.uint64(DEPTH_AT), np.uint64(DEPTHS - 1)
_NO_FLOOR = 2**31 - 1

#: What ``_row`` says: the row is known, is made now, or takes a loop the state is in or enters.
_KNOWN, _MADE, _AROUND, _INTO = range(4)
#: There is no room for another row.
_FULL = -20


class Nodes(NamedTuple):
    """The trie of a vocabulary, as the walks read it, and the byte classes of the machine."""

    records: Records
    first: Ints
    token_ids: Ints
    classes: Classes


class Scratch(NamedTuple):
    """Room for one walk: the places in the table on the way of a token, and the loop it is in."""

    path: Offsets
    beside: Local
    members: Ints
    local: Local


class StackRows:
    """The rows of one runner with one vocabulary, by number; made when they are first asked for.

    One row at a time: the caller holds a lock.
    """

    def __init__(self, runner: Runner, vocabulary: Vocabulary, limits: Limits) -> None:
        self.runner = runner
        self._limits = limits
        trie = self._trie = vocabulary.trie
        self._words = (len(vocabulary) + 31) // 32
        self._nodes = Nodes(trie.records, trie.first, trie.token_ids, runner.classes)
        self._scratch = Scratch(
            np.empty(trie.height + 1, np.uint32),
            np.zeros(trie.height + 1, np.int8),
            np.empty(loops.MEMBERS, np.int32),
            np.empty((loops.MEMBERS, 256), np.int8),
        )
        self.clear()

    def clear(self) -> None:
        """Forget all rows; their numbers begin again."""
        self._cuts = Cuts.of(64)
        #: The row of each number, without the end token.
        self.bits: list[Words] = []

    def __len__(self) -> int:
        return len(self.bits)

    def number(self, situation: Situation) -> int:
        """The number of the row of a situation.

        Raises: LimitError
        """
        bits = np.zeros(self._words, np.uint32)
        clock: Clock | None = None
        while True:
            runner = self.runner
            told, found, count = _row(
                runner.rules, runner.room, self._cuts, self._nodes, self._scratch, situation, bits
            )
            if told in (_AROUND, _INTO):
                told, found = self._by_loop(situation, told == _AROUND, count, bits)
            if told == _MADE:
                self.bits.append(bits)
            if told >= 0:
                return found
            clock = clock or self._limits.clock()
            self._resolve(told, clock)
            bits[:] = 0

    def _by_loop(
        self, situation: Situation, inside: bool, count: int, bits: Words
    ) -> tuple[int, int]:
        """The row of a situation by the loop that was just found."""
        known = self._trie.shared(loops.Loops)
        loop = known.of(self._scratch.local[:count], self._trie, self._words)
        bits[:] = loop.bits
        return _row_by_loop(
            self.runner.rules, self.runner.room, self._cuts, self._nodes, self._scratch,
            (loop.nodes, loop.groups, loop.left, loop.left_from), situation, inside, count, bits,
        )  # fmt: skip

    def _resolve(self, told: int, clock: Clock) -> None:
        """Make room as a kernel asked for."""
        if told != _FULL:
            self.runner.resolve(told, clock)
            return
        self._cuts = larger(self._cuts)


@njit(cache=True, nogil=True)
def _row(
    rules: Rules, room: Room, cuts: Cuts, nodes: Nodes, scratch: Scratch, situation: int,
    bits: Words,
) -> tuple[int, int, int]:  # fmt: skip
    """The row of a situation, if it needs no loop.

    Returns what was done, with the row's number; or with the state whose loop is needed and how
    many states that has; or why it has to begin again. Bits may be set then.
    """
    if cuts.used[0] == len(cuts.rows):
        return _FULL, 0, 0
    known = known_row(room, cuts, situation)
    if known >= 0:
        return _KNOWN, known, 0
    count, there = _find(rules, room, nodes, scratch, situation)
    if count > 0:
        return _AROUND, situation, count
    if count == 0 and there >= 0:
        count, _ = _find(rules, room, nodes, scratch, there)
        if count > 0:
            return _INTO, there, count
    if count < 0:
        return count, 0, 0
    width, end = room.groups.shape[1], len(nodes.records)
    scratch.path[0] = situation * width
    node, floor = 0, _NO_FLOOR
    while True:
        node, floor = mark(
            room.table, width, nodes.classes, room.floors, nodes.records, nodes.first,
            nodes.token_ids, scratch.path, node, end, floor, bits,
        )  # fmt: skip
        if node == end:
            return _MADE, keep_row(room, cuts, situation, floor), 0
        told = _grow(rules, room, nodes, scratch, node)
        if told < _DEAD:
            return told, 0, 0


@njit(cache=True, nogil=True)
def _find(
    rules: Rules, room: Room, nodes: Nodes, scratch: Scratch, situation: int
) -> tuple[int, int]:
    """The loop of a situation, as ``loops.find`` tells it, with every step made that it needs."""
    width = room.groups.shape[1]
    while True:
        count, there, byte_class = find(
            room.table, width, nodes.classes, situation, scratch.members, scratch.local
        )
        if count >= 0:
            return count, there
        told = successor(rules, room, there, byte_class)
        if told < _DEAD:
            return told, 0


@njit(cache=True, nogil=True)
def _grow(rules: Rules, room: Room, nodes: Nodes, scratch: Scratch, node: int) -> int:
    """Make the step a walk stands before."""
    record = nodes.records[node]
    place = scratch.path[np.int64((record >> _DEPTH_AT) & _DEPTHS)]
    byte_class = nodes.classes[np.int64(record & _BYTES)]
    return successor(rules, room, int(place) // room.groups.shape[1], int(byte_class))


@njit(cache=True, nogil=True)
def _row_by_loop(
    rules: Rules, room: Room, cuts: Cuts, nodes: Nodes, scratch: Scratch,
    loop: tuple[Ints, Ints, Ints, Ints], situation: int, inside: bool, count: int, bits: Words,
) -> tuple[int, int]:  # fmt: skip
    """The row of a situation in a loop, or before one, from the bits of the loop.

    Returns that it is made and its number; or why it has to begin again.
    """
    width = room.groups.shape[1]
    leaves, groups, left, left_from = loop
    members, path = scratch.members, scratch.path
    floor = _NO_FLOOR
    for k in range(count):
        floor = min(floor, int(room.floors[members[k]]))
    at, node = 0, 0
    path[0], scratch.beside[0] = situation * width, 0
    while True:
        if inside:
            at, node, floor = mark_leaving(
                room.table, width, nodes.classes, room.floors, nodes.records, nodes.first,
                nodes.token_ids, path, members, groups, leaves, at, floor, bits,
            )  # fmt: skip
        else:
            at, node, floor = mark_entering(
                room.table, width, nodes.classes, room.floors, nodes.records, nodes.first,
                nodes.token_ids, path, scratch.beside, members, scratch.local, left, left_from,
                at, floor, bits,
            )  # fmt: skip
        if node < 0:
            return _MADE, keep_row(room, cuts, situation, floor)
        told = _grow(rules, room, nodes, scratch, node)
        if told < _DEAD:
            return told, 0
