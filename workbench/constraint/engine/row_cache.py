"""Finds equal mask rows without walking the trie.

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
from workbench.base.dfa import DEAD
from workbench.base.kernels import inner, int64
from workbench.constraint.engine.trie_walk import (
    Ints,
)
from workbench.pushdown.machine_arrays import DEPTH, FROM, PARENT, SYMBOL, TO, Longs, MachineArrays
from workbench.pushdown.stepping import mixed


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
                target = table[pairs[next_pair, 0] * width + column]
                other = table[pairs[next_pair, 1] * width + column]
                if target < 0 or other < 0:
                    result &= target == other == DEAD
                elif partner[target] == 0 and count < len(pairs):
                    pairs[count, 0], pairs[count, 1], partner[target] = target, other, other + 1
                    count += 1
                else:
                    result &= partner[target] == other + 1
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
def find_row(arrays: MachineArrays, cache: RowCache, situation: int) -> int:
    """The number of the row with the same stack context as a situation, or −1."""
    base = _base(arrays, situation)
    key, node = _hash_above(arrays, situation, base), base
    max_depth = int(cache.used[1])
    for depth in range(max_depth + 1):
        slot = key & (len(cache.slots) - 1)
        while cache.slots[slot] >= 0:
            row = cache.slots[slot]
            if (
                cache.hashes[row] == key
                and cache.rows[row, 1] == depth
                and _same_context(arrays, situation, base, int64(cache.rows[row, 0]), depth)
            ):
                return int(row)
            slot = (slot + 1) & (len(cache.slots) - 1)
        if node < 0:
            return -1
        key, node = _below(arrays, key, node)
    return -1


@inner
def store_row(arrays: MachineArrays, cache: RowCache, situation: int, floor: int) -> int:
    """Add a row computed for a situation, whose walk read the stack down to depth ``floor``."""
    base = _base(arrays, situation)
    key, node = _hash_above(arrays, situation, base), base
    depth = max(0, int(arrays.nodes[base, DEPTH]) - floor)
    for _ in range(depth):
        key, node = _below(arrays, key, node)
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
def _below(arrays: MachineArrays, key: int, node: int) -> tuple[int, int]:
    """The hash extended by the top symbol of a stack, and the stack below; −1 below the bottom."""
    if node == 0:
        return mixed(key, int64(_BOTTOM)), -1
    return mixed(key, int64(arrays.nodes[node, SYMBOL])), int64(arrays.nodes[node, PARENT])


@inner
def _base(arrays: MachineArrays, situation: int) -> int:
    """The largest common lower part of the stacks of all configurations of a situation."""
    nodes, begin = arrays.nodes, arrays.about[situation, FROM]
    base = arrays.configurations[begin] & _LOW
    for k in range(begin + 1, arrays.about[situation, TO]):
        other = arrays.configurations[k] & _LOW
        while base != other:
            if nodes[base, DEPTH] >= nodes[other, DEPTH]:
                base = int64(nodes[base, PARENT])
            else:
                other = int64(nodes[other, PARENT])
    return int(base)


@inner
def _hash_above(arrays: MachineArrays, situation: int, base: int) -> int:
    """A hash of the states, and of the stack symbols above the shared stack ``base``."""
    key = int64(1)
    for k in range(arrays.about[situation, FROM], arrays.about[situation, TO]):
        key = mixed(key, arrays.configurations[k] >> 32)
        node = arrays.configurations[k] & _LOW
        while node != base:
            key = mixed(key, int64(arrays.nodes[node, SYMBOL]))
            node = int64(arrays.nodes[node, PARENT])
        key = mixed(key, int64(_NEXT))
    return key


@inner
def _same_context(arrays: MachineArrays, left: int, left_base: int, right: int, depth: int) -> bool:
    """Whether two situations have the same stack context, with ``depth`` symbols of the base."""
    right_base = _base(arrays, right)
    begin, other = arrays.about[left, FROM], arrays.about[right, FROM]
    count = arrays.about[left, TO] - begin
    if arrays.about[right, TO] - other != count:
        return False
    for k in range(count):
        first, second = arrays.configurations[begin + k], arrays.configurations[other + k]
        if first >> 32 != second >> 32:
            return False
        if not _same_above(arrays, int(first & _LOW), left_base, int(second & _LOW), right_base):
            return False
    return _same_below(arrays, left_base, right_base, depth)


@inner
def _same_above(
    arrays: MachineArrays, left: int, left_base: int, right: int, right_base: int
) -> bool:
    """Whether two stacks are equal above the given nodes."""
    nodes = arrays.nodes
    while left != left_base and right != right_base:
        if nodes[left, SYMBOL] != nodes[right, SYMBOL]:
            return False
        left, right = int64(nodes[left, PARENT]), int64(nodes[right, PARENT])
    return left == left_base and right == right_base


@inner
def _same_below(arrays: MachineArrays, left: int, right: int, depth: int) -> bool:
    """Whether the ``depth`` topmost symbols of two stacks are equal; the bottom counts as one."""
    nodes = arrays.nodes
    for _ in range(depth):
        if left == right:
            return True
        if left == 0 or right == 0 or nodes[left, SYMBOL] != nodes[right, SYMBOL]:
            return False
        left, right = int64(nodes[left, PARENT]), int64(nodes[right, PARENT])
    return True
