"""Refine: a table of states in, for each state the block of those that accept the same texts out.

Numbers 0 … n − 1 in sets are one array of rows: those of set s are ``_MEMBERS`` from ``_START``
up to ``_END`` of s. While numbers are marked, those of a set stand at its front, ``_MARKED`` of
them; ``_TOUCHED`` names the sets that have some. One array, for a tuple of arrays is counted
in and out at every call of a kernel's helper: that took most of the time.
"""

from __future__ import annotations

import numpy as np

from workbench.automata.flat import Flags, Ints
from workbench.automata.kernel import njit

_MEMBERS, _PLACE, _SET, _START, _END, _MARKED, _TOUCHED, _COUNTS = range(8)
#: The row ``_COUNTS`` says how many sets there are, and how many of them are touched.
_SETS, _SOME = 0, 1


@njit(cache=True, nogil=True)
def blocks_of(table: Ints, ends: Flags) -> tuple[Ints, int]:
    """For each state the number of its block, and how many blocks there are.

    Cost:   n log n for n edges. Rounds over all states (Moore 1956) took ten times as long for a
            regex of 250 states, where each round splits off one state of a chain.
    Source: Valmari & Lehtinen 2008, "Efficient minimization of DFAs with partial transition
            functions"; a cord is a set of edges of one symbol class.
    """
    states, columns = table.shape
    edges = 0
    for target in table.flat:
        edges += int(target >= 0)
    tails, heads = np.empty(edges, np.int32), np.empty(edges, np.int32)
    cords, blocks = _partition(edges), _partition(states)
    made = 0
    for column in range(columns):
        before = made
        for state in range(states):
            if table[state, column] >= 0:
                tails[made], heads[made] = state, table[state, column]
                made += 1
        if made > before:
            _add_set(cords, before, made)
    _add_set(blocks, 0, states)
    for state in range(states):
        if ends[state]:
            _mark(blocks, state)
    _split(blocks)
    _refine(blocks, cords, tails, heads)
    return blocks[_SET, :states].copy(), blocks[_COUNTS, _SETS]


@njit(cache=True, nogil=True)
def _refine(blocks: Ints, cords: Ints, tails: Ints, heads: Ints) -> None:
    """Split blocks by cords and cords by blocks until neither splits the other."""
    latest, before = np.full(blocks.shape[1], -1, np.int32), np.empty(len(heads), np.int32)
    for edge in range(len(heads)):  # edges into one state, in a chain from the latest
        before[edge], latest[heads[edge]] = latest[heads[edge]], edge
    block, cord = 1, 0
    while cord < cords[_COUNTS, _SETS]:
        for k in range(cords[_START, cord], cords[_END, cord]):
            _mark(blocks, tails[cords[_MEMBERS, k]])
        _split(blocks)
        cord += 1
        while block < blocks[_COUNTS, _SETS]:
            for k in range(blocks[_START, block], blocks[_END, block]):
                edge = latest[blocks[_MEMBERS, k]]
                while edge >= 0:
                    _mark(cords, edge)
                    edge = before[edge]
            _split(cords)
            block += 1


@njit(cache=True, nogil=True)
def _partition(size: int) -> Ints:
    """Numbers that are in no set yet."""
    partition = np.zeros((8, max(2, size)), np.int32)
    for number in range(size):
        partition[_MEMBERS, number] = partition[_PLACE, number] = number
    return partition


@njit(cache=True, nogil=True)
def _add_set(partition: Ints, start: int, end: int) -> None:
    """Make the numbers from ``start`` up to ``end`` one set."""
    number = partition[_COUNTS, _SETS]
    partition[_START, number], partition[_END, number] = start, end
    partition[_SET, start:end] = number
    partition[_COUNTS, _SETS] += 1


@njit(cache=True, nogil=True)
def _mark(partition: Ints, member: int) -> None:
    """Move a number to the marked ones of its set."""
    its_set, place = partition[_SET, member], partition[_PLACE, member]
    front = partition[_START, its_set] + partition[_MARKED, its_set]
    other = partition[_MEMBERS, front]
    partition[_MEMBERS, place], partition[_PLACE, other] = other, place
    partition[_MEMBERS, front], partition[_PLACE, member] = member, front
    if partition[_MARKED, its_set] == 0:
        partition[_TOUCHED, partition[_COUNTS, _SOME]] = its_set
        partition[_COUNTS, _SOME] += 1
    partition[_MARKED, its_set] += 1


@njit(cache=True, nogil=True)
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
        if middle - start <= end - middle:
            partition[_START, its_set] = middle
            partition[_START, fresh], partition[_END, fresh] = start, middle
        else:
            partition[_END, its_set] = middle
            partition[_START, fresh], partition[_END, fresh] = middle, end
        for at in range(partition[_START, fresh], partition[_END, fresh]):
            partition[_SET, partition[_MEMBERS, at]] = fresh
    partition[_COUNTS, _SOME] = 0
