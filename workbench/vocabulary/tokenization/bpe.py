"""Bpe: a vocabulary comes in, what its tokenizer would produce can be asked, pair by pair.

A token sequence is *proper* where encoding its text gives it back (Tran-Thien 2024). By merges
alone it is proper exactly when all its tokens are canonical and all adjacent pairs are fine; a
pre-tokenizer, byte fallback and tokens that are taken whole are told by automata beside that.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import cast

import numpy as np

from workbench.base.errors import VocabularyError
from workbench.vocabulary.disk_cache import Packed
from workbench.vocabulary.tokenization import pair_test
from workbench.vocabulary.tokenization.encode import Alphabet, alphabet, hold_against, merged
from workbench.vocabulary.tokenization.guide import SPACE_SIGN, Guide, guide_of
from workbench.vocabulary.tokenization.merge_kernels import (
    NOT_PRODUCED,
    SYMBOL,
    Bools,
    Ints,
    Tables,
    Words,
)
from workbench.vocabulary.tokenization.merge_rules import ids_by_spelling, rules_of, spellings
from workbench.vocabulary.tokenization.merge_tables import is_monotone, strict, tables_of
from workbench.vocabulary.tokenization.pair_test import pair_ok
from workbench.vocabulary.tokenization.pretokenizer import Pretokens, pretokens, splitter
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
            kept = vars(vocabulary)
            if "_bpe" not in kept:
                try:
                    kept["_bpe"] = _made(vocabulary)
                except VocabularyError as error:  # asked for again with every text that is judged
                    kept["_bpe"] = error
            found = kept["_bpe"]
        if isinstance(found, VocabularyError):
            raise VocabularyError(found.message, found.hint)
        return cast("Bpe", found)

    @cached_property
    def alphabet(self) -> Alphabet:
        """The symbols merging starts from."""
        return alphabet(self.vocabulary, self.tables)

    def is_canonical(self, token: TokenId) -> bool:
        """Whether a token is in any encoding; special tokens are in none.

        For a byte of byte fallback: whether it can be in a character that is no token.
        """
        return bool(self.canonical[token])

    @cached_property
    def canonical(self) -> Bools:
        """Which tokens are in any encoding, (V,), read-only."""
        found: Bools = self.tables.rank != NOT_PRODUCED
        found[[*self.words.values(), *self.vocabulary.added]] = True
        found.setflags(write=False)
        return found

    def pair_ok(self, first: TokenId, second: TokenId) -> bool:
        """Whether two tokens may stand next to each other inside one piece of the text.

        By merges alone: at a piece's border there is nothing to ask, and which bytes of byte
        fallback may follow each other their own automaton tells.
        """
        return bool(pair_ok(self.tables, first, second))

    def row(self, token: TokenId) -> Ints:
        """The tokens that may not follow one inside a piece, as intervals of ``tables.order``.

        Shape: (n, 2), disjoint and sorted; ``order[row[i, 0]:row[i, 1]]`` are token ids. Tokens
               that merging does not make are in no row, and their own row has all others.
        Raises: VocabularyError in a table that is not monotone, where rows are no intervals.
        """
        if len(self.tables.judged):
            raise VocabularyError(
                f"the merge rules of {self.vocabulary.name} are not monotone, so its rows are no"
                " intervals",
                "ask for the mask of the row",
            )
        room = self._room
        found = room[: pair_test.intervals(self.tables, token, room)]
        return pair_test.disjoint(found)

    def row_mask(self, token: TokenId) -> Words:
        """The tokens that may not follow one inside a piece, as bits by token id.

        Shape: (ceil(V / 32),) uint32, as in ``TokenMask``; a new array.
        """
        bits = np.full((len(self.vocabulary) + 31) // 32, 0xFFFFFFFF, np.uint32)
        pair_test.forbid(self.tables, token, self._room, bits)
        return ~bits

    @cached_property
    def monotone(self) -> bool:
        """Whether no token is made by an earlier rule than its sides are."""
        return is_monotone(self.tables)

    @property
    def _room(self) -> Ints:
        return np.empty((self._rules_along, 2), np.int32)

    @cached_property
    def _rules_along(self) -> int:
        return len(pair_test.room_for(self.tables))

    @cached_property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The live rules in a strict order that is monotone and encodes alike, by their text.

        What applies rules one after the other may use these and no others.

        Raises: VocabularyError where there is no such order.
        """
        tables = strict(lambda: rules_of(self.vocabulary), self.tables)
        made = np.flatnonzero(tables.rank > SYMBOL)
        spelt = self.vocabulary.tokens
        ranked = made[np.argsort(tables.rank[made], kind="stable")]
        sides = zip(tables.left[ranked].tolist(), tables.right[ranked].tolist(), strict=True)
        return [(spelt[left] or b"", spelt[right] or b"") for left, right in sides]

    @cached_property
    def words(self) -> dict[str, TokenId]:
        """The tokens taken whole though merges do not make them, by what they spell.

        Only where the tokenizer ignores merges for a piece that is a token (tiktoken, Llama 3).
        """
        spelling = Packed.of(self.vocabulary.tokens).lengths >= 0
        if not self.vocabulary.ignore_merges or not np.any(
            spelling & (self.tables.rank == NOT_PRODUCED)
        ):
            return {}
        ids = ids_by_spelling(spellings(self.vocabulary))
        return {text: t for text, t in ids.items() if self.tables.rank[t] == NOT_PRODUCED}

    @cached_property
    def pretokens(self) -> Pretokens | None:
        """The automaton K of the pre-tokenizer, or None where nothing is cut before merging.

        Raises: VocabularyError where there is no small one.
        """
        return pretokens(*self._patterns) if self._patterns else None

    @cached_property
    def guide(self) -> Guide | None:
        """What is more than merges, as one automaton; None where merges are all there is.

        Cost:   about half a second for a new pre-tokenizer's pattern, which is then kept on disk.
        Raises: VocabularyError where it cannot be said exactly.
        """
        return guide_of(self.vocabulary, self.tables, self.pretokens, sorted(self.words.values()))

    def encode(self, text: bytes | str) -> list[TokenId]:
        """What the tokenizer makes of a text, without anything it would put before or after it.

        Cost:   0.3 µs a symbol of a long text, 10 to 20 µs for a line.
        Raises: VocabularyError where a byte or character of the text has no token.
        """
        try:
            read = text.decode() if isinstance(text, bytes) else text
            read.encode()
        except UnicodeError:
            raise VocabularyError("expected a text in UTF-8") from None
        if self._added is None:
            return self._encoded(read)
        found: list[TokenId] = []
        for part in self._added.split(read):
            token = self._added_ids.get(part)
            found.extend(self._encoded(part) if token is None else [token])
        return found

    def is_proper(self, tokens: Sequence[TokenId]) -> bool:
        """Whether encoding what the tokens spell gives them back."""
        try:
            return self.encode(self.vocabulary.decode(tokens)) == list(tokens)
        except VocabularyError:
            return False

    def _encoded(self, text: str) -> list[TokenId]:
        """A stretch of text without added tokens."""
        if not text:
            return []
        if self.vocabulary.byte_fallback:
            text = text.replace(SPACE_SIGN, " ")  # so the tokenizer takes it
        symbols = self.alphabet.read(text)
        cuts = self._cuts(text, len(symbols))
        if self.words:
            symbols, cuts = self._with_words(text, symbols, cuts)
        found = merged(self.tables, symbols, cuts)
        return [id_ for token in found.tolist() for id_ in self._spelt(token)]

    def _with_words(self, text: str, symbols: Ints, cuts: list[int]) -> tuple[Ints, list[int]]:
        """The symbols where every piece that is a word is its token already."""
        spelt = text if self.alphabet.characters else text.encode().decode("latin-1")
        parts, ends = [], [0]
        for begin, end in pairwise(cuts):
            word = self.words.get(spelt[begin:end])
            parts.append(symbols[begin:end] if word is None else np.array([word], np.int32))
            ends.append(ends[-1] + len(parts[-1]))
        return np.concatenate(parts), ends

    def _cuts(self, text: str, symbols: int) -> list[int]:
        """Where pieces begin, in symbols, and where the last ends."""
        if not self._patterns:
            return [0, symbols]
        starts = splitter(*self._patterns)(text)
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
    def _patterns(self) -> tuple[str, ...]:
        first = self.vocabulary.pretokenizer
        return () if first is None else (first, *self.vocabulary.cut_again)

    @cached_property
    def _fallback(self) -> dict[int, TokenId]:
        spelt = self.vocabulary.tokens
        return {(spelt[t] or b"\0")[0]: t for t in self.vocabulary.byte_fallback}

    @cached_property
    def _added_ids(self) -> dict[str, TokenId]:
        spelt = self.vocabulary.tokens
        return {(spelt[t] or b"").decode(): t for t in self.vocabulary.added}

    @cached_property
    def _added(self) -> re.Pattern[str] | None:
        texts = sorted(self._added_ids, key=len, reverse=True)
        return re.compile(f"({'|'.join(map(re.escape, texts))})") if texts else None


def _made(vocabulary: Vocabulary) -> Bpe:
    """The merges of a vocabulary, held against its tokenizer where it has one.

    Raises: VocabularyError where proper tokenization cannot be said exactly.
    """
    if vocabulary.unpredictable:
        raise VocabularyError(
            f"what {vocabulary.name} would produce cannot be said exactly:"
            f" {vocabulary.unpredictable}",
            "choose another vocabulary, or a method that does not need it",
        )
    made = Bpe(vocabulary, tables_of(vocabulary))
    hold_against(vocabulary, made.encode)
    return made
