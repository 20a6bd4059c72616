"""Minimization of DFAs, with states and classes numbered in normal form.

Two implementations, both by partition refinement:

* ``find_blocks``: numba kernel (Valmari & Lehtinen 2008) for machines that are trimmed already.
* ``minimize``: numpy rounds (Moore 1956) and a worklist, for any machine; it checks the clock.

A partition of the numbers 0 … n − 1 is an int32 array of 8 rows::

    _MEMBERS  the numbers, those of one set next to each other, its marked ones first
    _PLACE    by number: its index in _MEMBERS
    SET       by number: its set
    _START    by set: the first index of its members
    _END      by set: the index after its last member
    _MARKED   by set: how many of its members are marked
    _TOUCHED  a list of the sets that have marked members
    _COUNTS   two counts: how many sets there are (_SETS), how many of them are touched (_SOME)

    members of set s:  [ marked | not marked ]
                       ^ _START[s]           ^ _END[s]
                                ^ _START[s] + _MARKED[s]
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import numpy as np
import numpy.typing as npt

from workbench.automata.graphs import reachable
from workbench.automata.nfa import Flags, Ints
from workbench.base.dfa import DEAD, Dfa, State, table_rows
from workbench.base.kernels import inner, int64
from workbench.base.limits import LIMITS, Clock, Limits

_MEMBERS, _PLACE, SET, _START, _END, _MARKED, _TOUCHED, _COUNTS = range(8)
ROWS = 8
#: The columns of the row ``_COUNTS``.
_SETS, _SOME = 0, 1
#: The rows of edges. By edge: its source, its target, and the previous edge with the same target
#: (a linked list). By state: the latest edge that leads to it, the head of that list.
_TAIL, _HEAD, _BEFORE, _LATEST = range(4)


@inner
def find_blocks(
    table: Ints, states: int, ends: Flags, blocks: Ints, cords: Ints, edges: Ints
) -> int:
    """Write for each of the first ``states`` states the number of its block in row ``SET``.

    Returns the number of blocks. The caller allocates the arrays.

    Shape:  ``blocks`` (ROWS, states), a partition of states; ``cords`` (ROWS, entries of the
            table), a partition of edges; ``edges`` (4, entries of the table).
    Cost:   n log n for n edges. Rounds over all states (Moore 1956) took ten times as long for a
            regex of 250 states, where each round splits off one state of a chain.
    Source: Valmari & Lehtinen 2008, "Efficient minimization of DFAs with partial transition
            functions"; a cord is a set of edges of one symbol class.
    """
    made = int64(0)
    cords[_COUNTS, _SETS] = cords[_COUNTS, _SOME] = 0
    for column in range(table.shape[1]):
        before = made
        for state in range(states):
            if table[state, column] >= 0:
                edges[_TAIL, made], edges[_HEAD, made] = state, table[state, column]
                made += 1
        if made > before:
            _add_set(cords, before, made)
    blocks[_COUNTS, _SETS] = blocks[_COUNTS, _SOME] = 0
    _add_set(blocks, int64(0), int64(states))
    for state in range(states):
        edges[_LATEST, state] = -1
        if ends[state]:
            _mark(blocks, int64(state))
    _split(blocks)
    for edge in range(made):  # link the edges with the same target
        head = edges[_HEAD, edge]
        edges[_BEFORE, edge], edges[_LATEST, head] = edges[_LATEST, head], edge
    _refine(blocks, cords, edges)
    return int(blocks[_COUNTS, _SETS])


@inner
def _refine(blocks: Ints, cords: Ints, edges: Ints) -> None:
    """Split blocks by cords and cords by blocks until neither splits the other."""
    block, cord = 1, 0
    while cord < cords[_COUNTS, _SETS]:
        for k in range(cords[_START, cord], cords[_END, cord]):
            _mark(blocks, int64(edges[_TAIL, cords[_MEMBERS, k]]))
        _split(blocks)
        cord += 1
        while block < blocks[_COUNTS, _SETS]:
            for k in range(blocks[_START, block], blocks[_END, block]):
                edge = int64(edges[_LATEST, blocks[_MEMBERS, k]])
                while edge >= 0:
                    _mark(cords, edge)
                    edge = int64(edges[_BEFORE, edge])
            _split(cords)
            block += 1


@inner
def _add_set(partition: Ints, start: int, end: int) -> None:
    """Add a set of the numbers from ``start`` up to ``end``."""
    number = partition[_COUNTS, _SETS]
    partition[_START, number], partition[_END, number] = start, end
    partition[_MARKED, number] = 0
    for member in range(start, end):
        partition[_MEMBERS, member] = partition[_PLACE, member] = member
        partition[SET, member] = number
    partition[_COUNTS, _SETS] += 1


@inner
def _mark(partition: Ints, member: int) -> None:
    """Mark a number: move it to the front part of its set."""
    its_set, place = partition[SET, member], partition[_PLACE, member]
    front = partition[_START, its_set] + partition[_MARKED, its_set]
    other = partition[_MEMBERS, front]
    partition[_MEMBERS, place], partition[_PLACE, other] = other, place
    partition[_MEMBERS, front], partition[_PLACE, member] = member, front
    if partition[_MARKED, its_set] == 0:
        partition[_TOUCHED, partition[_COUNTS, _SOME]] = its_set
        partition[_COUNTS, _SOME] += 1
    partition[_MARKED, its_set] += 1


@inner
def _split(partition: Ints) -> None:
    """Split each touched set: the smaller of its marked and unmarked parts becomes a new set."""
    for k in range(partition[_COUNTS, _SOME]):
        its_set = partition[_TOUCHED, k]
        start, end = partition[_START, its_set], partition[_END, its_set]
        middle = start + partition[_MARKED, its_set]
        partition[_MARKED, its_set] = 0
        if middle == end:
            continue
        fresh = partition[_COUNTS, _SETS]
        partition[_COUNTS, _SETS] += 1
        partition[_MARKED, fresh] = 0
        if middle - start <= end - middle:
            partition[_START, its_set] = middle
            partition[_START, fresh], partition[_END, fresh] = start, middle
        else:
            partition[_END, its_set] = middle
            partition[_START, fresh], partition[_END, fresh] = middle, end
        for at in range(partition[_START, fresh], partition[_END, fresh]):
            partition[SET, partition[_MEMBERS, at]] = fresh
    partition[_COUNTS, _SOME] = 0


_Ints = npt.NDArray[np.int64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def minimize(dfa: Dfa, limits: Limits = LIMITS, clock: Clock | None = None) -> Dfa:
    """The smallest Dfa of the language; equal languages give identical tables.

    States are numbered breadth first by class, classes by their first symbol. The initial
    partition is the distance to the nearest final state, which separates most states of a typical
    pattern. It is refined by numpy rounds over all states while these split much, then by a
    worklist of changed states. Rounds alone took half a second for ``a{0,3000}b*``, where
    each splits off one state; a worklist alone (Hopcroft) pays for every edge in Python.
    ``clock`` is the clock of the surrounding work, if there is one.

    Cost:   Q × C for each round; then C for each edge into a state that changed.
    Raises: LimitError above ``limits.seconds``.
    Source: Moore 1956, "Gedanken-experiments on sequential machines", theorem 4; that the
            largest part keeps its number is from Hopcroft 1971.
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
    """The same machine with equal columns merged and states numbered breadth first, by class.

    States that are not accessible are left out.
    """
    classes, table = _merged_columns(classes, table)
    rows = table_rows(table)
    accessible = reachable([initial], lambda state: dict.fromkeys(t for t in rows[state] if t >= 0))
    order = list(accessible)
    numbers = np.full(len(table), DEAD, np.int64)
    numbers[order] = np.arange(len(order))
    # columns that differed only in states that are not accessible are merged now
    classes, table = _merged_columns(classes, _mapped(table[order], numbers))
    return Dfa(classes, table, finals[order])


def _equivalent_states(dfa: Dfa, clock: Clock) -> _Ints:
    """For each state the number of its block: states of a block accept the same texts."""
    before = predecessors(dfa)
    blocks = distances_to_end(dfa, before)
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


def _random_marks(count: int, seed: int) -> npt.NDArray[np.uint64]:
    """Pseudorandom numbers (SplitMix64, Steele & others 2014).

    Importing numpy's generators would take a new process longer than compiling a regex.
    """
    bits = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 40)) * _GOLDEN
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _refined(dfa: Dfa, blocks: _Ints, seed: int) -> _Ints:
    """One round over all states: splits each block by the blocks its states lead to.

    The largest part of a block keeps its number.
    """
    count = int(blocks.max()) + 1
    marks = _random_marks(count, 2 * seed)
    weights = _random_marks(dfa.table.shape[1], 2 * seed + 1) | np.uint64(1)
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
    """Split until nothing changes, examining only the predecessors of changed states.

    The other states of a block agree with each other, so they keep its number.
    """
    if not changed:
        return blocks
    rows = table_rows(dfa.table)
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
    """Whether all states of each block agree, edge by edge.

    The rounds compare sums of random marks. Equal states always have equal sums; this test finds
    different states with equal sums, so the result is exact.
    """
    first, inverse = np.unique(blocks, return_index=True, return_inverse=True)[1:]
    mapped = _mapped(dfa.table, blocks)
    return bool(
        (mapped == mapped[first][inverse]).all()
        and (dfa.finals == dfa.finals[first][inverse]).all()
    )


def _mapped(table: npt.NDArray[np.int32], numbers: _Ints) -> npt.NDArray[np.int32]:
    """A table whose entries are renumbered; ``DEAD`` is kept."""
    return np.append(numbers, DEAD)[table].astype(np.int32)


def predecessors(dfa: Dfa) -> list[list[State]]:
    """For each state the states with an edge to it."""
    targets = np.sort(dfa.table, axis=1)  # (Q, C), equal targets of a state are neighbours
    is_first = np.ones(targets.shape, np.bool_)
    is_first[:, 1:] = targets[:, 1:] != targets[:, :-1]
    source, column = np.nonzero(is_first & (targets != DEAD))
    target = targets[source, column]
    order = np.argsort(target, kind="stable")
    sources = source[order].tolist()
    starts = np.searchsorted(target[order], np.arange(len(dfa) + 1)).tolist()
    return [sources[start:end] for start, end in itertools.pairwise(starts)]


def distances_to_end(dfa: Dfa, before: list[list[State]]) -> _Ints:
    """For each state the length of the shortest text to a final state, plus one.

    0 for states that are not co-accessible, in machines that are not trimmed.
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
    """The table without duplicate columns, numbered by the first symbol of each."""
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
