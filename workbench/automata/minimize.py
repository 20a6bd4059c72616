"""Minimize: in comes a Dfa, out comes the smallest one of the same language, in normal form."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD, Dfa
from workbench.limits import LIMITS, Limits

_Ints = npt.NDArray[np.int64]


def minimize(dfa: Dfa, limits: Limits = LIMITS) -> Dfa:
    """The smallest Dfa of the language; equal languages give identical tables.

    States are numbered breadth first by class, classes by their first symbol. The
    partition starts from the distance to the nearest end, which already tells most states of
    a real pattern apart, and is refined by whole rounds in numpy: Hopcroft's worklist was
    slower here up to some ten thousand states, since Python pays for every edge it touches.

    Cost:   rounds × Q × C; rounds are few where the distances differ.
    Raises: LimitError past ``limits.seconds``.
    Source: Moore 1956, "Gedanken-experiments on sequential machines", theorem 4.
    """
    blocks = _equivalent_states(dfa, limits)
    first_of_block = np.unique(blocks, return_index=True)[1]
    quotient = _mapped(dfa.table[first_of_block], blocks)
    return normalized(dfa.classes, quotient, dfa.finals[first_of_block], int(blocks[dfa.initial]))


def normalized(
    classes: npt.NDArray[np.uint16],
    table: npt.NDArray[np.int32],
    finals: npt.NDArray[np.bool_],
    initial: int,
) -> Dfa:
    """The same machine with equal columns merged and states numbered breadth first.

    States that cannot be reached are left out.
    """
    classes, table = _merged_columns(classes, table)
    order = _breadth_first(table, initial)
    numbers = np.full(len(table), DEAD, np.int64)
    numbers[order] = np.arange(len(order))
    # columns that only states out of reach told apart merge now
    classes, table = _merged_columns(classes, _mapped(table[order], numbers))
    return Dfa(classes, table, finals[order])


def _equivalent_states(dfa: Dfa, limits: Limits) -> _Ints:
    """For each state the number of its block; states of a block accept the same texts."""
    clock = limits.clock()
    blocks = _distances(dfa)
    count = len(np.unique(blocks))
    random = np.random.default_rng(1)
    weights = random.integers(1, 2**63, dfa.table.shape[1], np.uint64) | np.uint64(1)
    while True:
        clock.check()
        marks = random.integers(1, 2**63, len(blocks) + 1, np.uint64)
        marks[-1] = 0  # DEAD is -1
        marked = np.append(marks[blocks], np.uint64(0))
        keys = (marked[dfa.table] * weights).sum(axis=1, dtype=np.uint64) * np.uint64(
            0x9E3779B97F4A7C15
        ) + marks[blocks]
        blocks = np.unique(keys, return_inverse=True)[1]
        refined = int(blocks.max()) + 1
        if refined == count and _is_stable(dfa, blocks):
            return blocks.astype(np.int64)
        count = refined


def _is_stable(dfa: Dfa, blocks: _Ints) -> bool:
    """Whether all states of a block agree, edge by edge.

    The rounds compare sums of random marks; this makes their answer exact. A sum never
    tells equal states apart, and two different states it should confuse are seen here.
    """
    first, inverse = np.unique(blocks, return_index=True, return_inverse=True)[1:]
    mapped = _mapped(dfa.table, blocks)
    return bool(
        (mapped == mapped[first][inverse]).all()
        and (dfa.finals == dfa.finals[first][inverse]).all()
    )


def _mapped(table: npt.NDArray[np.int32], numbers: _Ints) -> npt.NDArray[np.int32]:
    """A table whose entries are renumbered; ``DEAD`` stays."""
    return np.append(numbers, DEAD)[table].astype(np.int32)


def _distances(dfa: Dfa) -> _Ints:
    """For each state the length of the shortest text from it to a final one."""
    before: list[list[int]] = [[] for _ in range(len(dfa))]
    for state, row in enumerate(dfa.table.tolist()):
        for target in set(row):
            if target != DEAD:
                before[target].append(state)
    distances = [DEAD] * len(dfa)
    level = np.flatnonzero(dfa.finals).tolist()
    depth = 0
    while level:
        following: list[int] = []
        for state in level:
            if distances[state] == DEAD:
                distances[state] = depth
                following += before[state]
        level = following
        depth += 1
    return np.array(distances, np.int64) + 1


def _merged_columns(
    classes: npt.NDArray[np.uint16], table: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.int32]]:
    """Equal columns made one, numbered by the first symbol that has them."""
    columns = [column.tobytes() for column in np.ascontiguousarray(table.T)]
    numbers: dict[bytes, int] = {}
    kept: list[int] = []
    renamed: dict[int, int] = {}
    for its_class in dict.fromkeys(classes.tolist()):
        number = numbers.setdefault(columns[its_class], len(numbers))
        if number == len(kept):
            kept.append(its_class)
        renamed[its_class] = number
    lookup = np.zeros(len(columns), np.uint16)
    lookup[list(renamed)] = list(renamed.values())
    return lookup[classes], np.ascontiguousarray(table[:, kept])


def _breadth_first(table: npt.NDArray[np.int32], initial: int) -> list[int]:
    """The states that can be reached, nearest first, by class among equals."""
    order = [initial]
    seen = {initial, DEAD}
    rows = table.tolist()
    for state in order:  # grows while it is read
        for target in rows[state]:
            if target not in seen:
                seen.add(target)
                order.append(target)
    return order
