"""Finds equal mask rows without walking the trie; a machine that grows during the walk.

For a machine without a stack, ``bisimilar`` compares a state with that of the last computed row, as
deep as that row's walk went. Inside ``[a-z]{0,200}`` every state except the last ones has the row
of its predecessor; the comparison takes 1 µs, the walk 80.

For a machine with a stack, ``RowCache`` maps a *stack context* to a row. A situation is a set of
configurations (state, stack). Its row depends on the states and on the stack symbols that the walk
read, not on the symbols below these. The stack context consists of both: all symbols above the
stack that the configurations share, and the topmost symbols of that shared stack, as many as the
walk read. So one row serves every depth of nesting (Koo et al. 2024, Algorithm 3: the edges of the
composed machine whose pop string is that part of the stack).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.automata.determinize import fill_slots
from workbench.automata.lazy_dfa import UNKNOWN, fill_row
from workbench.base.dfa import DEAD
from workbench.base.kernels import inlined, inner, int64
from workbench.constraint.engine import trie_walk
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
    find_self_loop,
    mark_tokens,
    set_token_bits,
)
from workbench.pushdown.stepping import (
    DEPTH,
    FROM,
    PARENT,
    SYMBOL,
    TO,
    Growth,
    Longs,
    Room,
    mixed,
    successor,
)
from workbench.vocabulary.trie import Trie


@inner
def bisimilar(
    table: Ints, width: int, left: int, right: int, depth: int, partner: Ints, pairs: Ints
) -> bool:
    """Whether two states are bisimilar for ``depth`` bytes. False may be wrong, True is not.

    ``partner`` (Q,) is all 0 before and after the call; ``pairs`` (n, 2) is scratch.
    Source: bisimulation by pairs, as in Hopcroft & Karp 1971, up to a depth.
    """
    pairs[0, 0], pairs[0, 1], partner[left] = left, right, right + 1
    count, next_pair, result = 1, 0, True
    for _level in range(depth):
        level_end = count
        while next_pair < level_end and result:
            for column in range(width):
                one = table[pairs[next_pair, 0] * width + column]
                other = table[pairs[next_pair, 1] * width + column]
                if one < 0 or other < 0:
                    result &= one == other == DEAD
                elif partner[one] == 0 and count < len(pairs):
                    pairs[count, 0], pairs[count, 1], partner[one] = one, other, other + 1
                    count += 1
                else:
                    result &= partner[one] == other + 1
            next_pair += 1
    for k in range(count):
        partner[pairs[k, 0]] = 0
    return result


#: The half of a packed configuration that holds its stack node.
_LOW = 0xFFFFFFFF
#: Hashed at the end of each configuration, and at the bottom of the stack.
_NEXT, _BOTTOM = 1 << 33, 1 << 34


class RowCache(NamedTuple):
    """The computed rows of a stack machine, by their stack context.

    Shape: ``rows`` (capacity, 2) int32: the situation for which a row was computed, and how many
           symbols of the shared stack its walk read (the bottom counts as one); ``hashes``
           (capacity,) int64, of the contexts; ``slots`` (4 · capacity,) int32, a hash table of row
           numbers with linear probing, −1 where free; ``used`` (2,) int64: the number of rows, and
           the most symbols of the shared stack that any of them read.
    """

    rows: Ints
    hashes: Longs
    slots: Ints
    used: Longs

    @staticmethod
    def of(capacity: int) -> RowCache:
        """An empty cache for ``capacity`` rows, a power of two."""
        return RowCache(
            np.empty((capacity, 2), np.int32),
            np.empty(capacity, np.int64),
            np.full(4 * capacity, -1, np.int32),
            np.zeros(2, np.int64),
        )


def doubled(cache: RowCache) -> RowCache:
    """A copy of a row cache with twice the capacity."""
    wider = RowCache.of(2 * len(cache.rows))
    count = int(cache.used[0])
    wider.rows[:count], wider.hashes[:count] = cache.rows[:count], cache.hashes[:count]
    wider.used[:] = cache.used
    fill_slots(wider.hashes[:count], wider.slots)
    return wider


@inner
def find_row(room: Room, cache: RowCache, situation: int) -> int:
    """The number of the row with the same stack context as a situation, or −1."""
    base = _base(room, situation)
    key, node = _hash_above(room, situation, base), base
    max_depth = int(cache.used[1])
    for depth in range(max_depth + 1):
        slot = key & (len(cache.slots) - 1)
        while cache.slots[slot] >= 0:
            row = cache.slots[slot]
            if (
                cache.hashes[row] == key
                and cache.rows[row, 1] == depth
                and _same_context(room, situation, base, int64(cache.rows[row, 0]), depth)
            ):
                return int(row)
            slot = (slot + 1) & (len(cache.slots) - 1)
        if node < 0:
            return -1
        key, node = _below(room, key, node)
    return -1


@inner
def store_row(room: Room, cache: RowCache, situation: int, floor: int) -> int:
    """Add a row computed for a situation, whose walk read the stack down to depth ``floor``."""
    base = _base(room, situation)
    key, node = _hash_above(room, situation, base), base
    depth = max(0, int(room.nodes[base, DEPTH]) - floor)
    for _ in range(depth):
        key, node = _below(room, key, node)
    row = int(cache.used[0])
    slot = key & (len(cache.slots) - 1)
    while cache.slots[slot] >= 0:
        slot = (slot + 1) & (len(cache.slots) - 1)
    cache.slots[slot] = row
    cache.rows[row, 0], cache.rows[row, 1], cache.hashes[row] = situation, depth, key
    cache.used[0] += 1
    cache.used[1] = max(int(cache.used[1]), depth)
    return row


@inner
def _below(room: Room, key: int, node: int) -> tuple[int, int]:
    """The hash extended by the top symbol of a stack, and the stack below; −1 below the bottom."""
    if node == 0:
        return mixed(key, int64(_BOTTOM)), -1
    return mixed(key, int64(room.nodes[node, SYMBOL])), int64(room.nodes[node, PARENT])


@inner
def _base(room: Room, situation: int) -> int:
    """The largest common lower part of the stacks of all configurations of a situation."""
    nodes, begin = room.nodes, room.about[situation, FROM]
    base = room.configurations[begin] & _LOW
    for k in range(begin + 1, room.about[situation, TO]):
        other = room.configurations[k] & _LOW
        while base != other:
            if nodes[base, DEPTH] >= nodes[other, DEPTH]:
                base = int64(nodes[base, PARENT])
            else:
                other = int64(nodes[other, PARENT])
    return int(base)


@inner
def _hash_above(room: Room, situation: int, base: int) -> int:
    """A hash of the states, and of the stack symbols above the shared stack ``base``."""
    key = int64(1)
    for k in range(room.about[situation, FROM], room.about[situation, TO]):
        key = mixed(key, room.configurations[k] >> 32)
        node = room.configurations[k] & _LOW
        while node != base:
            key = mixed(key, int64(room.nodes[node, SYMBOL]))
            node = int64(room.nodes[node, PARENT])
        key = mixed(key, int64(_NEXT))
    return key


@inner
def _same_context(room: Room, left: int, left_base: int, right: int, depth: int) -> bool:
    """Whether two situations have the same stack context, with ``depth`` symbols of the base."""
    right_base = _base(room, right)
    begin, other = room.about[left, FROM], room.about[right, FROM]
    count = room.about[left, TO] - begin
    if room.about[right, TO] - other != count:
        return False
    for k in range(count):
        one, two = room.configurations[begin + k], room.configurations[other + k]
        if one >> 32 != two >> 32:
            return False
        if not _same_above(room, int(one & _LOW), left_base, int(two & _LOW), right_base):
            return False
    return _same_below(room, left_base, right_base, depth)


@inner
def _same_above(room: Room, left: int, left_base: int, right: int, right_base: int) -> bool:
    """Whether two stacks are equal above the given nodes."""
    nodes = room.nodes
    while left != left_base and right != right_base:
        if nodes[left, SYMBOL] != nodes[right, SYMBOL]:
            return False
        left, right = int64(nodes[left, PARENT]), int64(nodes[right, PARENT])
    return left == left_base and right == right_base


@inner
def _same_below(room: Room, left: int, right: int, depth: int) -> bool:
    """Whether the ``depth`` topmost symbols of two stacks are equal; the bottom counts as one."""
    nodes = room.nodes
    for _ in range(depth):
        if left == right:
            return True
        if left == 0 or right == 0 or nodes[left, SYMBOL] != nodes[right, SYMBOL]:
            return False
        left, right = int64(nodes[left, PARENT]), int64(nodes[right, PARENT])
    return True


# -- machines that grow ---------------------------------------------------------------------------
# A machine that grows during the trie walk: its arrays, and the kernels that add missing steps.
#
# A step of the machine that is ``UNKNOWN`` is computed when the walk reaches it: from the rules of
# a network, or by the subset construction. The arguments of these kernels are bundled in
# NamedTuples of arrays, because a kernel with few arguments is faster to call and easier to read.
#
# The kernels that can fail to add a step return a negative status below ``DEAD`` (the ``FULL_…``,
# ``PAUSED`` and ``TOO_DEEP`` codes of ``pushdown.stepping`` and ``lazy_dfa.FULL_SETS``). The caller
# then makes room or checks the clock, and calls the kernel again.


#: Indexes into ``Scratch.cursor``, the state of an interrupted row computation.
#:
#: ============== ===========================================================================
#: PART           the part of the trie that is being walked (a row of ``TrieView.runs``)
#: NODE           the next trie node of that part; 0 if the part is not begun
#: FLOOR          the lowest stack depth read
#: STATE          the machine's state at the beginning of the part, or ``DEAD``
#: LOOP_SIZE      the number of member states of the self-loop that the caller must look up
#: ROWS_COMPUTED  the number of rows computed (machines without a stack)
#: USED_LOOP      1 if a self-loop contributed to this row, 2 if the last one was no situation's
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
    #: ``runs`` and ``children`` are those of ``trie_walk.Parts``.
    runs: Ints
    children: Ints
    classes: Classes
    #: The column of each byte in the table of a network; (0,) for a machine without a stack.
    columns: Classes

    @staticmethod
    def of(trie: Trie, classes: Classes, columns: Ints) -> TrieView:
        """The view of a trie for a machine with these byte classes; ``columns`` as in ``Rules``."""
        runs, children = trie.shared(trie_walk.SelfLoopCache).parts(trie)
        of_bytes = columns[classes if len(columns) else classes[:0]].astype(np.uint16)
        return TrieView(trie.records, trie.first, trie.token_ids, runs, children, classes, of_bytes)


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
            members=np.empty(_MAX_LOOP_STATES, np.int32),
            local=np.empty((_MAX_LOOP_STATES, 256), np.int8),
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
    """``trie_walk.find_self_loop``, with the missing steps added that it needs.

    Returns its first two results, or a status below ``DEAD`` and 0.
    """
    while True:
        count, there, first = find_self_loop(
            room.table, room.groups.shape[1], nodes.classes, state, following, scratch.members,
            scratch.local,
        )  # fmt: skip
        if count > 0 and state == following and len(room.floors) > 0:
            return _add_supersets(growth, room, nodes, scratch, count), 0
        if count >= 0:
            return count, there
        for byte in range(first, 128 if first < 128 else 256):
            status = step_by(growth, room, nodes, scratch, there, byte)
            if status < DEAD:
                return status, 0


@inlined
def _add_supersets(
    growth: Growth, room: Room, nodes: TrieView, scratch: Scratch, count: int
) -> int:
    """Add the states to a loop that have its configurations and more.

    For example, a name that may also be the beginning of a keyword: bytes of the loop lead to it,
    and most of them back. Returns the new number of members, or a status below ``DEAD``.
    """
    members, local, at, first = scratch.members, scratch.local, int64(0), count
    while at < count:
        for byte in range(128 if at == 0 else 256):
            if at > 0:
                local[at, byte] = -1
            if (local[0, byte] >= 0) == (at == 0):  # a byte that needs no step
                continue
            target = step_by(growth, room, nodes, scratch, int64(members[at]), byte)
            if target < DEAD:
                return target
            index = int64(0)
            while index < count and members[index] != target:
                index += 1
            if index == count < len(members) and _has_all(room, target, int64(members[0])):
                members[count] = target
                count += 1
            if index < count:
                local[at, byte] = index
        at = max(at + 1, first)  # those in the middle of a character are complete
    return count


@inlined
def _has_all(room: Room, situation: int, part: int) -> bool:
    """Whether a situation, or ``DEAD``, has all configurations of another."""
    if situation < 0:
        return False
    at, end = room.about[part, FROM], room.about[part, TO]
    for k in range(room.about[situation, FROM], room.about[situation, TO]):
        if at < end and room.configurations[k] == room.configurations[at]:
            at += 1
    return bool(at == end)


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
    growth: Growth, room: Room, nodes: TrieView, scratch: Scratch, situation: int, most: int
) -> int:
    """Find the configuration that loops on the most ASCII bytes, as in a name or a comment.

    All tokens inside its loop can be read, whatever the other configurations read. Returns the
    number of members, as ``find_self_loop`` does, or 0 if none loops on more bytes than ``most``.
    """
    table, columns, found = growth.rules.table, nodes.columns, int64(-1)
    width = len(table) // len(growth.rules.flags)
    for k in range(room.about[situation, FROM], room.about[situation, TO]):
        state, reads = room.configurations[k] >> 32, int64(0)
        for byte in range(128):
            reads += table[state * width + columns[byte]] == state
        if reads > most:
            found, most = state, reads
    if found < 0:
        return 0
    count, _, _ = find_self_loop(
        table, width, columns, found, found, scratch.members, scratch.local
    )
    return count


@inlined
def _has_configuration(room: Room, situation: int, state: int) -> bool:
    """Whether a configuration of a situation is in a state of the network, with any stack."""
    at, end = room.about[situation, FROM], room.about[situation, TO]
    while at < end and room.configurations[at] >> 32 != state:
        at += 1
    return bool(at < end)


@inlined
def _walk_to_exits(
    growth: Growth, room: Room, nodes: TrieView, scratch: Scratch, node: int, state: int,
    exits: Ints, index: int, bits: Words,
) -> int:  # fmt: skip
    """Walk from a node whose byte leads to ``state`` to ``exits[index:]``, and below them.

    All tokens above the exits have their bits. Returns the index of the next exit after the
    subtree of the node, or a status below ``DEAD``.
    """
    width, cursor = room.groups.shape[1], scratch.cursor
    record = nodes.records[node]
    scratch.path[int64((record >> DEPTH_SHIFT) & DEPTH_MASK) + 1] = state * width
    at, stop = node + 1, node + int64(record >> SIZE_SHIFT)
    while at < stop and index < len(exits) and exits[index] < stop:
        record = nodes.records[at]
        past = at + int64(record >> SIZE_SHIFT)
        if exits[index] >= past:
            at = past
            continue
        level = int64((record >> DEPTH_SHIFT) & DEPTH_MASK)
        there = int64(room.table[scratch.path[level] + nodes.classes[record & BYTE_MASK]])
        if there == UNKNOWN:
            there = compute_missing_step(growth, room, nodes, scratch, at)
            if there < DEAD:
                return there
        if exits[index] == at:
            if there != DEAD:
                status = walk_below(growth, room, nodes, scratch, at, there, at + 1, bits)
                if status < 0:
                    return status
            index += 1
            at = past
        else:  # the loop can read the byte
            scratch.path[level + 1] = there * width
            cursor[FLOOR] = min(cursor[FLOOR], room.floors[there])
            at += 1
    return index


@inlined
def cover_part(
    growth: Growth, room: Room, nodes: TrieView, scratch: Scratch, exits: Ints, bits: Words
) -> int:
    """Correct the bits of a loop of configurations for a state that some bytes lead into it.

    Below such a byte all tokens inside the loop can be read: only the paths to its exits are
    walked. Below the others every node is walked. Returns 0, or a status below ``DEAD``.
    """
    cursor, index = scratch.cursor, int64(0)
    for byte in range(256):
        node = int64(nodes.children[cursor[PART], byte])
        if node < 0:
            continue
        target = step_by(growth, room, nodes, scratch, cursor[STATE], byte)
        if target < DEAD:
            return target
        while index < len(exits) and exits[index] < node:
            index += 1
        member = scratch.local[0, byte]
        if (
            target != DEAD
            and member >= 0
            and _has_configuration(room, target, int64(scratch.members[member]))
        ):
            cursor[FLOOR] = min(cursor[FLOOR], room.floors[target])
            index = _walk_to_exits(growth, room, nodes, scratch, node, target, exits, index, bits)
            if index < 0:
                return index
            continue
        if member >= 0:
            end = node + int64(nodes.records[node] >> SIZE_SHIFT)
            clear_token_bits(nodes, np.uint64(node), np.uint64(end), bits)
        if target != DEAD:
            status = walk_below(growth, room, nodes, scratch, node, target, node + 1, bits)
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
def has_steps(room: Room, state: int) -> bool:
    """Whether a state has any step that is not ``DEAD`` (it may be ``UNKNOWN``)."""
    width, column = room.groups.shape[1], 0
    while column < width and room.table[state * width + column] == DEAD:
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
