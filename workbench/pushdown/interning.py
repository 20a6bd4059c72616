"""Interning: equal stacks have one number, equal sets of configurations have one number.

Kernels over the arrays of a ``Room``: a stack node is known by the stack below it and its symbol,
a situation by its configurations. Both are found in open hash tables, or added.
"""

from __future__ import annotations

import numpy as np

from workbench.automata.dfa import DEAD
from workbench.automata.lazy import UNKNOWN
from workbench.kernel import inner, int64, njit
from workbench.pushdown import room as rooms
from workbench.pushdown.room import Longs, Room, Rules

_DEAD, _UNKNOWN = DEAD, UNKNOWN
_NODES, _SITUATIONS, _CONFIGURATIONS = rooms.NODES, rooms.SITUATIONS, rooms.CONFIGURATIONS
_PARENT, _SYMBOL, _DEPTH = rooms.PARENT, rooms.SYMBOL, rooms.DEPTH
_FROM, _TO, _ACCEPTS, _GROUPS = rooms.FROM, rooms.TO, rooms.ACCEPTS, rooms.GROUPS
_FULL_NODES, _FULL_SITUATIONS = rooms.FULL_NODES, rooms.FULL_SITUATIONS
_FULL_CONFIGURATIONS, _FULL_FOUND = rooms.FULL_CONFIGURATIONS, rooms.FULL_FOUND
_TOO_DEEP, _DEEPEST, _FINAL = rooms.TOO_DEEP, rooms.DEEPEST, rooms.FINAL
_LOW = 0xFFFFFFFF


@inner
def mixed(marks: int, number: int) -> int:
    """One more number taken into a hash, a non-negative int64."""
    bits = (np.uint64(marks) ^ np.uint64(number)) * np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(29)
    return int64(bits >> np.uint64(1))


@inner
def push(room: Room, node: int, symbol: int) -> int:
    """The stack with a symbol more, or ``FULL_NODES`` or ``TOO_DEEP``."""
    nodes, slots = room.nodes, room.node_slots
    slot = mixed(node + 1, symbol) & (len(slots) - 1)
    while slots[slot] >= 0:
        known = slots[slot]
        if nodes[known, _PARENT] == node and nodes[known, _SYMBOL] == symbol:
            return int(known)
        slot = (slot + 1) & (len(slots) - 1)
    made, depth = int(room.used[_NODES]), nodes[node, _DEPTH] + 1
    if made == len(nodes):
        return _FULL_NODES
    if depth > room.used[_DEEPEST]:
        return _TOO_DEEP
    nodes[made, _PARENT], nodes[made, _SYMBOL], nodes[made, _DEPTH] = node, symbol, depth
    slots[slot] = made
    room.used[_NODES] += 1
    return made


@inner
def insert(found: Longs, count: int, configuration: int) -> int:
    """Put a configuration among the first ``count``, which are sorted; how many there are then."""
    at = count
    while at > 0 and found[at - 1] > configuration:
        at -= 1
    if at > 0 and found[at - 1] == configuration:
        return count
    if count == len(found):
        return _FULL_FOUND
    for k in range(count, at, -1):
        found[k] = found[k - 1]
    found[at] = configuration
    return count + 1


@njit(cache=True, nogil=True, _nrt=False)
def number(rules: Rules, room: Room, count: int, floor: int) -> int:
    """The number of the situation in ``room.found``, or what is full.

    All its states are open.
    """
    found, configurations, about, slots = room.found, room.configurations, room.about, room.slots
    slot = hash_of(found, int64(0), count) & (len(slots) - 1)
    while slots[slot] >= 0:
        known = slots[slot]
        if _same(
            found, count, configurations, int64(about[known, _FROM]), int64(about[known, _TO])
        ):
            room.floors[known] = min(int(room.floors[known]), floor)
            return int(known)
        slot = (slot + 1) & (len(slots) - 1)
    made, begin = int(room.used[_SITUATIONS]), int(room.used[_CONFIGURATIONS])
    if made == len(about):
        return _FULL_SITUATIONS
    if begin + count > len(configurations):
        return _FULL_CONFIGURATIONS
    accepts = 0
    for k in range(count):
        configurations[begin + k] = found[k]
        accepts |= (found[k] & _LOW) == 0 and (rules.flags[found[k] >> 32] & _FINAL) != 0
    about[made, _FROM], about[made, _TO], about[made, _ACCEPTS] = begin, begin + count, accepts
    room.floors[made] = floor
    slots[slot] = made
    room.used[_SITUATIONS] += 1
    room.used[_CONFIGURATIONS] += count
    _rule_out(room, made)
    return made


@inner
def _rule_out(room: Room, situation: int) -> None:
    """Mark the byte classes that no configuration can read."""
    classes = room.groups.shape[1]
    begin, end = room.about[situation, _FROM], room.about[situation, _TO]
    for byte_class in range(classes):
        reads = False
        for k in range(begin, end):
            row = room.opened[room.configurations[k] >> 32, _GROUPS]
            reads |= room.groups[row, byte_class] != 0
        if not reads:
            room.table[situation * classes + byte_class] = _DEAD


@inner
def hash_of(configurations: Longs, begin: int, end: int) -> int:
    """A hash of some configurations, a non-negative int64."""
    marks = int64(1)
    for k in range(begin, end):
        marks = mixed(marks, configurations[k])
    return marks


@inner
def _same(found: Longs, count: int, configurations: Longs, begin: int, end: int) -> bool:
    at = 0
    while at < count and begin + at < end and found[at] == configurations[begin + at]:
        at += 1
    return at == count == end - begin
