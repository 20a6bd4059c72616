"""Rank-greedy merging in kernels: symbols come in, the tokens of their encoding go out.

The specification is what SentencePiece, tokenizers and tiktoken compute: while some adjacent pair
has a rule, the one of lowest rank is merged, the leftmost of several.
"""

from __future__ import annotations

from workbench.kernel import inner, int64, njit
from workbench.vocabulary.bpe.lookup import place_of
from workbench.vocabulary.bpe.tables import NEVER, Ints, Numbers, RuleTable

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
