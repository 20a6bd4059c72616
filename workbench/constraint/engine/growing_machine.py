"""A machine that grows during the trie walk: its arrays, and the kernels that add missing steps.

A step of the machine that is ``UNKNOWN`` is computed when the walk reaches it: from the rules of a
network, or by the subset construction. The arguments of these kernels are bundled in NamedTuples of
arrays, because a kernel with few arguments is faster to call and easier to read.

The kernels that can fail to add a step return a negative status below ``DEAD`` (the ``FULL_…``,
``PAUSED`` and ``TOO_DEEP`` codes of ``pushdown.buffers`` and ``lazy_dfa.FULL_SETS``). The caller
then makes room or checks the clock, and calls the kernel again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.automata.lazy_dfa import UNKNOWN, fill_row
from workbench.base.dfa import DEAD
from workbench.base.kernels import inlined, inner, int64
from workbench.constraint.engine import self_loops
from workbench.constraint.engine.self_loops import find_self_loop
from workbench.constraint.engine.trie_walk import (
    BYTE_MASK,
    DEPTH_MASK,
    DEPTH_SHIFT,
    SIZE_SHIFT,
    Classes,
    Ints,
    Local,
    Offsets,
    Records,
    Words,
    mark_tokens,
    set_token_bits,
)
from workbench.pushdown.buffers import Growth, Longs, Room
from workbench.pushdown.stepping import successor
from workbench.vocabulary.trie import Trie

#: Indexes into ``Scratch.cursor``, the state of an interrupted row computation.
#:
#: ============== ===========================================================================
#: PART           the part of the trie that is being walked (a row of ``TrieView.runs``)
#: NODE           the next trie node of that part; 0 if the part is not begun
#: FLOOR          the lowest stack depth read
#: STATE          the machine's state at the beginning of the part, or ``DEAD``
#: LOOP_SIZE      the number of member states of the self-loop that the caller must look up
#: ROWS_COMPUTED  the number of rows computed (machines without a stack)
#: USED_LOOP      1 if a self-loop contributed to this row, 2 if the last one was a chain's
#: LAST_ROW       the number of the last row computed without a self-loop, or −1
#: LAST_STATE     the state of that row
#: LAST_DEPTH     the depth, in bytes, of the walk that computed it
#: MUST_WALK      1 if the caller has no loop for the current part
#: ============== ===========================================================================
(
    PART,
    NODE,
    FLOOR,
    STATE,
    LOOP_SIZE,
    ROWS_COMPUTED,
    USED_LOOP,
    LAST_ROW,
    LAST_STATE,
    LAST_DEPTH,
    MUST_WALK,
) = range(11)

#: Greater than every stack depth.
NO_FLOOR = 2**31 - 1

#: The most node ranges recorded on which an entered loop and the state agree; the others are
#: walked.
_MAX_AGREED_RANGES = 2_048
#: The most pairs of states compared before two rows are considered different.
_MAX_COMPARED_PAIRS = 1_024


class TrieView(NamedTuple):
    """The trie of a vocabulary as arrays for kernels, and the byte classes of the machine."""

    records: Records
    first: Ints
    token_ids: Ints
    #: ``runs`` and ``children`` are those of ``self_loops.Parts``.
    runs: Ints
    children: Ints
    classes: Classes

    @staticmethod
    def of(trie: Trie, classes: Classes) -> TrieView:
        """The view of a trie for a machine with these byte classes."""
        runs, children = trie.shared(self_loops.SelfLoopCache).parts(trie)
        return TrieView(trie.records, trie.first, trie.token_ids, runs, children, classes)


class Scratch(NamedTuple):
    """Working memory of one walk at a time.

    Shape: ``path`` (height + 1,) uint32, the offset in the table after each byte of the current
           token; ``loop_path`` (height + 1,) int8, the member of a self-loop after the same bytes;
           ``members`` (M,) int32, the states of that self-loop; ``local`` (M, 256) int8, the
           member each byte leads to; ``agreed`` (n, 2) int32, the node ranges on which the state
           and the self-loop read the same tokens; ``partner`` (Q,) and ``pairs`` (n, 2) int32,
           for ``row_cache.bisimilar``; ``cursor`` (11,) int64, see ``PART``.
    """

    path: Offsets
    loop_path: Local
    members: Ints
    local: Local
    agreed: Ints
    partner: Ints
    pairs: Ints
    cursor: Longs

    @staticmethod
    def of(height: int, states: int) -> Scratch:
        """Scratch for tokens of at most ``height`` bytes and rows of ``states`` states.

        With ``states`` 0, rows are not compared.
        """
        return Scratch(
            path=np.empty(height + 1, np.uint32),
            loop_path=np.zeros(height + 1, np.int8),
            members=np.empty(self_loops.MAX_MEMBERS, np.int32),
            local=np.empty((self_loops.MAX_MEMBERS, 256), np.int8),
            agreed=np.empty((_MAX_AGREED_RANGES, 2), np.int32),
            partner=np.zeros(states, np.int32),
            pairs=np.empty((_MAX_COMPARED_PAIRS, 2), np.int32),
            cursor=np.zeros(11, np.int64),
        )


@inner
def compute_step(growth: Growth, room: Room, state: int, byte_class: int) -> int:
    """Compute a missing step: the target state or ``DEAD``; a status below ``DEAD`` on failure."""
    if len(growth.rules.flags) > 0:
        return successor(growth.rules, room, state, byte_class)
    status = fill_row(growth.subsets, room.table, state)
    if status < 0:
        return status
    return int64(room.table[state * room.groups.shape[1] + byte_class])


@inlined
def step_by(
    growth: Growth, room: Room, nodes: TrieView, scratch: Scratch, state: int, byte: int
) -> int:
    """The target of a byte, computed if missing; a status below ``DEAD`` on failure."""
    byte_class = int64(nodes.classes[byte])
    target = int64(room.table[state * room.groups.shape[1] + byte_class])
    if target == UNKNOWN:
        target = compute_step(growth, room, state, byte_class)
    return target


@inlined
def walk_below(
    growth: Growth, room: Room, nodes: TrieView, scratch: Scratch, node: int, state: int,
    begin: int, bits: Words,
) -> int:  # fmt: skip
    """Set the bits of the tokens at and below a node whose byte leads to ``state``.

    Below the node the walk continues from ``begin``. Returns 0, or a status below ``DEAD``.
    """
    cursor, record = scratch.cursor, nodes.records[node]
    level = int64((record >> DEPTH_SHIFT) & DEPTH_MASK)
    scratch.path[level + 1] = state * room.groups.shape[1]
    if len(room.floors) > 0:
        cursor[FLOOR] = min(cursor[FLOOR], room.floors[state])
    set_token_bits(record, np.uint64(node), nodes.first, nodes.token_ids, bits)
    end = node + int64(record >> SIZE_SHIFT)
    if begin >= end:
        return 0
    return walk_nodes(growth, room, nodes, scratch, begin, end, bits)


@inlined
def compute_missing_step(
    growth: Growth, room: Room, nodes: TrieView, scratch: Scratch, node: int
) -> int:
    """Compute the step from ``scratch.path`` into a trie node, as ``compute_step`` does."""
    record = nodes.records[node]
    offset = int64(scratch.path[np.int64((record >> DEPTH_SHIFT) & DEPTH_MASK)])
    byte_class = int64(nodes.classes[np.int64(record & BYTE_MASK)])
    return compute_step(growth, room, offset // room.groups.shape[1], byte_class)


@inlined
def walk_nodes(
    growth: Growth, room: Room, nodes: TrieView, scratch: Scratch, node: int, end: int, bits: Words
) -> int:
    """Set the bits of the tokens readable at ``range(node, end)``, adding missing steps.

    Returns 0, or a status below ``DEAD``; then ``cursor[NODE]`` is the node to continue from.
    """
    cursor = scratch.cursor
    floor = int(cursor[FLOOR])
    while node < end:
        node, floor = mark_tokens(
            room.table, room.groups.shape[1], nodes.classes, room.floors, nodes.records,
            nodes.first, nodes.token_ids, scratch.path, node, end, floor, bits,
        )  # fmt: skip
        cursor[NODE], cursor[FLOOR] = node, floor
        if node < end:
            status = compute_missing_step(growth, room, nodes, scratch, node)
            if status < DEAD:
                return status
    return 0


@inlined
def find_loop(
    growth: Growth, room: Room, nodes: TrieView, scratch: Scratch, state: int, following: int
) -> tuple[int, int]:
    """``self_loops.find_self_loop``, with the missing steps added that it needs.

    Returns its first two results, or a status below ``DEAD`` and 0.
    """
    while True:
        count, there, first = find_self_loop(
            room.table, room.groups.shape[1], nodes.classes, state, following, scratch.members,
            scratch.local,
        )  # fmt: skip
        if count >= 0:
            return count, there
        for byte in range(first, 128 if first < 128 else 256):
            status = step_by(growth, room, nodes, scratch, there, byte)
            if status < DEAD:
                return status, 0
