"""The self-loop cache of the closed form: for each loop, the member at every trie node.

``self_loops`` explains the idea; the mask rows need the tokens read inside a loop as bits, the
closed form needs the member in which each ends, so it has a separate cache. It is filled once for a
vocabulary and a table of members and bytes. Inside a JSON string, over 131k tokens, all but 900 of
266 thousand nodes are taken from it.

The walk of 266 thousand nodes takes 0.3 ms. Slower alternatives: without skipping subtrees, dead
ends being a separate member, 0.45 ms; with parents instead of a path, 0.4 ms; with a branch for
the states in the middle of a character, 0.65 ms.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from workbench.base.dfa import State
from workbench.base.kernels import njit
from workbench.constraint.engine.compose_kernel import LoopArrays, Steps, TrieNodes, nodes_of
from workbench.constraint.engine.self_loops import MAX_MEMBERS, MIN_LOOP_BYTES, find_self_loop
from workbench.constraint.engine.trie_walk import (
    BYTE_MASK,
    DEPTH_MASK,
    DEPTH_SHIFT,
    ONE,
    SIZE_SHIFT,
    Ints,
    Local,
    Numbers,
)
from workbench.vocabulary.trie import Trie

#: The number of loops in one table of a vocabulary.
_TABLE_ROWS = 16


@dataclass(frozen=True, slots=True, eq=False)
class EdgeLoop:
    """A self-loop walked through the trie of one vocabulary.

    Shape: ``row``, its row in ``EdgeLoopTable.loop_members``; ``member_tokens`` (M,) int32, the
           number of tokens that end in each member; ``exits`` (X,) int32, the nodes at which a
           path first leaves the loop, in preorder; ``exit_members`` (X,) int8, the members left.
    """

    row: int
    member_tokens: Ints
    exits: Ints
    exit_members: Local


class EdgeLoopTable:
    """Up to 16 loops of a vocabulary.

    Shape: ``loop_members`` (16, N) int8, the member of each loop at each trie node, or −1.

    A table is only added to, because closed forms keep references to it.
    """

    def __init__(self, trie: Trie) -> None:
        self.loop_members = np.empty((_TABLE_ROWS, len(trie)), np.int8)
        self.loops: dict[bytes, EdgeLoop] = {}
        self._trie = trie
        self._lock = threading.Lock()

    def of(self, local: Local) -> EdgeLoop | None:
        """The loop of a local table (M, 256) of members by byte; None if the table is full."""
        key = local.tobytes()
        with self._lock:
            if key not in self.loops and len(self.loops) < _TABLE_ROWS:
                self.loops[key] = self._compute_loop(local, len(self.loops))
            return self.loops.get(key)

    def _compute_loop(self, local: Local, row: int) -> EdgeLoop:
        trie, size = self._trie, len(self._trie)
        exits, inner_nodes = np.empty(size, np.int32), np.empty(size, np.int32)
        exit_members = np.empty(size, np.int8)
        nodes, loop_members = nodes_of(trie), self.loop_members[row]
        path, member_tokens = np.zeros(trie.height + 1, np.int8), np.zeros(len(local), np.int32)
        exit_count, inner_count = _walk(
            local, nodes, path, loop_members, exits, exit_members, inner_nodes
        )
        exits, exit_members = exits[:exit_count].copy(), exit_members[:exit_count].copy()
        _count_tokens(nodes, loop_members, exits, inner_nodes[:inner_count], member_tokens)
        return EdgeLoop(row, member_tokens, exits, exit_members)


class EdgeLoopCache:
    """The current table of a vocabulary's loops; safe to share between threads.

    A table more than half full is replaced by a new one. Closed forms that refer to the old table
    keep it alive.
    """

    def __init__(self) -> None:
        self._table: EdgeLoopTable | None = None

    def clear(self) -> None:
        """Drop the table, as for a new vocabulary."""
        self._table = None

    def table(self, trie: Trie) -> EdgeLoopTable:
        """A table that is at most half full."""
        if self._table is None or len(self._table.loops) > _TABLE_ROWS // 2:
            self._table = EdgeLoopTable(trie)
        return self._table


@njit(_nrt=False)
def _walk(
    local: Local,
    nodes: TrieNodes,
    path: Local,
    loop_members: Local,
    exits: Ints,
    exit_members: Local,
    inner_nodes: Ints,
) -> tuple[int, int]:
    """Fill in the member of each node, the exits with their members, and the inner nodes.

    Inner nodes are those at a member other than the first. They are written without a branch: its
    mispredictions took as long as all the rest. Returns the number of exits and of inner nodes.
    """
    records, flat = nodes.records, local.reshape(-1)
    node, stop = np.uint64(0), np.uint64(len(records))
    exit_count, inner_count = np.uint64(0), np.uint64(0)
    while node < stop:
        record = records[node]
        level = (record >> DEPTH_SHIFT) & DEPTH_MASK
        here = path[level]
        there = flat[np.uint64(here) * np.uint64(256) + (record & BYTE_MASK)]
        if there < 0:
            exits[exit_count], exit_members[exit_count] = node, here
            exit_count += ONE
            end = node + (record >> SIZE_SHIFT)
            while node < end:
                loop_members[node] = np.int8(-1)
                node += ONE
            continue
        path[level + ONE] = there
        loop_members[node] = there
        inner_nodes[inner_count] = node
        inner_count += np.uint64(there > 0)
        node += ONE
    return int(np.int64(exit_count)), int(np.int64(inner_count))


@njit(_nrt=False)
def _count_tokens(
    nodes: TrieNodes, loop_members: Local, exits: Ints, inner_nodes: Ints, member_tokens: Ints
) -> None:
    """Count the tokens that end in each member: the first has all tokens that no other has."""
    first = nodes.first
    member_tokens[0] = first[-1]
    for k in range(len(exits)):
        node = np.uint64(exits[k])
        member_tokens[0] -= first[node + (nodes.records[node] >> SIZE_SHIFT)] - first[node]
    for k in range(len(inner_nodes)):
        tokens = first[inner_nodes[k] + 1] - first[inner_nodes[k]]
        member_tokens[loop_members[inner_nodes[k]]] += tokens
        member_tokens[0] -= tokens


class LoopingStates:
    """The looping states of a machine, added one by one."""

    def __init__(self, trie: Trie) -> None:
        self._table = trie.shared(EdgeLoopCache).table(trie)
        self._found: list[tuple[Ints, EdgeLoop]] = []
        self._members = np.empty(MAX_MEMBERS, np.int32)
        self._local = np.empty((MAX_MEMBERS, 256), np.int8)

    def add(self, steps: Steps, state: State) -> tuple[State, int] | None:
        """Add a looping state, or return a state and a byte class whose step is needed first."""
        count, unknown, column = find_self_loop(*steps, state, state, self._members, self._local)
        if count < 0:
            return unknown, column
        loop = self._table.of(self._local[:count]) if count else None
        if loop is not None:
            self._found.append((self._members[:count].copy(), loop))
        return None

    def arrays(self, states: int) -> LoopArrays:
        """The arrays for the kernel, for a machine of ``states`` states."""
        found = self._found
        loop_of = np.full(states, -1, np.int32)
        members = np.zeros((len(found), MAX_MEMBERS), np.int32)
        member_tokens = np.zeros((len(found), MAX_MEMBERS), np.int32)
        for number, (in_loop, loop) in enumerate(found):
            members[number, : len(in_loop)] = in_loop
            member_tokens[number, : len(in_loop)] = loop.member_tokens
            loop_of[in_loop] = number << 8 | np.arange(len(in_loop), dtype=np.int32)
        for number, (in_loop, _) in enumerate(found):
            loop_of[in_loop[0]] = number << 8  # its own loop, even if it is a member of another
        exit_starts = np.cumsum([0, *(len(loop.exits) for _, loop in found)], dtype=np.int32)
        return LoopArrays(
            loop_of=loop_of,
            members=members,
            sizes=np.array([len(in_loop) for in_loop, _ in found], np.int32),
            loop_rows=np.array([loop.row for _, loop in found], np.int32),
            member_tokens=member_tokens,
            exit_starts=exit_starts,
            exits=np.concatenate([_NO_EXITS, *(loop.exits for _, loop in found)]),
            exit_members=np.concatenate([_NO_MEMBERS, *(loop.exit_members for _, loop in found)]),
            loop_members=self._table.loop_members,
        )


_NO_EXITS, _NO_MEMBERS = np.empty(0, np.int32), np.empty(0, np.int8)


def looping_states(steps: Steps) -> list[State]:
    """The states to which at least ``MIN_LOOP_BYTES`` ASCII bytes lead back."""
    weights = np.bincount(steps.classes[:128], minlength=steps.width).astype(np.int64)
    looping = _bytes_leading_back(steps, weights) >= MIN_LOOP_BYTES
    return [int(state) for state in np.flatnonzero(looping)]


def is_looping(steps: Steps, state: State) -> bool:
    """The same for one state; bytes whose step is ``UNKNOWN`` do not count."""
    row = steps.table[state * steps.width : (state + 1) * steps.width]
    return int((row[steps.classes[:128]] == state).sum()) >= MIN_LOOP_BYTES


@njit()
def _bytes_leading_back(steps: Steps, weights: Numbers) -> Numbers:
    """The number of ASCII bytes that lead back to each state, ``weights`` (C,) by byte class."""
    states = len(steps.table) // steps.width
    found = np.zeros(states, np.int64)
    for state in range(states):
        for column in range(steps.width):
            if steps.table[state * steps.width + column] == state:
                found[state] += weights[column]
    return found
