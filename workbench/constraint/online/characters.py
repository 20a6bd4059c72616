"""Recognisers that read characters: a byte comes in, half a character is kept as it is.

What may come next stays as long as what has come of a character may begin one that is read.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Generic, TypeVar

from workbench.constraint.online.recogniser import Remembering
from workbench.limits import LIMITS, Limits

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
