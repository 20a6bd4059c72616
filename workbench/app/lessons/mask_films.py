"""The effect of masks on a model with known probabilities."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.app.lessons.automaton_films import opens_at
from workbench.app.lessons.lesson import Bar, Film, Frame, Given, LessonError, Row, Table
from workbench.app.lessons.lesson_world import World, ids_of
from workbench.app.lessons.token_films import taken, taken_row
from workbench.base.visible_text import visible
from workbench.decoding.generate import generate
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import Step, perplexity
from workbench.grammar.gallery import recorded_run
from workbench.vocabulary.vocabulary import TokenId


@dataclass(frozen=True, slots=True)
class Turn:
    """One step of a token sequence, as in the engine's trace."""

    step: Step
    token_id: TokenId

    @property
    def before(self) -> float:
        """The probability of the token before the mask."""
        return next(c.probability for c in self.step.wanted if c.token_id == self.token_id)

    @property
    def after(self) -> float:
        """The probability of the token after the mask; 0 if it is forbidden."""
        probabilities = (
            c.masked_probability for c in self.step.allowed if c.token_id == self.token_id
        )
        return next(probabilities, 0.0)

    @property
    def kept(self) -> float:
        """The probability of all allowed tokens."""
        return self.step.kept


def turn(world: World, prefix: tuple[TokenId, ...], token_id: TokenId | None = None) -> Turn:
    """The engine's step after some tokens, for a token or the likeliest allowed one."""
    everything = len(world.vocabulary)
    run = generate(
        world.model, world.constraint, "", Sampling(), max_tokens=1, top=everything, prefix=prefix
    )
    step = next(run)
    return Turn(step, step.token_id if token_id is None else token_id)


def turns(world: World, ids: tuple[TokenId, ...]) -> list[Turn]:
    """A step for each token of a sequence."""
    return [turn(world, ids[:position], token_id) for position, token_id in enumerate(ids)]


def bars(turn: Turn, world: World, taken_id: TokenId | None) -> tuple[Bar, ...]:
    """Every token with a probability above 0, likeliest first, before and after the mask."""
    after = {c.token_id: c.masked_probability for c in turn.step.allowed}
    return tuple(
        Bar(world.shown(c.token_id), c.probability, after.get(c.token_id), c.token_id == taken_id)
        for c in turn.step.wanted
        if c.probability > 0 or after.get(c.token_id)
    )


def bits(probability: float) -> float:
    """−log2 of a probability, its surprisal."""
    return math.inf if probability == 0 else -math.log2(probability)


def number(value: float) -> str:
    """A number for a table: at most two decimals, without trailing zeros."""
    if math.isinf(value):
        return "∞"
    return f"{abs(value):.2f}".rstrip("0").rstrip(".")  # abs: never −0


def in_bits(amount: float) -> str:
    """An amount of bits with its unit."""
    return f"{number(amount)} bit{'' if number(amount) == '1' else 's'}"


def share(value: float) -> str:
    """A probability in per cent, with at most two decimals."""
    return f"{100 * value:.2f}".rstrip("0").rstrip(".") + " %"


def chances(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """Two columns for every step: the model's probabilities, and those after the mask."""
    ids = taken(world, given, tokens)
    frames = []
    for position, next_turn in enumerate(turns(world, ids)):
        before, after = share(next_turn.before), share(next_turn.after)
        change = f"stays at {after}" if before == after else f"rises from {before} to {after}"
        say = (
            f"The mask keeps {share(next_turn.kept)} of the probability, which costs"
            f" {in_bits(bits(next_turn.kept))}; {world.shown(next_turn.token_id)} {change}."
        )
        rows = (taken_row(world, ids, position), *_sums(next_turn))
        frames.append(Frame(say, (), rows, (), bars(next_turn, world, next_turn.token_id)))
    if not frames:
        next_turn = turn(world, ())
        say = (
            f"Before the mask all tokens share 100 %; the mask keeps {share(next_turn.kept)} of it."
        )
        frames.append(Frame(say, (), (), (), bars(next_turn, world, None)))
    return Film((), tuple(frames), "", opens_at(given))


def _sums(turn: Turn) -> Iterator[Row]:
    """Surprisal before = bits removed by the mask + surprisal after."""
    parts = (
        f"surprisal {in_bits(bits(turn.before))}",
        f"mask {in_bits(bits(turn.kept))}",
        f"after it {in_bits(bits(turn.after))}",
    )
    yield Row("bits", parts)


def path_perplexity(world: World, ids: tuple[TokenId, ...]) -> float:
    """exp of the mean surprisal of a sequence, before the mask."""
    return perplexity(math.log(turn.before) for turn in turns(world, ids))


def path(world: World, *, tokens: Sequence[str]) -> Table:
    """A text token by token: probability, surprisal, kept mass, bits of the mask."""
    ids = ids_of(world, tokens)
    steps = turns(world, ids)
    rows = [
        (
            world.shown(t.token_id),
            share(t.before),
            number(bits(t.before)),
            share(t.kept),
            number(bits(t.kept)),
            share(t.after),
            number(bits(t.after)),
        )
        for t in steps
    ]
    numbers = [
        [bits(t.before) for t in steps],
        [bits(t.kept) for t in steps],
        [bits(t.after) for t in steps],
    ]
    totals = [sum(column) for column in numbers]
    rows.append(("together", "", number(totals[0]), "", number(totals[1]), "", number(totals[2])))
    heads = ("token", "before", "bits", "kept", "mask bits", "after", "bits")
    return Table("Token by token", heads, tuple(rows))


def recorded(world: World, *, example: str, first: int = 12) -> Table:
    """The first tokens and the sums of an example's recorded run."""
    run = recorded_run(example) if example.isidentifier() else ""
    if not run:
        raise LessonError(f"expected an example with a recorded run, not {example!r}")
    records = [json.loads(line) for line in run.splitlines()]
    steps = [r for r in records if r["k"] == "step"]
    rows = [
        (
            _token_text(r["token"]),
            str(r["rank"]),
            number(r["s"]),
            share(r["kept"]),
            number(r["m"]),
            f"{r['allowed']:,}",
        )
        for r in steps[:first]
    ]
    asked = [r for r in steps if r["s"] is not None and not r["token"].get("end")]
    together = sum(r["s"] for r in asked)
    taken = sum(r["m"] for r in steps if r["m"] is not None)
    rows.append((f"all {len(steps)}", "", number(together), "", number(taken), ""))
    mean = 2 ** (together / len(asked))
    heads = ("token", "rank", "surprisal (bits)", "kept", "mask bits", "allowed")
    return Table(f"perplexity {number(mean)} over {len(asked)} tokens", heads, tuple(rows))


def _token_text(token: Mapping[str, Any]) -> str:
    if token.get("end"):
        return "end"
    return visible(bytes.fromhex(token["hex"]) if "hex" in token else str(token["text"]))
