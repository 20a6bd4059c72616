"""Minimize: in comes a Dfa, out comes the smallest one of the same language, in normal form."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD, Dfa, State
from workbench.limits import LIMITS, Clock, Limits

_Ints = npt.NDArray[np.int64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def minimize(dfa: Dfa, limits: Limits = LIMITS, clock: Clock | None = None) -> Dfa:
    """The smallest Dfa of the language; equal languages give identical tables.

    States are numbered breadth first by class, classes by their first symbol. The
    partition starts from the distance to the nearest end, which already tells most states
    of a real pattern apart. It is refined by whole rounds in numpy while they split much, then
    by a worklist of what changed. Rounds alone took half a second for ``a{0,3000}b*``, where
    each splits off one state; a worklist alone (Hopcroft) pays for every edge in Python.
    ``clock`` is that of the work this is part of.

    Cost:   Q × C a round; then C for each edge into a state that changed.
    Raises: LimitError past ``limits.seconds``.
    Source: Moore 1956, "Gedanken-experiments on sequential machines", theorem 4; that the
            largest piece keeps its number is Hopcroft 1971.
    """
    blocks = np.unique(_equivalent_states(dfa, clock or limits.clock()), return_inverse=True)[1]
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


def _equivalent_states(dfa: Dfa, clock: Clock) -> _Ints:
    """For each state the number of its block; states of a block accept the same texts."""
    before = _predecessors(dfa)
    blocks = _distances(dfa, before)
    for seed in itertools.count(1):
        clock.check()
        refined = _refined(dfa, blocks, seed)
        changed = np.flatnonzero(refined != blocks)
        blocks = refined
        if len(changed) * 8 < len(dfa):
            blocks = _propagated(dfa, before, blocks, changed.tolist(), clock)
            if _is_stable(dfa, blocks):
                return blocks
    raise AssertionError("the partition cannot be refined for ever")


def _marks(count: int, seed: int) -> npt.NDArray[np.uint64]:
    """Numbers that look random: Steele & others 2014, SplitMix64.

    numpy's generators would cost a new process more time to import than a whole regex takes.
    """
    bits = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 40)) * _GOLDEN
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _refined(dfa: Dfa, blocks: _Ints, seed: int) -> _Ints:
    """One round for all states: blocks split by where their states lead to.

    Of the pieces of a block the largest keeps its number.
    """
    count = int(blocks.max()) + 1
    marks = _marks(count, 2 * seed)
    weights = _marks(dfa.table.shape[1], 2 * seed + 1) | np.uint64(1)
    marked = np.append(marks[blocks], np.uint64(0))  # DEAD is -1
    keys = (marked[dfa.table] * weights).sum(axis=1, dtype=np.uint64)
    # uint64 sums and products wrap around, as hashes should
    keys = (keys ^ (keys >> np.uint64(29))) * _GOLDEN + marks[blocks]
    pieces, first, piece_of, sizes = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    by_size = np.argsort(sizes, kind="stable")
    parents = blocks[first]
    keeper = np.empty(count, np.int64)
    keeper[parents[by_size]] = by_size  # the last one written, the largest, stays
    fresh = count + np.arange(len(pieces))
    numbers = np.where(keeper[parents] == np.arange(len(pieces)), parents, fresh)
    return numbers[piece_of.reshape(-1)]


def _propagated(
    dfa: Dfa, before: list[list[State]], blocks: _Ints, changed: list[State], clock: Clock
) -> _Ints:
    """Split on until nothing changes, looking only at states that lead to changed ones.

    States of a block that lead to no changed one still agree with each other and with no
    other state of it, so they keep its number.
    """
    if not changed:
        return blocks
    rows = dfa.table.tolist()
    numbers = [*blocks.tolist(), DEAD]  # DEAD is -1
    sizes = Counter(numbers)
    fresh = max(numbers) + 1
    while changed:
        clock.check()
        pieces: dict[int, dict[tuple[int, ...], list[State]]] = defaultdict(dict)
        for state in {earlier for later in changed for earlier in before[later]}:
            signature = tuple([numbers[target] for target in rows[state]])
            pieces[numbers[state]].setdefault(signature, []).append(state)
        changed = []
        for block, by_signature in pieces.items():
            split = sorted(by_signature.values(), key=len)
            if sum(map(len, split)) == sizes[block]:
                split.pop()
            for piece in split:
                sizes[block] -= len(piece)
                sizes[fresh] = len(piece)
                for state in piece:
                    numbers[state] = fresh
                fresh += 1
                changed += piece
    return np.array(numbers[:-1], np.int64)


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


def _predecessors(dfa: Dfa) -> list[list[State]]:
    """For each state the states with an edge to it."""
    targets = np.sort(dfa.table, axis=1)  # (Q, C), equal targets of a state side by side
    is_first = np.ones(targets.shape, np.bool_)
    is_first[:, 1:] = targets[:, 1:] != targets[:, :-1]
    source, column = np.nonzero(is_first & (targets != DEAD))
    target = targets[source, column]
    order = np.argsort(target, kind="stable")
    sources = source[order].tolist()
    starts = np.searchsorted(target[order], np.arange(len(dfa) + 1)).tolist()
    return [sources[start:end] for start, end in itertools.pairwise(starts)]


def _distances(dfa: Dfa, before: list[list[State]]) -> _Ints:
    """For each state the length of the shortest text from it to a final one.

    States from which there is none, of a machine that is not trimmed, stand apart at 0.
    """
    distances = [DEAD] * len(dfa)
    level = np.flatnonzero(dfa.finals).tolist()
    depth = 0
    while level:
        following: list[State] = []
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
        for target in dict.fromkeys(rows[state]):
            if target not in seen:
                seen.add(target)
                order.append(target)
    return order
