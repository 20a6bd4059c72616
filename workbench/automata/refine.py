"""Refine: a table of states in, for each state the block of those that accept the same texts out.

Numbers 0 … n − 1 in sets are one array of rows: those of set s are ``_MEMBERS`` from ``_START``
up to ``_END`` of s. While numbers are marked, those of a set stand at its front, ``_MARKED`` of
them; ``_TOUCHED`` names the sets that have some.
"""

from __future__ import annotations

from workbench.automata.flat import Flags, Ints
from workbench.kernel import inner, int64

_MEMBERS, _PLACE, SET, _START, _END, _MARKED, _TOUCHED, _COUNTS = range(8)
ROWS = 8
#: The row ``_COUNTS`` says how many sets there are, and how many of them are touched.
_SETS, _SOME = 0, 1
#: The rows of edges: where each leads from and to, the one before it that leads to the same state,
#: and by state the latest that leads to it.
_TAIL, _HEAD, _BEFORE, _LATEST = range(4)


@inner
def find_blocks(
    table: Ints, states: int, ends: Flags, blocks: Ints, cords: Ints, edges: Ints
) -> int:
    """Write for each of the first states the number of its block; how many blocks there are.

    It stands in row ``SET`` of ``blocks``. There is room for all: ``blocks`` (ROWS, states),
    ``cords`` and ``edges`` (ROWS and 4, entries of the table).

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
    for edge in range(made):  # those into one state in a chain from the latest
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
    """Make the numbers from ``start`` up to ``end`` a set of their own."""
    number = partition[_COUNTS, _SETS]
    partition[_START, number], partition[_END, number] = start, end
    partition[_MARKED, number] = 0
    for member in range(start, end):
        partition[_MEMBERS, member] = partition[_PLACE, member] = member
        partition[SET, member] = number
    partition[_COUNTS, _SETS] += 1


@inner
def _mark(partition: Ints, member: int) -> None:
    """Move a number to the marked ones of its set."""
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
    """Make the marked numbers of each set, or the others if they are fewer, a set of their own."""
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
