"""Work: what is read and written while a program becomes an Nfa, and the smallest steps of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.automata.flat import Ints
from workbench.kernel import inner, int64

#: What is counted.
STATES, EDGES, EPSILONS, TASKS, SHARED = range(5)


class Work(NamedTuple):
    """What is read and what is written.

    ``tasks`` are instructions with the states between which they are to be written and the state in
    which their rule ends. ``shared`` are states that are found again: by the state they belong
    to, in a chain from the ``latest``, and by an instruction.
    """

    code: Ints
    data: Ints
    after: Ints
    texts: Ints
    rules: Ints
    edges: Ints
    epsilons: Ints
    tasks: Ints
    shared: Ints
    latest: Ints
    counts: npt.NDArray[np.int64]


@inner
def edge(work: Work, source: int, low: int, high: int, target: int) -> None:
    """Symbols from ``low`` to ``high`` lead from source to target."""
    edges, made = work.edges, work.counts[EDGES]
    edges[made, 0], edges[made, 1], edges[made, 2], edges[made, 3] = source, low, high, target
    work.counts[EDGES] += 1


@inner
def epsilon(work: Work, source: int, target: int) -> None:
    """Nothing need be read from source to target."""
    if source != target:
        made = work.counts[EPSILONS]
        work.epsilons[made, 0], work.epsilons[made, 1] = source, target
        work.counts[EPSILONS] += 1


@inner
def push(work: Work, at: int, start: int, end: int, last: int) -> None:
    """An instruction is to be written between two states."""
    tasks, made = work.tasks, work.counts[TASKS]
    tasks[made, 0], tasks[made, 1], tasks[made, 2], tasks[made, 3] = at, start, end, last
    work.counts[TASKS] += 1


@inner
def new_state(work: Work) -> int:
    """A state without edges."""
    work.counts[STATES] += 1
    return int64(work.counts[STATES] - 1)


@inner
def share(work: Work, at: int, what: int, one: int, two: int, state: int) -> None:
    """Have a state found again by the state it belongs to and an instruction."""
    shared, made = work.shared, work.counts[SHARED]
    shared[made, 0], shared[made, 1], shared[made, 2] = work.latest[at], what, one
    shared[made, 3], shared[made, 4] = two, state
    work.latest[at] = made
    work.counts[SHARED] += 1


@inner
def found(work: Work, at: int, what: int, one: int, two: int) -> int:
    """The state found so, or −1."""
    shared, here = work.shared, work.latest[at]
    while here >= 0:
        if shared[here, 2] == one and shared[here, 3] == two and shared[here, 1] == what:
            return int64(shared[here, 4])
        here = shared[here, 0]
    return int64(-1)
