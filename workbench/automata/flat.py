"""Flat: an Nfa as arrays for kernels, which of its states are alive, which symbols are alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.automata.kernel import njit

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
    first, first_epsilon = np.zeros(states + 1, np.int32), np.zeros(states + 1, np.int32)
    for k in range(len(edges)):
        first[edges[k, 0] + 1] += 1
    for k in range(len(epsilons)):
        first_epsilon[epsilons[k, 0] + 1] += 1
    for state in range(states):
        first[state + 1] += first[state]
        first_epsilon[state + 1] += first_epsilon[state]
    by_source = np.empty((len(edges), 3), np.int32)
    targets = np.empty(len(epsilons), np.int32)
    place, place_epsilon = first.copy(), first_epsilon.copy()
    for k in range(len(edges)):
        at = place[edges[k, 0]]
        place[edges[k, 0]] += 1
        by_source[at, 0], by_source[at, 1], by_source[at, 2] = edges[k, 1], edges[k, 2], edges[k, 3]
    for k in range(len(epsilons)):
        targets[place_epsilon[epsilons[k, 0]]] = epsilons[k, 1]
        place_epsilon[epsilons[k, 0]] += 1
    return by_source, first, targets, first_epsilon


@njit(cache=True, nogil=True)
def alive_of(edges: Ints, first: Ints, epsilons: Ints, first_epsilon: Ints, finals: Flags) -> Flags:
    """The states from which a final state is reached."""
    size, read = len(finals), len(edges)
    alive = finals.copy()
    stack = np.empty(size, np.int32)
    top = 0
    # edges and then ε-edges, those with one target in a chain from its latest
    sources, latest = np.empty(read + len(epsilons), np.int32), np.full(size, -1, np.int32)
    before = np.empty(read + len(epsilons), np.int32)
    for state in range(size):
        if alive[state]:
            stack[top] = state
            top += 1
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
    return alive


@njit(cache=True, nogil=True)
def classes_of(edges: Ints, alive: Flags, symbols: int) -> tuple[Classes, int]:
    """Symbols between which no edge begins or ends have one class; numbered in order."""
    cuts = np.zeros(symbols + 1, np.bool_)
    for k in range(len(edges)):
        if alive[edges[k, 2]]:
            cuts[edges[k, 0]] = True
            cuts[edges[k, 1] + 1] = True
    classes = np.empty(symbols, np.uint16)
    number = 0
    for symbol in range(symbols):
        if cuts[symbol] and symbol > 0:
            number += 1
        classes[symbol] = number
    return classes, number + 1
