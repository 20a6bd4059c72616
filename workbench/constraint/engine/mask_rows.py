"""Computes the mask row of one state: the tokens that a machine can read from it.

A row is obtained in the cheapest exact way of three:

1. From the row cache: a row with the same states and the same part of the stack (``row_cache``), or
   the previous row, if the two states are bisimilar as deep as its walk went.
2. From the self-loop cache of the vocabulary, for a state that loops on many bytes or enters such a
   state (``trie_walk``). The row of the loop is corrected at the trie nodes where a path leaves
   the loop. A state that enters the loop is walked together with it: where both paths reach the
   same state, the row of the loop is right for all tokens below, except at those nodes.
   Tokens inside the loop of one configuration, such as a name, are right whatever the others
   read, such as keywords: only the paths to the exits of that loop are walked.
   The row of a state in a string of bounded length is obtained likewise, from the tokens and exits
   of the loop that have few enough characters.
3. From a walk of the trie (``trie_walk``). Missing steps of the machine are added during the walk
   (``row_cache``).

The trie is walked in one or two parts (``trie_walk.Parts``), so that a state which enters a loop
by a space is also served by the cache. Most rows need one kernel call. Inside a JSON string, over
131k tokens: 20 µs with the self-loop cache, 1,000 µs with the walk.

The row kernel is resumable. ``Scratch.cursor`` holds its state between calls, and it returns one of
the statuses of ``CACHED``::

    is_new ──► look up the row ──► CACHED                      (done: the row's number)
                     │ not found
                     ▼
          ┌──► begin part ──► IN_LOOP, ENTERS_LOOP, IN_CHAIN   (the caller runs the loop kernel,
          │        │                                            which completes the part, or
          │        │                                            needs the part to begin again)
          │        ▼
          │    walk part  ──► status < DEAD                    (the caller makes room or checks
          │        │                                            the clock; resume)
          └─ next part ─────► COMPUTED                         (done after the last part)
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from workbench.automata.lazy_dfa import UNKNOWN
from workbench.base.dfa import DEAD, State
from workbench.base.kernels import direct, inlined, int64, njit
from workbench.base.limits import Clock, Limits
from workbench.constraint.engine.growing_machine import (
    MIN_COVERING_BYTES,
    MORE_BYTES,
    NO_FLOOR,
    Scratch,
    TrieView,
    Walk,
    ascii_bytes,
    clear_token_bits,
    compute_missing_step,
    cover_part,
    covering_loop,
    find_loop,
    has_steps,
    range_after,
    step_by,
    walk_below,
    walk_nodes,
)
from workbench.constraint.engine.row_cache import RowCache, bisimilar, doubled, find_row, store_row
from workbench.constraint.engine.row_status import RowStatus
from workbench.constraint.engine.self_loops import (
    BEGIN,
    LEVEL,
    SEVERAL_TOKENS,
    Chain,
    SelfLoop,
    SelfLoopCache,
)
from workbench.constraint.engine.trie_walk import (
    BYTE_MASK,
    DEPTH_MASK,
    DEPTH_SHIFT,
    ONE,
    SIZE_SHIFT,
    Classes,
    Ints,
    Local,
    Words,
    mark_tokens,
    set_token_bits,
)
from workbench.pushdown.machine_arrays import FROM, LOWEST, TO, Growth, MachineArrays
from workbench.pushdown.network import Longs, Network
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import Vocabulary


@inlined
def _enter_loop(
    growth: Growth, arrays: MachineArrays, nodes: TrieView, scratch: Scratch, bits: Words
) -> int:
    """Correct the bits of a loop for a state whose paths enter the loop, within one part.

    Returns the number of node ranges in ``scratch.agreed``, on which the state and the loop agree,
    or a status below ``DEAD``.
    """
    cursor, part = scratch.cursor, scratch.cursor[Walk.PART]
    level = int64(nodes.runs[part, LEVEL])
    agreed = int64(0)
    for byte in range(256):
        node = int64(nodes.children[part, byte])
        if node < 0:
            continue
        state = step_by(growth, arrays, nodes, scratch, cursor[Walk.STATE], byte)
        if state < DEAD:
            return state
        if state != DEAD or scratch.local[0, byte] >= 0:
            scratch.path[level] = cursor[Walk.STATE] * arrays.groups.shape[1]
            scratch.loop_path[level] = 0
            end = node + int64(nodes.records[node] >> SIZE_SHIFT)
            agreed = _walk_with_loop(growth, arrays, nodes, scratch, node, end, agreed, bits)
            if agreed < 0:
                return agreed
    return agreed


@inlined
def _walk_with_loop(
    growth: Growth, arrays: MachineArrays, nodes: TrieView, scratch: Scratch, begin: int, end: int,
    agreed: int, bits: Words,
) -> int:  # fmt: skip
    """The same for ``range(begin, end)``: walks the state and the loop together.

    Invariant: ``path[d]`` is the state after d bytes, ``loop_path[d]`` the member of the loop
    after the same bytes, or −1 if the loop cannot read them.
    """
    width, cursor = arrays.groups.shape[1], scratch.cursor
    current, stop = np.uint64(begin), np.uint64(end)
    path, loop_path = scratch.path, scratch.loop_path
    while current < stop:
        record = nodes.records[current]
        level, byte = (record >> DEPTH_SHIFT) & DEPTH_MASK, record & BYTE_MASK
        past = current + (record >> SIZE_SHIFT)
        state = int64(arrays.table[path[level] + nodes.classes[byte]])
        if state == UNKNOWN:
            state = compute_missing_step(growth, arrays, nodes, scratch, int64(current))
            if state < DEAD:
                return state
        loop_state = loop_path[level]
        there = scratch.local[loop_state, byte] if loop_state >= 0 else np.int8(-1)
        if there >= 0 and state == scratch.members[there] and agreed < len(scratch.agreed):
            scratch.agreed[agreed, 0], scratch.agreed[agreed, 1] = current, past
            agreed += 1
            current = past
            continue
        if there >= 0:  # the state leads elsewhere than the loop, or cannot read the byte
            clear_token_bits(nodes, current, past if state < 0 else current + ONE, bits)
        if state < 0:
            current = past
            continue
        path[level + ONE], loop_path[level + ONE] = state * width, there
        if len(arrays.floors) > 0:
            cursor[Walk.FLOOR] = min(cursor[Walk.FLOOR], arrays.floors[state])
        set_token_bits(record, current, nodes.first, nodes.token_ids, bits)
        current += ONE
    return agreed


@inlined
def _exit_loop(
    growth: Growth, arrays: MachineArrays, nodes: TrieView, scratch: Scratch, loop: SelfLoop,
    members: Ints, characters: int, agreed: int, bits: Words,
) -> int:  # fmt: skip
    """Set the bits of the tokens whose path leaves the loop, within the ``agreed`` node ranges.

    ``members[n]`` are the members of the loop after n characters, of which ``characters`` may
    follow. Returns 0, or a status below ``DEAD``.
    """
    for group in range(len(loop.groups)):
        member, read = int64(loop.groups[group, 0]), int64(loop.groups[group, 4])
        if read + int64(member != 0) > characters:
            continue
        loop_state = int64(members[read, member])
        state = step_by(growth, arrays, nodes, scratch, loop_state, int64(loop.groups[group, 1]))
        if state < DEAD:
            return state
        if state != DEAD:
            begin, end = int64(loop.groups[group, 2]), int64(loop.groups[group, 3])
            status = _exit_group(
                growth, arrays, nodes, scratch, loop, begin, end, agreed, state, bits
            )
            if status < 0:
                return status
    return 0


@inlined
def _exit_group(
    growth: Growth, arrays: MachineArrays, nodes: TrieView, scratch: Scratch, loop: SelfLoop,
    begin: int, end: int, agreed: int, state: int, bits: Words,
) -> int:  # fmt: skip
    """The same for the exit nodes ``range(begin, end)``, which all lead to ``state``."""
    if len(arrays.floors) > 0:
        scratch.cursor[Walk.FLOOR] = min(scratch.cursor[Walk.FLOOR], arrays.floors[state])
    goes_on, index, width = has_steps(arrays, state), 0, arrays.groups.shape[1]
    for k in range(begin, end):
        node = int64(loop.nodes[k])
        index = range_after(scratch.agreed, index, agreed, node)
        if index == agreed:
            return 0
        if scratch.agreed[index, 0] > node:
            continue
        token = loop.tokens[k]
        if token >= 0:
            bits[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
        elif token == SEVERAL_TOKENS:
            set_token_bits(nodes.records[node], np.uint64(node), nodes.first, nodes.token_ids, bits)
        if not goes_on or loop.sizes[k] == 1:
            continue
        level = (nodes.records[node] >> DEPTH_SHIFT) & DEPTH_MASK
        scratch.path[level + ONE] = state * width
        past = node + int64(loop.sizes[k])
        # a direct call passes fewer arrays; ``walk_nodes`` continues where a step is missing
        next_node, scratch.cursor[Walk.FLOOR] = mark_tokens(
            arrays.table, width, nodes.classes, arrays.floors, nodes.records, nodes.first,
            nodes.token_ids, scratch.path, node + 1, past, scratch.cursor[Walk.FLOOR], bits,
        )  # fmt: skip
        if next_node < past:
            status = walk_nodes(growth, arrays, nodes, scratch, next_node, past, bits)
            if status < 0:
                return status
    return 0


#: An entry of ``Scratch.path`` that the walk has not written; no offset in any table.
_UNTOUCHED = np.uint32(2**32 - 1)

#: The number of characters that may follow in a self-loop.
_UNBOUNDED = 2**31 - 1
#: A state from which fewer characters follow is walked.
_MIN_CHARACTERS = 4

_BEYOND_ASCII = np.arange(256) >= 128


class _KernelArguments(NamedTuple):
    """Arguments of the types that the kernels have for every machine."""

    growth: Growth
    arrays: MachineArrays
    nodes: TrieView
    scratch: Scratch
    bits: Words

    @staticmethod
    def make() -> _KernelArguments:
        trie, classes = Trie.of([b"a"]), np.zeros(256, np.uint16)
        runs, children = np.zeros((1, 5), np.int32), np.zeros((1, 256), np.int32)
        arrays = (trie.records.copy(), trie.first.copy(), trie.token_ids.copy())
        return _KernelArguments(
            Growth.of(),
            MachineArrays.of_table(np.zeros((1, 1), np.int32)),
            TrieView(*arrays, runs, children, classes, classes),
            Scratch.of(1, 1),
            np.zeros(1, np.uint32),
        )


@cache
def row_kernel() -> Any:  # noqa: ANN401  # numba's own type
    """The row kernel ``_row``, compiled for the types of all machines (``kernels.direct``)."""
    growth, arrays, nodes, scratch, bits = _KernelArguments.make()
    return direct(_row, growth, arrays, RowCache.of(1), nodes, scratch, 0, True, bits)


@cache
def loop_kernel() -> Any:  # noqa: ANN401
    """The loop kernel ``_part_by_loop``, likewise; compiled for the first state that needs it."""
    growth, arrays, nodes, scratch, bits = _KernelArguments.make()
    numbers, groups = np.zeros(1, np.int32), np.zeros((1, 5), np.int32)
    loop = SelfLoop(bits, numbers, numbers, numbers, groups, numbers)
    members = np.zeros((1, 1), np.int32)
    kind = int(RowStatus.IN_LOOP)
    return direct(_part_by_loop, growth, arrays, nodes, scratch, loop, members, 0, kind, bits)


@njit(_nrt=False)
def _row(
    growth: Growth, arrays: MachineArrays, row_cache: RowCache, nodes: TrieView, scratch: Scratch,
    state: int, is_new: bool, bits: Words,
) -> tuple[int, int]:  # fmt: skip
    """Compute the row of a state, or continue from ``scratch.cursor`` unless ``is_new``.

    Returns a status and the number of the row, which is valid with ``CACHED`` and ``COMPUTED``.
    The module's docstring has the state diagram.
    """
    cursor, has_stack = scratch.cursor, len(growth.rules.flags) > 0
    if is_new:
        (
            cursor[Walk.PART],
            cursor[Walk.NODE],
            cursor[Walk.FLOOR],
            cursor[Walk.USED_LOOP],
        ) = 0, 0, NO_FLOOR, 0
        cursor[Walk.MUST_WALK] = 0
        scratch.path[:] = _UNTOUCHED
        scratch.path[0] = 0
        row = _cached_row(arrays, row_cache, scratch, state, has_stack)
        if row >= 0:
            return RowStatus.CACHED, row
        if has_stack:
            cursor[Walk.FLOOR] = arrays.about[state, LOWEST]
    if has_stack and row_cache.used[0] == len(row_cache.rows):
        return RowStatus.FULL_ROW_CACHE, 0
    while cursor[Walk.PART] < len(nodes.runs):
        status = _begin_part(growth, arrays, nodes, scratch, state, bits)
        if status != RowStatus.COMPUTED:
            return status, 0
        if cursor[Walk.STATE] >= 0:
            status = _walk_part(growth, arrays, nodes, scratch, bits)
            if status != RowStatus.COMPUTED:
                return status, 0
        cursor[Walk.PART] += 1
        cursor[Walk.NODE] = cursor[Walk.MUST_WALK] = 0
    if has_stack:
        return RowStatus.COMPUTED, store_row(arrays, row_cache, state, cursor[Walk.FLOOR])
    cursor[Walk.ROWS_COMPUTED] += 1
    if not cursor[Walk.USED_LOOP]:
        cursor[Walk.LAST_ROW], cursor[Walk.LAST_STATE] = (
            cursor[Walk.ROWS_COMPUTED] - 1,
            state,
        )
        cursor[Walk.LAST_DEPTH] = len(scratch.path)
        while scratch.path[cursor[Walk.LAST_DEPTH] - 1] == _UNTOUCHED:
            cursor[Walk.LAST_DEPTH] -= 1
    return RowStatus.COMPUTED, int64(cursor[Walk.ROWS_COMPUTED]) - 1


@inlined
def _cached_row(
    arrays: MachineArrays, row_cache: RowCache, scratch: Scratch, state: int, has_stack: bool
) -> int:
    """The number of a computed row that equals the row of a state, or −1."""
    if has_stack:
        return find_row(arrays, row_cache, state)
    cursor = scratch.cursor
    if cursor[Walk.LAST_ROW] < 0 or len(scratch.partner) == 0 or not bisimilar(
        arrays.table, arrays.groups.shape[1], cursor[Walk.LAST_STATE], state,
        cursor[Walk.LAST_DEPTH], scratch.partner, scratch.pairs,
    ):  # fmt: skip
        return -1
    return int64(cursor[Walk.LAST_ROW])


@inlined
def _begin_part(
    growth: Growth,
    arrays: MachineArrays,
    nodes: TrieView,
    scratch: Scratch,
    state: int,
    bits: Words,
) -> int:
    """Find the state at the beginning of the current part, and whether a loop covers the part.

    Returns a status of ``CACHED``, ``COMPUTED`` if the part must be walked, or a status below
    ``DEAD``. Does nothing if the walk of the part has begun.
    """
    cursor = scratch.cursor
    if cursor[Walk.NODE] > 0 or cursor[Walk.MUST_WALK]:
        return RowStatus.COMPUTED
    if nodes.runs[cursor[Walk.PART], LEVEL] == 1:
        node = nodes.runs[cursor[Walk.PART], BEGIN] - 1
        record = nodes.records[node]
        target = step_by(growth, arrays, nodes, scratch, state, int64(record & BYTE_MASK))
        if target < DEAD:
            return target
        cursor[Walk.STATE] = target
        if target == DEAD:
            return RowStatus.COMPUTED
        if len(arrays.floors) > 0:
            cursor[Walk.FLOOR] = min(cursor[Walk.FLOOR], arrays.floors[target])
        set_token_bits(record, np.uint64(node), nodes.first, nodes.token_ids, bits)
        scratch.path[1] = target * arrays.groups.shape[1]
        state = target
    cursor[Walk.STATE] = state
    # the first member of the loop that the previous part used
    previous = scratch.members[0] if cursor[Walk.USED_LOOP] == 1 else int64(DEAD)
    status, there, count = RowStatus.IN_LOOP, state, int64(0)
    for _ in range(3):  # the loop's own state, and two that lead to it
        if there == previous:
            return status
        count, following = find_loop(growth, arrays, nodes, scratch, there, there)
        if count < 0:
            return count
        if len(arrays.floors) > 0:
            reads = ascii_bytes(scratch, count)
            least = max(reads + MORE_BYTES, MIN_COVERING_BYTES)
            covering = covering_loop(growth, arrays, nodes, scratch, there, least - 1)
            if covering > 0:
                cursor[Walk.LOOP_SIZE] = covering
                return RowStatus.COVERED
        if count > 0 or following < 0:
            break
        status, there = RowStatus.ENTERS_LOOP, following
    else:
        return RowStatus.IN_CHAIN
    cursor[Walk.LOOP_SIZE] = count
    return status if count > 0 else RowStatus.COMPUTED


@inlined
def _walk_part(
    growth: Growth, arrays: MachineArrays, nodes: TrieView, scratch: Scratch, bits: Words
) -> int:
    """Walk the current part, below each first byte that the state can read.

    Walking the nodes of the first bytes like all others took twice as long: they are far apart.
    Returns ``COMPUTED``, or a status below ``DEAD``.
    """
    cursor, children = scratch.cursor, nodes.children[scratch.cursor[Walk.PART]]
    for byte in range(256):
        node = int64(children[byte])
        if node < 0 or node < cursor[Walk.NODE] >= node + int64(nodes.records[node] >> SIZE_SHIFT):
            continue  # walked before the interruption
        target = step_by(growth, arrays, nodes, scratch, cursor[Walk.STATE], byte)
        if target < DEAD:
            return target
        if target != DEAD:
            begin = max(node + 1, cursor[Walk.NODE])
            status = walk_below(growth, arrays, nodes, scratch, node, target, begin, bits)
            if status < 0:
                return status
    return RowStatus.COMPUTED


@njit(_nrt=False)
def _part_by_loop(
    growth: Growth, arrays: MachineArrays, nodes: TrieView, scratch: Scratch, loop: SelfLoop,
    members: Ints, characters: int, kind: int, bits: Words,
) -> int:  # fmt: skip
    """Correct the bits of a part, which are those of ``loop``, for the current state.

    ``members`` and ``characters`` are those of ``_exit_loop``, ``kind`` is ``IN_LOOP``,
    ``ENTERS_LOOP`` or ``COVERED``. Then moves the cursor to the next part. Returns ``COMPUTED``, or
    a status below ``DEAD``.
    """
    cursor = scratch.cursor
    if len(arrays.floors) > 0 and kind != RowStatus.COVERED:
        for read in range(len(members)):
            for k in range(cursor[Walk.LOOP_SIZE]):
                if members[read, k] >= 0:
                    cursor[Walk.FLOOR] = min(cursor[Walk.FLOOR], arrays.floors[members[read, k]])
    status = int64(0)
    if kind == RowStatus.COVERED:
        status = cover_part(growth, arrays, nodes, scratch, loop.exits, bits)
    elif kind == RowStatus.IN_LOOP:
        run = nodes.runs[cursor[Walk.PART]]
        for k in range(2):
            scratch.agreed[k, 0], scratch.agreed[k, 1] = run[1 + 2 * k], run[2 + 2 * k]
        status = int64(2)
    else:
        status = _enter_loop(growth, arrays, nodes, scratch, bits)
    cursor[Walk.USED_LOOP] = 1 if characters == _UNBOUNDED and kind != RowStatus.COVERED else 2
    if status >= 0 and kind != RowStatus.COVERED:
        status = _exit_loop(growth, arrays, nodes, scratch, loop, members, characters, status, bits)
    cursor[Walk.NODE] = 0
    if status < 0:
        return status
    cursor[Walk.PART] += 1
    return RowStatus.COMPUTED


@cache
def link_kernel() -> Any:  # noqa: ANN401
    """The kernel ``_find_link``, likewise."""
    growth, arrays, nodes, scratch, _ = _KernelArguments.make()
    return direct(_find_link, growth, arrays, nodes, scratch, 0)


@njit(_nrt=False)
def _find_link(
    growth: Growth, arrays: MachineArrays, nodes: TrieView, scratch: Scratch, state: int
) -> tuple[int, int]:
    """Find a link of a chain: the members of its loop, as ``find_loop`` does, and the next state.

    Returns the number of members and the next state; 0, −1 if there is no link; or a status below
    ``DEAD`` and 0.
    """
    count, following = find_loop(growth, arrays, nodes, scratch, state, state)
    if count < 0:
        return count, int64(0)
    if count > 0 or following < 0:
        return int64(0), int64(-1)
    count, _ = find_loop(growth, arrays, nodes, scratch, state, following)
    return count, following


class Machine(Protocol):
    """A deterministic byte machine as arrays. The arrays may be replaced when it grows."""

    @property
    def growth(self) -> Growth:
        """The rules that kernels use to add steps; empty for a complete machine."""
        ...

    @property
    def arrays(self) -> MachineArrays: ...

    @property
    def classes(self) -> Classes: ...

    @property
    def network(self) -> Network | None:
        """The network that a machine with a stack runs."""
        ...

    @property
    def states(self) -> int:
        """The number of states of a complete machine, 0 for a growing one."""
        ...

    def step(self, state: State, byte: int) -> State:
        """The state after a byte, or ``DEAD``."""
        ...

    def resolve(self, status: int, clock: Clock) -> None:
        """Make room or check the clock, as a kernel's status below ``DEAD`` requires."""
        ...


class MaskRows:
    """Computes the mask rows of one machine with one vocabulary.

    Equal rows have one number. Not thread-safe: the caller must hold a lock.
    """

    def __init__(self, machine: Machine, vocabulary: Vocabulary, limits: Limits) -> None:
        self._machine = machine
        # the time limit applies to each row
        self._limits = limits.per_stage()
        self._trie = vocabulary.trie
        self._words = (len(vocabulary) + 31) // 32
        classes, columns = np.ascontiguousarray(machine.classes), machine.growth.rules.columns
        self._nodes = TrieView.of(vocabulary.trie, classes, columns)
        self._scratch = Scratch.of(vocabulary.trie.height, machine.states)
        self._row = row_kernel()
        #: ``Network.bytes_after`` the bytes of a loop, by its local table.
        self._leading: dict[bytes, tuple[Longs, Longs]] = {}
        self.clear()

    def clear(self) -> None:
        """Empty the row cache; the numbers of rows start again at 0."""
        self._row_cache = RowCache.of(64)
        #: The chain of a state and its place there; None if it is in none.
        self._chains: dict[State, tuple[Chain, int] | None] = {}
        (
            self._scratch.cursor[Walk.ROWS_COMPUTED],
            self._scratch.cursor[Walk.LAST_ROW],
        ) = 0, -1

    def row(self, state: State) -> tuple[int, Words | None]:
        """The number of a state's row and its bits, None if that row was returned before.

        Shape: the bits are (W,) uint32, one bit for each token, as in ``TokenMask``; the bit of the
               end token is clear.
        Raises: LimitError
        """
        machine, bits, is_new = self._machine, np.zeros(self._words, np.uint32), True
        clock: Clock | None = None
        while True:
            status, number = self._row(
                machine.growth, machine.arrays, self._row_cache, self._nodes, self._scratch, state,
                is_new, bits,
            )  # fmt: skip
            if status == RowStatus.COMPUTED:
                return number, bits
            if status == RowStatus.CACHED:
                return number, None
            is_new = False
            if status in (RowStatus.IN_LOOP, RowStatus.ENTERS_LOOP, RowStatus.COVERED):
                status = self._by_cached_loop(status, bits)
            elif status == RowStatus.IN_CHAIN:
                status = self._by_chain(int(self._scratch.cursor[Walk.STATE]), bits)
            if status < 0:
                clock = clock or self._limits.clock()
                self._resolve(status, clock)

    def _by_cached_loop(self, kind: int, bits: Words) -> int:
        """Compute the current part with the self-loop that the row kernel found."""
        part, count = (
            int(self._scratch.cursor[Walk.PART]),
            int(self._scratch.cursor[Walk.LOOP_SIZE]),
        )
        loops = self._trie.shared(SelfLoopCache)
        local = self._scratch.local[:count]
        loop = loops.of(local, self._trie, self._words, part)
        bits |= loop.bits
        if kind == RowStatus.COVERED:
            loop = self._without_dead_exits(loop, local)
        members = self._scratch.members[None]
        return self._part_by_loop(loop, members, _UNBOUNDED, kind, bits)

    def _without_dead_exits(self, loop: SelfLoop, local: Local) -> SelfLoop:
        """The loop without exits by bytes above ASCII that no rule can read after its bytes.

        They are most exits of a name: few rules but strings and comments read such bytes.
        """
        machine, key = self._machine, local.tobytes()
        network, state = machine.network, self._scratch.cursor[Walk.STATE]
        assert network is not None, "only states of networks have configurations"
        if (local[0, 128:] >= 0).any():
            return loop
        if key not in self._leading:
            self._leading[key] = network.bytes_after(local[0] >= 0, _BEYOND_ASCII)
        leading, bits_of = self._leading[key]
        begin, end = machine.arrays.about[state, FROM], machine.arrays.about[state, TO]
        readable = np.bitwise_or.reduce(leading[machine.arrays.configurations[begin:end] >> 32])
        kept = (bits_of & readable != 0) | ~_BEYOND_ASCII
        return loop._replace(exits=loop.exits[kept[self._trie.byte[loop.exits]]])

    def _part_by_loop(
        self, loop: SelfLoop, members: Ints, characters: int, kind: int, bits: Words
    ) -> int:
        machine = self._machine
        status: int = loop_kernel()(
            machine.growth, machine.arrays, self._nodes, self._scratch, loop, members, characters,
            int(kind), bits,
        )  # fmt: skip
        return status

    def _by_chain(self, state: State, bits: Words) -> int:
        """Compute the current part for a state of a chain, or let the row kernel walk it."""
        cursor = self._scratch.cursor
        cursor[Walk.MUST_WALK] = 1
        if state not in self._chains:
            self._chains[state] = None
            status, link = self._link(state)
            if link is not None:
                chain = Chain(link[1])
                chain.add(link[0], link[2])
                self._chains[state] = chain, 0
            if status < 0:
                del self._chains[state]
                cursor[Walk.MUST_WALK] = 0
                return status
        entry = self._chains[state]
        if entry is None:
            return RowStatus.COMPUTED
        chain, position = entry
        loops = [
            self._trie.shared(SelfLoopCache).counted(chain.local, self._trie, self._words, part)
            for part in range(len(self._nodes.runs))
        ]
        most = max(loop.most for loop in loops)
        status = self._extend(chain, position + most + 1)
        if status < 0:
            cursor[Walk.MUST_WALK] = 0
            return status
        # of a table, states whose rows no length limits are found equal by ``bisimilar``
        shares = self._machine.states > 0 and chain.links - position > most
        loop = loops[cursor[Walk.PART]]
        characters = min(chain.links - position, loop.most)
        if chain.is_open or characters < min(_MIN_CHARACTERS, loop.most) or shares:
            return RowStatus.COMPUTED
        cursor[Walk.MUST_WALK], cursor[Walk.LOOP_SIZE] = 0, len(chain.local)
        bits |= loop.bits(characters)
        members = chain.members[position : position + characters + 1]
        return self._part_by_loop(loop.loop, members, characters, RowStatus.IN_LOOP, bits)

    def _extend(self, chain: Chain, links: int) -> int:
        """Add links until there are ``links``, or no more. Returns 0, or a status."""
        while chain.links < links and not chain.is_complete:
            status, link = self._link(chain.last)
            if status < 0:
                return status
            if link is not None and np.array_equal(link[1], chain.local):
                self._chains.setdefault(chain.last, (chain, chain.links))
                chain.add(link[0], link[2])
                continue
            chain.is_complete = True
            reading = np.flatnonzero(chain.local[0] >= 0).tolist()
            chain.is_open = any(self._machine.step(chain.last, byte) != DEAD for byte in reading)
        return 0

    def _link(self, state: State) -> tuple[int, tuple[Ints, Local, State] | None]:
        """A status; the members of a state's loop, its local table, and the next state."""
        machine, scratch = self._machine, self._scratch
        find = link_kernel()
        count, following = find(machine.growth, machine.arrays, self._nodes, scratch, state)
        if count <= 0:
            return count, None
        return count, (scratch.members[:count].copy(), scratch.local[:count].copy(), following)

    def _resolve(self, status: int, clock: Clock) -> None:
        if status == RowStatus.FULL_ROW_CACHE:
            self._row_cache = doubled(self._row_cache)
        else:
            self._machine.resolve(status, clock)
