"""Explore: in come an initial place and the way on from each, out comes the Dfa of all places."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.limits import LIMITS, Limits

Place = TypeVar("Place", bound=Hashable)


def explore(
    initial: Place,
    step: Callable[[Place], Sequence[Place | None]],
    is_final: Callable[[Place], bool],
    classes: npt.NDArray[np.uint16],
    limits: Limits = LIMITS,
) -> Dfa:
    """The trimmed machine whose states are the places reached from ``initial``.

    ``step`` gives for each symbol class the place it leads to, or None. Every operation
    that walks machines side by side is a different choice of the three.

    Shape:  ``classes`` (S,), as in ``Dfa``.
    Raises: LimitError past ``limits.states`` places or ``limits.seconds``.
    Source: the worklist of Q. Neale's greenery, ``fsm.crawl``.
    """
    clock = limits.clock()
    numbers: dict[Place | None, State] = {None: DEAD, initial: 0}
    waiting = [initial]
    rows: list[list[State]] = []
    for here in waiting:  # grows while it is read
        row = []
        for there in step(here):
            number = numbers.setdefault(there, len(waiting))
            if number == len(waiting):
                assert there is not None
                waiting.append(there)
            row.append(number)
        rows.append(row)
        if not len(rows) & 31:
            limits.check("states", len(waiting))
            clock.check()
    limits.check("states", len(waiting))
    finals = np.array([is_final(place) for place in waiting], np.bool_)
    return trimmed(classes, np.array(rows, np.int32), finals, 0)


def trimmed(
    classes: npt.NDArray[np.uint16],
    table: npt.NDArray[np.int32],
    finals: npt.NDArray[np.bool_],
    initial: State,
) -> Dfa:
    """The part of a machine that is reached from the initial state and reaches a final one."""
    kept = _reached(table, initial) & _reaching(table, finals)
    if not kept[initial]:
        return nothing(len(classes))
    numbers = np.full(len(table) + 1, DEAD, np.int32)
    numbers[:-1][kept] = np.arange(kept.sum(), dtype=np.int32)
    return Dfa(classes, numbers[table[kept]], finals[kept], int(numbers[initial]))


def nothing(symbols: int) -> Dfa:
    """The machine that accepts no text at all."""
    return Dfa(np.zeros(symbols, np.uint16), np.full((1, 1), DEAD, np.int32), np.zeros(1, np.bool_))


def _reached(table: npt.NDArray[np.int32], initial: State) -> npt.NDArray[np.bool_]:
    """The states to which some text leads."""
    reached = np.zeros(len(table), np.bool_)
    reached[initial] = True
    rows = table.tolist()
    waiting = [initial]
    while waiting:
        for target in set(rows[waiting.pop()]):
            if target != DEAD and not reached[target]:
                reached[target] = True
                waiting.append(target)
    return reached


def _reaching(table: npt.NDArray[np.int32], finals: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The states from which some text leads to a final one."""
    before: list[list[State]] = [[] for _ in range(len(table))]
    for state, row in enumerate(table.tolist()):
        for target in set(row):
            if target != DEAD:
                before[target].append(state)
    reaching = finals.copy()
    waiting = np.flatnonzero(finals).tolist()
    while waiting:
        for state in before[waiting.pop()]:
            if not reaching[state]:
                reaching[state] = True
                waiting.append(state)
    return reaching
