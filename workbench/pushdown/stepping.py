"""Stepping: where a situation leads by a byte class, as kernels over a ``Room``.

A state is opened once: everything it can call before it reads, with what is pushed on the way.
Then a step moves every configuration, lets finished rules return, and numbers what is found.
"""

from __future__ import annotations

from workbench.automata.dfa import DEAD
from workbench.kernel import inner, int64, njit
from workbench.pushdown import room as rooms
from workbench.pushdown.interning import insert, mixed, number, push
from workbench.pushdown.room import Room, Rules

_DEAD = DEAD
_OPENINGS, _PUSHES, _OPENED = rooms.OPENINGS, rooms.PUSHES, rooms.OPENED
_BREATH, _PAUSED = rooms.BREATH, rooms.PAUSED
_PARENT, _SYMBOL, _DEPTH = rooms.PARENT, rooms.SYMBOL, rooms.DEPTH
_BEGIN, _END, _GROUPS, _FROM, _TO = rooms.BEGIN, rooms.END, rooms.GROUPS, rooms.FROM, rooms.TO
_FINAL, _GOES_ON, _STAR = rooms.FINAL, rooms.GOES_ON, rooms.STAR
_FULL_OPENINGS = rooms.FULL_OPENINGS
_NO_FLOOR = 2**31 - 1


@njit(cache=True, nogil=True, _nrt=False)
def successor(rules: Rules, room: Room, situation: int, byte_class: int) -> int:
    """Compute and keep a step: the next situation, ``DEAD``, or why it has to wait.

    Classes no configuration tells apart lead to the same place: all are filled in.
    """
    if room.used[_BREATH] <= 0:
        return _PAUSED
    room.used[_BREATH] -= 1
    begin, end = room.about[situation, _FROM], room.about[situation, _TO]
    count, floor = int64(0), int64(_NO_FLOOR)
    for k in range(begin, end):
        state, node = room.configurations[k] >> 32, room.configurations[k] & 0xFFFFFFFF
        count, lowest = _move(rules, room, state, node, byte_class, count)
        if count < 0:
            return count
        floor = min(floor, lowest)
    result = _DEAD
    if count > 0:
        for k in range(count):
            opened = open_state(rules, room, int(room.found[k] >> 32))
            if opened < 0:
                return opened
        result = number(rules, room, count, floor)
        if result < 0:
            return result
    classes = room.groups.shape[1]
    for other in range(classes):
        alike = True
        for k in range(begin, end):
            row = room.opened[room.configurations[k] >> 32, _GROUPS]
            alike &= room.groups[row, other] == room.groups[row, byte_class]
        if alike:
            room.table[situation * classes + other] = result
    return result


@inner
def _move(
    rules: Rules, room: Room, state: int, node: int, byte_class: int, count: int
) -> tuple[int, int]:
    """Add where one configuration leads to; how many are found then, and the lowest depth."""
    width, column = len(rules.table) // len(rules.flags), rules.columns[byte_class]
    floor = int64(_NO_FLOOR)
    for opening in range(room.opened[state, _BEGIN], room.opened[state, _END]):
        target = rules.table[room.openings[opening, 0] * width + column]
        if target < 0:
            continue
        inner = node
        for k in range(room.openings[opening, 1], room.openings[opening, 2]):
            symbol = room.pushes[k]
            if rules.flags[symbol] & _STAR:
                floor = min(floor, int(room.nodes[inner, _DEPTH]) - 1)
                if symbol == room.nodes[inner, _SYMBOL]:
                    continue  # r above r reads no more than r alone
            inner = push(room, inner, int64(symbol))
            if inner < 0:
                return inner, floor
        count, lowest = settle(rules, room, int64(target), inner, count)
        if count < 0:
            return count, floor
        floor = min(floor, lowest)
    return count, floor


@inner
def settle(rules: Rules, room: Room, state: int, node: int, count: int) -> tuple[int, int]:
    """Add a configuration and all it returns to; how many are found then, and the lowest depth.

    Where a rule may end here its caller goes on, so both stay alive. What can only return is
    not kept itself; neither is a state above itself where its texts may be repeated anyway.
    """
    nodes = room.nodes
    floor = int(nodes[node, _DEPTH])
    while True:
        if rules.flags[state] & _STAR:
            while state == nodes[node, _SYMBOL]:
                node = int(nodes[node, _PARENT])
            floor = min(floor, int(nodes[node, _DEPTH]) - 1)
        if node == 0 or rules.flags[state] & _GOES_ON:
            more = insert(room.found, count, state << 32 | node)
            if more <= count:  # known already, with all it returns to; or no room
                return more, floor
            count = more
        if not rules.flags[state] & _FINAL:
            return count, floor
        if node == 0:
            return count, -1
        state, node = int(nodes[node, _SYMBOL]), int(nodes[node, _PARENT])
        floor = min(floor, int(nodes[node, _DEPTH]))


@njit(cache=True, nogil=True, _nrt=False)
def open_state(rules: Rules, room: Room, state: int) -> int:
    """Find out what a state can call before it reads, once; its row of groups or what is full."""
    if room.opened[state, _GROUPS] >= 0:
        return int(room.opened[state, _GROUPS])
    openings, pushes = room.openings, room.pushes
    begin, pushed, row = int(room.used[_OPENINGS]), int(room.used[_PUSHES]), int(room.used[_OPENED])
    if begin == len(openings) or row == len(room.groups):
        return _FULL_OPENINGS
    openings[begin, 0], openings[begin, 1], openings[begin, 2] = state, pushed, pushed
    at, end = begin, begin + 1
    while at < end:
        inner = openings[at, 0]
        for k in range(rules.calls_from[inner], rules.calls_from[inner + 1]):
            low, high = openings[at, 1], openings[at, 2]
            if end == len(openings) or pushed + high - low + 1 > len(pushes):
                return _FULL_OPENINGS
            openings[end, 0], openings[end, 1] = rules.calls[k, 0], pushed
            for j in range(low, high):
                pushes[pushed] = pushes[j]
                pushed += 1
            if rules.calls[k, 1] >= 0:
                pushes[pushed] = rules.calls[k, 1]
                pushed += 1
            openings[end, 2] = pushed
            end += 1
        at += 1
    _group(rules, room, begin, end, row)
    room.used[_OPENINGS], room.used[_PUSHES], room.used[_OPENED] = end, pushed, row + 1
    room.opened[state, _BEGIN], room.opened[state, _END] = begin, end
    room.opened[state, _GROUPS] = row
    return row


@inner
def _group(rules: Rules, room: Room, begin: int, end: int, row: int) -> None:
    """Number the byte classes by where they lead from some openings; 0 leads nowhere."""
    width, classes = len(rules.table) // len(rules.flags), len(rules.columns)
    groups, marks, made = room.groups, room.marks, 1
    for byte_class in range(classes):
        column, found, dead = rules.columns[byte_class], int64(0), True
        for opening in range(begin, end):
            target = rules.table[room.openings[opening, 0] * width + column]
            if target >= 0:
                found, dead = mixed(found, (opening << 32) + int64(target)), False
        marks[byte_class], groups[row, byte_class] = found, 0
        if dead:
            continue
        other = byte_class - 1
        while other >= 0 and not (
            marks[other] == found
            and groups[row, other] != 0
            and _leads_alike(rules, room, begin, end, column, rules.columns[other])
        ):
            other -= 1
        if other >= 0:
            groups[row, byte_class] = groups[row, other]
        else:
            groups[row, byte_class] = made
            made += 1


@inner
def _leads_alike(rules: Rules, room: Room, begin: int, end: int, column: int, other: int) -> bool:
    """Whether two columns agree for all of some openings."""
    width = len(rules.table) // len(rules.flags)
    for opening in range(begin, end):
        at = room.openings[opening, 0] * width
        if rules.table[at + column] != rules.table[at + other]:
            return False
    return True
