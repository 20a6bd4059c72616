"""LazyDfa: an Nfa in, its subset machine out, a state at a time as texts are read.

For machines that would explode: ``(a|b)*a(a|b){30}`` has 2^31 subsets, and no text meets more of
them than it has bytes. States are numbered as they are met; the table grows.
"""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

from workbench.automata.determinize import alive_states
from workbench.automata.dfa import DEAD, State
from workbench.automata.nfa import Nfa
from workbench.limits import LIMITS, Limits

#: A step not computed yet.
UNKNOWN = -2

#: A set of Nfa states, as bits.
_Set = int


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
        self._alive = alive_states(nfa)
        self.classes, self._columns = _classes(nfa)
        self._moves: dict[int, list[_Set]] = {}
        self._closures: dict[int, _Set] = {}
        self._numbers: dict[_Set, State] = {}
        self._sets: list[_Set] = []
        self._finals: list[bool] = []
        self._final = sum(1 << state for state in nfa.finals)
        self._growing = threading.RLock()
        self.table: npt.NDArray[np.int32] = np.full((64, self._columns), UNKNOWN, np.int32)
        self._number(self._closure(nfa.initial) if nfa.initial in self._alive else 0)

    def __len__(self) -> int:
        """How many states have been met so far."""
        return len(self._sets)

    @property
    def is_empty(self) -> bool:
        """Whether no text at all is accepted."""
        return self.nfa.initial not in self._alive

    @property
    def used_bytes(self) -> set[int]:
        """The bytes some accepted text may hold."""
        alive = self._alive
        runs = {
            (low, high)
            for state in alive
            for low, high, target in self.nfa.edges[state]
            if target in alive
        }
        return {byte for low, high in runs for byte in range(low, high + 1)}

    def is_final(self, state: State) -> bool:
        """Whether the text read so far is accepted."""
        return self._finals[state]

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
        """Compute and remember the step of a state by a byte class."""
        with self._growing:
            reached, left = 0, self._sets[state]
            while left:
                lowest = left & -left
                reached |= self._moves_of(lowest.bit_length() - 1)[byte_class]
                left ^= lowest
            target = self._number(reached) if reached else DEAD
            self.table[state, byte_class] = target
        return target

    def _number(self, members: _Set) -> State:
        known = self._numbers.get(members)
        if known is not None:
            return known
        number = self._numbers[members] = len(self._sets)
        self._sets.append(members)
        self._finals.append(bool(members & self._final))
        if number == len(self.table):
            size = 2 * len(self.table) * (4 * self._columns + len(self.nfa) // 8)
            self._limits.check("megabytes", size / 2**20, "a repetition makes too many cases")
            self.table = np.vstack([self.table, np.full_like(self.table, UNKNOWN)])
        return number

    def _moves_of(self, state: int) -> list[_Set]:
        """What is reached from a state of the Nfa, by byte class."""
        known = self._moves.get(state)
        if known is None:
            known = self._moves[state] = [0] * self._columns
            for low, high, target in self.nfa.edges[state]:
                if target in self._alive:
                    closure = self._closure(target)
                    for its_class in range(self.classes[low], self.classes[high] + 1):
                        known[its_class] |= closure
        return known

    def _closure(self, state: int) -> _Set:
        """What is reached without reading: states that read something, and final ones."""
        known = self._closures.get(state)
        if known is None:
            nfa, seen, waiting = self.nfa, {state}, [state]
            for here in waiting:  # grows while it is read
                found = [t for t in nfa.epsilons[here] if t not in seen and t in self._alive]
                seen.update(found)
                waiting += found
            useful = {s for s in seen if nfa.edges[s] or s in nfa.finals}
            known = self._closures[state] = sum(1 << s for s in useful)
        return known


def _classes(nfa: Nfa) -> tuple[npt.NDArray[np.uint16], int]:
    """Bytes between which no edge begins or ends have one class; how many classes there are."""
    edges = {(low, high) for of in nfa.edges for low, high, _ in of}
    cuts = np.zeros(nfa.symbols + 1, np.uint16)
    cuts[[low for low, _ in edges] + [high + 1 for _, high in edges]] = 1
    cuts[0] = 0
    classes = np.cumsum(cuts[:-1], dtype=np.uint16)
    return classes, int(classes[-1]) + 1
