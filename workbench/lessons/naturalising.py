"""Films and tables of a text written in the tokens a model prefers.

Source: Beurer-Kellner et al. 2024 (DOMINO), appendix B, Algorithm 3, and Figure 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.decoding.retokenize import perplexity_of, retokenized
from workbench.drawing.text import visible
from workbench.lessons.chances import bits, number
from workbench.lessons.lesson import Bar, Film, Frame, Given, Row, Table
from workbench.lessons.methods import Way, ids_of, run_of
from workbench.lessons.world import World
from workbench.vocabulary.vocabulary import TokenId


@dataclass(frozen=True, eq=False)
class Turn:
    """One turn of Algorithm 3."""

    #: The text still to be written.
    rest: bytes
    #: The tokens that are a beginning of it, likeliest first, with their probability.
    fitting: tuple[tuple[TokenId, float], ...]
    #: The one the model likes best, and its probability.
    taken: TokenId
    chance: float


def turns_of(world: World, text: str) -> Iterator[Turn]:
    """The model's own spelling of a text, with what else would have fitted.

    Raises: VocabularyError where no token fits.
    """
    context, rest = world.model.encode(""), text.encode()
    for token_id in retokenized(world.model, "", text):
        chances = np.exp(world.model.logits(context)).tolist()
        fitting = [
            (i, chances[i])
            for i, token in enumerate(world.vocabulary.tokens)
            if token is not None and rest.startswith(token)
        ]
        likely = tuple(sorted(fitting, key=lambda one: (-one[1], one[0])))
        yield Turn(rest, likely, token_id, chances[token_id])
        context.append(token_id)
        rest = rest[len(world.vocabulary.tokens[token_id] or b"") :]


def algorithm_3(world: World, given: Given, *, text: str) -> Film:
    """The model's favourite among the tokens that fit, turn by turn."""
    written, heat, frames = list[str](), list[float](), []
    for turn in turns_of(world, text):
        token_id = turn.taken
        fits = math.fsum(p for _, p in turn.fitting)
        shown = tuple(
            Bar(world.shown(i), p, p / fits, i == token_id) for i, p in turn.fitting if fits
        )
        say = f"{len(turn.fitting)} tokens begin {visible(turn.rest)}: {world.shown(token_id)}."
        if len(turn.fitting) == 1:
            say = f"Only {world.shown(token_id)} begins {visible(turn.rest)}."
        written.append(world.shown(token_id))
        heat.append(bits(turn.chance))
        row = Row("tokens", tuple(written), len(written) - 1, tuple(heat))
        frames.append(Frame(say, rows=(row,), bars=shown))
    total = math.fsum(heat)
    say = f"{len(written)} tokens, {number(total)} bits."
    frames.append(Frame(say, rows=(Row("tokens", tuple(written), -1, tuple(heat)),)))
    return Film((), tuple(frames))


def figure_2(world: World, *, methods: Sequence[Way]) -> Table:
    """What each writes, its perplexity, and that of the same text in the model's own tokens."""
    rows = []
    for way in methods:
        run = run_of(world, way)
        natural = retokenized(world.model, "", run.text)
        rows.append(
            (
                run.name,
                visible(run.text),
                str(len(run.spelt)),
                number(run.perplexity),
                str(len(natural)),
                number(perplexity_of(world.model, "", natural)),
            )
        )
    heads = ("", "text", "tokens", "perplexity", "naturalised", "perplexity")
    return Table("As written, and in the model's own tokens", heads, tuple(rows))


def natural_tokens(world: World, *, text: str) -> float:
    """How many tokens Algorithm 3 writes a text in."""
    return len(retokenized(world.model, "", text))


def bits_of(world: World, *, token: str, after: Sequence[str] = ()) -> float:
    """The surprisal of a token after some others, whatever any grammar says."""
    (token_id,) = ids_of(world, [token])
    ids = [*world.model.encode(""), *ids_of(world, after)]
    return bits(math.exp(world.model.logits(ids)[token_id]))
