"""Builds a Dfa from an initial node and a successor function, by a worklist.

Products, bounded copies and other constructions differ only in the nodes they use: pairs of
states, a state and a count, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from workbench.automata.graphs import reachable
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.limits import LIMITS, Limits

Node = TypeVar("Node", bound=Hashable)


def explore(
    initial: Node,
    step: Callable[[Node], Sequence[Node | None]],
    is_final: Callable[[Node], bool],
    classes: npt.NDArray[np.uint16],
    limits: Limits = LIMITS,
) -> Dfa:
    """The trimmed Dfa whose states are the nodes reachable from ``initial``.

    ``step`` returns, for each symbol class, the node it leads to, or None.

    Shape:  ``classes`` (S,), as in ``Dfa``.
    Raises: LimitError above ``limits.states`` nodes or ``limits.seconds``.
    Source: the worklist of Q. Neale's greenery, ``fsm.crawl``.
    """
    clock = limits.clock()
    numbers: dict[Node | None, State] = {None: DEAD, initial: 0}
    nodes = [initial]
    rows: list[list[State]] = []
    for node in nodes:  # the list grows during the loop
        row = []
        for target in step(node):
            number = numbers.setdefault(target, len(nodes))
            if number == len(nodes):
                assert target is not None
                nodes.append(target)
            row.append(number)
        rows.append(row)
        if not len(rows) & 31:
            limits.check("states", len(nodes))
            clock.check()
    limits.check("states", len(nodes))
    finals = np.array([is_final(node) for node in nodes], np.bool_)
    return trimmed(classes, np.array(rows, np.int32), finals, 0)


def trimmed(
    classes: npt.NDArray[np.uint16],
    table: npt.NDArray[np.int32],
    finals: npt.NDArray[np.bool_],
    initial: State,
) -> Dfa:
    """The machine without the states that are not accessible or not co-accessible."""
    targets = [set(row) - {DEAD} for row in table.tolist()]
    sources: list[list[State]] = [[] for _ in targets]
    for state, its_targets in enumerate(targets):
        for target in its_targets:
            sources[target].append(state)
    accessible = reachable([initial], targets.__getitem__)
    coaccessible = reachable(np.flatnonzero(finals).tolist(), sources.__getitem__)
    kept = np.zeros(len(table), np.bool_)
    kept[[state for state in accessible if state in coaccessible]] = True
    if not kept[initial]:
        return nothing(len(classes))
    numbers = np.full(len(table) + 1, DEAD, np.int32)
    numbers[:-1][kept] = np.arange(kept.sum(), dtype=np.int32)
    return Dfa(classes, numbers[table[kept]], finals[kept], int(numbers[initial]))


def nothing(symbols: int) -> Dfa:
    """The machine of the empty language."""
    return Dfa(np.zeros(symbols, np.uint16), np.full((1, 1), DEAD, np.int32), np.zeros(1, np.bool_))
