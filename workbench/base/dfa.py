"""A deterministic finite automaton over bytes, stored as a table over byte classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from workbench.base.visible_text import count_of

T = TypeVar("T")

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

    def __repr__(self) -> str:
        return f"Dfa({count_of(len(self), 'state')})"

    def step(self, state: State, byte: int) -> State:
        """The state after a byte, or ``DEAD``."""
        return int(self.table[state, self.classes[byte]])

    def run(self, data: bytes, state: State | None = None) -> State:
        """The state after all of ``data``, or ``DEAD``."""
        current = self.initial if state is None else state
        for byte in data:
            if (current := self.step(current, byte)) == DEAD:
                return DEAD
        return current

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

    @property
    def data(self) -> bytes:
        """The bytes of the three arrays: machines with equal ones and initials are equal."""
        return b"".join(part.tobytes() for part in (self.classes, self.table, self.finals))


class LazyRows(dict[int, tuple[T, ...]]):
    """Rows of an array as tuples, each converted when it is first read.

    Reading a number of an array takes several times as long as one of a tuple. But one call that
    converts a table of the largest permitted size holds the interpreter's lock for seconds. The
    garbage collector does not visit tuples of numbers, as it does lists.
    """

    def __init__(self, read: Callable[[int], Iterable[T]]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, number: int) -> tuple[T, ...]:
        row = self[number] = tuple(self._read(number))
        return row


def table_rows(table: npt.NDArray[np.int32]) -> LazyRows[State]:
    """The rows of a table (Q, C) as tuples.

    Index −1 (``DEAD``) is the last row, which the caller may add.
    """
    return LazyRows(lambda state: table[state].tolist())


def used_bytes(table: npt.NDArray[np.int32], classes: npt.NDArray[np.uint16]) -> set[int]:
    """The bytes that at least one state of a machine reads; ``classes`` may have calls behind."""
    reads = np.asarray((table >= 0).any(axis=0))
    return set(np.flatnonzero(reads[classes]).tolist())
