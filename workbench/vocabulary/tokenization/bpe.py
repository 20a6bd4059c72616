"""Bpe: the byte-pair encoding of a vocabulary: its encoder and its canonical token sequences.

A token sequence is *proper* (canonical) if encoding its text gives the same sequence (Tran-Thien
2024). With merges alone, it is proper exactly if all its tokens are canonical and all adjacent
pairs pass the pair test (``pair_test``). The pre-tokenizer, byte fallback and tokens that are taken
whole are described by a further automaton (``guide``).
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
from workbench.vocabulary.tokenization.encode import Alphabet, alphabet, check_encoder, merged
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
from workbench.vocabulary.tokenization.merge_tables import is_monotone, strictly_ordered, tables_of
from workbench.vocabulary.tokenization.pair_test import pair_ok
from workbench.vocabulary.tokenization.pretokenizer import Pretokens, pretokens, splitter
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

_making = threading.Lock()


@dataclass(frozen=True, eq=False)
class Bpe:
    """The normalised merges of a vocabulary; built by ``Bpe.of``, once for each vocabulary."""

    vocabulary: Vocabulary
    #: The arrays for kernels such as ``pair_test.may_follow`` and ``pair_test.forbid``.
    tables: Tables

    @staticmethod
    def of(vocabulary: Vocabulary) -> Bpe:
        """The merges of a vocabulary, built at the first call and cached with it.

        Raises: VocabularyError with the reason if proper tokenization cannot be computed exactly.
        """
        with _making:
            kept = vars(vocabulary)
            if "_bpe" not in kept:
                try:
                    kept["_bpe"] = _made(vocabulary)
                except VocabularyError as error:  # cached: this is called for every tested text
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
        """Whether a token occurs in some encoding; special tokens never do.

        For a byte of byte fallback: whether it occurs in a character that is not a token.
        """
        return bool(self.canonical[token])

    @cached_property
    def canonical(self) -> Bools:
        """Which tokens occur in some encoding, (V,), read-only."""
        found: Bools = self.tables.rank != NOT_PRODUCED
        found[[*self.words.values(), *self.vocabulary.added]] = True
        found.setflags(write=False)
        return found

    def pair_ok(self, first: TokenId, second: TokenId) -> bool:
        """Whether two tokens may be adjacent inside one piece of the text, by merges alone.

        At the boundary of two pieces every pair is allowed. Which bytes of byte fallback may follow
        each other is decided by the ``guide``.
        """
        return bool(pair_ok(self.tables, first, second))

    def row(self, token: TokenId) -> Ints:
        """The tokens that may not follow a token inside a piece, as intervals of ``tables.order``.

        Shape: (n, 2), disjoint and sorted; ``order[row[i, 0]:row[i, 1]]`` are token ids. Tokens
               that merging does not produce are in no row; their own row contains all others.
        Raises: VocabularyError if the table is not monotone: its rows are not intervals.
        """
        if len(self.tables.exceptions):
            raise VocabularyError(
                f"the merge rules of {self.vocabulary.name} are not monotone, so its rows are not"
                " intervals",
                "use 'row_mask' instead",
            )
        room = self._room
        found = room[: pair_test.row_intervals(self.tables, token, room)]
        return pair_test.merged_intervals(found)

    def row_mask(self, token: TokenId) -> Words:
        """The tokens that may not follow a token inside a piece, as bits by token id.

        Shape: (ceil(V / 32),) uint32, as in ``TokenMask``; a new array.
        """
        bits = np.full((len(self.vocabulary) + 31) // 32, 0xFFFFFFFF, np.uint32)
        pair_test.forbid(self.tables, token, self._room, bits)
        return ~bits

    @cached_property
    def monotone(self) -> bool:
        """Whether every rule comes after the rules that produce its two sides."""
        return is_monotone(self.tables)

    @property
    def _room(self) -> Ints:
        return np.empty((self._max_intervals, 2), np.int32)

    @cached_property
    def _max_intervals(self) -> int:
        return len(pair_test.row_buffer(self.tables))

    @cached_property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The live rules as texts, in a strict monotone order that gives the same encodings.

        Algorithms that apply the rules one after the other must use this order.

        Raises: VocabularyError if there is no such order.
        """
        tables = strictly_ordered(lambda: rules_of(self.vocabulary), self.tables)
        made = np.flatnonzero(tables.rank > SYMBOL)
        tokens = self.vocabulary.tokens
        ranked = made[np.argsort(tables.rank[made], kind="stable")]
        sides = zip(tables.left[ranked].tolist(), tables.right[ranked].tolist(), strict=True)
        return [(tokens[left] or b"", tokens[right] or b"") for left, right in sides]

    @cached_property
    def words(self) -> dict[str, TokenId]:
        """The tokens that are taken whole although merges do not produce them, by their text.

        Only if the tokenizer ignores merges for a piece that is a token (tiktoken, Llama 3).
        """
        has_text = Packed.of(self.vocabulary.tokens).lengths >= 0
        if not self.vocabulary.ignore_merges or not np.any(
            has_text & (self.tables.rank == NOT_PRODUCED)
        ):
            return {}
        ids = ids_by_spelling(spellings(self.vocabulary))
        return {text: t for text, t in ids.items() if self.tables.rank[t] == NOT_PRODUCED}

    @cached_property
    def pretokens(self) -> Pretokens | None:
        """The automaton K of the pre-tokenizer, or None if the tokenizer has none.

        Raises: VocabularyError if there is no small automaton.
        """
        return pretokens(*self._patterns) if self._patterns else None

    @cached_property
    def guide(self) -> Guide | None:
        """Everything in the tokenizer except merges, as one automaton; None if there is nothing.

        Cost:   about half a second for a new pre-tokenizer pattern, which is then cached on disk.
        Raises: VocabularyError if it cannot be computed exactly.
        """
        return guide_of(self.vocabulary, self.tables, self.pretokens, sorted(self.words.values()))

    def encode(self, text: bytes | str) -> list[TokenId]:
        """The tokens of a text, without anything the tokenizer adds before or after it.

        Cost:   0.3 µs for each symbol of a long text, 10 to 20 µs for a line.
        Raises: VocabularyError if a byte or character of the text has no token.
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
        """Whether encoding the text of the tokens gives the same tokens."""
        try:
            return self.encode(self.vocabulary.decode(tokens)) == list(tokens)
        except VocabularyError:
            return False

    def _encoded(self, text: str) -> list[TokenId]:
        """The tokens of a text without added tokens."""
        if not text:
            return []
        if self.vocabulary.byte_fallback:
            text = text.replace(SPACE_SIGN, " ")  # as the tokenizer does
        symbols = self.alphabet.read(text)
        cuts = self._cuts(text, len(symbols))
        if self.words:
            symbols, cuts = self._with_words(text, symbols, cuts)
        found = merged(self.tables, symbols, cuts)
        return [id_ for token in found.tolist() for id_ in self._with_fallback(token)]

    def _with_words(self, text: str, symbols: Ints, cuts: list[int]) -> tuple[Ints, list[int]]:
        """The symbols and cuts, with every piece that is a word replaced by its token."""
        by_symbol = text if self.alphabet.characters else text.encode().decode("latin-1")
        parts, ends = [], [0]
        for begin, end in pairwise(cuts):
            word = self.words.get(by_symbol[begin:end])
            parts.append(symbols[begin:end] if word is None else np.array([word], np.int32))
            ends.append(ends[-1] + len(parts[-1]))
        return np.concatenate(parts), ends

    def _cuts(self, text: str, symbols: int) -> list[int]:
        """The symbol index at which each piece begins, and that at which the last one ends."""
        if not self._patterns:
            return [0, symbols]
        starts = splitter(*self._patterns)(text)
        if not self.alphabet.characters and not text.isascii():
            sizes = [len(text[i:j].encode()) for i, j in pairwise(starts)]
            starts = np.cumsum([0, *sizes]).tolist()
        return [*starts, symbols]

    def _with_fallback(self, token: int) -> tuple[TokenId, ...]:
        """A token, or the byte fallback tokens of a symbol that is not a token (−1 − code)."""
        if token >= 0:
            return (token,)
        code = -1 - token
        data = chr(code).encode() if self.alphabet.characters else bytes([code])
        found = tuple(self._fallback.get(byte, -1) for byte in data)
        if min(found) < 0:
            symbol = chr(code) if self.alphabet.characters else data
            raise VocabularyError(f"{self.vocabulary.name} has no token for {symbol!r}")
        return found

    @cached_property
    def _patterns(self) -> tuple[str, ...]:
        first = self.vocabulary.pretokenizer
        return () if first is None else (first, *self.vocabulary.cut_again)

    @cached_property
    def _fallback(self) -> dict[int, TokenId]:
        tokens = self.vocabulary.tokens
        return {(tokens[t] or b"\0")[0]: t for t in self.vocabulary.byte_fallback}

    @cached_property
    def _added_ids(self) -> dict[str, TokenId]:
        tokens = self.vocabulary.tokens
        return {(tokens[t] or b"").decode(): t for t in self.vocabulary.added}

    @cached_property
    def _added(self) -> re.Pattern[str] | None:
        texts = sorted(self._added_ids, key=len, reverse=True)
        return re.compile(f"({'|'.join(map(re.escape, texts))})") if texts else None


def _made(vocabulary: Vocabulary) -> Bpe:
    """The merges of a vocabulary, checked against its tokenizer if there is one.

    Raises: VocabularyError if proper tokenization cannot be computed exactly.
    """
    if vocabulary.unpredictable:
        raise VocabularyError(
            f"the encodings of {vocabulary.name} cannot be predicted exactly:"
            f" {vocabulary.unpredictable}",
            "choose another vocabulary, or a method that does not need it",
        )
    made = Bpe(vocabulary, tables_of(vocabulary))
    check_encoder(vocabulary, made.encode)
    return made
