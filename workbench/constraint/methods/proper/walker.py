"""The edges of the permissive automaton.

The guess after each token does not depend on the machine, so it is looked up; with the guess
computed byte by byte together with the state, the walk took twice as long.

A machine with a stack grows during the walk: where a step is ``UNKNOWN``, it is computed and the
walk continues.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from workbench.automata.lazy_dfa import UNKNOWN
from workbench.base.dfa import Dfa, State
from workbench.base.kernels import inner, njit
from workbench.base.limits import Limits
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
from workbench.constraint.methods.proper.guide_states import (
    NO_ROOM,
    UNDECIDED,
    Bools,
    Guess,
    Guesses,
    Ints,
    Machine,
    Positions,
    TrieNodes,
)
from workbench.pushdown.runner import Runner
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import Vocabulary


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
        table = self._runner.arrays.table.view()
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
