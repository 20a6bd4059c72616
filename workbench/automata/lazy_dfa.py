"""A DFA determinized on demand, while texts are read.

For machines that would explode: ``(a|b)*a(a|b){30}`` has 2^31 subsets, but a text visits at most
one for each of its bytes. States are numbered in the order of their first visit; the tables grow.
The kernel that walks a trie computes missing rows itself (``fill_row``): with calls from Python a
mask took three times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.automata.determinize import fill_slots, find_closures, hashes_of, number_of
from workbench.automata.graphs import reachable
from workbench.automata.nfa import Bits, Flags, Ints, Nfa, classes_of, coaccessible
from workbench.base.dfa import DEAD, State
from workbench.base.kernel_status import Status
from workbench.base.kernels import inner, int64, njit
from workbench.base.limits import LIMITS, Limits, check_time_budget
from workbench.base.locks import WorkLock
from workbench.base.visible_text import count_of

#: A step not computed yet.
UNKNOWN = -2

#: Closures of all states are precomputed up to this many Nfa states; they need Q² bits.
_MAX_CLOSURE_STATES = 2_048
#: The initial capacity: at most this many sets, and at most this many numbers in all arrays.
_INITIAL_SETS, _INITIAL_NUMBERS = 1_024, 16_384


class Subsets(NamedTuple):
    """An Nfa without dead states, and the sets of its states computed until now, for kernels.

    Shape: Q states, W = ceil(Q / 64) words, C byte classes. The edges of state q are
           ``first[q]:first[q + 1]`` of ``edges`` (E, 3) int32: first byte class, last byte class,
           target. Its ε-edges are ``first_epsilon[q]:first_epsilon[q + 1]`` of ``epsilons``.
           ``closures`` (Q, W) uint64 are the ε-closures, without rows for large machines;
           ``finals`` (W,) the final states as bits. Set i is row i of ``sets`` (n, W), ``ends[i]``
           says whether it contains a final state, ``slots`` is a hash table of the sets, and
           ``made`` (1,) int64 their number. ``reached`` (C, W) and ``stack`` (Q,) are scratch.
    """

    edges: Ints
    first: Ints
    epsilons: Ints
    first_epsilon: Ints
    closures: Bits
    finals: Bits
    sets: Bits
    ends: Flags
    slots: Ints
    reached: Bits
    stack: Ints
    made: npt.NDArray[np.int64]

    @staticmethod
    def none() -> Subsets:
        """Empty arrays, for kernels that are called without a lazy machine."""
        ints, bits = np.empty(0, np.int32), np.empty((0, 1), np.uint64)
        return Subsets(
            np.empty((0, 3), np.int32), ints, ints, ints, bits, np.empty(0, np.uint64), bits,
            np.empty(0, np.bool_), ints, bits, ints, np.zeros(1, np.int64),
        )  # fmt: skip


class LazyDfa:
    """A deterministic byte automaton whose states are computed on demand.

    Every state is co-accessible: other states of the Nfa are left out first. States are only
    added, so the number of a state stays valid; safe to share between threads.

    Shape: ``classes`` (256,) uint16; ``table`` (capacity, C) int32: the next state, ``DEAD`` or
           ``UNKNOWN``. Growing replaces the array.
    Raises: LimitError where the tables exceed ``limits.megabytes``.
    Source: subset construction on demand (Thompson 1968).
    """

    initial: State = 0

    def __init__(self, nfa: Nfa, limits: Limits = LIMITS) -> None:
        self.nfa = nfa
        self._limits = limits
        flat = nfa.flat
        self._alive = coaccessible(
            flat.edges, flat.first, flat.epsilons, flat.first_epsilon, flat.finals
        )
        self.classes, self._columns = classes_of(flat.edges, self._alive, nfa.symbols)
        self._growing = WorkLock()
        self.subsets = self._subsets()
        self.table: Ints = np.full((len(self), self._columns), UNKNOWN, np.int32)
        numbers_per_set = self._columns + 2 * self.subsets.sets.shape[1]
        self._grow(max(64, min(_INITIAL_SETS, _INITIAL_NUMBERS // numbers_per_set)))

    def __reduce__(self) -> tuple[type[LazyDfa], tuple[Nfa, Limits]]:
        """In another process, states are numbered anew."""
        return LazyDfa, (self.nfa, self._limits)

    def _subsets(self) -> Subsets:
        flat, size = self.nfa.flat, len(self.nfa)
        words = (size + 63) // 64
        edges, first = _keep_edges(flat.edges, flat.first, self._alive[flat.edges[:, 2]])
        edges[:, :2] = self.classes[edges[:, :2]]
        epsilons, first_epsilon = _keep_edges(
            flat.epsilons, flat.first_epsilon, self._alive[flat.epsilons]
        )
        closures = (
            _closures(first, epsilons, first_epsilon, self._alive, flat.finals)
            if size <= _MAX_CLOSURE_STATES
            else np.empty((0, words), np.uint64)
        )
        initial, finals = self.nfa.initial, _as_bits(flat.finals)
        if self.is_empty:
            sets = np.empty((0, words), np.uint64)
        elif len(closures):
            sets = closures[initial : initial + 1]
        else:
            closed = np.zeros(size, np.bool_)
            closed[[*reachable([initial], _targets(epsilons, first_epsilon))]] = True
            sets = _as_bits(closed)[None]
        return Subsets.none()._replace(
            edges=edges,
            first=first,
            epsilons=epsilons,
            first_epsilon=first_epsilon,
            closures=closures,
            finals=finals,
            sets=sets,
            ends=np.bitwise_or.reduce(sets & finals, axis=1) != 0,
            made=np.array([len(sets)], np.int64),
            reached=np.empty((self._columns, words), np.uint64),
            stack=np.empty(size, np.int32),
        )

    def __len__(self) -> int:
        """The number of states computed until now."""
        return int(self.subsets.made[0])

    def __repr__(self) -> str:
        return f"LazyDfa({count_of(len(self), 'state')} until now)"

    @property
    def is_empty(self) -> bool:
        """Whether no text is accepted."""
        return not self._alive[self.nfa.initial]

    @property
    def used_bytes(self) -> set[int]:
        """The bytes that occur in accepted texts."""
        edges = self.nfa.flat.edges
        kept = edges[self._alive[edges[:, 2]]]
        begins = np.bincount(kept[:, 0], minlength=self.nfa.symbols + 1)
        ends = np.bincount(kept[:, 1] + 1, minlength=self.nfa.symbols + 1)
        return set(np.flatnonzero(np.cumsum(begins - ends)).tolist())

    def is_final(self, state: State) -> bool:
        """Whether a text that leads to the state is accepted."""
        return bool(self.subsets.ends[state])

    def step(self, state: State, byte: int) -> State:
        """The state after a byte, or ``DEAD``."""
        its_class = int(self.classes[byte])
        target = int(self.table[state, its_class])
        return self.successor(state, its_class) if target == UNKNOWN else target

    def run(self, data: bytes, state: State = 0) -> State:
        """The state after all of ``data``, or ``DEAD``."""
        for byte in data:
            if (state := self.step(state, byte)) == DEAD:
                return DEAD
        return state

    def successor(self, state: State, byte_class: int) -> State:
        """The state after a byte class, or ``DEAD``; computes the row of ``state``."""
        check_time_budget()
        with self._growing:
            while fill_row(self.subsets, self.table.reshape(-1), state) == Status.FULL_SETS:
                self.grow()
            return int(self.table[state, byte_class])

    def private_copy(self) -> LazyDfa:
        """The same machine with separate sets, for kernels that add sets without its lock."""
        with self._growing:
            twin = object.__new__(LazyDfa)
            vars(twin).update(vars(self))
            twin._growing = WorkLock()
            written = ("sets", "ends", "slots", "reached", "stack", "made")
            copies = {name: getattr(self.subsets, name).copy() for name in written}
            twin.subsets, twin.table = self.subsets._replace(**copies), self.table.copy()
        return twin

    def grow(self) -> None:
        """Double the capacity; states keep their numbers."""
        with self._growing:
            self._grow(2 * len(self.table) + self._columns)

    def _grow(self, rows: int) -> None:
        before, count = self.subsets, len(self)
        words = before.sets.shape[1]
        size = rows * (8 * words + 4 * self._columns + 17)
        self._limits.check("megabytes", size / 2**20, "a repetition makes too many cases")
        sets, ends = np.empty((rows, words), np.uint64), np.empty(rows, np.bool_)
        table = np.full((rows, self._columns), UNKNOWN, np.int32)
        sets[:count], ends[:count], table[:count] = (
            before.sets[:count],
            before.ends[:count],
            self.table[:count],
        )
        slots = np.full(4 * rows, -1, np.int32)
        fill_slots(hashes_of(sets[:count]), slots)
        self.subsets, self.table = before._replace(sets=sets, ends=ends, slots=slots), table


def _as_bits(states: Flags) -> Bits:
    """Flags of Q states as ceil(Q / 64) words."""
    bits = np.packbits(states, bitorder="little")
    return np.append(bits, np.zeros(-len(bits) % 8, np.uint8)).view(np.uint64)


def _targets(targets: Ints, first: Ints) -> Callable[[State], list[State]]:
    """The targets of a state's ε-edges."""
    return lambda state: targets[first[state] : first[state + 1]].tolist()


def _keep_edges(edges: Ints, first: Ints, keep: Flags) -> tuple[Ints, Ints]:
    """The edges marked in ``keep``, and the index of the first one of each state."""
    before = np.zeros(len(edges) + 1, np.int32)
    np.cumsum(keep, out=before[1:])
    return edges[keep], before[first]


@njit()
def _closures(
    first: Ints, epsilons: Ints, first_epsilon: Ints, alive: Flags, finals: Flags
) -> Bits:
    """The ε-closure of each state, as bits."""
    size = len(finals)
    closures, space = np.empty((size, (size + 63) // 64), np.uint64), np.empty((2, size), np.int32)
    find_closures(first, epsilons, first_epsilon, alive, finals, closures, space)
    return closures


@njit(_nrt=False)
def fill_row(subsets: Subsets, table: Ints, state: int) -> int:
    """Compute the targets of a set for all byte classes; return 0, or ``Status.FULL_SETS``."""
    reached, members = subsets.reached, subsets.sets[state]
    columns, words = reached.shape
    if subsets.made[0] + columns > len(subsets.sets):
        return Status.FULL_SETS
    reached[:, :] = 0
    for word in range(words):
        bits, member = members[word], 64 * word - 1
        while bits != 0:
            member += 1
            bit = bits & np.uint64(1)
            bits >>= np.uint64(1)
            if bit:
                for k in range(subsets.first[member], subsets.first[member + 1]):
                    for column in range(subsets.edges[k, 0], subsets.edges[k, 1] + 1):
                        _close(subsets, int64(subsets.edges[k, 2]), column)
    for column in range(columns):
        table[state * columns + column] = _number(subsets, column)
    return 0


@inner
def _number(subsets: Subsets, column: int) -> int:
    """The number of the set that a byte class reaches, or ``DEAD``."""
    reached, count = subsets.reached[column], subsets.made[0]
    words, any_bits = len(reached), np.uint64(0)
    for word in range(words):
        any_bits |= reached[word]
    if any_bits == 0:
        return DEAD
    number = number_of(reached, subsets.sets, subsets.slots, count)
    if number == count:
        any_bits = np.uint64(0)
        for word in range(words):
            any_bits |= reached[word] & subsets.finals[word]
        subsets.ends[count] = any_bits != 0
        subsets.made[0] += 1
    return int64(number)


@inner
def _close(subsets: Subsets, start: int, column: int) -> None:
    """Add the ε-closure of a state to the set that a byte class reaches."""
    reached, bit = subsets.reached[column], np.uint64(1)
    if len(subsets.closures) > 0:
        for word in range(len(reached)):
            reached[word] |= subsets.closures[start, word]
        return
    if reached[start >> 6] >> np.uint64(start & 63) & bit:
        return
    reached[start >> 6] |= bit << np.uint64(start & 63)
    subsets.stack[0] = start
    top = 1
    while top > 0:
        top -= 1
        state = subsets.stack[top]
        for k in range(subsets.first_epsilon[state], subsets.first_epsilon[state + 1]):
            target = subsets.epsilons[k]
            if not reached[target >> 6] >> np.uint64(target & 63) & bit:
                reached[target >> 6] |= bit << np.uint64(target & 63)
                subsets.stack[top] = target
                top += 1
