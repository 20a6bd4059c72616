"""The machine of a method: every state it reaches, with its allowed tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.lessons.lesson import LessonError, Table
from workbench.lessons.methods import Way, constrained, name_of
from workbench.lessons.world import World
from workbench.vocabulary.vocabulary import TokenId

#: The states a lesson's machine may have.
_MOST_STATES = 500


@dataclass(frozen=True, eq=False)
class Machine:
    """Everything a constraint can come to: its states, and the tokens between them."""

    #: For each state, the first one first, where its tokens lead.
    edges: tuple[Mapping[TokenId, int], ...]
    finals: frozenset[int]

    @property
    def single(self) -> int:
        """The states in which one token is left, and the text may not end."""
        return sum(len(row) == 1 and s not in self.finals for s, row in enumerate(self.edges))

    @property
    def sequences(self) -> int | None:
        """How many sequences it accepts; None where it has a cycle."""
        known: dict[int, int | None] = {}

        def count(state: int, above: frozenset[int]) -> int | None:
            if state in above:
                return None
            if state not in known:
                below = [count(t, above | {state}) for t in self.edges[state].values()]
                counts = [n for n in below if n is not None]
                ends = len(counts) == len(below)
                known[state] = (state in self.finals) + sum(counts) if ends else None
            return known[state]

        return count(0, frozenset())


def machine_of(world: World, way: Way) -> Machine:
    """Every state a method's constraint reaches.

    Raises: LessonError past a few hundred: a lesson's machine is to be looked at.
    """
    constraint = constrained(world, way)
    numbers = {constraint.initial: 0}
    edges: list[dict[TokenId, int]] = []
    finals = set[int]()
    waiting = [constraint.initial]
    for place, state in enumerate(waiting):  # grows while it is read
        row = {}
        for token_id in map(int, constraint.mask(state).ids):
            if token_id == world.vocabulary.end:
                finals.add(place)
                continue
            there = constraint.advance(state, token_id)
            if there not in numbers:
                numbers[there] = len(numbers)
                waiting.append(there)
            row[token_id] = numbers[there]
        edges.append(row)
        if len(waiting) > _MOST_STATES:
            raise LessonError(f"expected a machine of at most {_MOST_STATES} states in a lesson")
    return Machine(tuple(edges), frozenset(finals))


def machines(world: World, *, methods: Sequence[Way]) -> Table:
    """The size of each method's machine, and how much it leaves to choose."""
    rows = []
    for way in methods:
        made = machine_of(world, way)
        count = made.sequences
        rows.append(
            (
                name_of(way),
                str(len(made.edges)),
                str(sum(map(len, made.edges))),
                "no end of them" if count is None else f"{count:,}",
                str(made.single),
            )
        )
    heads = ("method", "states", "edges", "sequences", "states with one choice")
    return Table("The machines over tokens", heads, tuple(rows))
