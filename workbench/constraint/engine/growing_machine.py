"""A machine that grows during the trie walk: its arrays, and the kernels that add missing steps.

A step of the machine that is ``UNKNOWN`` is computed when the walk reaches it: from the rules of
a network, or by the subset construction. The arguments of these kernels are bundled in
NamedTuples of arrays, because a kernel with few arguments is faster to call and easier to read.

The kernels that can fail to add a step return a ``Status``, a number below ``DEAD``. The caller
then makes room or checks the clock, and calls the kernel again.
"""

from __future__ import annotations

from enum import IntEnum
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
from workbench.pushdown.machine_arrays import FROM, TO, Growth, Longs, MachineArrays
from workbench.pushdown.stepping import successor
from workbench.vocabulary.trie import Trie


class Walk(IntEnum):
    """The entries of ``Scratch.cursor``, the state of an interrupted row computation."""

    #: The part of the trie that is being walked (a row of ``TrieView.runs``).
    PART = 0
    #: The next trie node of that part; 0 if the part is not begun.
    NODE = 1
    #: The lowest stack depth read.
    FLOOR = 2
    #: The machine's state at the beginning of the part, or ``DEAD``.
    STATE = 3
    #: The number of member states of the self-loop that the caller must look up.
    LOOP_SIZE = 4
    #: The number of rows computed (machines without a stack).
    ROWS_COMPUTED = 5
    #: 1 if a self-loop contributed to this row, 2 if that of a single configuration did.
    USED_LOOP = 6
    #: The number of the last row computed without a self-loop, or −1; its state; and the depth,
    #: in bytes, of the walk that computed it.
    LAST_ROW = 7
    LAST_STATE = 8
    LAST_DEPTH = 9
    #: 1 if the caller has no loop for the current part.
    MUST_WALK = 10


#: Greater than every stack depth.
NO_FLOOR = 2**31 - 1

#: The most node ranges recorded on which an entered loop and the state agree; the others are
#: walked.
_MAX_AGREED_RANGES = 2_048
#: The most members of a loop, with the states that have its configurations and more.
_MAX_LOOP_STATES = 32
#: The least ASCII bytes that the loop of a configuration must read to be used for its situation;
#: and how many more than the situation's own loop.
MIN_COVERING_BYTES, MORE_BYTES = 32, 8
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
    #: The column of each byte in the table of a network; (0,) for a machine without a stack.
    columns: Classes

    @staticmethod
    def of(trie: Trie, classes: Classes, columns: Ints) -> TrieView:
        """The view of a trie for a machine with these byte classes; ``columns`` as in ``Rules``."""
        runs, children = trie.shared(self_loops.SelfLoopCache).parts(trie)
        of_bytes = columns[classes if len(columns) else classes[:0]].astype(np.uint16)
        return TrieView(trie.records, trie.first, trie.token_ids, runs, children, classes, of_bytes)


class Scratch(NamedTuple):
    """Working memory of one walk at a time.

    Shape: ``path`` (height + 1,) uint32, the offset in the table after each byte of the current
           token; ``loop_path`` (height + 1,) int8, the member of a self-loop after the same bytes;
           ``members`` (M,) int32, the states of that self-loop; ``local`` (M, 256) int8, the
           member each byte leads to; ``agreed`` (n, 2) int32, the node ranges on which the state
           and the self-loop read the same tokens; ``partner`` (Q,) and ``pairs`` (n, 2) int32,
           for ``row_cache.bisimilar``; ``cursor`` (11,) int64, see ``Walk``.
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
            members=np.empty(_MAX_LOOP_STATES, np.int32),
            local=np.empty((_MAX_LOOP_STATES, 256), np.int8),
            agreed=np.empty((_MAX_AGREED_RANGES, 2), np.int32),
            partner=np.zeros(states, np.int32),
            pairs=np.empty((_MAX_COMPARED_PAIRS, 2), np.int32),
            cursor=np.zeros(11, np.int64),
        )


@inner
def compute_step(growth: Growth, arrays: MachineArrays, state: int, byte_class: int) -> int:
    """Compute a missing step: the target state or ``DEAD``; a status below ``DEAD`` on failure."""
    if len(growth.rules.flags) > 0:
        return successor(growth.rules, arrays, state, byte_class)
    status = fill_row(growth.subsets, arrays.table, state)
    if status < 0:
        return status
    return int64(arrays.table[state * arrays.groups.shape[1] + byte_class])


@inlined
def step_by(
    growth: Growth, arrays: MachineArrays, nodes: TrieView, scratch: Scratch, state: int, byte: int
) -> int:
    """The target of a byte, computed if missing; a status below ``DEAD`` on failure."""
    byte_class = int64(nodes.classes[byte])
    target = int64(arrays.table[state * arrays.groups.shape[1] + byte_class])
    if target == UNKNOWN:
        target = compute_step(growth, arrays, state, byte_class)
    return target


@inlined
def walk_below(
    growth: Growth, arrays: MachineArrays, nodes: TrieView, scratch: Scratch, node: int, state: int,
    begin: int, bits: Words,
) -> int:  # fmt: skip
    """Set the bits of the tokens at and below a node whose byte leads to ``state``.

    Below the node the walk continues from ``begin``. Returns 0, or a status below ``DEAD``.
    """
    cursor, record = scratch.cursor, nodes.records[node]
    level = int64((record >> DEPTH_SHIFT) & DEPTH_MASK)
    scratch.path[level + 1] = state * arrays.groups.shape[1]
    if len(arrays.floors) > 0:
        cursor[Walk.FLOOR] = min(cursor[Walk.FLOOR], arrays.floors[state])
    set_token_bits(record, np.uint64(node), nodes.first, nodes.token_ids, bits)
    end = node + int64(record >> SIZE_SHIFT)
    if begin >= end:
        return 0
    return walk_nodes(growth, arrays, nodes, scratch, begin, end, bits)


@inlined
def compute_missing_step(
    growth: Growth, arrays: MachineArrays, nodes: TrieView, scratch: Scratch, node: int
) -> int:
    """Compute the step from ``scratch.path`` into a trie node, as ``compute_step`` does."""
    record = nodes.records[node]
    offset = int64(scratch.path[np.int64((record >> DEPTH_SHIFT) & DEPTH_MASK)])
    byte_class = int64(nodes.classes[np.int64(record & BYTE_MASK)])
    return compute_step(growth, arrays, offset // arrays.groups.shape[1], byte_class)


@inlined
def walk_nodes(
    growth: Growth,
    arrays: MachineArrays,
    nodes: TrieView,
    scratch: Scratch,
    node: int,
    end: int,
    bits: Words,
) -> int:
    """Set the bits of the tokens readable at ``range(node, end)``, adding missing steps.

    Returns 0, or a ``Status``; then ``cursor[Walk.NODE]`` is the node to continue from.
    """
    cursor = scratch.cursor
    floor = int(cursor[Walk.FLOOR])
    while node < end:
        node, floor = mark_tokens(
            arrays.table, arrays.groups.shape[1], nodes.classes, arrays.floors, nodes.records,
            nodes.first, nodes.token_ids, scratch.path, node, end, floor, bits,
        )  # fmt: skip
        cursor[Walk.NODE], cursor[Walk.FLOOR] = node, floor
        if node < end:
            status = compute_missing_step(growth, arrays, nodes, scratch, node)
            if status < DEAD:
                return status
    return 0


@inlined
def find_loop(
    growth: Growth,
    arrays: MachineArrays,
    nodes: TrieView,
    scratch: Scratch,
    state: int,
    following: int,
) -> tuple[int, int]:
    """``self_loops.find_self_loop``, with the missing steps added that it needs.

    Returns its first two results, or a status below ``DEAD`` and 0.
    """
    while True:
        count, there, first = find_self_loop(
            arrays.table, arrays.groups.shape[1], nodes.classes, state, following, scratch.members,
            scratch.local,
        )  # fmt: skip
        if count > 0 and state == following and len(arrays.floors) > 0:
            return _add_supersets(growth, arrays, nodes, scratch, count), 0
        if count >= 0:
            return count, there
        for byte in range(first, 128 if first < 128 else 256):
            status = step_by(growth, arrays, nodes, scratch, there, byte)
            if status < DEAD:
                return status, 0


@inlined
def _add_supersets(
    growth: Growth, arrays: MachineArrays, nodes: TrieView, scratch: Scratch, count: int
) -> int:
    """Add the states to a loop that have its configurations and more.

    For example, a name that may also be the beginning of a keyword: bytes of the loop lead to it,
    and most of them back. Returns the new number of members, or a status below ``DEAD``.
    """
    members, local, member, first = scratch.members, scratch.local, int64(0), count
    while member < count:
        for byte in range(128 if member == 0 else 256):
            if member > 0:
                local[member, byte] = -1
            if (local[0, byte] >= 0) == (member == 0):  # a byte that needs no step
                continue
            target = step_by(growth, arrays, nodes, scratch, int64(members[member]), byte)
            if target < DEAD:
                return target
            index = int64(0)
            while index < count and members[index] != target:
                index += 1
            if index == count < len(members) and _has_all(arrays, target, int64(members[0])):
                members[count] = target
                count += 1
            if index < count:
                local[member, byte] = index
        member = max(member + 1, first)  # those in the middle of a character are complete
    return count


@inlined
def _has_all(arrays: MachineArrays, situation: int, part: int) -> bool:
    """Whether a situation, or ``DEAD``, has all configurations of another."""
    if situation < 0:
        return False
    position, end = arrays.about[part, FROM], arrays.about[part, TO]
    for k in range(arrays.about[situation, FROM], arrays.about[situation, TO]):
        if position < end and arrays.configurations[k] == arrays.configurations[position]:
            position += 1
    return bool(position == end)


@inlined
def ascii_bytes(scratch: Scratch, count: int) -> int:
    """The ASCII bytes that a loop of ``count`` members in ``scratch.local`` reads."""
    reads = int64(0)
    if count > 0:
        for byte in range(128):
            reads += scratch.local[0, byte] == 0
    return reads


@inlined
def covering_loop(
    growth: Growth,
    arrays: MachineArrays,
    nodes: TrieView,
    scratch: Scratch,
    situation: int,
    most: int,
) -> int:
    """Find the configuration that loops on the most ASCII bytes, as in a name or a comment.

    All tokens inside its loop can be read, whatever the other configurations read. Returns the
    number of members, as ``find_self_loop`` does, or 0 if none loops on more bytes than ``most``.
    """
    table, columns, best = growth.rules.table, nodes.columns, int64(-1)
    width = len(table) // len(growth.rules.flags)
    for k in range(arrays.about[situation, FROM], arrays.about[situation, TO]):
        state, reads = arrays.configurations[k] >> 32, int64(0)
        for byte in range(128):
            reads += table[state * width + columns[byte]] == state
        if reads > most:
            best, most = state, reads
    if best < 0:
        return 0
    count, _, _ = find_self_loop(table, width, columns, best, best, scratch.members, scratch.local)
    return count


@inlined
def _has_configuration(arrays: MachineArrays, situation: int, state: int) -> bool:
    """Whether a configuration of a situation is in a state of the network, with any stack."""
    position, end = arrays.about[situation, FROM], arrays.about[situation, TO]
    while position < end and arrays.configurations[position] >> 32 != state:
        position += 1
    return bool(position < end)


@inlined
def _walk_to_exits(
    growth: Growth, arrays: MachineArrays, nodes: TrieView, scratch: Scratch, node: int, state: int,
    exits: Ints, index: int, bits: Words,
) -> int:  # fmt: skip
    """Walk from a node whose byte leads to ``state`` to ``exits[index:]``, and below them.

    All tokens above the exits have their bits. Returns the index of the next exit after the
    subtree of the node, or a status below ``DEAD``.
    """
    width, cursor = arrays.groups.shape[1], scratch.cursor
    record = nodes.records[node]
    scratch.path[int64((record >> DEPTH_SHIFT) & DEPTH_MASK) + 1] = state * width
    current, stop = node + 1, node + int64(record >> SIZE_SHIFT)
    while current < stop and index < len(exits) and exits[index] < stop:
        record = nodes.records[current]
        past = current + int64(record >> SIZE_SHIFT)
        if exits[index] >= past:
            current = past
            continue
        level = int64((record >> DEPTH_SHIFT) & DEPTH_MASK)
        there = int64(arrays.table[scratch.path[level] + nodes.classes[record & BYTE_MASK]])
        if there == UNKNOWN:
            there = compute_missing_step(growth, arrays, nodes, scratch, current)
            if there < DEAD:
                return there
        if exits[index] == current:
            if there != DEAD:
                status = walk_below(
                    growth, arrays, nodes, scratch, current, there, current + 1, bits
                )
                if status < 0:
                    return status
            index += 1
            current = past
        else:  # the loop can read the byte
            scratch.path[level + 1] = there * width
            cursor[Walk.FLOOR] = min(cursor[Walk.FLOOR], arrays.floors[there])
            current += 1
    return index


@inlined
def cover_part(
    growth: Growth,
    arrays: MachineArrays,
    nodes: TrieView,
    scratch: Scratch,
    exits: Ints,
    bits: Words,
) -> int:
    """Correct the bits of a loop of configurations for a state that some bytes lead into it.

    Below such a byte all tokens inside the loop can be read: only the paths to its exits are
    walked. Below the others every node is walked. Returns 0, or a status below ``DEAD``.
    """
    cursor, index = scratch.cursor, int64(0)
    for byte in range(256):
        node = int64(nodes.children[cursor[Walk.PART], byte])
        if node < 0:
            continue
        target = step_by(growth, arrays, nodes, scratch, cursor[Walk.STATE], byte)
        if target < DEAD:
            return target
        while index < len(exits) and exits[index] < node:
            index += 1
        member = scratch.local[0, byte]
        if (
            target != DEAD
            and member >= 0
            and _has_configuration(arrays, target, int64(scratch.members[member]))
        ):
            cursor[Walk.FLOOR] = min(cursor[Walk.FLOOR], arrays.floors[target])
            index = _walk_to_exits(growth, arrays, nodes, scratch, node, target, exits, index, bits)
            if index < 0:
                return index
            continue
        if member >= 0:
            end = node + int64(nodes.records[node] >> SIZE_SHIFT)
            clear_token_bits(nodes, np.uint64(node), np.uint64(end), bits)
        if target != DEAD:
            status = walk_below(growth, arrays, nodes, scratch, node, target, node + 1, bits)
            if status < 0:
                return status
    return 0


@inlined
def clear_token_bits(nodes: TrieView, begin: np.uint64, end: np.uint64, bits: Words) -> None:
    """Clear the bits of the tokens that end at the nodes ``range(begin, end)``."""
    for k in range(nodes.first[begin], nodes.first[end]):
        token = nodes.token_ids[k]
        bits[token >> 5] &= ~(np.uint32(1) << np.uint32(token & 31))


@inlined
def has_steps(arrays: MachineArrays, state: int) -> bool:
    """Whether a state has any step that is not ``DEAD`` (it may be ``UNKNOWN``)."""
    width, column = arrays.groups.shape[1], 0
    while column < width and arrays.table[state * width + column] == DEAD:
        column += 1
    return bool(column < width)


@inlined
def range_after(ranges: Ints, index: int, count: int, node: int) -> int:
    """The first of the ranges from ``index`` on that ends after a node, or ``count``."""
    if index == count or ranges[index, 1] > node:
        return index
    jump = 1
    while index + jump < count and ranges[index + jump, 1] <= node:
        index, jump = index + jump, 2 * jump
    while jump > 0:
        if index + jump < count and ranges[index + jump, 1] <= node:
            index += jump
        jump //= 2
    return index + 1
