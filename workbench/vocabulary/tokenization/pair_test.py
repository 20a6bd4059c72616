"""The pair test: which tokens may follow each other, and its exceptions.

t1 … tn is proper exactly when every ti is canonical and every adjacent pair is (reference, section
4; without a pre-tokenizer). Only the right spine of the one and the left spine of the other ever
touch the boundary.

The article's `.*` automaton (Tran-Thien 2024, appendix, section 4) has a class for each token and
for each class the set of tokens that may not come next; a row is that set, made on demand from the
left forest instead of merge by merge (reference, section 5).

Rules with a right side r are its children in the right forest (parent = live right side). A tie
goes to the left, so what is "before" in a row is "not after" here (reference, section 5).

The walk of ``pairs`` takes for granted that the ranks of a derivation rise. A token made by an
earlier rule than one of its sides is *offending*. A pair can be misjudged only where an offending
token is in one of its two derivations, or where a rule between the right spine of the first and
the left spine of the second makes one: else every merge on either side happens in the order of its
rank, and a rule across the boundary is no earlier than its own sides. Those pairs are encoded
outright, once (reference, section 3).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.base.errors import VocabularyError
from workbench.base.kernels import inner, int64, njit
from workbench.vocabulary.tokenization.merge_kernels import (
    NEVER,
    NOT_PRODUCED,
    SYMBOL,
    Bools,
    Ints,
    Tables,
    Words,
    merge_few,
    place_of,
)
from workbench.vocabulary.tokenization.merge_rules import Forest, Rules, Splits, forest


@inner
def joined(tables: Tables, first: int, second: int) -> bool:
    """Whether [first, second] stays as it is when its text is encoded; for kernels.

    Undoes the later of the two last merges at each step, and looks whether the two now at the
    boundary would have merged before what was undone. A tie goes to the left, so it is told
    apart: a rule with equal sides breaks ``a|aa`` and not ``aa|a``.

    Cost: depth + depth look-ups at most; spines are up to 7 deep, runs of spaces 14. 90 ns for
          random pairs of 32k tokens, 250 ns of 131k, whose tables are larger than the cache.
    """
    if tables.rank[first] == NOT_PRODUCED or tables.rank[second] == NOT_PRODUCED:
        return False
    for i in range(tables.judged_from[first], tables.judged_from[first + 1]):
        if tables.judged[i] == second or tables.judged[i] == -1 - second:
            return bool(tables.judged[i] == second)
    return untouched(tables, first, second)


@inner
def untouched(tables: Tables, first: int, second: int) -> bool:
    """The walk as such, which only a monotone table makes right."""
    left, right, limit = first, second, NEVER
    while True:
        place = place_of(tables.rules, left, right)
        if place >= 0 and tables.rules.ranks[place] < limit:
            return False
        left_rank, right_rank = tables.rank[left], tables.rank[right]
        if left_rank == SYMBOL and right_rank == SYMBOL:
            return True
        if left_rank > right_rank:
            limit = left_rank
            left = tables.right[left]
        else:
            limit = right_rank + 1
            right = tables.left[right]


@njit(cache=True, nogil=True, _nrt=False)
def pair_ok(tables: Tables, first: int, second: int) -> bool:
    """``joined``, for Python."""
    return joined(tables, first, second)


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


class Columns:
    """The columns of a monotone table, on demand.

    Raises: VocabularyError for a table that is not monotone.
    """

    def __init__(self, tables: Tables) -> None:
        if len(tables.judged):
            raise VocabularyError("columns are no intervals where merge rules are not monotone")
        self._tables = tables
        self._forest = _right_forest(tables)

    def before(self, token: int) -> Ints:
        """The tokens that may not precede one inside a piece, sorted."""
        if self._tables.rank[token] == NOT_PRODUCED:
            return np.empty(0, np.int32)
        room = np.empty((2 * len(self._tables.children) + 2, 2), np.int32)
        size = _column(self._tables, self._forest, token, room)
        order = self._forest.order
        found = [order[begin:end] for begin, end in room[:size].tolist()]
        return np.unique(np.concatenate([*found, np.empty(0, np.int32)]))


def _right_forest(tables: Tables) -> Forest:
    """The forest of right sides; a token is deeper in it than its parent is."""
    depth = np.zeros(len(tables.right), np.int32)
    while True:
        made = tables.right >= 0
        deeper = np.where(made, depth[tables.right] + 1, 0).astype(np.int32)
        if np.array_equal(deeper, depth):
            return forest(tables.right, tables.rank, depth)
        depth = deeper


@njit(cache=True, nogil=True, _nrt=False)
def _column(tables: Tables, mirror: Forest, token: int, out: Ints) -> int:
    """Write the intervals of places in the right forest, and tell how many."""
    right, limit, size = token, NEVER, 0
    while True:
        for i in range(mirror.first_child[right], mirror.first_child[right + 1]):
            made = mirror.children[i]
            rank = tables.rank[made]
            if rank > limit:
                break
            size = spans(mirror, tables.rank, tables.left[made], rank + 1, out, size)
        if tables.left[right] < 0:
            return size
        limit = tables.rank[right]
        right = tables.left[right]


#: More pairs than this are not encoded: ten seconds of work.
MOST = 30_000_000


def misjudged(tables: Tables, splits: Splits, rules: Rules) -> tuple[Ints, Ints]:
    """The next tokens each token is misjudged with, and the truth, as two fields of ``Tables``.

    Cost:   a microsecond for every pair with an offending token in it.
    Raises: VocabularyError where there are too many of them.
    """
    tokens = len(splits.rank)
    unsafe = splits.offending.copy()
    by_length = np.argsort(np.diff(rules.symbols_from), kind="stable")
    _inherit(splits, by_length, unsafe)
    nodes = splits.rank != NOT_PRODUCED
    first, second = _suspects(splits, unsafe, nodes)
    unsafe_count, node_count = int(unsafe.sum()), int(nodes.sum())
    if 2 * unsafe_count * node_count + len(first) > MOST:
        raise VocabularyError(
            f"{unsafe_count} tokens are made by earlier rules than their sides, too many to encode"
            " every pair with one of them",
            "order the merge rules so that the sides of a rule are made before it",
        )
    found: list[tuple[int, int]] = []
    longest = int(np.diff(rules.symbols_from).max(initial=1))
    room = np.empty((2, 2 * longest), np.int32)
    out = np.empty(node_count, np.int32)
    for token in np.flatnonzero(nodes).tolist():
        others = np.flatnonzero(nodes if unsafe[token] else unsafe).astype(np.int32)
        others = np.union1d(others, second[first == token]).astype(np.int32)
        count = _compare(tables, rules, token, others, room, out)
        found.extend((token, other) for other in out[:count].tolist())
    pairs = np.array(found, np.int32).reshape(-1, 2)
    starts = np.zeros(tokens + 1, np.int32)
    np.cumsum(np.bincount(pairs[:, 0], minlength=tokens), out=starts[1:])
    return pairs[:, 1].copy(), starts


def _suspects(splits: Splits, unsafe: Bools, nodes: Bools) -> tuple[Ints, Ints]:
    """The safe pairs between whose spines a rule makes an offending token."""
    pairs: set[tuple[int, int]] = set()
    safe = nodes & ~unsafe
    for token in np.flatnonzero(splits.offending).tolist():
        firsts = _with_on_spine(splits.right, int(splits.left[token])) & safe
        seconds = _with_on_spine(splits.left, int(splits.right[token])) & safe
        for first in np.flatnonzero(firsts).tolist():
            pairs.update((first, second) for second in np.flatnonzero(seconds).tolist())
        if len(pairs) > MOST:
            break
    sorted_pairs = np.array(sorted(pairs), np.int32).reshape(-1, 2)
    return sorted_pairs[:, 0], sorted_pairs[:, 1]


def _with_on_spine(sides: Ints, token: int) -> Bools:
    """The tokens that reach one by following left or right sides, itself among them."""
    found = np.zeros(len(sides), np.bool_)
    found[token] = True
    grown = True
    while grown:
        more = found | ((sides >= 0) & found[sides])
        grown = bool((more != found).any())
        found = more
    return found


@njit(cache=True, nogil=True, _nrt=False)
def _inherit(splits: Splits, by_length: npt.NDArray[np.int64], unsafe: Bools) -> None:
    """Mark what has a marked token in its derivation; sides come before what they make."""
    for token in by_length:
        if splits.left[token] >= 0:
            sides = unsafe[splits.left[token]] or unsafe[splits.right[token]]
            unsafe[token] = unsafe[token] or sides


@inner
def _crossed(tables: Tables, first: int, second: int) -> bool:
    """Whether a row says that a rule breaks the pair: all of one spine against all of the other."""
    left, left_above = int64(first), int64(NEVER)
    while left >= 0:
        right, right_above = int64(second), int64(NEVER)
        while right >= 0:
            place = place_of(tables.rules, left, right)
            if place >= 0 and left_above > tables.rules.ranks[place] <= right_above:
                return True
            right_above = tables.rank[right]
            right = tables.left[right]
        left_above = tables.rank[left]
        left = tables.right[left]
    return False


@njit(cache=True, nogil=True, _nrt=False)
def _compare(tables: Tables, rules: Rules, first: int, others: Ints, room: Ints, out: Ints) -> int:
    """Judge those of the others that the walk or the row misjudges after ``first``; how many."""
    count = 0
    for second in others:
        size = 0
        for token in (int64(first), int64(second)):
            for i in range(rules.symbols_from[token], rules.symbols_from[token + 1]):
                room[0, size] = rules.symbols[i]
                size += 1
        left = merge_few(tables.rules, room[0], room[1], size, 1)
        stays = left == 2 and room[0, 0] == first and room[0, 1] == second
        if stays != untouched(tables, first, second) or stays == _crossed(tables, first, second):
            out[count] = second if stays else -1 - second
            count += 1
    return count
