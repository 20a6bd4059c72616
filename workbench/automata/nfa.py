"""Nondeterministic automata: as arrays for kernels (``Flat``), and a builder for Python code.

The edges of all states are in one array, grouped by source; ``first`` says where those of each
state begin (compressed sparse rows)::

    state 0 --a-z--> 1           edges  [[97, 122, 1],       first  [0, 2, 3]
    state 0 --0-9--> 0                   [48,  57, 0],
    state 1 --0-9--> 1                   [48,  57, 1]]       edges of state q: first[q]:first[q + 1]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, Dfa, LazyRows
from workbench.base.kernels import inner, njit

Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint64]
Classes = npt.NDArray[np.uint16]


@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    """The states and edges of an Nfa as arrays.

    Shape: Q states; the edges of state q are ``first[q]:first[q + 1]`` of ``edges`` (E, 3) int32:
           low, high, target. The targets of its ε-edges are
           ``first_epsilon[q]:first_epsilon[q + 1]`` of ``epsilons``; ``finals`` (Q,) bool.
    """

    edges: Ints
    first: Ints
    epsilons: Ints
    first_epsilon: Ints
    finals: Flags

    @staticmethod
    def of(edges: Ints, epsilons: Ints, finals: Flags) -> Flat:
        """From edges in any order: ``source, low, high, target`` and ``source, target``."""
        return Flat(*grouped(edges, epsilons, len(finals)), finals)


#: Numbers converted by one call, about a millisecond; a call holds the interpreter's lock.
_CONVERTED_AT_ONCE = 1 << 16


def int_array(numbers: Sequence[int]) -> Ints:
    """The numbers as an array, converted in parts: other threads run between them."""
    array = np.empty(len(numbers), np.int32)
    for begin in range(0, len(numbers), _CONVERTED_AT_ONCE):
        part = numbers[begin : begin + _CONVERTED_AT_ONCE]
        array[begin : begin + len(part)] = part
    return array


def grouped(edges: Ints, epsilons: Ints, states: int) -> tuple[Ints, Ints, Ints, Ints]:
    """The first four arrays of a ``Flat``; edges of one source keep their order."""
    parts = []
    for rows in (edges, epsilons):
        first = np.zeros(states + 1, np.int32)
        np.cumsum(np.bincount(rows[:, 0], minlength=states), out=first[1:])
        parts += [np.ascontiguousarray(rows[np.argsort(rows[:, 0], kind="stable"), 1:]), first]
    return parts[0], parts[1], parts[2][:, 0], parts[3]


@inner
def group(rows: Ints, count: int, first: Ints, by_source: Ints) -> None:
    """Sort ``count`` rows by their first column and write the other columns into ``by_source``.

    ``first`` receives the index of the first row of each source.
    """
    states = len(first) - 1
    for state in range(states + 1):
        first[state] = 0
    for k in range(count):
        first[rows[k, 0]] += 1
    end = 0
    for state in range(states + 1):
        end += first[state]
        first[state] = end
    for k in range(count - 1, -1, -1):
        first[rows[k, 0]] -= 1
        position = first[rows[k, 0]]
        for column in range(by_source.shape[1]):
            by_source[position, column] = rows[k, column + 1]


@njit()
def coaccessible(
    edges: Ints, first: Ints, epsilons: Ints, first_epsilon: Ints, finals: Flags
) -> Flags:
    """The states from which a final state can be reached."""
    alive = np.empty(len(finals), np.bool_)
    space = np.empty((4, len(finals) + len(edges) + len(epsilons)), np.int32)
    find_coaccessible(edges, first, epsilons, first_epsilon, finals, alive, space)
    return alive


@inner
def find_coaccessible(
    edges: Ints, first: Ints, epsilons: Ints, first_epsilon: Ints, finals: Flags, alive: Flags,
    space: Ints,
) -> None:  # fmt: skip
    """Write the co-accessible states into ``alive``.

    ``space`` is scratch: four rows of as many entries as there are states, edges and ε-edges.
    """
    # edges, then ε-edges; those with the same target form a linked list from ``latest``
    sources, before, latest, stack = space[0], space[1], space[2], space[3]
    size, read, top = len(finals), len(edges), 0
    for state in range(size):
        latest[state], alive[state] = -1, finals[state]
        if finals[state]:
            stack[top] = state
            top += 1
    for state in range(size):
        for k in range(first[state], first[state + 1]):
            sources[k], before[k], latest[edges[k, 2]] = state, latest[edges[k, 2]], k
        for k in range(first_epsilon[state], first_epsilon[state + 1]):
            position = read + k
            sources[position], before[position], latest[epsilons[k]] = (
                state,
                latest[epsilons[k]],
                position,
            )
    while top > 0:
        top -= 1
        k = latest[stack[top]]
        while k >= 0:
            if not alive[sources[k]]:
                alive[sources[k]] = True
                stack[top] = sources[k]
                top += 1
            k = before[k]


def classes_of(edges: Ints, alive: Flags, symbols: int) -> tuple[Classes, int]:
    """The class of each symbol and their number: symbols that no edge separates have one class."""
    kept, begins = edges[alive[edges[:, 2]]], np.zeros(symbols + 1, np.uint16)
    begins[kept[:, 0]] = begins[kept[:, 1] + 1] = 1
    begins[0] = 0
    classes = np.cumsum(begins[:symbols], dtype=np.uint16)
    return classes, int(classes[-1]) + 1


@inner
def find_classes(edges: Ints, alive: Flags, classes: Classes) -> int:
    """Write the class of each symbol (the array has one entry more); return how many there are."""
    for symbol in range(len(classes)):
        classes[symbol] = 0
    for k in range(len(edges)):
        if alive[edges[k, 2]]:
            classes[edges[k, 0]] = classes[edges[k, 1] + 1] = 1
    number = 0
    for symbol in range(len(classes)):
        if classes[symbol] and 0 < symbol < len(classes) - 1:
            number += 1
        classes[symbol] = number
    return number + 1


#: ``(low, high, target)``: every symbol from low to high leads to the target.
Edge = tuple[int, int, int]

BYTES = 256


@dataclass(frozen=True, eq=False)
class Nfa:
    """A nondeterministic automaton ``(Σ, Q, I, F, E)`` with ε-edges; symbols are integers.

    Symbols below 256 are bytes; networks of a grammar use larger ones as calls of rules. Kernels
    read the arrays of ``flat``, Python code the rows of ``edge_rows`` and ``epsilon_rows``, or of
    small machines the tuples ``edges`` and ``epsilons``.
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
        rows = self.edge_rows()
        return tuple(rows[state] for state in range(len(self)))

    @cached_property
    def epsilons(self) -> tuple[tuple[int, ...], ...]:
        """The targets of the ε-edges of each state."""
        rows = self.epsilon_rows()
        return tuple(rows[state] for state in range(len(self)))

    def edge_rows(self) -> LazyRows[Edge]:
        """The edges of each state, converted when they are read."""
        edges, first = self.flat.edges, self.flat.first
        return LazyRows(lambda state: map(tuple, edges[first[state] : first[state + 1]].tolist()))

    def epsilon_rows(self) -> LazyRows[int]:
        """The targets of the ε-edges of each state, converted when they are read."""
        targets, first = self.flat.epsilons, self.flat.first_epsilon
        return LazyRows(lambda state: targets[first[state] : first[state + 1]].tolist())

    @cached_property
    def finals(self) -> frozenset[int]:
        """The final states."""
        return frozenset(np.flatnonzero(self.flat.finals).tolist())


class NfaBuilder:
    """Builds an Nfa: add states and edges, then call ``build``."""

    def __init__(self, symbols: int = BYTES) -> None:
        self.symbols = symbols
        self._states = 0
        #: Source, low, high, target of all edges, flat: converting a list of tuples to an array
        #: took five times as long.
        self._edges: list[int] = []
        #: The same for the edges of copied machines, as arrays (E, 4).
        self._copied: list[Ints] = []
        #: Source and target of all ε-edges, flat.
        self._epsilons: list[int] = []

    def __len__(self) -> int:
        """The number of states added."""
        return self._states

    def new_state(self) -> int:
        """Add a state without edges."""
        self._states += 1
        return self._states - 1

    def new_states(self, count: int) -> int:
        """Add ``count`` states without edges; return the first of their consecutive numbers."""
        self._states += count
        return self._states - count

    def edge(self, source: int, low: int, high: int, target: int) -> None:
        """Add an edge from ``source`` to ``target`` for the symbols from ``low`` to ``high``."""
        if not 0 <= low <= high < self.symbols:
            raise ValueError(f"an edge needs 0 <= low <= high < {self.symbols}, not {low}, {high}")
        self._edges += (source, low, high, target)

    def edges(self, sources: Ints, low: int, high: int, targets: Ints) -> None:
        """Add one edge for each pair of ``sources`` (E,) and ``targets`` (E,)."""
        if not 0 <= low <= high < self.symbols:
            raise ValueError(f"an edge needs 0 <= low <= high < {self.symbols}, not {low}, {high}")
        self._copied.append(_edge_array(sources, low, high, targets))

    def epsilons(self, sources: Ints, target: int) -> None:
        """Add an ε-edge from each of ``sources`` to ``target``."""
        self._epsilons += np.stack([sources, np.full_like(sources, target)], 1).ravel().tolist()

    def epsilon(self, source: int, target: int) -> None:
        """Add an ε-edge."""
        if source != target:
            self._epsilons += (source, target)

    def embed(self, machine: Dfa, start: int, end: int) -> None:
        """Add a copy of a machine whose texts lead from ``start`` to ``end``."""
        offset = self.copy(machine)
        self.epsilon(start, machine.initial + offset)
        for final in np.flatnonzero(machine.finals).tolist():
            self.epsilon(final + offset, end)

    def copy(self, machine: Dfa) -> int:
        """Add the states and edges of a machine; return the new number of its state 0."""
        offset = self._states
        self._states += len(machine)
        classes = machine.classes
        lows = np.concatenate(([0], (classes[1:] != classes[:-1]).nonzero()[0] + 1))
        highs = np.append(lows[1:], len(classes)) - 1
        targets = machine.table[:, classes[lows]]
        states, runs = (targets != DEAD).nonzero()
        targets = targets[states, runs] + offset
        self._copied.append(_edge_array(states + offset, lows[runs], highs[runs], targets))
        return offset

    def build(self, initial: int, finals: frozenset[int] | set[int]) -> Nfa:
        """The Nfa of all states and edges added."""
        ends = np.zeros(self._states, np.bool_)
        ends[list(finals)] = True
        edges = np.concatenate([int_array(self._edges).reshape(-1, 4), *self._copied])
        epsilons = int_array(self._epsilons).reshape(-1, 2)
        return Nfa(Flat.of(edges, epsilons, ends), initial, self.symbols)


def _edge_array(sources: Ints, low: Ints | int, high: Ints | int, targets: Ints) -> Ints:
    """Edges as rows ``source, low, high, target``."""
    rows = np.empty((len(sources), 4), np.int32)
    rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3] = sources, low, high, targets
    return rows


def class_runs(dfa: Dfa) -> list[list[tuple[int, int]]]:
    """For each class of a Dfa its symbols, as inclusive runs."""
    runs: list[list[tuple[int, int]]] = [[] for _ in range(dfa.table.shape[1])]
    starts = [0, *(np.flatnonzero(np.diff(dfa.classes)) + 1).tolist(), len(dfa.classes)]
    for low, after in pairwise(starts):
        runs[dfa.classes[low]].append((low, after - 1))
    return runs


def nfa_of_dfa(dfa: Dfa, plain: int = BYTES) -> Nfa:
    """A DFA as an NFA with the initial state 1 and the final state 0.

    One edge for each run of symbols below ``plain``, and for each other symbol.
    """
    builder = NfaBuilder(len(dfa.classes))
    builder.new_states(len(dfa) + 2)
    builder.epsilon(1, dfa.initial + 2)
    builder.epsilons(np.flatnonzero(dfa.finals).astype(np.int32) + 2, 0)
    rows = dfa.table[:, dfa.classes]
    starts = np.ones(rows.shape, np.bool_)
    starts[:, 1:plain] = rows[:, 1:plain] != rows[:, : plain - 1]
    sources, lows = np.nonzero(starts)
    highs = np.append(lows[1:], 0) - 1
    highs[highs < lows] = len(dfa.classes) - 1
    edges = np.stack([sources, lows, highs, rows[sources, lows]], 1)
    for source, low, high, target in edges[edges[:, 3] != DEAD].tolist():
        builder.edge(source + 2, low, high, target + 2)
    return builder.build(1, {0})
