"""Around: the row of a state that a loop covers, but for the nodes where paths leave it.

In come the bits of the loop, a machine and a part of the trie; out come the bits of the state. A
state that enters a loop is walked beside it: where both stand in the same state they agree on all
that follows, but for the nodes at which the loop is left, which are looked at byte by byte.
"""

from __future__ import annotations

import numpy as np

from workbench.automata.dfa import DEAD
from workbench.automata.lazy import UNKNOWN
from workbench.constraint.growing import grow, read_on, step_by
from workbench.constraint.loops import LEVEL, SEVERAL, Loop
from workbench.constraint.rows import Words, mark, set_tokens
from workbench.constraint.walk import FLOOR, PART, STATE, Nodes, Scratch
from workbench.kernel import inlined, int64
from workbench.pushdown.room import Growth, Room
from workbench.vocabulary.trie import DEPTH_AT, DEPTHS, SIZE_AT

_DEAD, _UNKNOWN = DEAD, UNKNOWN
_ONE, _BYTES = np.uint64(1), np.uint64(255)
_DEPTH_AT, _DEPTHS, _SIZE_AT = np.uint64(DEPTH_AT), np.uint64(DEPTHS - 1), np.uint64(SIZE_AT)
_FLOOR, _PART, _STATE, _LEVEL, _SEVERAL = FLOOR, PART, STATE, LEVEL, SEVERAL


@inlined
def enter(growth: Growth, room: Room, nodes: Nodes, scratch: Scratch, bits: Words) -> int:
    """Turn the bits of a loop into those of a state whose paths enter it, for a part.

    Returns how many stretches of nodes the two agree on, or why it had to stop.
    """
    stand, part = scratch.stand, scratch.stand[_PART]
    level = int64(nodes.runs[part, _LEVEL])
    agreed = int64(0)
    for byte in range(256):
        node = int64(nodes.children[part, byte])
        if node < 0:
            continue
        state = step_by(growth, room, nodes, scratch, stand[_STATE], byte)
        if state < _DEAD:
            return state
        if state != _DEAD or scratch.local[0, byte] >= 0:
            scratch.path[level] = stand[_STATE] * room.groups.shape[1]
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
        if state == _UNKNOWN:
            state = grow(growth, room, nodes, scratch, int64(at))
            if state < _DEAD:
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
            stand[_FLOOR] = min(stand[_FLOOR], room.floors[state])
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
        if state < _DEAD:
            return state
        if state != _DEAD:
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
        scratch.stand[_FLOOR] = min(scratch.stand[_FLOOR], room.floors[state])
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
        elif token == _SEVERAL:
            set_tokens(nodes.records[node], np.uint64(node), nodes.first, nodes.token_ids, bits)
        if not goes_on or loop.sizes[k] == 1:
            continue
        level = (nodes.records[node] >> _DEPTH_AT) & _DEPTHS
        scratch.path[level + _ONE] = state * width
        past = node + int64(loop.sizes[k])
        # with fewer arrays handed over than by ``read_on``, which goes on where a step is missing
        at, scratch.stand[_FLOOR] = mark(
            room.table, width, nodes.classes, room.floors, nodes.records, nodes.first,
            nodes.token_ids, scratch.path, node + 1, past, scratch.stand[_FLOOR], bits,
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
    while column < width and room.table[state * width + column] == _DEAD:
        column += 1
    return bool(column < width)
