"""Reads the edges of a closed form from its compressed rows.

In come the arrays of ``closed.Closed`` and a row's number; out come token ids and states.

In comes a state; out come its tokens and where each leads. What is stored is less than what is
told: wide rows share what stays in their circle, with each other and with the vocabulary, and rows
that differ in the names of states share their edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import DEAD, State
from workbench.base.kernels import inner, njit
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
    Ints,
    RowArrays,
    Tokens,
)
from workbench.vocabulary.trie import SEVERAL, TOKEN_AT, Trie
from workbench.vocabulary.vocabulary import TokenId

_NONE, _ONE, _HALF, _PLACE = (np.uint64(n) for n in (0, 1, 32, 2**32 - 1))
_TOKEN_AT, _SEVERAL = np.uint64(TOKEN_AT), np.uint64(SEVERAL)


@njit(cache=True, nogil=True, _nrt=False)
def decode_row(written: RowArrays, tokens: Tokens, row: int, edges: Edges, count: int) -> int:
    """Tell a row's edges after ``count`` others, in no order; how many are told then."""
    own = written.rows[row]
    count = _tell_own(written, tokens, own[MAP], own[EDGE], own[EDGE_END], edges, count)
    if own[LOOP] >= 0:
        count = _tell_stays(written, tokens, own, 0, len(tokens.records), edges, count)
    for k in range(own[RANGE], own[RANGE_END]):
        stretch = written.borrowed[k]
        owner = written.rows[stretch[OWNER]]
        count = _tell_own(
            written, tokens, owner[MAP], stretch[OWNER_EDGE], stretch[OWNER_EDGE_END], edges, count
        )
        count = _tell_stays(written, tokens, owner, stretch[FROM], stretch[TO], edges, count)
    return count


@inner
def _tell_own(
    written: RowArrays, tokens: Tokens, base: int, begin: int, end: int, edges: Edges, count: int
) -> int:
    for k in range(begin, end):
        edge = written.edges[k]
        target = written.maps[np.uint64(base) + (edge & _PLACE)]
        if target >= 0:
            node = int(np.int64(edge >> _HALF))
            token = (tokens.records[node] >> _TOKEN_AT) & _SEVERAL
            if token == _SEVERAL:
                count = _tell_several(tokens, node, target, edges, count)
                continue
            edges.ids[count], edges.targets[count] = np.int32(token) - 1, target
            count += 1
    return count


@inner
def _tell_stays(
    written: RowArrays, tokens: Tokens, owner: Ints, begin: int, end: int, edges: Edges, count: int
) -> int:
    """Tell what stays at some nodes; without a branch for the half of them that have no token."""
    stays, maps, records = written.stays[owner[LOOP]], written.maps[owner[MAP] :], tokens.records
    for node in range(begin, end):
        place = int(stays[node])
        token = (records[node] >> _TOKEN_AT) & _SEVERAL
        if token == _SEVERAL and place >= 0:
            count = _tell_several(tokens, node, maps[place], edges, count)
            continue
        edges.ids[count] = np.int32(token) - 1
        edges.targets[count] = maps[place if place >= 0 else 0]
        count += (token != _NONE) & (place >= 0)
    return count


@inner
def _tell_several(tokens: Tokens, node: int, target: int, edges: Edges, count: int) -> int:
    """Tokens that are spelt alike."""
    for k in range(tokens.first[node], tokens.first[node + 1]):
        edges.ids[count], edges.targets[count] = tokens.ids[k], target
        count += 1
    return count


@njit(cache=True, nogil=True)
def decode_rows_sorted(
    written: RowArrays, tokens: Tokens, rows: Ints, first: Ints, edges: Edges, by_token: Ints
) -> None:
    """Tell rows, each at its place and sorted by token; ``by_token`` (V,) is room, all ``DEAD``."""
    for k in range(len(rows)):
        begin, end = first[k], first[k + 1]
        decode_row(written, tokens, rows[k], edges, begin)
        if end - begin > len(by_token) // 64:
            _sort_many(edges, begin, end, by_token)
        else:
            _sort_few(edges, begin, end)


@inner
def _sort_many(edges: Edges, begin: int, end: int, by_token: Ints) -> None:
    for k in range(begin, end):
        by_token[edges.ids[k]] = edges.targets[k]
    k = begin
    for token in range(len(by_token)):
        if by_token[token] != DEAD:
            edges.ids[k], edges.targets[k] = token, by_token[token]
            by_token[token] = DEAD
            k += 1


@njit(cache=True, nogil=True)
def _sort_few(edges: Edges, begin: int, end: int) -> None:
    order = np.argsort(edges.ids[begin:end])
    edges.ids[begin:end] = edges.ids[begin:end][order]
    edges.targets[begin:end] = edges.targets[begin:end][order]


@njit(cache=True, nogil=True, _nrt=False)
def edge_target(written: RowArrays, row: int, node: int) -> int:
    """Where the tokens of a node lead, or ``DEAD``."""
    own = written.rows[row]
    there = _own_target(written, own[MAP], own[EDGE], own[EDGE_END], node)
    if there == DEAD and own[LOOP] >= 0:
        there = _stays_target(written, own, node)
    for k in range(own[RANGE], own[RANGE_END]):
        stretch = written.borrowed[k]
        if stretch[FROM] <= node < stretch[TO]:
            owner = written.rows[stretch[OWNER]]
            there = _own_target(
                written, owner[MAP], stretch[OWNER_EDGE], stretch[OWNER_EDGE_END], node
            )
            return there if there != DEAD else _stays_target(written, owner, node)
    return there


@inner
def _own_target(written: RowArrays, base: int, begin: int, end: int, node: int) -> int:
    k = begin + np.searchsorted(written.edges[begin:end], np.uint64(node) << _HALF)
    if k < end and written.edges[k] >> _HALF == np.uint64(node):
        return int(written.maps[np.uint64(base) + (written.edges[k] & _PLACE)])
    return DEAD


@inner
def _stays_target(written: RowArrays, owner: Ints, node: int) -> int:
    place = written.stays[owner[LOOP], node]
    return int(written.maps[owner[MAP] + place]) if place >= 0 else DEAD


@njit(cache=True, nogil=True, _nrt=False)
def update_earliest(written: RowArrays, tokens: Tokens, row: int, earliest: Ints) -> None:
    """The first node, in preorder, whose tokens lead to each state, (Q,), where it is earlier."""
    own = written.rows[row]
    maps = written.maps[own[MAP] :]
    for k in range(own[EDGE], own[EDGE_END]):
        _meet(maps[written.edges[k] & _PLACE], written.edges[k] >> _HALF, earliest)
    if own[LOOP] >= 0:
        _meet_staying(written, tokens, own, 0, len(tokens.records), earliest)
    for i in range(own[RANGE], own[RANGE_END]):
        stretch = written.borrowed[i]
        owner = written.rows[stretch[OWNER]]
        maps = written.maps[owner[MAP] :]
        for k in range(stretch[OWNER_EDGE], stretch[OWNER_EDGE_END]):
            _meet(maps[written.edges[k] & _PLACE], written.edges[k] >> _HALF, earliest)
        _meet_staying(written, tokens, owner, stretch[FROM], stretch[TO], earliest)


@inner
def _meet_staying(
    written: RowArrays, tokens: Tokens, owner: Ints, begin: int, end: int, earliest: Ints
) -> None:
    stays, maps = written.stays[owner[LOOP]], written.maps[owner[MAP] :]
    for node in range(begin, end):
        if stays[node] >= 0 and (tokens.records[node] >> _TOKEN_AT) & _SEVERAL != _NONE:
            _meet(maps[stays[node]], node, earliest)


@inner
def _meet(state: int, node: int, earliest: Ints) -> None:
    if state >= 0 and node < earliest[state]:
        earliest[state] = node


@dataclass(frozen=True, slots=True, eq=False)
class EdgeRows:
    """Rows of token edges, by state."""

    trie: Trie
    written: RowArrays
    #: How many tokens of each row lead to each place in its map, as ``written.maps``.
    tallies: Ints

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.written.rows)

    @property
    def counts(self) -> Ints:
        """How many edges each row has, (Q,)."""
        return self.written.rows[:, COUNT]

    @property
    def nbytes(self) -> int:
        """The bytes of what is stored; what is the vocabulary's is not among them."""
        written = self.written
        own = (written.rows, written.maps, written.edges, written.borrowed, self.tallies)
        return sum(array.nbytes for array in own)

    def row(self, state: State) -> tuple[Ints, Ints]:
        """The tokens of a row, sorted, and where each leads."""
        return self._told(np.array([state], np.int32))[1:]

    def all_rows(self) -> tuple[Ints, Ints, Ints]:
        """Every row written out: where each begins, (Q + 1,); tokens, sorted by row; targets."""
        return self._told(np.arange(len(self), dtype=np.int32))

    def _told(self, rows: Ints) -> tuple[Ints, Ints, Ints]:
        first = np.zeros(len(rows) + 1, np.int32)
        np.cumsum(self.counts[rows], out=first[1:])
        # one place more, which the kernel fills in vain
        edges = Edges(np.empty(first[-1] + 1, np.int32), np.empty(first[-1] + 1, np.int32))
        by_token = np.full(int(self.trie.token_ids.max(initial=-1)) + 1, DEAD, np.int32)
        decode_rows_sorted(self.written, self._tokens, rows, first, edges, by_token)
        return first, edges.ids[:-1], edges.targets[:-1]

    def step(self, state: State, token_id: TokenId) -> State:
        """Where a token leads, or ``DEAD``."""
        node = self.trie.shared(_Ends).of(self.trie, token_id)
        return DEAD if node < 0 else int(edge_target(self.written, state, node))

    def targets(self, state: State) -> npt.NDArray[np.int32]:
        """The states a row leads to, those whose tokens come first in the trie first."""
        earliest = np.full(len(self), len(self.trie), np.int32)
        update_earliest(self.written, self._tokens, state, earliest)
        met = np.flatnonzero(earliest < len(self.trie))
        return met[np.argsort(earliest[met], kind="stable")].astype(np.int32)

    @property
    def _tokens(self) -> Tokens:
        return Tokens(self.trie.records, self.trie.first, self.trie.token_ids)


class _Ends:
    """At which node of a vocabulary's trie each token ends."""

    def __init__(self) -> None:
        self._nodes: Ints | None = None

    def of(self, trie: Trie, token_id: TokenId) -> int:
        """The node of a token, or −1 for one that spells nothing."""
        if self._nodes is None:
            nodes = np.full(int(trie.token_ids.max(initial=-1)) + 1, -1, np.int32)
            nodes[trie.token_ids] = np.repeat(
                np.arange(len(trie), dtype=np.int32), np.diff(trie.first)
            )
            self._nodes = nodes
        return int(self._nodes[token_id]) if 0 <= token_id < len(self._nodes) else -1
