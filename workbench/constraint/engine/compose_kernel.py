"""Resumable numba kernel that writes the rows of the closed form, and its arrays.

A row is one walk of the trie from one state. What the walk reads is appended to one stream of
eight-byte edges ``node << 32 | index``, where the index refers to the row's *map*, the list of the
states that its walk visited. Three compressions keep the rows small:

1. *Self-loops*: a looping state takes the tokens read inside its loop from the vocabulary's table
   (``trie_walk``), and walks only below the loop's exits.
2. *Shared ranges*: where the walk of another state reaches the member of a loop that the loop's own
   walk has at the same node, the subtree is a reference to that range of nodes of the looping
   state's row.
3. *Renaming*: a row whose walk is another row's walk with the states renamed shares that row's
   edges and has only a map. So a counted repetition has one row and many maps:
   ``[a-z]{0,200}x`` over 131k tokens has 6.6 million edges, of which 17 thousand are stored.

``write_rows`` is resumable: ``RowBuffers.cursor`` holds its state between calls::

    begin row ──► NEEDS_ROOM   (buffers may be too small for a row: enlarge them, resume)
        │    ──► PAUSED        (check the limits, set Writing.SPENT to 0, resume)
        │    ──► row renamed: next row
        ▼
    walk subtrees ──► NEEDS_STEP   (the step of ``RowWriter.missing`` is UNKNOWN: add it, resume)
        │
        ▼
    end row ──► next row, or DONE

Measured: over 131k tokens the 166 rows of a schema take 0.1 ms, 8,192 small rows 4 ms. Slower
alternatives: two walks for each state, to count and to fill, with Python between them, 44 ms; a
branch for nodes without a token, mispredicted every second time, twice the time of the walk;
counting tokens during the walk, half as much again; kernels that count references to their arrays,
0.2 µs a call, 0.8 ms instead of 0.1.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from workbench.automata.lazy_dfa import UNKNOWN
from workbench.base.dfa import DEAD
from workbench.base.kernels import inner, njit
from workbench.constraint.engine.trie_walk import (
    BYTE_MASK,
    DEPTH_MASK,
    DEPTH_SHIFT,
    NO_TOKEN,
    ONE,
    SIZE_SHIFT,
    TOKEN_MASK,
    TOKEN_SHIFT,
    Classes,
    Ints,
    Local,
    Numbers,
    Offsets,
    Records,
)
from workbench.vocabulary.trie import Trie

#: The columns of ``rows``:
#:
#: ================ =========================================================================
#: MAP, MAP_END     the row's slice of ``maps``
#: EDGE, EDGE_END   its slice of ``edges``
#: RANGE, RANGE_END its slice of ``ranges``
#: LOOP             the row of ``loop_members`` that it shares, or −1
#: COUNT            the number of its tokens
#: ================ =========================================================================
MAP, MAP_END, EDGE, EDGE_END, RANGE, RANGE_END, LOOP, COUNT = range(8)
ROW_COLUMNS = 8
#: The columns of ``ranges``: the state whose row is shared, the range of nodes, and the slice of
#: that row's edges at these nodes.
OWNER, FROM, TO, OWNER_EDGE, OWNER_EDGE_END = range(5)
RANGE_COLUMNS = 5


class Writing(IntEnum):
    """The entries of ``RowBuffers.cursor``."""

    #: The index of the current state in ``starts``.
    START = 0
    #: The index of the current subtree of its walk, −1: row not begun.
    SUBTREE = 1
    #: The next node of that subtree, −1: subtree not begun.
    NODE = 2
    #: The numbers of edges, of map entries, and of shared ranges written.
    EDGES = 3
    MAPS = 4
    RANGES = 5
    #: The work since the limits were checked, in edges.
    SPENT = 6


class WriteStatus(IntEnum):
    """What ``write_rows`` returns."""

    #: All rows are written.
    DONE = 0
    #: A step of the machine must be computed.
    NEEDS_STEP = 1
    #: The next row may need larger buffers.
    NEEDS_ROOM = 2
    #: The limits must be checked.
    PAUSED = 3


class Steps(NamedTuple):
    """A machine: its flat table (Q · C,) of ``width`` C, and the class of each byte."""

    table: Ints
    width: int
    classes: Classes


class TrieNodes(NamedTuple):
    """A trie as the kernels read it.

    Shape: ``records`` (N,), packed; ``first`` (N + 1,), where the tokens of each node begin;
           ``roots`` the nodes of first bytes.
    """

    records: Records
    first: Ints
    roots: Ints


class LoopArrays(NamedTuple):
    """The looping states of a machine (``compose.LoopingStates``), numbered j.

    Shape: ``loop_of`` (Q,) is ``j << 8 | member`` for the members of loop j, −1 for other states;
           ``members`` (J, M) and ``sizes`` (J,), the states of each loop; ``loop_rows`` (J,), its
           row in ``loop_members`` (L, N), which has the member at each trie node, or −1;
           ``member_tokens`` (J, M), the number of tokens read inside the loop, by the member in
           which they end; the exits of loop j are ``exit_starts[j]:exit_starts[j + 1]`` of
           ``exits`` (X,), left from the members ``exit_members`` (X,).
    """

    loop_of: Ints
    members: Ints
    sizes: Ints
    loop_rows: Ints
    member_tokens: Ints
    exit_starts: Ints
    exits: Ints
    exit_members: Local
    loop_members: Local


class RowBuffers(NamedTuple):
    """The arrays that the kernel fills (see ``RowArrays``), and working memory for one row.

    Shape: ``cursor`` (7,) int64, see ``START``; ``path`` (height + 1,) uint32, the offset in the
           table after each byte; ``local`` (Q,) int32, the index in ``maps`` of each state
           visited by the current row (entries of earlier rows are below the row's ``MAP``);
           ``recent`` int32, the states of the last large rows, the newest first, or −1.
    """

    rows: Ints
    maps: Ints
    token_counts: Ints
    edges: Records
    ranges: Ints
    cursor: Numbers
    path: Offsets
    local: Ints
    recent: Ints


class _Roots:
    """The nodes of a trie's first bytes, cached with the trie."""

    def __init__(self) -> None:
        self._nodes: Ints | None = None

    def of(self, trie: Trie) -> Ints:
        if self._nodes is None:
            self._nodes = np.flatnonzero(trie.depth == 0).astype(np.int32)
        return self._nodes


def nodes_of(trie: Trie) -> TrieNodes:
    """A trie as the kernels read it."""
    return TrieNodes(trie.records, trie.first, trie.shared(_Roots).of(trie))


class RowArrays(NamedTuple):
    """The rows of a closed form, compressed.

    Shape: ``rows`` (Q, 8) int32, see ``MAP``; ``maps`` (M,) int32, target states, or ``DEAD`` where
           a row lacks tokens of the row whose edges it shares; ``edges`` (E,) uint64, ``node << 32
           | index in the row's map``, sorted within a row; ``ranges`` (B, 5) int32, see ``OWNER``;
           ``loop_members`` (L, N) int8, owned by the vocabulary: the index in the map of a
           looping state's row at each node, or −1.
    """

    rows: Ints
    maps: Ints
    edges: Records
    ranges: Ints
    loop_members: Local


class Tokens(NamedTuple):
    """The tokens of a trie, those of node n at ``first[n]:first[n + 1]`` of ``ids``."""

    records: Records
    first: Ints
    ids: Ints


class Edges(NamedTuple):
    """Buffers for decoded edges, with one spare entry: the tokens and their target states."""

    ids: Ints
    targets: Ints


#: In a map under construction: the state has no name yet.
_NAMELESS = -3


@inner
def rename_row(
    table: Ints, width: int, begin: int, end: int, start: int, maps: Ints, local: Ints, to: int
) -> int:
    """Rename a row: write to ``maps[to:]`` names for the states ``maps[begin:end]``.

    Returns the number of names, or 0 if the row of ``start`` is not this row renamed.

    The walk of the row visits only these states, so it suffices that each step between them is a
    step between their names. A state may be named ``DEAD`` if all its successors are: then the
    new row lacks its tokens. States are in the order of the first visit, so each has its name
    when its steps are compared.

    Cost: the number of states times C; most pairs of rows differ at the first step.
    """
    base, there = maps[begin] * width, start * width
    for column in range(width):
        if table[base + column] == DEAD and table[there + column] != DEAD:
            return 0
    for k in range(begin, end):
        local[maps[k]] = k
        maps[to + k - begin] = _NAMELESS
    maps[to] = start
    for k in range(begin, end):
        base, name = maps[k] * width, maps[to + k - begin]
        for column in range(width):
            state = table[base + column]
            renamed = table[name * width + column] if name >= 0 else DEAD
            if state == DEAD:
                if renamed != DEAD:
                    return 0
                continue
            if state < 0 or renamed < DEAD:
                return 0  # the step is UNKNOWN
            index = local[state]
            if index < begin or index >= end or maps[index] != state:
                continue  # no token continues with this step
            its = to + index - begin
            if maps[its] == _NAMELESS:
                maps[its] = renamed
            elif maps[its] != renamed:
                return 0
    return end - begin


_HALF, _INDEX = np.uint64(32), np.uint64(2**32 - 1)

#: A subtree of fewer nodes is written, not shared.
MIN_SHARED_NODES = 16
_MIN_SHARED_NODES = np.uint64(MIN_SHARED_NODES)
#: Rows with fewer edges are not kept for renaming.
_MIN_RENAMED_EDGES = 32
#: How many of the last large rows are tried for renaming.
RECENT_ROWS = 8
#: The number of edges written between two checks of the limits.
_EDGES_PER_PAUSE = 1 << 21


@njit(_nrt=False)
def write_rows(
    steps: Steps, nodes: TrieNodes, loops: LoopArrays, starts: Ints, buffers: RowBuffers
) -> int:
    """Write the rows of ``starts``, continuing from ``buffers.cursor``. Returns a status.

    A looping state must come before the states that share ranges of its row.
    """
    cursor = buffers.cursor
    while cursor[Writing.START] < len(starts):
        start = starts[cursor[Writing.START]]
        loop_of = loops.loop_of[start]
        number = loop_of >> 8 if loop_of >= 0 and loop_of & 255 == 0 else -1
        if cursor[Writing.SUBTREE] < 0:
            if _may_overflow(nodes, buffers):
                return WriteStatus.NEEDS_ROOM
            if cursor[Writing.SPENT] > _EDGES_PER_PAUSE:
                return WriteStatus.PAUSED
            if number < 0 and _write_renamed(steps, start, buffers):
                cursor[Writing.START] += 1
                continue
            _begin_row(loops, number, start, buffers)
        if not _walk_row(steps, nodes, loops, number, start, buffers):
            return WriteStatus.NEEDS_STEP
        _end_row(nodes, loops, number, start, steps.width, buffers)
        cursor[Writing.START] += 1
    return WriteStatus.DONE


@inner
def _may_overflow(nodes: TrieNodes, buffers: RowBuffers) -> bool:
    """Whether a row might need more space than the buffers have left."""
    return bool(
        len(buffers.edges) - buffers.cursor[Writing.EDGES] < len(nodes.records)
        or len(buffers.maps) - buffers.cursor[Writing.MAPS] < len(buffers.local)
        or len(buffers.ranges) - buffers.cursor[Writing.RANGES]
        < len(nodes.records) // MIN_SHARED_NODES + 1
    )


@inner
def _write_renamed(steps: Steps, start: int, buffers: RowBuffers) -> bool:
    """Write the row if it is a recent large row with its states renamed; whether it is."""
    cursor, row = buffers.cursor, buffers.rows[start]
    for i in range(RECENT_ROWS):
        if buffers.recent[i] < 0:
            return False
        other = buffers.rows[buffers.recent[i]]
        count = rename_row(
            steps.table, steps.width, other[MAP], other[MAP_END], start, buffers.maps,
            buffers.local, cursor[Writing.MAPS],
        )  # fmt: skip
        tokens_kept = 0
        for k in range(count):
            is_alive = buffers.maps[cursor[Writing.MAPS] + k] >= 0
            tokens = buffers.token_counts[other[MAP] + k] if is_alive else 0
            buffers.token_counts[cursor[Writing.MAPS] + k] = tokens
            tokens_kept += tokens
        # reading a row that is mostly dead would take longer than writing a new one
        if 2 * tokens_kept > other[COUNT]:
            for k in range(ROW_COLUMNS):
                row[k] = other[k]
            row[MAP], row[MAP_END], row[COUNT] = (
                cursor[Writing.MAPS],
                cursor[Writing.MAPS] + count,
                tokens_kept,
            )
            cursor[Writing.MAPS] += count
            cursor[Writing.SPENT] += count
            return True
    return False


@inner
def _begin_row(loops: LoopArrays, number: int, start: int, buffers: RowBuffers) -> None:
    """Begin a row without edges; its map begins with the state or, in a loop, all members."""
    cursor, row = buffers.cursor, buffers.rows[start]
    row[MAP], row[EDGE], row[RANGE] = (
        cursor[Writing.MAPS],
        cursor[Writing.EDGES],
        cursor[Writing.RANGES],
    )
    row[LOOP], row[COUNT] = -1, 0
    cursor[Writing.SUBTREE] = 0
    if number < 0:
        buffers.maps[cursor[Writing.MAPS]] = start
        buffers.local[start] = cursor[Writing.MAPS]
        cursor[Writing.MAPS] += 1
        return
    row[LOOP] = loops.loop_rows[number]
    for k in range(loops.sizes[number]):
        state = loops.members[number, k]
        buffers.maps[cursor[Writing.MAPS]] = state
        buffers.token_counts[cursor[Writing.MAPS]] = loops.member_tokens[number, k]
        buffers.local[state] = cursor[Writing.MAPS]
        cursor[Writing.MAPS] += 1


@inner
def _walk_row(
    steps: Steps, nodes: TrieNodes, loops: LoopArrays, number: int, start: int, buffers: RowBuffers
) -> bool:
    """Walk the subtrees that the row does not share; False at an ``UNKNOWN`` step.

    These are the exits of a looping state's loop, and the whole trie for other states.
    """
    table, classes, records, cursor = steps.table, steps.classes, nodes.records, buffers.cursor
    width = np.uint32(steps.width)
    begin, end = 0, len(nodes.roots)
    subtrees = nodes.roots
    if number >= 0:
        begin, end = loops.exit_starts[number], loops.exit_starts[number + 1]
        subtrees = loops.exits
    origin = np.uint32(start) * width
    for k in range(begin + cursor[Writing.SUBTREE], end):
        node = np.uint64(subtrees[k])
        record = records[node]
        if number >= 0:
            origin = np.uint32(loops.members[number, loops.exit_members[k]]) * width
        if table[origin + classes[record & BYTE_MASK]] == DEAD:
            cursor[
                Writing.NODE
            ] = -1  # this may be the node of the interruption, whose step was UNKNOWN
            continue
        stop = node + (record >> SIZE_SHIFT)
        if cursor[Writing.NODE] < 0:
            buffers.path[(record >> DEPTH_SHIFT) & DEPTH_MASK] = origin
        else:
            node = np.uint64(cursor[Writing.NODE])
        node = _walk(steps, nodes, loops, buffers.rows[start], node, stop, number < 0, buffers)
        if node < stop:
            cursor[Writing.SUBTREE], cursor[Writing.NODE] = k - begin, np.int64(node)
            return False
        cursor[Writing.NODE] = -1
    cursor[Writing.SUBTREE] = -1
    return True


@inner
def _walk(
    steps: Steps, nodes: TrieNodes, loops: LoopArrays, row: Ints, node: np.uint64, stop: np.uint64,
    may_share: bool, buffers: RowBuffers,
) -> np.uint64:  # fmt: skip
    """Write the edges of a subtree. Returns the next node: ``stop``, or that of an unknown step."""
    table, classes, records = steps.table, steps.classes, nodes.records
    maps, local, path, edges = buffers.maps, buffers.local, buffers.path, buffers.edges
    base, width = row[MAP], np.uint32(steps.width)
    count, next_name = (
        np.uint64(buffers.cursor[Writing.EDGES]),
        np.int32(buffers.cursor[Writing.MAPS]),
    )
    while node < stop:
        record = records[node]
        level = (record >> DEPTH_SHIFT) & DEPTH_MASK
        state = table[path[level] + classes[record & BYTE_MASK]]
        if state < 0:
            if state == UNKNOWN:
                break
            node += record >> SIZE_SHIFT
            continue
        if may_share and record >> SIZE_SHIFT >= _MIN_SHARED_NODES and loops.loop_of[state] >= 0:
            loop = loops.loop_of[state]
            if loops.loop_members[loops.loop_rows[loop >> 8], node] == loop & 255:
                end = node + (record >> SIZE_SHIFT)
                _share_range(row, loops.members[loop >> 8, 0], node, end, buffers)
                node = end
                continue
        name = local[state]
        if name < base:
            name = next_name
            local[state], maps[next_name] = next_name, state
            next_name += 1
        path[level + ONE] = np.uint32(state) * width
        # half of the nodes have no token: a branch here took twice the time
        edges[count] = node << _HALF | np.uint64(name - base)
        count += np.uint64((record >> TOKEN_SHIFT) & TOKEN_MASK != NO_TOKEN)
        node += ONE
    buffers.cursor[Writing.EDGES], buffers.cursor[Writing.MAPS] = count, next_name
    return node


@inner
def _share_range(
    row: Ints, owner: int, node: np.uint64, end: np.uint64, buffers: RowBuffers
) -> None:
    """Append a shared range of a looping state's row, or extend the current row's last one."""
    count = buffers.cursor[Writing.RANGES]
    last = buffers.ranges[max(count - 1, 0)]
    if count > row[RANGE] and last[OWNER] == owner and last[TO] == node:
        last[TO] = end
        return
    shared = buffers.ranges[count]
    shared[OWNER], shared[FROM], shared[TO] = owner, node, end
    buffers.cursor[Writing.RANGES] += 1


@inner
def _end_row(
    nodes: TrieNodes, loops: LoopArrays, number: int, start: int, width: int, buffers: RowBuffers
) -> None:
    """Complete a row: its slices, its token counts; large rows are kept for renaming."""
    cursor, row = buffers.cursor, buffers.rows[start]
    row[MAP_END], row[EDGE_END], row[RANGE_END] = (
        cursor[Writing.MAPS],
        cursor[Writing.EDGES],
        cursor[Writing.RANGES],
    )
    shared = loops.sizes[number] if number >= 0 else 0
    buffers.token_counts[row[MAP] + shared : row[MAP_END]] = 0
    for k in range(row[EDGE], row[EDGE_END]):
        node = buffers.edges[k] >> _HALF
        index = np.uint64(row[MAP]) + (buffers.edges[k] & _INDEX)
        buffers.token_counts[index] += nodes.first[node + ONE] - nodes.first[node]
    for k in range(row[MAP], row[MAP_END]):
        row[COUNT] += buffers.token_counts[k]
    for k in range(row[RANGE], row[RANGE_END]):
        row[COUNT] += _find_owner_edges(nodes, loops, buffers.ranges[k], buffers)
    size = row[EDGE_END] - row[EDGE]
    cursor[Writing.SPENT] += _MIN_RENAMED_EDGES + size
    if (
        number < 0
        and row[RANGE] == row[RANGE_END]
        and size >= max(_MIN_RENAMED_EDGES, (row[MAP_END] - row[MAP]) * width)
    ):
        for k in range(RECENT_ROWS - 1, 0, -1):
            buffers.recent[k] = buffers.recent[k - 1]
        buffers.recent[0] = start


@inner
def _find_owner_edges(
    nodes: TrieNodes, loops: LoopArrays, shared: Ints, buffers: RowBuffers
) -> int:
    """Find the owner's edges of a shared range. Returns the number of tokens in the range."""
    owner = buffers.rows[shared[OWNER]]
    edges = buffers.edges[owner[EDGE] : owner[EDGE_END]]
    begin = np.searchsorted(edges, np.uint64(shared[FROM]) << _HALF)
    end = np.searchsorted(edges, np.uint64(shared[TO]) << _HALF)
    shared[OWNER_EDGE], shared[OWNER_EDGE_END] = owner[EDGE] + begin, owner[EDGE] + end
    count = nodes.first[shared[TO]] - nodes.first[shared[FROM]]
    for k in range(begin, end):
        node = edges[k] >> _HALF
        count += nodes.first[node + ONE] - nodes.first[node]
    # all tokens of the range are in the loop, except those below its exits
    number = loops.loop_of[shared[OWNER]] >> 8
    exits = loops.exits[loops.exit_starts[number] : loops.exit_starts[number + 1]]
    for k in range(np.searchsorted(exits, shared[FROM]), np.searchsorted(exits, shared[TO])):
        node = np.uint64(exits[k])
        count -= nodes.first[node + (nodes.records[node] >> SIZE_SHIFT)] - nodes.first[node]
    return int(count)
