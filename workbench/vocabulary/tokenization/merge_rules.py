"""The merge rules of a vocabulary: normalised to live splits.

**Rules.** There are two kinds of vocabularies. Hugging Face's files list the rules; the rank of a
rule is its index. In SentencePiece and tiktoken every split of a token into two tokens is a rule;
its rank is that of the token it produces (the score of the piece, the rank of the token).

**Live splits.** If a rule is applied while some text is encoded, it produces a token whose text,
encoded alone, goes through the same merges. So every token that can occur in an encoding has
exactly one rule that ever produces it, its *live split*; all other rules are dead and are dropped.

**Forest.** The parent of a token is the left side of its live split; children are ordered by rank,
and tokens are numbered in preorder. Then "the tokens with r on their left spine" are the subtree of
r, an interval of indices; "those of them whose node above r has rank k or more" are the end of
that interval (reference, section 5)::

    rules: ab 0, abc 1, abd 2                      index   0   1    2     3    4   5   6
    a ── ab ─┬─ abc                                order   a   ab  abc   abd   b   c   d
             └─ abd                                ab on the left spine: indices 1–3
    b    c    d                                    … and rank ≥ 2 above ab: index 3
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.base.errors import VocabularyError
from workbench.base.kernels import njit
from workbench.base.limits import check_time_budget
from workbench.vocabulary.tokenization.merge_kernels import (
    NOT_PRODUCED,
    SYMBOL,
    Bools,
    Ints,
    RuleTable,
    find_rule,
    merge_short,
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
    """The forest with these parents (−1 for a root); children are ordered by rank.

    Shape: all (V,); ``lengths`` are larger for children than for parents.
    Cost:  V log V.
    """
    tokens = len(parent)
    taking_part, roots = rank != NOT_PRODUCED, parent < 0
    not_roots = np.flatnonzero(~roots)
    children = not_roots[np.lexsort((not_roots, rank[not_roots], parent[not_roots]))].astype(
        np.int32
    )
    first_child = np.zeros(tokens + 1, np.int32)
    np.cumsum(np.bincount(parent[not_roots], minlength=tokens), out=first_child[1:])
    down = not_roots[np.argsort(lengths[not_roots], kind="stable")]
    levels = np.split(down, np.flatnonzero(np.diff(lengths[down])) + 1)
    sizes = taking_part.astype(np.int32)
    for level in reversed(levels):
        np.add.at(sizes, parent[level], sizes[level])
    before, earlier = np.full(tokens, -1, np.int32), np.zeros(tokens, np.int32)
    starts = np.flatnonzero(taking_part & roots)
    before[starts] = np.cumsum(sizes[starts]) - sizes[starts]
    # the nodes in the subtrees of a token's earlier siblings
    above = np.cumsum(sizes[children]) - sizes[children]
    earlier[children] = above - above[first_child[parent[children]]]
    for level in levels:
        before[level] = before[parent[level]] + 1 + earlier[level]
    order = np.empty(int(taking_part.sum()), np.int32)
    order[before[taking_part]] = np.flatnonzero(taking_part)
    return Forest(before, before + sizes, order, children, first_child)


class Rules(NamedTuple):
    """All rules of a table, and the symbols of each of its V tokens.

    Shape: ``left``, ``right``, ``result``, ``rank`` (R,): R rules in any order, by token id;
           ``symbols[symbols_from[t]:symbols_from[t + 1]]``: the symbols of token t as token ids,
           −1 for a symbol that is not a token; empty for a token that is not merged.
    """

    left: Ints
    right: Ints
    result: Ints
    rank: Ints
    symbols: Ints
    symbols_from: Ints


class Splits(NamedTuple):
    """The live split of each token: sides −1 and a rank below 0 if no rule produces it.

    Shape: ``left``, ``right``, ``rank`` (V,) as in ``Tables``; ``offending`` (V,): the token is
           produced by an earlier rule than one of its sides.
    """

    left: Ints
    right: Ints
    rank: Ints
    offending: Bools


def normalise(rules: Rules) -> Splits:
    """Encode the text of each token; its live split is the rule that is applied last.

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
    sides = np.maximum(splits.rank[splits.left], splits.rank[splits.right])
    return splits._replace(offending=(splits.left >= 0) & (splits.rank < sides))


@njit(_nrt=False)
def _split(
    rules: RuleTable, symbols: Ints, symbols_from: Ints, splits: Splits, work: Ints, pending: Ints
) -> None:
    """Encode the symbols of every token; if the result is the token, store the last rule."""
    for token in range(len(symbols_from) - 1):
        begin = symbols_from[token]
        size = symbols_from[token + 1] - begin
        if size == 1 and symbols[begin] == token:
            splits.rank[token] = SYMBOL
        if size < 2:
            continue
        for i in range(size):
            work[i] = symbols[begin + i]
        if merge_short(rules, work, pending, size, 2) > 2:
            continue
        slot = find_rule(rules, work[0], work[1])
        if slot >= 0 and rules.results[slot] == token:
            splits.left[token] = work[0]
            splits.right[token] = work[1]
            splits.rank[token] = rules.ranks[slot]


def over_characters(vocabulary: Vocabulary) -> bool:
    """Whether symbols are characters, not bytes.

    With byte fallback they are. Without it, they are if the tokenizer is not known to merge bytes,
    not every byte is a token and every token is valid UTF-8, as in the small tables over strings of
    lessons and tests.
    """
    if vocabulary.tokenizer.byte_fallback:
        return True
    if vocabulary.tokenizer.byte_level or len(vocabulary.single_bytes) == 256:
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
    Raises: VocabularyError if it has none.
    """
    texts = spellings(vocabulary)
    ids = ids_by_spelling(texts)
    if vocabulary.tokenizer.ranks is not None:
        columns = _all_splits(texts, ids, vocabulary.tokenizer.ranks.tolist())
    elif vocabulary.tokenizer.merges is not None:
        columns = _listed_rules(vocabulary, ids)
    else:
        raise VocabularyError(
            f"{vocabulary.name} has no merge rules, so the encodings of its tokenizer are unknown",
            "choose a byte-pair encoding",
        )
    symbols, symbols_from = _symbols(vocabulary, texts, ids)
    if vocabulary.tokenizer.ranks is not None and np.any(symbols < 0):
        raise VocabularyError(
            f"{vocabulary.name} has tokens with characters that are not tokens themselves, which"
            " its tokenizer merges by their text"
        )
    left, right, result, rank = np.array(columns, np.int32).reshape(-1, 4).T.copy()
    return Rules(left, right, result, rank, symbols, symbols_from)


#: left, right, result, rank.
Row = tuple[TokenId, TokenId, TokenId, int]


def spellings(vocabulary: Vocabulary) -> list[str | None]:
    """The text of each token that can be merged, one character for each symbol.

    If symbols are bytes, the character has the byte's number. None for tokens that are not merged:
    special and added ones, and bytes of byte fallback.
    """
    merged = list(vocabulary.tokens)
    for token in (*vocabulary.tokenizer.byte_fallback, *vocabulary.added):
        merged[token] = None
    coding = "utf-8" if over_characters(vocabulary) else "latin-1"
    return [None if text is None else text.decode(coding) for text in merged]


def ids_by_spelling(texts: list[str | None]) -> dict[str, TokenId]:
    """The first token of each text."""
    return {text: token for token, text in reversed(list(enumerate(texts))) if text is not None}


def _all_splits(texts: list[str | None], ids: dict[str, TokenId], ranks: list[int]) -> list[Row]:
    """Every split of a ranked token into two tokens."""
    rows: list[Row] = []
    find = ids.get
    for token, text in enumerate(texts):
        check_time_budget()
        if text is None or ranks[token] < 0:
            continue
        for cut in range(1, len(text)):
            left = find(text[:cut])
            if left is not None and (right := find(text[cut:])) is not None:
                rows.append((left, right, token, ranks[token]))
    return rows


def _listed_rules(vocabulary: Vocabulary, ids: dict[str, TokenId]) -> list[Row]:
    """The listed rules in their order, without those of added tokens (found before merging).

    Raises: VocabularyError if a side or a result is not a token.
    """
    coding = "utf-8" if over_characters(vocabulary) else "latin-1"
    cut_out = {entry.text for entry in vocabulary.tokenizer.added}
    rows: list[Row] = []
    for rank, pair in enumerate(vocabulary.tokenizer.merges or ()):
        check_time_budget()
        if not cut_out.isdisjoint((*pair, pair[0] + pair[1])):
            continue
        left, right = (side.decode(coding, "surrogateescape") for side in pair)
        try:
            rows.append((ids[left], ids[right], ids[left + right], rank))
        except KeyError as error:
            missing: str = error.args[0]
            text = missing.encode("latin-1") if coding == "latin-1" else missing
            raise VocabularyError(
                f"rule {rank} of {vocabulary.name} has {text!r}, which is not a token",
                "add it to the tokens, or leave the rule out",
            ) from None
    return rows


def _symbols(
    vocabulary: Vocabulary, texts: list[str | None], ids: dict[str, TokenId]
) -> tuple[Ints, Ints]:
    """The symbols of each token; a byte of byte fallback is a symbol that no rule contains."""
    alone = {
        token for token in vocabulary.tokenizer.byte_fallback if _is_used(vocabulary, token, ids)
    }
    symbol_of = {text: token for text, token in ids.items() if len(text) == 1}
    symbols: list[int] = []
    starts = [0]
    for token, text in enumerate(texts):
        if text is not None:
            symbols.extend([symbol_of.get(symbol, -1) for symbol in text])
        elif token in alone:
            symbols.append(token)
        starts.append(len(symbols))
    return np.array(symbols, np.int32), np.array(starts, np.int32)


def _is_used(vocabulary: Vocabulary, token: TokenId, ids: dict[str, TokenId]) -> bool:
    """Whether a byte of byte fallback occurs in a character that is not a token."""
    byte = vocabulary.tokens[token] or b""
    return not (byte.isascii() and byte.decode() in ids) and byte not in _NEVER_IN_UTF8


#: Bytes that are in no character.
_NEVER_IN_UTF8 = frozenset(bytes([byte]) for byte in (0xC0, 0xC1, *range(0xF5, 0x100)))
