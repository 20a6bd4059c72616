"""Searching: places nobody decided come in, whether a proper spelling goes on from them goes out.

A search through (place, last token), nearest end first, that is over at the first place of which
enough is known. (Depth first it lost itself among the letters of an identifier.) Nearly all of what
is asked succeeds at once, and what goes on after one token goes on after most others that lead to
the same place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from heapq import heappop, heappush, merge

import numpy as np

from workbench.base.dfa import State
from workbench.base.limits import Clock, Limits
from workbench.constraint.methods.proper import live_edges
from workbench.constraint.methods.proper.guide_guesses import (
    ANEW,
    INSIDE,
    Guess,
    Guesses,
    Ints,
    Words,
)
from workbench.vocabulary.tokenization import pair_test as rows_of_bpe
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId

#: Where a text stands between two tokens.
Place = tuple[State, Guess]
#: A place with the token before it.
Node = tuple[Place, TokenId]

#: How far a place is from an end, the place, and the token that leads there.
_Far = tuple[int, Place, TokenId]
#: What is to be tried: how far it is, its age, where from, and what else leaves there.
_Way = tuple[int, int, Node, Node, Iterator[_Far]]

#: What is remembered before it is forgotten.
_MOST = 200_000
#: Ways on from a place that are held against all tokens that lead there.
_WITNESSES = 24
#: Ways on that are looked at together.
_AT_ONCE = 128


class Searching(ABC):
    """The rows of all places of one machine, made and decided when they are asked for."""

    #: Places one search may come to.
    patience = 1_000_000
    #: Searches that came to more: tokens may be forbidden then that lead on.
    given_up = 0

    def __init__(self, bpe: Bpe, limits: Limits) -> None:
        self.bpe, self.guesses = bpe, Guesses.of(bpe)
        #: Words of a row.
        self.words = (len(bpe.vocabulary) + 31) // 32
        self._limits = replace(limits, began=None)  # a mask has seconds of its own
        #: Of the row that is being made; a search asked for by itself has its own.
        self._clock: Clock | None = None
        self._most = limits.rows_of(8 * self.words)
        self._room = rows_of_bpe.row_buffer(bpe.tables)
        self._rows: dict[Place, tuple[Words, Words]] = {}
        self._leads_on: dict[Node, bool] = {}
        self._edges: dict[tuple[Place, int], tuple[Ints, list[Place], Ints]] = {}

    @property
    @abstractmethod
    def initial(self) -> State:
        """The state of the machine before a text."""

    @abstractmethod
    def is_final(self, state: State) -> bool:
        """Whether the machine accepts the text that leads to a state."""

    @abstractmethod
    def after(self, state: State, data: bytes) -> State:
        """The state after some bytes, or ``DEAD``."""

    @abstractmethod
    def _decided_before(self, place: Place, mark: int) -> Words:
        """What is known already of the tokens that may follow a place; a new array."""

    @abstractmethod
    def _is_settled(self, node: Node) -> bool:
        """Whether what is known already leads on."""

    @abstractmethod
    def _looked_up(self, place: Place, mark: int) -> tuple[Ints, Ints, Ints, Ints]:
        """The other edges: tokens, the states and guesses after them, how far from an end that is.

        The last need not be right: only speed depends on it.
        """

    def rows(self, place: Place) -> tuple[Words, Words]:
        """The tokens that may follow a place inside the piece, and those that may begin one.

        Of the former the row of the token before has to be taken out. Read-only.
        """
        known = self._rows.get(place)
        if known is None:
            if len(self._rows) >= self._most:
                self._rows.clear()
            self._clock = self._limits.clock()
            try:
                known = self._rows[place] = self._made(place)
            finally:
                self._clock = None
        return known

    def _made(self, place: Place) -> tuple[Words, Words]:
        made = [self._decided_before(place, mark) for mark in (INSIDE, ANEW)]
        together: dict[tuple[int, Place], list[TokenId]] = defaultdict(list)
        for mark in (INSIDE, ANEW):
            for token, target in self._edges_from(place, mark):
                together[mark, target].append(token)
        for (mark, target), tokens in together.items():
            live_edges.to_bits(self._decided(np.array(tokens, np.int32), target), made[mark])
        return made[INSIDE], made[ANEW]

    def _decided(self, tokens: Ints, target: Place) -> Ints:
        """Of tokens that lead to one place, those after which something leads on.

        What goes on after one goes on after most: it is held against all of them at once.
        """
        if self._ends(target):
            return tokens
        for witness, further in self._edges_from(target, ANEW, _WITNESSES):
            if self.leads_on(further, witness):
                return tokens
        found = [tokens[:0]]
        for witness, further in self._edges_from(target, INSIDE, _WITNESSES):
            if len(tokens) < 2:
                break
            if self.leads_on(further, witness):
                fine = np.zeros(len(tokens), np.uint8)
                live_edges.precede(self.bpe.tables, tokens, witness, fine)
                found.append(tokens[fine == 1])
                tokens = tokens[fine == 0]
        rest = [token for token in tokens.tolist() if self.leads_on(target, token)]
        return np.concatenate([*found, np.array(rest, np.int32)])

    def without_row(self, row: Words, last: TokenId) -> Words:
        """A row without what may not follow a token; a new array. −1: nothing stands before it."""
        bits = row.copy()
        if last >= 0:
            rows_of_bpe.forbid(self.bpe.tables, last, self._room, bits)
        return bits

    def leads_on(self, place: Place, last: TokenId) -> bool:
        """Whether an accepted text can be spelt properly from here, after a token.

        Cost: a look or two as a rule; where nothing leads on, all that can be reached. A search
              that takes more than ``patience`` places gives up and says no.
        """
        root, clock = (place, last), self._clock or self._limits.clock()
        if len(self._leads_on) > _MOST:
            self._leads_on.clear()
        before: dict[Node, Node | None] = {}
        ways: list[_Way] = [(0, 0, root, root, iter(()))]  # nearest end first; of equals the newest
        while ways:
            clock.check("a mask takes too long; simplify the grammar")
            _, age, node, parent, others = heappop(ways)
            self._keep(ways, others, parent, age)
            known = self._leads_on.get(node)
            if known or (known is None and self._is_settled(node)):
                self._leads_on[node] = True
                at: Node | None = parent
                while at is not None and at != node:
                    self._leads_on[at] = True
                    at = before.get(at)
                return True
            if known is None and node not in before:
                if len(before) == self.patience:
                    self.given_up += 1
                    self._leads_on[root] = False
                    return False
                before[node] = None if node == root else parent
                self._keep(ways, self._further(node), node, -len(before))
        self._leads_on.update(dict.fromkeys(before, False))
        return False

    def _keep(self, ways: list[_Way], others: Iterator[_Far], parent: Node, age: int) -> None:
        """Put the next of several ways among those to be tried."""
        following = next(others, None)
        if following is not None:
            far, place, token = following
            heappush(ways, (far, age, (place, token), parent, others))

    def _further(self, node: Node) -> Iterator[_Far]:
        """Where undecided edges lead, nearest end first."""
        place, last = node
        return merge(*(self._after(place, mark, last) for mark in (ANEW, INSIDE)))

    def _after(self, place: Place, mark: int, last: TokenId) -> Iterator[_Far]:
        tokens, targets, far = self._undecided(place, mark)
        for begin in range(0, len(tokens), _AT_ONCE):  # the first few are nearly always enough
            some = tokens[begin : begin + _AT_ONCE]
            fine = np.ones(len(some), np.uint8)
            if mark == INSIDE and last >= 0:
                live_edges.succeed(self.bpe.tables, last, some, fine)
            for i in np.flatnonzero(fine).tolist():
                yield int(far[begin + i]), targets[begin + i], int(some[i])

    def _edges_from(
        self, place: Place, mark: int, most: int | None = None
    ) -> Iterator[tuple[TokenId, Place]]:
        tokens, targets, _ = self._undecided(place, mark)
        return zip(tokens[:most].tolist(), targets[:most], strict=True)

    def _ends(self, place: Place) -> bool:
        """Whether a text may end at a place."""
        return self.is_final(place[0]) and self.guesses.may_end(place[1])

    def _undecided(self, place: Place, mark: int) -> tuple[Ints, list[Place], Ints]:
        """The edges of a place that are not known to be live or dead.

        Tokens, the places they lead to, and how far those are from an end, nearest first.
        """
        known = self._edges.get((place, mark))
        if known is None:
            if len(self._edges) > _MOST:
                self._edges.clear()
            tokens, states, after, far = self._looked_up(place, mark)
            order = np.argsort(far, kind="stable")
            targets = zip(states[order].tolist(), after[order].tolist(), strict=True)
            known = self._edges[place, mark] = tokens[order], list(targets), far[order]
        return known
