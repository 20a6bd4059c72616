"""Rules: a Vocabulary comes in, all its merge rules and the symbols of its tokens go out.

Two kinds of tables: listed rules, ranked by their place (Hugging Face's files), and tables where
every way to cut a token into two tokens is a rule, ranked by the token it makes (SentencePiece by
the score of the piece, tiktoken by the rank of the token).
"""

from __future__ import annotations

import numpy as np

from workbench.errors import VocabularyError
from workbench.vocabulary.bpe.normalise import Rules
from workbench.vocabulary.bpe.tables import Ints
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


def over_characters(vocabulary: Vocabulary) -> bool:
    """Whether symbols are characters, not bytes.

    With byte fallback they are; without, where tokens of more than one byte are characters and
    no token is a part of one, which is how small tables over strings are written here.
    """
    if vocabulary.byte_fallback:
        return True
    if len(vocabulary.single_bytes) == 256:
        return False
    return all(_is_text(token) for token in vocabulary.tokens if token is not None)


def _is_text(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def rules_of(vocabulary: Vocabulary) -> Rules:
    """All rules of a vocabulary.

    Cost:   0.3 s for 131k tokens.
    Raises: VocabularyError where it carries none.
    """
    texts = spellings(vocabulary)
    ids = ids_by_spelling(texts)
    if vocabulary.ranks is not None:
        columns = _all_splits(texts, ids, vocabulary.ranks.tolist())
    elif vocabulary.merges is not None:
        columns = _listed(vocabulary, ids)
    else:
        raise VocabularyError(
            f"{vocabulary.name} has no merge rules, so what its tokenizer would produce is unknown",
            "choose a byte-pair encoding",
        )
    symbols, symbols_from = _symbols(vocabulary, texts, ids)
    if vocabulary.ranks is not None and np.any(symbols < 0):
        raise VocabularyError(
            f"{vocabulary.name} has tokens with characters that are no tokens themselves, which"
            " its tokenizer merges by what they spell"
        )
    left, right, result, rank = np.array(columns, np.int32).reshape(-1, 4).T.copy()
    return Rules(left, right, result, rank, symbols, symbols_from)


#: left, right, result, rank.
Row = tuple[TokenId, TokenId, TokenId, int]


def spellings(vocabulary: Vocabulary) -> list[str | None]:
    """What each token that merging knows spells, a character of the string for each symbol.

    Where symbols are bytes, a character is the byte of its number. None for tokens that merging
    does not know: special and added ones, and bytes of byte fallback.
    """
    known = list(vocabulary.tokens)
    for token in (*vocabulary.byte_fallback, *vocabulary.added):
        known[token] = None
    coding = "utf-8" if over_characters(vocabulary) else "latin-1"
    return [None if text is None else text.decode(coding) for text in known]


def ids_by_spelling(texts: list[str | None]) -> dict[str, TokenId]:
    """The first token of each spelling."""
    return {text: token for token, text in reversed(list(enumerate(texts))) if text is not None}


def _all_splits(texts: list[str | None], ids: dict[str, TokenId], ranks: list[int]) -> list[Row]:
    """Every cut of a ranked token into two tokens."""
    rows: list[Row] = []
    find = ids.get
    for token, text in enumerate(texts):
        if text is None or ranks[token] < 0:
            continue
        for cut in range(1, len(text)):
            left = find(text[:cut])
            if left is not None and (right := find(text[cut:])) is not None:
                rows.append((left, right, token, ranks[token]))
    return rows


def _listed(vocabulary: Vocabulary, ids: dict[str, TokenId]) -> list[Row]:
    """The rules in their order; those of added tokens never come to it, these are cut out before.

    Raises: VocabularyError where a side or a result is no token.
    """
    coding = "utf-8" if over_characters(vocabulary) else "latin-1"
    cut_out = {vocabulary.tokens[token] for token in vocabulary.added}
    rows: list[Row] = []
    for rank, pair in enumerate(vocabulary.merges or ()):
        if not cut_out.isdisjoint((*pair, pair[0] + pair[1])):
            continue
        left, right = (side.decode(coding, "surrogateescape") for side in pair)
        try:
            rows.append((ids[left], ids[right], ids[left + right], rank))
        except KeyError as error:
            missing: str = error.args[0]
            told = missing.encode("latin-1") if coding == "latin-1" else missing
            raise VocabularyError(
                f"rule {rank} of {vocabulary.name} has {told!r}, which is no token",
                "add it to the tokens, or leave the rule out",
            ) from None
    return rows


def _symbols(
    vocabulary: Vocabulary, texts: list[str | None], ids: dict[str, TokenId]
) -> tuple[Ints, Ints]:
    """The symbols of each token; a byte of byte fallback is one by itself, which no rule has."""
    alone = {token for token in vocabulary.byte_fallback if _of_no_piece(vocabulary, token, ids)}
    symbol_of = {text: token for text, token in ids.items() if len(text) == 1}
    spelt: list[int] = []
    starts = [0]
    for token, text in enumerate(texts):
        if text is not None:
            spelt.extend([symbol_of.get(symbol, -1) for symbol in text])
        elif token in alone:
            spelt.append(token)
        starts.append(len(spelt))
    return np.array(spelt, np.int32), np.array(starts, np.int32)


def _of_no_piece(vocabulary: Vocabulary, token: TokenId, ids: dict[str, TokenId]) -> bool:
    """Whether a byte of byte fallback can be in a character that is no piece."""
    byte = vocabulary.tokens[token] or b""
    return not (byte.isascii() and byte.decode() in ids) and byte not in _NO_UTF8


#: Bytes that are in no character.
_NO_UTF8 = frozenset(bytes([byte]) for byte in (0xC0, 0xC1, *range(0xF5, 0x100)))
