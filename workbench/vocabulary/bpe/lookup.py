"""Look-up: rules come in as columns, a hash table of them goes out, and kernels that read it."""

from __future__ import annotations

import numpy as np

from workbench.kernel import inner, njit
from workbench.vocabulary.bpe.tables import Ints, RuleTable

#: 2^64 divided by the golden ratio, as a signed number: spreads pairs that lie close together.
_SPREAD = -7046029254386353131


@inner
def place_of(rules: RuleTable, left: int, right: int) -> int:
    """Where a pair's rule is, −1 where there is none; a symbol that is no token is below 0."""
    if left < 0 or right < 0:
        return -1
    keys = rules.keys
    last = len(keys) - 1
    key = (left << 32) | right
    place = ((key * _SPREAD) >> 24) & last
    while keys[place] != key:
        if keys[place] == -1:
            return -1
        place = (place + 1) & last
    return int(place)


@njit(cache=True, nogil=True, _nrt=False)
def _fill(rules: RuleTable, left: Ints, right: Ints, results: Ints, ranks: Ints) -> None:
    """Write the rules into an empty table; of two for one pair the later one counts."""
    last = len(rules.keys) - 1
    for rule in range(len(left)):
        key = (left[rule] << 32) | right[rule]
        place = ((key * _SPREAD) >> 24) & last
        while rules.keys[place] != -1 and rules.keys[place] != key:
            place = (place + 1) & last
        rules.keys[place] = key
        rules.results[place] = results[rule]
        rules.ranks[place] = ranks[rule]


def rule_table(left: Ints, right: Ints, results: Ints, ranks: Ints) -> RuleTable:
    """The rules, ready to be looked up; of two for one pair the later one counts."""
    size = 1 << max(4, int(2 * len(left)).bit_length())
    table = RuleTable(
        np.full(size, -1, np.int64), np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    )
    _fill(table, left, right, results, ranks)
    return table
