"""Films and numbers about the effect of a mask on a model with known probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from workbench.decoding.generate import generate
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import Step, perplexity
from workbench.lessons.lesson import Bar, Film, Frame, Given, Row
from workbench.lessons.running import opens_at
from workbench.lessons.taking import taken, taken_row
from workbench.lessons.world import World
from workbench.vocabulary.vocabulary import TokenId


@dataclass(frozen=True, slots=True)
class Turn:
    """One step of a path through the model, as the engine's trace has it."""

    step: Step
    token_id: TokenId

    @property
    def before(self) -> float:
        """The probability of the token, every token allowed."""
        return next(c.probability for c in self.step.wanted if c.token_id == self.token_id)

    @property
    def after(self) -> float:
        """The same among the allowed tokens; 0 where the mask forbids it."""
        found = (c.masked_probability for c in self.step.allowed if c.token_id == self.token_id)
        return next(found, 0.0)

    @property
    def kept(self) -> float:
        """The probability of everything the mask let through."""
        return self.step.kept


def turn(world: World, prefix: tuple[TokenId, ...], token_id: TokenId | None = None) -> Turn:
    """The engine's step after some tokens; of the likeliest allowed token unless one is named."""
    everything = len(world.vocabulary)
    run = generate(
        world.model, world.constraint, "", Sampling(), max_tokens=1, top=everything, prefix=prefix
    )
    step = next(run)
    return Turn(step, step.token_id if token_id is None else token_id)


def turns(world: World, ids: tuple[TokenId, ...]) -> list[Turn]:
    """A step for each token of a path."""
    return [turn(world, ids[:place], token_id) for place, token_id in enumerate(ids)]


def bars(made: Turn, world: World, taken_id: TokenId | None) -> tuple[Bar, ...]:
    """Every token with a chance, likeliest first, before the mask and after it."""
    after = {c.token_id: c.masked_probability for c in made.step.allowed}
    return tuple(
        Bar(world.shown(c.token_id), c.probability, after.get(c.token_id), c.token_id == taken_id)
        for c in made.step.wanted
        if c.probability > 0 or after.get(c.token_id)
    )


def bits(probability: float) -> float:
    """−log2 of a probability: how surprising it is."""
    return math.inf if probability == 0 else -math.log2(probability)


def number(value: float) -> str:
    """A number of 0 or more as a table shows it: no zeros at its end, two places at most."""
    if math.isinf(value):
        return "∞"
    return f"{abs(value):.2f}".rstrip("0").rstrip(".")  # no minus before a rounded nothing


def in_bits(amount: float) -> str:
    """An amount with its unit, one or more."""
    return f"{number(amount)} bit{'' if number(amount) == '1' else 's'}"


def share(value: float) -> str:
    """A probability as a reader wants it: per cent, two places at most."""
    return f"{100 * value:.2f}".rstrip("0").rstrip(".") + " %"


def chances(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """Two columns for every step: the model's probabilities, and those after the mask."""
    ids = taken(world, given, tokens)
    frames = []
    for place, made in enumerate(turns(world, ids)):
        before, after = share(made.before), share(made.after)
        change = f"stays at {after}" if before == after else f"rises from {before} to {after}"
        say = (
            f"The mask keeps {share(made.kept)} of the probability, which costs"
            f" {in_bits(bits(made.kept))}; {world.shown(made.token_id)} {change}."
        )
        rows = (taken_row(world, ids, place), *_sums(made))
        frames.append(Frame(say, (), rows, (), bars(made, world, made.token_id)))
    if not frames:
        made = turn(world, ())
        say = f"Before the mask all tokens share 100 %; the mask keeps {share(made.kept)} of it."
        frames.append(Frame(say, (), (), (), bars(made, world, None)))
    return Film((), tuple(frames), "", opens_at(given))


def _sums(made: Turn) -> Iterator[Row]:
    """Surprisal before = what the mask takes + surprisal after."""
    parts = (
        f"surprisal {in_bits(bits(made.before))}",
        f"mask {in_bits(bits(made.kept))}",
        f"after it {in_bits(bits(made.after))}",
    )
    yield Row("bits", parts)


def path_perplexity(world: World, ids: tuple[TokenId, ...]) -> float:
    """exp of the mean surprisal of a path, before the mask."""
    return perplexity(math.log(made.before) for made in turns(world, ids))
