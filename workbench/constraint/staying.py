"""Staying: what a state that reads in a circle shares with every such state of a vocabulary.

In come a machine's table and a trie; out come its wide states: those that many bytes lead back to.
Which bytes stay is all that counts for most of the trie, so which node is in which state of the
circle, and where paths leave it, is walked once for a vocabulary and remembered with it. What Koo
et al. 2024, §2.5, call terminal labels, made exact.

The walk of 266 thousand nodes takes 0.3 ms. Without skipping, dead ends a member of their own, it
took 0.45, by parents instead of a path 0.4; with a branch for the middles of characters 0.65.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from workbench.constraint.layout import (
    Ints,
    Local,
    Nodes,
    nodes_of,
)
from workbench.kernel import njit
from workbench.vocabulary.trie import DEPTH_AT, DEPTHS, SIZE_AT, Trie

_ONE, _BYTES = np.uint64(1), np.uint64(255)
_DEPTH_AT, _DEPTHS, _SIZE_AT = np.uint64(DEPTH_AT), np.uint64(DEPTHS - 1), np.uint64(SIZE_AT)

#: Circles one table of a vocabulary has room for.
_TABLE = 16


@dataclass(frozen=True, slots=True, eq=False)
class Circle:
    """Bytes that stay, walked with one vocabulary.

    Shape: ``row``, of the table it lies in; ``tallied`` (M,) int32, the tokens that end in each
           member; ``left`` (X,) int32, the nodes at which a path first leaves, in preorder, and
           ``left_from`` (X,) int8, the members it leaves from.
    """

    row: int
    tallied: Ints
    left: Ints
    left_from: Local


class Table:
    """Circles of a vocabulary: ``stays`` (16, N) int8 has the member at each node, or −1."""

    def __init__(self, trie: Trie) -> None:
        self.stays = np.empty((_TABLE, len(trie)), np.int8)
        self.known: dict[bytes, Circle] = {}
        self._trie = trie
        self._lock = threading.Lock()

    def of(self, local: Local) -> Circle | None:
        """The circle of a table of members and bytes, (M, 256); None where there is no room."""
        key = local.tobytes()
        with self._lock:
            if key not in self.known and len(self.known) < _TABLE:
                self.known[key] = self._walked(local, len(self.known))
            return self.known.get(key)

    def _walked(self, local: Local, row: int) -> Circle:
        trie, size = self._trie, len(self._trie)
        left, inner = np.empty(size, np.int32), np.empty(size, np.int32)
        left_from = np.empty(size, np.int8)
        nodes, stays, path = nodes_of(trie), self.stays[row], np.zeros(trie.height + 1, np.int8)
        leaving, within = _walk(local, nodes, path, stays, left, left_from, inner)
        tallied = np.zeros(len(local), np.int32)
        _tally(nodes, stays, left[:leaving], inner[:within], tallied)
        return Circle(row, tallied, left[:leaving].copy(), left_from[:leaving].copy())


class Circles:
    """The circles of a vocabulary; safe to share between threads.

    A full table is put away for a new one: whoever still reads rows from it keeps it.
    """

    def __init__(self) -> None:
        self._table: Table | None = None

    def forget(self) -> None:
        """Begin anew, as a vocabulary nobody has used."""
        self._table = None

    def table(self, trie: Trie) -> Table:
        """A table with some room."""
        if self._table is None or len(self._table.known) > _TABLE // 2:
            self._table = Table(trie)
        return self._table


@njit(cache=True, nogil=True, _nrt=False)
def _walk(
    local: Local, nodes: Nodes, path: Local, stays: Local, left: Ints, left_from: Local, inner: Ints
) -> tuple[int, int]:
    """Fill in the member of each node, the nodes that leave, and the inner ones: not the first.

    Returns how many leave and how many are inner. The latter are written down without a
    branch: it would be guessed wrong so often that it took as long as all the rest.
    """
    records, flat = nodes.records, local.reshape(-1)
    node, stop = np.uint64(0), np.uint64(len(records))
    leaving, within = np.uint64(0), np.uint64(0)
    while node < stop:
        record = records[node]
        level = (record >> _DEPTH_AT) & _DEPTHS
        here = path[level]
        there = flat[np.uint64(here) * np.uint64(256) + (record & _BYTES)]
        if there < 0:
            left[leaving], left_from[leaving] = node, here
            leaving += _ONE
            end = node + (record >> _SIZE_AT)
            while node < end:
                stays[node] = np.int8(-1)
                node += _ONE
            continue
        path[level + _ONE] = there
        stays[node] = there
        inner[within] = node
        within += np.uint64(there > 0)
        node += _ONE
    return int(np.int64(leaving)), int(np.int64(within))


@njit(cache=True, nogil=True, _nrt=False)
def _tally(nodes: Nodes, stays: Local, left: Ints, inner: Ints, tallied: Ints) -> None:
    """Count the tokens that end in each member: the first has all that no other has."""
    first = nodes.first
    tallied[0] = first[-1]
    for k in range(len(left)):
        node = np.uint64(left[k])
        tallied[0] -= first[node + (nodes.records[node] >> _SIZE_AT)] - first[node]
    for k in range(len(inner)):
        tokens = first[inner[k] + 1] - first[inner[k]]
        tallied[stays[inner[k]]] += tokens
        tallied[0] -= tokens
