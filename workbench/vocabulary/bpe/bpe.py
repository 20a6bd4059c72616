"""Bpe: a vocabulary comes in, what its tokenizer would produce can be asked, pair by pair.

A token sequence is *proper* where encoding its text gives it back (Tran-Thien 2024). By merges
alone it is proper exactly when all its tokens are canonical and all adjacent pairs are fine; a
pre-tokenizer, byte fallback and tokens that are taken whole are told by automata beside that.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from workbench.errors import VocabularyError
from workbench.vocabulary.bpe import rows
from workbench.vocabulary.bpe.build import tables_of
from workbench.vocabulary.bpe.encode import Alphabet, alphabet, merged
from workbench.vocabulary.bpe.pairs import pair_ok
from workbench.vocabulary.bpe.pieces import splitter
from workbench.vocabulary.bpe.rules import rules_of
from workbench.vocabulary.bpe.tables import NOWHERE, SYMBOL, Ints, Tables, Words
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

_making = threading.Lock()


@dataclass(frozen=True, eq=False)
class Bpe:
    """The merges of a vocabulary, normalised; made by ``Bpe.of``, once for each vocabulary."""

    vocabulary: Vocabulary
    #: The arrays kernels read: ``pairs.joined(tables, t, u)``, ``rows.forbid(tables, t, …)``.
    tables: Tables

    @staticmethod
    def of(vocabulary: Vocabulary) -> Bpe:
        """The merges of a vocabulary, made when first asked for and kept with it.

        Raises: VocabularyError with the reason where proper tokenization cannot be said exactly.
        """
        with _making:
            made = vars(vocabulary).get("_bpe")
            if not isinstance(made, Bpe):
                made = Bpe(vocabulary, tables_of(rules_of(vocabulary)))
                vars(vocabulary)["_bpe"] = made
            return made

    @cached_property
    def alphabet(self) -> Alphabet:
        """The symbols merging starts from."""
        return alphabet(self.vocabulary)

    def is_canonical(self, token: TokenId) -> bool:
        """Whether a token is in any encoding; special tokens are in none.

        For a byte of byte fallback: whether it can be in a character that is no token.
        """
        return bool(self.tables.rank[token] != NOWHERE)

    def pair_ok(self, first: TokenId, second: TokenId) -> bool:
        """Whether two tokens may stand next to each other inside one piece of the text.

        By merges alone: at a piece's border there is nothing to ask, and which bytes of byte
        fallback may follow each other their own automaton tells.
        """
        return bool(pair_ok(self.tables, first, second))

    def row(self, token: TokenId) -> Ints:
        """The tokens that may not follow one inside a piece, as intervals of ``tables.order``.

        Shape: (n, 2), disjoint and sorted; ``order[row[i, 0]:row[i, 1]]`` are token ids. Tokens
               that are not canonical are in no row.
        Raises: VocabularyError in a table that is not monotone, where rows are no intervals.
        """
        if not self.monotone:
            raise VocabularyError(
                f"the merge rules of {self.vocabulary.name} are not monotone, so its rows are no"
                " intervals",
                "ask for the mask of the row",
            )
        room = self._room
        found = room[: rows.intervals(self.tables, token, room)]
        return rows.disjoint(found)

    def row_mask(self, token: TokenId) -> Words:
        """The tokens that may not follow one inside a piece, as bits by token id.

        Shape: (ceil(V / 32),) uint32, as in ``TokenMask``; a new array.
        """
        bits = np.full((len(self.vocabulary) + 31) // 32, 0xFFFFFFFF, np.uint32)
        rows.forbid(self.tables, token, self._room, bits)
        return ~bits

    @property
    def monotone(self) -> bool:
        """Whether no token is made by an earlier rule than its sides; then rows are intervals."""
        return not len(self.tables.misjudged)

    @property
    def _room(self) -> Ints:
        return np.empty((self._rules_along, 2), np.int32)

    @cached_property
    def _rules_along(self) -> int:
        return len(rows.room_for(self.tables))

    @cached_property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The live rules in rank order, as what their sides spell."""
        live = np.flatnonzero(self.tables.rank > SYMBOL)
        ranked = live[np.argsort(self.tables.rank[live], kind="stable")].tolist()
        spelt = self.vocabulary.tokens
        sides = ((self.tables.left[t], self.tables.right[t]) for t in ranked)
        return [(spelt[left] or b"", spelt[right] or b"") for left, right in sides]

    def encode(self, text: bytes | str) -> list[TokenId]:
        """What the tokenizer makes of a text, without anything it would put before or after it.

        Cost:   1 µs a symbol.
        Raises: VocabularyError where a byte or character of the text has no token.
        """
        try:
            read = text.decode() if isinstance(text, bytes) else text
            symbols = self.alphabet.read(read)
        except UnicodeError:
            raise VocabularyError("expected a text in UTF-8") from None
        found = merged(self.tables, symbols, self._cuts(read, len(symbols)))
        return [id_ for token in found.tolist() for id_ in self._spelt(token)]

    def _cuts(self, text: str, symbols: int) -> list[int]:
        """Where pieces begin, in symbols, and where the last ends."""
        if self.vocabulary.pretokenizer is None:
            return [0, symbols]
        starts = splitter(self.vocabulary.pretokenizer)(text)
        if not self.alphabet.characters and not text.isascii():
            sizes = [len(text[i:j].encode()) for i, j in pairwise(starts)]
            starts = np.cumsum([0, *sizes]).tolist()
        return [*starts, symbols]

    def _spelt(self, token: int) -> tuple[TokenId, ...]:
        """A token, or the bytes of a symbol that is none."""
        if token >= 0:
            return (token,)
        code = -1 - token
        spelling = chr(code).encode() if self.alphabet.characters else bytes([code])
        found = tuple(self._fallback.get(byte, -1) for byte in spelling)
        if min(found) < 0:
            told = chr(code) if self.alphabet.characters else spelling
            raise VocabularyError(f"{self.vocabulary.name} has no token for {told!r}")
        return found

    @cached_property
    def _fallback(self) -> dict[int, TokenId]:
        spelt = self.vocabulary.tokens
        return {(spelt[t] or b"\0")[0]: t for t in self.vocabulary.byte_fallback}
