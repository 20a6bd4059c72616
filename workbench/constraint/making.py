"""Making: one row of any machine, as kernels that go on from where the walk stands.

In come how a machine grows, its tables, a trie and a state; out come the bits of the tokens that
can be read, and the number of the row. A walk that has to stop, for want of room or for a loop
of the vocabulary, says why and is called again.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from workbench.automata.dfa import DEAD
from workbench.constraint import loops, walk
from workbench.constraint.alike import alike
from workbench.constraint.around import enter, leave
from workbench.constraint.cuts import Cuts, keep_row, known_row
from workbench.constraint.growing import find_loop, read_below, step_by
from workbench.constraint.loops import Loop
from workbench.constraint.rows import Words, set_tokens
from workbench.constraint.walk import NO_FLOOR, Nodes, Scratch
from workbench.kernel import direct, inlined, int64, njit
from workbench.pushdown.room import Growth, Room
from workbench.vocabulary.trie import SIZE_AT, Trie

_DEAD = DEAD
_BYTES = np.uint64(255)
_PART, _NODE, _FLOOR, _STATE, _COUNT = walk.PART, walk.NODE, walk.FLOOR, walk.STATE, walk.COUNT
_MADE_ROWS, _LOOPED, _LAST = walk.MADE, walk.LOOPED, walk.LAST
_LAST_STATE, _DEEPEST = walk.LAST_STATE, walk.DEEPEST
#: No place in any table.
_UNTOUCHED = np.uint32(2**32 - 1)
_LEVEL, _BEGIN, _SIZE_AT = loops.LEVEL, loops.BEGIN, np.uint64(SIZE_AT)

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
        stand[_PART], stand[_NODE], stand[_FLOOR], stand[_LOOPED] = 0, 0, NO_FLOOR, 0
        scratch.path[:] = _UNTOUCHED
        scratch.path[0] = 0
        known = _known(room, cuts, scratch, state, stacked)
        if known >= 0:
            return KNOWN, known
    if stacked and cuts.used[0] == len(cuts.rows):
        return FULL, 0
    while stand[_PART] < len(nodes.runs):
        told = _begin_part(growth, room, nodes, scratch, state, bits)
        if told != MADE:
            return told, 0
        if stand[_STATE] >= 0:
            told = _walk_part(growth, room, nodes, scratch, bits)
            if told != MADE:
                return told, 0
        stand[_PART] += 1
        stand[_NODE] = 0
    if stacked:
        return MADE, keep_row(room, cuts, state, stand[_FLOOR])
    stand[_MADE_ROWS] += 1
    if not stand[_LOOPED]:
        stand[_LAST], stand[_LAST_STATE] = stand[_MADE_ROWS] - 1, state
        stand[_DEEPEST] = len(scratch.path)
        while scratch.path[stand[_DEEPEST] - 1] == _UNTOUCHED:
            stand[_DEEPEST] -= 1
    return MADE, int64(stand[_MADE_ROWS]) - 1


@inlined
def _known(room: Room, cuts: Cuts, scratch: Scratch, state: int, stacked: bool) -> int:
    """The number of a row that is that of a state, or −1 where none is known to be."""
    if stacked:
        return known_row(room, cuts, state)
    stand = scratch.stand
    if stand[_LAST] < 0 or len(scratch.partner) == 0 or not alike(
        room.table, room.groups.shape[1], stand[_LAST_STATE], state, stand[_DEEPEST],
        scratch.partner, scratch.pairs,
    ):  # fmt: skip
        return -1
    return int64(stand[_LAST])


@inlined
def _begin_part(
    growth: Growth, room: Room, nodes: Nodes, scratch: Scratch, state: int, bits: Words
) -> int:
    """Find the state a part begins in, and whether a loop covers it.

    A part that was begun before is gone on with.
    """
    stand = scratch.stand
    if stand[_NODE] > 0:
        return MADE
    if nodes.runs[stand[_PART], _LEVEL] == 1:
        node = nodes.runs[stand[_PART], _BEGIN] - 1
        record = nodes.records[node]
        target = step_by(growth, room, nodes, scratch, state, int64(record & _BYTES))
        if target < _DEAD:
            return target
        stand[_STATE] = target
        if target == _DEAD:
            return MADE
        if len(room.floors) > 0:
            stand[_FLOOR] = min(stand[_FLOOR], room.floors[target])
        set_tokens(record, np.uint64(node), nodes.first, nodes.token_ids, bits)
        scratch.path[1] = target * room.groups.shape[1]
        state = target
    stand[_STATE] = state
    at_hand = scratch.members[0] if stand[_LOOPED] else int64(_DEAD)  # the loop of the part before
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
    stand[_COUNT] = count
    return told if count > 0 else MADE


@inlined
def _walk_part(growth: Growth, room: Room, nodes: Nodes, scratch: Scratch, bits: Words) -> int:
    """Set the bits of all that is read in a part, below each first byte that can be read.

    A walk of the first bytes' nodes took twice as long: they lie far apart.
    """
    stand, children = scratch.stand, nodes.children[scratch.stand[_PART]]
    for byte in range(256):
        node = int64(children[byte])
        if node < 0 or node < stand[_NODE] >= node + int64(nodes.records[node] >> _SIZE_AT):
            continue  # read before the walk was interrupted
        target = step_by(growth, room, nodes, scratch, stand[_STATE], byte)
        if target < _DEAD:
            return target
        if target != _DEAD:
            begin = max(node + 1, stand[_NODE])
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
        for k in range(stand[_COUNT]):
            stand[_FLOOR] = min(stand[_FLOOR], room.floors[scratch.members[k]])
    if inside:
        run = nodes.runs[stand[_PART]]
        for k in range(2):
            scratch.agreed[k, 0], scratch.agreed[k, 1] = run[1 + 2 * k], run[2 + 2 * k]
        told = int64(2)
    else:
        told = enter(growth, room, nodes, scratch, bits)
    stand[_LOOPED] = 1
    if told >= 0:
        told = leave(growth, room, nodes, scratch, loop, told, bits)
    stand[_NODE] = 0
    if told < 0:
        return told
    stand[_PART] += 1
    return MADE
