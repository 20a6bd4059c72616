"""Drawing texts with the model's own distribution over a finite language: tables of a lesson.

Random numbers have fixed seeds, so every page shows the same draws.

Sources: Park et al. 2024 (ASAp); Parys et al. 2025 (CARS); Loula et al. 2025 (sequential Monte
Carlo).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from workbench.app.lessons.distribution_films import judged
from workbench.app.lessons.lesson import LessonError, Table
from workbench.app.lessons.lesson_world import World
from workbench.app.lessons.mask_films import number, share
from workbench.app.lessons.method_films import MethodSpec, name_of
from workbench.base.visible_text import count_of, visible
from workbench.decoding.adaptive_sampling import Asap, Cars
from workbench.decoding.distance_curves import distance_curves
from workbench.decoding.exact_distribution import (
    Distribution,
    Node,
    TokenTree,
    distance,
    masked_distribution,
    model_distribution,
    token_tree,
)
from workbench.decoding.generate import generate
from workbench.decoding.particles import Particles
from workbench.decoding.sampling import Sampling
from workbench.decoding.strategy import PLAIN, Strategy
from workbench.decoding.trace import Trace
from workbench.vocabulary.vocabulary import TokenId


def shares(world: World, *, methods: Sequence[MethodSpec]) -> Table:
    """Every text of a finite language: the model's own conditional, and under each method.

    Source: Tran-Thien 2024, challenge 1.
    """
    comparison, names = judged(world, methods), list(map(name_of, methods))
    rows = [
        (
            visible(text),
            share(comparison.own.probability[text]),
            *(share(comparison.methods[name].probability[text]) for name in names),
        )
        for text in comparison.texts
    ]
    if any(comparison.methods[name].lost for name in names):
        rows.append(("no text", "", *(share(comparison.methods[name].lost) for name in names)))
    distances = (number(comparison.distances[name].total_variation) for name in names)
    rows.append(("total variation", "", *distances))
    heads = ("text", "model, given that it is valid", *names)
    return Table("What is sampled, exactly", heads, tuple(rows))


def _tree(world: World) -> TokenTree:
    return token_tree(world.model, "", world.constraint)


def _weight(tree: TokenTree, ids: tuple[TokenId, ...]) -> float:
    """The product of the probabilities that the masks keep on the way of a text."""
    node, kept = tree.root, 1.0
    for token_id in (*ids, None):
        end = math.exp(node.end) if node.accepted else 0.0
        kept *= math.fsum(map(math.exp, node.logprobs.values())) + end
        if token_id is not None:
            node = node.children[token_id]
    return kept


def weights(world: World) -> Table:
    """Each text under the mask, what the masks kept on its way, and their product."""
    tree = _tree(world)
    masked, unmasked = masked_distribution(tree, world.constraint), model_distribution(tree)
    rows = [
        (
            visible(node.text),
            share(masked.probability[node.text]),
            share(_weight(tree, ids)),
            share(math.exp(logprob + node.end)),
            share(unmasked.probability[node.text]),
        )
        for ids, node, logprob in sorted(tree.spellings(), key=lambda spelling: spelling[1].text)
    ]
    heads = (
        "text",
        "under the mask",
        "kept by the masks",
        "product: the model's probability",
        "model, given that it is valid",
    )
    return Table("What the masks kept on the way of each text", heads, tuple(rows))


def weight_of(world: World, *, text: str) -> float:
    """What the masks keep on the way of a text, in per cent."""
    tree = _tree(world)
    for ids, node, _ in tree.spellings():
        if node.text == text.encode():
            return 100 * _weight(tree, ids)
    raise LessonError(f"expected a text of the language, not {text!r}")


def weight_ratio(world: World, *, text: str, other: str) -> float:
    """How many times the weight of another text a text has."""
    return weight_of(world, text=text) / weight_of(world, text=other)


def valid_share(world: World) -> float:
    """The probability that the model writes a valid text, in per cent."""
    return 100 * _valid(_tree(world))


def _valid(tree: TokenTree) -> float:
    return math.fsum(math.exp(logprob + node.end) for _, node, logprob in tree.spellings())


def _draws(world: World, strategy: Strategy, count: int) -> Iterator[Trace]:
    for seed in range(count):
        run = generate(
            world.model, world.constraint, "", Sampling(1.0, seed=seed), strategy=strategy
        )
        for _ in run:
            pass
        yield run.trace


def next_draw(world: World, tree: TokenTree, asap: Asap) -> Distribution:
    """The distribution of the next text that an ASAp draws, given all that it has learnt."""
    context = world.model.encode("")
    probabilities: dict[bytes, float] = dict.fromkeys(tree.texts, 0.0)
    waiting: list[tuple[Node, tuple[TokenId, ...], float]] = [(tree.root, (), 1.0)]
    while waiting:
        node, ids, p = waiting.pop()
        weighted = {
            token_id: math.exp(logprob)
            * asap.bound(world.constraint, 1.0, context, (*ids, token_id))
            for token_id, logprob in node.logprobs.items()
        }
        end = math.exp(node.end) if node.accepted else 0.0
        total = math.fsum(weighted.values()) + end
        if node.accepted:
            probabilities[node.text] += p * end / total
        for token_id, weight in weighted.items():
            waiting.append((node.children[token_id], (*ids, token_id), p * weight / total))
    return Distribution(probabilities)


def bounds(world: World, *, texts: int) -> Table:
    """The texts an ASAp draws, the bound after each, and the distribution of the next text."""
    tree, asap, rows = _tree(world), Asap(), list[tuple[str, ...]]()
    unmasked, context = model_distribution(tree), world.model.encode("")
    drawn = "nothing yet"
    draws = _draws(world, asap, texts)
    while True:
        coming = next_draw(world, tree, asap)
        shares = (share(coming.probability[text]) for text in tree.texts)
        far = number(distance(unmasked, coming).total_variation)
        bound = asap.bound(world.constraint, 1.0, context)
        rows.append((drawn, share(bound), *shares, far))
        trace = next(draws, None)
        if trace is None:
            break
        drawn = visible(trace.text)
    rows.append(
        (
            "the model's own",
            share(_valid(tree)),
            *(share(unmasked.probability[text]) for text in tree.texts),
            "",
        )
    )
    heads = ("drawn", "valid, at most", *map(visible, tree.texts), "total variation")
    return Table("The next text, after what was drawn", heads, tuple(rows))


def attempts(world: World, *, texts: int) -> Table:
    """The texts a CARS draws, with the forward passes of rejected attempts."""
    cars, context, rows = Cars(), world.model.encode(""), list[tuple[str, ...]]()
    for trace in _draws(world, cars, texts):
        bound = cars.bound(world.constraint, 1.0, context)
        passes = str(trace.forward_passes), str(trace.discarded_passes)
        rows.append((visible(trace.text), *passes, share(bound)))
    heads = ("text", "forward passes", "of rejected attempts", "not ruled out")
    return Table("Texts drawn one after the other", heads, tuple(rows))


def population(world: World, *, count: int, seed: int = 0) -> Table:
    """One population of particles: each text with its weight."""
    population = Particles(count).population(
        world.model, world.constraint, "", Sampling(1.0, seed=seed)
    )
    rows = [
        (str(index), visible(particle.trace.text), share(weight))
        for index, (particle, weight) in enumerate(
            zip(population.particles, population.weights.tolist(), strict=True), 1
        )
    ]
    again = (
        f"resampled {count_of(population.resampled, 'time')}"
        if population.resampled
        else "not resampled"
    )
    valid = share(math.exp(population.log_evidence))
    effective = number(1 / float(population.weights @ population.weights))
    title = (
        f"{count} particles, {again}, effective number {effective};"
        f" estimated share of valid texts: {valid}"
    )
    return Table(title, ("particle", "text", "weight"), tuple(rows))


#: The strategies that are compared, by their names in the table.
_STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "mask alone": lambda: PLAIN,
    "ASAp": Asap,
    "CARS": Cars,
    "8 particles": Particles,
}


def distances(world: World, *, passes: tuple[int, ...]) -> Table:
    """The total variation of all drawn texts, after some numbers of forward passes."""
    curves = distance_curves(
        _tree(world), world.vocabulary, _STRATEGIES, checkpoints=tuple(passes), repetitions=3
    )
    rows = [
        (name, *(number(far) for _, far in curve.points), f"{curve.texts:.0f}")
        for name, curve in curves.items()
    ]
    heads = ("", *(f"{each:,} passes" for each in passes), "texts")
    return Table("Total variation from the model's own distribution", heads, tuple(rows))
