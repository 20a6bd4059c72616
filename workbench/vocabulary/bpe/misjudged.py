"""Misjudged pairs: a table that is not monotone comes in, the pairs its test gets wrong go out.

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

from workbench.errors import VocabularyError
from workbench.kernel import inner, int64, njit
from workbench.vocabulary.bpe.lookup import place_of
from workbench.vocabulary.bpe.merging import merge_few
from workbench.vocabulary.bpe.normalise import Rules, Splits
from workbench.vocabulary.bpe.pairs import untouched
from workbench.vocabulary.bpe.tables import NEVER, NOWHERE, Bools, Ints, Tables

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
    nodes = splits.rank != NOWHERE
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
