"""The closed form of Algorithm 2: a DFA composed with a vocabulary, every edge.

In come the rows of every state; out come those of the states that token paths reach, without the
edges from which no whole tokens lead to a final state.

In come a machine's steps, its wide states and the states whose rows are wanted; out comes a
``EdgeRows``, once all of them are written.

In come a ``Dfa`` and a ``Vocabulary``; out comes a ``TokenFsa`` whose states are the DFA's and
whose edges are tokens. Dead ends are trimmed on tokens: from every state kept, whole tokens lead
to an accepted text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import VocabularyError
from workbench.base.kernels import njit
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.engine.compose_edges import EdgeRows
from workbench.constraint.engine.compose_kernel import (
    COUNT,
    DONE,
    EDGE,
    EDGE_END,
    EDGES,
    LOOP,
    MAP,
    MAP_END,
    MAPS,
    MIN_SHARED_NODES,
    NEEDS_STEP,
    NODE,
    PAUSED,
    RANGE_COLUMNS,
    RANGES,
    RECENT_ROWS,
    ROW_COLUMNS,
    SPENT,
    START,
    SUBTREE,
    Ints,
    LoopArrays,
    Records,
    RowArrays,
    RowBuffers,
    Steps,
    nodes_of,
    write_rows,
)
from workbench.constraint.engine.compose_loops import LoopingStates, looping_states
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

Bools = npt.NDArray[np.bool_]


def trimmed(rows: EdgeRows, initial: State, finals: Bools) -> tuple[EdgeRows, Bools]:
    """The rows without dead ends, and the states that are reached and lead to an end, (Q,).

    Looks at maps alone, which name every state a row leads to; so every edge must be in the
    slice of its own row, nothing borrowed and nothing staying, and the rows in order.
    """
    written, states = rows.written, len(finals)
    sizes = written.rows[:, MAP_END] - written.rows[:, MAP]
    sources = np.repeat(np.arange(states, dtype=np.int32), sizes)
    told = rows.tallies > 0  # the walk met more states than tokens end in
    begins, ends = sources[told], written.maps[told]
    start = np.zeros(states, np.bool_)
    start[initial] = True
    reached = _reach(*_by_first(begins, ends, states), start)
    alive = reached & _reach(*_by_first(ends, begins, states), finals & reached)
    kept = told & alive[sources] & alive[written.maps]
    table = written.rows.copy()
    table[:, COUNT] = np.bincount(sources, rows.tallies * kept, states)
    table[~alive, EDGE_END] = table[~alive, EDGE]
    maps = np.where(kept, written.maps, DEAD).astype(np.int32)
    tallies = np.where(kept, rows.tallies, 0).astype(np.int32)
    return EdgeRows(rows.trie, written._replace(rows=table, maps=maps), tallies), alive


def _by_first(begins: Ints, ends: Ints, states: int) -> tuple[npt.NDArray[np.int64], Ints]:
    """Pairs as lists of ends: where those of each state begin, (Q + 1,), and all of them."""
    first = np.zeros(states + 1, np.int64)
    np.cumsum(np.bincount(begins, minlength=states), out=first[1:])
    return first, ends[np.argsort(begins, kind="stable")]


@njit(cache=True, nogil=True)
def _reach(first: npt.NDArray[np.int64], ends: Ints, start: Bools) -> Bools:
    """The states that can be reached from any of ``start``."""
    reached = start.copy()
    waiting = list(np.flatnonzero(start))
    while len(waiting) > 0:
        state = waiting.pop()
        for k in range(first[state], first[state + 1]):
            if not reached[ends[k]]:
                reached[ends[k]] = True
                waiting.append(np.int64(ends[k]))
    return reached


Array = TypeVar("Array", Ints, Records)


#: A new installation compiles for seconds; that is nobody's grammar's doing.
_PATIENT = Limits(seconds=600.0)


@cache
def ready() -> None:
    """Have the kernels compiled before a clock runs: one state, to which every byte leads back."""
    trie = Trie.of([bytes([byte]) for byte in range(256)])
    table, classes = np.zeros(1, np.int32), np.zeros(256, np.uint16)
    table.flags.writeable = classes.flags.writeable = False
    steps, found, writer = (
        Steps(table, 1, classes),
        LoopingStates(trie),
        RowWriter(trie, 1, _PATIENT),
    )
    for state in looping_states(steps):
        found.add(steps, state)
    writer.write(steps, found.arrays(1), np.zeros(1, np.int32))
    writer.closed(found.arrays(1)).targets(0)


class RowWriter:
    """Writes rows of one machine; rows never asked for stay empty."""

    def __init__(self, trie: Trie, states: int, limits: Limits) -> None:
        self._trie = trie
        self._nodes = nodes_of(trie)
        self._limits = limits
        self._clock = limits.clock()
        at = np.zeros(SPENT + 1, np.int64)
        at[SUBTREE] = at[NODE] = -1
        rows = np.zeros((states, ROW_COLUMNS), np.int32)
        rows[:, LOOP] = -1
        # the kernel wants room for one row of any size; what it does not touch costs nothing
        self._room = RowBuffers(
            rows=rows,
            maps=np.empty(2 * states + 1024, np.int32),
            tallies=np.empty(2 * states + 1024, np.int32),
            edges=np.empty(len(trie) + 4096, np.uint64),
            borrowed=np.empty((len(trie) // MIN_SHARED_NODES + 64, RANGE_COLUMNS), np.int32),
            at=at,
            path=np.empty(trie.height + 1, np.uint32),
            local=np.full(states, -1, np.int32),
            tried=np.full(RECENT_ROWS, -1, np.int32),
        )

    def write(self, steps: Steps, wide: LoopArrays, starts: Ints) -> bool:
        """Go on writing the rows of ``starts``; False where a step has to be computed first.

        Raises: LimitError past ``limits.token_edges`` edges stored or ``limits.seconds``.
        """
        at = self._room.at
        while (why := write_rows(steps, self._nodes, wide, starts, self._room)) != DONE:
            self._clock.check()
            if why == NEEDS_STEP:
                return False
            if why == PAUSED:
                at[SPENT] = 0
                self._check(int(at[EDGES]))
            else:
                self._make_room()
        at[START] = 0
        self._check(int(at[EDGES]))
        return True

    def missing(self, steps: Steps) -> tuple[State, int]:
        """The state and the byte class whose step is not known yet."""
        node = int(self._room.at[NODE])
        state = int(self._room.path[self._trie.depth[node]]) // steps.width
        return state, int(steps.classes[self._trie.byte[node]])

    def closed(self, wide: LoopArrays) -> EdgeRows:
        """What is written, in arrays of its own."""
        so_far = self.closed_so_far(wide)
        written = so_far.written
        kept = written._replace(
            maps=written.maps.copy(), edges=written.edges.copy(), borrowed=written.borrowed.copy()
        )
        return EdgeRows(self._trie, kept, so_far.tallies.copy())

    def closed_so_far(self, wide: LoopArrays) -> EdgeRows:
        """What is written, in arrays that go on being written."""
        room, at = self._room, self._room.at
        written = RowArrays(
            rows=room.rows,
            maps=room.maps[: at[MAPS]],
            edges=room.edges[: at[EDGES]],
            borrowed=room.borrowed[: at[RANGES]],
            stays=wide.stays,
        )
        return EdgeRows(self._trie, written, room.tallies[: at[MAPS]])

    def grow(self, states: int) -> None:
        """Make room for a machine that has become larger."""
        room, known = self._room, len(self._room.rows)
        if states <= known:
            return
        rows = np.zeros((states, ROW_COLUMNS), np.int32)
        rows[:known], rows[known:, LOOP] = room.rows, -1
        local = np.full(states, -1, np.int32)
        local[:known] = room.local
        self._room = room._replace(rows=rows, local=local)
        self._make_room()

    def _check(self, edges: int) -> None:
        self._limits.check("token_edges", edges, "draw a smaller vocabulary, or a smaller grammar")

    def _make_room(self) -> None:
        room, at = self._room, self._room.at
        self._room = room._replace(
            maps=_longer(room.maps, int(at[MAPS]), len(room.local)),
            tallies=_longer(room.tallies, int(at[MAPS]), len(room.local)),
            edges=_longer(room.edges, int(at[EDGES]), len(self._trie)),
            borrowed=_longer(
                room.borrowed, int(at[RANGES]), len(self._trie) // MIN_SHARED_NODES + 1
            ),
        )


def _longer(array: Array, used: int, wanted: int) -> Array:
    """An array with ``wanted`` places free after the used ones: itself, or one twice as long."""
    if len(array) - used >= wanted:
        return array
    longer = np.empty_like(array, shape=(max(2 * len(array), used + wanted), *array.shape[1:]))
    longer[:used] = array[:used]
    return longer


@dataclass(frozen=True, eq=False)
class TokenFsa:
    """A finite automaton over tokens, A ∘ T_V.

    Every edge can be read without the DFA and without a walk of the trie, a row at a
    time or, written out, all at once. What is stored is less: what stays in a circle is
    the vocabulary's and lies there, for all machines; rows borrow stretches of wide rows;
    rows that differ in the names of states share their edges. Where single bytes are
    missing, only the last. States that no token path reaches keep no edges.

    Shape: Q states, E edges. ``finals`` (Q,) bool; the edges of state q are
           ``first[q]:first[q + 1]`` of ``token_ids`` and ``targets``, (E,) int32, sorted
           by token id.
    Raises: LimitError where what is written out, ``first`` and the two others, would have
            more than ``limits.token_edges``.
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
        """The bytes stored, the vocabulary's own aside."""
        return self.rows.nbytes + self.finals.nbytes

    @property
    def first(self) -> npt.NDArray[np.int32]:
        """Where the edges of each state begin, (Q + 1,)."""
        return self._written_out[0]

    @property
    def token_ids(self) -> npt.NDArray[np.int32]:
        """The token of each edge, (E,)."""
        return self._written_out[1]

    @property
    def targets(self) -> npt.NDArray[np.int32]:
        """Where each edge leads, (E,)."""
        return self._written_out[2]

    @cached_property
    def _written_out(
        self,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        self.limits.check(
            "token_edges", self.edge_count, "draw a smaller vocabulary, or a smaller grammar"
        )
        return self.rows.all_rows()

    def row(self, state: State) -> npt.NDArray[np.int32]:
        """The tokens that may come next, sorted; the end token is not among them."""
        return self.rows.row(state)[0]

    def edges(self, state: State) -> list[tuple[TokenId, State]]:
        """Each token that may come next, with the state it leads to."""
        ids, targets = self.rows.row(state)
        return list(zip(ids.tolist(), targets.tolist(), strict=True))

    def step(self, state: State, token_id: TokenId) -> State:
        """The state after a token, or ``DEAD``."""
        return self.rows.step(state, token_id)

    def accepts(self, token_ids: list[TokenId]) -> bool:
        """Whether a sequence of tokens (without the end token) spells an accepted text."""
        state = self.initial
        for token_id in token_ids:
            if (state := self.step(state, token_id)) == DEAD:
                return False
        return bool(self.finals[state])


def compose(dfa: Dfa, vocabulary: Vocabulary, limits: Limits = LIMITS) -> TokenFsa:
    """Adapt a byte automaton to a vocabulary: the states stay, edges become tokens.

    Cost:   at most |Q| times |trie| byte steps; far fewer where states read in circles or
            differ in name alone.
    Raises: LimitError past ``limits.token_edges`` edges stored or ``limits.seconds``;
            VocabularyError if the vocabulary spells no accepted text at all.
    Source: Koo et al. 2024, Algorithm 2, §2.4.
    """
    ready()
    reads: npt.NDArray[np.bool_] = (dfa.table != DEAD).any(axis=0)[dfa.classes]
    if dfa.is_empty:
        raise cannot_spell(vocabulary)
    if vocabulary.single_bytes.issuperset(np.flatnonzero(reads).tolist()):
        rows = _rows(dfa, vocabulary.trie, limits)
        return TokenFsa(vocabulary, dfa.initial, dfa.finals, rows, limits)
    rows, alive = trimmed(_plain_rows(dfa, vocabulary.trie, limits), dfa.initial, dfa.finals)
    if not alive[dfa.initial]:
        raise cannot_spell(vocabulary)
    return TokenFsa(vocabulary, dfa.initial, dfa.finals & alive, rows, limits)


def cannot_spell(vocabulary: Vocabulary) -> VocabularyError:
    """The error of a vocabulary that spells nothing the grammar accepts."""
    return VocabularyError(
        f"no accepted text can be spelled with the tokens of {vocabulary.name}",
        "add the characters the grammar needs to the vocabulary, or choose another one",
    )


def _rows(dfa: Dfa, trie: Trie, limits: Limits) -> EdgeRows:
    """The rows of all states, for a vocabulary that spells every byte: no dead ends threaten.

    Since every byte is a token, tokens reach every state.
    """
    steps, found = _steps(dfa), LoopingStates(trie)
    circling = looping_states(steps)
    for state in circling:
        found.add(steps, state)
    order = np.arange(len(dfa), dtype=np.int32)
    if circling:  # rows others borrow from come first
        order = np.concatenate([np.array(circling, np.int32), np.delete(order, circling)])
    wide, writer = found.arrays(len(dfa)), RowWriter(trie, len(dfa), limits)
    writer.write(steps, wide, order)
    return writer.closed(wide)


def _plain_rows(dfa: Dfa, trie: Trie, limits: Limits) -> EdgeRows:
    """The rows of all states, each with exactly its targets in its map."""
    none, writer = LoopingStates(trie).arrays(len(dfa)), RowWriter(trie, len(dfa), limits)
    writer.write(_steps(dfa), none, np.arange(len(dfa), dtype=np.int32))
    return writer.closed(none)


def _steps(dfa: Dfa) -> Steps:
    """The machine as kernels like it: numba takes arrays that may be written for another type."""
    table = dfa.table.reshape(-1)
    table.flags.writeable = False
    return Steps(table, dfa.table.shape[1], dfa.classes)
