"""Merge rules as arrays, and the kernels that look them up and apply them.

A *symbol* is what merging starts from: a byte, or a character where the table is over characters
(SentencePiece). A token is a *node* where it can stand in an encoding: a symbol, or the result of
its *live split*, the one rule that ever makes it (Berglund & van der Merwe 2023; Tran-Thien 2024).

The specification is what SentencePiece, tokenizers and tiktoken compute: while some adjacent pair
has a rule, the one of lowest rank is merged, the leftmost of several.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.kernels import inner, int64, njit

Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: Ranks of tokens that no rule makes: symbols, and tokens that are in no encoding.
SYMBOL, NOT_PRODUCED = -1, -2
#: Later than every rule.
NEVER = np.int32(2**31 - 1)


class RuleTable(NamedTuple):
    """Rules (left, right) → result, looked up by a hash of the pair (open addressing).

    Shape: ``keys`` (2^b,) int64, ``left << 32 | right`` or −1; ``results`` and ``ranks`` (2^b,).
    """

    keys: Numbers
    results: Ints
    ranks: Ints


class Tables(NamedTuple):
    """A normalised merge table, by token id; V tokens.

    Shape: ``left``, ``right`` (V,) the live split, −1 where there is none; ``rank`` (V,) that
           rule's rank, ``SYMBOL`` or ``NOT_PRODUCED``; equal ranks are ties, leftmost first.
           ``rules`` the live rules. Left forest (parent = left side): ``before`` (V,) the place
           of a token in preorder, −1 where it is no node; ``after`` (V,) the first place past its
           subtree; ``order`` (N,) the token at each place; ``children[first_child[t]:first_child[
           t + 1]]`` the results of the rules with left side t, by rank.
           ``judged[judged_from[t]:judged_from[t + 1]]`` the next tokens where the pair test or
           the row as such is wrong, u where it may follow and −1 − u where it may not; none in a
           monotone table.
    """

    left: Ints
    right: Ints
    rank: Ints
    rules: RuleTable
    before: Ints
    after: Ints
    order: Ints
    children: Ints
    first_child: Ints
    judged: Ints
    judged_from: Ints


#: 2^64 divided by the golden ratio, as a signed number: spreads pairs that lie close together.
_SPREAD = -7046029254386353131


@inner
def place_of(rules: RuleTable, left: int, right: int) -> int:
    """Where a pair's rule is, −1 where there is none; a symbol that is no token is below 0."""
    if left < 0 or right < 0:
        return -1
    keys = rules.keys
    last = len(keys) - 1
    key = (left << 32) | right
    place = ((key * _SPREAD) >> 24) & last
    while keys[place] != key:
        if keys[place] == -1:
            return -1
        place = (place + 1) & last
    return int(place)


@njit(cache=True, nogil=True, _nrt=False)
def _fill(rules: RuleTable, left: Ints, right: Ints, results: Ints, ranks: Ints) -> None:
    """Write the rules into an empty table; of two for one pair the later one counts."""
    last = len(rules.keys) - 1
    for rule in range(len(left)):
        key = (left[rule] << 32) | right[rule]
        place = ((key * _SPREAD) >> 24) & last
        while rules.keys[place] != -1 and rules.keys[place] != key:
            place = (place + 1) & last
        rules.keys[place] = key
        rules.results[place] = results[rule]
        rules.ranks[place] = ranks[rule]


def rule_table(left: Ints, right: Ints, results: Ints, ranks: Ints) -> RuleTable:
    """The rules, ready to be looked up; of two for one pair the later one counts."""
    size = 1 << max(4, int(2 * len(left)).bit_length())
    table = RuleTable(
        np.full(size, -1, np.int64), np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    )
    _fill(table, left, right, results, ranks)
    return table


#: Longer stretches keep their pairs in a heap; shorter ones are searched.
SHORT = 64


@inner
def merge_few(rules: RuleTable, work: Ints, pending: Ints, size: int, least: int) -> int:
    """Merge ``work[:size]`` in place until ``least`` are left or no rule is, and tell how many are.

    Shape: ``pending`` as long as ``work``; room for the rank of each pair.
    Cost:  quadratic in the size; for words.
    """
    for i in range(size - 1):
        place = place_of(rules, work[i], work[i + 1])
        pending[i] = NEVER if place < 0 else rules.ranks[place]
    while size > least:
        best = 0
        for i in range(1, size - 1):
            if pending[i] < pending[best]:
                best = i
        if pending[best] == NEVER:
            break
        place = place_of(rules, work[best], work[best + 1])
        work[best] = rules.results[place]
        for i in range(best + 1, size - 1):
            work[i] = work[i + 1]
            pending[i] = pending[i + 1]
        size -= 1
        if best > 0:
            place = place_of(rules, work[best - 1], work[best])
            pending[best - 1] = NEVER if place < 0 else rules.ranks[place]
        if best < size - 1:
            place = place_of(rules, work[best], work[best + 1])
            pending[best] = NEVER if place < 0 else rules.ranks[place]
    return size


@inner
def push(heap: Numbers, size: int, entry: int) -> int:
    """Put an entry into a heap of that size; its new size."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if heap[above] <= entry:
            break
        heap[place] = heap[above]
        place = above
    heap[place] = entry
    return size + 1


@inner
def pop(heap: Numbers, size: int) -> int:
    """Take the first entry, ``heap[0]``, out of a heap of that size; its new size."""
    size -= 1
    entry, place = heap[size], 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= entry:
            break
        heap[place] = heap[below]
        place = below
    heap[place] = entry
    return size


@inner
def _ask(rules: RuleTable, work: Ints, pending: Ints, after: Ints, at: int) -> int:
    """Look the pair that begins at a place up, and note its rank."""
    place = -1
    if at >= 0 and after[at] < len(work):
        place = place_of(rules, work[at], work[after[at]])
    rank = NEVER if place < 0 else rules.ranks[place]
    if at >= 0:
        pending[at] = rank
    return int(rank)


@njit(cache=True, nogil=True, _nrt=False)
def merge_many(
    rules: RuleTable, work: Ints, pending: Ints, after: Ints, before: Ints, heap: Numbers
) -> int:
    """Merge ``work`` in place, pairs in a heap, and tell how many are left.

    Shape: ``pending``, ``after``, ``before`` (n,) for n symbols; ``heap`` (3 n,); all are room.
    Cost:  n log n.
    """
    total = len(work)
    for i in range(total):
        after[i], before[i] = i + 1, i - 1
    entries = 0
    for i in range(total):
        rank = _ask(rules, work, pending, after, i)
        if rank != NEVER:
            entries = push(heap, entries, (rank << 32) | i)
    while entries:
        at, rank = heap[0] & 0xFFFFFFFF, heap[0] >> 32
        entries = pop(heap, entries)
        if pending[at] != rank:  # the pair is no more; a place that was merged away has no rank
            continue
        gone = after[at]
        work[at] = rules.results[place_of(rules, work[at], work[gone])]
        pending[gone] = NEVER
        after[at] = after[gone]
        if after[at] < total:
            before[after[at]] = at
        for other in (int64(before[at]), int64(at)):
            rank = _ask(rules, work, pending, after, other)
            if rank != NEVER:
                entries = push(heap, entries, (rank << 32) | other)
    left, at = 0, 0
    while at < total:
        work[left] = work[at]
        left, at = left + 1, after[at]
    return left


@njit(cache=True, nogil=True, _nrt=False)
def merge_pieces(rules: RuleTable, work: Ints, cuts: Ints, pending: Ints) -> int:
    """Merge the short pieces ``work[cuts[i]:cuts[i + 1]]`` each for itself; how many are left."""
    left = 0
    for i in range(len(cuts) - 1):
        piece = work[cuts[i] : cuts[i + 1]]
        size = merge_few(rules, piece, pending, len(piece), 1)
        for j in range(size):
            work[left + j] = piece[j]
        left += size
    return left
