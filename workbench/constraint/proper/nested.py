"""NestedRows: the rows of a grammar with a stack, decided token by token as decoding meets them.

In come a ``Network`` and a tokenizer; out come the tokens after which some accepted text is still
spelt properly: the automaton intersected with the tokenizer's own language. Stacks are without
number, so nothing is decided beforehand: each token that can be read is searched from, nearest end
first, until a text is found that is spelt so.

Where a token leads on, the search finds it soon; where none does, nearly always all ways end at
once (after ``tru`` every text goes on with ``e``, which would have been joined). A grammar could
make a search go down for ever; it gives up after ``patience`` places, and the token is forbidden
although it may lead on. So there are no dead ends, and where ``given_up`` is 0 the masks are exact.
It was 0 in everything that was tried: the grammars of the tests, and those of the gallery with the
embedded vocabulary and the first of Mistral.
"""

from __future__ import annotations

import numpy as np

from workbench.automata.dfa import State
from workbench.constraint.proper.reader import OfRunner, Reader
from workbench.constraint.proper.regular import anywhere
from workbench.constraint.proper.searching import Node, Place, Searching
from workbench.constraint.proper.tables import ANEW, Ints, Words
from workbench.limits import Limits
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner
from workbench.pushdown.wander import rests
from workbench.vocabulary.bpe.bpe import Bpe

#: How far the end of a text is, from situations that were asked for.
_MOST = 100_000


class NestedRows(Searching):
    """The rows of a network; its states are situations of a ``Runner``.

    Cost:   every place is a walk of the trie and a search or two for each place it leads to.
    Raises: LimitError, as ``Runner``.
    """

    patience = 2_000

    def __init__(self, network: Network, bpe: Bpe, limits: Limits) -> None:
        super().__init__(bpe, limits)
        self.runner = Runner(network, limits)
        self._reader = Reader(OfRunner(self.runner), bpe.vocabulary)
        self._rests = rests(network, limits)
        self._left: dict[State, int] = {}

    @property
    def initial(self) -> State:
        return self.runner.initial

    def is_final(self, state: State) -> bool:
        return self.runner.is_final(state)

    def after(self, state: State, data: bytes) -> State:
        return self.runner.run(data, state)

    def _decided_before(self, place: Place, mark: int) -> Words:
        return np.zeros(self.words, np.uint32)

    def _is_settled(self, node: Node) -> bool:
        place, last = node
        if self._ends(place):
            return True
        known = self._rows.get(place)
        return known is not None and bool(
            known[ANEW].any() or self.without_row(known[0], last).any()
        )

    def _decided(self, tokens: Ints, target: Place) -> Ints:
        _, guess = target
        if self.guesses.is_within(guess):
            some = [token for token in tokens.tolist() if anywhere(self.bpe, token, guess)]
            tokens = np.array(some, np.int32)
        return super()._decided(tokens, target) if len(tokens) else tokens

    def _looked_up(self, place: Place, mark: int) -> tuple[Ints, Ints, Ints, Ints]:
        state, guess = place
        if mark == ANEW and self.guesses.is_within(guess):
            return (np.empty(0, np.int32),) * 4
        tokens, states = self._reader.permissive(state)
        after = self.guesses.take(guess, tokens, mark)
        taken = np.flatnonzero(after >= 0)
        tokens, states, after = tokens[taken], states[taken], after[taken]
        met, which = np.unique(states, return_inverse=True)
        left = np.array([self._bytes_left(there) for there in met.tolist()], np.int32)
        return tokens, states, after, left[which]

    def _bytes_left(self, state: State) -> int:
        """The fewest bytes to the end of an accepted text."""
        known = self._left.get(state)
        if known is None:
            if len(self._left) > _MOST:
                self._left.clear()
            known = self._left[state] = min(
                self._rests[at] + sum(self._rests[waiting] for waiting in self.runner.unstack(node))
                for at, node in self.runner.configurations(state)
            )
        return known
