"""A deterministic finite automaton over bytes, stored as a table over byte classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

#: A state of a machine: its row in the table.
State = int

#: The result of a step that has no edge.
DEAD: State = -1


@dataclass(frozen=True, slots=True, eq=False)
class Dfa:
    """A deterministic byte automaton ``(Σ, Q, I, F, E)``, trimmed.

    Every state is accessible and co-accessible, so a state other than ``DEAD`` means that
    the text read is a prefix of an accepted text. The exception is the empty language: a single
    state, not final, without edges. Machines compare by identity; languages are compared by
    ``operations.equivalent``.

    Shape: ``classes`` (S,) uint16, the class of each symbol (S is 256 for bytes; automata inside
           a grammar network have one more symbol per call); ``table`` (Q, C) int32, the next
           state or ``DEAD``; ``finals`` (Q,) bool. All read-only.
    """

    classes: npt.NDArray[np.uint16]
    table: npt.NDArray[np.int32]
    finals: npt.NDArray[np.bool_]
    initial: State = 0

    def __post_init__(self) -> None:
        for array in (self.classes, self.table, self.finals):
            array.setflags(write=False)

    def __len__(self) -> int:
        """The number of states."""
        return len(self.finals)

    def step(self, state: State, byte: int) -> State:
        """The state after a byte, or ``DEAD``."""
        return int(self.table[state, self.classes[byte]])

    def run(self, data: bytes, state: State | None = None) -> State:
        """The state after all of ``data``, or ``DEAD``."""
        here = self.initial if state is None else state
        for byte in data:
            if (here := self.step(here, byte)) == DEAD:
                return DEAD
        return here

    def is_final(self, state: State) -> bool:
        """Whether the text that leads to a state is accepted."""
        return bool(self.finals[state])

    def accepts(self, data: bytes) -> bool:
        """Whether the whole of ``data`` is in the language."""
        end = self.run(data)
        return end != DEAD and bool(self.finals[end])

    @property
    def is_empty(self) -> bool:
        """Whether no text is accepted."""
        return not self.finals.any()


def used_bytes(table: npt.NDArray[np.int32], classes: npt.NDArray[np.uint16]) -> set[int]:
    """The bytes that at least one state of a machine reads; ``classes`` may have calls behind."""
    reads = np.asarray((table >= 0).any(axis=0))
    return set(np.flatnonzero(reads[classes]).tolist())
