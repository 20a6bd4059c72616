"""The machine of a walk that is built during the walk: its tables, and what the walk asks of it.

In come a trie, a machine's byte classes and its tables; out come tuples of arrays, since a kernel
is called faster with few arguments, and read more easily.

In come the tables of a machine and where a walk stands; out come the same tables with the step that
was missing, made by the machine's rules or out of the sets of its states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.automata.lazy_dfa import UNKNOWN, fill_row
from workbench.base.dfa import DEAD
from workbench.base.kernels import inlined, inner, int64
from workbench.constraint.engine import self_loops
from workbench.constraint.engine.self_loops import Local, find
from workbench.constraint.engine.trie_walk import (
    Classes,
    Ints,
    Offsets,
    Records,
    Words,
    mark,
    set_tokens,
)
from workbench.pushdown.buffers import Growth, Longs, Room
from workbench.pushdown.stepping import successor
from workbench.vocabulary.trie import DEPTH_AT, DEPTHS, SIZE_AT, Trie

#: Where a walk stands, in ``Scratch.stand``: the part and the node to go on with, the lowest stack
#: depth looked at, the state at the beginning of the part; the loop that is wanted, and how many
#: states it has. Then how many rows
#: were made, whether a loop helped, and of the last row without one: the number, the state, and
#: how many bytes deep its walk came.
PART, NODE, FLOOR, STATE, COUNT, MADE, LOOPED, LAST, LAST_STATE, DEEPEST = range(10)

#: Above every stack depth.
NO_FLOOR = 2**31 - 1

#: Stretches of nodes an entered loop is remembered to agree on; more are walked.
_STRETCHES = 2_048
#: Pairs of states that are compared before two rows are called different.
_PAIRS = 1_024


class Nodes(NamedTuple):
    """The trie of a vocabulary as the walks read it, and the byte classes of the machine."""

    records: Records
    first: Ints
    token_ids: Ints
    #: The parts it is walked in, as ``Parts`` tells them.
    runs: Ints
    children: Ints
    classes: Classes

    @staticmethod
    def of(trie: Trie, classes: Classes) -> Nodes:
        """The nodes of a trie."""
        runs, children = trie.shared(self_loops.Loops).parts(trie)
        return Nodes(trie.records, trie.first, trie.token_ids, runs, children, classes)


class Scratch(NamedTuple):
    """Room for one walk at a time.

    Shape: ``path`` (height + 1,) the places in the table on the way of a token; ``beside``
           (height + 1,) the local states of a loop on the same way; ``members`` the states of
           that loop, ``local`` (members, 256) where bytes lead among them; ``agreed`` (n, 2)
           stretches of nodes on which a state and the loop agree; ``partner`` (Q,), ``pairs``
           (n, 2) for comparing states, where rows are compared; ``stand`` (12,) int64.
    """

    path: Offsets
    beside: Local
    members: Ints
    local: Local
    agreed: Ints
    partner: Ints
    pairs: Ints
    stand: Longs

    @staticmethod
    def of(height: int, states: int) -> Scratch:
        """Scratch for tokens of at most ``height`` bytes; rows of ``states`` are compared."""
        return Scratch(
            path=np.empty(height + 1, np.uint32),
            beside=np.zeros(height + 1, np.int8),
            members=np.empty(self_loops.MEMBERS, np.int32),
            local=np.empty((self_loops.MEMBERS, 256), np.int8),
            agreed=np.empty((_STRETCHES, 2), np.int32),
            partner=np.zeros(states, np.int32),
            pairs=np.empty((_PAIRS, 2), np.int32),
            stand=np.zeros(12, np.int64),
        )


_BYTES = np.uint64(255)
_DEPTH_AT, _DEPTHS, _SIZE_AT = np.uint64(DEPTH_AT), np.uint64(DEPTHS - 1), np.uint64(SIZE_AT)


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
    if target == UNKNOWN:
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
        stand[FLOOR] = min(stand[FLOOR], room.floors[state])
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
    floor = int(stand[FLOOR])
    while node < end:
        node, floor = mark(
            room.table, room.groups.shape[1], nodes.classes, room.floors, nodes.records,
            nodes.first, nodes.token_ids, scratch.path, node, end, floor, bits,
        )  # fmt: skip
        stand[NODE], stand[FLOOR] = node, floor
        if node < end:
            told = grow(growth, room, nodes, scratch, node)
            if told < DEAD:
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
        if told < DEAD:
            return told, 0
