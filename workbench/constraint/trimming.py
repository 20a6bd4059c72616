"""Trimming: edges whose tokens lead nowhere are taken back, where single bytes are no tokens.

In come the rows of every state; out come those of the states that token paths reach, without the
edges from which no whole tokens lead to a final state.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD, State
from workbench.constraint.closed import Closed
from workbench.constraint.layout import (
    COUNT,
    EDGE,
    EDGE_END,
    MAP,
    MAP_END,
    Ints,
)
from workbench.kernel import njit

Bools = npt.NDArray[np.bool_]


def trimmed(rows: Closed, initial: State, finals: Bools) -> tuple[Closed, Bools]:
    """The rows without dead ends, and the states that are reached and lead to an end, (Q,).

    Looks at maps alone, which name every state a row leads to; so every edge must be in the
    slice of its own row, nothing borrowed and nothing staying, and the rows in order.
    """
    written, states = rows.written, len(finals)
    sizes = written.rows[:, MAP_END] - written.rows[:, MAP]
    sources = np.repeat(np.arange(states, dtype=np.int32), sizes)
    told = rows.tallies > 0  # the walk met more states than tokens end in
    begins, ends = sources[told], written.maps[told]
    start = np.zeros(states, np.bool_)
    start[initial] = True
    reached = _reach(*_by_first(begins, ends, states), start)
    alive = reached & _reach(*_by_first(ends, begins, states), finals & reached)
    kept = told & alive[sources] & alive[written.maps]
    table = written.rows.copy()
    table[:, COUNT] = np.bincount(sources, rows.tallies * kept, states)
    table[~alive, EDGE_END] = table[~alive, EDGE]
    maps = np.where(kept, written.maps, DEAD).astype(np.int32)
    tallies = np.where(kept, rows.tallies, 0).astype(np.int32)
    return Closed(rows.trie, written._replace(rows=table, maps=maps), tallies), alive


def _by_first(begins: Ints, ends: Ints, states: int) -> tuple[npt.NDArray[np.int64], Ints]:
    """Pairs as lists of ends: where those of each state begin, (Q + 1,), and all of them."""
    first = np.zeros(states + 1, np.int64)
    np.cumsum(np.bincount(begins, minlength=states), out=first[1:])
    return first, ends[np.argsort(begins, kind="stable")]


@njit(cache=True, nogil=True)
def _reach(first: npt.NDArray[np.int64], ends: Ints, start: Bools) -> Bools:
    """The states that can be reached from any of ``start``."""
    reached = start.copy()
    waiting = list(np.flatnonzero(start))
    while len(waiting) > 0:
        state = waiting.pop()
        for k in range(first[state], first[state + 1]):
            if not reached[ends[k]]:
                reached[ends[k]] = True
                waiting.append(np.int64(ends[k]))
    return reached
