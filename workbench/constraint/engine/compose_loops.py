"""The self-loop cache of the closed form.

In come a machine's table and a trie; out come its wide states: those that many bytes lead back to.
Which bytes stay is all that counts for most of the trie, so which node is in which state of the
circle, and where paths leave it, is walked once for a vocabulary and remembered with it. What Koo
et al. 2024, §2.5, call terminal labels, made exact.

The walk of 266 thousand nodes takes 0.3 ms. Without skipping, dead ends a member of their own, it
took 0.45, by parents instead of a path 0.4; with a branch for the middles of characters 0.65.

In come a machine's steps and a trie; out come the arrays a closing reads. Inside a JSON string of
131k tokens all but 900 of 266 thousand nodes are the vocabulary's.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from workbench.base.dfa import State
from workbench.base.kernels import njit
from workbench.constraint.engine.compose_kernel import (
    Ints,
    Local,
    LoopArrays,
    Numbers,
    Steps,
    TrieNodes,
    nodes_of,
)
from workbench.constraint.engine.self_loops import MAX_MEMBERS, MIN_LOOP_BYTES, find_self_loop
from workbench.vocabulary.trie import DEPTH_AT, DEPTHS, SIZE_AT, Trie

_ONE, _BYTES = np.uint64(1), np.uint64(255)
_DEPTH_AT, _DEPTHS, _SIZE_AT = np.uint64(DEPTH_AT), np.uint64(DEPTHS - 1), np.uint64(SIZE_AT)

#: Circles one table of a vocabulary has room for.
_TABLE = 16


@dataclass(frozen=True, slots=True, eq=False)
class EdgeLoop:
    """Bytes that stay, walked with one vocabulary.

    Shape: ``row``, of the table it lies in; ``tallied`` (M,) int32, the tokens that end in each
           member; ``left`` (X,) int32, the nodes at which a path first leaves, in preorder, and
           ``left_from`` (X,) int8, the members it leaves from.
    """

    row: int
    tallied: Ints
    left: Ints
    left_from: Local


class EdgeLoopTable:
    """Circles of a vocabulary: ``stays`` (16, N) int8 has the member at each node, or −1."""

    def __init__(self, trie: Trie) -> None:
        self.stays = np.empty((_TABLE, len(trie)), np.int8)
        self.known: dict[bytes, EdgeLoop] = {}
        self._trie = trie
        self._lock = threading.Lock()

    def of(self, local: Local) -> EdgeLoop | None:
        """The circle of a table of members and bytes, (M, 256); None where there is no room."""
        key = local.tobytes()
        with self._lock:
            if key not in self.known and len(self.known) < _TABLE:
                self.known[key] = self._walked(local, len(self.known))
            return self.known.get(key)

    def _walked(self, local: Local, row: int) -> EdgeLoop:
        trie, size = self._trie, len(self._trie)
        left, inner = np.empty(size, np.int32), np.empty(size, np.int32)
        left_from = np.empty(size, np.int8)
        nodes, stays, path = nodes_of(trie), self.stays[row], np.zeros(trie.height + 1, np.int8)
        leaving, within = _walk(local, nodes, path, stays, left, left_from, inner)
        tallied = np.zeros(len(local), np.int32)
        _tally(nodes, stays, left[:leaving], inner[:within], tallied)
        return EdgeLoop(row, tallied, left[:leaving].copy(), left_from[:leaving].copy())


class EdgeLoopCache:
    """The circles of a vocabulary; safe to share between threads.

    A full table is put away for a new one: whoever still reads rows from it keeps it.
    """

    def __init__(self) -> None:
        self._table: EdgeLoopTable | None = None

    def forget(self) -> None:
        """Begin anew, as a vocabulary nobody has used."""
        self._table = None

    def table(self, trie: Trie) -> EdgeLoopTable:
        """A table with some room."""
        if self._table is None or len(self._table.known) > _TABLE // 2:
            self._table = EdgeLoopTable(trie)
        return self._table


@njit(cache=True, nogil=True, _nrt=False)
def _walk(
    local: Local,
    nodes: TrieNodes,
    path: Local,
    stays: Local,
    left: Ints,
    left_from: Local,
    inner: Ints,
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
def _tally(nodes: TrieNodes, stays: Local, left: Ints, inner: Ints, tallied: Ints) -> None:
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


class LoopingStates:
    """The wide states of a machine, found one by one."""

    def __init__(self, trie: Trie) -> None:
        self._circles = trie.shared(EdgeLoopCache).table(trie)
        self._found: list[tuple[Ints, EdgeLoop]] = []
        self._members = np.empty(MAX_MEMBERS, np.int32)
        self._local = np.empty((MAX_MEMBERS, 256), np.int8)

    def add(self, steps: Steps, state: State) -> tuple[State, int] | None:
        """Take a wide state in; or a state and a byte class whose step is needed first."""
        count, unknown, column = find_self_loop(*steps, state, self._members, self._local)
        if count < 0:
            return unknown, column
        circle = self._circles.of(self._local[:count]) if count else None
        if circle is not None:
            self._found.append((self._members[:count].copy(), circle))
        return None

    def arrays(self, states: int) -> LoopArrays:
        """What is found, for a machine of so many states."""
        found = self._found
        held, members = np.full(states, -1, np.int32), np.zeros((len(found), MAX_MEMBERS), np.int32)
        tallied = np.zeros((len(found), MAX_MEMBERS), np.int32)
        for number, (its, circle) in enumerate(found):
            members[number, : len(its)], tallied[number, : len(its)] = its, circle.tallied
            held[its] = number << 8 | np.arange(len(its), dtype=np.int32)
        for number, (its, _) in enumerate(found):
            held[its[0]] = number << 8  # one that is also a middle of another is itself first
        leaving = np.cumsum([0, *(len(circle.left) for _, circle in found)], dtype=np.int32)
        return LoopArrays(
            held=held,
            members=members,
            sizes=np.array([len(its) for its, _ in found], np.int32),
            loops=np.array([circle.row for _, circle in found], np.int32),
            tallied=tallied,
            leaving=leaving,
            left=np.concatenate([_NOWHERE, *(circle.left for _, circle in found)]),
            left_from=np.concatenate([_NO_MEMBER, *(circle.left_from for _, circle in found)]),
            stays=self._circles.stays,
        )


_NOWHERE, _NO_MEMBER = np.empty(0, np.int32), np.empty(0, np.int8)


def looping_states(steps: Steps) -> list[State]:
    """The states to which many ASCII bytes lead back."""
    weights = np.bincount(steps.classes[:128], minlength=steps.width).astype(np.int64)
    return [int(state) for state in np.flatnonzero(_staying(steps, weights) >= MIN_LOOP_BYTES)]


def is_looping(steps: Steps, state: State) -> bool:
    """Whether many ASCII bytes lead back to a state, of those whose step is known."""
    row = steps.table[state * steps.width : (state + 1) * steps.width]
    return int((row[steps.classes[:128]] == state).sum()) >= MIN_LOOP_BYTES


@njit(cache=True, nogil=True)
def _staying(steps: Steps, weights: Numbers) -> Numbers:
    """How many ASCII bytes lead back to each state."""
    states = len(steps.table) // steps.width
    found = np.zeros(states, np.int64)
    for state in range(states):
        for column in range(steps.width):
            if steps.table[state * steps.width + column] == state:
                found[state] += weights[column]
    return found
