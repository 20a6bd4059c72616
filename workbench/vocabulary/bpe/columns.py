"""Columns: a token comes in, the tokens that may not precede it go out; the mirror of rows.

Rules with a right side r are its children in the right forest (parent = live right side). A tie
goes to the left, so what is "before" in a row is "not after" here (reference, section 5).
"""

from __future__ import annotations

import numpy as np

from workbench.errors import VocabularyError
from workbench.kernel import njit
from workbench.vocabulary.bpe.forests import Forest, forest
from workbench.vocabulary.bpe.rows import spans
from workbench.vocabulary.bpe.tables import NEVER, NOWHERE, Ints, Tables


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
        if self._tables.rank[token] == NOWHERE:
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
