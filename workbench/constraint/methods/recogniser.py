"""Recognisers of prefixes, over bytes and over characters.

What every online checker puts to its tokens; here stands the one that reads the grammar's own
machine, and the memory that recognisers written in Python share.

What may come next stays as long as what has come of a character may begin one that is read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

from workbench.base.dfa import DEAD
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.engine.automaton import AutomatonConstraint
from workbench.constraint.protocol import State

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

    def is_coaccessible(self, state: State) -> bool:
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

    def is_coaccessible(self, state: Kept) -> bool:
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

    def is_coaccessible(self, state: int) -> bool:
        return self._engine.is_coaccessible(state)


#: The first and the last of some characters.
Range = tuple[int, int]

#: What a recogniser knows after whole characters.
Whole = TypeVar("Whole", bound=Hashable)

#: For each number of bytes the lowest character written in so many, and the bytes that begin one.
_FORMS = {
    1: (0, 0x00, 0x7F),
    2: (0x80, 0xC2, 0xDF),
    3: (0x800, 0xE0, 0xEF),
    4: (0x10000, 0xF0, 0xF4),
}


class ByCharacters(Remembering[tuple[Whole, bytes]], Generic[Whole]):
    """Its states are what is known after the whole characters, and the bytes of the one begun."""

    initial: tuple[Whole, bytes]

    def __init__(self, limits: Limits = LIMITS) -> None:
        super().__init__(limits)

    @abstractmethod
    def ends(self, whole: Whole) -> bool:
        """Whether the text is accepted after whole characters."""

    @abstractmethod
    def may_read(self, whole: Whole, characters: Range) -> Whole | None:
        """What is left where one of some characters comes next; None where none can."""

    @abstractmethod
    def read(self, whole: Whole) -> Whole:
        """After that character, when all of it is read."""

    def is_final(self, state: tuple[Whole, bytes]) -> bool:
        return not state[1] and self.ends(state[0])

    def made(self, state: tuple[Whole, bytes], byte: int) -> tuple[Whole, bytes] | None:
        whole, begun = state
        data = begun + bytes((byte,))
        characters = characters_from(data)
        left = None if characters is None else self.may_read(whole, characters)
        if left is None:
            return None
        return (self.read(left), b"") if len(data) == _length(data[0]) else (left, data)


def characters_from(data: bytes) -> Range | None:
    """The first and the last character that begin with some bytes; None where none does.

    Surrogates are not told apart: no set has them.
    """
    length = _length(data[0])
    if length is None or any(byte >> 6 != 0b10 for byte in data[1:]):
        return None
    value = data[0] if length == 1 else data[0] & (0x7F >> length)
    for byte in data[1:]:
        value = value << 6 | byte & 0x3F
    missing = 6 * (length - len(data))
    low, high = value << missing, (value + 1 << missing) - 1
    low, high = max(low, _FORMS[length][0]), min(high, 0x10FFFF)
    return (low, high) if low <= high else None


def _length(first: int) -> int | None:
    """How many bytes a character has that begins with this one; None where none does."""
    for length, (_, low, high) in _FORMS.items():
        if low <= first <= high:
            return length
    return None
