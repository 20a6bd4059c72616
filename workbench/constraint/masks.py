"""``TokenMask``: the set of tokens that may come next, one bit for each token, read-only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import ClassVar

import numpy as np
import numpy.typing as npt

#: A mask with at most this many ids is read as a whole in an iteration, others by parts.
_FEW_IDS = 1_024
_WORDS_AT_ONCE = 128

#: The most bytes of the cached ids of masks with many ids.
_MAX_RECENT_BYTES = 1 << 24


class TokenMask:
    """Which of V tokens may come next.

    The layout is that of vLLM, xgrammar and llguidance, so a mask can be passed to any of
    their samplers: token i is bit ``i % 32`` of word ``i // 32``.

    Constraints cache thousands of masks, so a mask stores its bits, and its ids only if these
    take fewer bytes. Of the masks with many ids, the ids requested last are cached: those of the
    runs of a batch.

    Shape: ``bits`` (ceil(V / 32),) uint32, read-only; ``ids`` int32, sorted.
    """

    #: The ids of a mask that allows few tokens, after the first request.
    _ids: npt.NDArray[np.int32] | None = None
    #: Masks with many ids whose ids were requested last, and these ids, by the mask's ``id``.
    _recent: ClassVar[dict[int, tuple[TokenMask, npt.NDArray[np.int32]]]] = {}

    def __init__(self, bits: npt.NDArray[np.uint32], size: int) -> None:
        if len(bits) != (size + 31) // 32:
            raise ValueError(f"{size} tokens need {(size + 31) // 32} words, not {len(bits)}")
        bits.setflags(write=False)
        self.bits = bits
        #: V, the vocabulary's size (``len`` is the number of allowed tokens).
        self.size = size

    @staticmethod
    def of(ids: Iterable[int], size: int) -> TokenMask:
        """The mask that allows exactly these tokens of a vocabulary of ``size``."""
        allowed = np.zeros(size, np.bool_)
        allowed[np.fromiter(ids, np.int64)] = True
        return TokenMask(pack(allowed), size)

    def __contains__(self, token_id: int) -> bool:
        return 0 <= token_id < self.size and bool(self.bits[token_id >> 5] >> (token_id & 31) & 1)

    def __len__(self) -> int:
        return int(np.bitwise_count(self.bits).sum())

    def __iter__(self) -> Iterator[int]:
        if len(self) <= _FEW_IDS:
            return iter(self.ids.tolist())
        # not all at once: a search may be in the middle of many masks at a time
        words = range(0, len(self.bits), _WORDS_AT_ONCE)
        return chain.from_iterable(map(self._ids_in_words, words))

    def _ids_in_words(self, begin: int) -> list[int]:
        """The ids whose bits are in the words from ``begin`` that are read together."""
        words = self.bits[begin : begin + _WORDS_AT_ONCE].view(np.uint8)
        positions = np.flatnonzero(np.unpackbits(words, bitorder="little"))
        ids: list[int] = (32 * begin + positions).tolist()
        return ids

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenMask):
            return NotImplemented
        return self.size == other.size and bool(np.array_equal(self.bits, other.bits))

    __hash__ = None  # type: ignore[assignment]  # masks hold arrays

    def __repr__(self) -> str:
        return f"TokenMask({len(self)} of {self.size})"

    def without(self, ids: Iterable[int]) -> TokenMask:
        """The mask without some tokens; itself if it has none of them."""
        present = [i for i in ids if i in self]
        if not present:
            return self
        bits = self.bits.copy()
        set_bits(bits, present, allowed=False)
        return TokenMask(bits, self.size)

    @property
    def bools(self) -> npt.NDArray[np.bool_]:
        """The mask as V booleans, read-only; a new array."""
        unpacked = np.unpackbits(self.bits.view(np.uint8), bitorder="little")[: self.size]
        allowed = unpacked.view(np.bool_)
        allowed.setflags(write=False)
        return allowed

    @property
    def ids(self) -> npt.NDArray[np.int32]:
        """The allowed token ids, sorted, read-only."""
        if self._ids is not None:
            return self._ids
        recent = TokenMask._recent.get(id(self))
        if recent is not None:
            return recent[1]
        ids = np.flatnonzero(self.bools).astype(np.int32)
        ids.setflags(write=False)
        if ids.nbytes <= self.bits.nbytes:
            self._ids = ids
        else:
            if (len(TokenMask._recent) + 1) * ids.nbytes > _MAX_RECENT_BYTES:
                TokenMask._recent = {}
            TokenMask._recent[id(self)] = self, ids
        return ids


def set_bits(bits: npt.NDArray[np.uint32], ids: Iterable[int], *, allowed: bool) -> None:
    """Allow or forbid some tokens in packed bits, in place."""
    for token_id in ids:
        if allowed:
            bits[token_id >> 5] |= 1 << (token_id & 31)
        else:
            bits[token_id >> 5] &= 0xFFFFFFFF ^ (1 << (token_id & 31))


def pack(allowed: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint32]:
    """Pack V booleans into ceil(V / 32) words; the padding bits are 0."""
    words = np.zeros((len(allowed) + 31) // 32 * 4, np.uint8)
    packed = np.packbits(allowed, bitorder="little")
    words[: len(packed)] = packed
    return words.view(np.uint32)
