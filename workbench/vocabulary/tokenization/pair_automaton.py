"""The automaton of all canonical token sequences of a merge table.

It is the article's `.*` automaton (Tran-Thien 2024, appendix, section 4). All states are final,
and all edges with the label t lead to the same state. So the automaton is described by two
tables: the state after each token, and the set of forbidden next tokens of each state. Tokens
with equal sets share a state. For the symbols a, b and the rules ab, then b·ab → bab::

    token   state after it        state   forbidden next tokens
      a          1                  0     none
      b          2                  1     b and bab   (because a b is merged to ab)
      ab         0                  2     ab          (because b ab is merged to bab)
      bab        0

``canonical_dfa`` computes the sets from the rows of ``pair_test``; ``canonical_dfa_by_merges`` is
the article's algorithm, rule by rule, for lessons and tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.base.errors import VocabularyError
from workbench.vocabulary.tokenization.merge_kernels import Ints, Numbers, Tables
from workbench.vocabulary.tokenization.pair_test import merged_intervals, row_buffer, row_intervals


@dataclass(frozen=True, eq=False)
class CanonicalDfa:
    """The automaton; state 0 is initial and forbids no canonical token.

    Shape: ``state_of`` (V,) the state a token leads to, −1 for tokens that are not canonical;
           ``rows[first[s]:first[s + 1]]`` the intervals of ``Tables.order`` that state s forbids,
           disjoint and sorted; ``first`` (S + 1,).
    """

    state_of: Ints
    rows: Ints
    first: Numbers

    def __len__(self) -> int:
        """The number of states."""
        return len(self.first) - 1


def canonical_dfa(tables: Tables) -> CanonicalDfa:
    """The automaton of a monotone table.

    Cost:   20 µs for each token.
    Raises: VocabularyError if the table is not monotone: its rows are not intervals.
    """
    if len(tables.exceptions):
        raise VocabularyError("rows are not intervals if merge rules are not monotone")
    state_of, room = np.full(len(tables.rank), -1, np.int32), row_buffer(tables)
    rows, numbers = [np.empty((0, 2), np.int32)], {b"": 0}
    for token in tables.order.tolist():
        row = merged_intervals(room[: row_intervals(tables, token, room)])
        state_of[token] = number = numbers.setdefault(row.tobytes(), len(rows))
        if number == len(rows):
            rows.append(row)
    return CanonicalDfa(state_of, np.concatenate(rows), np.cumsum([0, *map(len, rows)]))


@dataclass(frozen=True, slots=True)
class MergedDfa:
    """The automaton of a small table: the state of each token, the tokens each state forbids."""

    state_of: dict[str, int]
    forbidden: tuple[frozenset[str], ...]


def canonical_dfa_by_merges(symbols: Iterable[str], merges: Sequence[tuple[str, str]]) -> MergedDfa:
    """The automaton by the article's Algorithm 3, rule by rule; for lessons and tests.

    The rules are normalised, in rank order and without ties. Line 11 of the article omits the
    condition "S is the initial state": over {a, b} with (a, b) (b, a) (ab, a) its initial state
    would forbid a (reference, section 12).
    """
    state_of = dict.fromkeys(symbols, 0)
    forbidden: list[set[str]] = [set()]
    for left, right in merges:
        if left not in state_of or right not in state_of or right in forbidden[state_of[left]]:
            continue  # the rule is never applied
        before, after = state_of[left], state_of[right]
        shared = any(s == before and token != left for token, s in state_of.items())
        if before == 0 or left == right or shared:
            forbidden.append(set(forbidden[before]))
            state_of[left] = len(forbidden) - 1
        forbidden[state_of[left]].add(right)
        state_of[left + right] = after
        for tokens in forbidden:
            if left in tokens:
                tokens.add(left + right)
    numbers: dict[frozenset[str], int] = {frozenset(): 0}
    merged = {
        token: numbers.setdefault(frozenset(forbidden[state]), len(numbers))
        for token, state in state_of.items()
    }
    return MergedDfa(merged, tuple(numbers))
