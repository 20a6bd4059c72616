"""Around: the row of a state that a loop covers, but for the nodes where paths leave it.

In come the bits of the loop, a machine and a part of the trie; out come the bits of the state. A
state that enters a loop is walked beside it: where both stand in the same state they agree on all
that follows, but for the nodes at which the loop is left, which are looked at byte by byte.
"""

from __future__ import annotations

import numpy as np

from workbench.automata.dfa import DEAD
from workbench.automata.kernel import inner, int64
from workbench.automata.lazy import UNKNOWN
from workbench.constraint.growing import grow, make_step, read_on
from workbench.constraint.loops import Loop
from workbench.constraint.rows import Words, set_tokens
from workbench.constraint.walk import FLOOR, Nodes, Scratch
from workbench.pushdown.room import Room, Rules
from workbench.vocabulary.trie import DEPTH_AT, DEPTHS, SIZE_AT

_DEAD, _UNKNOWN = DEAD, UNKNOWN
_ONE, _BYTES = np.uint64(1), np.uint64(255)
_DEPTH_AT, _DEPTHS, _SIZE_AT = np.uint64(DEPTH_AT), np.uint64(DEPTHS - 1), np.uint64(SIZE_AT)
_FLOOR = FLOOR


@inner
def enter(
    rules: Rules, room: Room, nodes: Nodes, scratch: Scratch, begin: int, end: int, agreed: int,
    bits: Words,
) -> int:  # fmt: skip
    """Turn the bits of a loop into those of a state whose paths enter it, for a run of nodes.

    Returns how many stretches agree then, or why it had to stop.
    """
    width, stand = room.groups.shape[1], scratch.stand
    at, stop = np.uint64(begin), np.uint64(end)
    path, beside = scratch.path, scratch.beside
    while at < stop:
        record = nodes.records[at]
        level, byte = (record >> _DEPTH_AT) & _DEPTHS, record & _BYTES
        past = at + (record >> _SIZE_AT)
        state = int64(room.table[path[level] + nodes.classes[byte]])
        if state == _UNKNOWN:
            state = grow(rules, room, nodes, scratch, int64(at))
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


@inner
def _take_back(nodes: Nodes, begin: np.uint64, end: np.uint64, bits: Words) -> None:
    """Clear the bits of the tokens that end at some nodes."""
    for k in range(nodes.first[begin], nodes.first[end]):
        token = nodes.token_ids[k]
        bits[token >> 5] &= ~(np.uint32(1) << np.uint32(token & 31))


@inner
def leave(
    rules: Rules, room: Room, nodes: Nodes, scratch: Scratch, loop: Loop, agreed: int, bits: Words
) -> int:
    """Set the bits of what is read past the nodes where a loop is left, within ``agreed``.

    Returns 0, or why it had to stop.
    """
    width = room.groups.shape[1]
    for group in range(len(loop.groups)):
        here = int64(scratch.members[loop.groups[group, 0]])
        byte_class = int64(nodes.classes[loop.groups[group, 1]])
        state = int64(room.table[here * width + byte_class])
        if state == _UNKNOWN:
            state = make_step(rules, room, scratch, here, byte_class)
        if state < _DEAD:
            return state
        stretch, k, end = 0, loop.groups[group, 2], loop.groups[group, 3]
        while state != _DEAD and k < end:
            node = int64(loop.nodes[k])
            k += 1
            while stretch < agreed and scratch.agreed[stretch, 1] <= node:
                stretch += 1
            if stretch == agreed:
                break
            if scratch.agreed[stretch, 0] <= node:
                told = _past(rules, room, nodes, scratch, node, state, bits)
                if told < 0:
                    return told
    return 0


@inner
def _past(
    rules: Rules, room: Room, nodes: Nodes, scratch: Scratch, node: int, state: int, bits: Words
) -> int:
    """Set the bits of what is read from a node on that leads to a state."""
    stand, record = scratch.stand, nodes.records[node]
    scratch.path[((record >> _DEPTH_AT) & _DEPTHS) + _ONE] = state * room.groups.shape[1]
    if len(room.floors) > 0:
        stand[_FLOOR] = min(stand[_FLOOR], room.floors[state])
    set_tokens(record, np.uint64(node), nodes.first, nodes.token_ids, bits)
    end = node + int64(record >> _SIZE_AT)
    if end == node + 1:
        return 0
    return read_on(rules, room, nodes, scratch, node + 1, end, bits)
