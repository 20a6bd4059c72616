"""Searching: places nobody compiled come in, whether a proper spelling goes on from them goes out.

Between characters ``live`` knows every edge. Inside a character it knows none; those are looked at
when decoding comes near them: a search through (place, last token) that ends at the first place
whose rows are known.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from workbench.automata.dfa import DEAD, Dfa, State
from workbench.constraint.proper import judging
from workbench.constraint.proper.guesses import Guess
from workbench.constraint.proper.live import Live
from workbench.constraint.proper.tables import ANEW, INSIDE, Words
from workbench.limits import Limits
from workbench.vocabulary.bpe import rows as rows_of_bpe
from workbench.vocabulary.vocabulary import TokenId

#: Where a text stands between two tokens.
Place = tuple[State, Guess]
#: A place with the token before it.
_Node = tuple[Place, TokenId]

#: What is remembered before it is forgotten.
_MOST = 200_000


class Searching:
    """The rows of all places of one machine, those inside characters when they are asked for."""

    def __init__(self, live: Live, dfa: Dfa, limits: Limits) -> None:
        self._live, self._dfa = live, dfa
        self._bpe, self._guesses = live.bpe, live.walker.guesses
        self._most = max(1, limits.rows_of(8 * live.words))
        self._room = rows_of_bpe.room_for(self._bpe.tables)
        self._rows: dict[Place, tuple[Words, Words]] = {}
        self._leads_on: dict[_Node, bool] = {}
        self._edges: dict[Place, tuple[tuple[int, TokenId, Place], ...]] = {}

    def rows(self, place: Place) -> tuple[Words, Words]:
        """The tokens that may follow a place inside the piece, and those that may begin one.

        Of the former the row of the token before has to be taken out. Read-only.
        """
        known = self._rows.get(place)
        if known is None:
            if len(self._rows) >= self._most:
                self._rows.clear()
            known = self._rows[place] = self._made(place)
        return known

    def _made(self, place: Place) -> tuple[Words, Words]:
        number = self._live.places.get(place)
        made = [
            np.zeros(self._live.words, np.uint32)
            if number is None
            else self._live.bits(number, mark)
            for mark in (INSIDE, ANEW)
        ]
        for mark, token, target in self._undecided(place):
            if self.leads_on(target, token):
                made[mark][token >> 5] |= np.uint32(1 << (token & 31))
        return made[INSIDE], made[ANEW]

    def without_row(self, row: Words, last: TokenId) -> Words:
        """A row without what may not follow a token; a new array. −1: nothing stands before it."""
        bits = row.copy()
        if last >= 0:
            rows_of_bpe.forbid(self._bpe.tables, last, self._room, bits)
        return bits

    def leads_on(self, place: Place, last: TokenId) -> bool:
        """Whether an accepted text can be spelt properly from here, after a token.

        Cost: a look or two as a rule; where nothing leads on, all that can be reached.
        """
        root = (place, last)
        if len(self._leads_on) > _MOST:
            self._leads_on.clear()
        before: dict[_Node, _Node | None] = {root: None}
        waiting = [root]
        while waiting:
            node = waiting.pop()
            known = self._leads_on.get(node)
            if known is None and self._is_settled(node):
                known = True
            if known:
                at: _Node | None = node
                while at is not None:
                    self._leads_on[at] = True
                    at = before[at]
                return True
            if known is None:
                for further in self._further(node):
                    if further not in before:
                        before[further] = node
                        waiting.append(further)
        self._leads_on.update(dict.fromkeys(before, False))
        return False

    def _is_settled(self, node: _Node) -> bool:
        """Whether the rows that are known lead on."""
        (state, guess), last = node
        number = self._live.places.get((state, guess))
        if number is None:
            return bool(self._dfa.finals[state]) and self._guesses.may_end(guess)
        if self._live.free[number]:
            return True
        edges = self._live.edges[INSIDE][number]
        row = judging.as_bits(edges.row, self._live.words)
        return bool(self.without_row(row, last).any())

    def _further(self, node: _Node) -> Iterator[_Node]:
        """Where undecided edges lead."""
        place, last = node
        for mark, token, target in self._undecided(place):
            if mark == ANEW or last < 0 or self._bpe.pair_ok(last, token):
                yield target, token

    def _undecided(self, place: Place) -> tuple[tuple[int, TokenId, Place], ...]:
        """The edges of a place that are not known to be live or dead."""
        known = self._edges.get(place)
        if known is None:
            if len(self._edges) > _MOST:
                self._edges.clear()
            known = self._edges[place] = tuple(self._looked_up(place))
        return known

    def _looked_up(self, place: Place) -> Iterator[tuple[int, TokenId, Place]]:
        state, guess = place
        number = self._live.places.get(place)
        for mark in (INSIDE, ANEW):
            if number is None:
                tokens, states = (a.tolist() for a in self._live.walker.permissive(state))
            else:
                tokens = self._live.edges[mark][number].open.tolist()
                states = [self._dfa.run(self._text(token), state) for token in tokens]
            for token, there in zip(tokens, states, strict=True):
                after = self._guesses.take(guess, token, mark)
                if after >= 0 and there != DEAD:
                    yield mark, token, (there, after)

    def _text(self, token: TokenId) -> bytes:
        return self._bpe.vocabulary.tokens[token] or b""
