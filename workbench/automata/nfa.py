"""Nfa: a nondeterministic automaton, and the builder it grows in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from workbench.automata.dfa import DEAD, Dfa
from workbench.automata.flat import Flat, Ints

#: ``(low, high, target)``: every symbol from low to high leads to the target.
Edge = tuple[int, int, int]

BYTES = 256


@dataclass(frozen=True, eq=False)
class Nfa:
    """A nondeterministic automaton ``(Σ, Q, I, F, E)`` with ε-edges, over whole numbers.

    Symbols below 256 are bytes; the networks of a grammar use those above as calls. Kernels
    read it as the arrays it is made of; who walks it in Python asks for tuples, made once.
    """

    flat: Flat
    initial: int
    symbols: int = BYTES

    def __len__(self) -> int:
        """The number of states."""
        return len(self.flat.finals)

    @cached_property
    def edges(self) -> tuple[tuple[Edge, ...], ...]:
        """The edges of each state."""
        every = [(low, high, target) for low, high, target in self.flat.edges.tolist()]
        return tuple(tuple(every[a:b]) for a, b in pairwise(self.flat.first.tolist()))

    @cached_property
    def epsilons(self) -> tuple[tuple[int, ...], ...]:
        """The states each state leads to without reading."""
        every = self.flat.epsilons.tolist()
        return tuple(tuple(every[a:b]) for a, b in pairwise(self.flat.first_epsilon.tolist()))

    @cached_property
    def finals(self) -> frozenset[int]:
        """The final states."""
        return frozenset(np.flatnonzero(self.flat.finals).tolist())


class NfaBuilder:
    """An Nfa while it grows: states and edges are added, then ``build`` freezes it."""

    def __init__(self, symbols: int = BYTES) -> None:
        self.symbols = symbols
        self._states = 0
        #: Source, low, high, target, one after the other: a list of tuples cost five times as
        #: much to make an array of.
        self._edges: list[int] = []
        #: Source, target.
        self._epsilons: list[int] = []

    def __len__(self) -> int:
        """The number of states so far."""
        return self._states

    def new_state(self) -> int:
        """A state without edges."""
        self._states += 1
        return self._states - 1

    def new_states(self, count: int) -> int:
        """So many states without edges, numbered one after the other; the first."""
        self._states += count
        return self._states - count

    def edge(self, source: int, low: int, high: int, target: int) -> None:
        """Every symbol from ``low`` to ``high`` leads from ``source`` to ``target``."""
        if not 0 <= low <= high < self.symbols:
            raise ValueError(f"an edge needs 0 <= low <= high < {self.symbols}, not {low}, {high}")
        self._edges += (source, low, high, target)

    def edges(self, sources: Ints, low: int, high: int, targets: Ints) -> None:
        """The same edge between many states, (E,) and (E,)."""
        if not 0 <= low <= high < self.symbols:
            raise ValueError(f"an edge needs 0 <= low <= high < {self.symbols}, not {low}, {high}")
        rows = np.empty((len(sources), 4), np.int32)
        rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3] = sources, low, high, targets
        self._edges += rows.ravel().tolist()

    def epsilons(self, sources: Ints, target: int) -> None:
        """Nothing need be read between many states and one other."""
        self._epsilons += np.stack([sources, np.full_like(sources, target)], 1).ravel().tolist()

    def epsilon(self, source: int, target: int) -> None:
        """Nothing need be read between ``source`` and ``target``."""
        if source != target:
            self._epsilons += (source, target)

    def embed(self, machine: Dfa, start: int, end: int) -> None:
        """A copy of a machine: its texts lead from ``start`` to ``end``."""
        offset = self.copy(machine)
        self.epsilon(start, machine.initial + offset)
        for final in np.flatnonzero(machine.finals).tolist():
            self.epsilon(final + offset, end)

    def copy(self, machine: Dfa) -> int:
        """The states and edges of a machine; the number of its state 0."""
        offset = self._states
        self._states += len(machine)
        runs = class_runs(machine)
        for state, its_class in np.argwhere(machine.table != DEAD).tolist():
            target = int(machine.table[state, its_class])
            for low, high in runs[its_class]:
                self._edges += (state + offset, low, high, target + offset)
        return offset

    def build(self, initial: int, finals: frozenset[int] | set[int]) -> Nfa:
        """The machine as it stands, frozen."""
        ends = np.zeros(self._states, np.bool_)
        ends[list(finals)] = True
        return Nfa(Flat.of(self._edges, self._epsilons, ends), initial, self.symbols)


def class_runs(dfa: Dfa) -> list[list[tuple[int, int]]]:
    """For each class of a Dfa its symbols, as inclusive runs."""
    runs: list[list[tuple[int, int]]] = [[] for _ in range(dfa.table.shape[1])]
    starts = [0, *(np.flatnonzero(np.diff(dfa.classes)) + 1).tolist(), len(dfa.classes)]
    for low, after in pairwise(starts):
        runs[dfa.classes[low]].append((low, after - 1))
    return runs
