"""Kernels that compute one mask row, by the cheapest exact way.

In come the bits of the loop, a machine and a part of the trie; out come the bits of the state. A
state that enters a loop is walked beside it: where both stand in the same state they agree on all
that follows, but for the nodes at which the loop is left, which are looked at byte by byte.

In come how a machine grows, its tables, a trie and a state; out come the bits of the tokens that
can be read, and the number of the row. A walk that has to stop, for want of room or for a loop
of the vocabulary, says why and is called again.

In come a ``Machine``, complete or growing while it is walked, and one of its states; out come the
bits of the tokens it can read. One call of a kernel for most rows: it looks the row up among those
that looked at the same piece of stack, else walks the trie, the machine growing inside the walk. A
state that reads in a circle, or leads into one, takes its row from the loops of the vocabulary.
Inside a JSON string of 131k tokens: 20 µs by the loop, 1,000 µs by the walk.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from workbench.automata.lazy_dfa import UNKNOWN, LazyDfa
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.kernels import direct, inlined, int64, njit
from workbench.base.limits import Clock, Limits
from workbench.constraint.engine import growing_machine, self_loops
from workbench.constraint.engine.growing_machine import (
    COUNT,
    DEEPEST,
    FLOOR,
    LAST,
    LAST_STATE,
    LOOPED,
    NO_FLOOR,
    NODE,
    PART,
    STATE,
    Nodes,
    Scratch,
    find_loop,
    grow,
    read_below,
    read_on,
    step_by,
)
from workbench.constraint.engine.row_cache import Cuts, alike, keep_row, known_row, larger
from workbench.constraint.engine.self_loops import BEGIN, LEVEL, SEVERAL, Loop
from workbench.constraint.engine.trie_walk import Classes, Words, mark, set_tokens
from workbench.pushdown.buffers import Growth, Room
from workbench.vocabulary.trie import DEPTH_AT, DEPTHS, SIZE_AT, Trie
from workbench.vocabulary.vocabulary import Vocabulary

_ONE, _BYTES = np.uint64(1), np.uint64(255)
_DEPTH_AT, _DEPTHS, _SIZE_AT = np.uint64(DEPTH_AT), np.uint64(DEPTHS - 1), np.uint64(SIZE_AT)


@inlined
def enter(growth: Growth, room: Room, nodes: Nodes, scratch: Scratch, bits: Words) -> int:
    """Turn the bits of a loop into those of a state whose paths enter it, for a part.

    Returns how many stretches of nodes the two agree on, or why it had to stop.
    """
    stand, part = scratch.stand, scratch.stand[PART]
    level = int64(nodes.runs[part, LEVEL])
    agreed = int64(0)
    for byte in range(256):
        node = int64(nodes.children[part, byte])
        if node < 0:
            continue
        state = step_by(growth, room, nodes, scratch, stand[STATE], byte)
        if state < DEAD:
            return state
        if state != DEAD or scratch.local[0, byte] >= 0:
            scratch.path[level] = stand[STATE] * room.groups.shape[1]
            scratch.beside[level] = 0
            end = node + int64(nodes.records[node] >> _SIZE_AT)
            agreed = _beside(growth, room, nodes, scratch, node, end, agreed, bits)
            if agreed < 0:
                return agreed
    return agreed


@inlined
def _beside(
    growth: Growth, room: Room, nodes: Nodes, scratch: Scratch, begin: int, end: int, agreed: int,
    bits: Words,
) -> int:  # fmt: skip
    """The same for a run of nodes, the loop walked beside the state."""
    width, stand = room.groups.shape[1], scratch.stand
    at, stop = np.uint64(begin), np.uint64(end)
    path, beside = scratch.path, scratch.beside
    while at < stop:
        record = nodes.records[at]
        level, byte = (record >> _DEPTH_AT) & _DEPTHS, record & _BYTES
        past = at + (record >> _SIZE_AT)
        state = int64(room.table[path[level] + nodes.classes[byte]])
        if state == UNKNOWN:
            state = grow(growth, room, nodes, scratch, int64(at))
            if state < DEAD:
                return state
        here = beside[level]
        there = scratch.local[here, byte] if here >= 0 else np.int8(-1)
        if there >= 0 and state == scratch.members[there] and agreed < len(scratch.agreed):
            scratch.agreed[agreed, 0], scratch.agreed[agreed, 1] = at, past
            agreed += 1
            at = past
            continue
        if there >= 0:  # the loop's tokens from here on are not this state's
            _take_back(nodes, at, past if state < 0 else at + _ONE, bits)
        if state < 0:
            at = past
            continue
        path[level + _ONE], beside[level + _ONE] = state * width, there
        if len(room.floors) > 0:
            stand[FLOOR] = min(stand[FLOOR], room.floors[state])
        set_tokens(record, at, nodes.first, nodes.token_ids, bits)
        at += _ONE
    return agreed


@inlined
def _take_back(nodes: Nodes, begin: np.uint64, end: np.uint64, bits: Words) -> None:
    """Clear the bits of the tokens that end at some nodes."""
    for k in range(nodes.first[begin], nodes.first[end]):
        token = nodes.token_ids[k]
        bits[token >> 5] &= ~(np.uint32(1) << np.uint32(token & 31))


@inlined
def leave(
    growth: Growth, room: Room, nodes: Nodes, scratch: Scratch, loop: Loop, agreed: int, bits: Words
) -> int:
    """Set the bits of what is read past the nodes where a loop is left, within ``agreed``.

    Returns 0, or why it had to stop.
    """
    for group in range(len(loop.groups)):
        here = int64(scratch.members[loop.groups[group, 0]])
        state = step_by(growth, room, nodes, scratch, here, int64(loop.groups[group, 1]))
        if state < DEAD:
            return state
        if state != DEAD:
            begin, end = int64(loop.groups[group, 2]), int64(loop.groups[group, 3])
            told = _leave_by(growth, room, nodes, scratch, loop, begin, end, agreed, state, bits)
            if told < 0:
                return told
    return 0


@inlined
def _leave_by(
    growth: Growth, room: Room, nodes: Nodes, scratch: Scratch, loop: Loop, begin: int, end: int,
    agreed: int, state: int, bits: Words,
) -> int:  # fmt: skip
    """The same for a group of nodes that all lead to one state."""
    if len(room.floors) > 0:
        scratch.stand[FLOOR] = min(scratch.stand[FLOOR], room.floors[state])
    goes_on, stretch, width = _goes_on(room, state), 0, room.groups.shape[1]
    for k in range(begin, end):
        node = int64(loop.nodes[k])
        while stretch < agreed and scratch.agreed[stretch, 1] <= node:
            stretch += 1
        if stretch == agreed:
            return 0
        if scratch.agreed[stretch, 0] > node:
            continue
        token = loop.tokens[k]
        if token >= 0:
            bits[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
        elif token == SEVERAL:
            set_tokens(nodes.records[node], np.uint64(node), nodes.first, nodes.token_ids, bits)
        if not goes_on or loop.sizes[k] == 1:
            continue
        level = (nodes.records[node] >> _DEPTH_AT) & _DEPTHS
        scratch.path[level + _ONE] = state * width
        past = node + int64(loop.sizes[k])
        # with fewer arrays handed over than by ``read_on``, which goes on where a step is missing
        at, scratch.stand[FLOOR] = mark(
            room.table, width, nodes.classes, room.floors, nodes.records, nodes.first,
            nodes.token_ids, scratch.path, node + 1, past, scratch.stand[FLOOR], bits,
        )  # fmt: skip
        if at < past:
            told = read_on(growth, room, nodes, scratch, at, past, bits)
            if told < 0:
                return told
    return 0


@inlined
def _goes_on(room: Room, state: int) -> bool:
    """Whether a state has any step that is not known to be dead."""
    width, column = room.groups.shape[1], 0
    while column < width and room.table[state * width + column] == DEAD:
        column += 1
    return bool(column < width)


_MADE_ROWS = growing_machine.MADE
#: No place in any table.
_UNTOUCHED = np.uint32(2**32 - 1)

#: What the kernels say: the row is known, is made now, or takes a loop the state is in or enters;
KNOWN, MADE, AROUND, INTO = range(4)
#: there is no room for another row.
FULL = -30


class _Example(NamedTuple):
    """Values of the types that all machines have in common."""

    growth: Growth
    room: Room
    nodes: Nodes
    scratch: Scratch
    bits: Words

    @staticmethod
    def make() -> _Example:
        trie, classes = Trie.of([b"a"]), np.zeros(256, np.uint16)
        runs, children = np.zeros((1, 5), np.int32), np.zeros((1, 256), np.int32)
        arrays = (trie.records.copy(), trie.first.copy(), trie.token_ids.copy())
        return _Example(
            Growth.of(),
            Room.of_table(np.zeros((1, 1), np.int32)),
            Nodes(*arrays, runs, children, classes),
            Scratch.of(1, 1),
            np.zeros(1, np.uint32),
        )


@cache
def row_kernel() -> Any:  # noqa: ANN401  # numba's own type
    """The kernel for the types of all machines, called without a look at these."""
    growth, room, nodes, scratch, bits = _Example.make()
    return direct(_row, growth, room, Cuts.of(1), nodes, scratch, 0, True, bits)


@cache
def loop_kernel() -> Any:  # noqa: ANN401
    """The same for loops; compiled where the first one is met."""
    growth, room, nodes, scratch, bits = _Example.make()
    loop = Loop(bits, *(np.zeros(1, np.int32),) * 3, np.zeros((1, 4), np.int32))
    return direct(_by_loop, growth, room, nodes, scratch, loop, True, bits)


@njit(cache=True, nogil=True, _nrt=False)
def _row(
    growth: Growth, room: Room, cuts: Cuts, nodes: Nodes, scratch: Scratch, state: int,
    begins: bool, bits: Words,
) -> tuple[int, int]:  # fmt: skip
    """Begin with the row of a state, or go on with it from where ``scratch.stand`` says.

    Returns what was done, and the number of the row; or why somebody else has to do something
    before it is called again.
    """
    stand, stacked = scratch.stand, len(growth.rules.flags) > 0
    if begins:
        stand[PART], stand[NODE], stand[FLOOR], stand[LOOPED] = 0, 0, NO_FLOOR, 0
        scratch.path[:] = _UNTOUCHED
        scratch.path[0] = 0
        known = _known(room, cuts, scratch, state, stacked)
        if known >= 0:
            return KNOWN, known
    if stacked and cuts.used[0] == len(cuts.rows):
        return FULL, 0
    while stand[PART] < len(nodes.runs):
        told = _begin_part(growth, room, nodes, scratch, state, bits)
        if told != MADE:
            return told, 0
        if stand[STATE] >= 0:
            told = _walk_part(growth, room, nodes, scratch, bits)
            if told != MADE:
                return told, 0
        stand[PART] += 1
        stand[NODE] = 0
    if stacked:
        return MADE, keep_row(room, cuts, state, stand[FLOOR])
    stand[_MADE_ROWS] += 1
    if not stand[LOOPED]:
        stand[LAST], stand[LAST_STATE] = stand[_MADE_ROWS] - 1, state
        stand[DEEPEST] = len(scratch.path)
        while scratch.path[stand[DEEPEST] - 1] == _UNTOUCHED:
            stand[DEEPEST] -= 1
    return MADE, int64(stand[_MADE_ROWS]) - 1


@inlined
def _known(room: Room, cuts: Cuts, scratch: Scratch, state: int, stacked: bool) -> int:
    """The number of a row that is that of a state, or −1 where none is known to be."""
    if stacked:
        return known_row(room, cuts, state)
    stand = scratch.stand
    if stand[LAST] < 0 or len(scratch.partner) == 0 or not alike(
        room.table, room.groups.shape[1], stand[LAST_STATE], state, stand[DEEPEST],
        scratch.partner, scratch.pairs,
    ):  # fmt: skip
        return -1
    return int64(stand[LAST])


@inlined
def _begin_part(
    growth: Growth, room: Room, nodes: Nodes, scratch: Scratch, state: int, bits: Words
) -> int:
    """Find the state a part begins in, and whether a loop covers it.

    A part that was begun before is gone on with.
    """
    stand = scratch.stand
    if stand[NODE] > 0:
        return MADE
    if nodes.runs[stand[PART], LEVEL] == 1:
        node = nodes.runs[stand[PART], BEGIN] - 1
        record = nodes.records[node]
        target = step_by(growth, room, nodes, scratch, state, int64(record & _BYTES))
        if target < DEAD:
            return target
        stand[STATE] = target
        if target == DEAD:
            return MADE
        if len(room.floors) > 0:
            stand[FLOOR] = min(stand[FLOOR], room.floors[target])
        set_tokens(record, np.uint64(node), nodes.first, nodes.token_ids, bits)
        scratch.path[1] = target * room.groups.shape[1]
        state = target
    stand[STATE] = state
    at_hand = scratch.members[0] if stand[LOOPED] else int64(DEAD)  # the loop of the part before
    if state == at_hand:
        return AROUND
    count, there = find_loop(growth, room, nodes, scratch, state)
    told = AROUND
    if count == 0 and there >= 0:
        told = INTO
        if there == at_hand:
            return told
        count, there = find_loop(growth, room, nodes, scratch, there)
    if count < 0:
        return count
    stand[COUNT] = count
    return told if count > 0 else MADE


@inlined
def _walk_part(growth: Growth, room: Room, nodes: Nodes, scratch: Scratch, bits: Words) -> int:
    """Set the bits of all that is read in a part, below each first byte that can be read.

    A walk of the first bytes' nodes took twice as long: they lie far apart.
    """
    stand, children = scratch.stand, nodes.children[scratch.stand[PART]]
    for byte in range(256):
        node = int64(children[byte])
        if node < 0 or node < stand[NODE] >= node + int64(nodes.records[node] >> _SIZE_AT):
            continue  # read before the walk was interrupted
        target = step_by(growth, room, nodes, scratch, stand[STATE], byte)
        if target < DEAD:
            return target
        if target != DEAD:
            begin = max(node + 1, stand[NODE])
            told = read_below(growth, room, nodes, scratch, node, target, begin, bits)
            if told < 0:
                return told
    return MADE


@njit(cache=True, nogil=True, _nrt=False)
def _by_loop(
    growth: Growth,
    room: Room,
    nodes: Nodes,
    scratch: Scratch,
    loop: Loop,
    inside: bool,
    bits: Words,
) -> int:
    """The bits of a part from those of a loop; then the walk stands at the next part."""
    stand = scratch.stand
    if len(room.floors) > 0:
        for k in range(stand[COUNT]):
            stand[FLOOR] = min(stand[FLOOR], room.floors[scratch.members[k]])
    if inside:
        run = nodes.runs[stand[PART]]
        for k in range(2):
            scratch.agreed[k, 0], scratch.agreed[k, 1] = run[1 + 2 * k], run[2 + 2 * k]
        told = int64(2)
    else:
        told = enter(growth, room, nodes, scratch, bits)
    stand[LOOPED] = 1
    if told >= 0:
        told = leave(growth, room, nodes, scratch, loop, told, bits)
    stand[NODE] = 0
    if told < 0:
        return told
    stand[PART] += 1
    return MADE


class Machine(Protocol):
    """A deterministic machine over bytes, as tables that may be others after it has grown."""

    @property
    def growth(self) -> Growth:
        """How it grows inside a kernel; empty where it does not."""
        ...

    @property
    def room(self) -> Room: ...

    @property
    def classes(self) -> Classes: ...

    @property
    def states(self) -> int:
        """How many states it has for good, 0 where it grows."""
        ...

    def resolve(self, status: int, clock: Clock) -> None:
        """Make room, or look at the clock, as a kernel that gave up asked for."""
        ...


class Tabled:
    """A machine without a stack: a Dfa, or a LazyDfa that grows."""

    def __init__(self, dfa: Dfa | LazyDfa) -> None:
        self._dfa = dfa
        self.classes = dfa.classes
        self.states = len(dfa) if isinstance(dfa, Dfa) else 0
        self._hold()

    def _hold(self) -> None:
        self.growth = Growth.of(subsets=None if isinstance(self._dfa, Dfa) else self._dfa.subsets)
        self.room = Room.of_table(self._dfa.table)

    def resolve(self, status: int, clock: Clock) -> None:
        """Make room for more sets.

        Raises: LimitError
        """
        assert isinstance(self._dfa, LazyDfa), f"a Dfa never asks for anything, {status}"
        clock.check()
        if len(self._dfa.table) * self.room.groups.shape[1] == len(self.room.table):
            self._dfa.grow()
        self._hold()


class Marker:
    """Makes rows of one machine with one vocabulary. One row at a time: the caller holds a lock."""

    def __init__(self, machine: Machine, vocabulary: Vocabulary, limits: Limits) -> None:
        self._machine = machine
        self._limits = replace(limits, began=None)  # a row has seconds of its own
        self._trie = vocabulary.trie
        self._words = (len(vocabulary) + 31) // 32
        self._nodes = Nodes.of(vocabulary.trie, np.ascontiguousarray(machine.classes))
        self._scratch = Scratch.of(vocabulary.trie.height, machine.states)
        self._row = row_kernel()
        self.clear()

    def clear(self) -> None:
        """Forget which rows were made; their numbers begin again."""
        self._cuts = Cuts.of(64)
        self._scratch.stand[growing_machine.MADE], self._scratch.stand[growing_machine.LAST] = 0, -1

    def row(self, state: State) -> tuple[int, Words | None]:
        """The number of a row and its bits; None where the row of that number was made before.

        Raises: LimitError
        """
        machine, bits, begins = self._machine, np.zeros(self._words, np.uint32), True
        clock: Clock | None = None
        while True:
            told, number = self._row(
                machine.growth, machine.room, self._cuts, self._nodes, self._scratch, state,
                begins, bits,
            )  # fmt: skip
            if told == MADE:
                return number, bits
            if told == KNOWN:
                return number, None
            begins = False
            if told in (AROUND, INTO):
                told = self._looped(told == AROUND, bits)
            if told < 0:
                clock = clock or self._limits.clock()
                self._resolve(told, clock)

    def _looped(self, inside: bool, bits: Words) -> int:
        """The bits of a part of the trie by the loop that was just found."""
        part, count = (
            int(self._scratch.stand[growing_machine.PART]),
            int(self._scratch.stand[growing_machine.COUNT]),
        )
        known = self._trie.shared(self_loops.Loops)
        loop = known.of(self._scratch.local[:count], self._trie, self._words, part)
        bits |= loop.bits
        machine = self._machine
        told: int = loop_kernel()(
            machine.growth, machine.room, self._nodes, self._scratch, loop, inside, bits
        )
        return told

    def _resolve(self, told: int, clock: Clock) -> None:
        if told == FULL:
            self._cuts = larger(self._cuts)
        else:
            self._machine.resolve(told, clock)


def used_bytes(table: npt.NDArray[np.int32], classes: npt.NDArray[np.uint16]) -> set[int]:
    """The bytes that some state of a machine reads."""
    reads = np.asarray((table >= 0).any(axis=0))
    return set(np.flatnonzero(reads[classes]).tolist())
