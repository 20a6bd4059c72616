"""Equal rows of a stack machine, found without a walk.

In come two states of one machine and how many bytes deep the walk from the first one came; out
comes whether the walk from the second would come by the same ways. Inside ``[a-z]{0,200}`` every
state but the last ones has the row of the one before; found out in 1 µs instead of 80.

In comes a situation; out comes the number of a row known to be its own. A row depends on the states
of a situation and on the stack symbols its walk looked at, on nothing below. Both together are a
*cut*: the stack symbols above the stack all configurations share, and as many of that stack as
were looked at. So one row serves every depth of nesting (Koo et al. 2024, Algorithm 3: the edges
of the composed machine whose pop string is that piece of stack).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.base.dfa import DEAD
from workbench.base.kernels import inner, int64, njit
from workbench.constraint.engine.trie_walk import Ints
from workbench.pushdown.buffers import DEPTH, FROM, PARENT, SYMBOL, TO, Longs, Room
from workbench.pushdown.stepping import mixed


@inner
def alike(
    table: Ints, width: int, left: int, right: int, depth: int, partner: Ints, pairs: Ints
) -> bool:
    """Whether two states are bisimilar for ``depth`` bytes; may say no where they are.

    ``partner`` (Q,) is all 0 before and after, ``pairs`` (n, 2) is scratch.
    Source: bisimulation by pairs, as in Hopcroft & Karp 1971, cut at a depth.
    """
    pairs[0, 0], pairs[0, 1], partner[left] = left, right, right + 1
    count, at, result = 1, 0, True
    for _level in range(depth):
        level_end = count
        while at < level_end and result:
            for column in range(width):
                one = table[pairs[at, 0] * width + column]
                other = table[pairs[at, 1] * width + column]
                if one < 0 or other < 0:
                    result &= one == other == DEAD
                elif partner[one] == 0 and count < len(pairs):
                    pairs[count, 0], pairs[count, 1], partner[one] = one, other, other + 1
                    count += 1
                else:
                    result &= partner[one] == other + 1
            at += 1
    for k in range(count):
        partner[pairs[k, 0]] = 0
    return result


_LOW = 0xFFFFFFFF
#: Taken into a hash where a configuration ends, and where the stack does.
_NEXT, _BOTTOM = 1 << 33, 1 << 34


class Cuts(NamedTuple):
    """The rows known by what they looked at.

    Shape: ``rows`` (capacity, 2) int32: a situation the row was made for, and how many symbols of
           the shared stack it looked at, the bottom counted as one; ``hashes`` (capacity,) int64;
           ``slots`` the hash table of row numbers, −1 where free; ``used`` (2,) int64: how many
           rows there are, and the most symbols any looked at.
    """

    rows: Ints
    hashes: Longs
    slots: Ints
    used: Longs

    @staticmethod
    def of(capacity: int) -> Cuts:
        """Room for that many rows."""
        return Cuts(
            np.empty((capacity, 2), np.int32),
            np.empty(capacity, np.int64),
            np.full(4 * capacity, -1, np.int32),
            np.zeros(2, np.int64),
        )


def larger(cuts: Cuts) -> Cuts:
    """The same rows with room for twice as many."""
    wider = Cuts.of(2 * len(cuts.rows))
    count = int(cuts.used[0])
    wider.rows[:count], wider.hashes[:count] = cuts.rows[:count], cuts.hashes[:count]
    wider.used[:] = cuts.used
    _enter(wider.hashes, wider.slots, count)
    return wider


@njit(cache=True, nogil=True, _nrt=False)
def _enter(hashes: Longs, slots: Ints, count: int) -> None:
    for row in range(count):
        slot = hashes[row] & (len(slots) - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = row


@inner
def known_row(room: Room, cuts: Cuts, situation: int) -> int:
    """The number of the row of a situation, or −1 where none looked at the same."""
    base = _base(room, situation)
    marks, node = _hash_above(room, situation, base), base
    deepest = int(cuts.used[1])
    for looked in range(deepest + 1):
        slot = marks & (len(cuts.slots) - 1)
        while cuts.slots[slot] >= 0:
            row = cuts.slots[slot]
            if (
                cuts.hashes[row] == marks
                and cuts.rows[row, 1] == looked
                and _same_cut(room, situation, base, int64(cuts.rows[row, 0]), looked)
            ):
                return int(row)
            slot = (slot + 1) & (len(cuts.slots) - 1)
        if node < 0:
            return -1
        marks, node = _below(room, marks, node)
    return -1


@inner
def keep_row(room: Room, cuts: Cuts, situation: int, floor: int) -> int:
    """Remember that a row was made for a situation, whose walk looked down to ``floor``."""
    base = _base(room, situation)
    marks, node = _hash_above(room, situation, base), base
    looked = max(0, int(room.nodes[base, DEPTH]) - floor)
    for _ in range(looked):
        marks, node = _below(room, marks, node)
    row = int(cuts.used[0])
    slot = marks & (len(cuts.slots) - 1)
    while cuts.slots[slot] >= 0:
        slot = (slot + 1) & (len(cuts.slots) - 1)
    cuts.slots[slot] = row
    cuts.rows[row, 0], cuts.rows[row, 1], cuts.hashes[row] = situation, looked, marks
    cuts.used[0] += 1
    cuts.used[1] = max(int(cuts.used[1]), looked)
    return row


@inner
def _below(room: Room, marks: int, node: int) -> tuple[int, int]:
    """The hash with one symbol more of the shared stack, and what is below; −1 past the bottom."""
    if node == 0:
        return mixed(marks, int64(_BOTTOM)), -1
    return mixed(marks, int64(room.nodes[node, SYMBOL])), int64(room.nodes[node, PARENT])


@inner
def _base(room: Room, situation: int) -> int:
    """The largest stack that all configurations of a situation have at their bottoms."""
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
    """A hash of the configurations above the stack they share."""
    marks = int64(1)
    for k in range(room.about[situation, FROM], room.about[situation, TO]):
        marks = mixed(marks, room.configurations[k] >> 32)
        node = room.configurations[k] & _LOW
        while node != base:
            marks = mixed(marks, int64(room.nodes[node, SYMBOL]))
            node = int64(room.nodes[node, PARENT])
        marks = mixed(marks, int64(_NEXT))
    return marks


@inner
def _same_cut(room: Room, left: int, left_base: int, right: int, looked: int) -> bool:
    """Whether two situations agree in all of their cuts."""
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
    return _same_below(room, left_base, right_base, looked)


@inner
def _same_above(room: Room, left: int, left_base: int, right: int, right_base: int) -> bool:
    """Whether two stacks are equal above the nodes given."""
    nodes = room.nodes
    while left != left_base and right != right_base:
        if nodes[left, SYMBOL] != nodes[right, SYMBOL]:
            return False
        left, right = int64(nodes[left, PARENT]), int64(nodes[right, PARENT])
    return left == left_base and right == right_base


@inner
def _same_below(room: Room, left: int, right: int, looked: int) -> bool:
    """Whether the topmost symbols of two stacks are equal, the bottom counted as one."""
    nodes = room.nodes
    for _ in range(looked):
        if left == right:
            return True
        if left == 0 or right == 0 or nodes[left, SYMBOL] != nodes[right, SYMBOL]:
            return False
        left, right = int64(nodes[left, PARENT]), int64(nodes[right, PARENT])
    return True
