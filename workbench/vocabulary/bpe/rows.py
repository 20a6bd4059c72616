"""Rows: a token comes in, the tokens that may not follow it go out, as intervals or as bits.

The article's `.*` automaton (Tran-Thien 2024, appendix, section 4) has a class for each token and
for each class the set of tokens that may not come next; a row is that set, made on demand from the
left forest instead of merge by merge (reference, section 5).
"""

from __future__ import annotations

import numpy as np

from workbench.kernel import inner, njit
from workbench.vocabulary.bpe.forests import Forest
from workbench.vocabulary.bpe.tables import NEVER, Ints, Tables, Words


@inner
def spans(forest: Forest | Tables, rank: Ints, token: int, least: int, out: Ints, size: int) -> int:
    """Append the places of a token and of all above it whose node above it has a rank or a later.

    Returns how many intervals there are then: one more, or two.
    """
    low, high = forest.first_child[token], forest.first_child[token + 1]
    first = low
    while low < high:
        middle = (low + high) >> 1
        if rank[forest.children[middle]] < least:
            low = middle + 1
        else:
            high = middle
    out[size, 0], out[size, 1] = forest.before[token], forest.before[token] + 1
    if low == forest.first_child[token + 1]:
        return size + 1
    if low == first:
        out[size, 1] = forest.after[token]
        return size + 1
    out[size + 1, 0], out[size + 1, 1] = forest.before[forest.children[low]], forest.after[token]
    return size + 2


@njit(cache=True, nogil=True, _nrt=False)
def intervals(tables: Tables, token: int, out: Ints) -> int:
    """Write a row's intervals of places, as they come, and tell how many.

    A token that merging does not make has all others in its row, as the pair test says; else two
    tokens with the same row would not be alike.

    Shape: ``out`` (n, 2) as ``room_for`` makes it. They may overlap.
    """
    left, limit, size = token, NEVER, 0
    if tables.before[token] < 0:
        out[0, 0], out[0, 1] = 0, len(tables.order)
        return 1
    while True:
        for i in range(tables.first_child[left], tables.first_child[left + 1]):
            made = tables.children[i]
            rank = tables.rank[made]
            if rank >= limit:
                break
            size = spans(tables, tables.rank, tables.right[made], rank, out, size)
        if tables.right[left] < 0:
            return size
        limit = tables.rank[left]
        left = tables.right[left]


@njit(cache=True, nogil=True, _nrt=False)
def forbid(tables: Tables, token: int, room: Ints, bits: Words) -> None:
    """Take the tokens that may not follow out of a mask, in place.

    Shape: ``room`` (n, 2) as ``room_for`` makes it; ``bits`` as in ``TokenMask``, by token id.
    Cost:  a step for each forbidden token: 1.4 µs on average with 32k tokens, 4 µs with 131k,
           114 µs for the space of 131k, which forbids nearly all.
    """
    size = intervals(tables, token, room)
    judged = tables.judged[tables.judged_from[token] : tables.judged_from[token + 1]]
    for i in range(size):
        for place in range(room[i, 0], room[i, 1]):
            after = tables.order[place]
            if len(judged) == 0 or not _among(judged, after):
                bits[after >> 5] &= ~(np.uint32(1) << np.uint32(after & 31))
    for told in judged:
        if told < 0:
            after = -1 - told
            bits[after >> 5] &= ~(np.uint32(1) << np.uint32(after & 31))


@inner
def _among(judged: Ints, token: int) -> bool:
    for told in judged:  # noqa: SIM110  # numba knows no any()
        if max(told, -1 - told) == token:
            return True
    return False


def room_for(tables: Tables) -> Ints:
    """Room for the intervals of any row, (n, 2): two for each rule along a right spine."""
    rules = np.diff(tables.first_child).astype(np.int32)
    return np.empty((2 * max(1, _most(tables.right, tables.before, rules)), 2), np.int32)


@njit(cache=True, nogil=True, _nrt=False)
def _most(right: Ints, before: Ints, rules: Ints) -> int:
    most = 0
    for token in range(len(right)):
        if before[token] >= 0:
            count, left = rules[token], right[token]
            while left >= 0:
                count += rules[left]
                left = right[left]
            most = max(most, count)
    return most


def disjoint(found: Ints) -> Ints:
    """Intervals sorted and joined where they touch or overlap, empty ones left out, (n, 2)."""
    some = found[found[:, 0] < found[:, 1]]
    if len(some) < 2:
        return some.copy()
    some = some[np.argsort(some[:, 0], kind="stable")]
    ends = np.maximum.accumulate(some[:, 1])
    begins = np.concatenate(([True], some[1:, 0] > ends[:-1]))
    lasts = np.concatenate((np.flatnonzero(begins)[1:] - 1, [len(some) - 1]))
    return np.stack((some[begins, 0], ends[lasts]), 1)
