"""Build: all rules of a vocabulary come in, its normalised tables go out."""

from __future__ import annotations

import numpy as np

from workbench.vocabulary.bpe.forests import forest
from workbench.vocabulary.bpe.misjudged import misjudged
from workbench.vocabulary.bpe.normalise import Rules, normalise
from workbench.vocabulary.bpe.tables import Tables, rule_table


def tables_of(rules: Rules) -> Tables:
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
        wrong, wrong_from = misjudged(tables, splits, rules)
        tables = tables._replace(misjudged=wrong, misjudged_from=wrong_from)
    return tables
