"""Strict: a table with ties comes in, the same merges in an order without ties go out.

The pair test and the rows take ties as they are. Whatever applies rules one after the other needs
an order: in Mistral's first vocabulary fifteen pieces of spaces share a score, and which of them is
taken first decides what a run of spaces becomes (reference, section 4).
"""

from __future__ import annotations

import numpy as np

from workbench.automata.kernel import njit
from workbench.errors import VocabularyError
from workbench.vocabulary.bpe.build import built, frozen
from workbench.vocabulary.bpe.normalise import Rules
from workbench.vocabulary.bpe.rows import forbid, room_for
from workbench.vocabulary.bpe.tables import NOWHERE, Ints, Tables, Words


def strict(rules: Rules, tables: Tables) -> Tables:
    """The tables where equal ranks are told apart by the id of the token they make.

    By the pairwise theorem the two encode alike where they have the same canonical tokens and the
    same rows, which is looked at.

    Cost:   the rows of the vocabulary, twice.
    Raises: VocabularyError where the order does not encode alike, or its ranks do not rise.
    """
    order = np.lexsort((rules.result, rules.rank))
    pairs = np.stack((rules.rank[order], rules.result[order]))
    new = np.any(np.diff(pairs, axis=1) != 0, axis=0)
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.concatenate(([0], np.cumsum(new)))[: len(order)]
    made = frozen(built(rules._replace(rank=ranks)))
    alike = not len(made.misjudged) and np.array_equal(made.rank == NOWHERE, tables.rank == NOWHERE)
    words = (len(tables.rank) + 31) // 32
    bits = np.empty((2, words), np.uint32)
    if not alike or not _same_rows(tables, made, room_for(tables), room_for(made), bits):
        raise VocabularyError(
            "rules of equal rank cannot be put into an order that encodes alike",
            "ask for pairs or rows, which need no order",
        )
    return made


@njit(cache=True, nogil=True, _nrt=False)
def _same_rows(one: Tables, other: Tables, room: Ints, other_room: Ints, bits: Words) -> bool:
    """Whether the same tokens may not follow each token."""
    for token in range(len(one.rank)):
        if one.before[token] < 0:
            continue
        bits[:] = 0xFFFFFFFF
        forbid(one, token, room, bits[0])
        forbid(other, token, other_room, bits[1])
        for word in range(bits.shape[1]):
            if bits[0, word] != bits[1, word]:
                return False
    return True
