"""Marking: the row of a state of any machine over a vocabulary, by the cheapest way it allows.

In come a ``Machine``, complete or growing while it is walked, and one of its states; out come the
bits of the tokens it can read. One call of a kernel for most rows: it looks the row up among those
that looked at the same piece of stack, else walks the trie, the machine growing inside the walk. A
state that reads in a circle, or leads into one, takes its row from the loops of the vocabulary.
Inside a JSON string of 131k tokens: 20 µs by the loop, 1,000 µs by the walk.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import Dfa, State
from workbench.automata.lazy import LazyDfa
from workbench.constraint import loops, walk
from workbench.constraint.cuts import Cuts, larger
from workbench.constraint.making import AROUND, FULL, INTO, KNOWN, MADE, loop_kernel, row_kernel
from workbench.constraint.rows import Classes, Words
from workbench.constraint.walk import Nodes, Scratch
from workbench.limits import Clock, Limits
from workbench.pushdown.room import Growth, Room
from workbench.vocabulary.vocabulary import Vocabulary


class Machine(Protocol):
    """A deterministic machine over bytes, as tables that may be others after it has grown."""

    @property
    def growth(self) -> Growth:
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
        self.growth = Growth.of(subsets=None if isinstance(self._dfa, Dfa) else self._dfa.subsets)
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
        self._limits = replace(limits, began=None)  # a row has seconds of its own
        self._trie = vocabulary.trie
        self._words = (len(vocabulary) + 31) // 32
        self._nodes = Nodes.of(vocabulary.trie, np.ascontiguousarray(machine.classes))
        self._scratch = Scratch.of(vocabulary.trie.height, machine.states)
        self._row = row_kernel()
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
                machine.growth, machine.room, self._cuts, self._nodes, self._scratch, state,
                begins, bits,
            )  # fmt: skip
            if told == MADE:
                return number, bits
            if told == KNOWN:
                return number, None
            begins = False
            if told in (AROUND, INTO):
                told = self._looped(told == AROUND, bits)
            if told < 0:
                clock = clock or self._limits.clock()
                self._resolve(told, clock)

    def _looped(self, inside: bool, bits: Words) -> int:
        """The bits of a part of the trie by the loop that was just found."""
        part, count = int(self._scratch.stand[walk.PART]), int(self._scratch.stand[walk.COUNT])
        known = self._trie.shared(loops.Loops)
        loop = known.of(self._scratch.local[:count], self._trie, self._words, part)
        bits |= loop.bits
        machine = self._machine
        told: int = loop_kernel()(
            machine.growth, machine.room, self._nodes, self._scratch, loop, inside, bits
        )
        return told

    def _resolve(self, told: int, clock: Clock) -> None:
        if told == FULL:
            self._cuts = larger(self._cuts)
        else:
            self._machine.resolve(told, clock)


def used_bytes(table: npt.NDArray[np.int32], classes: npt.NDArray[np.uint16]) -> set[int]:
    """The bytes that some state of a machine reads."""
    reads = np.asarray((table >= 0).any(axis=0))
    return set(np.flatnonzero(reads[classes]).tolist())
