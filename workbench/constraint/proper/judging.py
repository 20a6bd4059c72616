"""Judging: edges of the permissive automaton come in, which of them are live goes out; kernels.

An edge (p, t, q) is *live* if q accepts, or some live edge (q, t′, …) has t′ fine after t
(reference, section 7). Nearly every edge succeeds with one of a few *witnesses*, live edges of q
that are spread over the vocabulary; what fails there is held against the row of t.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.constraint.proper.tables import Bytes, Ints, Words
from workbench.kernel import inner, njit
from workbench.vocabulary.bpe.pairs import joined
from workbench.vocabulary.bpe.rows import forbid
from workbench.vocabulary.bpe.tables import Tables

#: The tokens of a row: their ids, or one bit for each token where those are fewer bytes.
Row = Ints | Words

#: Witnesses kept of each place.
WITNESSES = 16
#: Tokens whose answers as witnesses are kept.
_SLOTS = 64


class Known(NamedTuple):
    """What is known of the places so far.

    Shape: ``free`` (P,) whether any token may end here: the text may end, or go on with a new
           piece; ``witnesses`` (P, 16) tokens of live edges that leave it inside the piece, and
           ``counts`` (P,) how many. ``slots`` (V,) the row of ``tested`` and ``fine`` (S, words)
           where a token that is a witness often has what is known of the tokens before it, or −1:
           states that are alike ask the same pairs again and again.
    """

    free: Bytes
    witnesses: Ints
    counts: Bytes
    slots: npt.NDArray[np.int16]
    tested: Words
    fine: Words

    @staticmethod
    def nothing(tokens: int) -> Known:
        """Of no place, for so many tokens."""
        words = (tokens + 31) // 32
        return Known(
            np.zeros(0, np.uint8),
            np.zeros((0, WITNESSES), np.int32),
            np.zeros(0, np.uint8),
            np.full(tokens, -1, np.int16),
            np.zeros((_SLOTS, words), np.uint32),
            np.zeros((_SLOTS, words), np.uint32),
        )

    def longer(self, places: int) -> Known:
        """The same with room for more places."""
        free, witnesses, counts = (
            np.concatenate([array, np.zeros((places, *array.shape[1:]), array.dtype)])
            for array in self[:3]
        )
        return self._replace(free=free, witnesses=witnesses, counts=counts)


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
        if _follows(tables, known, token, known.witnesses[target, i]):
            return True
    return False


@inner
def _follows(tables: Tables, known: Known, token: int, witness: int) -> bool:
    """``joined``, looked up where it was asked before."""
    slot = known.slots[witness]
    if slot < 0:
        return joined(tables, token, witness)
    word, bit = token >> 5, np.uint32(1) << np.uint32(token & 31)
    if known.tested[slot, word] & bit:
        return bool(known.fine[slot, word] & bit)
    fine = joined(tables, token, witness)
    known.tested[slot, word] |= bit
    if fine:
        known.fine[slot, word] |= bit
    return fine


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
