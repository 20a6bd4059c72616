"""Methods side by side: a world and ways to constrain come in, runs, films and tables go out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from workbench.constraint.compile import compile as compile_constraint
from workbench.constraint.protocol import Constraint
from workbench.decoding.generate import generate
from workbench.decoding.trace import Step, perplexity
from workbench.drawing.text import visible
from workbench.lessons.chances import number
from workbench.lessons.lesson import Film, Frame, Given, LessonError, Row, Table
from workbench.lessons.world import World, spelt
from workbench.vocabulary.vocabulary import TokenId

#: A method as a lesson names it: ``{ name = "k = 0", method = "domino", k = 0 }``.
Way = Mapping[str, Any]

#: The darkest shade there is; what a model holds for impossible has no number of bits.
_MOST_BITS = 99.0

#: The tokens a run of a lesson may take.
_LONGEST = 40


def constrained(world: World, way: Way) -> Constraint:
    """The constraint of a method over the world's language and tokens, made once.

    Raises: WorkbenchError for a method nobody knows.
    """
    settings = {key: value for key, value in way.items() if key != "name"}
    return _constrained(world, settings.pop("method", "automaton"), tuple(settings.items()))


@lru_cache(maxsize=256)
def _constrained(world: World, method: str, options: tuple[tuple[str, Any], ...]) -> Constraint:
    return compile_constraint(world.grammar, world.vocabulary, method, **dict(options))


def name_of(way: Way) -> str:
    """What a way is called in a figure."""
    return str(way.get("name") or way.get("method", "automaton"))


def surprise(step: Step) -> float:
    """The surprisal of a step's token in bits, before the mask."""
    return step.surprisal / math.log(2)


@dataclass(frozen=True, eq=False)
class Run:
    """What the known model writes under a method, greedily."""

    name: str
    steps: tuple[Step, ...]

    @property
    def spelt(self) -> tuple[Step, ...]:
        """The steps without the end."""
        return tuple(step for step in self.steps if not step.is_end)

    @property
    def text(self) -> str:
        """What was written."""
        return b"".join(step.token for step in self.spelt).decode("utf-8", "replace")

    @property
    def bits(self) -> float:
        """The surprisal of all its tokens together, before the mask; the end left out."""
        return math.fsum(map(surprise, self.spelt))

    @property
    def perplexity(self) -> float:
        """Over the same tokens."""
        return perplexity(step.logprob for step in self.spelt)


def run_of(world: World, way: Way) -> Run:
    """The greedy run of the world's model under a method."""
    constraint = constrained(world, way)
    steps = generate(world.model, constraint, "", max_tokens=_LONGEST, top=len(world.vocabulary))
    return Run(name_of(way), tuple(steps))


def ids_of(world: World, tokens: Sequence[str]) -> tuple[TokenId, ...]:
    """The numbers of tokens as a lesson writes them."""
    return tuple(world.vocabulary.ids(*(spelt(token) for token in tokens)))


def allowed_by(world: World, way: Way, after: Sequence[str] = ()) -> set[TokenId]:
    """The mask of a method after some tokens.

    Raises: TokenNotAllowed where the method forbids one of them.
    """
    constraint = constrained(world, way)
    state = constraint.initial
    for token_id in ids_of(world, after):
        state = constraint.advance(state, token_id)
    return set(map(int, constraint.mask(state).ids))


# -- figures and tables ------------------------------------------------------------------------


def side_by_side(world: World, given: Given, *, methods: Sequence[Way]) -> Film:
    """One model under several methods, token by token; each token as dark as it was surprising."""
    if not methods:
        raise LessonError("expected methods to lay side by side")
    runs = [run_of(world, way) for way in methods]
    frames = [Frame(_opening(runs), rows=_rows(world, runs, 0))]
    for place in range(max(len(run.spelt) for run in runs)):
        frames.append(Frame(_turn_words(world, runs, place), rows=_rows(world, runs, place + 1)))
    frames.append(Frame(_ending(runs), rows=_rows(world, runs, len(frames))))
    return Film((), tuple(frames))


def _opening(runs: Sequence[Run]) -> str:
    return f"The same model {len(runs)} times; only the mask differs."


def _rows(world: World, runs: Sequence[Run], taken: int) -> tuple[Row, ...]:
    rows = []
    for run in runs:
        steps = run.spelt[:taken]
        chips = tuple(world.shown(step.token_id) for step in steps)
        heat = tuple(min(_MOST_BITS, surprise(step)) for step in steps)
        rows.append(Row(run.name, chips, taken - 1 if len(steps) == taken else -1, heat))
    return tuple(rows)


def _turn_words(world: World, runs: Sequence[Run], place: int) -> str:
    told = []
    for run in runs:
        if place >= len(run.spelt):
            continue
        step = run.spelt[place]
        words = f"{run.name}: {world.shown(step.token_id)}, {number(surprise(step))} bits"
        if step.intervened:
            words += f" ({world.shown(step.favourite_id)} is masked)"
        told.append(words)
    return "; ".join(told) + "."


def _ending(runs: Sequence[Run]) -> str:
    told = [
        f"{run.name}: {_tokens(len(run.spelt))}, {number(run.bits)} bits,"
        f" perplexity {number(run.perplexity)}"
        for run in runs
    ]
    return "; ".join(told) + "."


def _tokens(count: int) -> str:
    return f"{count} token{'s' * (count != 1)}"


def runs(world: World, *, methods: Sequence[Way]) -> Table:
    """What each method lets the known model write, and how natural it is to the model."""
    rows = []
    for way in methods:
        run = run_of(world, way)
        rows.append(
            (
                run.name,
                visible(run.text),
                str(len(run.spelt)),
                str(sum(step.intervened for step in run.steps)),
                number(run.bits),
                number(run.perplexity),
            )
        )
    heads = ("method", "text", "tokens", "interventions", "bits", "perplexity")
    return Table("The same model under each method", heads, tuple(rows))


def masks(
    world: World, *, methods: Sequence[Way], after: Sequence[str] = (), only: Sequence[str] = ()
) -> Table:
    """Every token after some others: whether each method lets it through."""
    allowed = [allowed_by(world, way, after) for way in methods]
    ids = ids_of(world, only) if only else range(len(world.vocabulary))
    rows = tuple((world.shown(i), *("✓" if i in one else "✗" for one in allowed)) for i in ids)
    where = f"After {visible(''.join(after))}" if after else "At the beginning"
    return Table(where, ("token", *map(name_of, methods)), rows)


def calls(world: World, *, methods: Sequence[Way]) -> Table:
    """What each greedy run asks of the model where single choices are taken without asking.

    Source: Tran-Thien 2024, challenge 3.
    """
    rows = []
    for way in methods:
        run = run_of(world, way)
        asked = [step for step in run.steps if not step.forced]
        told = "  ".join(world.shown(step.token_id) for step in run.steps)
        rows.append((run.name, told, str(len(run.steps)), str(len(asked))))
    heads = ("method", "tokens", "tokens taken", "calls of the model")
    return Table("Calls of the model, single choices skipped", heads, tuple(rows))


# -- the machine a method is --------------------------------------------------------------------

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
        """How many sequences it accepts; None where it goes in circles."""
        known: dict[int, int] = {}

        def count(state: int, above: frozenset[int]) -> int | None:
            if state in above:
                return None
            if state not in known:
                below = [count(t, above | {state}) for t in self.edges[state].values()]
                if None in below:
                    return None
                known[state] = (state in self.finals) + sum(n for n in below if n is not None)
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


def smallest_k(world: World, *, token: str, after: Sequence[str] = ()) -> float:
    """The smallest lookahead with which DOMINO allows a token after some others."""
    (token_id,) = ids_of(world, [token])
    if token_id not in allowed_by(world, {}, after):
        raise LessonError("expected a token the grammar allows here")
    k = 0
    while token_id not in allowed_by(world, {"method": "domino", "k": k}, after):
        k += 1
    return k
