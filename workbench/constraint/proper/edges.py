"""Edges: what is known of the ways that leave each place; ``live`` finds it, masks read it."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.automata.dfa import State
from workbench.constraint.proper import judging
from workbench.constraint.proper.guesses import Guess
from workbench.constraint.proper.judging import Row
from workbench.constraint.proper.tables import Bytes, Ints, Words
from workbench.constraint.proper.walker import Walker
from workbench.vocabulary.bpe.bpe import Bpe


@dataclass(slots=True)
class Edges:
    """What is known of the edges that leave a place in one way."""

    #: Live ones.
    row: Row
    #: Tokens whose end is in the middle of a character, or hangs on such: (3, n), the token, the
    #: state and the guess it leads to.
    open: Ints
    #: Nothing is known of these; in the end they are dead: (3, n), the token, the number of the
    #: place and the state it leads to.
    waiting: Ints
    #: How many edges there are.
    count: int


@dataclass(frozen=True, eq=False)
class Live:
    """The edges of a machine that lead on to proper spellings.

    Shape: P places; ``edges[mark][p]``; ``number`` of a state and a guess is a place.
    """

    bpe: Bpe
    walker: Walker
    places: dict[tuple[State, Guess], int]
    edges: tuple[list[Edges], list[Edges]]
    #: Whether any token may end at a place: the text may end there, or a new piece begin.
    free: Bytes
    words: int

    @property
    def edge_count(self) -> int:
        """All edges between places, dead and open ones among them."""
        return sum(edge.count for way in self.edges for edge in way)

    @property
    def dead(self) -> list[tuple[int, int, int]]:
        """Place, mark and token of every edge that leads nowhere."""
        return [
            (place, mark, token)
            for mark, way in enumerate(self.edges)
            for place, edges in enumerate(way)
            for token in edges.waiting[0].tolist()
        ]

    def bits(self, place: int, mark: int) -> Words:
        """The live tokens that leave a place in one way; a new array."""
        return judging.as_bits(self.edges[mark][place].row, self.words).copy()
