"""The guide of a tokenizer as small numbers, and the tables of the walks.

A *place* is where a text stands between two tokens: the state of the grammar's automaton and a
*guess* of the tokenizer's guide: how the text so far is cut into pieces, which may be known late.

A guide tells by one long number how a text may be cut so far. Few of those are met between two
characters (K has 19 states for Tekken), so they are numbered, and where each token leads from one
is written down once for all machines of the vocabulary.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.kernels import njit
from workbench.vocabulary.tokenization import guide as kernels
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenization.guide import taken
from workbench.vocabulary.tokenization.merge_kernels import NOT_PRODUCED
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import TokenId

Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Records = npt.NDArray[np.uint64]
Classes = npt.NDArray[np.uint16]

#: Whether a token goes on in the piece it stands in, or begins one.
INSIDE, ANEW = 0, 1

#: Instead of the number of a place: it is inside a character; there is no number left.
WITHIN, NO_ROOM = -1, -2


class Machine(NamedTuple):
    """A machine as walks read it: its flat table (Q · C,) of ``width`` C, each byte's class."""

    table: Ints
    width: int
    classes: Classes


class Nodes(NamedTuple):
    """A trie as walks read it: packed records (N,), the tokens that end at each node."""

    records: Records
    first: Ints
    token_ids: Ints

    @staticmethod
    def of(trie: Trie) -> Nodes:
        """The nodes of a trie."""
        return Nodes(trie.records, trie.first, trie.token_ids)


class Places(NamedTuple):
    """The places between characters that were met, numbered in that order.

    Shape: ``states`` and ``guesses`` (P,), room for as many as are allowed; ``numbers`` (Q, G),
           −1 where a place was not met; ``met`` (1,) how many were; ``within`` (G,) whether a
           guess is inside a character.
    """

    states: Ints
    guesses: Ints
    numbers: Ints
    met: Numbers
    within: Bytes


#: A number for how a text may be cut so far.
Guess = int

#: The parts of a guide's number that tell where in a character a text stands.
_WITHIN = ((1 << kernels._ADDED) - 1) & ~((1 << kernels._CHARACTER) - 1)
_SPREAD = -7046029254386353131


class Guesses:
    """The guesses met with one tokenizer; made by ``Guesses.of``, kept with its merges."""

    #: The guess before a text.
    start: Guess = 0

    def __init__(self, bpe: Bpe) -> None:
        self._guide = bpe.guide
        self._canonical = bpe.tables.rank != NOT_PRODUCED
        self._lock = threading.RLock()
        self._codes = np.full(1024, -1, np.int64)
        #: The number of a code, by its hash.
        self._numbers = np.full(1024, -1, np.int32)
        self._met = [0 if self._guide is None else self._guide.start]
        self._within = [False]
        self._flags = np.zeros(1, np.uint8)
        self._after: dict[tuple[Guess, int], Ints] = {}
        if self._guide is None:
            none = np.full(len(self._canonical), -1, np.int32)
            self._after = {(0, INSIDE): np.where(self._canonical, 0, none), (0, 1): none}
        else:
            self._renumber()

    @staticmethod
    def of(bpe: Bpe) -> Guesses:
        """The guesses of a tokenizer.

        Raises: VocabularyError where it has no guide.
        """
        made = vars(bpe).get("_guesses")
        if not isinstance(made, Guesses):
            made = vars(bpe)["_guesses"] = Guesses(bpe)
        return made

    def __len__(self) -> int:
        return len(self._met)

    def is_within(self, guess: Guess) -> bool:
        """Whether a text stands inside a character."""
        return self._within[guess]

    @property
    def within(self) -> Bytes:
        """``is_within`` of all that were met."""
        if len(self._flags) < len(self._within):
            self._flags = np.array(self._within, np.uint8)
        return self._flags

    def may_end(self, guess: Guess) -> bool:
        """Whether the text may end here, as far as the tokenizer is concerned."""
        return self._guide is None or self._guide.may_end(self._met[guess])

    def after(self, guess: Guess, mark: int) -> Ints:
        """The guess after each token of the vocabulary, −1 where there is none, (V,)."""
        known = self._after.get((guess, mark))
        if known is None:
            known = self._after[guess, mark] = self._computed(guess, mark)
        return known

    def take(self, guess: Guess, tokens: Ints, mark: int) -> Ints:
        """The guess after each of some tokens, −1 where there is none, (n,)."""
        row = self._after.get((guess, mark))
        if row is not None:
            return row[tokens]
        assert self._guide is not None
        codes = np.empty(len(tokens), np.int64)
        take_some(self._guide.tables, self._met[guess], tokens, mark, codes)
        with self._lock:
            return self._numbered(codes)

    def take_one(self, guess: Guess, token: TokenId, mark: int) -> Guess:
        """The guess after one token, or −1."""
        return int(self.take(guess, np.array([token], np.int32), mark)[0])

    def _computed(self, guess: Guess, mark: int) -> Ints:
        assert self._guide is not None
        with self._lock:
            return self._numbered(self._guide.row(self._met[guess], bool(mark)))

    def _numbered(self, codes: Numbers) -> Ints:
        """A number for each code, new ones for those that were not met."""
        found = np.empty(len(codes), np.int32)
        begin = 0
        while (begin := look_up(self._codes, self._numbers, codes, begin, found)) < len(codes):
            self._met.append(int(codes[begin]))
            self._within.append(bool(codes[begin] & _WITHIN))
            self._renumber()
        return found

    def _renumber(self) -> None:
        """Put the last one met into the table; all of them where it has to grow."""
        if 2 * len(self._met) > len(self._codes):
            self._codes = np.full(4 * len(self._codes), -1, np.int64)
            self._numbers = np.full(len(self._codes), -1, np.int32)
            put(self._codes, self._numbers, np.array(self._met, np.int64), 0)
        else:
            put(self._codes, self._numbers, np.array(self._met[-1:], np.int64), len(self._met) - 1)


@njit(cache=True, nogil=True, _nrt=False)
def take_some(
    guide: kernels.GuideTables, code: int, tokens: Ints, mark: int, codes: Numbers
) -> None:
    """Write where a guide is after each of some tokens, −1 where it takes none."""
    for i in range(len(tokens)):
        codes[i] = taken(guide, code, tokens[i], mark)


@njit(cache=True, nogil=True, _nrt=False)
def look_up(table: Numbers, numbers: Ints, codes: Numbers, begin: int, found: Ints) -> int:
    """Write the numbers of codes; the place of the first that has none."""
    last = len(table) - 1
    for i in range(begin, len(codes)):
        code = codes[i]
        if code < 0:
            found[i] = -1
            continue
        place = ((code * _SPREAD) >> 24) & last
        while table[place] != code:
            if table[place] == -1:
                return i
            place = (place + 1) & last
        found[i] = numbers[place]
    return len(codes)


@njit(cache=True, nogil=True, _nrt=False)
def put(table: Numbers, numbers: Ints, codes: Numbers, first: int) -> None:
    """Write codes into the table, numbered from ``first`` on."""
    last = len(table) - 1
    for i in range(len(codes)):
        place = ((codes[i] * _SPREAD) >> 24) & last
        while table[place] != -1:
            place = (place + 1) & last
        table[place], numbers[place] = codes[i], first + i
