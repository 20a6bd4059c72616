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

``canonical_dfa_by_merges`` is the article's algorithm, rule by rule, for lessons and tests. The
masks use the same sets as rows of ``pair_test``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


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
