"""The states of a tokenizer's guide as small numbers, and the arrays of the walks.

A *position* is the state between two tokens: the state of the grammar's automaton, and a *guess*:
the state of the tokenizer's guide, which determines how the text read is divided into pieces. It
is a guess because later text may decide the division.

A guide's state is one 64-bit code. Between two characters few codes occur (K has 19 states for
Tekken). So they are numbered, and the guess after each token is computed once for all machines of
a vocabulary.

Where texts are normalised, or have added tokens or tokens that are taken whole, there are
thousands of codes. They differ only before some tokens: marks, and what continues the text of
such a token (``separate`` has the others). So what holds for the *base* of guesses
(``Guide.base``) holds for them before ``separate`` tokens.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.kernels import njit, wrapping
from workbench.base.locks import WorkLock
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenization.merge_kernels import HASH_FACTOR, NOT_PRODUCED
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import TokenId

Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Records = npt.NDArray[np.uint64]
Classes = npt.NDArray[np.uint16]
Bools = npt.NDArray[np.bool_]

#: The mark of a token: whether it continues the current piece of the text or begins a new one.
SAME_PIECE, NEW_PIECE = 0, 1

#: Instead of the number of a position: it is inside a character, or depends on more than a base;
#: there are too many positions.
UNDECIDED, NO_ROOM = -1, -2


class Machine(NamedTuple):
    """A machine as kernels read it: its flat table (Q · C,) of ``width`` C, each byte's class."""

    table: Ints
    width: int
    classes: Classes


class TrieNodes(NamedTuple):
    """A trie as kernels read it: packed records (N,), the tokens that end at each node."""

    records: Records
    first: Ints
    token_ids: Ints

    @staticmethod
    def of(trie: Trie) -> TrieNodes:
        """The nodes of a trie."""
        return TrieNodes(trie.records, trie.first, trie.token_ids)


class Positions(NamedTuple):
    """The positions between characters, numbered in the order of the first visit.

    Shape: ``states`` and ``guesses`` (capacity,), the latter bases; ``numbers`` (Q, B) for B bases,
           −1 for positions not visited; ``visited_count`` (1,); ``columns`` (G,), the column of
           each guess, −1 inside a character; ``bases`` (B,), the guess of each column.
    """

    states: Ints
    guesses: Ints
    numbers: Ints
    visited_count: Numbers
    columns: Ints
    bases: Ints


#: The number of a state of the guide.
Guess = int


class Guesses:
    """The guesses of one tokenizer; get it by ``Guesses.of``, which caches it with the merges."""

    #: The guess before a text.
    start: Guess = 0

    def __init__(self, bpe: Bpe) -> None:
        self._guide = bpe.guide
        self._canonical = bpe.tables.rank != NOT_PRODUCED
        self._lock = WorkLock()
        self._codes = np.full(1024, -1, np.int64)
        #: The number of a code, by its hash.
        self._numbers = np.full(1024, -1, np.int32)
        self._visited_codes = [0 if self._guide is None else self._guide.start]
        self._within = [False]
        self._base = [0]
        self._columns = [0]
        self._bases = [0]
        self._arrays = self._new_arrays()
        self._after: dict[tuple[Guess, int], Ints] = {}
        #: The tokens that lead to one guess from all guesses with one base, (V,).
        self.separate = np.ones(len(self._canonical), np.bool_)
        if self._guide is None:
            none = np.full(len(self._canonical), -1, np.int32)
            self._after = {(0, SAME_PIECE): np.where(self._canonical, 0, none), (0, 1): none}
        else:
            self.separate = self._guide.separate
            self._enter_codes()

    @staticmethod
    def of(bpe: Bpe) -> Guesses:
        """The guesses of a tokenizer.

        Raises: VocabularyError where it has no guide.
        """
        return bpe.derived(Guesses)

    def __len__(self) -> int:
        return len(self._visited_codes)

    def is_within(self, guess: Guess) -> bool:
        """Whether the position is inside a character."""
        return self._within[guess]

    @property
    def within(self) -> Bytes:
        """``is_within`` of all guesses, (G,)."""
        return self._current_arrays()[0]

    @property
    def columns(self) -> Ints:
        """The number of each guess's base among the bases; −1 inside a character, (G,)."""
        return self._current_arrays()[1]

    @property
    def bases(self) -> Ints:
        """The bases, in order, (B,)."""
        return self._current_arrays()[2]

    @property
    def base_of(self) -> Ints:
        """``base`` of all guesses, (G,)."""
        return self._current_arrays()[3]

    def base(self, guess: Guess) -> Guess:
        """The base of a guess; itself inside a character."""
        return self._base[guess]

    def _current_arrays(self) -> tuple[Bytes, Ints, Ints, Ints]:
        if len(self._arrays[0]) < len(self._within):
            with self._lock:
                self._arrays = self._new_arrays()
        return self._arrays

    def _new_arrays(self) -> tuple[Bytes, Ints, Ints, Ints]:
        columns, bases = np.array(self._columns, np.int32), np.array(self._bases, np.int32)
        return np.array(self._within, np.uint8), columns, bases, np.array(self._base, np.int32)

    def may_end(self, guess: Guess) -> bool:
        """Whether the tokenizer allows the text to end here."""
        return self._guide is None or self._guide.may_end(self._visited_codes[guess])

    def after(self, guess: Guess, mark: int) -> Ints:
        """The guess after each token of the vocabulary, −1 if it is not allowed, (V,)."""
        cached = self._after.get((guess, mark))
        if cached is None:
            cached = self._after[guess, mark] = self._compute(guess, mark)
        return cached

    def take(self, guess: Guess, tokens: Ints, mark: int) -> Ints:
        """The guess after each of the given tokens, −1 if it is not allowed, (n,)."""
        row = self._after.get((guess, mark))
        if row is not None:
            return row[tokens]
        assert self._guide is not None
        codes = self._guide.after(self._visited_codes[guess], tokens, bool(mark))
        with self._lock:
            return self._number_of(codes)

    def take_one(self, guess: Guess, token: TokenId, mark: int) -> Guess:
        """The guess after one token, or −1."""
        return int(self.take(guess, np.array([token], np.int32), mark)[0])

    def _compute(self, guess: Guess, mark: int) -> Ints:
        assert self._guide is not None
        with self._lock:
            return self._number_of(self._guide.row(self._visited_codes[guess], bool(mark)))

    def _number_of(self, codes: Numbers) -> Ints:
        """The number of each code; new codes are added."""
        result = np.empty(len(codes), np.int32)
        begin = 0
        while (begin := look_up(self._codes, self._numbers, codes, begin, result)) < len(codes):
            self._add_code(int(codes[begin]))
        return result

    def _add_code(self, code: int) -> None:
        """Number a code, and before it its base."""
        assert self._guide is not None
        within = bool(code & self._guide.within_bits)
        base = self._guide.base(code)
        number = len(self._visited_codes) if base == code else self._number_of_one(base)
        self._visited_codes.append(code)
        self._within.append(within)
        self._base.append(number)
        if base == code and not within:
            self._columns.append(len(self._bases))
            self._bases.append(number)
        else:
            self._columns.append(-1 if within else self._columns[number])
        self._enter_codes()

    def _number_of_one(self, code: int) -> Guess:
        return int(self._number_of(np.array([code], np.int64))[0])

    def _enter_codes(self) -> None:
        """Enter the last code into the hash table, or all codes into a larger one."""
        if 2 * len(self._visited_codes) > len(self._codes):
            self._codes = np.full(4 * len(self._codes), -1, np.int64)
            self._numbers = np.full(len(self._codes), -1, np.int32)
            insert(self._codes, self._numbers, self._visited_codes, 0)
        else:
            last = len(self._visited_codes) - 1
            insert(self._codes, self._numbers, self._visited_codes[last:], last)


@wrapping
@njit(_nrt=False)
def look_up(table: Numbers, numbers: Ints, codes: Numbers, begin: int, result: Ints) -> int:
    """Write the numbers of codes. Returns the index of the first code without a number."""
    last = len(table) - 1
    for i in range(begin, len(codes)):
        code = codes[i]
        if code < 0:
            result[i] = -1
            continue
        slot = ((code * HASH_FACTOR) >> 24) & last
        while table[slot] != code:
            if table[slot] == -1:
                return i
            slot = (slot + 1) & last
        result[i] = numbers[slot]
    return len(codes)


def insert(table: Numbers, numbers: Ints, codes: list[int], first: int) -> None:
    """Insert codes into the hash table, numbered from ``first``."""
    last = len(table) - 1
    for number, code in enumerate(codes, first):
        slot = ((code * HASH_FACTOR) >> 24) & last  # the low bits are those of 64-bit integers
        while table[slot] != -1:
            slot = (slot + 1) & last
        table[slot], numbers[slot] = code, number
