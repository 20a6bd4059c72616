"""The kernel of the closed form, and the arrays it writes.

What comes in (a machine's steps, a trie, its wide states) and what goes out (rows) are tuples of
arrays, as kernels take them.

In come a row that is written, by the states its walk met, and the state of another; out come the
names. So a counted repetition has one row and many maps: ``[a-z]{0,200}x`` over 131k tokens has
6.6 million edges, of which 17 thousand are written.

In come a flat table, the packed trie and the states whose rows are wanted; out come the arrays of
``closed.Closed``. A row is one walk of the trie; what is read goes into one stream of eight-byte
edges: the node, and which of the row's own states it leads to. A wide state has what stays with it
from the vocabulary, and walks only what leaves; where any walk stands as a wide state's would, it
borrows that stretch of its row; a row that is another with states renamed is that one, renamed.

Over 131k tokens a schema's 166 rows take 0.1 ms, 8,192 small ones 4. Tried and lost: two walks a
state, to count and to fill, and Python between them, 44 ms; a branch for nodes without a token,
wrong every second time, twice the walk; counting tokens while walking, half as much again; kernels
that count references to the arrays they are given, 0.2 µs a call, 0.8 ms instead of 0.1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.automata.lazy_dfa import UNKNOWN
from workbench.base.dfa import DEAD
from workbench.base.kernels import inner, njit
from workbench.vocabulary.trie import DEPTH_AT, DEPTHS, SEVERAL, SIZE_AT, TOKEN_AT, Trie

Ints = npt.NDArray[np.int32]
Classes = npt.NDArray[np.uint16]
Local = npt.NDArray[np.int8]
Offsets = npt.NDArray[np.uint32]
Records = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]

#: A row: its slices of the maps, of the edges and of the borrowed stretches, the row of ``stays``
#: it shares (or −1), and how many tokens it has.
MAP, MAP_END, EDGE, EDGE_END, RANGE, RANGE_END, LOOP, COUNT = range(8)
ROW_COLUMNS = 8
#: A borrowed stretch: the state whose row it is, the nodes, the slice of that row's edges there.
OWNER, FROM, TO, OWNER_EDGE, OWNER_EDGE_END = range(5)
RANGE_COLUMNS = 5
#: Where the work stands: the number of the start, its subtree and the node there (−1: not begun),
#: what is written of edges, maps and stretches, and how much since the clock was looked at.
START, SUBTREE, NODE, EDGES, MAPS, RANGES, SPENT = range(7)
#: Why the kernel came back: all is written; a step has to be computed; the next row may need more
#: room; it is time to look at the clock.
DONE, NEEDS_STEP, NEEDS_ROOM, PAUSED = range(4)


class Steps(NamedTuple):
    """A machine: its flat table (Q · C,) of ``width`` C, and the class of each byte."""

    table: Ints
    width: int
    classes: Classes


class TrieNodes(NamedTuple):
    """A trie: its packed records (N,), where the tokens of each node begin (N + 1,), its roots."""

    records: Records
    first: Ints
    roots: Ints


class LoopArrays(NamedTuple):
    """The wide states of a machine, numbered j.

    Shape: ``held`` (Q,) is ``j << 8 | member`` for their members, −1 for other states;
           ``members`` (J, M), ``sizes`` (J,) of them; ``loops`` (J,) rows of ``stays`` (L, N);
           ``tallied`` (J, M) how many tokens stay, by the member they end in; what leaves j is
           ``leaving[j]:leaving[j + 1]`` of ``left``, from the members ``left_from``.
    """

    held: Ints
    members: Ints
    sizes: Ints
    loops: Ints
    tallied: Ints
    leaving: Ints
    left: Ints
    left_from: Local
    stays: Local


class RowBuffers(NamedTuple):
    """What is written, by state and from the left, and room for one row's paths and states."""

    rows: Ints
    maps: Ints
    tallies: Ints
    edges: Records
    borrowed: Ints
    at: Numbers
    path: Offsets
    local: Ints
    tried: Ints


class _Roots:
    """The first nodes of a trie, remembered with it."""

    def __init__(self) -> None:
        self._nodes: Ints | None = None

    def of(self, trie: Trie) -> Ints:
        if self._nodes is None:
            self._nodes = np.flatnonzero(trie.depth == 0).astype(np.int32)
        return self._nodes


def nodes_of(trie: Trie) -> TrieNodes:
    """The trie as kernels read it."""
    return TrieNodes(trie.records, trie.first, trie.shared(_Roots).of(trie))


class RowArrays(NamedTuple):
    """The arrays of a closing; their columns are told in ``closing``.

    Shape: ``rows`` (Q, 8) int32; ``maps`` (M,) int32, states, or ``DEAD`` where a row lacks what
           it would share; ``edges`` (E,) uint64, ``node << 32 | place in the row's map``, sorted
           within a row; ``borrowed`` (B, 5) int32; ``stays`` (L, N) int8, the vocabulary's: the
           place in the map at each node, or −1.
    """

    rows: Ints
    maps: Ints
    edges: Records
    borrowed: Ints
    stays: Local


class Tokens(NamedTuple):
    """The tokens of a trie, those of node n at ``first[n]:first[n + 1]`` of ``ids``."""

    records: Records
    first: Ints
    ids: Ints


class Edges(NamedTuple):
    """Room for edges told, and one more: tokens, and where they lead."""

    ids: Ints
    targets: Ints


#: A state that has no name yet.
_NAMELESS = -3


@inner
def rename_row(
    table: Ints, width: int, begin: int, end: int, start: int, maps: Ints, local: Ints, to: int
) -> int:
    """Write names ``maps[to:]`` for the states ``maps[begin:end]``; how many, 0 if there are none.

    A walk from state 0 of the row meets these states and no others, so it is enough that each
    step between them is one between their names. A state may be renamed to ``DEAD``, if so is
    all that follows it: then the other row lacks its tokens. What the walk met first stands
    first, so the name of each is known when its steps are compared.

    Cost: the number of states times C; most differ at the first step.
    """
    here, there = maps[begin] * width, start * width
    for column in range(width):
        if table[here + column] == DEAD and table[there + column] != DEAD:
            return 0
    for k in range(begin, end):
        local[maps[k]] = k
        maps[to + k - begin] = _NAMELESS
    maps[to] = start
    for k in range(begin, end):
        here, name = maps[k] * width, maps[to + k - begin]
        for column in range(width):
            state = table[here + column]
            renamed = table[name * width + column] if name >= 0 else DEAD
            if state == DEAD:
                if renamed != DEAD:
                    return 0
                continue
            if state < 0 or renamed < DEAD:
                return 0  # a step that is not known yet
            met = local[state]
            if met < begin or met >= end or maps[met] != state:
                continue  # no token goes on this way
            its = to + met - begin
            if maps[its] == _NAMELESS:
                maps[its] = renamed
            elif maps[its] != renamed:
                return 0
    return end - begin


# numba mixes unsigned numbers with signed ones to floats, so every constant is unsigned here
_NONE, _ONE, _BYTES, _HALF, _PLACE = (np.uint64(n) for n in (0, 1, 255, 32, 2**32 - 1))
_DEPTH_AT, _DEPTHS = np.uint64(DEPTH_AT), np.uint64(DEPTHS - 1)
_TOKEN_AT, _SEVERAL, _SIZE_AT = np.uint64(TOKEN_AT), np.uint64(SEVERAL), np.uint64(SIZE_AT)

#: A subtree of fewer nodes is written out rather than borrowed.
MIN_SHARED_NODES = 16
_SMALLEST = np.uint64(MIN_SHARED_NODES)
#: Rows of fewer edges are not worth looking for others like them, and so many last ones are tried.
_WORTH, RECENT_ROWS = 32, 8
#: Edges between two looks at the clock.
_SPELL = 1 << 21


@njit(cache=True, nogil=True, _nrt=False)
def write_rows(
    steps: Steps, nodes: TrieNodes, wide: LoopArrays, starts: Ints, room: RowBuffers
) -> int:
    """Write the rows of ``starts`` from where ``room.at`` says; why it came back.

    A wide state whose row others borrow from has to come before them.
    """
    at = room.at
    while at[START] < len(starts):
        start = starts[at[START]]
        held = wide.held[start]
        number = held >> 8 if held >= 0 and held & 255 == 0 else -1
        if at[SUBTREE] < 0:
            if _is_full(nodes, room):
                return NEEDS_ROOM
            if at[SPENT] > _SPELL:
                return PAUSED
            if number < 0 and _renamed(steps, start, room):
                at[START] += 1
                continue
            _begin(wide, number, start, room)
        if not _walk_row(steps, nodes, wide, number, start, room):
            return NEEDS_STEP
        _end(nodes, wide, number, start, steps.width, room)
        at[START] += 1
    return DONE


@inner
def _is_full(nodes: TrieNodes, room: RowBuffers) -> bool:
    """Whether a row might not find room."""
    return bool(
        len(room.edges) - room.at[EDGES] < len(nodes.records)
        or len(room.maps) - room.at[MAPS] < len(room.local)
        or len(room.borrowed) - room.at[RANGES] < len(nodes.records) // MIN_SHARED_NODES + 1
    )


@inner
def _renamed(steps: Steps, start: int, room: RowBuffers) -> bool:
    """Whether the row is one of the last large ones with states renamed; then it is written."""
    at, row = room.at, room.rows[start]
    for i in range(RECENT_ROWS):
        if room.tried[i] < 0:
            return False
        other = room.rows[room.tried[i]]
        count = rename_row(
            steps.table, steps.width, other[MAP], other[MAP_END], start, room.maps, room.local,
            at[MAPS],
        )  # fmt: skip
        kept = 0
        for k in range(count):
            alive = room.maps[at[MAPS] + k] >= 0
            tokens = room.tallies[other[MAP] + k] if alive else 0
            room.tallies[at[MAPS] + k] = tokens
            kept += tokens
        # what is mostly dead would be read slower than it is written
        if 2 * kept > other[COUNT]:
            for k in range(ROW_COLUMNS):
                row[k] = other[k]
            row[MAP], row[MAP_END], row[COUNT] = at[MAPS], at[MAPS] + count, kept
            at[MAPS] += count
            at[SPENT] += count
            return True
    return False


@inner
def _begin(wide: LoopArrays, number: int, start: int, room: RowBuffers) -> None:
    """A row without edges; its first states are its own, of a wide one all members."""
    at, row = room.at, room.rows[start]
    row[MAP], row[EDGE], row[RANGE] = at[MAPS], at[EDGES], at[RANGES]
    row[LOOP], row[COUNT] = -1, 0
    at[SUBTREE] = 0
    if number < 0:
        room.maps[at[MAPS]] = start
        room.local[start] = at[MAPS]
        at[MAPS] += 1
        return
    row[LOOP] = wide.loops[number]
    for k in range(wide.sizes[number]):
        state = wide.members[number, k]
        room.maps[at[MAPS]] = state
        room.tallies[at[MAPS]] = wide.tallied[number, k]
        room.local[state] = at[MAPS]
        at[MAPS] += 1


@inner
def _walk_row(
    steps: Steps, nodes: TrieNodes, wide: LoopArrays, number: int, start: int, room: RowBuffers
) -> bool:
    """Walk all subtrees where a row may differ from what it shares; False at an unknown step."""
    table, classes, records, at = steps.table, steps.classes, nodes.records, room.at
    width = np.uint32(steps.width)
    begin, end = 0, len(nodes.roots)
    subtrees = nodes.roots
    if number >= 0:
        begin, end = wide.leaving[number], wide.leaving[number + 1]
        subtrees = wide.left
    origin = np.uint32(start) * width
    for k in range(begin + at[SUBTREE], end):
        node = np.uint64(subtrees[k])
        record = records[node]
        if number >= 0:
            origin = np.uint32(wide.members[number, wide.left_from[k]]) * width
        if table[origin + classes[record & _BYTES]] == DEAD:
            at[NODE] = -1  # it may have stood here, before this step was known
            continue
        stop = node + (record >> _SIZE_AT)
        if at[NODE] < 0:
            room.path[(record >> _DEPTH_AT) & _DEPTHS] = origin
        else:
            node = np.uint64(at[NODE])
        node = _walk(steps, nodes, wide, room.rows[start], node, stop, number < 0, room)
        if node < stop:
            at[SUBTREE], at[NODE] = k - begin, np.int64(node)
            return False
        at[NODE] = -1
    at[SUBTREE] = -1
    return True


@inner
def _walk(
    steps: Steps, nodes: TrieNodes, wide: LoopArrays, row: Ints, node: np.uint64, stop: np.uint64,
    borrows: bool, room: RowBuffers,
) -> np.uint64:  # fmt: skip
    """Write the edges of a subtree; where the walk stands: at its end or an unknown step."""
    table, classes, records = steps.table, steps.classes, nodes.records
    maps, local, path, edges = room.maps, room.local, room.path, room.edges
    base, width = row[MAP], np.uint32(steps.width)
    count, known = np.uint64(room.at[EDGES]), np.int32(room.at[MAPS])
    while node < stop:
        record = records[node]
        level = (record >> _DEPTH_AT) & _DEPTHS
        state = table[path[level] + classes[record & _BYTES]]
        if state < 0:
            if state == UNKNOWN:
                break
            node += record >> _SIZE_AT
            continue
        if borrows and record >> _SIZE_AT >= _SMALLEST and wide.held[state] >= 0:
            held = wide.held[state]
            if wide.stays[wide.loops[held >> 8], node] == held & 255:
                end = node + (record >> _SIZE_AT)
                _borrow(row, wide.members[held >> 8, 0], node, end, room)
                node = end
                continue
        here = local[state]
        if here < base:
            here = known
            local[state], maps[known] = known, state
            known += 1
        path[level + _ONE] = np.uint32(state) * width
        # every second node has no token: a branch here took twice the time
        edges[count] = node << _HALF | np.uint64(here - base)
        count += np.uint64((record >> _TOKEN_AT) & _SEVERAL != _NONE)
        node += _ONE
    room.at[EDGES], room.at[MAPS] = count, known
    return node


@inner
def _borrow(row: Ints, owner: int, node: np.uint64, end: np.uint64, room: RowBuffers) -> None:
    """Write down a stretch of a wide state's row, or make the row's last one longer."""
    count = room.at[RANGES]
    last = room.borrowed[max(count - 1, 0)]
    if count > row[RANGE] and last[OWNER] == owner and last[TO] == node:
        last[TO] = end
        return
    stretch = room.borrowed[count]
    stretch[OWNER], stretch[FROM], stretch[TO] = owner, node, end
    room.at[RANGES] += 1


@inner
def _end(
    nodes: TrieNodes, wide: LoopArrays, number: int, start: int, width: int, room: RowBuffers
) -> None:
    """What is known of a row once it is written; large ones are kept in mind."""
    at, row = room.at, room.rows[start]
    row[MAP_END], row[EDGE_END], row[RANGE_END] = at[MAPS], at[EDGES], at[RANGES]
    shared = wide.sizes[number] if number >= 0 else 0
    room.tallies[row[MAP] + shared : row[MAP_END]] = 0
    for k in range(row[EDGE], row[EDGE_END]):
        node = room.edges[k] >> _HALF
        place = np.uint64(row[MAP]) + (room.edges[k] & _PLACE)
        room.tallies[place] += nodes.first[node + _ONE] - nodes.first[node]
    for k in range(row[MAP], row[MAP_END]):
        row[COUNT] += room.tallies[k]
    for k in range(row[RANGE], row[RANGE_END]):
        row[COUNT] += _lend(nodes, wide, room.borrowed[k], room)
    size = row[EDGE_END] - row[EDGE]
    at[SPENT] += _WORTH + size
    if (
        number < 0
        and row[RANGE] == row[RANGE_END]
        and size >= max(_WORTH, (row[MAP_END] - row[MAP]) * width)
    ):
        for k in range(RECENT_ROWS - 1, 0, -1):
            room.tried[k] = room.tried[k - 1]
        room.tried[0] = start


@inner
def _lend(nodes: TrieNodes, wide: LoopArrays, stretch: Ints, room: RowBuffers) -> int:
    """Find the owner's edges of a stretch; how many tokens the stretch has."""
    owner = room.rows[stretch[OWNER]]
    edges = room.edges[owner[EDGE] : owner[EDGE_END]]
    begin = np.searchsorted(edges, np.uint64(stretch[FROM]) << _HALF)
    end = np.searchsorted(edges, np.uint64(stretch[TO]) << _HALF)
    stretch[OWNER_EDGE], stretch[OWNER_EDGE_END] = owner[EDGE] + begin, owner[EDGE] + end
    count = nodes.first[stretch[TO]] - nodes.first[stretch[FROM]]
    for k in range(begin, end):
        node = edges[k] >> _HALF
        count += nodes.first[node + _ONE] - nodes.first[node]
    # all tokens stay but those that leave
    number = wide.held[stretch[OWNER]] >> 8
    left = wide.left[wide.leaving[number] : wide.leaving[number + 1]]
    for k in range(np.searchsorted(left, stretch[FROM]), np.searchsorted(left, stretch[TO])):
        node = np.uint64(left[k])
        count -= nodes.first[node + (nodes.records[node] >> _SIZE_AT)] - nodes.first[node]
    return int(count)
