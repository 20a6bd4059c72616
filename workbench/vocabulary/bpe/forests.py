"""Forests: live splits come in, the forest of left sides in preorder goes out.

The parent of a token is its live left side. "The tokens with r on their left spine" are then the
subtree of r, an interval of places; "those whose node above r has rank k or more" are the tail of
that interval, since children lie in the order of their ranks (reference, section 5).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.kernel import njit
from workbench.vocabulary.bpe.tables import NOWHERE, Ints, Numbers


class Forest(NamedTuple):
    """A forest over V tokens of which N take part; the fields are those of ``Tables``."""

    before: Ints
    after: Ints
    order: Ints
    children: Ints
    first_child: Ints


def forest(parent: Ints, rank: Ints, lengths: Ints) -> Forest:
    """The forest of these parents (−1: a root), children by rank; mirror it with right sides.

    Shape: all (V,); ``lengths`` are larger for children than for parents.
    Cost:  V log V.
    """
    tokens = len(parent)
    taking_part = rank != NOWHERE
    made = np.flatnonzero(parent >= 0)
    children = made[np.lexsort((made, rank[made], parent[made]))].astype(np.int32)
    first_child = np.zeros(tokens + 1, np.int32)
    np.cumsum(np.bincount(parent[made], minlength=tokens), out=first_child[1:])
    sizes = taking_part.astype(np.int32)
    down = np.argsort(lengths, kind="stable")
    before = np.full(tokens, -1, np.int32)
    _number(parent, down, children, first_child, sizes, before)
    order = np.empty(int(taking_part.sum()), np.int32)
    order[before[taking_part]] = np.flatnonzero(taking_part)
    return Forest(before, before + sizes, order, children, first_child)


@njit(cache=True, nogil=True, _nrt=False)
def _number(
    parent: Ints, down: Numbers, children: Ints, first_child: Ints, sizes: Ints, before: Ints
) -> None:
    """Add subtrees up from the leaves, and number them from the roots."""
    for i in range(len(down) - 1, -1, -1):
        token = down[i]
        if parent[token] >= 0:
            sizes[parent[token]] += sizes[token]
    place = 0
    for token in range(len(parent)):
        if parent[token] < 0 and sizes[token] > 0:
            before[token] = place
            place += sizes[token]
    for token in down:
        if sizes[token] == 0:
            continue
        place = before[token] + 1
        for i in range(first_child[token], first_child[token + 1]):
            before[children[i]] = place
            place += sizes[children[i]]
