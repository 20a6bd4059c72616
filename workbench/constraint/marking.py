"""Marking: the row of a state of any machine over a vocabulary, by the cheapest way it allows.

In come a ``Machine``, complete or growing while it is walked, and one of its states; out come the
bits of the tokens it can read and the lowest place of the stack that was looked at. A state that
reads in a circle, or leads into one, takes its row from the loops of the vocabulary, others walk
the whole trie. Inside a JSON string of 131k tokens: 20 µs by the loop, 1,000 µs by the walk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import Dfa, State
from workbench.constraint import loops
from workbench.constraint.entering import mark_entering
from workbench.constraint.rows import Classes, Ints, Offsets, Words, mark
from workbench.limits import Clock, Limits
from workbench.vocabulary.vocabulary import Vocabulary

#: Above every stack depth.
NO_FLOOR = 2**31 - 1


class Machine(Protocol):
    """A deterministic machine over bytes; its arrays may be others after it has grown."""

    @property
    def table(self) -> Ints:
        """The next state by byte class, (Q, C), ``DEAD`` or ``UNKNOWN``."""
        ...

    @property
    def floors(self) -> Ints:
        """The lowest stack depth looked at on the way into a state, (Q,); empty without stack."""
        ...

    @property
    def classes(self) -> Classes: ...

    def successor(self, state: State, byte_class: int) -> State:
        """Compute and remember a step that is not known yet."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Complete:
    """A Dfa as a machine that never grows."""

    table: Ints
    floors: Ints
    classes: Classes

    @staticmethod
    def of(dfa: Dfa) -> Complete:
        """The machine of a Dfa."""
        return Complete(dfa.table, np.empty(0, np.int32), dfa.classes)

    def successor(self, state: State, byte_class: int) -> State:
        raise AssertionError(f"a DFA's table knows every step, also {state}, {byte_class}")


class Marker:
    """Makes rows with one vocabulary. One row at a time: the room for paths is shared."""

    def __init__(self, vocabulary: Vocabulary, limits: Limits) -> None:
        self._trie = vocabulary.trie
        self._words = (len(vocabulary) + 31) // 32
        self._limits = limits
        self._members = np.empty(loops.MEMBERS, np.int32)
        self._local = np.empty((loops.MEMBERS, 256), np.int8)
        #: The table last walked, and its machine's arrays as kernels like them.
        self._held: Ints | None = None
        self._views: tuple[Ints, int, Classes, Ints]

    def row(self, machine: Machine, state: State) -> Words:
        """The bits of what can be read from a state."""
        loop, there = self._loop(machine, state)
        if loop is not None:
            return self._around(machine, loop, there)[0]
        if there >= 0:
            loop, count = self._loop(machine, there)
            if loop is not None:
                return self._into(machine, loop, count, state)[0]
        return self.plain_row(machine, state)[0]

    def plain_row(self, machine: Machine, state: State) -> tuple[Words, int]:
        """The same row by a walk of the whole trie."""
        trie, bits, path = self._trie, np.zeros(self._words, np.uint32), self._path()
        width, node, floor = machine.table.shape[1], 0, NO_FLOOR
        path[0] = state * width
        clock: Clock | None = None
        while True:
            node, floor = mark(
                *self._arrays(machine), trie.records,
                trie.first, trie.token_ids, path, node, len(trie), floor, bits,
            )  # fmt: skip
            if node == len(trie):
                return bits, floor
            clock = self._grow(machine, path, node, clock)

    def _loop(self, machine: Machine, state: State) -> tuple[loops.Loop | None, int]:
        """What a state shares with others, and how many states the loop has.

        None for most, with the state that most bytes lead to, or −1.
        """
        clock: Clock | None = None
        while True:
            table, width, classes, _ = self._arrays(machine)
            found, here, byte_class = loops.find(
                table, width, classes, state, self._members, self._local
            )
            if found == 0:
                return None, here
            if found > 0:
                known = self._trie.shared(loops.Loops)
                return known.of(self._local[:found], self._trie, self._words), found
            clock = clock or self._limits.clock()
            machine.successor(here, byte_class)
            clock.check()

    def _around(self, machine: Machine, loop: loops.Loop, count: int) -> tuple[Words, int]:
        """By what the loop shares and a walk of what lies past it."""
        trie, bits, path = self._trie, loop.bits.copy(), self._path()
        group = 0
        floors = machine.floors
        floor = int(floors[self._members[:count]].min()) if len(floors) else NO_FLOOR
        clock: Clock | None = None
        while True:
            group, node, floor = loops.mark_leaving(
                *self._arrays(machine), trie.records,
                trie.first, trie.token_ids, path, self._members, loop.groups, loop.nodes, group,
                floor, bits,
            )  # fmt: skip
            if node < 0:
                return bits, floor
            clock = self._grow(machine, path, node, clock)

    def _into(
        self, machine: Machine, loop: loops.Loop, count: int, state: State
    ) -> tuple[Words, int]:
        """By what a loop shares that paths enter, and a walk of where they differ from it."""
        trie, bits, path = self._trie, loop.bits.copy(), self._path()
        path[0] = state * machine.table.shape[1]
        beside, node = np.zeros(trie.height + 1, np.int8), 0
        floors = machine.floors
        floor = int(floors[self._members[:count]].min()) if len(floors) else NO_FLOOR
        clock: Clock | None = None
        while True:
            node, unknown, floor = mark_entering(
                *self._arrays(machine), trie.records, trie.first, trie.token_ids, path, beside,
                self._members, self._local, loop.left, loop.left_from, node, floor, bits,
            )  # fmt: skip
            if unknown < 0:
                return bits, floor
            clock = self._grow(machine, path, unknown, clock)

    def _grow(self, machine: Machine, path: Offsets, node: int, clock: Clock | None) -> Clock:
        """Compute the step a walk stands before."""
        width = machine.table.shape[1]
        clock = clock or self._limits.clock()
        trie = self._trie
        machine.successor(
            int(path[trie.depth[node]]) // width, int(machine.classes[trie.byte[node]])
        )
        clock.check()
        return clock

    def _arrays(self, machine: Machine) -> tuple[Ints, int, Classes, Ints]:
        """The flat table, its width, classes and floors, all read-only.

        numba compiles a kernel for each type it meets, and takes read-only arrays for another.
        """
        held = machine.table
        if held is not self._held:
            table, classes, floors = held.reshape(-1), machine.classes[:], machine.floors[:]
            table.flags.writeable = classes.flags.writeable = floors.flags.writeable = False
            self._held, self._views = held, (table, held.shape[1], classes, floors)
        return self._views

    def _path(self) -> Offsets:
        """Room for the places in the table of one token's way."""
        return np.zeros(self._trie.height + 1, np.uint32)


def used_bytes(table: npt.NDArray[np.int32], classes: npt.NDArray[np.uint16]) -> set[int]:
    """The bytes that some state of a machine reads."""
    reads = np.asarray((table >= 0).any(axis=0))
    return set(np.flatnonzero(reads[classes]).tolist())
