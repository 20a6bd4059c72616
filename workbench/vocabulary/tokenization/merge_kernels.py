"""Merge rules as arrays, and the numba kernels that look them up and apply them.

A *symbol* is a unit that merging starts from: a byte, or a character if the table is over
characters (SentencePiece). A token is a *node* if it can occur in an encoding: it is a symbol, or
the result of its *live split*, the only rule that ever produces it (Berglund & van der Merwe
2023; Tran-Thien 2024).

Encoding is specified as in SentencePiece, tokenizers and tiktoken: while some adjacent pair has a
rule, the pair with the lowest rank is merged, the leftmost of several. Example with the symbols
a, b and the rules ab (rank 0), abab (rank 1)::

    a b a b a   →   ab a b a   →   ab ab a   →   abab a

    token   left  right  rank                       left forest (parent: left side)
    a        −1    −1    SYMBOL                      a ── ab ── abab
    b        −1    −1    SYMBOL                      b
    ab       a     b     0
    abab     ab    ab    1                           order: [a, ab, abab, b]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.kernels import inner, int64, njit, wrapping

Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]
Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: Ranks of tokens that no rule produces: symbols, and tokens that are in no encoding.
SYMBOL, NOT_PRODUCED = -1, -2
#: A rank above that of every rule.
NEVER = np.int32(2**31 - 1)


class RuleTable(NamedTuple):
    """Rules (left, right) → result, looked up by a hash of the pair (open addressing).

    Shape: ``keys`` (2^b,) int64, ``left << 32 | right`` or −1; ``results`` and ``ranks`` (2^b,).
    """

    keys: Numbers
    results: Ints
    ranks: Ints


class Tables(NamedTuple):
    """A normalised merge table of V tokens, N of them nodes; arrays are indexed by token id.

    Shape: ``left``, ``right`` (V,): the live split, or −1; ``rank`` (V,): the rank of
           that rule, ``SYMBOL`` or ``NOT_PRODUCED``. Equal ranks are ties, the leftmost pair first.
           ``rules``: the live rules.
           The left forest (the parent of a token is its left side): ``before`` (V,), the preorder
           index of a token, −1 if it is not a node; ``after`` (V,), the first index after its
           subtree; ``order`` (N,), the token at each index;
           ``children[first_child[t]:first_child[t + 1]]``, the results of the rules with left side
           t, by rank.
           ``exceptions[exceptions_from[t]:exceptions_from[t + 1]]``: the next tokens for which the
           pair test or the row of t is wrong: u if u may follow t, −1 − u if it may not. Monotone
           tables have no exceptions.
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
    exceptions: Ints
    exceptions_from: Ints


#: 2^64 divided by the golden ratio, as a signed integer: a factor for hashing pairs of ids.
HASH_FACTOR = -7046029254386353131


@wrapping
@inner
def find_rule(rules: RuleTable, left: int, right: int) -> int:
    """The slot of a pair's rule, or −1; symbols that are not tokens are below 0."""
    if left < 0 or right < 0:
        return -1
    keys = rules.keys
    last = len(keys) - 1
    key = (int64(left) << 32) | int64(right)
    slot = ((key * HASH_FACTOR) >> 24) & last
    while keys[slot] != key:
        if keys[slot] == -1:
            return -1
        slot = (slot + 1) & last
    return int(slot)


@wrapping
@njit(_nrt=False)
def _fill(rules: RuleTable, left: Ints, right: Ints, results: Ints, ranks: Ints) -> None:
    """Write the rules into an empty table; of two rules for one pair the later one is used."""
    last = len(rules.keys) - 1
    for rule in range(len(left)):
        key = (int64(left[rule]) << 32) | int64(right[rule])
        slot = ((key * HASH_FACTOR) >> 24) & last
        while rules.keys[slot] != -1 and rules.keys[slot] != key:
            slot = (slot + 1) & last
        rules.keys[slot] = key
        rules.results[slot] = results[rule]
        rules.ranks[slot] = ranks[rule]


def rule_table(left: Ints, right: Ints, results: Ints, ranks: Ints) -> RuleTable:
    """The rules as a hash table; of two rules for one pair the later one is used."""
    size = 1 << max(4, int(2 * len(left)).bit_length())
    table = RuleTable(
        np.full(size, -1, np.int64), np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    )
    _fill(table, left, right, results, ranks)
    return table


#: Longer pieces are merged with a heap of pairs; in shorter ones the best pair is searched.
MAX_SHORT = 64


@inner
def merge_short(rules: RuleTable, work: Ints, pending: Ints, size: int, least: int) -> int:
    """Merge ``work[:size]`` in place until ``least`` tokens remain or no rule applies.

    Returns the number of remaining tokens.

    Shape: ``pending``, scratch for the rank of each pair, as long as ``work``.
    Cost:  quadratic in the size; for words.
    """
    for i in range(size - 1):
        slot = find_rule(rules, work[i], work[i + 1])
        pending[i] = NEVER if slot < 0 else rules.ranks[slot]
    while size > least:
        best = 0
        for i in range(1, size - 1):
            if pending[i] < pending[best]:
                best = i
        if pending[best] == NEVER:
            break
        slot = find_rule(rules, work[best], work[best + 1])
        work[best] = rules.results[slot]
        for i in range(best + 1, size - 1):
            work[i] = work[i + 1]
            pending[i] = pending[i + 1]
        size -= 1
        if best > 0:
            slot = find_rule(rules, work[best - 1], work[best])
            pending[best - 1] = NEVER if slot < 0 else rules.ranks[slot]
        if best < size - 1:
            slot = find_rule(rules, work[best], work[best + 1])
            pending[best] = NEVER if slot < 0 else rules.ranks[slot]
    return size


@inner
def heap_push(heap: Numbers, size: int, entry: int) -> int:
    """Add an entry to a heap of ``size`` entries; return the new size."""
    position = size
    while position > 0:
        above = (position - 1) >> 1
        if heap[above] <= entry:
            break
        heap[position] = heap[above]
        position = above
    heap[position] = entry
    return size + 1


@inner
def heap_pop(heap: Numbers, size: int) -> int:
    """Remove the first entry, ``heap[0]``, from a heap of ``size`` entries; return the new size."""
    size -= 1
    entry, position = heap[size], 0
    while True:
        below = 2 * position + 1
        if below >= size:
            break
        if below + 1 < size and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= entry:
            break
        heap[position] = heap[below]
        position = below
    heap[position] = entry
    return size


@inner
def _update_rank(rules: RuleTable, work: Ints, pending: Ints, after: Ints, index: int) -> int:
    """Look up the pair that begins at index ``index``; store and return its rank."""
    slot = -1
    if index >= 0 and after[index] < len(work):
        slot = find_rule(rules, work[index], work[after[index]])
    rank = NEVER if slot < 0 else rules.ranks[slot]
    if index >= 0:
        pending[index] = rank
    return int(rank)


@njit(_nrt=False)
def merge_long(
    rules: RuleTable, work: Ints, pending: Ints, after: Ints, before: Ints, heap: Numbers
) -> int:
    """Merge ``work`` in place, with a heap of pairs; return the number of remaining tokens.

    ``after`` and ``before`` link the remaining symbols.

    Shape: scratch: ``pending``, ``after``, ``before`` (n,) for n symbols; ``heap`` (3 n,).
    Cost:  n log n.
    """
    total = len(work)
    for i in range(total):
        after[i], before[i] = i + 1, i - 1
    entries = 0
    for i in range(total):
        rank = _update_rank(rules, work, pending, after, i)
        if rank != NEVER:
            entries = heap_push(heap, entries, (rank << 32) | i)
    while entries:
        index, rank = heap[0] & 0xFFFFFFFF, heap[0] >> 32
        entries = heap_pop(heap, entries)
        if pending[index] != rank:  # an outdated entry: the pair has changed or was merged
            continue
        gone = after[index]
        work[index] = rules.results[find_rule(rules, work[index], work[gone])]
        pending[gone] = NEVER
        after[index] = after[gone]
        if after[index] < total:
            before[after[index]] = index
        for other in (int64(before[index]), int64(index)):
            rank = _update_rank(rules, work, pending, after, other)
            if rank != NEVER:
                entries = heap_push(heap, entries, (rank << 32) | other)
    count, index = 0, 0
    while index < total:
        work[count] = work[index]
        count, index = count + 1, after[index]
    return count


@njit(_nrt=False)
def merge_pieces(rules: RuleTable, work: Ints, cuts: Ints, pending: Ints) -> int:
    """Merge each short piece ``work[cuts[i]:cuts[i + 1]]``; return how many tokens remain."""
    count = 0
    for i in range(len(cuts) - 1):
        piece = work[cuts[i] : cuts[i + 1]]
        size = merge_short(rules, piece, pending, len(piece), 1)
        for j in range(size):
            work[count + j] = piece[j]
        count += size
    return count
