"""Recogniser: can what has been read still become an accepted text? Asked byte by byte.

What every online checker puts to its tokens; here stands the one that reads the grammar's own
machine, and the memory that recognisers written in Python share.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

from workbench.automata.dfa import DEAD
from workbench.constraint.automaton import AutomatonConstraint
from workbench.constraint.protocol import State
from workbench.limits import LIMITS, Limits

#: The states of a recogniser that keeps its steps.
Kept = TypeVar("Kept", bound=Hashable)


class Stepping(Protocol):
    """What reads byte by byte; its states are immutable, hashable values."""

    def step(self, state: State, byte: int) -> State | None:
        """The state after a byte, or None where no accepted text goes on so."""
        ...

    def is_final(self, state: State) -> bool:
        """Whether the text read so far is accepted."""
        ...


class Recogniser(Stepping, Protocol):
    """An incremental recogniser of texts that tokens spell."""

    @property
    def initial(self) -> State: ...

    def leads_on(self, state: State) -> bool:
        """Whether whole tokens can lead from here, between two tokens, to an accepted text."""
        ...


def read(reader: Stepping, state: State, data: bytes) -> State | None:
    """The state after some bytes, or None where they cannot be read."""
    for byte in data:
        there = reader.step(state, byte)
        if there is None:
            return None
        state = there
    return state


def forced(reader: Stepping, state: State) -> bytes:
    """The bytes every accepted text goes on with; empty where it branches or may end.

    Cost: 256 steps a byte.
    """
    found = bytearray()
    while not reader.is_final(state):
        steps = ((byte, reader.step(state, byte)) for byte in range(256))
        there = [(byte, after) for byte, after in steps if after is not None]
        if len(there) != 1:
            break
        byte, state = there[0]
        found.append(byte)
    return bytes(found)


class Remembering(ABC, Generic[Kept]):
    """A recogniser that keeps the steps it made, so that tokens that begin alike share them.

    Even of the grammar's machine a mask of 131k tokens inside a JSON string takes 94 ms flat with
    it, 208 without; over the trie 69 and 110.
    Whatever it has read can be finished, by bytes; whether by whole tokens it does not know, so
    where the vocabulary lacks bytes the grammar uses a mask may come to be empty.
    """

    initial: Kept

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.limits = limits
        self._steps: dict[tuple[Kept, int], Kept | None] = {}

    def step(self, state: Kept, byte: int) -> Kept | None:
        """The state after a byte, or None where no accepted text goes on so."""
        key = state, byte
        if key in self._steps:
            return self._steps[key]
        if len(self._steps) >= self.limits.states:
            self._steps.clear()
        made = self._steps[key] = self.made(state, byte)
        return made

    @abstractmethod
    def made(self, state: Kept, byte: int) -> Kept | None:
        """A step that is not remembered."""

    @abstractmethod
    def is_final(self, state: Kept) -> bool:
        """Whether the text read so far is accepted."""

    def leads_on(self, state: Kept) -> bool:
        return True


class OfMachine(Remembering[int]):
    """The grammar's own machine, read as the exact engine reads it, without its rows.

    Where the vocabulary lacks bytes the grammar uses, dead ends are known, as they are there.
    """

    def __init__(self, engine: AutomatonConstraint) -> None:
        super().__init__(engine.limits)
        self._engine = engine
        self.initial = engine.initial

    def made(self, state: int, byte: int) -> int | None:
        there = self._engine.step(state, byte)
        return None if there == DEAD else there

    def is_final(self, state: int) -> bool:
        return self._engine.is_final(state)

    def leads_on(self, state: int) -> bool:
        return self._engine.leads_on(state)
