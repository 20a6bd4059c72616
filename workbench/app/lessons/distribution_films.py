"""The effect of methods on a model's distribution.

The model has the step's given probabilities, so every number can be checked.

Source: Beurer-Kellner et al. 2024 (DOMINO), appendix B, Algorithm 3, and Figure 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from workbench.app.lessons.lesson import (
    Bar,
    Film,
    Frame,
    Given,
    Question,
    Row,
    Table,
    options_question,
)
from workbench.app.lessons.lesson_world import World, ids_of, token_bytes
from workbench.app.lessons.mask_films import bits, number
from workbench.app.lessons.method_films import (
    EXACT,
    MethodSpec,
    allowed_by,
    constrained,
    name_of,
    run_of,
)
from workbench.app.lessons.token_films import choices
from workbench.base.visible_text import visible
from workbench.constraint.compile import CompileOptions
from workbench.decoding.contenders import Contender
from workbench.decoding.exact_distribution import (
    ExactComparison,
    exact_comparison,
    forbidden_at,
    search_spellings,
    token_tree,
)
from workbench.decoding.retokenize import perplexity_of, retokenized
from workbench.vocabulary.vocabulary import TokenId


def contender(spec: MethodSpec) -> Contender:
    """The contender of a lesson's method."""
    given = {k: v for k, v in spec.items() if k not in ("name", "method")}
    options = cast(CompileOptions, given)  # the method checks them
    method = str(spec.get("method", "automaton"))
    return Contender(
        name=name_of(spec), title=name_of(spec), method=method, options=options, source="a lesson"
    )


def judged(world: World, methods: Sequence[MethodSpec]) -> ExactComparison:
    """The exact distribution over the step's finite language, of the model and of each method.

    Raises: WorkbenchError as ``exact_comparison``, and that of a method that does not apply.
    """
    contenders = tuple(map(contender, methods))
    comparison = exact_comparison(world.model, "", world.grammar, contenders, ended=True)
    for error in comparison.failed.values():
        raise error
    return comparison


def share_of(world: World, spec: MethodSpec | None, text: str) -> float:
    """The probability of a text under a method, or the model's own among valid texts."""
    comparison = judged(world, () if spec is None else (spec,))
    whose = comparison.own if spec is None else comparison.methods[name_of(spec)]
    return whose.probability.get(text.encode(), 0.0)


def ranking(world: World, *, methods: Sequence[MethodSpec]) -> Table:
    """For each text the score of the tokenizations that a method can write.

    Source: Koo, Liu & He 2024, Appendix A.
    """
    tree = token_tree(world.model, "", world.constraint)
    columns = []
    for spec in methods:
        constraint, sums = constrained(world, spec), dict.fromkeys(tree.texts, 0.0)
        for ids, node, logprob in tree.spellings():
            if forbidden_at(constraint, (*ids, *_end(world))) is None:
                sums[node.text] += math.exp(logprob + node.end)
        columns.append(sums)
    listed = [text for text in tree.texts if any(sums[text] for sums in columns)]
    rows = [(visible(text), *(number(sums[text]) for sums in columns)) for text in listed]
    best = (visible(max(listed, key=lambda text: sums[text])) for sums in columns)
    rows.append(("best", *best))
    return Table(
        "The score of each text, all its tokenizations together",
        ("text", *map(name_of, methods)),
        tuple(rows),
    )


def invasive(world: World, *, methods: Sequence[MethodSpec]) -> Table:
    """Whether a tokenization of a valid text is forbidden, with the first one found.

    Source: Beurer-Kellner et al. 2024, Definition 2.1, for every model.
    """
    rows = []
    for spec in methods:
        search = search_spellings(world.constraint, constrained(world, spec))
        if search.forbidden is None:
            result = "none" if search.complete else f"none among {search.pairs:,} places"
            rows.append((name_of(spec), "✓", result, ""))
            continue
        ids = (*search.forbidden.before, search.forbidden.token_id, *(search.forbidden.after or ()))
        spelling = "  ".join(world.shown(i) for i in ids if i != world.vocabulary.end)
        rows.append((name_of(spec), "✗", spelling, world.shown(search.forbidden.token_id)))
    heads = ("method", "minimally invasive", "counterexample", "forbidden there")
    return Table("Is every tokenization of every valid text allowed?", heads, tuple(rows))


# -- questions ---------------------------------------------------------------------------------


def taken_away(world: World, *, by: MethodSpec, after: Sequence[str] = ()) -> Question:
    """Which tokens a method forbids after some others, though the grammar allows them."""
    exactly = allowed_by(world, EXACT, after)
    right = exactly - allowed_by(world, by, after)
    every = choices(world, b"".join(map(token_bytes, after)))

    def why(token_id: int) -> str:
        if token_id in exactly:
            return f"{name_of(by)} lets this one through"
        return f"the grammar itself forbids it: {every[token_id].why}"

    return options_question(tuple(choice.text for choice in every), right, why)


def allowed(world: World, *, by: MethodSpec, after: Sequence[str] = ()) -> Question:
    """Which tokens a method allows after some others."""
    right = allowed_by(world, by, after)
    every = choices(world, b"".join(map(token_bytes, after)))

    def why(token_id: int) -> str:
        if every[token_id].allowed:
            return f"the grammar can read it, and {name_of(by)} still forbids it"
        return every[token_id].why

    return options_question(tuple(choice.text for choice in every), right, why)


def writable(world: World, *, by: MethodSpec, options: Sequence[Sequence[str]]) -> Question:
    """Which of these sequences of tokens a method allows from beginning to end."""
    constraint = constrained(world, by)
    sequences = [ids_of(world, tokens) for tokens in options]
    failing = [forbidden_at(constraint, (*ids, *_end(world))) for ids in sequences]
    right = {i for i, position in enumerate(failing) if position is None}

    def why(number: int) -> str:
        position = failing[number]
        assert position is not None, "it is wrong"
        ids = (*sequences[number], *_end(world))
        return f"{world.shown(ids[position])}, token {position + 1}, is forbidden"

    shown = tuple("  ".join(world.shown(i) for i in ids) for ids in sequences)
    return options_question(shown, right, why)


def _end(world: World) -> tuple[int, ...]:
    end = world.vocabulary.end
    return () if end is None else (end,)


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
        likely = tuple(sorted(fitting, key=lambda pair: (-pair[1], pair[0])))
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


def figure_2(world: World, *, methods: Sequence[MethodSpec]) -> Table:
    """Each method's text, its perplexity, and that of the same text in the model's tokens."""
    rows = []
    for spec in methods:
        run = run_of(world, spec)
        natural = retokenized(world.model, "", run.text)
        rows.append(
            (
                run.name,
                visible(run.text),
                str(len(run.text_steps)),
                number(run.perplexity),
                str(len(natural)),
                number(perplexity_of(world.model, "", natural)),
            )
        )
    heads = ("", "text", "tokens", "perplexity", "naturalised", "perplexity")
    return Table("As written, and in the model's own tokens", heads, tuple(rows))


def natural_tokens(world: World, *, text: str) -> float:
    """The number of tokens in which Algorithm 3 writes a text."""
    return len(retokenized(world.model, "", text))


def bits_of(world: World, *, token: str, after: Sequence[str] = ()) -> float:
    """The surprisal of a token after some others, without a grammar."""
    (token_id,) = ids_of(world, [token])
    ids = [*world.model.encode(""), *ids_of(world, after)]
    return bits(math.exp(world.model.logits(ids)[token_id]))
