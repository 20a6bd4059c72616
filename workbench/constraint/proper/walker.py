"""Walker: a machine and a tokenizer come in, the edges that leave a place go out."""

from __future__ import annotations

import numpy as np

from workbench.automata.dfa import Dfa, State
from workbench.constraint.proper import walking
from workbench.constraint.proper.guesses import Guess, Guesses
from workbench.constraint.proper.reader import OfDfa, Reader
from workbench.constraint.proper.tables import NO_ROOM, Ints, Places
from workbench.limits import Limits
from workbench.vocabulary.bpe.bpe import Bpe

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
        count = walking.guided(self._places, after, tokens, states, taken, targets, ends)
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
