"""Wide states: those of a machine that read in a circle, with what they share with a vocabulary.

In come a machine's steps and a trie; out come the arrays a closing reads. Inside a JSON string of
131k tokens all but 900 of 266 thousand nodes are the vocabulary's.
"""

from __future__ import annotations

import numpy as np

from workbench.automata.dfa import State
from workbench.constraint.layout import (
    Ints,
    Numbers,
    Steps,
    Wide,
)
from workbench.constraint.loops import MEMBERS, WIDE, find
from workbench.constraint.staying import Circle, Circles
from workbench.kernel import njit
from workbench.vocabulary.trie import Trie


class WideStates:
    """The wide states of a machine, found one by one."""

    def __init__(self, trie: Trie) -> None:
        self._circles = trie.shared(Circles).table(trie)
        self._found: list[tuple[Ints, Circle]] = []
        self._members = np.empty(MEMBERS, np.int32)
        self._local = np.empty((MEMBERS, 256), np.int8)

    def add(self, steps: Steps, state: State) -> tuple[State, int] | None:
        """Take a wide state in; or a state and a byte class whose step is needed first."""
        count, unknown, column = find(*steps, state, self._members, self._local)
        if count < 0:
            return unknown, column
        circle = self._circles.of(self._local[:count]) if count else None
        if circle is not None:
            self._found.append((self._members[:count].copy(), circle))
        return None

    def arrays(self, states: int) -> Wide:
        """What is found, for a machine of so many states."""
        found = self._found
        held, members = np.full(states, -1, np.int32), np.zeros((len(found), MEMBERS), np.int32)
        tallied = np.zeros((len(found), MEMBERS), np.int32)
        for number, (its, circle) in enumerate(found):
            members[number, : len(its)], tallied[number, : len(its)] = its, circle.tallied
            held[its] = number << 8 | np.arange(len(its), dtype=np.int32)
        for number, (its, _) in enumerate(found):
            held[its[0]] = number << 8  # one that is also a middle of another is itself first
        leaving = np.cumsum([0, *(len(circle.left) for _, circle in found)], dtype=np.int32)
        return Wide(
            held=held,
            members=members,
            sizes=np.array([len(its) for its, _ in found], np.int32),
            loops=np.array([circle.row for _, circle in found], np.int32),
            tallied=tallied,
            leaving=leaving,
            left=np.concatenate([_NOWHERE, *(circle.left for _, circle in found)]),
            left_from=np.concatenate([_NO_MEMBER, *(circle.left_from for _, circle in found)]),
            stays=self._circles.stays,
        )


_NOWHERE, _NO_MEMBER = np.empty(0, np.int32), np.empty(0, np.int8)


def wide_states(steps: Steps) -> list[State]:
    """The states to which many ASCII bytes lead back."""
    weights = np.bincount(steps.classes[:128], minlength=steps.width).astype(np.int64)
    return [int(state) for state in np.flatnonzero(_staying(steps, weights) >= WIDE)]


def is_wide(steps: Steps, state: State) -> bool:
    """Whether many ASCII bytes lead back to a state, of those whose step is known."""
    row = steps.table[state * steps.width : (state + 1) * steps.width]
    return int((row[steps.classes[:128]] == state).sum()) >= WIDE


@njit(cache=True, nogil=True)
def _staying(steps: Steps, weights: Numbers) -> Numbers:
    """How many ASCII bytes lead back to each state."""
    states = len(steps.table) // steps.width
    found = np.zeros(states, np.int64)
    for state in range(states):
        for column in range(steps.width):
            if steps.table[state * steps.width + column] == state:
                found[state] += weights[column]
    return found
