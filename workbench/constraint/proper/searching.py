"""Searching: places nobody compiled come in, whether a proper spelling goes on from them goes out.

Between characters ``live`` knows every edge. Inside a character it knows none; those are looked at
when decoding comes near them: a search through (place, last token) that ends at the first place
whose rows are known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

import numpy as np

from workbench.automata.dfa import Dfa, State
from workbench.constraint.proper import judging
from workbench.constraint.proper.guesses import Guess
from workbench.constraint.proper.live import Live
from workbench.constraint.proper.tables import ANEW, INSIDE, Ints, Words
from workbench.limits import Limits
from workbench.vocabulary.bpe import rows as rows_of_bpe
from workbench.vocabulary.vocabulary import TokenId

#: Where a text stands between two tokens.
Place = tuple[State, Guess]
#: A place with the token before it.
_Node = tuple[Place, TokenId]

#: What is remembered before it is forgotten.
_MOST = 200_000
#: Ways on from a place that are held against all tokens that lead there.
_WITNESSES = 24


class Searching:
    """The rows of all places of one machine, those inside characters when they are asked for."""

    def __init__(self, live: Live, dfa: Dfa, limits: Limits) -> None:
        self._live, self._dfa = live, dfa
        self._bpe, self._guesses = live.bpe, live.walker.guesses
        self._most = max(1, limits.rows_of(8 * live.words))
        self._room = rows_of_bpe.room_for(self._bpe.tables)
        self._rows: dict[Place, tuple[Words, Words]] = {}
        self._leads_on: dict[_Node, bool] = {}
        self._edges: dict[tuple[Place, int], tuple[Ints, list[Place]]] = {}

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
        together: dict[tuple[int, Place], list[TokenId]] = defaultdict(list)
        for mark in (INSIDE, ANEW):
            for token, target in zip(*self._undecided(place, mark), strict=True):
                together[mark, target].append(int(token))
        for (mark, target), tokens in together.items():
            judging.to_bits(self._decided(np.array(tokens, np.int32), target), made[mark])
        return made[INSIDE], made[ANEW]

    def _decided(self, tokens: Ints, target: Place) -> Ints:
        """Of tokens that lead to one place, those after which something leads on.

        What goes on after one goes on after most: it is held against all of them at once.
        """
        found = [tokens[:0]]
        for witness, further in islice(
            zip(*self._undecided(target, INSIDE), strict=True), _WITNESSES
        ):
            if len(tokens) < 2:
                break
            if self.leads_on(further, witness):
                fine = np.zeros(len(tokens), np.uint8)
                judging.precede(self._bpe.tables, tokens, witness, fine)
                found.append(tokens[fine == 1])
                tokens = tokens[fine == 0]
        rest = [token for token in tokens.tolist() if self.leads_on(target, token)]
        return np.concatenate([*found, np.array(rest, np.int32)])

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
        path: list[tuple[_Node, Iterator[_Node]]] = []
        seen: set[_Node] = set()
        following = iter((root,))
        while True:
            node = next(following, None)
            if node is None:
                if not path:
                    self._leads_on.update(dict.fromkeys(seen, False))
                    return False
                following = path.pop()[1]
                continue
            known = self._leads_on.get(node)
            if known or (known is None and self._is_settled(node)):
                self._leads_on.update(dict.fromkeys([node, *(at for at, _ in path)], True))
                return True
            if known is None and node not in seen:
                seen.add(node)
                path.append((node, following))
                following = self._further(node)

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
        for mark in (INSIDE, ANEW):
            tokens, targets = self._undecided(place, mark)
            fine = np.ones(len(tokens), np.uint8)
            if mark == INSIDE and last >= 0:
                judging.succeed(self._bpe.tables, last, tokens, fine)
            for i in np.flatnonzero(fine).tolist():
                yield targets[i], int(tokens[i])

    def _undecided(self, place: Place, mark: int) -> tuple[Ints, list[Place]]:
        """The edges of a place that are not known to be live or dead: tokens, and where to."""
        known = self._edges.get((place, mark))
        if known is None:
            if len(self._edges) > _MOST:
                self._edges.clear()
            known = self._edges[place, mark] = self._looked_up(place, mark)
        return known

    def _looked_up(self, place: Place, mark: int) -> tuple[Ints, list[Place]]:
        state, guess = place
        number = self._live.places.get(place)
        if number is not None:
            tokens, states, after = self._live.edges[mark][number].open
        else:
            tokens, states = self._live.walker.permissive(state)
            after = self._guesses.take(guess, tokens, mark)
        taken = np.flatnonzero(after >= 0)
        # whole characters first: there rows are known
        taken = taken[np.argsort(self._guesses.within[after[taken]], kind="stable")]
        targets = zip(states[taken].tolist(), after[taken].tolist(), strict=True)
        return tokens[taken], list(targets)
