"""Minimization of DFAs, with states and classes numbered in normal form.

Two implementations, both by partition refinement:

* ``normal_form``: numba kernel (Valmari & Lehtinen 2008) over the edges of a trimmed machine.
  ``find_blocks`` numbers equivalent states, ``_find_columns`` merges equal symbol classes,
  ``_write_normal`` numbers the blocks breadth first. ``smallest_of`` trims a table before.
* ``minimize_in_rounds``: numpy rounds (Moore 1956) and a worklist, which check the clock, for large
  machines.

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

from workbench.automata.determinize import Edges, nothing, trimmed
from workbench.automata.graphs import reachable
from workbench.automata.nfa import Bits, Classes, Flags, Ints
from workbench.base.dfa import DEAD, Dfa, State, table_rows
from workbench.base.kernels import inner, int64, njit, wrapping
from workbench.base.limits import LIMITS, Clock, Limits

_MEMBERS, _PLACE, SET, _START, _END, _MARKED, _TOUCHED, _COUNTS = range(8)
ROWS = 8
#: The columns of the row ``_COUNTS``.
_SETS, _SOME = 0, 1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
#: The rows of edges. By edge: its source, its target, and the previous edge with the same target
#: (a linked list). By state: the latest edge that leads to it, the head of that list.
_TAIL, _HEAD, _BEFORE, _LATEST = range(4)


@inner
def find_blocks(
    edges: Edges, ends: Flags, blocks: Ints, cords: Ints, sorted_edges: Ints, stops: Ints
) -> int:
    """Write for each state the number of its block in row ``SET``; return how many blocks.

    The caller allocates the arrays. All states must be accessible and co-accessible.

    Shape:  ``blocks`` (ROWS, states), a partition of states; ``cords`` (ROWS, edges), a partition
            of ``sorted_edges`` (4, edges or states), the edges sorted by class; ``stops``
            (classes,), where the edges of each class end.
    Cost:   n log n for n edges. Rounds over all states (Moore 1956) took ten times as long for a
            regex of 250 states, where each round splits off one state of a chain.
    Source: Valmari & Lehtinen 2008, "Efficient minimization of DFAs with partial transition
            functions"; a cord is a set of edges of one symbol class.
    """
    states = int64(len(ends))
    _sort_by_class(edges, states, sorted_edges, stops)
    cords[_COUNTS, _SETS] = cords[_COUNTS, _SOME] = 0
    before = int64(0)
    for stop in stops:
        if stop > before:
            _add_set(cords, before, int64(stop))
            before = int64(stop)
    blocks[_COUNTS, _SETS] = blocks[_COUNTS, _SOME] = 0
    _add_set(blocks, int64(0), states)
    for state in range(states):
        sorted_edges[_LATEST, state] = -1
        if ends[state]:
            _mark(blocks, int64(state))
    _split(blocks)
    for edge in range(before):  # link the edges with the same target
        head = sorted_edges[_HEAD, edge]
        sorted_edges[_BEFORE, edge] = sorted_edges[_LATEST, head]
        sorted_edges[_LATEST, head] = edge
    _refine(blocks, cords, sorted_edges)
    return int(blocks[_COUNTS, _SETS])


@inner
def _sort_by_class(edges: Edges, states: int, sorted_edges: Ints, stops: Ints) -> None:
    """Write the edges sorted by class, those of one class by source; and where each class ends."""
    for its_class in range(len(stops)):
        stops[its_class] = 0
    for k in range(edges.first[states]):
        stops[edges.labels[k]] += 1
    end = 0
    for its_class in range(len(stops)):
        end += stops[its_class]
        stops[its_class] = end
    for state in range(states - 1, -1, -1):
        for k in range(edges.first[state], edges.first[state + 1]):
            stops[edges.labels[k]] -= 1
            position = stops[edges.labels[k]]
            sorted_edges[_TAIL, position], sorted_edges[_HEAD, position] = state, edges.targets[k]
    for its_class in range(len(stops) - 1):
        stops[its_class] = stops[its_class + 1]
    stops[len(stops) - 1] = end


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
    its_set, position = partition[SET, member], partition[_PLACE, member]
    front = partition[_START, its_set] + partition[_MARKED, its_set]
    other = partition[_MEMBERS, front]
    partition[_MEMBERS, position], partition[_PLACE, other] = other, position
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
        for position in range(partition[_START, fresh], partition[_END, fresh]):
            partition[SET, partition[_MEMBERS, position]] = fresh
    partition[_COUNTS, _SOME] = 0


@wrapping
@inner
def _find_columns(
    edges: Ints, stops: Ints, blocks: Ints, marks: Bits, columns: Ints, renamed: Classes
) -> int:
    """Merge symbol classes with equal columns; return how many remain.

    ``renamed`` receives the new number of each class, ``columns`` the first old class of each new
    one. ``edges`` are sorted by class. ``marks`` is scratch: a hash of each column.
    """
    kept, begin = 0, 0
    for k in range(len(marks)):
        mark = np.uint64(0)
        for edge in range(begin, stops[k]):
            mark ^= np.uint64(edges[_TAIL, edge])
            mark = (mark ^ np.uint64(blocks[edges[_HEAD, edge]]) << np.uint64(32)) * _GOLDEN
            mark ^= mark >> np.uint64(29)
        marks[k], columns[kept], begin, j = mark, k, stops[k], 0
        while marks[columns[j]] != mark or not _same_column(edges, stops, blocks, columns[j], k):
            j += 1
        renamed[k] = j
        kept = max(kept, j + 1)
    return kept


@inner
def _same_column(edges: Ints, stops: Ints, blocks: Ints, left: int, right: int) -> bool:
    """Whether two symbol classes lead to the same block from every state."""
    left_start, other = stops[left - 1] if left > 0 else 0, stops[right - 1] if right > 0 else 0
    if stops[left] - left_start != stops[right] - other:
        return False
    for k in range(stops[left] - left_start):
        if (
            edges[_TAIL, left_start + k] != edges[_TAIL, other + k]
            or blocks[edges[_HEAD, left_start + k]] != blocks[edges[_HEAD, other + k]]
        ):
            return False
    return True


@inner
def _write_normal(
    edges: Edges, ends: Flags, blocks: Ints, columns: Ints, renamed: Classes, space: Ints,
    table: Ints, kept_ends: Flags,
) -> None:  # fmt: skip
    """Write one state for each block, numbered breadth first by class."""
    numbers, order, count = space[0], space[1], 1
    for state in range(len(table)):
        numbers[state] = -1
    order[0] = numbers[blocks[0]] = 0
    for row in range(len(table)):
        state = order[row]
        kept_ends[row], table[row] = ends[state], DEAD
        for k in range(edges.first[state], edges.first[state + 1]):
            column = renamed[edges.labels[k]]
            if columns[column] != edges.labels[k]:
                continue
            target = edges.targets[k]
            if numbers[blocks[target]] < 0:
                numbers[blocks[target]] = count
                order[count] = target
                count += 1
            table[row, column] = numbers[blocks[target]]


@njit(no_cpython_wrapper=True)
def normal_form(edges: Edges, ends: Flags, classes: Classes, width: int) -> tuple[Ints, Flags]:
    """The smallest table and its final states; ``classes`` are renumbered.

    All states must be accessible from state 0 and co-accessible; ``width`` is the number of
    symbol classes.
    """
    states, count = len(ends), edges.first[len(ends)]
    blocks, cords = np.empty((ROWS, states + 2), np.int32), np.empty((ROWS, count + 2), np.int32)
    space, stops = np.empty((4, max(count, states) + 2), np.int32), np.empty(width, np.int32)
    kept = find_blocks(edges, ends, blocks, cords, space, stops)
    columns, marks = np.empty(width, np.int32), np.empty(width, np.uint64)
    renamed = np.empty(width, np.uint16)
    narrow = _find_columns(space, stops, blocks[SET], marks, columns, renamed)
    for symbol in range(len(classes)):
        classes[symbol] = renamed[classes[symbol]]
    table, kept_ends = np.empty((kept, narrow), np.int32), np.empty(kept, np.bool_)
    _write_normal(edges, ends, blocks[SET], columns, renamed, space, table, kept_ends)
    return table, kept_ends


def smallest_of(classes: Classes, table: Ints, ends: Flags, initial: State = 0) -> Dfa:
    """The smallest Dfa of any table of ``DEAD`` and states.

    Cost: n log n for n edges.
    """
    # the kernel has one type of arrays: those of a Dfa are read-only, others transposed
    table, ends = np.require(table, np.int32, ["C", "W"]), np.require(ends, np.bool_, ["C", "W"])
    small, small_ends, its_classes = _smallest_of(classes.astype(np.uint16), table, ends, initial)
    return Dfa(its_classes, small, small_ends) if len(small) else nothing(len(classes))


@njit()
def _smallest_of(
    classes: Classes, table: Ints, ends: Flags, initial: int
) -> tuple[Ints, Flags, Classes]:
    """The smallest table, its final states, and classes; no states for the empty language.

    Classes are numbered by their first symbol, and states that are not accessible or not
    co-accessible are left out.
    """
    states, width = table.shape
    renamed, columns, class_count = np.full(width, -1, np.int32), np.empty(width, np.int32), 0
    for symbol in range(len(classes)):
        its_class = classes[symbol]
        if renamed[its_class] < 0:
            renamed[its_class], columns[class_count] = class_count, its_class
            class_count += 1
        classes[symbol] = renamed[its_class]
    alive = np.zeros(states, np.bool_)
    _find_coaccessible(table, ends, alive)
    numbers, order, edges = np.full(states, -1, np.int32), np.empty(states, np.int32), 0
    state_count, row = 0, 0
    if alive[initial]:
        numbers[initial], order[0], state_count = 0, initial, 1
    while row < state_count:
        for k in range(class_count):
            target = table[order[row], columns[k]]
            if target < 0 or not alive[target]:
                continue
            edges += 1
            if numbers[target] < 0:
                numbers[target], order[state_count] = state_count, target
                state_count += 1
        row += 1
    first, labels = np.empty(state_count + 1, np.int32), np.empty(edges, np.int32)
    targets, kept_ends, edges = np.empty(edges, np.int32), np.empty(state_count, np.bool_), 0
    for row in range(state_count):
        first[row], kept_ends[row] = edges, ends[order[row]]
        for k in range(class_count):
            target = table[order[row], columns[k]]
            if target >= 0 and alive[target]:
                labels[edges], targets[edges] = k, numbers[target]
                edges += 1
    first[state_count] = edges
    if state_count == 0:
        return table[:0], kept_ends, classes
    small, small_ends = normal_form(Edges(first, labels, targets), kept_ends, classes, class_count)
    return small, small_ends, classes


@njit(no_cpython_wrapper=True)
def _find_coaccessible(table: Ints, ends: Flags, alive: Flags) -> None:
    """Mark the states from which a final state is reached, by a search over reversed edges."""
    states, width = table.shape
    first, stack, top = np.zeros(states + 1, np.int32), np.empty(states, np.int32), 0
    for state in range(states):
        for column in range(width):
            if table[state, column] >= 0:
                first[table[state, column]] += 1
    for state in range(states):
        first[state + 1] += first[state]
    sources = np.empty(first[states], np.int32)
    for state in range(states):
        for column in range(width):
            if table[state, column] >= 0:
                first[table[state, column]] -= 1
                sources[first[table[state, column]]] = state
        if ends[state]:
            alive[state], stack[top] = True, state
            top += 1
    while top > 0:
        top -= 1
        for k in range(first[stack[top]], first[stack[top] + 1]):
            if not alive[sources[k]]:
                alive[sources[k]] = True
                stack[top] = sources[k]
                top += 1


_Ints = npt.NDArray[np.int64]
#: A table of more entries is minimized in rounds, which check the clock.
_MAX_ENTRIES = 1 << 20


def minimize(dfa: Dfa, limits: Limits = LIMITS, clock: Clock | None = None) -> Dfa:
    """The smallest Dfa of a machine, trimmed or not; equal languages give identical tables.

    States are numbered breadth first by class, classes by their first symbol. ``clock`` is the
    clock of the surrounding work, if there is one.

    Raises: LimitError above ``limits.seconds``.
    """
    if dfa.table.size <= _MAX_ENTRIES:
        return smallest_of(dfa.classes, dfa.table, dfa.finals, dfa.initial)
    clock = clock or limits.clock()
    whole = trimmed(dfa.classes, dfa.table, dfa.finals, dfa.initial, clock)
    return minimize_in_rounds(whole, clock)


def minimize_in_rounds(dfa: Dfa, clock: Clock) -> Dfa:
    """The same of a trimmed Dfa, by Python and numpy.

    The initial partition is the distance to the nearest final state, which separates most states
    of a typical pattern. It is refined by numpy rounds over all states while these split much, then
    by a worklist of changed states. Rounds alone took half a second for ``a{0,3000}b*``, where
    each splits off one state; a worklist alone (Hopcroft) pays for every edge in Python.

    Cost:   Q × C for each round; then C for each edge into a state that changed.
    Raises: LimitError after the time limit.
    Source: Moore 1956, "Gedanken-experiments on sequential machines", theorem 4; that the
            largest part keeps its number is from Hopcroft 1971.
    """
    blocks = np.unique(_equivalent_states(dfa, clock), return_inverse=True)[1]
    first_of_block = np.unique(blocks, return_index=True)[1]
    quotient = _renumber(dfa.table[first_of_block], blocks)
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
    classes, table = _merged_columns(classes, _renumber(table[order], numbers))
    return Dfa(classes, table, finals[order])


def _equivalent_states(dfa: Dfa, clock: Clock) -> _Ints:
    """For each state the number of its block: states of a block accept the same texts."""
    before = predecessors(dfa)
    blocks = distances_to_end(dfa, before)
    for seed in itertools.count(1):
        clock.check()
        refined = _refine_round(dfa, blocks, seed)
        changed = np.flatnonzero(refined != blocks)
        blocks = refined
        if len(changed) * 8 < len(dfa):
            blocks = _propagate(dfa, before, blocks, changed.tolist(), clock)
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


def _refine_round(dfa: Dfa, blocks: _Ints, seed: int) -> _Ints:
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


def _propagate(
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
    mapped = _renumber(dfa.table, blocks)
    return bool(
        (mapped == mapped[first][inverse]).all()
        and (dfa.finals == dfa.finals[first][inverse]).all()
    )


def _renumber(table: npt.NDArray[np.int32], numbers: _Ints) -> npt.NDArray[np.int32]:
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
