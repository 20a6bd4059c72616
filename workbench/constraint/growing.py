"""Growing: what the walks of a trie ask of a machine that is made while it is walked, as kernels.

In come the tables of a machine and where a walk stands; out come the same tables with the step that
was missing, made by the machine's rules or out of the sets of its states.
"""

from __future__ import annotations

import numpy as np

from workbench.automata.dfa import DEAD
from workbench.automata.lazy import UNKNOWN, fill_row
from workbench.constraint import walk
from workbench.constraint.loops import find
from workbench.constraint.rows import Words, mark, set_tokens
from workbench.constraint.walk import Nodes, Scratch
from workbench.kernel import inlined, inner, int64
from workbench.pushdown.room import Growth, Room
from workbench.pushdown.stepping import successor
from workbench.vocabulary.trie import DEPTH_AT, DEPTHS, SIZE_AT

_DEAD, _UNKNOWN = DEAD, UNKNOWN
_BYTES = np.uint64(255)
_DEPTH_AT, _DEPTHS, _SIZE_AT = np.uint64(DEPTH_AT), np.uint64(DEPTHS - 1), np.uint64(SIZE_AT)
_NODE, _FLOOR = walk.NODE, walk.FLOOR


@inner
def make_step(growth: Growth, room: Room, state: int, byte_class: int) -> int:
    """Make a step of a machine that grows: where it leads, or why it could not be made."""
    if len(growth.rules.flags) > 0:
        return successor(growth.rules, room, state, byte_class)
    told = fill_row(growth.subsets, room.table, state)
    if told < 0:
        return told
    return int64(room.table[state * room.groups.shape[1] + byte_class])


@inlined
def step_by(
    growth: Growth, room: Room, nodes: Nodes, scratch: Scratch, state: int, byte: int
) -> int:
    """Where a state leads by a byte, or why that could not be found out."""
    byte_class = int64(nodes.classes[byte])
    target = int64(room.table[state * room.groups.shape[1] + byte_class])
    if target == _UNKNOWN:
        target = make_step(growth, room, state, byte_class)
    return target


@inlined
def read_below(
    growth: Growth, room: Room, nodes: Nodes, scratch: Scratch, node: int, state: int, begin: int,
    bits: Words,
) -> int:  # fmt: skip
    """Set the bits of what is read from a node on that leads to a state; 0, or why it stopped.

    Below the node it goes on from ``begin``.
    """
    stand, record = scratch.stand, nodes.records[node]
    level = int64((record >> _DEPTH_AT) & _DEPTHS)
    scratch.path[level + 1] = state * room.groups.shape[1]
    if len(room.floors) > 0:
        stand[_FLOOR] = min(stand[_FLOOR], room.floors[state])
    set_tokens(record, np.uint64(node), nodes.first, nodes.token_ids, bits)
    end = node + int64(record >> _SIZE_AT)
    if begin >= end:
        return 0
    return read_on(growth, room, nodes, scratch, begin, end, bits)


@inlined
def grow(growth: Growth, room: Room, nodes: Nodes, scratch: Scratch, node: int) -> int:
    """Make the step a walk stands before."""
    record = nodes.records[node]
    place = int64(scratch.path[np.int64((record >> _DEPTH_AT) & _DEPTHS)])
    byte_class = int64(nodes.classes[np.int64(record & _BYTES)])
    return make_step(growth, room, place // room.groups.shape[1], byte_class)


@inlined
def read_on(
    growth: Growth, room: Room, nodes: Nodes, scratch: Scratch, node: int, end: int, bits: Words
) -> int:
    """Set the bits of all that is read at some nodes; 0, or why it had to stop."""
    stand = scratch.stand
    floor = int(stand[_FLOOR])
    while node < end:
        node, floor = mark(
            room.table, room.groups.shape[1], nodes.classes, room.floors, nodes.records,
            nodes.first, nodes.token_ids, scratch.path, node, end, floor, bits,
        )  # fmt: skip
        stand[_NODE], stand[_FLOOR] = node, floor
        if node < end:
            told = grow(growth, room, nodes, scratch, node)
            if told < _DEAD:
                return told
    return 0


@inlined
def find_loop(
    growth: Growth, room: Room, nodes: Nodes, scratch: Scratch, state: int
) -> tuple[int, int]:
    """The loop of a state, as ``loops.find`` tells it, with every step made that it needs."""
    while True:
        count, there, byte_class = find(
            room.table, room.groups.shape[1], nodes.classes, state, scratch.members, scratch.local
        )
        if count >= 0:
            return count, there
        told = make_step(growth, room, there, byte_class)
        if told < _DEAD:
            return told, 0
