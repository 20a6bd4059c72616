"""Judging: edges of the permissive automaton come in, which of them are live goes out; kernels.

An edge (p, t, q) is *live* if q accepts, or some live edge (q, t′, …) has t′ fine after t
(reference, section 7). Nearly every edge succeeds with one of a few *witnesses*, live edges of q
that are spread over the vocabulary; what fails there is held against the row of t.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.automata.kernel import njit
from workbench.constraint.proper.tables import Bytes, Ints, Words
from workbench.vocabulary.bpe.pairs import joined
from workbench.vocabulary.bpe.rows import forbid
from workbench.vocabulary.bpe.tables import Tables

#: The tokens of a row: their ids, or one bit for each token where those are fewer bytes.
Row = Ints | Words

#: Witnesses kept of each place.
WITNESSES = 16


class Known(NamedTuple):
    """What is known of the places so far.

    Shape: ``free`` (P,) whether any token may end here: the text may end, or go on with a new
           piece; ``witnesses`` (P, 16) tokens of live edges that leave it inside the piece, and
           ``counts`` (P,) how many.
    """

    free: Bytes
    witnesses: Ints
    counts: Bytes


@njit(cache=True, nogil=True, _nrt=False)
def judge(tables: Tables, known: Known, tokens: Ints, targets: Ints, ends: Ints) -> int:
    """Bring the edges that are seen to be live to the front, and tell how many they are.

    The order of those is kept; the others stand behind them.
    """
    live = 0
    for i in range(len(tokens)):
        token, target = tokens[i], targets[i]
        if target >= 0 and _is_seen(tables, known, token, target):
            tokens[i], targets[i] = tokens[live], targets[live]
            tokens[live], targets[live] = token, target
            ends[i], ends[live] = ends[live], ends[i]
            live += 1
    return live


@njit(cache=True, nogil=True, inline="always", _nrt=False)
def _is_seen(tables: Tables, known: Known, token: int, target: int) -> bool:
    if known.free[target]:
        return True
    for i in range(known.counts[target]):
        if joined(tables, token, known.witnesses[target, i]):
            return True
    return False


@njit(cache=True, nogil=True, _nrt=False)
def follow(tables: Tables, tokens: Ints, row: Words, room: Ints, bits: Words, found: Bytes) -> None:
    """For each token whether one of a row may follow it.

    Shape: ``row`` and ``bits`` (words,), the latter room; ``found`` (n,).
    Cost:  one row of forbidden tokens each, 8 µs on average with 131k tokens.
    """
    for i in range(len(tokens)):
        for k in range(len(row)):
            bits[k] = row[k]
        forbid(tables, tokens[i], room, bits)
        some = np.uint32(0)
        for word in bits:
            some |= word
        found[i] = some != 0


@njit(cache=True, nogil=True, _nrt=False)
def precede(tables: Tables, tokens: Ints, after: int, found: Bytes) -> None:
    """For each token whether another may follow it; ``found`` (n,) is written."""
    for i in range(len(tokens)):
        found[i] = joined(tables, tokens[i], after)


@njit(cache=True, nogil=True, _nrt=False)
def succeed(tables: Tables, before: int, tokens: Ints, found: Bytes) -> None:
    """For each token whether it may follow another; ``found`` (n,) is written."""
    for i in range(len(tokens)):
        found[i] = joined(tables, before, tokens[i])


@njit(cache=True, nogil=True, _nrt=False)
def to_bits(tokens: Ints, bits: Words) -> None:
    """Set the bits of some tokens."""
    for token in tokens:
        bits[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


def as_bits(row: Row, words: int) -> Words:
    """A row as bits; the row itself where it is some already."""
    if row.dtype == np.uint32:
        return row  # type: ignore[return-value]
    bits = np.zeros(words, np.uint32)
    to_bits(row, bits)  # type: ignore[arg-type]
    return bits
