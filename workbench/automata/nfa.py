"""Nfa: a nondeterministic automaton, and the builder it grows in."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from workbench.automata.dfa import DEAD, Dfa

#: ``(low, high, target)``: every symbol from low to high leads to the target.
Edge = tuple[int, int, int]

BYTES = 256


@dataclass(frozen=True, slots=True, eq=False)
class Nfa:
    """A nondeterministic automaton ``(Σ, Q, I, F, E)`` with ε-edges, over whole numbers.

    Symbols below 256 are bytes; the networks of a grammar use those above as calls.

    Shape: ``edges`` and ``epsilons`` have one entry for each of the Q states.
    """

    edges: tuple[tuple[Edge, ...], ...]
    epsilons: tuple[tuple[int, ...], ...]
    initial: int
    finals: frozenset[int]
    symbols: int = BYTES

    def __len__(self) -> int:
        """The number of states."""
        return len(self.edges)


class NfaBuilder:
    """An Nfa while it grows: states and edges are added, then ``build`` freezes it."""

    def __init__(self, symbols: int = BYTES) -> None:
        self.symbols = symbols
        self._edges: list[list[Edge]] = []
        self._epsilons: list[list[int]] = []

    def __len__(self) -> int:
        """The number of states so far."""
        return len(self._edges)

    def new_state(self) -> int:
        """A state without edges."""
        self._edges.append([])
        self._epsilons.append([])
        return len(self._edges) - 1

    def edge(self, source: int, low: int, high: int, target: int) -> None:
        """Every symbol from ``low`` to ``high`` leads from ``source`` to ``target``."""
        if not 0 <= low <= high < self.symbols:
            raise ValueError(f"an edge needs 0 <= low <= high < {self.symbols}, not {low}, {high}")
        self._edges[source].append((low, high, target))

    def epsilon(self, source: int, target: int) -> None:
        """Nothing need be read between ``source`` and ``target``."""
        if source != target:
            self._epsilons[source].append(target)

    def literal(self, symbols: bytes, start: int, end: int) -> None:
        """Exactly these bytes lead from ``start`` to ``end``."""
        here = start
        for position, symbol in enumerate(symbols):
            there = end if position == len(symbols) - 1 else self.new_state()
            self.edge(here, symbol, symbol, there)
            here = there
        if not symbols:
            self.epsilon(start, end)

    def embed(self, machine: Dfa | Nfa, start: int, end: int) -> None:
        """A copy of a machine: its texts lead from ``start`` to ``end``."""
        if isinstance(machine, Dfa):
            self._embed_dfa(machine, start, end)
        else:
            self._embed_nfa(machine, start, end)

    def _embed_nfa(self, nfa: Nfa, start: int, end: int) -> None:
        offset = len(self._edges)
        for edges, epsilons in zip(nfa.edges, nfa.epsilons, strict=True):
            self._edges.append([(low, high, target + offset) for low, high, target in edges])
            self._epsilons.append([target + offset for target in epsilons])
        self.epsilon(start, nfa.initial + offset)
        for final in nfa.finals:
            self.epsilon(final + offset, end)

    def _embed_dfa(self, dfa: Dfa, start: int, end: int) -> None:
        offset = len(self._edges)
        runs = class_runs(dfa)
        for state, row in enumerate(dfa.table.tolist()):
            edges = [
                (low, high, target + offset)
                for target, runs_of_class in zip(row, runs, strict=True)
                if target != DEAD
                for low, high in runs_of_class
            ]
            self._edges.append(edges)
            self._epsilons.append([end] if dfa.finals[state] else [])
        self.epsilon(start, dfa.initial + offset)

    def build(self, initial: int, finals: frozenset[int] | set[int]) -> Nfa:
        """The machine as it stands, frozen."""
        return Nfa(
            edges=tuple(map(tuple, self._edges)),
            epsilons=tuple(map(tuple, self._epsilons)),
            initial=initial,
            finals=frozenset(finals),
            symbols=self.symbols,
        )


def class_runs(dfa: Dfa) -> list[list[tuple[int, int]]]:
    """For each class of a Dfa its symbols, as inclusive runs."""
    runs: list[list[tuple[int, int]]] = [[] for _ in range(dfa.table.shape[1])]
    starts = [0, *(np.flatnonzero(np.diff(dfa.classes)) + 1).tolist(), len(dfa.classes)]
    for low, after in pairwise(starts):
        runs[dfa.classes[low]].append((low, after - 1))
    return runs
