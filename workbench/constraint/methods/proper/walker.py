"""The edges of the permissive automaton, and the states of a tokenizer's guide as numbers.

The guess after each token does not depend on the machine, so it is looked up; with the guess
computed byte by byte together with the state, the walk took twice as long.

A machine with a stack grows during the walk: where a step is ``UNKNOWN``, it is computed and the
walk continues.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from workbench.automata.lazy_dfa import UNKNOWN
from workbench.base.dfa import Dfa, State
from workbench.base.kernels import inner, njit, wrapping
from workbench.base.limits import Limits
from workbench.base.locks import WorkLock
from workbench.constraint.engine.trie_walk import (
    BYTE_MASK,
    DEPTH_MASK,
    DEPTH_SHIFT,
    NO_TOKEN,
    ONE,
    SEVERAL_END,
    SIZE_SHIFT,
    TOKEN_MASK,
    TOKEN_SHIFT,
)
from workbench.pushdown.runner import Runner
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenization.merge_rules import HASH_FACTOR, NOT_PRODUCED
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


@njit(_nrt=False)
def read_permissive(
    machine: Machine, nodes: TrieNodes, path: Ints, begin: int, count: int, tokens: Ints,
    states: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Write every token that can be read from a state, and the state after it. Resumable.

    Returns the next node and the number of tokens written. If the next node is not the end of the
    trie, its step is ``UNKNOWN``: compute it and call the kernel again with both numbers.

    Shape: ``path`` (height + 1,), first the state; ``tokens`` and ``states`` (V,), the output.
    """
    node, stop = np.uint64(begin), np.uint64(len(nodes.records))
    while node < stop:
        record = nodes.records[node]
        level = (record >> DEPTH_SHIFT) & DEPTH_MASK
        target = machine.table[path[level] * machine.width + machine.classes[record & BYTE_MASK]]
        if target == UNKNOWN:
            break
        if target < 0:
            node += record >> SIZE_SHIFT
            continue
        path[level + ONE] = target
        token = (record >> TOKEN_SHIFT) & TOKEN_MASK
        if token == SEVERAL_END:
            for k in range(nodes.first[node], nodes.first[node + ONE]):
                tokens[count], states[count] = nodes.token_ids[k], target
                count += 1
        elif token != NO_TOKEN:
            tokens[count], states[count] = np.int32(token - ONE), target
            count += 1
        node += ONE
    return int(np.int64(node)), count


@njit(_nrt=False)
def filter_by_guide(
    positions: Positions, after: Ints, separate: Bools, tokens: Ints, states: Ints,
    kept_tokens: Ints, targets: Ints, target_states: Ints,
) -> int:  # fmt: skip
    """Write the edges that the guide allows, with their target positions and states.

    A position that is visited for the first time is numbered. Returns the number of edges.

    Shape: ``after`` (V,) the guess after each token, −1 if it is not allowed; ``separate`` (V,).
    """
    count = 0
    for i in range(len(tokens)):
        guess = after[tokens[i]]
        if guess < 0:
            continue
        kept_tokens[count], target_states[count] = tokens[i], states[i]
        column = positions.columns[guess]
        if column < 0 or not separate[tokens[i]]:
            targets[count] = UNDECIDED
        else:
            number = positions.numbers[states[i], column]
            targets[count] = number if number >= 0 else _number(positions, states[i], column)
        count += 1
    return count


@inner
def _number(positions: Positions, state: int, column: int) -> int:
    number = np.int32(positions.visited_count[0])
    if number == len(positions.states):
        return NO_ROOM
    positions.visited_count[0] = number + 1
    positions.states[number], positions.guesses[number] = state, positions.bases[column]
    positions.numbers[state, column] = number
    return int(number)


class SteppedMachine(Protocol):
    """A machine whose table may be replaced when it grows."""

    @property
    def machine(self) -> Machine: ...

    def grow(self, state: State, byte: int) -> None:
        """Compute a step."""
        ...


class DfaMachine:
    """A complete DFA."""

    def __init__(self, dfa: Dfa) -> None:
        table = dfa.table.reshape(-1)
        table.setflags(write=False)  # numba has a separate type for writable arrays
        self.machine = Machine(table, dfa.table.shape[1], dfa.classes)

    def grow(self, state: State, byte: int) -> None:
        """Never called."""
        raise AssertionError("unknown step in a complete DFA")


class RunnerMachine:
    """A network, as a ``Runner`` with its tables."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._classes = runner.classes.copy()
        self._classes.setflags(write=False)

    @property
    def machine(self) -> Machine:
        """The current tables."""
        table = self._runner.room.table.view()
        table.setflags(write=False)
        return Machine(table, len(self._runner.growth.rules.columns), self._classes)

    def grow(self, state: State, byte: int) -> None:
        """Compute a step.

        Raises: LimitError
        """
        self._runner.step(state, byte)


class PermissiveReader:
    """Walks one vocabulary with one machine; not thread-safe."""

    def __init__(self, readable: SteppedMachine, vocabulary: Vocabulary) -> None:
        trie, size = vocabulary.trie, len(vocabulary)
        self._readable, self._trie, self._nodes = readable, trie, TrieNodes.of(trie)
        self._path = np.zeros(trie.height + 1, np.int32)
        self._tokens, self._states = np.empty(size, np.int32), np.empty(size, np.int32)
        self._last_walk: tuple[State, int] = UNKNOWN, 0

    def permissive(self, state: State) -> tuple[Ints, Ints]:
        """Every token that can be read from a state, and the state after it.

        The next walk overwrites the arrays.
        """
        if self._last_walk[0] != state:
            self._last_walk = state, self._walk(state)
        return self._tokens[: self._last_walk[1]], self._states[: self._last_walk[1]]

    def _walk(self, state: State) -> int:
        self._path[0] = state
        node, count = 0, 0
        while True:
            node, count = read_permissive(
                self._readable.machine, self._nodes, self._path, node, count, self._tokens,
                self._states,
            )  # fmt: skip
            if node == len(self._trie):
                return count
            state = int(self._path[self._trie.depth[node]])
            self._readable.grow(state, int(self._trie.byte[node]))


#: The most entries of the table of positions (states times guesses).
_MAX_TABLE_ENTRIES = 50_000_000
#: Rows with more edges may be sampled.
_MIN_SAMPLED_EDGES = 4_096


class Walker:
    """Walks one vocabulary with one machine and numbers the positions; not thread-safe.

    Raises: LimitError where there may be too many positions.
    """

    def __init__(self, dfa: Dfa, bpe: Bpe, limits: Limits) -> None:
        self.guesses = Guesses.of(bpe)
        self._limits = limits
        self.reader = PermissiveReader(DfaMachine(dfa), bpe.vocabulary)
        self._positions = Positions(
            np.empty(limits.states, np.int32),
            np.empty(limits.states, np.int32),
            np.empty((len(dfa), 0), np.int32),
            np.zeros(1, np.int64),
            np.zeros(0, np.int32),
            np.zeros(0, np.int32),
        )
        self._buffers = tuple(np.empty(len(bpe.vocabulary), np.int32) for _ in range(3))
        self._visited_guesses = 0

    def __len__(self) -> int:
        """The number of positions between characters visited."""
        return int(self._positions.visited_count[0])

    def position(self, number: int) -> tuple[State, Guess]:
        """A position by its number."""
        return int(self._positions.states[number]), int(self._positions.guesses[number])

    def number_position(self, state: State, guess: Guess) -> None:
        """Number a position between characters, by the base of its guess, if it has no number."""
        self._grow()
        column = self._positions.columns[guess]
        if self._positions.numbers[state, column] < 0:
            number = len(self)
            self._positions.states[number] = state
            self._positions.guesses[number] = self.guesses.base(guess)
            self._positions.numbers[state, column] = number
            self._positions.visited_count[0] += 1

    def edges(
        self, state: State, guess: Guess, mark: int, sampling: int = 1
    ) -> tuple[Ints, Ints, Ints]:
        """The tokens allowed at a position, with the numbers and states of their target positions.

        ``guess`` is a base. Where the target depends on more, its number is ``UNDECIDED``.
        The next walk overwrites the arrays. Of long rows only every ``sampling``-th edge is used.

        Raises: LimitError past ``limits.states`` positions.
        """
        after = self.guesses.after(guess, mark)
        self._grow()
        tokens, states = self.reader.permissive(state)
        if sampling > 1 and len(tokens) > _MIN_SAMPLED_EDGES:
            tokens, states = tokens[::sampling].copy(), states[::sampling].copy()
        kept_tokens, targets, target_states = self._buffers
        count = filter_by_guide(
            self._positions, after, self.guesses.separate, tokens, states, kept_tokens, targets,
            target_states,
        )  # fmt: skip
        if len(self) == self._limits.states and (targets[:count] == NO_ROOM).any():
            self._limits.check("states", self._limits.states + 1)
        return kept_tokens[:count], targets[:count], target_states[:count]

    def _grow(self) -> None:
        """Enlarge the arrays for guesses added since, by this machine or another."""
        if len(self.guesses) == self._visited_guesses:
            return
        columns, bases = self.guesses.columns, self.guesses.bases
        self._visited_guesses = len(columns)
        states, existing = self._positions.numbers.shape
        if len(bases) > existing:
            capacity = max(16, 2 * len(bases))
            self._limits.check(
                "states", 0 if states * capacity < _MAX_TABLE_ENTRIES else states * capacity
            )
            numbers = np.full((states, capacity), -1, np.int32)
            numbers[:, :existing] = self._positions.numbers
            self._positions = self._positions._replace(numbers=numbers)
        self._positions = self._positions._replace(columns=columns, bases=bases)


# -- states of the guide --------------------------------------------------------------------------
# The states of a tokenizer's guide as small numbers, and the arrays of the walks.
#
# A *position* is the state between two tokens: the state of the grammar's automaton, and a *guess*:
# the state of the tokenizer's guide, which determines how the text read is divided into pieces. It
# is a guess because later text may decide the division.
#
# A guide's state is one 64-bit code. Between two characters few codes occur (K has 19 states for
# Tekken). So they are numbered, and the guess after each token is computed once for all machines of
# a vocabulary.
#
# Where texts are normalised, or have added tokens or tokens that are taken whole, there are
# thousands of codes. They differ only before some tokens: marks, and what continues the text of
# such a token (``separate`` has the others). So what holds for the *base* of guesses
# (``Guide.base``) holds for them before ``separate`` tokens.


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
        cached_guesses = vars(bpe).get("_guesses")
        if not isinstance(cached_guesses, Guesses):
            cached_guesses = vars(bpe)["_guesses"] = Guesses(bpe)
        return cached_guesses

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
