"""Flat: an Nfa as arrays for kernels, which of its states are alive, which symbols are alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.kernel import inner, njit

Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint64]
Classes = npt.NDArray[np.uint16]


@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    """The states and edges of an Nfa as arrays.

    Shape: Q states; the edges of state q are ``first[q]:first[q + 1]`` of ``edges`` (E, 3), low,
           high, target; its ε-edges likewise of ``epsilons``; ``finals`` (Q,) bool.
    """

    edges: Ints
    first: Ints
    epsilons: Ints
    first_epsilon: Ints
    finals: Flags

    @staticmethod
    def of(edges: list[int], epsilons: list[int], finals: Flags) -> Flat:
        """From edges in any order: ``source, low, high, target``, and ``source, target``."""
        quadruples = np.array(edges, np.int32).reshape(-1, 4)
        pairs = np.array(epsilons, np.int32).reshape(-1, 2)
        return Flat(*grouped(quadruples, pairs, len(finals)), finals)


@njit(cache=True, nogil=True)
def grouped(edges: Ints, epsilons: Ints, states: int) -> tuple[Ints, Ints, Ints, Ints]:
    """The first four arrays of a ``Flat``; edges of one source keep their order."""
    first, first_epsilon = np.empty(states + 1, np.int32), np.empty(states + 1, np.int32)
    by_source = np.empty((len(edges), 3), np.int32)
    targets = np.empty((len(epsilons), 1), np.int32)
    group(edges, len(edges), first, by_source)
    group(epsilons, len(epsilons), first_epsilon, targets)
    return by_source, first, targets[:, 0], first_epsilon


@inner
def group(rows: Ints, count: int, first: Ints, by_source: Ints) -> None:
    """Sort rows by their first column, which is left out; where those of each number begin."""
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
        at = first[rows[k, 0]]
        for column in range(by_source.shape[1]):
            by_source[at, column] = rows[k, column + 1]


@njit(cache=True, nogil=True)
def alive_of(edges: Ints, first: Ints, epsilons: Ints, first_epsilon: Ints, finals: Flags) -> Flags:
    """The states from which a final state is reached."""
    alive = np.empty(len(finals), np.bool_)
    space = np.empty((4, len(finals) + len(edges) + len(epsilons)), np.int32)
    find_alive(edges, first, epsilons, first_epsilon, finals, alive, space)
    return alive


@inner
def find_alive(
    edges: Ints, first: Ints, epsilons: Ints, first_epsilon: Ints, finals: Flags, alive: Flags,
    space: Ints,
) -> None:  # fmt: skip
    """Write which states are alive; ``space`` has four rows, a place a state and edge each."""
    # edges and then ε-edges: those with one target in a chain from its latest
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
            at = read + k
            sources[at], before[at], latest[epsilons[k]] = state, latest[epsilons[k]], at
    while top > 0:
        top -= 1
        k = latest[stack[top]]
        while k >= 0:
            if not alive[sources[k]]:
                alive[sources[k]] = True
                stack[top] = sources[k]
                top += 1
            k = before[k]


@njit(cache=True, nogil=True)
def classes_of(edges: Ints, alive: Flags, symbols: int) -> tuple[Classes, int]:
    """Symbols between which no edge begins or ends have one class; numbered in order."""
    classes = np.empty(symbols + 1, np.uint16)
    count = find_classes(edges, alive, classes)
    return classes[:symbols], count


@inner
def find_classes(edges: Ints, alive: Flags, classes: Classes) -> int:
    """Write the class of each symbol, with room for one more; how many classes there are."""
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
