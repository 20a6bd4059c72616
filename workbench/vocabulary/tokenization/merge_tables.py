"""Builds the normalised merge tables (``merge_kernels.Tables``) of a vocabulary; cached on disk.

``tables_of`` returns the tables of a vocabulary::

    Vocabulary.merges or .ranks
      → rules_of    all rules by token id                       (merge_rules)
      → normalise   one live split for each token               (merge_rules)
      → forest      the tokens in preorder of their left sides  (merge_rules)
      → exceptions  pairs for which the pair test is wrong      (pair_test)

``strictly_ordered`` removes ties. The pair test and the rows need no order among rules of equal
rank, but algorithms that apply one rule after the other do: in Mistral's first vocabulary fifteen
pieces of spaces have the same score, and their order decides the encoding of a run of spaces
(reference, section 4).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from workbench.base.errors import VocabularyError
from workbench.base.kernels import njit
from workbench.vocabulary.disk_cache import Arrays, Packed, cached_arrays
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
from workbench.vocabulary.tokenization.pair_test import forbid, pair_exceptions, row_buffer
from workbench.vocabulary.vocabulary import Vocabulary

#: Tables of fewer tokens are built faster than read from disk.
_MIN_CACHED_TOKENS = 8_000


def tables_of(vocabulary: Vocabulary) -> Tables:
    """The normalised tables of a vocabulary.

    Cost:   0.4 s for 131k tokens, a few milliseconds if they are on disk.
    Raises: VocabularyError if it has no rules, or too many exceptions to the pair test.
    """
    if len(vocabulary) < _MIN_CACHED_TOKENS:
        return read_only(build_tables(rules_of(vocabulary)))

    def make() -> Arrays:
        made = build_tables(rules_of(vocabulary))
        hashed = {f"rules_{name}": array for name, array in made.rules._asdict().items()}
        return {n: a for n, a in made._asdict().items() if n != "rules"} | hashed

    key = _key(vocabulary)
    return read_only(
        cached_arrays("merges", key, make, lambda arrays: _read(arrays, len(vocabulary)))
    )


def build_tables(rules: Rules) -> Tables:
    """Normalise the rules, number the left forest, and find the exceptions to the pair test.

    Raises: VocabularyError if there are too many exceptions.
    """
    splits = normalise(rules)
    live = np.flatnonzero(splits.left >= 0).astype(np.int32)
    table = rule_table(splits.left[live], splits.right[live], live, splits.rank[live])
    lengths = np.diff(rules.symbols_from)
    left = forest(splits.left, splits.rank, lengths)
    none = np.zeros(0, np.int32), np.zeros(len(splits.rank) + 1, np.int32)
    tables = Tables(splits.left, splits.right, splits.rank, table, *left, *none)
    if splits.offending.any():
        exceptions, exceptions_from = pair_exceptions(tables, splits, rules)
        tables = tables._replace(exceptions=exceptions, exceptions_from=exceptions_from)
    return tables


def read_only(tables: Tables) -> Tables:
    """Make the arrays read-only: kernels would be compiled again for writable arrays."""
    for array in (*tables.rules, *tables):
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return tables


def _key(vocabulary: Vocabulary) -> str:
    """A hash of everything the tables depend on."""
    packed = Packed.of(vocabulary.tokens)
    digest = hashlib.sha256(packed.lengths.tobytes() + packed.text.tobytes())
    digest.update(bytes([over_characters(vocabulary), vocabulary.ranks is not None]))
    for ids in (vocabulary.byte_fallback, vocabulary.added):
        digest.update(np.array(sorted(ids), np.int64).tobytes() + b"|")
    if vocabulary.ranks is not None:
        digest.update(vocabulary.ranks.tobytes())
    elif vocabulary.merges is not None:
        sides = [side for pair in vocabulary.merges for side in pair]
        lengths = np.array([len(side) for side in sides], np.int32)
        digest.update(lengths.tobytes() + b"".join(sides))
    return digest.hexdigest()


def _read(arrays: Arrays, tokens: int) -> Tables:
    """Tables from the arrays of a cached file.

    Raises: KeyError, ValueError if the arrays are inconsistent: kernels do not check indices.
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
        and all(len(a) == tokens + 1 for a in (tables.first_child, tables.exceptions_from))
        and all(
            _within(a, tokens) for a in (*tables[:2], tables.order, tables.children, rules.results)
        )
        and _within(np.maximum(tables.exceptions, -1 - tables.exceptions), tokens)
        and _within(tables.before, nodes)
        and _within(tables.after, nodes + 1)
        and _within(tables.first_child, made + 1)
        and _within(tables.exceptions_from, len(tables.exceptions) + 1)
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
    """Whether every rule comes after the rules that produce its two sides."""
    made = tables.left >= 0
    sides = np.maximum(tables.rank[tables.left], tables.rank[tables.right])
    return not bool(np.any(made & (tables.rank < sides)))


def strictly_ordered(rules: Callable[[], Rules], tables: Tables) -> Tables:
    """Equivalent tables with a strict monotone order of ranks.

    Rules that come too early are moved behind the rules of their sides. Two orders are tried: all
    rules, with ties broken by the id of the token they produce; and the live rules alone, with
    ties broken by its length. By the pairwise theorem an order gives the same encodings if it has
    the same canonical tokens and the same rows.

    Cost:   none for a table that is in order, else the rows of the vocabulary, twice.
    Raises: VocabularyError if neither order gives the same encodings.
    """
    ranks = tables.rank[tables.rank > SYMBOL]
    if is_monotone(tables) and len(np.unique(ranks)) == len(ranks):
        return tables
    given = rules()
    lifted = _lifted(given, tables)
    for tried in (_by_result(given, lifted), _live(given, tables, lifted)):
        made = read_only(build_tables(tried))
        if is_monotone(made) and _encode_alike(tables, made):
            return made
    raise VocabularyError(
        "these merge rules have no order that gives the same encodings when each rule is applied"
        " to the whole text",
        "use pairs or rows, which need no order",
    )


def _by_result(rules: Rules, lifted: Ints) -> Rules:
    """All rules, ordered by the rank of the token they produce, ties by its id."""
    order = np.lexsort((rules.result, lifted[rules.result]))
    ranks = np.zeros(len(order), np.int32)
    ranks[order[1:]] = np.cumsum(np.diff(rules.result[order]) != 0)
    return rules._replace(rank=ranks)


def _live(rules: Rules, tables: Tables, lifted: Ints) -> Rules:
    """The live rules alone, ties ordered by the length of the token they produce."""
    made = np.flatnonzero(tables.left >= 0)
    lengths = np.diff(rules.symbols_from)[made]
    order = made[np.lexsort((made, lengths, lifted[made]))].astype(np.int32)
    rank = np.arange(len(order), dtype=np.int32)
    sides = tables.left[order], tables.right[order]
    return Rules(*sides, order, rank, rules.symbols, rules.symbols_from)


def _lifted(rules: Rules, tables: Tables) -> Ints:
    """The ranks of tokens, raised to at least the ranks of their sides."""
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
    return bool(_same_rows(one, other, row_buffer(one), row_buffer(other), bits))


@njit(cache=True, nogil=True, _nrt=False)
def _same_rows(one: Tables, other: Tables, room: Ints, other_room: Ints, bits: Words) -> bool:
    """Whether both tables forbid the same next tokens after each token."""
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
