"""LazyDfa: an Nfa in, its subset machine out, some states at a time as texts are read.

For machines that would explode: ``(a|b)*a(a|b){30}`` has 2^31 subsets, and no text meets more of
them than it has bytes. States are numbered as they are met; the tables grow. A step that is not
known makes those near it too: in Python, one step at a time, a mask took three times as long.
"""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD, State
from workbench.automata.flat import Bits, Classes, Flags, Ints, alive_of, classes_of
from workbench.automata.kernel import njit
from workbench.automata.nfa import Nfa
from workbench.automata.subsets import number_of
from workbench.limits import LIMITS, Limits

#: A step not computed yet.
UNKNOWN = -2
_DEAD, _UNKNOWN = DEAD, UNKNOWN

#: How many states are made with one that is asked for; fewer where each is a large set. One, 4,
#: 16 and 48 cost 44, 26, 26 and 35 µs a first mask of a state in ``(a|b)*a(a|b){12}``.
_AHEAD, _AHEAD_WORDS = 16, 1_024


class LazyDfa:
    """A deterministic byte automaton that is made while it is read.

    Every state is alive: states of the Nfa from which no final one is reached are left out
    first. It only ever adds, so a state's number stays valid; safe to share between threads.

    Shape: ``classes`` (256,) uint16; ``table`` (capacity, C) int32: the next state, ``DEAD`` or
           ``UNKNOWN``, in an array that is another one after it has grown.
    Raises: LimitError where the states met pass ``limits.megabytes``.
    Source: subset construction on demand (Thompson 1968).
    """

    initial: State = 0
    #: A machine without a stack.
    floors: npt.NDArray[np.int32] = np.empty(0, np.int32)

    def __init__(self, nfa: Nfa, limits: Limits = LIMITS) -> None:
        self.nfa = nfa
        self._limits = limits
        self._flat = flat = nfa.flat
        self._alive = alive_of(
            flat.edges, flat.first, flat.epsilons, flat.first_epsilon, flat.finals
        )
        self.classes, self._columns = classes_of(flat.edges, self._alive, nfa.symbols)
        self._growing = threading.RLock()
        self._made = 0
        self._sets = np.empty((0, (len(nfa) + 63) // 64), np.uint64)
        self._finals: Flags = np.empty(0, np.bool_)
        self.table: Ints = np.empty((0, self._columns), np.int32)
        self._ahead = max(1, min(_AHEAD, _AHEAD_WORDS // self._sets.shape[1]))
        self._grow(64)
        start = np.zeros(self._sets.shape[1], np.uint64)
        if not self.is_empty:
            stack = np.empty(len(nfa), np.int32)
            _close(nfa.initial, flat.epsilons, flat.first_epsilon, self._alive, start, stack)
        self._made = number_of(start, self._sets, self._slots, 0) + 1
        self._finals[0] = _ends(start, flat.finals)

    def __len__(self) -> int:
        """How many states have been met so far."""
        return self._made

    @property
    def is_empty(self) -> bool:
        """Whether no text at all is accepted."""
        return not self._alive[self.nfa.initial]

    @property
    def used_bytes(self) -> set[int]:
        """The bytes some accepted text may hold."""
        edges = self._flat.edges
        runs = np.unique(edges[self._alive[edges[:, 2]], :2], axis=0).tolist()
        return {byte for low, high in runs for byte in range(low, high + 1)}

    def is_final(self, state: State) -> bool:
        """Whether the text read so far is accepted."""
        return bool(self._finals[state])

    def step(self, state: State, byte: int) -> State:
        """The state after a byte, or ``DEAD``."""
        its_class = int(self.classes[byte])
        known = int(self.table[state, its_class])
        return self.successor(state, its_class) if known == UNKNOWN else known

    def run(self, data: bytes, state: State = 0) -> State:
        """The state after all of ``data``, or ``DEAD``."""
        for byte in data:
            if (state := self.step(state, byte)) == DEAD:
                return DEAD
        return state

    def successor(self, state: State, byte_class: int) -> State:
        """The step of a state by a byte class; those near it are made too."""
        flat = self._flat
        with self._growing:
            needed = self._ahead * self._columns
            if self._made + needed > len(self.table):
                self._grow(2 * len(self.table) + needed)
            self._made = _expand(
                flat.edges, flat.first, flat.epsilons, flat.first_epsilon, self._alive,
                flat.finals, self.classes, self._sets, self._slots, self.table, self._finals,
                self._made, state, self._ahead,
            )  # fmt: skip
            return int(self.table[state, byte_class])

    def _grow(self, rows: int) -> None:
        """Make room; what was there keeps its place."""
        words, made = self._sets.shape[1], self._made
        size = rows * (8 * words + 4 * self._columns + 17)
        self._limits.check("megabytes", size / 2**20, "a repetition makes too many cases")
        sets = np.zeros((rows, words), np.uint64)
        sets[:made] = self._sets[:made]
        table = np.full((rows, self._columns), UNKNOWN, np.int32)
        table[:made] = self.table[:made]
        finals = np.zeros(rows, np.bool_)
        finals[:made] = self._finals[:made]
        self._slots = np.full(4 * rows, -1, np.int32)
        _enter(sets, self._slots, made)
        self._sets, self._finals, self.table = sets, finals, table


@njit(cache=True, nogil=True)
def _enter(sets: Bits, slots: Ints, made: int) -> None:
    """Make the first sets known under their numbers."""
    for number in range(made):
        number_of(sets[number], sets, slots, number)


@njit(cache=True, nogil=True)
def _expand(
    edges: Ints, first: Ints, epsilons: Ints, first_epsilon: Ints, alive: Flags, finals: Flags,
    classes: Classes, sets: Bits, slots: Ints, table: Ints, ends: Flags, made: int, start: int,
    ahead: int,
) -> int:  # fmt: skip
    """Fill the row of a state and of those met from there on; how many states are known then."""
    columns, words = table.shape[1], sets.shape[1]
    reached = np.empty((columns, words), np.uint64)
    stack = np.empty(len(finals), np.int32)
    waiting = np.empty(ahead * columns + 1, np.int32)
    waiting[0] = start
    count, done = 1, 0
    while done < count and done < ahead:
        here = waiting[done]
        done += 1
        if done > 1 and table[here, 0] != _UNKNOWN:
            continue  # met twice
        _reach(edges, first, epsilons, first_epsilon, alive, classes, sets[here], reached, stack)
        for column in range(columns):
            target = _DEAD
            for word in range(words):
                if reached[column, word] != 0:
                    target = _UNKNOWN
            if target == _UNKNOWN:
                target = number_of(reached[column], sets, slots, made)
                if target == made:
                    ends[made] = _ends(reached[column], finals)
                    made += 1
                if table[target, 0] == _UNKNOWN:
                    waiting[count] = target
                    count += 1
            table[here, column] = target
    return made


@njit(cache=True, nogil=True)
def _reach(
    edges: Ints, first: Ints, epsilons: Ints, first_epsilon: Ints, alive: Flags,
    classes: Classes, members: Bits, reached: Bits, stack: Ints,
) -> None:  # fmt: skip
    """Where a set leads to, by byte class."""
    for column in range(reached.shape[0]):
        for word in range(reached.shape[1]):
            reached[column, word] = 0
    for word in range(len(members)):
        left, state = members[word], 64 * word - 1
        while left != 0:
            state += 1
            bit = left & np.uint64(1)
            left >>= np.uint64(1)
            if bit == 0:
                continue
            for k in range(first[state], first[state + 1]):
                if alive[edges[k, 2]]:
                    for column in range(classes[edges[k, 0]], classes[edges[k, 1]] + 1):
                        _close(edges[k, 2], epsilons, first_epsilon, alive, reached[column], stack)


@njit(cache=True, nogil=True)
def _close(
    start: int, epsilons: Ints, first_epsilon: Ints, alive: Flags, reached: Bits, stack: Ints
) -> None:
    """Add a state and all it leads to without reading."""
    one = np.uint64(1)
    if reached[start >> 6] >> np.uint64(start & 63) & one:
        return
    reached[start >> 6] |= one << np.uint64(start & 63)
    stack[0] = start
    top = 1
    while top > 0:
        top -= 1
        state = stack[top]
        for k in range(first_epsilon[state], first_epsilon[state + 1]):
            target = epsilons[k]
            if alive[target] and not reached[target >> 6] >> np.uint64(target & 63) & one:
                reached[target >> 6] |= one << np.uint64(target & 63)
                stack[top] = target
                top += 1


@njit(cache=True, nogil=True)
def _ends(members: Bits, finals: Flags) -> bool:
    """Whether a set holds a final state."""
    for state in range(len(finals)):
        if finals[state] and members[state >> 6] >> np.uint64(state & 63) & np.uint64(1):
            return True
    return False
