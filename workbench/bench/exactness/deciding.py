"""Columns and a vocabulary → for every token whether it may come next, each by its own bytes.

All distinct tokens are read at once, a byte of each at a time, through a table that is filled in
as pairs of column and byte are met. No prefixes are shared and nothing is skipped.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.bench.exactness.columns import DEAD, Column, Recogniser
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

_UNKNOWN = -2

Columns = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


class Spellings:
    """The distinct byte strings of a vocabulary.

    Shape: ``text`` all bytes; ``starts`` and ``lengths`` (D,); ``place`` (V,) where each token's
           string is, −1 for special tokens.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        distinct = dict.fromkeys(token for token in vocabulary.tokens if token is not None)
        number = {token: i for i, token in enumerate(distinct)}
        self.text = np.frombuffer(b"".join(distinct), np.uint8)
        self.lengths = np.array([len(token) for token in distinct], np.int64)
        self.starts = np.cumsum(self.lengths) - self.lengths
        self.place = np.array(
            [-1 if token is None else number[token] for token in vocabulary.tokens], np.int64
        )
        self.end: TokenId | None = vocabulary.end
        #: Whether every byte is a token, so that whatever can be read can be spelt.
        self.whole = all(bytes((byte,)) in number for byte in range(256))


class Decider:
    """The masks of one grammar over one vocabulary, by brute force."""

    def __init__(self, recogniser: Recogniser, spellings: Spellings) -> None:
        self.recogniser = recogniser
        self._spellings = spellings
        self._table = np.full((64, 256), _UNKNOWN, np.int32)
        self._finishing: dict[Column, bool | None] = {}

    def step(self, column: Column, byte: int) -> Column:
        """The column after a byte, remembered."""
        if column == DEAD:
            return DEAD
        known = int(self._table[column, byte]) if column < len(self._table) else _UNKNOWN
        if known == _UNKNOWN:
            known = self.recogniser.step(column, byte)
            while max(column, known) >= len(self._table):
                more = np.full_like(self._table, _UNKNOWN)
                self._table = np.concatenate([self._table, more])
            self._table[column, byte] = known
        return known

    def run(self, column: Column, data: bytes) -> Column:
        """The column after some bytes, or ``DEAD``."""
        for byte in data:
            column = self.step(column, byte)
        return column

    def after(self, column: Column) -> Columns:
        """The column after each distinct token, (D,)."""
        spellings = self._spellings
        found = np.full(len(spellings.lengths), column, np.int32)
        reading = np.arange(len(found))
        for level in range(int(spellings.lengths.max(initial=0))):
            reading = reading[(spellings.lengths[reading] > level) & (found[reading] != DEAD)]
            if not len(reading):
                break
            bytes_ = spellings.text[spellings.starts[reading] + level]
            found[reading] = self._steps(found[reading], bytes_)
        return found

    def _steps(self, columns: Columns, bytes_: npt.NDArray[np.uint8]) -> Columns:
        there = self._table[columns, bytes_]
        unknown = there == _UNKNOWN
        if unknown.any():
            pairs = np.unique(columns[unknown].astype(np.int64) << 8 | bytes_[unknown])
            for pair in pairs.tolist():
                self.step(pair >> 8, pair & 255)
            there = self._table[columns, bytes_]
        return there

    def mask(self, column: Column, patience: int) -> tuple[Bools, Bools]:
        """The tokens that may come next, and those of which that is known, (V,) both.

        Where single bytes are no tokens, a token must lead to others that end in an accepted
        text; that is looked for among ``patience`` columns, and unknown beyond them.
        """
        spellings = self._spellings
        after = self.after(column)
        allowed, known = after != DEAD, np.ones(len(after), np.bool_)
        if not spellings.whole:
            for there in np.unique(after[allowed]).tolist():
                finishes = self.finishes(there, patience)
                allowed[after == there] = finishes is True
                known[after == there] = finishes is not None
        spelt = spellings.place >= 0
        mask, sure = np.zeros(len(spelt), np.bool_), np.ones(len(spelt), np.bool_)
        mask[spelt], sure[spelt] = allowed[spellings.place[spelt]], known[spellings.place[spelt]]
        if spellings.end is not None:
            mask[spellings.end] = self.recogniser.accepts(column)
        return mask, sure

    def finishes(self, column: Column, patience: int) -> bool | None:
        """Whether tokens lead from a column to an accepted text; None where that is not known."""
        if self._spellings.whole or column == DEAD:
            return column != DEAD
        if column not in self._finishing:
            self._finishing[column] = self._finishes(column, patience)
        return self._finishing[column]

    def _finishes(self, column: Column, patience: int) -> bool | None:
        waiting, seen = [column], {column}
        for here in waiting:  # grows while it is read
            if self.recogniser.accepts(here) or self._finishing.get(here):
                return True
            if len(seen) > patience:
                return None
            following = set(np.unique(self.after(here)).tolist()) - {DEAD} - seen
            waiting.extend(sorted(following))
            seen |= following
        return False
