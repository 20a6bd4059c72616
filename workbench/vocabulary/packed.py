"""Packed: many byte strings as two arrays, made into Python's bytes when they are asked for.

A vocabulary of 131k tokens is read from disk in a millisecond so; as a list it takes thirty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import overload

import numpy as np
import numpy.typing as npt


class Packed(Sequence[bytes | None]):
    """A sequence of byte strings and None, like a tuple of them and equal to it.

    Shape: ``text`` (B,) uint8, all bytes; ``lengths`` (V,) int32, how many each has, −1 for None.
    Raises: ValueError where the two do not fit together.
    """

    def __init__(self, text: npt.NDArray[np.uint8], lengths: npt.NDArray[np.int32]) -> None:
        self.text, self.lengths = text, lengths
        self._ends = np.cumsum(np.maximum(lengths, 0), dtype=np.int64)
        if (
            lengths.min(initial=0) < -1
            or int(self._ends[-1] if len(lengths) else 0) != len(text)
            or text.dtype != np.uint8
            or lengths.dtype != np.int32
        ):
            raise ValueError("lengths and bytes do not fit together")

    @staticmethod
    def of(tokens: Sequence[bytes | None]) -> Packed:
        """The same strings, packed."""
        if isinstance(tokens, Packed):
            return tokens
        lengths = np.array([-1 if t is None else len(t) for t in tokens], np.int32)
        text = np.frombuffer(b"".join([t for t in tokens if t is not None]), np.uint8)
        return Packed(text, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    @overload
    def __getitem__(self, index: int) -> bytes | None: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[bytes | None, ...]: ...
    def __getitem__(self, index: int | slice) -> bytes | tuple[bytes | None, ...] | None:
        if isinstance(index, slice):
            return self._whole[index]
        if "_whole" in self.__dict__:
            return self._whole[index]
        length, end = int(self.lengths[index]), int(self._ends[index])
        return None if length < 0 else self.text[end - length : end].tobytes()

    def __iter__(self) -> Iterator[bytes | None]:
        return iter(self._whole)

    def __contains__(self, token: object) -> bool:
        return token in self._whole

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Packed):
            return np.array_equal(self.lengths, other.lengths) and np.array_equal(
                self.text, other.text
            )
        return self._whole == other if isinstance(other, tuple) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it holds arrays

    def __repr__(self) -> str:
        return f"Packed({len(self)} strings)"

    @cached_property
    def _whole(self) -> tuple[bytes | None, ...]:
        """All strings, for whoever reads them all."""
        text = self.text.tobytes()
        lengths: list[int] = self.lengths.tolist()
        ends = accumulate(max(0, n) for n in lengths)
        return tuple(
            None if n < 0 else text[end - n : end] for n, end in zip(lengths, ends, strict=True)
        )

    def of_length(self, length: int) -> npt.NDArray[np.uint8]:
        """The bytes of all strings of one length, (strings, length)."""
        starts = self._ends[self.lengths == length] - length
        found: npt.NDArray[np.uint8] = self.text[starts[:, None] + np.arange(length)]
        return found
