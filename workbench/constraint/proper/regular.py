"""RegularRows: the rows of a regular grammar; ``live`` knows those between characters.

Inside a character it knows none; those are looked at when decoding comes near them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from workbench.automata.dfa import Dfa, State
from workbench.constraint.proper import judging
from workbench.constraint.proper.guesses import Guess
from workbench.constraint.proper.live import Live, live_edges
from workbench.constraint.proper.searching import Node, Place, Searching
from workbench.constraint.proper.tables import ANEW, INSIDE, Ints, Words
from workbench.limits import Limits
from workbench.vocabulary.bpe.bpe import Bpe


class RegularRows(Searching):
    """The rows of a Dfa, whole regions of it decided beforehand.

    Raises: LimitError, as ``live_edges``.
    """

    def __init__(self, dfa: Dfa, bpe: Bpe, starts: Iterable[Guess], limits: Limits) -> None:
        super().__init__(bpe, limits)
        self.dfa = dfa
        #: The edges between characters.
        self.live: Live = live_edges(dfa, bpe, starts, limits)

    @property
    def initial(self) -> State:
        return self.dfa.initial

    def is_final(self, state: State) -> bool:
        return bool(self.dfa.finals[state])

    def after(self, state: State, data: bytes) -> State:
        return self.dfa.run(data, state)

    def _decided_before(self, place: Place, mark: int) -> Words:
        number = self.live.places.get(place)
        if number is None:
            return np.zeros(self.words, np.uint32)
        return self.live.bits(number, mark)

    def _is_settled(self, node: Node) -> bool:
        (state, guess), last = node
        number = self.live.places.get((state, guess))
        if number is None:
            return self._ends((state, guess))
        if self.live.free[number]:
            return True
        row = judging.as_bits(self.live.edges[INSIDE][number].row, self.words)
        return bool(self.without_row(row, last).any())

    def _looked_up(self, place: Place, mark: int) -> tuple[Ints, Ints, Ints, Ints]:
        state, guess = place
        number = self.live.places.get(place)
        if number is not None:
            tokens, states, after = self.live.edges[mark][number].open
        elif mark == ANEW and self.guesses.is_within(guess):
            return (np.empty(0, np.int32),) * 4
        else:
            tokens, states = self.live.walker.reader.permissive(state)
            after = self.guesses.take(guess, tokens, mark)
        taken = np.flatnonzero(after >= 0)
        # whole characters first: there rows are known
        far = self.guesses.within[after[taken]].astype(np.int32)
        return tokens[taken], states[taken], after[taken], far
