"""Decodes the edges of a closed form from its compressed rows (``compose_kernel.RowArrays``).

A row's edges are its own, those of its self-loop (stored with the vocabulary), and those of the
shared ranges of looping states' rows. ``EdgeRows`` returns them as token ids and target states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import DEAD, State
from workbench.base.kernels import inner, njit
from workbench.base.limits import check_time_budget
from workbench.constraint.engine.compose_kernel import (
    COUNT,
    EDGE,
    EDGE_END,
    FROM,
    LOOP,
    MAP,
    OWNER,
    OWNER_EDGE,
    OWNER_EDGE_END,
    RANGE,
    RANGE_END,
    TO,
    Edges,
    RowArrays,
    Tokens,
)
from workbench.constraint.engine.trie_walk import (
    NO_TOKEN,
    SEVERAL_END,
    TOKEN_MASK,
    TOKEN_SHIFT,
    Ints,
)
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import TokenId

_HALF, _INDEX = np.uint64(32), np.uint64(2**32 - 1)


@inner
def decode_row(arrays: RowArrays, tokens: Tokens, row: int, edges: Edges, count: int) -> int:
    """Append a row's edges to the first ``count``, in any order. Returns the new count."""
    record = arrays.rows[row]
    count = _decode_edges(arrays, tokens, record[MAP], record[EDGE], record[EDGE_END], edges, count)
    if record[LOOP] >= 0:
        count = _decode_loop(arrays, tokens, record, 0, len(tokens.records), edges, count)
    for k in range(record[RANGE], record[RANGE_END]):
        shared = arrays.ranges[k]
        owner = arrays.rows[shared[OWNER]]
        count = _decode_edges(
            arrays, tokens, owner[MAP], shared[OWNER_EDGE], shared[OWNER_EDGE_END], edges, count
        )
        count = _decode_loop(arrays, tokens, owner, shared[FROM], shared[TO], edges, count)
    return count


@inner
def _decode_edges(
    arrays: RowArrays, tokens: Tokens, base: int, begin: int, end: int, edges: Edges, count: int
) -> int:
    """Append the edges ``arrays.edges[begin:end]`` of the row whose map begins at ``base``."""
    for k in range(begin, end):
        edge = arrays.edges[k]
        target = arrays.maps[np.uint64(base) + (edge & _INDEX)]
        if target >= 0:
            node = int(np.int64(edge >> _HALF))
            token = (tokens.records[node] >> TOKEN_SHIFT) & TOKEN_MASK
            if token == SEVERAL_END:
                count = _decode_same_bytes(tokens, node, target, edges, count)
                continue
            edges.ids[count], edges.targets[count] = np.int32(token) - 1, target
            count += 1
    return count


@inner
def _decode_loop(
    arrays: RowArrays, tokens: Tokens, owner: Ints, begin: int, end: int, edges: Edges, count: int
) -> int:
    """Append the edges inside the loop of ``owner`` at the nodes ``range(begin, end)``.

    Without a branch for the half of the nodes that have no token: an edge without a token is
    overwritten by the next.
    """
    loop_members, maps = arrays.loop_members[owner[LOOP]], arrays.maps[owner[MAP] :]
    records = tokens.records
    for node in range(begin, end):
        index = int(loop_members[node])
        token = (records[node] >> TOKEN_SHIFT) & TOKEN_MASK
        if token == SEVERAL_END and index >= 0:
            count = _decode_same_bytes(tokens, node, maps[index], edges, count)
            continue
        edges.ids[count] = np.int32(token) - 1
        edges.targets[count] = maps[index if index >= 0 else 0]
        count += (token != NO_TOKEN) & (index >= 0)
    return count


@inner
def _decode_same_bytes(tokens: Tokens, node: int, target: int, edges: Edges, count: int) -> int:
    """Append the edges of all tokens of a node: they have the same bytes."""
    for k in range(tokens.first[node], tokens.first[node + 1]):
        edges.ids[count], edges.targets[count] = tokens.ids[k], target
        count += 1
    return count


@njit()
def decode_rows_sorted(
    arrays: RowArrays, tokens: Tokens, rows: Ints, first: Ints, edges: Edges, by_token: Ints
) -> None:
    """Decode rows into ``edges[first[k]:first[k + 1]]``, each sorted by token.

    ``by_token`` (V,) is scratch, all ``DEAD`` before and after.
    """
    for k in range(len(rows)):
        begin, end = first[k], first[k + 1]
        decode_row(arrays, tokens, rows[k], edges, begin)
        if end - begin > len(by_token) // 64:
            _sort_by_table(edges, begin, end, by_token)
        else:
            order = np.argsort(edges.ids[begin:end])
            edges.ids[begin:end] = edges.ids[begin:end][order]
            edges.targets[begin:end] = edges.targets[begin:end][order]


@inner
def _sort_by_table(edges: Edges, begin: int, end: int, by_token: Ints) -> None:
    for k in range(begin, end):
        by_token[edges.ids[k]] = edges.targets[k]
    k = begin
    for token in range(len(by_token)):
        if by_token[token] != DEAD:
            edges.ids[k], edges.targets[k] = token, by_token[token]
            by_token[token] = DEAD
            k += 1


@njit(_nrt=False)
def update_earliest(arrays: RowArrays, tokens: Tokens, row: int, earliest: Ints) -> None:
    """Lower ``earliest`` (Q,) to the first node, in preorder, whose tokens lead to each state."""
    record = arrays.rows[row]
    maps = arrays.maps[record[MAP] :]
    for k in range(record[EDGE], record[EDGE_END]):
        _update(maps[arrays.edges[k] & _INDEX], arrays.edges[k] >> _HALF, earliest)
    if record[LOOP] >= 0:
        _update_from_loop(arrays, tokens, record, 0, len(tokens.records), earliest)
    for i in range(record[RANGE], record[RANGE_END]):
        shared = arrays.ranges[i]
        owner = arrays.rows[shared[OWNER]]
        maps = arrays.maps[owner[MAP] :]
        for k in range(shared[OWNER_EDGE], shared[OWNER_EDGE_END]):
            _update(maps[arrays.edges[k] & _INDEX], arrays.edges[k] >> _HALF, earliest)
        _update_from_loop(arrays, tokens, owner, shared[FROM], shared[TO], earliest)


@inner
def _update_from_loop(
    arrays: RowArrays, tokens: Tokens, owner: Ints, begin: int, end: int, earliest: Ints
) -> None:
    loop_members, maps = arrays.loop_members[owner[LOOP]], arrays.maps[owner[MAP] :]
    for node in range(begin, end):
        token = (tokens.records[node] >> TOKEN_SHIFT) & TOKEN_MASK
        if loop_members[node] >= 0 and token != NO_TOKEN:
            _update(maps[loop_members[node]], node, earliest)


@inner
def _update(state: int, node: int, earliest: Ints) -> None:
    if state >= 0 and node < earliest[state]:
        earliest[state] = node


@dataclass(frozen=True, slots=True, eq=False)
class EdgeRows:
    """Rows of token edges, by state, decoded when requested."""

    trie: Trie
    arrays: RowArrays
    #: The number of tokens that lead to each entry of ``arrays.maps``, (M,).
    token_counts: Ints

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.arrays.rows)

    @property
    def counts(self) -> Ints:
        """The number of edges of each row, (Q,)."""
        return self.arrays.rows[:, COUNT]

    @property
    def nbytes(self) -> int:
        """The bytes stored, without the arrays that belong to the vocabulary."""
        arrays = self.arrays
        stored = (arrays.rows, arrays.maps, arrays.edges, arrays.ranges, self.token_counts)
        return sum(array.nbytes for array in stored)

    def row(self, state: State) -> tuple[Ints, Ints]:
        """The tokens of a row, sorted, and their target states."""
        return self._decode(np.array([state], np.int32))[1:]

    def all_rows(self) -> tuple[Ints, Ints, Ints]:
        """Every row: where each begins, (Q + 1,); the tokens, sorted within a row; the targets."""
        return self._decode(np.arange(len(self), dtype=np.int32))

    def _decode(self, rows: Ints) -> tuple[Ints, Ints, Ints]:
        check_time_budget()
        first = np.zeros(len(rows) + 1, np.int32)
        np.cumsum(self.counts[rows], out=first[1:])
        # one spare entry, which ``_decode_loop`` may overwrite
        edges = Edges(np.empty(first[-1] + 1, np.int32), np.empty(first[-1] + 1, np.int32))
        by_token = np.full(int(self.trie.token_ids.max(initial=-1)) + 1, DEAD, np.int32)
        decode_rows_sorted(self.arrays, self._tokens, rows, first, edges, by_token)
        return first, edges.ids[:-1], edges.targets[:-1]

    def step(self, state: State, token_id: TokenId) -> State:
        """The target state of a token, or ``DEAD``."""
        nodes = self.trie.end_nodes
        node = int(nodes[token_id]) if 0 <= token_id < len(nodes) else -1
        if node < 0:
            return DEAD
        arrays, row = self.arrays, self.arrays.rows[state]
        begin, end = row[EDGE], row[EDGE_END]
        shared = arrays.ranges[row[RANGE] : row[RANGE_END]]
        for inside in np.flatnonzero((shared[:, FROM] <= node) & (node < shared[:, TO])):
            row = arrays.rows[shared[inside, OWNER]]
            begin, end = shared[inside, OWNER_EDGE], shared[inside, OWNER_EDGE_END]
        index = begin + np.searchsorted(arrays.edges[begin:end], np.uint64(node) << _HALF)
        target = DEAD
        if index < end and arrays.edges[index] >> _HALF == node:
            target = int(arrays.maps[row[MAP] + int(arrays.edges[index] & _INDEX)])
        if target == DEAD and row[LOOP] >= 0 and arrays.loop_members[row[LOOP], node] >= 0:
            target = int(arrays.maps[row[MAP] + arrays.loop_members[row[LOOP], node]])
        return target

    def targets(self, state: State) -> npt.NDArray[np.int32]:
        """The target states of a row, in the order of their first token in the trie."""
        check_time_budget()
        earliest = np.full(len(self), len(self.trie), np.int32)
        update_earliest(self.arrays, self._tokens, state, earliest)
        states = np.flatnonzero(earliest < len(self.trie))
        return states[np.argsort(earliest[states], kind="stable")].astype(np.int32)

    @property
    def _tokens(self) -> Tokens:
        return Tokens(self.trie.records, self.trie.first, self.trie.token_ids)
