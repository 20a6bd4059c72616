"""Guide: what is more than merges in a tokenizer comes in, one automaton over tokens goes out.

A sequence is proper where its tokens are canonical and each token, read with a *mark* where a piece
of the text begins at it, is taken by the guide, which tells together: the pre-tokenizer's automaton
K over bytes, runs of byte fallback, tokens that are taken whole though merges do not make them, and
added tokens, which are cut out of the text first. Two tokens with no mark between them have to be a
good pair as well (reference, section 9).

A guide's state is one number, a *guess*: where pieces begin may be decided later, so what reads a
sequence keeps a set of guesses (never more than three for the patterns in use).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.kernel import inner, int64, njit
from workbench.vocabulary.bpe.lookup import place_of
from workbench.vocabulary.bpe.tables import Bools, Ints, RuleTable
from workbench.vocabulary.bpe.utf8 import END, Table

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
