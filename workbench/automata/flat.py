"""Flat: an Nfa as arrays for kernels, which of its states are alive, which symbols are alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from workbench.automata.kernel import njit
from workbench.automata.nfa import Nfa

Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint64]
Classes = npt.NDArray[np.uint16]


@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    """An Nfa as arrays.

    Shape: Q states; the edges of state q are ``first[q]:first[q + 1]`` of ``edges`` (E, 3), low,
           high, target; its ε-edges likewise of ``epsilons``; ``finals`` (Q,) bool.
    """

    edges: Ints
    first: Ints
    epsilons: Ints
    first_epsilon: Ints
    finals: Flags

    @staticmethod
    def of(nfa: Nfa) -> Flat:
        """The arrays of an Nfa."""
        edges = np.fromiter(chain.from_iterable(chain.from_iterable(nfa.edges)), np.int32)
        epsilons = np.fromiter(chain.from_iterable(nfa.epsilons), np.int32)
        finals = np.zeros(len(nfa), np.bool_)
        finals[list(nfa.finals)] = True
        return Flat(
            edges.reshape(-1, 3), _starts(nfa.edges), epsilons, _starts(nfa.epsilons), finals
        )


def _starts(parts: Sequence[Sequence[object]]) -> Ints:
    """Where each state's part begins in the list of all."""
    starts = np.zeros(len(parts) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, parts), np.int32, len(parts)), out=starts[1:])
    return starts


@njit(cache=True, nogil=True)
def alive_of(edges: Ints, first: Ints, epsilons: Ints, first_epsilon: Ints, finals: Flags) -> Flags:
    """The states from which a final state is reached."""
    alive = finals.copy()
    changed = True
    while changed:
        changed = False
        for state in range(len(finals) - 1, -1, -1):
            if alive[state]:
                continue
            for k in range(first[state], first[state + 1]):
                if alive[edges[k, 2]]:
                    alive[state] = changed = True
                    break
            for k in range(first_epsilon[state], first_epsilon[state + 1]):
                if alive[epsilons[k]]:
                    alive[state] = changed = True
                    break
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
