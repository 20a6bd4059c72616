"""RegularRows: the rows of a regular grammar; ``live`` knows those between characters.

Inside a character it knows none; those are looked at when decoding comes near them.
"""

from __future__ import annotations

import numpy as np

from workbench.automata.dfa import DEAD, Dfa, State
from workbench.constraint.proper import judging
from workbench.constraint.proper.edges import Live
from workbench.constraint.proper.guesses import Guess, Guesses
from workbench.constraint.proper.halves import Halves, lacking
from workbench.constraint.proper.live import live_edges
from workbench.constraint.proper.searching import Node, Place, Searching
from workbench.constraint.proper.tables import ANEW, INSIDE, Ints, Words
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.vocabulary.bpe.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId

#: What belongs to the vocabulary alone is nobody's grammar's doing.
_PATIENT = Limits(seconds=60.0)


class RegularRows(Searching):
    """The rows of a Dfa whose edges between characters are decided."""

    def __init__(self, dfa: Dfa, live: Live, limits: Limits) -> None:
        super().__init__(live.bpe, limits)
        self.dfa, self.live = dfa, live
        self._halves = Halves(dfa, live, lambda place: self._looked_up(place, INSIDE))

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

    def _decided(self, tokens: Ints, target: Place) -> Ints:
        state, guess = target
        if not self.guesses.is_within(guess):
            return super()._decided(tokens, target)
        lack = lacking(self.bpe.vocabulary)[tokens]
        found, rest = [tokens[:0]], [tokens[lack == 0]]
        for left in set(lack.tolist()) - {0}:
            some = tokens[lack == left]
            done = self._halves.finished(state, guess, some, left)
            found.append(done)
            if len(done) < len(some):
                rest.append(some[~np.isin(some, done)])
        others = [t for t in np.concatenate(rest).tolist() if anywhere(self.bpe, t, guess)]
        if others:
            found.append(super()._decided(np.array(others, np.int32), target))
        return np.concatenate(found)

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


def anywhere(bpe: Bpe, token: TokenId, guess: Guess) -> bool:
    """Whether any text at all goes on after a token that ends in a character; kept with the merges.

    Yes where it begins in one, which would have to be known.
    """
    known = vars(bpe).get("_anywhere")
    if known is None:
        texts = Grammar.from_regex("(?s:.*)", limits=_PATIENT).dfa
        assert texts is not None
        live = live_edges(texts, bpe, (Guesses.of(bpe).start,), _PATIENT)
        known = vars(bpe)["_anywhere"] = RegularRows(texts, live, _PATIENT), {}
    every: RegularRows = known[0]
    answers: dict[tuple[TokenId, Guess], bool] = known[1]
    if (token, guess) not in answers:
        there = every.after(every.initial, bpe.vocabulary.tokens[token] or b"")
        yes = there == DEAD or every.leads_on((there, guess), token)
        answers[token, guess] = yes
    return answers[token, guess]
