"""The guide: everything in a tokenizer except merges, as one automaton over tokens.

It is the product of four automata that read a token sequence together:

* K, the automaton of the pre-tokenizer, over characters (``pretokenizer``);
* byte fallback: a run of such bytes must be one whole character that is not a token;
* words: tokens that are taken whole although merges do not produce them. A piece of several tokens
  must not have the text of a word;
* added tokens, which are cut out of a text before anything else, the leftmost first, of several the
  longest. So no added text may begin outside the added tokens of the sequence, wherever it ends,
  and no longer added text may begin with one of them.

The tokens are read with *marks*: a marked token begins a piece of the text. A sequence is proper if
its tokens are canonical, some marking of them is accepted by the guide, and every two adjacent
tokens without a mark between them pass the pair test (reference, section 9).

A state of the guide is one integer, called a *guess*, because the marks may depend on what follows
(``\\s+(?!\\S)``): a reader keeps a set of guesses, at most three for the patterns in use::

    bits   0–9   10    11–22      23–34     35–44   45–62
           K     mark  character  fallback  added   word

"character" and "fallback" are nodes inside an incomplete character (``utf8_table``); "mark" is the
mark of that character; "word" is the node of the current piece in the trie of words.
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
    find_rule,
    rule_table,
)
from workbench.vocabulary.tokenization.merge_rules import over_characters, spellings
from workbench.vocabulary.tokenization.pretokenizer import END, NONE, Pretokens, Table, utf8_table
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: Added texts that have begun outside added tokens: the prefixes read of each.
_Prefixes = frozenset[bytes]


class AddedTable(NamedTuple):
    """The automaton of added tokens; state 0 is initial.

    Shape: ``bytes`` (S, 256) int16, the state after a byte outside added tokens; ``tokens`` (S, A),
           the state after each added token; −1 if the tokenizer would cut the text differently.
    """

    bytes: Table
    tokens: Table


def added_table(texts: Sequence[bytes], most: int) -> AddedTable:
    """The automaton of some added texts; a state is the set of their prefixes that have begun.

    Raises: VocabularyError if it has more than ``most`` states.
    """
    whole = frozenset(texts)
    prefixes = {text[:size] for text in texts for size in range(1, len(text))}
    letters = sorted({byte for text in texts for byte in text})
    numbers: dict[_Prefixes, int] = {frozenset(): 0}
    table = AddedTable(*(np.zeros((most + 1, width), np.int16) for width in (256, len(texts))))
    for begun in (queue := [frozenset[bytes]()]):
        reads = [(table.bytes, letter, bytes([letter])) for letter in letters]
        reads += [(table.tokens, index, text) for index, text in enumerate(texts)]
        for part, column, read in reads:
            # a byte that is an added text is complete, unless it is read as the added token
            complete = part is table.bytes and read in whole
            after = None if complete else _after(begun, read, whole, prefixes)
            if after is not None and after not in numbers:
                queue.append(after)
                numbers[after] = len(numbers)
            part[numbers[begun], column] = -1 if after is None else numbers[after]
        if len(numbers) > most:
            raise VocabularyError("the added tokens overlap in too many ways to follow")
    return AddedTable(table.bytes[: len(numbers)].copy(), table.tokens[: len(numbers)].copy())


def _after(
    begun: _Prefixes, read: bytes, whole: frozenset[bytes], prefixes: set[bytes]
) -> _Prefixes | None:
    """The state after some bytes; None if an added text is completed."""
    found = {read} & prefixes
    for prefix in begun:
        for size in range(1, len(read) + 1):
            longer = prefix + read[:size]
            if longer in whole:
                return None
            if longer not in prefixes:
                break
        else:
            found.add(prefix + read)
    return frozenset(found)


#: The kinds of tokens; ``ADDED`` + i for the i-th added token.
NEVER_TAKEN, ORDINARY, FALLBACK_BYTE, WORD, ADDED = -1, 0, 1, 2, 3
#: The first bit of each part of a guess, except K's state, which begins at 0; see the module.
_MARK, _CHARACTER, _FALLBACK, _ADDED, _WORD = 10, 11, 23, 35, 45
#: Masks of parts of 10, 12 and 18 bits.
_TEN, _TWELVE, _EIGHTEEN = (1 << 10) - 1, (1 << 12) - 1, (1 << 18) - 1
#: The largest numbers that fit into the parts.
MAX_K_STATES, MAX_NODES, MAX_ADDED_STATES, MAX_WORD_NODES = _TEN, _TWELVE, _TEN, _EIGHTEEN - 1
#: Special word nodes: the piece is not a prefix of a word; the piece is one word token.
_OFF, _WHOLE = 0, _EIGHTEEN

#: The guess before a text.
START = 1 << _WORD


class GuideTables(NamedTuple):
    """The arrays of a guide, for kernels; V tokens.

    Shape: ``text[text_from[t]:text_from[t + 1]]``: the bytes of token t; ``kind`` (V,) int16.
           ``characters`` and ``fallback``: tables from ``utf8_table``; ``steps`` (K, 2, C) and
           ``accepts`` (K,): those of ``Pretokens``; ``added_bytes`` (S, 256) and ``added_tokens``
           (S, A): those of ``AddedTable``. ``word_edges``: the trie of words, (node, byte) → node,
           with root 1; ``word_ends``: whether a word ends at a node.
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
    """The guess after a token, or −1; for kernels.

    ``marked`` is 1 if the token begins a piece of the text.

    Cost: one or two look-ups for each byte of the token.
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
    """The node of byte fallback after a token, or −1."""
    node = (guess >> _FALLBACK) & _TWELVE
    if kind != FALLBACK_BYTE:
        return 0 if node == 0 else -1
    after = guide.fallback[node, byte]
    return 0 if after <= END else int(after)


@inner
def _word(guide: GuideTables, guess: int, kind: int, begin: int, end: int, marked: int) -> int:
    """The node of the current piece in the trie of words, −1 if it is a word of several tokens."""
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
        found = find_rule(guide.word_edges, node, guide.text[place])
        node = _OFF if found < 0 else guide.word_edges.results[found]
    return int(node)


@inner
def ends(guide: GuideTables, guess: int) -> bool:
    """Whether the text may end here; for kernels."""
    word = (guess >> _WORD) & _EIGHTEEN
    within = (guess >> _CHARACTER) & _TWELVE or (guess >> _FALLBACK) & _TWELVE
    split_word = word != _WHOLE and guide.word_ends[word]
    return bool(guide.accepts[guess & _TEN] and not within and not split_word)


@njit(cache=True, nogil=True, _nrt=False)
def take(guide: GuideTables, guess: int, token: int, marked: int) -> int:
    """``taken`` for calls from Python."""
    return taken(guide, guess, token, marked)


@njit(cache=True, nogil=True, _nrt=False)
def take_all(guide: GuideTables, guess: int, marked: int, out: npt.NDArray[np.int64]) -> None:
    """Write the guess after every token of the vocabulary, or −1.

    Shape: ``out`` (V,).
    """
    for token in range(len(guide.kind)):
        out[token] = taken(guide, guess, token, marked)


@njit(cache=True, nogil=True, _nrt=False)
def may_end(guide: GuideTables, guess: int) -> bool:
    """``ends`` for calls from Python."""
    return ends(guide, guess)


#: SentencePiece's character for a space; this character itself is encoded like a space.
SPACE_SIGN = "▁"


@dataclass(frozen=True, eq=False)
class Guide:
    """The automaton over marked tokens of everything in a tokenizer except merges.

    A state is an integer, called a *guess*; ``start`` is the initial one. To read a sequence, call
    ``take`` for each token, once with a mark and once without, and keep all resulting guesses.
    """

    #: The arrays for the kernels ``taken`` and ``ends``.
    tables: GuideTables
    start: int = START

    def take(self, guess: int, token: TokenId, marked: bool) -> int | None:
        """The guess after a token, or None; ``marked``: the token begins a piece of the text."""
        after = int(take(self.tables, guess, token, int(marked)))
        return None if after < 0 else after

    def may_end(self, guess: int) -> bool:
        """Whether the text may end here."""
        return bool(may_end(self.tables, guess))

    def row(self, guess: int, marked: bool) -> npt.NDArray[np.int64]:
        """The guess after each token of the vocabulary, or −1, (V,); a new array.

        Cost: 1 ms for 32k tokens, 5 ms for 131k.
        """
        out = np.empty(len(self.tables.kind), np.int64)
        take_all(self.tables, guess, int(marked), out)
        return out


def guide_of(
    vocabulary: Vocabulary, tables: Tables, pretokens: Pretokens | None, words: list[TokenId]
) -> Guide | None:
    """The guide, or None if merges are the whole tokenizer.

    ``words`` are the tokens that are taken whole although merges do not produce them.

    Raises: VocabularyError if the parts are too large for a guess.
    """
    plain = not (
        vocabulary.tokenizer.byte_fallback or words or vocabulary.tokenizer.added or pretokens
    )
    return None if plain else Guide(_tables(vocabulary, tables, pretokens, words))


def _tables(
    vocabulary: Vocabulary, tables: Tables, pretokens: Pretokens | None, words: list[TokenId]
) -> GuideTables:
    packed = Packed.of(vocabulary.tokens)
    edges, word_ends = _trie([vocabulary.tokens[token] or b"" for token in words])
    kind = np.where(tables.rank == NOT_PRODUCED, NEVER_TAKEN, ORDINARY).astype(np.int16)
    fallback = np.array(sorted(vocabulary.tokenizer.byte_fallback), np.int64)
    kind[fallback[tables.rank[fallback] != NOT_PRODUCED]] = FALLBACK_BYTE
    kind[words] = WORD
    added = sorted(vocabulary.tokenizer.added)
    kind[added] = ADDED + np.arange(len(added))
    around = added_table([vocabulary.tokens[t] or b"" for t in added], MAX_ADDED_STATES)
    if pretokens is None:
        of, steps, accepts = _one_class(), _one_piece(), np.ones(2, np.bool_)
    else:
        of, steps, accepts = pretokens.classes.of, pretokens.steps, pretokens.accepts
    made = GuideTables(
        text=packed.text,
        text_from=np.concatenate(([0], np.cumsum(np.maximum(packed.lengths, 0)))).astype(np.int32),
        kind=kind,
        characters=utf8_table(of, NONE),
        fallback=utf8_table(_fallback_classes(vocabulary), NONE),
        steps=steps,
        accepts=accepts,
        added_bytes=around.bytes,
        added_tokens=around.tokens,
        word_edges=edges,
        word_ends=word_ends,
    )
    for array in (*made.word_edges, *made):
        if isinstance(array, np.ndarray):  # kernels would be compiled again for writable arrays
            array.setflags(write=False)
    _check_sizes(made, vocabulary.name)
    return made


def _check_sizes(made: GuideTables, name: str) -> None:
    """Raises: VocabularyError if the parts are too large for a guess."""
    parts = (
        (len(made.accepts), MAX_K_STATES),
        (len(made.characters), MAX_NODES),
        (len(made.fallback), MAX_NODES),
        (len(made.word_ends), MAX_WORD_NODES),
    )
    if any(size > most for size, most in parts):
        raise VocabularyError(f"what {name} adds to its merges is too large to follow")


def _one_class() -> npt.NDArray[np.uint8]:
    """Classes in which all characters are equal."""
    of = np.zeros(0x110000, np.uint8)
    of[0xD800:0xE000] = NONE
    return of


def _one_piece() -> Table:
    """The steps of K without a pre-tokenizer: only the first character is marked."""
    return np.array([[[-1], [1]], [[1], [-1]]], np.int16)


def _fallback_classes(vocabulary: Vocabulary) -> npt.NDArray[np.uint8]:
    """Class 0 for the characters that byte fallback encodes: those that are not a token."""
    of = _one_class()
    if not vocabulary.tokenizer.byte_fallback or not over_characters(vocabulary):
        return of
    for text in spellings(vocabulary):
        if text is not None and len(text) == 1:
            of[ord(text)] = NONE
    of[ord(SPACE_SIGN)] = NONE
    return of


def _trie(words: list[bytes]) -> tuple[RuleTable, npt.NDArray[np.bool_]]:
    """The trie of some words; node 1 is its root, node 0 means that no word begins so."""
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
