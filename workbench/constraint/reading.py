"""Reading: the kernels that tell the edges a closing wrote.

In come the arrays of ``closed.Closed`` and a row's number; out come token ids and states.
"""

from __future__ import annotations

import numpy as np

from workbench.automata.dfa import DEAD
from workbench.constraint.layout import (
    BORROWED,
    BORROWED_END,
    EDGE,
    EDGE_END,
    FROM,
    LENT,
    LENT_END,
    MAP,
    OWNER,
    STAYS,
    TO,
    Edges,
    Ints,
    Tokens,
    Written,
)
from workbench.kernel import inner, njit
from workbench.vocabulary.trie import SEVERAL, TOKEN_AT

_DEAD = DEAD
_NONE, _ONE, _HALF, _PLACE = (np.uint64(n) for n in (0, 1, 32, 2**32 - 1))
_TOKEN_AT, _SEVERAL = np.uint64(TOKEN_AT), np.uint64(SEVERAL)


@njit(cache=True, nogil=True, _nrt=False)
def tell(written: Written, tokens: Tokens, row: int, edges: Edges, count: int) -> int:
    """Tell a row's edges after ``count`` others, in no order; how many are told then."""
    own = written.rows[row]
    count = _tell_own(written, tokens, own[MAP], own[EDGE], own[EDGE_END], edges, count)
    if own[STAYS] >= 0:
        count = _tell_stays(written, tokens, own, 0, len(tokens.records), edges, count)
    for k in range(own[BORROWED], own[BORROWED_END]):
        stretch = written.borrowed[k]
        owner = written.rows[stretch[OWNER]]
        count = _tell_own(
            written, tokens, owner[MAP], stretch[LENT], stretch[LENT_END], edges, count
        )
        count = _tell_stays(written, tokens, owner, stretch[FROM], stretch[TO], edges, count)
    return count


@inner
def _tell_own(
    written: Written, tokens: Tokens, base: int, begin: int, end: int, edges: Edges, count: int
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
    written: Written, tokens: Tokens, owner: Ints, begin: int, end: int, edges: Edges, count: int
) -> int:
    """Tell what stays at some nodes; without a branch for the half of them that have no token."""
    stays, maps, records = written.stays[owner[STAYS]], written.maps[owner[MAP] :], tokens.records
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
def tell_sorted(
    written: Written, tokens: Tokens, rows: Ints, first: Ints, edges: Edges, by_token: Ints
) -> None:
    """Tell rows, each at its place and sorted by token; ``by_token`` (V,) is room, all ``DEAD``."""
    for k in range(len(rows)):
        begin, end = first[k], first[k + 1]
        tell(written, tokens, rows[k], edges, begin)
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
        if by_token[token] != _DEAD:
            edges.ids[k], edges.targets[k] = token, by_token[token]
            by_token[token] = _DEAD
            k += 1


@njit(cache=True, nogil=True)
def _sort_few(edges: Edges, begin: int, end: int) -> None:
    order = np.argsort(edges.ids[begin:end])
    edges.ids[begin:end] = edges.ids[begin:end][order]
    edges.targets[begin:end] = edges.targets[begin:end][order]


@njit(cache=True, nogil=True, _nrt=False)
def target(written: Written, row: int, node: int) -> int:
    """Where the tokens of a node lead, or ``DEAD``."""
    own = written.rows[row]
    there = _own_target(written, own[MAP], own[EDGE], own[EDGE_END], node)
    if there == _DEAD and own[STAYS] >= 0:
        there = _stays_target(written, own, node)
    for k in range(own[BORROWED], own[BORROWED_END]):
        stretch = written.borrowed[k]
        if stretch[FROM] <= node < stretch[TO]:
            owner = written.rows[stretch[OWNER]]
            there = _own_target(written, owner[MAP], stretch[LENT], stretch[LENT_END], node)
            return there if there != _DEAD else _stays_target(written, owner, node)
    return there


@inner
def _own_target(written: Written, base: int, begin: int, end: int, node: int) -> int:
    k = begin + np.searchsorted(written.edges[begin:end], np.uint64(node) << _HALF)
    if k < end and written.edges[k] >> _HALF == np.uint64(node):
        return int(written.maps[np.uint64(base) + (written.edges[k] & _PLACE)])
    return _DEAD


@inner
def _stays_target(written: Written, owner: Ints, node: int) -> int:
    place = written.stays[owner[STAYS], node]
    return int(written.maps[owner[MAP] + place]) if place >= 0 else _DEAD


@njit(cache=True, nogil=True, _nrt=False)
def meet(written: Written, tokens: Tokens, row: int, earliest: Ints) -> None:
    """The first node, in preorder, whose tokens lead to each state, (Q,), where it is earlier."""
    own = written.rows[row]
    maps = written.maps[own[MAP] :]
    for k in range(own[EDGE], own[EDGE_END]):
        _meet(maps[written.edges[k] & _PLACE], written.edges[k] >> _HALF, earliest)
    if own[STAYS] >= 0:
        _meet_staying(written, tokens, own, 0, len(tokens.records), earliest)
    for i in range(own[BORROWED], own[BORROWED_END]):
        stretch = written.borrowed[i]
        owner = written.rows[stretch[OWNER]]
        maps = written.maps[owner[MAP] :]
        for k in range(stretch[LENT], stretch[LENT_END]):
            _meet(maps[written.edges[k] & _PLACE], written.edges[k] >> _HALF, earliest)
        _meet_staying(written, tokens, owner, stretch[FROM], stretch[TO], earliest)


@inner
def _meet_staying(
    written: Written, tokens: Tokens, owner: Ints, begin: int, end: int, earliest: Ints
) -> None:
    stays, maps = written.stays[owner[STAYS]], written.maps[owner[MAP] :]
    for node in range(begin, end):
        if stays[node] >= 0 and (tokens.records[node] >> _TOKEN_AT) & _SEVERAL != _NONE:
            _meet(maps[stays[node]], node, earliest)


@inner
def _meet(state: int, node: int, earliest: Ints) -> None:
    if state >= 0 and node < earliest[state]:
        earliest[state] = node
