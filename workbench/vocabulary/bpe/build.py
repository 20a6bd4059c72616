"""Build: a vocabulary comes in, its normalised tables go out, kept on disk where it is big."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from workbench.vocabulary.bpe.forests import forest
from workbench.vocabulary.bpe.lookup import rule_table
from workbench.vocabulary.bpe.misjudged import misjudged
from workbench.vocabulary.bpe.normalise import Rules, normalise
from workbench.vocabulary.bpe.rules import over_characters, rules_of
from workbench.vocabulary.bpe.tables import NOWHERE, Ints, RuleTable, Tables
from workbench.vocabulary.cache import Arrays, remembered
from workbench.vocabulary.packed import Packed
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
        and nodes == int((tables.rank != NOWHERE).sum())
    )
    if not whole:
        raise ValueError("the arrays of a merge table do not fit together")
    return tables


def _ints(arrays: Arrays, name: str) -> Ints:
    return arrays[name].astype(np.int32, copy=False)


def _within(array: npt.NDArray[np.int32], end: int) -> bool:
    return not len(array) or (int(array.min()) >= -1 and int(array.max()) < end)
