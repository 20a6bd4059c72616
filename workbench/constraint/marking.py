"""Marking: the row of a state of any machine over a vocabulary, by the cheapest way it allows.

In come a ``Machine``, complete or growing while it is walked, and one of its states; out come the
bits of the tokens it can read. One call of a kernel for most rows: it looks the row up among those
that looked at the same piece of stack, else walks the trie, the machine growing inside the walk. A
state that reads in a circle, or leads into one, takes its row from the loops of the vocabulary.
Inside a JSON string of 131k tokens: 20 µs by the loop, 1,000 µs by the walk.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD, Dfa, State
from workbench.automata.kernel import direct, inner, int64, njit
from workbench.automata.lazy import LazyDfa
from workbench.constraint import loops, walk
from workbench.constraint.alike import alike
from workbench.constraint.around import enter, leave
from workbench.constraint.cuts import Cuts, keep_row, known_row, larger
from workbench.constraint.growing import find_loop, read_below, step_by
from workbench.constraint.loops import Loop
from workbench.constraint.rows import Classes, Words, set_tokens
from workbench.constraint.walk import NO_FLOOR, Nodes, Scratch
from workbench.limits import Clock, Limits
from workbench.pushdown.room import Room, Rules
from workbench.vocabulary.trie import SIZE_AT, Trie
from workbench.vocabulary.vocabulary import Vocabulary

_DEAD = DEAD
_BYTES = np.uint64(255)
_PART, _NODE, _FLOOR, _STATE, _COUNT = walk.PART, walk.NODE, walk.FLOOR, walk.STATE, walk.COUNT
_MADE_ROWS, _LOOPED, _LAST = walk.MADE, walk.LOOPED, walk.LAST
_LAST_STATE, _DEEPEST = walk.LAST_STATE, walk.DEEPEST
#: No place in any table.
_UNTOUCHED = np.uint32(2**32 - 1)
_LEVEL, _BEGIN, _SIZE_AT = loops.LEVEL, loops.BEGIN, np.uint64(SIZE_AT)

#: What the kernels say: the row is known, is made now, or takes a loop the state is in or enters;
_KNOWN, _MADE, _AROUND, _INTO = range(4)
#: there is no room for another row.
_FULL = -30


class Machine(Protocol):
    """A deterministic machine over bytes, as tables that may be others after it has grown."""

    @property
    def rules(self) -> Rules:
        """How it grows inside a kernel; empty where it does not."""
        ...

    @property
    def room(self) -> Room: ...

    @property
    def classes(self) -> Classes: ...

    @property
    def states(self) -> int:
        """How many states it has for good, 0 where it grows."""
        ...

    def resolve(self, status: int, clock: Clock) -> None:
        """Make room, or look at the clock, as a kernel that gave up asked for."""
        ...


class Tabled:
    """A machine without a stack: a Dfa, or a LazyDfa that grows."""

    def __init__(self, dfa: Dfa | LazyDfa) -> None:
        self._dfa = dfa
        self.classes = dfa.classes
        self.states = len(dfa) if isinstance(dfa, Dfa) else 0
        self._hold()

    def _hold(self) -> None:
        self.rules = Rules.none(None if isinstance(self._dfa, Dfa) else self._dfa.subsets)
        self.room = Room.of_table(self._dfa.table)

    def resolve(self, status: int, clock: Clock) -> None:
        """Make room for more sets.

        Raises: LimitError
        """
        assert isinstance(self._dfa, LazyDfa), f"a Dfa never asks for anything, {status}"
        clock.check()
        if len(self._dfa.table) * self.room.groups.shape[1] == len(self.room.table):
            self._dfa.grow()
        self._hold()


class Marker:
    """Makes rows of one machine with one vocabulary. One row at a time: the caller holds a lock."""

    def __init__(self, machine: Machine, vocabulary: Vocabulary, limits: Limits) -> None:
        self._machine = machine
        self._limits = limits
        self._trie = vocabulary.trie
        self._words = (len(vocabulary) + 31) // 32
        self._nodes = Nodes.of(vocabulary.trie, np.ascontiguousarray(machine.classes))
        self._scratch = Scratch.of(vocabulary.trie.height, machine.states)
        self._row, self._by_loop = _compiled()
        self.clear()

    def clear(self) -> None:
        """Forget which rows were made; their numbers begin again."""
        self._cuts = Cuts.of(64)
        self._scratch.stand[walk.MADE], self._scratch.stand[walk.LAST] = 0, -1

    def row(self, state: State) -> tuple[int, Words | None]:
        """The number of a row and its bits; None where the row of that number was made before.

        Raises: LimitError
        """
        machine, bits, begins = self._machine, np.zeros(self._words, np.uint32), True
        clock: Clock | None = None
        while True:
            told, number = self._row(
                machine.rules, machine.room, self._cuts, self._nodes, self._scratch, state,
                begins, bits,
            )  # fmt: skip
            if told == _MADE:
                return number, bits
            if told == _KNOWN:
                return number, None
            begins = False
            if told in (_AROUND, _INTO):
                told = self._looped(told == _AROUND, bits)
            if told < 0:
                clock = clock or self._limits.clock()
                self._resolve(told, clock)

    def _looped(self, inside: bool, bits: Words) -> int:
        """The bits of a part of the trie by the loop that was just found."""
        part, count = int(self._scratch.stand[_PART]), int(self._scratch.stand[_COUNT])
        known = self._trie.shared(loops.Loops)
        loop = known.of(self._scratch.local[:count], self._trie, self._words, part)
        bits |= loop.bits
        machine = self._machine
        told: int = self._by_loop(
            machine.rules, machine.room, self._nodes, self._scratch, loop, inside, bits
        )
        return told

    def _resolve(self, told: int, clock: Clock) -> None:
        if told == _FULL:
            self._cuts = larger(self._cuts)
        else:
            self._machine.resolve(told, clock)


@cache
def _compiled() -> tuple[Any, Any]:
    """Both kernels for the types of all machines, called without a look at these."""
    rules, room = Rules.none(), Room.of_table(np.zeros((1, 1), np.int32))
    trie = Trie.of([b"a"])
    classes = np.zeros(256, np.uint16)
    nodes = Nodes(trie.records.copy(), trie.first.copy(), trie.token_ids.copy(),
                  np.zeros((1, 5), np.int32), np.zeros((1, 256), np.int32), classes)  # fmt: skip
    scratch, bits = Scratch.of(1, 1), np.zeros(1, np.uint32)
    loop = Loop(bits, *(np.zeros(1, np.int32),) * 3, np.zeros((1, 4), np.int32))
    return (
        direct(_row, rules, room, Cuts.of(1), nodes, scratch, 0, True, bits),
        direct(_by_loop, rules, room, nodes, scratch, loop, True, bits),
    )


@njit(cache=True, nogil=True, _nrt=False)
def _row(
    rules: Rules, room: Room, cuts: Cuts, nodes: Nodes, scratch: Scratch, state: int,
    begins: bool, bits: Words,
) -> tuple[int, int]:  # fmt: skip
    """Begin with the row of a state, or go on with it from where ``scratch.stand`` says.

    Returns what was done, and the number of the row; or why somebody else has to do something
    before it is called again.
    """
    stand, stacked = scratch.stand, len(rules.flags) > 0
    if begins:
        stand[_PART], stand[_NODE], stand[_FLOOR], stand[_LOOPED] = 0, 0, NO_FLOOR, 0
        scratch.path[:] = _UNTOUCHED
        scratch.path[0] = 0
        known = _known(room, cuts, scratch, state, stacked)
        if known >= 0:
            return _KNOWN, known
    if stacked and cuts.used[0] == len(cuts.rows):
        return _FULL, 0
    while stand[_PART] < len(nodes.runs):
        told = _begin_part(rules, room, nodes, scratch, state, bits)
        if told != _MADE:
            return told, 0
        if stand[_STATE] >= 0:
            told = _walk_part(rules, room, nodes, scratch, bits)
            if told != _MADE:
                return told, 0
        stand[_PART] += 1
        stand[_NODE] = 0
    if stacked:
        return _MADE, keep_row(room, cuts, state, stand[_FLOOR])
    stand[_MADE_ROWS] += 1
    if not stand[_LOOPED]:
        stand[_LAST], stand[_LAST_STATE] = stand[_MADE_ROWS] - 1, state
        stand[_DEEPEST] = len(scratch.path)
        while scratch.path[stand[_DEEPEST] - 1] == _UNTOUCHED:
            stand[_DEEPEST] -= 1
    return _MADE, int64(stand[_MADE_ROWS]) - 1


@inner
def _known(room: Room, cuts: Cuts, scratch: Scratch, state: int, stacked: bool) -> int:
    """The number of a row that is that of a state, or −1 where none is known to be."""
    if stacked:
        return known_row(room, cuts, state)
    stand = scratch.stand
    if stand[_LAST] < 0 or len(scratch.partner) == 0 or not alike(
        room.table, room.groups.shape[1], stand[_LAST_STATE], state, stand[_DEEPEST],
        scratch.partner, scratch.pairs,
    ):  # fmt: skip
        return -1
    return int64(stand[_LAST])


@inner
def _begin_part(
    rules: Rules, room: Room, nodes: Nodes, scratch: Scratch, state: int, bits: Words
) -> int:
    """Find the state a part begins in, and whether a loop covers it.

    A part that was begun before is gone on with.
    """
    stand = scratch.stand
    if stand[_NODE] > 0:
        return _MADE
    if nodes.runs[stand[_PART], _LEVEL] == 1:
        node = nodes.runs[stand[_PART], _BEGIN] - 1
        record = nodes.records[node]
        target = step_by(rules, room, nodes, scratch, state, int64(record & _BYTES))
        if target < _DEAD:
            return target
        stand[_STATE] = target
        if target == _DEAD:
            return _MADE
        if len(room.floors) > 0:
            stand[_FLOOR] = min(stand[_FLOOR], room.floors[target])
        set_tokens(record, np.uint64(node), nodes.first, nodes.token_ids, bits)
        scratch.path[1] = target * room.groups.shape[1]
        state = target
    stand[_STATE] = state
    at_hand = scratch.members[0] if stand[_LOOPED] else int64(_DEAD)  # the loop of the part before
    if state == at_hand:
        return _AROUND
    count, there = find_loop(rules, room, nodes, scratch, state)
    told = _AROUND
    if count == 0 and there >= 0:
        told = _INTO
        if there == at_hand:
            return told
        count, there = find_loop(rules, room, nodes, scratch, there)
    if count < 0:
        return count
    stand[_COUNT] = count
    return told if count > 0 else _MADE


@inner
def _walk_part(rules: Rules, room: Room, nodes: Nodes, scratch: Scratch, bits: Words) -> int:
    """Set the bits of all that is read in a part, below each first byte that can be read.

    A walk of the first bytes' nodes took twice as long: they lie far apart.
    """
    stand, children = scratch.stand, nodes.children[scratch.stand[_PART]]
    for byte in range(256):
        node = int64(children[byte])
        if node < 0 or node < stand[_NODE] >= node + int64(nodes.records[node] >> _SIZE_AT):
            continue  # read before the walk was interrupted
        target = step_by(rules, room, nodes, scratch, stand[_STATE], byte)
        if target < _DEAD:
            return target
        if target != _DEAD:
            begin = max(node + 1, stand[_NODE])
            told = read_below(rules, room, nodes, scratch, node, target, begin, bits)
            if told < 0:
                return told
    return _MADE


@njit(cache=True, nogil=True, _nrt=False)
def _by_loop(
    rules: Rules, room: Room, nodes: Nodes, scratch: Scratch, loop: Loop, inside: bool, bits: Words
) -> int:
    """The bits of a part from those of a loop; then the walk stands at the next part."""
    stand = scratch.stand
    if len(room.floors) > 0:
        for k in range(stand[_COUNT]):
            stand[_FLOOR] = min(stand[_FLOOR], room.floors[scratch.members[k]])
    if inside:
        run = nodes.runs[stand[_PART]]
        for k in range(2):
            scratch.agreed[k, 0], scratch.agreed[k, 1] = run[1 + 2 * k], run[2 + 2 * k]
        told = int64(2)
    else:
        told = enter(rules, room, nodes, scratch, bits)
    stand[_LOOPED] = 1
    if told >= 0:
        told = leave(rules, room, nodes, scratch, loop, told, bits)
    stand[_NODE] = 0
    if told < 0:
        return told
    stand[_PART] += 1
    return _MADE


def used_bytes(table: npt.NDArray[np.int32], classes: npt.NDArray[np.uint16]) -> set[int]:
    """The bytes that some state of a machine reads."""
    reads = np.asarray((table >= 0).any(axis=0))
    return set(np.flatnonzero(reads[classes]).tolist())
