"""The closed form of Algorithm 2: a DFA composed with a vocabulary, all edges.

``compose`` returns a ``TokenFsa`` whose states are the DFA's and whose edges are tokens. It is
trimmed on tokens: from every state that keeps edges, whole tokens lead to an accepted text.

``RowWriter`` drives the kernel of ``compose_kernel``: it allocates the buffers and enforces the
limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from workbench.automata.graphs import reachable
from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import VocabularyError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.engine.compose_edges import EdgeRows
from workbench.constraint.engine.compose_kernel import (
    COUNT,
    EDGE,
    EDGE_END,
    LOOP,
    MAP,
    MAP_END,
    MIN_SHARED_NODES,
    RANGE_COLUMNS,
    RECENT_ROWS,
    ROW_COLUMNS,
    LoopArrays,
    RowArrays,
    RowBuffers,
    Steps,
    WriteStatus,
    Writing,
    nodes_of,
    write_rows,
)
from workbench.constraint.engine.self_loops import (
    MAX_MEMBERS,
    MIN_LOOP_BYTES,
    EdgeLoop,
    SelfLoopCache,
    find_self_loop,
)
from workbench.constraint.engine.trie_walk import Ints, Records
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

Bools = npt.NDArray[np.bool_]


def trim(rows: EdgeRows, initial: State, finals: Bools) -> tuple[EdgeRows, Bools]:
    """Trim the rows; also returns which states are accessible and co-accessible, (Q,) bool.

    Works on the maps alone, which list every target of a row. So every edge must be in its own
    row's slice, without shared ranges and self-loops, and the rows must be in order.
    """
    arrays, states = rows.arrays, len(finals)
    sizes = arrays.rows[:, MAP_END] - arrays.rows[:, MAP]
    sources = np.repeat(np.arange(states, dtype=np.int32), sizes)
    is_target = rows.token_counts > 0  # the walk also visits states in which no token ends
    begins, ends = sources[is_target], arrays.maps[is_target]
    start = np.zeros(states, np.bool_)
    start[initial] = True
    reached = _reach(*_by_first(begins, ends, states), start)
    coaccessible = reached & _reach(*_by_first(ends, begins, states), finals & reached)
    kept = is_target & coaccessible[sources] & coaccessible[arrays.maps]
    table = arrays.rows.copy()
    table[:, COUNT] = np.bincount(sources, rows.token_counts * kept, states)
    table[~coaccessible, EDGE_END] = table[~coaccessible, EDGE]
    maps = np.where(kept, arrays.maps, DEAD).astype(np.int32)
    token_counts = np.where(kept, rows.token_counts, 0).astype(np.int32)
    return EdgeRows(rows.trie, arrays._replace(rows=table, maps=maps), token_counts), coaccessible


def _by_first(begins: Ints, ends: Ints, states: int) -> tuple[npt.NDArray[np.int64], Ints]:
    """Pairs as adjacency lists: where those of each state begin, (Q + 1,), and all their ends."""
    first = np.zeros(states + 1, np.int64)
    np.cumsum(np.bincount(begins, minlength=states), out=first[1:])
    return first, ends[np.argsort(begins, kind="stable")]


def _reach(first: npt.NDArray[np.int64], ends: Ints, start: Bools) -> Bools:
    """The states reachable from any state of ``start``, (Q,) bool."""
    targets = reachable(
        np.flatnonzero(start).tolist(), lambda state: ends[first[state] : first[state + 1]].tolist()
    )
    reached = np.zeros(len(start), np.bool_)
    reached[[*targets]] = True
    return reached


class LoopingStates:
    """The looping states of a machine, added one by one."""

    def __init__(self, trie: Trie) -> None:
        self._table = trie.shared(SelfLoopCache).edge_table(trie)
        self._found: list[tuple[Ints, EdgeLoop]] = []
        self._members = np.empty(MAX_MEMBERS, np.int32)
        self._local = np.empty((MAX_MEMBERS, 256), np.int8)

    def add(self, steps: Steps, state: State) -> tuple[State, int] | None:
        """Add a looping state, or return a state and a byte class whose step is needed first."""
        count, unknown, byte = find_self_loop(*steps, state, state, self._members, self._local)
        if count < 0:
            return unknown, int(steps.classes[byte])
        loop = self._table.of(self._local[:count]) if count else None
        if loop is not None:
            self._found.append((self._members[:count].copy(), loop))
        return None

    def arrays(self, states: int) -> LoopArrays:
        """The arrays for the kernel, for a machine of ``states`` states."""
        loops = self._found
        loop_of = np.full(states, -1, np.int32)
        members = np.zeros((len(loops), MAX_MEMBERS), np.int32)
        member_tokens = np.zeros((len(loops), MAX_MEMBERS), np.int32)
        for number, (in_loop, loop) in enumerate(loops):
            members[number, : len(in_loop)] = in_loop
            member_tokens[number, : len(in_loop)] = loop.member_tokens
            loop_of[in_loop] = number << 8 | np.arange(len(in_loop), dtype=np.int32)
        for number, (in_loop, _) in enumerate(loops):
            loop_of[in_loop[0]] = number << 8  # its own loop, even if it is a member of another
        exit_starts = np.cumsum([0, *(len(loop.exits) for _, loop in loops)], dtype=np.int32)
        return LoopArrays(
            loop_of=loop_of,
            members=members,
            sizes=np.array([len(in_loop) for in_loop, _ in loops], np.int32),
            loop_rows=np.array([loop.row for _, loop in loops], np.int32),
            member_tokens=member_tokens,
            exit_starts=exit_starts,
            exits=np.concatenate([_NO_EXITS, *(loop.exits for _, loop in loops)]),
            exit_members=np.concatenate([_NO_MEMBERS, *(loop.exit_members for _, loop in loops)]),
            loop_members=self._table.loop_members,
        )


_NO_EXITS, _NO_MEMBERS = np.empty(0, np.int32), np.empty(0, np.int8)


def looping_states(steps: Steps) -> list[State]:
    """The states to which at least ``MIN_LOOP_BYTES`` ASCII bytes lead back."""
    table = steps.table.reshape(-1, steps.width)
    weights = np.bincount(steps.classes[:128], minlength=steps.width)
    states, classes = np.nonzero(table == np.arange(len(table), dtype=np.int32)[:, None])
    looping = np.bincount(states, weights[classes], len(table)) >= MIN_LOOP_BYTES
    return [int(state) for state in np.flatnonzero(looping)]


def is_looping(steps: Steps, state: State) -> bool:
    """The same for one state; bytes whose step is ``UNKNOWN`` do not count."""
    row = steps.table[state * steps.width : (state + 1) * steps.width]
    return int((row[steps.classes[:128]] == state).sum()) >= MIN_LOOP_BYTES


Array = TypeVar("Array", Ints, Records)


class RowWriter:
    """Writes rows of one machine; all rows are empty at first."""

    def __init__(self, trie: Trie, states: int, limits: Limits) -> None:
        self._trie = trie
        self._nodes = nodes_of(trie)
        self._limits = limits
        self._clock = limits.clock()
        cursor = np.zeros(Writing.SPENT + 1, np.int64)
        cursor[Writing.SUBTREE] = cursor[Writing.NODE] = -1
        rows = np.zeros((states, ROW_COLUMNS), np.int32)
        rows[:, LOOP] = -1
        # the kernel needs room for one row of any size; untouched memory costs nothing
        self._buffers = RowBuffers(
            rows=rows,
            maps=np.empty(2 * states + 1024, np.int32),
            token_counts=np.empty(2 * states + 1024, np.int32),
            edges=np.empty(len(trie) + 4096, np.uint64),
            ranges=np.empty((len(trie) // MIN_SHARED_NODES + 64, RANGE_COLUMNS), np.int32),
            cursor=cursor,
            path=np.empty(trie.height + 1, np.uint32),
            local=np.full(states, -1, np.int32),
            recent=np.full(RECENT_ROWS, -1, np.int32),
        )

    def write(self, steps: Steps, loops: LoopArrays, starts: Ints) -> bool:
        """Write the rows of ``starts``, or continue; False if the step ``missing`` must be added.

        Raises: LimitError past ``limits.token_edges`` stored edges or ``limits.seconds``.
        """
        cursor = self._buffers.cursor
        while (
            status := write_rows(steps, self._nodes, loops, starts, self._buffers)
        ) != WriteStatus.DONE:
            self._clock.check()
            if status == WriteStatus.NEEDS_STEP:
                return False
            if status == WriteStatus.PAUSED:
                cursor[Writing.SPENT] = 0
                self._check(int(cursor[Writing.EDGES]))
            else:
                self._enlarge()
        cursor[Writing.START] = 0
        self._check(int(cursor[Writing.EDGES]))
        return True

    def missing(self, steps: Steps) -> tuple[State, int]:
        """The state and the byte class of the ``UNKNOWN`` step that interrupted ``write``."""
        node = int(self._buffers.cursor[Writing.NODE])
        state = int(self._buffers.path[self._trie.depth[node]]) // steps.width
        return state, int(steps.classes[self._trie.byte[node]])

    def edge_rows(self, loops: LoopArrays) -> EdgeRows:
        """The rows written, in copies of the arrays."""
        so_far = self.edge_rows_so_far(loops)
        arrays = so_far.arrays
        kept = arrays._replace(
            maps=arrays.maps.copy(), edges=arrays.edges.copy(), ranges=arrays.ranges.copy()
        )
        return EdgeRows(self._trie, kept, so_far.token_counts.copy())

    def edge_rows_so_far(self, loops: LoopArrays) -> EdgeRows:
        """The rows written, in views of the arrays that later calls extend."""
        buffers, cursor = self._buffers, self._buffers.cursor
        arrays = RowArrays(
            rows=buffers.rows,
            maps=buffers.maps[: cursor[Writing.MAPS]],
            edges=buffers.edges[: cursor[Writing.EDGES]],
            ranges=buffers.ranges[: cursor[Writing.RANGES]],
            loop_members=loops.loop_members,
        )
        return EdgeRows(self._trie, arrays, buffers.token_counts[: cursor[Writing.MAPS]])

    def grow(self, states: int) -> None:
        """Enlarge the buffers for a machine that has grown to ``states`` states."""
        buffers, old_size = self._buffers, len(self._buffers.rows)
        if states <= old_size:
            return
        rows = np.zeros((states, ROW_COLUMNS), np.int32)
        rows[:old_size], rows[old_size:, LOOP] = buffers.rows, -1
        local = np.full(states, -1, np.int32)
        local[:old_size] = buffers.local
        self._buffers = buffers._replace(rows=rows, local=local)
        self._enlarge()

    def _check(self, edges: int) -> None:
        self._limits.check("token_edges", edges, "draw a smaller vocabulary, or a smaller grammar")

    def _enlarge(self) -> None:
        buffers, cursor = self._buffers, self._buffers.cursor
        self._buffers = buffers._replace(
            maps=_longer(buffers.maps, int(cursor[Writing.MAPS]), len(buffers.local)),
            token_counts=_longer(
                buffers.token_counts, int(cursor[Writing.MAPS]), len(buffers.local)
            ),
            edges=_longer(buffers.edges, int(cursor[Writing.EDGES]), len(self._trie)),
            ranges=_longer(
                buffers.ranges,
                int(cursor[Writing.RANGES]),
                len(self._trie) // MIN_SHARED_NODES + 1,
            ),
        )


def _longer(array: Array, used: int, wanted: int) -> Array:
    """An array with ``wanted`` free entries after the used ones: itself, or one twice as long."""
    if len(array) - used >= wanted:
        return array
    longer = np.empty_like(array, shape=(max(2 * len(array), used + wanted), *array.shape[1:]))
    longer[:used] = array[:used]
    return longer


@dataclass(frozen=True, eq=False)
class TokenFsa:
    """A finite automaton over tokens, A ∘ T_V.

    Every edge can be read without the DFA and without a walk of the trie: by row, or all
    together in ``first``, ``token_ids`` and ``targets``. The rows are stored compressed, as
    ``compose_kernel`` explains. If the vocabulary lacks single-byte tokens, only renaming is
    used. States that no token path reaches have no edges.

    Shape: Q states, E edges. ``finals`` (Q,) bool; the edges of state q are
           ``first[q]:first[q + 1]`` of ``token_ids`` and ``targets``, (E,) int32, sorted
           by token id.
    Raises: LimitError where ``first``, ``token_ids`` and ``targets`` are requested and E is more
            than ``limits.token_edges``.
    Source: Koo et al. 2024, Algorithm 2 and Figure 5.
    """

    vocabulary: Vocabulary
    initial: State
    finals: npt.NDArray[np.bool_]
    rows: EdgeRows
    limits: Limits = LIMITS

    def __len__(self) -> int:
        """The number of states."""
        return len(self.finals)

    @property
    def edge_count(self) -> int:
        """E, the number of edges."""
        return int(self.rows.counts.sum(dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """The bytes stored, without the arrays that belong to the vocabulary."""
        return self.rows.nbytes + self.finals.nbytes

    @property
    def first(self) -> npt.NDArray[np.int32]:
        """Where the edges of each state begin, (Q + 1,)."""
        return self._all_rows[0]

    @property
    def token_ids(self) -> npt.NDArray[np.int32]:
        """The token of each edge, (E,)."""
        return self._all_rows[1]

    @property
    def targets(self) -> npt.NDArray[np.int32]:
        """The target state of each edge, (E,)."""
        return self._all_rows[2]

    @cached_property
    def _all_rows(
        self,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        self.limits.check(
            "token_edges", self.edge_count, "draw a smaller vocabulary, or a smaller grammar"
        )
        return self.rows.all_rows()

    def row(self, state: State) -> npt.NDArray[np.int32]:
        """The tokens that may come next, sorted, without end tokens."""
        return self.rows.row(state)[0]

    def edges(self, state: State) -> list[tuple[TokenId, State]]:
        """Each token that may come next, with the state it leads to."""
        ids, targets = self.rows.row(state)
        return list(zip(ids.tolist(), targets.tolist(), strict=True))

    def step(self, state: State, token_id: TokenId) -> State:
        """The state after a token, or ``DEAD``."""
        return self.rows.step(state, token_id)

    def accepts(self, token_ids: list[TokenId]) -> bool:
        """Whether a sequence of tokens (without end tokens) is a tokenized accepted text."""
        state = self.initial
        for token_id in token_ids:
            if (state := self.step(state, token_id)) == DEAD:
                return False
        return bool(self.finals[state])


def compose(dfa: Dfa, vocabulary: Vocabulary, limits: Limits = LIMITS) -> TokenFsa:
    """Compose a byte automaton with a vocabulary: the states remain, the edges become tokens.

    Cost:   at most |Q| times |trie| byte steps; far fewer for states that loop or that differ
            only in name.
    Raises: LimitError past ``limits.token_edges`` stored edges or ``limits.seconds``;
            VocabularyError if no accepted text can be tokenized with the vocabulary.
    Source: Koo et al. 2024, Algorithm 2, §2.4.
    """
    used: npt.NDArray[np.bool_] = (dfa.table != DEAD).any(axis=0)[dfa.classes]
    if dfa.is_empty:
        raise cannot_spell(vocabulary)
    if vocabulary.single_bytes.issuperset(np.flatnonzero(used).tolist()):
        rows = _rows(dfa, vocabulary.trie, limits)
        return TokenFsa(vocabulary, dfa.initial, dfa.finals, rows, limits)
    rows, coaccessible = trim(
        _uncompressed_rows(dfa, vocabulary.trie, limits), dfa.initial, dfa.finals
    )
    if not coaccessible[dfa.initial]:
        raise cannot_spell(vocabulary)
    return TokenFsa(vocabulary, dfa.initial, dfa.finals & coaccessible, rows, limits)


def cannot_spell(vocabulary: Vocabulary) -> VocabularyError:
    """The error of a vocabulary with which no accepted text can be tokenized."""
    return VocabularyError(
        f"no accepted text can be spelled with the tokens of {vocabulary.name}",
        "add the characters the grammar needs to the vocabulary, or choose another one",
    )


def _rows(dfa: Dfa, trie: Trie, limits: Limits) -> EdgeRows:
    """The rows of all states, for a vocabulary with a single-byte token for every byte used.

    Then tokens reach every state, and no token leads to a dead end.
    """
    steps, looping = _steps(dfa), LoopingStates(trie)
    loop_states = looping_states(steps)
    for state in loop_states:
        looping.add(steps, state)
    order = np.arange(len(dfa), dtype=np.int32)
    if loop_states:  # the owners of shared ranges must come first
        order = np.concatenate([np.array(loop_states, np.int32), np.delete(order, loop_states)])
    loops, writer = looping.arrays(len(dfa)), RowWriter(trie, len(dfa), limits)
    writer.write(steps, loops, order)
    return writer.edge_rows(loops)


def _uncompressed_rows(dfa: Dfa, trie: Trie, limits: Limits) -> EdgeRows:
    """The rows of all states without self-loops and shared ranges: all targets in their maps."""
    no_loops, writer = LoopingStates(trie).arrays(len(dfa)), RowWriter(trie, len(dfa), limits)
    writer.write(_steps(dfa), no_loops, np.arange(len(dfa), dtype=np.int32))
    return writer.edge_rows(no_loops)


def _steps(dfa: Dfa) -> Steps:
    """The machine as the kernel reads it, read-only: numba has a type for writable arrays."""
    table = dfa.table.reshape(-1)
    table.flags.writeable = False
    return Steps(table, dfa.table.shape[1], dfa.classes)
