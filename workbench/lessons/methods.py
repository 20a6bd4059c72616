"""Methods compared on one world: runs, films and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from workbench.constraint.compile import compile as compile_constraint
from workbench.constraint.protocol import Constraint
from workbench.decoding.generate import generate
from workbench.decoding.template import Template
from workbench.decoding.trace import Step, perplexity
from workbench.drawing.text import count_of, visible
from workbench.lessons.chances import in_bits, number
from workbench.lessons.lesson import Film, Frame, Given, LessonError, Row, Table
from workbench.lessons.world import World, spelt
from workbench.vocabulary.vocabulary import TokenId

#: A method as a lesson names it: ``{ name = "k = 0", method = "domino", k = 0 }``.
#: With ``template`` a program takes the place of the step's language; ``flexible`` is its variant.
Way = Mapping[str, Any]

#: The exact mask, where a lesson names no method.
EXACT: Way = MappingProxyType({"name": "the exact mask", "method": "automaton"})

#: The darkest shade there is; what a model holds for impossible has no number of bits.
_MOST_BITS = 99.0

#: The tokens a run of a lesson may take.
_LONGEST = 40


def constrained(world: World, way: Way) -> Constraint:
    """The constraint of a method over the world's language and tokens, made once.

    Raises: WorkbenchError for an unknown method.
    """
    settings = {key: value for key, value in way.items() if key != "name"}
    written, loose = settings.pop("template", ""), settings.pop("flexible", False)
    method = settings.pop("method", "automaton")
    return _constrained(world, written, loose, method, tuple(settings.items()))


@lru_cache(maxsize=256)
def _constrained(
    world: World, written: str, loose: bool, method: str, options: tuple[tuple[str, Any], ...]
) -> Constraint:
    grammar = template_of(written, loose).grammar if written else world.grammar
    return compile_constraint(grammar, world.vocabulary, method, **dict(options))


def template_of(written: str, loose: bool = False) -> Template:
    """A template program; with its white space left to the model, where that is wanted.

    Raises: ParseError.
    """
    template = Template.parse(written)
    return template.flexible() if loose else template


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
    """One model under several methods, token by token; the shade of a token is its surprisal."""
    if not methods:
        raise LessonError("expected methods to lay side by side")
    runs = [run_of(world, way) for way in methods]
    frames = [Frame(_opening(runs), rows=_rows(world, runs, 0))]
    for place in range(max(len(run.spelt) for run in runs)):
        frames.append(Frame(_turn_words(world, runs, place), rows=_rows(world, runs, place + 1)))
    frames.append(Frame(_ending(runs), rows=_rows(world, runs, len(frames))))
    return Film((), tuple(frames))


def _opening(runs: Sequence[Run]) -> str:
    return f"The same model, {len(runs)} masks: nothing else differs."


def _rows(world: World, runs: Sequence[Run], taken: int) -> tuple[Row, ...]:
    rows = []
    for run in runs:
        steps = run.spelt[:taken]
        chips = tuple(world.shown(step.token_id) for step in steps)
        heat = tuple(min(_MOST_BITS, round(surprise(step), 6)) for step in steps)
        rows.append(Row(run.name, chips, taken - 1 if len(steps) == taken else -1, heat))
    return tuple(rows)


def _turn_words(world: World, runs: Sequence[Run], place: int) -> str:
    told = []
    for run in runs:
        if place >= len(run.spelt):
            continue
        step = run.spelt[place]
        words = f"{run.name}: {world.shown(step.token_id)}, {in_bits(surprise(step))}"
        if step.intervened:
            words += f" ({world.shown(step.favourite_id)} is masked)"
        told.append(words)
    return "; ".join(told) + "."


def _ending(runs: Sequence[Run]) -> str:
    told = [
        f"{run.name}: {count_of(len(run.spelt), 'token')}, {in_bits(run.bits)},"
        f" perplexity {number(run.perplexity)}"
        for run in runs
    ]
    return "; ".join(told) + "."


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


def smallest_k(world: World, *, token: str, after: Sequence[str] = ()) -> float:
    """The smallest lookahead with which DOMINO allows a token after some others."""
    (token_id,) = ids_of(world, [token])
    if token_id not in allowed_by(world, EXACT, after):
        raise LessonError("expected a token the grammar allows here")
    k = 0
    while token_id not in allowed_by(world, {"method": "domino", "k": k}, after):
        k += 1
    return k
