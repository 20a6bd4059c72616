"""Reader: a machine and a vocabulary come in, the tokens that can be read from a state go out.

A machine with a stack is made as it is read: where the walk comes to a step nobody computed, it is
computed, and the walk goes on.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from workbench.automata.dfa import Dfa, State
from workbench.automata.lazy import UNKNOWN
from workbench.constraint.proper import walking
from workbench.constraint.proper.tables import Ints, Machine, Nodes
from workbench.pushdown.runner import Runner
from workbench.vocabulary.vocabulary import Vocabulary


class Readable(Protocol):
    """A machine whose table may be another one after it has grown."""

    @property
    def machine(self) -> Machine: ...

    def grow(self, state: State, byte: int) -> None:
        """Compute a step."""
        ...


class OfDfa:
    """A machine that is complete."""

    def __init__(self, dfa: Dfa) -> None:
        table = dfa.table.reshape(-1)
        table.setflags(write=False)  # numba takes arrays that may be written for another type
        self.machine = Machine(table, dfa.table.shape[1], dfa.classes)

    def grow(self, state: State, byte: int) -> None:
        """Nothing is missing."""
        raise AssertionError("a Dfa has all its steps")


class OfRunner:
    """A network that is run."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._classes = runner.classes.copy()
        self._classes.setflags(write=False)

    @property
    def machine(self) -> Machine:
        """The tables as they are now."""
        table = self._runner.room.table.view()
        table.setflags(write=False)
        return Machine(table, len(self._runner.growth.rules.columns), self._classes)

    def grow(self, state: State, byte: int) -> None:
        """Compute a step.

        Raises: LimitError
        """
        self._runner.step(state, byte)


class Reader:
    """Walks of one vocabulary with one machine; one at a time."""

    def __init__(self, readable: Readable, vocabulary: Vocabulary) -> None:
        trie, size = vocabulary.trie, len(vocabulary)
        self._readable, self._trie, self._nodes = readable, trie, Nodes.of(trie)
        self._path = np.zeros(trie.height + 1, np.int32)
        self._tokens, self._states = np.empty(size, np.int32), np.empty(size, np.int32)
        self._walked: tuple[State, int] = UNKNOWN, 0

    def permissive(self, state: State) -> tuple[Ints, Ints]:
        """Every token that can be read from a state, and the state after it.

        The arrays are written anew by the next walk.
        """
        if self._walked[0] != state:
            self._walked = state, self._walk(state)
        return self._tokens[: self._walked[1]], self._states[: self._walked[1]]

    def _walk(self, state: State) -> int:
        self._path[0] = state
        at, count = 0, 0
        while True:
            at, count = walking.permissive(
                self._readable.machine, self._nodes, self._path, at, count, self._tokens,
                self._states,
            )  # fmt: skip
            if at == len(self._trie):
                return count
            here = int(self._path[self._trie.depth[at]])
            self._readable.grow(here, int(self._trie.byte[at]))
