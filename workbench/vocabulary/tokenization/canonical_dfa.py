"""The automaton of all canonical token sequences of a merge table.

It is the article's `.*` automaton (Tran-Thien 2024, appendix, section 4). All states are final, and
all edges with the label t lead to the same state. So the automaton is described by two tables: the
state after each token, and the set of forbidden next tokens of each state. Tokens with equal sets
share a state. For the symbols a, b and the rules ab, then b·ab → bab::

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
from workbench.base.kernels import inner, njit
from workbench.vocabulary.tokenization.merge_kernels import (
    Ints,
    Numbers,
    Tables,
    heap_pop,
    heap_push,
)
from workbench.vocabulary.tokenization.pair_test import row_buffer, row_intervals


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
    """The automaton of a monotone table; equal rows are found by a hash table.

    Cost:   40 ms for 32k tokens, 0.4 s for 131k.
    Raises: VocabularyError if the table is not monotone: its rows are not intervals.
    """
    if len(tables.exceptions):
        raise VocabularyError("rows are not intervals if merge rules are not monotone")
    nodes = len(tables.order)
    state_of = np.full(len(tables.rank), -1, np.int32)
    first = np.zeros(nodes + 2, np.int64)
    known = np.full(1 << max(4, (2 * nodes).bit_length()), -1, np.int32)
    rows = np.empty((8 * nodes + 1_000, 2), np.int32)
    states, place, room = 1, 0, row_buffer(tables)
    known[_EMPTY & (len(known) - 1)] = 0
    heap = np.empty(len(room), np.int64)
    while True:
        states, place = _share(tables, room, heap, known, state_of, rows, first, states, place)
        if place == nodes:
            return CanonicalDfa(state_of, rows[: first[states]].copy(), first[: states + 1].copy())
        rows = np.concatenate((rows, np.empty_like(rows)))


@njit(_nrt=False)
def _share(
    tables: Tables,
    room: Ints,
    heap: Numbers,
    known: Ints,
    state_of: Ints,
    rows: Ints,
    first: Numbers,
    states: int,
    place: int,
) -> tuple[int, int]:
    """Number the rows of the tokens from index ``place`` of ``order``, while ``rows`` has room.

    ``known`` is a hash table of states by their rows. Returns the numbers of states and of tokens
    done.
    """
    last = len(known) - 1
    while place < len(tables.order):
        token = tables.order[place]
        size = row_intervals(tables, token, room)
        begin = first[states]
        if begin + size > len(rows):
            break
        size = _disjoint(room, size, heap, rows[begin:])
        slot = _hash(rows, begin, begin + size) & last
        while known[slot] >= 0 and not _equal(rows, first, known[slot], begin, size):
            slot = (slot + 1) & last
        if known[slot] < 0:
            known[slot] = states
            first[states + 1] = begin + size
            states += 1
        state_of[token] = known[slot]
        place += 1
    return states, place


@inner
def _disjoint(room: Ints, size: int, heap: Numbers, out: Ints) -> int:
    """Write intervals sorted and merged; return their number."""
    entries, count = 0, 0
    for i in range(size):
        if room[i, 0] < room[i, 1]:
            entries = heap_push(heap, entries, (room[i, 0] << 32) | room[i, 1])
    while entries:
        begin, end = heap[0] >> 32, heap[0] & 0xFFFFFFFF
        entries = heap_pop(heap, entries)
        if count and begin <= out[count - 1, 1]:
            out[count - 1, 1] = max(out[count - 1, 1], end)
        else:
            out[count, 0], out[count, 1] = begin, end
            count += 1
    return count


#: The hash of no intervals.
_EMPTY = 1_469_598_103_934_665_603


@inner
def _hash(rows: Ints, begin: int, end: int) -> int:
    """The hash of a row."""
    found = _EMPTY
    for i in range(begin, end):
        found = (found ^ ((rows[i, 0] << 32) | rows[i, 1])) * 1_099_511_628_211
        found ^= found >> 29
    return found


@inner
def _equal(rows: Ints, first: Numbers, state: int, begin: int, size: int) -> bool:
    """Whether the row that begins at ``begin`` equals the row of a state."""
    if first[state + 1] - first[state] != size:
        return False
    for i in range(size):
        other = first[state] + i
        if rows[other, 0] != rows[begin + i, 0] or rows[other, 1] != rows[begin + i, 1]:
            return False
    return True


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
