"""The merge rules of a vocabulary, normalised to live splits.

The parent of a token is its live left side. "The tokens with r on their left spine" are then the
subtree of r, an interval of places; "those whose node above r has rank k or more" are the tail of
that interval, since children lie in the order of their ranks (reference, section 5).

A rule that fires while some text is encoded makes a token whose own text, encoded alone, goes
through the same merges. So every token that can stand in an encoding has one rule that ever makes
it, its live split; all other rules are dead and are dropped.

Two kinds of tables: listed rules, ranked by their place (Hugging Face's files), and tables where
every way to cut a token into two tokens is a rule, ranked by the token it makes (SentencePiece by
the score of the piece, tiktoken by the rank of the token).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.base.errors import VocabularyError
from workbench.base.kernels import njit
from workbench.vocabulary.tokenization.merge_kernels import (
    NOT_PRODUCED,
    SYMBOL,
    Bools,
    Ints,
    Numbers,
    RuleTable,
    merge_few,
    place_of,
    rule_table,
)
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class Forest(NamedTuple):
    """A forest over V tokens of which N take part; the fields are those of ``Tables``."""

    before: Ints
    after: Ints
    order: Ints
    children: Ints
    first_child: Ints


def forest(parent: Ints, rank: Ints, lengths: Ints) -> Forest:
    """The forest of these parents (−1: a root), children by rank; mirror it with right sides.

    Shape: all (V,); ``lengths`` are larger for children than for parents.
    Cost:  V log V.
    """
    tokens = len(parent)
    taking_part = rank != NOT_PRODUCED
    made = np.flatnonzero(parent >= 0)
    children = made[np.lexsort((made, rank[made], parent[made]))].astype(np.int32)
    first_child = np.zeros(tokens + 1, np.int32)
    np.cumsum(np.bincount(parent[made], minlength=tokens), out=first_child[1:])
    sizes = taking_part.astype(np.int32)
    down = np.argsort(lengths, kind="stable")
    before = np.full(tokens, -1, np.int32)
    _number(parent, down, children, first_child, sizes, before)
    order = np.empty(int(taking_part.sum()), np.int32)
    order[before[taking_part]] = np.flatnonzero(taking_part)
    return Forest(before, before + sizes, order, children, first_child)


@njit(cache=True, nogil=True, _nrt=False)
def _number(
    parent: Ints, down: Numbers, children: Ints, first_child: Ints, sizes: Ints, before: Ints
) -> None:
    """Add subtrees up from the leaves, and number them from the roots."""
    for i in range(len(down) - 1, -1, -1):
        token = down[i]
        if parent[token] >= 0:
            sizes[parent[token]] += sizes[token]
    place = 0
    for token in range(len(parent)):
        if parent[token] < 0 and sizes[token] > 0:
            before[token] = place
            place += sizes[token]
    for token in down:
        if sizes[token] == 0:
            continue
        place = before[token] + 1
        for i in range(first_child[token], first_child[token + 1]):
            before[children[i]] = place
            place += sizes[children[i]]


class Rules(NamedTuple):
    """All rules of a table, and what each of its V tokens spells.

    Shape: ``left``, ``right``, ``result``, ``rank`` (R,), in any order, by token id;
           ``symbols[symbols_from[t]:symbols_from[t + 1]]`` the symbols of token t as token ids,
           −1 for one that is no token; none at all for a token that takes no part.
    """

    left: Ints
    right: Ints
    result: Ints
    rank: Ints
    symbols: Ints
    symbols_from: Ints


class Splits(NamedTuple):
    """The live split of each token: sides −1 and a rank below 0 where no rule makes it.

    Shape: ``left``, ``right``, ``rank`` (V,) as in ``Tables``; ``offending`` (V,).
    """

    left: Ints
    right: Ints
    rank: Ints
    offending: Bools


def normalise(rules: Rules) -> Splits:
    """Encode each token's text and keep the rule that was applied last.

    Cost: tokens times their length squared: 5 ms for 32k tokens, 35 ms for 131k.
    """
    tokens = len(rules.symbols_from) - 1
    table = rule_table(rules.left, rules.right, rules.result, rules.rank)
    longest = int(np.diff(rules.symbols_from).max(initial=1))
    room = np.empty((3, longest), np.int32)
    splits = Splits(
        np.full(tokens, -1, np.int32),
        np.full(tokens, -1, np.int32),
        np.full(tokens, NOT_PRODUCED, np.int32),
        np.zeros(tokens, np.bool_),
    )
    _split(table, rules.symbols, rules.symbols_from, splits, room[0], room[1])
    _offend(splits)
    return splits


@njit(cache=True, nogil=True, _nrt=False)
def _split(
    rules: RuleTable, symbols: Ints, symbols_from: Ints, splits: Splits, work: Ints, pending: Ints
) -> None:
    """Encode every token by itself; where one token comes out, note the last rule."""
    for token in range(len(symbols_from) - 1):
        begin = symbols_from[token]
        size = symbols_from[token + 1] - begin
        if size == 1 and symbols[begin] == token:
            splits.rank[token] = SYMBOL
        if size < 2:
            continue
        for i in range(size):
            work[i] = symbols[begin + i]
        if merge_few(rules, work, pending, size, 2) > 2:
            continue
        place = place_of(rules, work[0], work[1])
        if place >= 0 and rules.results[place] == token:
            splits.left[token] = work[0]
            splits.right[token] = work[1]
            splits.rank[token] = rules.ranks[place]


@njit(cache=True, nogil=True, _nrt=False)
def _offend(splits: Splits) -> None:
    """Mark the tokens one of whose sides is made by a later rule than they are themselves."""
    for token in range(len(splits.rank)):
        left, right = splits.left[token], splits.right[token]
        if left >= 0:
            sides = max(splits.rank[left], splits.rank[right])
            splits.offending[token] = splits.rank[token] < sides


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
