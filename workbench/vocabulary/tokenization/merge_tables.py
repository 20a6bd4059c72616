"""The normalised merge tables of a vocabulary, reordered where ranks are not monotone.

The pair test and the rows take ties as they are. Whatever applies rules one after the other needs
an order: in Mistral's first vocabulary fifteen pieces of spaces share a score, and which of them is
taken first decides what a run of spaces becomes (reference, section 4).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from workbench.base.errors import VocabularyError
from workbench.base.kernels import njit
from workbench.vocabulary.disk_cache import Arrays, Packed, remembered
from workbench.vocabulary.tokenization.merge_kernels import (
    NOT_PRODUCED,
    SYMBOL,
    Ints,
    RuleTable,
    Tables,
    Words,
    rule_table,
)
from workbench.vocabulary.tokenization.merge_rules import (
    Rules,
    forest,
    normalise,
    over_characters,
    rules_of,
)
from workbench.vocabulary.tokenization.pair_test import forbid, misjudged, room_for
from workbench.vocabulary.vocabulary import Vocabulary

#: Below this many tokens tables are made faster than they are found.
_BIG = 8_000


def tables_of(vocabulary: Vocabulary) -> Tables:
    """The normalised tables of a vocabulary.

    Cost:   0.4 s for 131k tokens, a few milliseconds once they are on disk.
    Raises: VocabularyError where it carries no rules, or they cannot be told pair by pair.
    """
    if len(vocabulary) < _BIG:
        return frozen(built(rules_of(vocabulary)))

    def make() -> Arrays:
        made = built(rules_of(vocabulary))
        hashed = {f"rules_{name}": array for name, array in made.rules._asdict().items()}
        return {n: a for n, a in made._asdict().items() if n != "rules"} | hashed

    key = _key(vocabulary)
    return frozen(remembered("merges", key, make, lambda arrays: _read(arrays, len(vocabulary))))


def built(rules: Rules) -> Tables:
    """Normalise, number the left forest, and find the pairs the pair test gets wrong.

    Raises: VocabularyError where there are too many of those.
    """
    splits = normalise(rules)
    live = np.flatnonzero(splits.left >= 0).astype(np.int32)
    table = rule_table(splits.left[live], splits.right[live], live, splits.rank[live])
    lengths = np.diff(rules.symbols_from)
    left = forest(splits.left, splits.rank, lengths)
    none = np.zeros(0, np.int32), np.zeros(len(splits.rank) + 1, np.int32)
    tables = Tables(splits.left, splits.right, splits.rank, table, *left, *none)
    if splits.offending.any():
        told, told_from = misjudged(tables, splits, rules)
        tables = tables._replace(judged=told, judged_from=told_from)
    return tables


def frozen(tables: Tables) -> Tables:
    """The same, read-only: kernels are compiled once more for arrays that may be written."""
    for array in (*tables.rules, *tables):
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return tables


def _key(vocabulary: Vocabulary) -> str:
    """All that tables are made of."""
    packed = Packed.of(vocabulary.tokens)
    said = hashlib.sha256(packed.lengths.tobytes() + packed.text.tobytes())
    said.update(bytes([over_characters(vocabulary), vocabulary.ranks is not None]))
    for ids in (vocabulary.byte_fallback, vocabulary.added):
        said.update(np.array(sorted(ids), np.int64).tobytes() + b"|")
    if vocabulary.ranks is not None:
        said.update(vocabulary.ranks.tobytes())
    elif vocabulary.merges is not None:
        sides = [side for pair in vocabulary.merges for side in pair]
        said.update(np.array([len(side) for side in sides], np.int32).tobytes() + b"".join(sides))
    return said.hexdigest()


def _read(arrays: Arrays, tokens: int) -> Tables:
    """Tables as they were written.

    Raises: KeyError, ValueError where they do not fit together: kernels trust their numbers.
    """
    keys = arrays["rules_keys"].astype(np.int64, copy=False)
    rules = RuleTable(keys, _ints(arrays, "rules_results"), _ints(arrays, "rules_ranks"))
    rest = {name: _ints(arrays, name) for name in Tables._fields if name != "rules"}
    tables = Tables(rules=rules, **rest)
    size, nodes, made = len(keys), len(tables.order), len(tables.children)
    whole = (
        size & (size - 1) == 0
        and bool((keys == -1).any())
        and len(rules.results) == len(rules.ranks) == size
        and all(len(a) == tokens for a in (*tables[:3], tables.before, tables.after))
        and all(len(a) == tokens + 1 for a in (tables.first_child, tables.judged_from))
        and all(
            _within(a, tokens) for a in (*tables[:2], tables.order, tables.children, rules.results)
        )
        and _within(np.maximum(tables.judged, -1 - tables.judged), tokens)
        and _within(tables.before, nodes)
        and _within(tables.after, nodes + 1)
        and _within(tables.first_child, made + 1)
        and _within(tables.judged_from, len(tables.judged) + 1)
        and nodes == int((tables.rank != NOT_PRODUCED).sum())
    )
    if not whole:
        raise ValueError("the arrays of a merge table do not fit together")
    return tables


def _ints(arrays: Arrays, name: str) -> Ints:
    return arrays[name].astype(np.int32, copy=False)


def _within(array: npt.NDArray[np.int32], end: int) -> bool:
    return not len(array) or (int(array.min()) >= -1 and int(array.max()) < end)


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
    if not np.array_equal(one.rank == NOT_PRODUCED, other.rank == NOT_PRODUCED):
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
