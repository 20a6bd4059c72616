"""Strict: a table comes in, the same merges in an order that is monotone and without ties go out.

The pair test and the rows take ties as they are. Whatever applies rules one after the other needs
an order: in Mistral's first vocabulary fifteen pieces of spaces share a score, and which of them is
taken first decides what a run of spaces becomes (reference, section 4).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workbench.errors import VocabularyError
from workbench.kernel import njit
from workbench.vocabulary.bpe.build import built, frozen
from workbench.vocabulary.bpe.normalise import Rules
from workbench.vocabulary.bpe.rows import forbid, room_for
from workbench.vocabulary.bpe.tables import NOWHERE, SYMBOL, Ints, Tables, Words


def is_monotone(tables: Tables) -> bool:
    """Whether no token is made by an earlier rule than its sides are."""
    made = tables.left >= 0
    sides = np.maximum(tables.rank[tables.left], tables.rank[tables.right])
    return not bool(np.any(made & (tables.rank < sides)))


def strict(rules: Callable[[], Rules], tables: Tables) -> Tables:
    """The tables in an order, where there is one.

    Rules that come too early are moved behind those of their sides. Tried are all rules with ties
    told apart by the id of the token they make, and the live rules alone with ties told apart by
    its length. By the pairwise theorem an order encodes alike where it has the same canonical
    tokens and the same rows.

    Cost:   none for a table that is in order, else the rows of the vocabulary, twice.
    Raises: VocabularyError where neither order encodes alike.
    """
    ranks = tables.rank[tables.rank > SYMBOL]
    if is_monotone(tables) and len(np.unique(ranks)) == len(ranks):
        return tables
    given = rules()
    lifted = _lifted(given, tables)
    for tried in (_by_result(given, lifted), _live(given, tables, lifted)):
        made = frozen(built(tried))
        if is_monotone(made) and _encode_alike(tables, made):
            return made
    raise VocabularyError(
        "these merge rules cannot be put into an order in which each encodes alike when it is"
        " applied to the whole text",
        "ask for pairs or rows, which need no order",
    )


def _by_result(rules: Rules, lifted: Ints) -> Rules:
    """All rules by the token they make, and tokens that tie by their id."""
    order = np.lexsort((rules.result, lifted[rules.result]))
    ranks = np.zeros(len(order), np.int32)
    ranks[order[1:]] = np.cumsum(np.diff(rules.result[order]) != 0)
    return rules._replace(rank=ranks)


def _live(rules: Rules, tables: Tables, lifted: Ints) -> Rules:
    """The live rules alone; those that tie by how long the token is that they make."""
    made = np.flatnonzero(tables.left >= 0)
    lengths = np.diff(rules.symbols_from)[made]
    order = made[np.lexsort((made, lengths, lifted[made]))].astype(np.int32)
    rank = np.arange(len(order), dtype=np.int32)
    sides = tables.left[order], tables.right[order]
    return Rules(*sides, order, rank, rules.symbols, rules.symbols_from)


def _lifted(rules: Rules, tables: Tables) -> Ints:
    """The ranks of tokens, none below those of its sides."""
    made = np.flatnonzero(tables.left >= 0)
    lengths = np.diff(rules.symbols_from)[made]
    lifted = tables.rank.copy()
    for token in made[np.argsort(lengths, kind="stable")].tolist():
        sides = lifted[tables.left[token]], lifted[tables.right[token]]
        lifted[token] = max(lifted[token], *sides)
    return lifted


def _encode_alike(one: Tables, other: Tables) -> bool:
    """Whether two tables have the same canonical tokens and the same rows."""
    if not np.array_equal(one.rank == NOWHERE, other.rank == NOWHERE):
        return False
    bits = np.empty((2, (len(one.rank) + 31) // 32), np.uint32)
    return bool(_same_rows(one, other, room_for(one), room_for(other), bits))


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
