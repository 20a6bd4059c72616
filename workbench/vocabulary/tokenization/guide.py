"""The guide: everything in a tokenizer except merges, as one automaton over tokens.

It is the product of five automata that read a token sequence together:

* K, the automaton of the pre-tokenizer, over characters (``pretokenizer``);
* byte fallback: a run of such bytes must be one whole character that is not a token;
* words: tokens that are taken whole although merges do not produce them. A piece of several tokens
  must not have the text of a word, so it must not be what merges make of it;
* added tokens, which are cut out of a text before anything else (``added_tokens``);
* the Unicode normal form in which the text between raw added tokens is tokenized
  (``added_tokens``): other texts are never written.

The tokens are read with *marks*: a marked token begins a piece of the text. A sequence is proper if
its tokens are canonical, some marking of them is accepted by the guide, and every two adjacent
tokens without a mark between them pass the pair test (reference, section 9).

A state of the guide is one integer, called a *guess*, because the marks may depend on what follows
(``\\s+(?!\\S)``): a reader keeps a set of guesses, at most three for the patterns in use. Its parts
have as many bits as the tokenizer needs (``Layout``)::

    K   mark   character   fallback   added   form   word

"character" and "fallback" are nodes inside an incomplete character (``utf8_table``); "mark" is the
mark of that character; "form" the state of the normal form before it; "word" is the node of the
current piece in the trie of what merges make of words.

Between characters most tokens lead to the same guess whatever "added", "form" and "word" are: those
that begin with a character that composes with none and is not moved, and continue no word and no
added text (``separate``). So a guess has a *base*, without these parts unless they matter to all
tokens: thousands of guesses have a few bases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.cached_property import cached_property
from workbench.base.errors import VocabularyError
from workbench.base.kernels import inner, int64, njit
from workbench.vocabulary.disk_cache import Packed
from workbench.vocabulary.tokenization.added_tokens import AddedTable, added_table
from workbench.vocabulary.tokenization.merge_kernels import (
    NOT_PRODUCED,
    Bools,
    Ints,
    Numbers,
    RuleTable,
    Tables,
    find_rule,
    rule_table,
)
from workbench.vocabulary.tokenization.merge_rules import over_characters, spellings
from workbench.vocabulary.tokenization.normal_forms import normal_form
from workbench.vocabulary.tokenization.pretokenizer import (
    CODES,
    END,
    NONE,
    SURROGATES,
    Pretokens,
    Table,
    utf8_table,
)
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The kinds of tokens; ``ADDED`` + i for the i-th added token.
NEVER_TAKEN, ORDINARY, FALLBACK_BYTE, WORD, ADDED = -1, 0, 1, 2, 3
#: The parts of a guess.
_K, _MARK, _CHARACTER, _FALLBACK, _ADDED, _FORM, _WORD = range(7)
#: The class of surrogates among those of both.
_NO_CLASS = 0xFFFF
#: A guess is not negative, and has this many bits.
MAX_BITS = 63
#: Special word nodes: the piece is not a prefix of a word; the piece begins. The largest number of
#: the part means that the piece is one word token.
_OFF, _ROOT = 0, 1


class Layout(NamedTuple):
    """Where each part of a guess is.

    Shape: ``shifts`` (7,), the first bit; ``masks`` (7,), the largest number.
    """

    shifts: Numbers
    masks: Numbers

    @staticmethod
    def of(sizes: Sequence[int]) -> Layout:
        """Room for numbers below each size.

        Raises: VocabularyError if they do not fit into a guess.
        """
        bits = [(size - 1).bit_length() for size in sizes]
        if sum(bits) > MAX_BITS:
            raise VocabularyError(
                f"what the tokenizer adds to its merges needs {sum(bits)} bits to follow, more than"
                f" {MAX_BITS}",
                "choose another vocabulary, or a method that does not need canonical tokens",
            )
        shifts = np.cumsum([0, *bits[:-1]])
        return Layout(shifts.astype(np.int64), np.array([(1 << n) - 1 for n in bits], np.int64))

    def bits(self, *parts: int) -> int:
        """The bits of some parts."""
        return sum(int(self.masks[part]) << int(self.shifts[part]) for part in parts)


class GuideTables(NamedTuple):
    """The arrays of a guide, for kernels; V tokens.

    Shape: ``text[text_from[t]:text_from[t + 1]]``: the bytes of token t; ``kind`` (V,) int16.
           ``characters`` and ``fallback``: tables from ``utf8_table``; ``steps`` (K, 2, C) and
           ``accepts`` (K,): those of ``Pretokens``; ``forms`` (F, C): those of ``NormalForm``.
           ``added_bytes``, ``added_after``, …: those of ``AddedTable``;
           ``is_late`` (A,): whether an added token is found in normalised text. ``word_edges``: the
           trie of the tokens of words, (node, token) → node, with root 1; ``word_ends``: whether a
           word ends at a node.
    """

    layout: Layout
    text: npt.NDArray[np.uint8]
    text_from: Ints
    kind: npt.NDArray[np.int16]
    characters: Table
    fallback: Table
    steps: Table
    accepts: Bools
    forms: Table
    added_bytes: Table
    added_after: Ints
    added_exceptions: RuleTable
    added_ends: Bools
    is_late: Bools
    word_edges: RuleTable
    word_ends: Bools


@inner
def _part(guide: GuideTables, guess: int, part: int) -> int:
    return int((guess >> guide.layout.shifts[part]) & guide.layout.masks[part])


@inner
def _place(guide: GuideTables, number: int, part: int) -> int:
    return int(int64(number) << guide.layout.shifts[part])


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
        return _after_added(guide, guess, token, marked)
    begin, end = guide.text_from[token], guide.text_from[token + 1]
    fallback = _fallback(guide, guess, kind, guide.text[begin])
    word = _word(guide, guess, token, marked)
    if fallback < 0 or word < 0:
        return -1
    k, mark = _part(guide, guess, _K), _part(guide, guess, _MARK)
    node, added = _part(guide, guess, _CHARACTER), _part(guide, guess, _ADDED)
    form = _part(guide, guess, _FORM)
    if node > 0 and marked:
        return -1
    for index in range(begin, end):
        byte = guide.text[index]
        added = guide.added_bytes[added, byte]
        if added < 0:
            return -1
        if node == 0:
            mark = marked if index == begin else 0
        node = guide.characters[node, byte]
        if node <= END:
            k, form = guide.steps[k, mark, END - node], guide.forms[form, END - node]
            node, mark = 0, 0
            if k < 0 or form < 0:
                return -1
        elif node < 0:
            return -1
    low = int64(k) | _place(guide, mark, _MARK) | _place(guide, node, _CHARACTER)
    low |= _place(guide, fallback, _FALLBACK) | _place(guide, added, _ADDED)
    return int(low | _place(guide, form, _FORM) | _place(guide, word, _WORD))


@inner
def _after_added(guide: GuideTables, guess: int, token: int, marked: int) -> int:
    """The guess after an added token, or −1; found in normalised text, it is a part of that."""
    index = guide.kind[token] - ADDED
    before = _part(guide, guess, _ADDED)
    slot = find_rule(guide.added_exceptions, before, index)
    added = guide.added_after[index] if slot < 0 else guide.added_exceptions.results[slot]
    if not marked or added < 0 or not ends(guide, guess):
        return -1
    form = 0
    if guide.is_late[index]:
        form = _form_after(guide, _part(guide, guess, _FORM), token)
        if form < 0:
            return -1
    low = _place(guide, added, _ADDED) | _place(guide, form, _FORM)
    return int(low | _place(guide, _ROOT, _WORD))


@inner
def _form_after(guide: GuideTables, form: int, token: int) -> int:
    """The state of the normal form after the whole characters of a token, or −1."""
    node = 0
    for index in range(guide.text_from[token], guide.text_from[token + 1]):
        node = guide.characters[node, guide.text[index]]
        if node <= END:
            form, node = guide.forms[form, END - node], 0
        if form < 0 or node < 0:
            return -1
    return int(form)


@inner
def _fallback(guide: GuideTables, guess: int, kind: int, byte: int) -> int:
    """The node of byte fallback after a token, or −1."""
    node = _part(guide, guess, _FALLBACK)
    if kind != FALLBACK_BYTE:
        return 0 if node == 0 else -1
    after = guide.fallback[node, byte]
    return 0 if after <= END else int(after)


@inner
def _word(guide: GuideTables, guess: int, token: int, marked: int) -> int:
    """The node of the current piece in the trie of words, −1 if it is a word of several tokens."""
    node, whole = _part(guide, guess, _WORD), guide.layout.masks[_WORD]
    is_word = guide.kind[token] == WORD
    if marked:
        if node != whole and guide.word_ends[node]:
            return -1
        node = _ROOT
    elif node == whole or is_word:
        return -1
    if is_word:
        return int(whole)
    slot = find_rule(guide.word_edges, node, token) if node != _OFF else -1
    return _OFF if slot < 0 else int(guide.word_edges.results[slot])


@inner
def ends(guide: GuideTables, guess: int) -> bool:
    """Whether the text may end here; for kernels."""
    word = _part(guide, guess, _WORD)
    within = _part(guide, guess, _CHARACTER) or _part(guide, guess, _FALLBACK)
    split_word = word != guide.layout.masks[_WORD] and guide.word_ends[word]
    part_ends = guide.accepts[_part(guide, guess, _K)] and not within and not split_word
    return bool(part_ends and guide.added_ends[_part(guide, guess, _ADDED)])


@njit(_nrt=False)
def take_tokens(
    guide: GuideTables, guess: int, tokens: Ints, marked: int, out: npt.NDArray[np.int64]
) -> None:
    """Write the guess after each of n tokens, or −1, (n,)."""
    for i in range(len(tokens)):
        out[i] = taken(guide, guess, tokens[i], marked)


@njit(_nrt=False)
def may_end(guide: GuideTables, guess: int) -> bool:
    """``ends`` for calls from Python."""
    return ends(guide, guess)


def _last_nodes(guide: GuideTables, table: Table) -> Ints:
    """The state after the bytes of each token, from state 0 of a table, (V,).

    A token stops at its first negative state.
    """
    begins, ends = guide.text_from[:-1], guide.text_from[1:]
    states, tokens, offset = np.zeros(len(begins), np.int32), np.arange(len(begins)), 0
    while len(tokens := tokens[(states[tokens] >= 0) & (begins[tokens] + offset < ends[tokens])]):
        states[tokens] = table[states[tokens], guide.text[begins[tokens] + offset]]
        offset += 1
    return states


#: Tokens that are taken whole although merges do not produce them: the tokens that merges make of
#: their texts, none if a byte is not a token.
Words = Mapping[TokenId, Sequence[TokenId]]

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
    #: The tokens that lead to one guess from all guesses with one base, (V,).
    separate: Bools
    #: The states of added tokens that do not matter to them, (S,).
    is_prefix: Bools

    @cached_property
    def start(self) -> int:
        """The guess before a text."""
        return _ROOT << int(self.tables.layout.shifts[_WORD])

    @cached_property
    def within_bits(self) -> int:
        """The bits that are not all 0 inside a character."""
        return self.tables.layout.bits(_CHARACTER, _FALLBACK)

    def base(self, guess: int) -> int:
        """The guess without the parts that do not matter before ``separate`` tokens."""
        if guess & self.within_bits:
            return guess
        layout = self.tables.layout
        added, word = (
            (guess >> int(layout.shifts[part])) & int(layout.masks[part])
            for part in (_ADDED, _WORD)
        )
        matters = word in (_ROOT, int(layout.masks[_WORD])) or self.tables.word_ends[word]
        dropped = [_FORM]
        if self.is_prefix[added]:
            dropped.append(_ADDED)
        if not matters:
            dropped.append(_WORD)
        return guess & ~layout.bits(*dropped)

    def take(self, guess: int, token: TokenId, marked: bool) -> int | None:
        """The guess after a token, or None; ``marked``: the token begins a piece of the text."""
        after = int(self.after(guess, np.array([token], np.int32), marked)[0])
        return None if after < 0 else after

    def may_end(self, guess: int) -> bool:
        """Whether the text may end here."""
        return bool(may_end(self.tables, guess))

    def row(self, guess: int, marked: bool) -> npt.NDArray[np.int64]:
        """The guess after each token of the vocabulary, or −1, (V,); a new array.

        Cost: 1 ms for 32k tokens, 5 ms for 131k.
        """
        return self.after(guess, np.arange(len(self.tables.kind), dtype=np.int32), marked)

    def after(self, guess: int, tokens: Ints, marked: bool) -> npt.NDArray[np.int64]:
        """The guess after each of n tokens, or −1, (n,); a new array."""
        out = np.empty(len(tokens), np.int64)
        take_tokens(self.tables, guess, tokens, int(marked), out)
        return out


def guide_of(
    vocabulary: Vocabulary, tables: Tables, pretokens: Pretokens | None, words: Words
) -> Guide:
    """The guide of a tokenizer that does more than merge.

    ``words`` are the tokens that are taken whole although merges do not produce them.

    Raises: VocabularyError if the parts are too large for a guess.
    """
    tokenizer, tokens = vocabulary.tokenizer, vocabulary.tokens
    packed = Packed.of(tokens)
    edges, word_ends = _trie(filter(None, words.values()))
    kind = np.where(tables.rank == NOT_PRODUCED, NEVER_TAKEN, ORDINARY).astype(np.int16)
    fallback = np.array(sorted(tokenizer.byte_fallback), np.int64)
    kind[fallback[tables.rank[fallback] != NOT_PRODUCED]] = FALLBACK_BYTE
    kind[[*words]] = WORD
    kind[sorted(vocabulary.added)] = NEVER_TAKEN
    # the text of an added token may be another one after it was normalised
    added = [entry for entry in tokenizer.added if tokens[entry.token] == entry.text]
    kind[[entry.token for entry in added]] = ADDED + np.arange(len(added))
    around = added_table(tokenizer.added, added, tokenizer.prefix_scope)
    characters, steps, accepts, forms = _character_tables(pretokens, tokenizer.normal_form)
    fallbacks = utf8_table(_fallback_classes(vocabulary), NONE)
    sizes = (
        len(accepts), 2, len(characters), len(fallbacks), len(around.bytes), len(forms),
        len(word_ends) + 1,
    )  # fmt: skip
    guide = GuideTables(
        layout=Layout.of(sizes),
        text=packed.text,
        text_from=np.concatenate(([0], np.cumsum(np.maximum(packed.lengths, 0)))).astype(np.int32),
        kind=kind,
        characters=characters,
        fallback=fallbacks,
        steps=steps,
        accepts=accepts,
        forms=forms,
        added_bytes=around.bytes,
        added_after=around.after,
        added_exceptions=around.exceptions,
        added_ends=around.ends,
        is_late=np.array([entry.normalized for entry in added], np.bool_),
        word_edges=edges,
        word_ends=word_ends,
    )
    for array in (*guide.layout, *guide.word_edges, *guide.added_exceptions, *guide):
        if isinstance(array, np.ndarray):  # kernels would be compiled again for writable arrays
            array.setflags(write=False)
    return Guide(guide, _separate(guide, around), around.is_prefix)


def _separate(guide: GuideTables, added: AddedTable) -> Bools:
    """The tokens to which the normal form's state, begun added texts and words do not matter."""
    # no added text that has begun before the token continues through it
    is_separate: Bools = _last_nodes(guide, added.factors) == -1
    if len(guide.forms) > 1:
        alike = (guide.forms == guide.forms[0]).all(axis=0)
        classes = END - _last_nodes(guide, guide.characters)  # of the first character, if whole
        is_separate &= (classes >= 0) & alike[np.maximum(classes, 0)]
    inner_edges = guide.word_edges.keys[(guide.word_edges.keys >> 32) > _ROOT]
    is_separate[inner_edges & 0xFFFFFFFF] = False
    exceptions = added.exceptions.keys[added.exceptions.keys >= 0] & 0xFFFFFFFF
    is_separate[np.isin(guide.kind, ADDED + exceptions)] = False
    return is_separate


def _character_tables(pretokens: Pretokens | None, form: str) -> tuple[Table, Table, Bools, Table]:
    """The classes of characters that K and the normal form distinguish, and their steps in both."""
    if pretokens is None:
        of, steps, accepts = _one_class(), _one_piece(), np.ones(2, np.bool_)
    else:
        of, steps, accepts = pretokens.classes.of, pretokens.steps, pretokens.accepts
    if not form:
        forms = np.zeros((1, steps.shape[2]), np.int16)
        return utf8_table(of, NONE), steps, accepts, forms
    normal = normal_form(form)
    both = of.astype(np.int32) * normal.steps.shape[1] + normal.of
    both[of == NONE] = -1
    pairs, joint = np.unique(both, return_inverse=True)
    kinds, forms_of = np.divmod(pairs[1:], normal.steps.shape[1])  # the first is −1: surrogates
    table = utf8_table((joint - 1).astype(np.uint16), _NO_CLASS)
    return table, _columns(steps, kinds), accepts, _columns(normal.steps, forms_of)


def _columns(steps: Table, kinds: npt.NDArray[np.integer]) -> Table:
    return np.ascontiguousarray(steps[..., kinds])


def _one_class() -> npt.NDArray[np.uint8]:
    """Classes in which all characters are equal."""
    of = np.zeros(CODES, np.uint8)
    of[SURROGATES] = NONE
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


def _trie(words: Iterable[Sequence[TokenId]]) -> tuple[RuleTable, npt.NDArray[np.bool_]]:
    """The trie of some token sequences; node 1 is its root, node 0 means that none begins so."""
    edges: dict[tuple[int, int], int] = {}
    ends = {_OFF: False, _ROOT: False}
    for word in words:
        node = _ROOT
        for token in word:
            node = edges.setdefault((node, token), len(edges) + 2)
            ends.setdefault(node, False)
        ends[node] = True
    rows = np.array([(*edge, node) for edge, node in edges.items()], np.int32).reshape(-1, 3)
    columns = [rows[:, i].copy() for i in range(3)]
    table = rule_table(columns[0], columns[1], columns[2], np.zeros(len(rows), np.int32))
    return table, np.array([ends[node] for node in range(len(ends))], np.bool_)
