"""The parts of a tokenizer beyond merges, as one automaton over tokens.

They are cut out of a text before anything else: the leftmost, of several the longest, and on from
its end. So a sequence is right where no added text begins at a byte outside the added tokens it
has, wherever that text ends, and none that is longer begins with one of them.

A sequence is proper where its tokens are canonical and each token, read with a *mark* where a piece
of the text begins at it, is taken by the guide, which tells together: the pre-tokenizer's automaton
K over bytes, runs of byte fallback, tokens that are taken whole though merges do not make them, and
added tokens, which are cut out of the text first. Two tokens with no mark between them have to be a
good pair as well (reference, section 9).

A guide's state is one number, a *guess*: where pieces begin may be decided later, so what reads a
sequence keeps a set of guesses (never more than three for the patterns in use).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.errors import VocabularyError
from workbench.base.kernels import inner, int64, njit
from workbench.vocabulary.disk_cache import Packed
from workbench.vocabulary.tokenization.merge_kernels import (
    NOT_PRODUCED,
    Bools,
    Ints,
    RuleTable,
    Tables,
    place_of,
    rule_table,
)
from workbench.vocabulary.tokenization.merge_rules import over_characters, spellings
from workbench.vocabulary.tokenization.pretokenizer import END, NONE, Pretokens, Table, utf8_table
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: Texts that have begun and must not be completed, as what is read of each.
_Begun = frozenset[bytes]


class AddedTable(NamedTuple):
    """The automaton; state 0 is the start.

    Shape: ``bytes`` (S, 256) int16, the state after a byte outside added tokens, ``tokens`` (S, A)
           the state after each added token; −1 where the text would be cut otherwise.
    """

    bytes: Table
    tokens: Table


def added_table(texts: Sequence[bytes], most: int) -> AddedTable:
    """The automaton of some added texts.

    Raises: VocabularyError where it has more than ``most`` states.
    """
    whole = frozenset(texts)
    beginnings = {text[:size] for text in texts for size in range(1, len(text))}
    signs = sorted({byte for text in texts for byte in text})
    numbers: dict[_Begun, int] = {frozenset(): 0}
    table = AddedTable(*(np.zeros((most + 1, width), np.int16) for width in (256, len(texts))))
    for begun in (queue := [frozenset[bytes]()]):
        reads = [(table.bytes, sign, bytes([sign])) for sign in signs]
        reads += [(table.tokens, place, text) for place, text in enumerate(texts)]
        for part, column, read in reads:
            # one byte that is a text is over at once, but not where it stands for the token
            over = part is table.bytes and read in whole
            after = None if over else _after(begun, read, whole, beginnings)
            if after is not None and after not in numbers:
                queue.append(after)
                numbers[after] = len(numbers)
            part[numbers[begun], column] = -1 if after is None else numbers[after]
        if len(numbers) > most:
            raise VocabularyError("the added tokens overlap in too many ways to follow")
    return AddedTable(table.bytes[: len(numbers)].copy(), table.tokens[: len(numbers)].copy())


def _after(begun: _Begun, read: bytes, whole: _Begun, beginnings: set[bytes]) -> _Begun | None:
    """What has begun after some more bytes; None where a text is complete."""
    found = {read} & beginnings
    for beginning in begun:
        for size in range(1, len(read) + 1):
            grown = beginning + read[:size]
            if grown in whole:
                return None
            if grown not in beginnings:
                break
        else:
            found.add(beginning + read)
    return frozenset(found)


#: What a token is to a guide; ``ADDED`` + i for the i-th added token.
NEVER_TAKEN, ORDINARY, FALLBACK_BYTE, WORD, ADDED = -1, 0, 1, 2, 3
#: Where the parts of a guess lie, after K's state: the mark and the node of a character that is not
#: complete, the node of byte fallback, of added tokens, of the piece among words.
_MARK, _CHARACTER, _FALLBACK, _ADDED, _WORD = 10, 11, 23, 35, 45
_TEN, _TWELVE, _EIGHTEEN = (1 << 10) - 1, (1 << 12) - 1, (1 << 18) - 1
#: How many there may be of each.
MOST_K, MOST_NODES, MOST_ADDED, MOST_WORD = _TEN, _TWELVE, _TEN, _EIGHTEEN - 1
#: A piece that spells no beginning of a word; a piece that is one word.
_OFF, _WHOLE = 0, _EIGHTEEN

#: The guess before a text.
START = 1 << _WORD


class GuideTables(NamedTuple):
    """What kernels read of a guide; V tokens.

    Shape: ``text[text_from[t]:text_from[t + 1]]`` the bytes of a token; ``kind`` (V,) int16.
           ``characters`` and ``fallback`` as ``utf8_table`` makes them; ``steps`` (K, 2, C) and
           ``accepts`` (K,) of K. ``added_bytes`` (S, 256) and ``added_tokens`` (S, A) as
           ``AddedTable`` has them. ``word_edges`` the trie of words, (node, byte) → node, from
           node 1 on, ``word_ends`` its nodes where one ends.
    """

    text: npt.NDArray[np.uint8]
    text_from: Ints
    kind: npt.NDArray[np.int16]
    characters: Table
    fallback: Table
    steps: Table
    accepts: Bools
    added_bytes: Table
    added_tokens: Table
    word_edges: RuleTable
    word_ends: Bools


@inner
def taken(guide: GuideTables, guess: int, token: int, marked: int) -> int:
    """The guess after a token, whose first character begins a piece or not; −1: none. For kernels.

    Cost: a look-up or two for each byte of the token.
    """
    kind = guide.kind[token]
    if kind == NEVER_TAKEN:
        return -1
    if kind >= ADDED:
        added = guide.added_tokens[(guess >> _ADDED) & _TEN, kind - ADDED]
        cut = marked and added >= 0 and ends(guide, guess)
        return int(START | (int64(added) << _ADDED)) if cut else -1
    begin, end = guide.text_from[token], guide.text_from[token + 1]
    fallback = _fallback(guide, guess, kind, guide.text[begin])
    word = _word(guide, guess, kind, begin, end, marked)
    if fallback < 0 or word < 0:
        return -1
    k, mark = guess & _TEN, (guess >> _MARK) & 1
    node, added = (guess >> _CHARACTER) & _TWELVE, (guess >> _ADDED) & _TEN
    if node > 0 and marked:
        return -1
    for place in range(begin, end):
        byte = guide.text[place]
        added = guide.added_bytes[added, byte]
        if added < 0:
            return -1
        if node == 0:
            mark = marked if place == begin else 0
        node = guide.characters[node, byte]
        if node <= END:
            k, node, mark = guide.steps[k, mark, END - node], 0, 0
            if k < 0:
                return -1
        elif node < 0:
            return -1
    low = k | (mark << _MARK) | (node << _CHARACTER)
    return int(low | (fallback << _FALLBACK) | (added << _ADDED) | (word << _WORD))


@inner
def _fallback(guide: GuideTables, guess: int, kind: int, byte: int) -> int:
    """The node of byte fallback after a token: a run spells a whole character that is no token."""
    node = (guess >> _FALLBACK) & _TWELVE
    if kind != FALLBACK_BYTE:
        return 0 if node == 0 else -1
    after = guide.fallback[node, byte]
    return 0 if after <= END else int(after)


@inner
def _word(guide: GuideTables, guess: int, kind: int, begin: int, end: int, marked: int) -> int:
    """The node of the piece among words; no piece of several tokens spells a word."""
    node = (guess >> _WORD) & _EIGHTEEN
    if marked:
        if node != _WHOLE and guide.word_ends[node]:
            return -1
        node = 1
    elif node == _WHOLE or kind == WORD:
        return -1
    if kind == WORD:
        return _WHOLE
    for place in range(begin, end):
        if node == _OFF:
            break
        found = place_of(guide.word_edges, node, guide.text[place])
        node = _OFF if found < 0 else guide.word_edges.results[found]
    return int(node)


@inner
def ends(guide: GuideTables, guess: int) -> bool:
    """Whether the text may end here. For kernels."""
    word = (guess >> _WORD) & _EIGHTEEN
    within = (guess >> _CHARACTER) & _TWELVE or (guess >> _FALLBACK) & _TWELVE
    spelt = word != _WHOLE and guide.word_ends[word]
    return bool(guide.accepts[guess & _TEN] and not within and not spelt)


@njit(cache=True, nogil=True, _nrt=False)
def take(guide: GuideTables, guess: int, token: int, marked: int) -> int:
    """``taken``, for Python."""
    return taken(guide, guess, token, marked)


@njit(cache=True, nogil=True, _nrt=False)
def take_all(guide: GuideTables, guess: int, marked: int, out: npt.NDArray[np.int64]) -> None:
    """The guess after every token of the vocabulary, −1 where there is none.

    Shape: ``out`` (V,).
    """
    for token in range(len(guide.kind)):
        out[token] = taken(guide, guess, token, marked)


@njit(cache=True, nogil=True, _nrt=False)
def may_end(guide: GuideTables, guess: int) -> bool:
    """``ends``, for Python."""
    return ends(guide, guess)


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
    start: int = START

    def take(self, guess: int, token: TokenId, marked: bool) -> int | None:
        """The guess after a token, whose first character begins a piece of the text or not.

        None where the token cannot be read so.
        """
        after = int(take(self.tables, guess, token, int(marked)))
        return None if after < 0 else after

    def may_end(self, guess: int) -> bool:
        """Whether the text may end here."""
        return bool(may_end(self.tables, guess))

    def row(self, guess: int, marked: bool) -> npt.NDArray[np.int64]:
        """The guess after each token of the vocabulary, −1 where there is none, (V,); a new array.

        Cost: 1 ms for 32k tokens, 5 ms for 131k.
        """
        out = np.empty(len(self.tables.kind), np.int64)
        take_all(self.tables, guess, int(marked), out)
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
    kind = np.where(tables.rank == NOT_PRODUCED, NEVER_TAKEN, ORDINARY).astype(np.int16)
    fallback = np.array(sorted(vocabulary.byte_fallback), np.int64)
    kind[fallback[tables.rank[fallback] != NOT_PRODUCED]] = FALLBACK_BYTE
    kind[words] = WORD
    added = sorted(vocabulary.added)
    kind[added] = ADDED + np.arange(len(added))
    around = added_table([vocabulary.tokens[t] or b"" for t in added], MOST_ADDED)
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
        (len(made.accepts), MOST_K),
        (len(made.characters), MOST_NODES),
        (len(made.fallback), MOST_NODES),
        (len(made.word_ends), MOST_WORD),
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
