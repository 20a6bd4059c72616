"""Guiding: a vocabulary and its tables come in, the guide of its tokenizer goes out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.errors import VocabularyError
from workbench.vocabulary.bpe import guide as kernels
from workbench.vocabulary.bpe.added import added_table
from workbench.vocabulary.bpe.classes import NONE
from workbench.vocabulary.bpe.guide import (
    ADDED,
    FALLBACK_BYTE,
    NEVER_TAKEN,
    ORDINARY,
    WORD,
    GuideTables,
)
from workbench.vocabulary.bpe.lookup import rule_table
from workbench.vocabulary.bpe.pretokens import Pretokens
from workbench.vocabulary.bpe.rules import over_characters, spellings
from workbench.vocabulary.bpe.tables import NOWHERE, RuleTable, Tables
from workbench.vocabulary.bpe.utf8 import Table, utf8_table
from workbench.vocabulary.packed import Packed
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The sign SentencePiece writes a space as; a text with the sign itself comes out with a space.
SPACE_SIGN = "▁"


@dataclass(frozen=True, eq=False)
class Guide:
    """The automaton over marked tokens of everything in a tokenizer that is not merging.

    A *guess* is a number; ``start`` is the one before a text. Read token after token with
    ``take``, once with a mark and once without, and keep all guesses that come of it.
    """

    #: The arrays kernels read: ``guide.taken(tables, guess, token, marked)``.
    tables: GuideTables
    start: int = kernels.START

    def take(self, guess: int, token: TokenId, marked: bool) -> int | None:
        """The guess after a token, whose first character begins a piece of the text or not.

        None where the token cannot be read so.
        """
        after = int(kernels.take(self.tables, guess, token, int(marked)))
        return None if after < 0 else after

    def may_end(self, guess: int) -> bool:
        """Whether the text may end here."""
        return bool(kernels.may_end(self.tables, guess))

    def row(self, guess: int, marked: bool) -> npt.NDArray[np.int64]:
        """The guess after each token of the vocabulary, −1 where there is none, (V,); a new array.

        Cost: 1 ms for 32k tokens, 5 ms for 131k.
        """
        out = np.empty(len(self.tables.kind), np.int64)
        kernels.take_all(self.tables, guess, int(marked), out)
        return out


def guide_of(
    vocabulary: Vocabulary, tables: Tables, pretokens: Pretokens | None, words: list[TokenId]
) -> Guide | None:
    """The guide, or None where merges are the whole tokenizer.

    ``words`` are the tokens that are taken whole though merges do not make them.

    Raises: VocabularyError where the parts are too large for a guess.
    """
    plain = not (vocabulary.byte_fallback or words or vocabulary.added or pretokens)
    return None if plain else Guide(_tables(vocabulary, tables, pretokens, words))


def _tables(
    vocabulary: Vocabulary, tables: Tables, pretokens: Pretokens | None, words: list[TokenId]
) -> GuideTables:
    packed = Packed.of(vocabulary.tokens)
    edges, word_ends = _trie([vocabulary.tokens[token] or b"" for token in words])
    kind = np.where(tables.rank == NOWHERE, NEVER_TAKEN, ORDINARY).astype(np.int16)
    fallback = np.array(sorted(vocabulary.byte_fallback), np.int64)
    kind[fallback[tables.rank[fallback] != NOWHERE]] = FALLBACK_BYTE
    kind[words] = WORD
    added = sorted(vocabulary.added)
    kind[added] = ADDED + np.arange(len(added))
    around = added_table([vocabulary.tokens[t] or b"" for t in added], kernels.MOST_ADDED)
    if pretokens is None:
        of, steps, accepts = _one_class(), _one_piece(), np.ones(2, np.bool_)
    else:
        of, steps, accepts = pretokens.classes.of, pretokens.steps, pretokens.accepts
    made = GuideTables(
        text=packed.text,
        text_from=np.concatenate(([0], np.cumsum(np.maximum(packed.lengths, 0)))).astype(np.int32),
        kind=kind,
        characters=utf8_table(of, NONE),
        fallback=utf8_table(_of_no_token(vocabulary), NONE),
        steps=steps,
        accepts=accepts,
        added_bytes=around.bytes,
        added_tokens=around.tokens,
        word_edges=edges,
        word_ends=word_ends,
    )
    for array in (*made.word_edges, *made):
        if isinstance(array, np.ndarray):  # for those that may be written kernels compile again
            array.setflags(write=False)
    _check_sizes(made, vocabulary.name)
    return made


def _check_sizes(made: GuideTables, name: str) -> None:
    """Raises: VocabularyError where the parts are too large for a guess."""
    parts = (
        (len(made.accepts), kernels.MOST_K),
        (len(made.characters), kernels.MOST_NODES),
        (len(made.fallback), kernels.MOST_NODES),
        (len(made.word_ends), kernels.MOST_WORD),
    )
    if any(size > most for size, most in parts):
        raise VocabularyError(f"what {name} adds to its merges is too large to follow")


def _one_class() -> npt.NDArray[np.uint8]:
    """All characters alike."""
    of = np.zeros(0x110000, np.uint8)
    of[0xD800:0xE000] = NONE
    return of


def _one_piece() -> Table:
    """K where nothing is cut: the first character is marked, no other is."""
    return np.array([[[-1], [1]], [[1], [-1]]], np.int16)


def _of_no_token(vocabulary: Vocabulary) -> npt.NDArray[np.uint8]:
    """Class 0 for the characters byte fallback spells: those that are no token."""
    of = _one_class()
    if not vocabulary.byte_fallback or not over_characters(vocabulary):
        return of
    for text in spellings(vocabulary):
        if text is not None and len(text) == 1:
            of[ord(text)] = NONE
    of[ord(SPACE_SIGN)] = NONE
    return of


def _trie(words: list[bytes]) -> tuple[RuleTable, npt.NDArray[np.bool_]]:
    """The trie of some words; node 1 is its root, node 0 none at all."""
    edges: dict[tuple[int, int], int] = {}
    ends = {0: False, 1: False}
    for word in words:
        node = 1
        for byte in word:
            node = edges.setdefault((node, byte), len(edges) + 2)
            ends.setdefault(node, False)
        ends[node] = True
    rows = np.array([(*edge, node) for edge, node in edges.items()], np.int32).reshape(-1, 3)
    columns = [rows[:, i].copy() for i in range(3)]
    table = rule_table(columns[0], columns[1], columns[2], np.zeros(len(rows), np.int32))
    return table, np.array([ends[node] for node in range(len(ends))], np.bool_)
