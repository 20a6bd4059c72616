"""Names the cycle of the machine in which a token stays.

A cycle is a strongly connected component of the machine that a run is followed in: the character
automaton, or that of one rule (a call counts as an edge to where it returns).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD
from workbench.errors import LimitError
from workbench.grammar import Grammar
from workbench.pipeline import Followed
from workbench.pushdown.circles import circles
from workbench.signs import signed

#: Machines with more states are not searched: it would take longer than their run.
_MOST_STATES = 20_000

#: The states passed, moment by moment, each a few states by name.
_Path = list[list[str]]


def circle(grammar: Grammar, path: Mapping[str, _Path]) -> int | None:
    """The cycle a token does not leave, named by its first state; None without a cycle."""
    kind = next((k for k in (Followed.CHARACTERS.value, Followed.NETWORK.value) if k in path), "")
    moments = path.get(kind, [])
    if not moments:
        return None
    circle_of = _circles(grammar, kind)
    # a way that leaves a component and comes back would be part of it
    ends = (moments[0], moments[-1])
    shared = [{circle_of.get(state) for state in moment} for moment in ends]
    found = set.intersection(*shared) - {None}
    return min((name for name in found if name is not None), default=None)


@lru_cache(maxsize=64)
def _circles(grammar: Grammar, kind: str) -> dict[str, int]:
    """The cycle of every state that is on one."""
    try:
        pictured = signed(grammar)
        machine = pictured.dfa if kind == Followed.CHARACTERS.value else pictured.network
    except LimitError:
        return {}
    if machine is None or len(machine) > _MOST_STATES:
        return {}
    return {
        str(state): min(members)
        for members in circles(_targets(machine.table))
        for state in members
    }


def _targets(table: npt.NDArray[np.int32]) -> dict[int, set[int]]:
    return {state: set(row[row != DEAD].tolist()) for state, row in enumerate(table)}
