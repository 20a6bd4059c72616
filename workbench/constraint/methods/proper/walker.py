"""The tokens a machine and a tokenizer allow from a state.

In come a machine and a trie; out come the edges of the permissive automaton. What a tokenizer's
guide makes of each token does not depend on the machine, so it is looked up (``guesses``): a guess
read beside the state, byte by byte, took the walk twice as long.

A machine with a stack is made as it is read: where the walk comes to a step nobody computed, it is
computed, and the walk goes on.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from workbench.automata.lazy_dfa import UNKNOWN
from workbench.base.dfa import Dfa, State
from workbench.base.kernels import njit
from workbench.base.limits import Limits
from workbench.constraint.methods.proper.guide_guesses import (
    NO_ROOM,
    WITHIN,
    Guess,
    Guesses,
    Ints,
    Machine,
    Nodes,
    Places,
)
from workbench.pushdown.runner import Runner
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.trie import DEPTH_AT, DEPTHS, SEVERAL, SIZE_AT, TOKEN_AT
from workbench.vocabulary.vocabulary import Vocabulary

_NONE, _ONE, _BYTES = np.uint64(0), np.uint64(1), np.uint64(255)
_DEPTH_AT, _DEPTHS = np.uint64(DEPTH_AT), np.uint64(DEPTHS - 1)
_TOKEN_AT, _SEVERAL, _SIZE_AT = np.uint64(TOKEN_AT), np.uint64(SEVERAL), np.uint64(SIZE_AT)


@njit(cache=True, nogil=True, _nrt=False)
def permissive(
    machine: Machine, nodes: Nodes, path: Ints, begin: int, count: int, tokens: Ints, states: Ints
) -> tuple[int, int]:  # fmt: skip
    """Write every token that can be read from a state, and the state after it.

    Returns where the walk stands and how many were written so far: at a node whose step is
    ``UNKNOWN`` the machine has to grow first.

    Shape: ``path`` (height + 1,), the state at its head; ``tokens`` and ``states`` (V,), room.
    """
    at, stop = np.uint64(begin), np.uint64(len(nodes.records))
    while at < stop:
        record = nodes.records[at]
        level = (record >> _DEPTH_AT) & _DEPTHS
        there = machine.table[path[level] * machine.width + machine.classes[record & _BYTES]]
        if there == UNKNOWN:
            break
        if there < 0:
            at += record >> _SIZE_AT
            continue
        path[level + _ONE] = there
        token = (record >> _TOKEN_AT) & _SEVERAL
        if token == _SEVERAL:
            for k in range(nodes.first[at], nodes.first[at + _ONE]):
                tokens[count], states[count] = nodes.token_ids[k], there
                count += 1
        elif token != _NONE:
            tokens[count], states[count] = np.int32(token - _ONE), there
            count += 1
        at += _ONE
    return int(np.int64(at)), count


@njit(cache=True, nogil=True, _nrt=False)
def guided(
    places: Places, after: Ints, tokens: Ints, states: Ints, taken: Ints, targets: Ints, ends: Ints
) -> int:  # fmt: skip
    """Of some edges write those a guide takes, the places and states they lead to; how many.

    A place that is met for the first time is numbered.

    Shape: ``after`` (V,) the guess after each token, −1 where there is none.
    """
    kept = 0
    for i in range(len(tokens)):
        guess = after[tokens[i]]
        if guess < 0:
            continue
        taken[kept], ends[kept] = tokens[i], states[i]
        if places.within[guess]:
            targets[kept] = WITHIN
        else:
            number = places.numbers[states[i], guess]
            targets[kept] = number if number >= 0 else _numbered(places, states[i], guess)
        kept += 1
    return kept


@njit(cache=True, nogil=True, _nrt=False)
def _numbered(places: Places, state: int, guess: int) -> int:
    number = np.int32(places.met[0])
    if number == len(places.states):
        return NO_ROOM
    places.met[0] = number + 1
    places.states[number], places.guesses[number] = state, guess
    places.numbers[state, guess] = number
    return int(number)


class Readable(Protocol):
    """A machine whose table may be another one after it has grown."""

    @property
    def machine(self) -> Machine: ...

    def grow(self, state: State, byte: int) -> None:
        """Compute a step."""
        ...


class OfDfa:
    """A machine that is complete."""

    def __init__(self, dfa: Dfa) -> None:
        table = dfa.table.reshape(-1)
        table.setflags(write=False)  # numba takes arrays that may be written for another type
        self.machine = Machine(table, dfa.table.shape[1], dfa.classes)

    def grow(self, state: State, byte: int) -> None:
        """Nothing is missing."""
        raise AssertionError("a Dfa has all its steps")


class OfRunner:
    """A network that is run."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._classes = runner.classes.copy()
        self._classes.setflags(write=False)

    @property
    def machine(self) -> Machine:
        """The tables as they are now."""
        table = self._runner.room.table.view()
        table.setflags(write=False)
        return Machine(table, len(self._runner.growth.rules.columns), self._classes)

    def grow(self, state: State, byte: int) -> None:
        """Compute a step.

        Raises: LimitError
        """
        self._runner.step(state, byte)


class Reader:
    """Walks of one vocabulary with one machine; one at a time."""

    def __init__(self, readable: Readable, vocabulary: Vocabulary) -> None:
        trie, size = vocabulary.trie, len(vocabulary)
        self._readable, self._trie, self._nodes = readable, trie, Nodes.of(trie)
        self._path = np.zeros(trie.height + 1, np.int32)
        self._tokens, self._states = np.empty(size, np.int32), np.empty(size, np.int32)
        self._walked: tuple[State, int] = UNKNOWN, 0

    def permissive(self, state: State) -> tuple[Ints, Ints]:
        """Every token that can be read from a state, and the state after it.

        The arrays are written anew by the next walk.
        """
        if self._walked[0] != state:
            self._walked = state, self._walk(state)
        return self._tokens[: self._walked[1]], self._states[: self._walked[1]]

    def _walk(self, state: State) -> int:
        self._path[0] = state
        at, count = 0, 0
        while True:
            at, count = permissive(
                self._readable.machine, self._nodes, self._path, at, count, self._tokens,
                self._states,
            )  # fmt: skip
            if at == len(self._trie):
                return count
            here = int(self._path[self._trie.depth[at]])
            self._readable.grow(here, int(self._trie.byte[at]))


#: Places a table has room for.
_ROOM = 50_000_000
#: Rows with more edges may be sampled.
_LONG = 4_096


class Walker:
    """Walks of one vocabulary with one machine; one at a time.

    Raises: LimitError where there may be too many places.
    """

    def __init__(self, dfa: Dfa, bpe: Bpe, limits: Limits) -> None:
        self.guesses = Guesses.of(bpe)
        self._limits = limits
        self.reader = Reader(OfDfa(dfa), bpe.vocabulary)
        self._places = Places(
            np.empty(limits.states, np.int32),
            np.empty(limits.states, np.int32),
            np.empty((len(dfa), 0), np.int32),
            np.zeros(1, np.int64),
            np.zeros(0, np.uint8),
        )
        self._room = tuple(np.empty(len(bpe.vocabulary), np.int32) for _ in range(3))
        self._met = 0

    def __len__(self) -> int:
        """How many places between characters were met."""
        return int(self._places.met[0])

    def place(self, number: int) -> tuple[State, Guess]:
        """A place by its number."""
        return int(self._places.states[number]), int(self._places.guesses[number])

    def meet(self, state: State, guess: Guess) -> None:
        """Give a place between characters a number, if it has none."""
        self._grow()
        if self._places.numbers[state, guess] < 0:
            number = len(self)
            self._places.states[number], self._places.guesses[number] = state, guess
            self._places.numbers[state, guess] = number
            self._places.met[0] += 1

    def edges(
        self, state: State, guess: Guess, mark: int, every: int = 1
    ) -> tuple[Ints, Ints, Ints]:
        """The tokens that can be read from a place, the numbers and the states of where they lead.

        The arrays are written anew by the next walk. Of long rows only one edge in ``every``.

        Raises: LimitError where there are more places than states are allowed.
        """
        after = self.guesses.after(guess, mark)
        self._grow()
        tokens, states = self.reader.permissive(state)
        if every > 1 and len(tokens) > _LONG:
            tokens, states = tokens[::every].copy(), states[::every].copy()
        taken, targets, ends = self._room
        count = guided(self._places, after, tokens, states, taken, targets, ends)
        if len(self) == self._limits.states and (targets[:count] == NO_ROOM).any():
            self._limits.check("states", self._limits.states + 1)
        return taken[:count], targets[:count], ends[:count]

    def _grow(self) -> None:
        """Make room for guesses that were met since, by this machine or another."""
        needed = len(self.guesses)
        if needed == self._met:
            return
        self._met, known, states = needed, *reversed(self._places.numbers.shape)
        if needed > known:
            wide = max(16, 2 * needed)
            self._limits.check("states", 0 if states * wide < _ROOM else states * wide)
            numbers = np.full((states, wide), -1, np.int32)
            numbers[:, :known] = self._places.numbers
            self._places = self._places._replace(numbers=numbers, within=np.zeros(wide, np.uint8))
        self._places.within[:needed] = self.guesses.within
