"""Blocks of tokens that are chosen together: the trellis of positions and states, and the passes.

A step gives one distribution for each position. ``trellis`` shows Viterbi's algorithm on it
(``decoding.blocks``), place by place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from workbench.app.lessons.lesson import Film, Frame, Given, LessonError, Row, Table, View
from workbench.app.lessons.lesson_world import World, token_bytes
from workbench.decoding.blocks import (
    ENDED,
    Block,
    MixtureModel,
    Place,
    best_block,
    generate_blocks,
    likeliest_end,
)
from workbench.drawing.graph import Edge, Graph, Node, state_kinds
from workbench.grammar.export.registry import export
from workbench.vocabulary.vocabulary import TokenId

#: For each position the probabilities of tokens; the end under the name ``end``.
Distributions = Sequence[Mapping[str, float]]


def _ids(world: World) -> dict[str, TokenId]:
    return {world.shown(i): i for i in range(len(world.vocabulary))}


def _logits(world: World, distributions: Distributions) -> npt.NDArray[np.float64]:
    """The distributions as log-probabilities, (N, V).

    Raises: LessonError for unknown tokens, and numbers that do not add up to 1.
    """
    ids = _ids(world)
    probabilities = np.zeros((len(distributions), len(world.vocabulary)))
    for position, row in enumerate(distributions):
        if unknown := set(row) - set(ids):
            raise LessonError(f"expected tokens of the step, not {sorted(unknown)}")
        if not math.isclose(math.fsum(row.values()), 1, abs_tol=1e-9):
            raise LessonError(f"expected probabilities that add up to 1 at position {position + 1}")
        for name, probability in row.items():
            probabilities[position, ids[name]] = probability
    with np.errstate(divide="ignore"):
        logits: npt.NDArray[np.float64] = np.log(probabilities)
    return logits


def _best(world: World, distributions: Distributions) -> Block:
    return best_block(world.constraint, _logits(world, distributions), finish=True)


def _number(probability: float) -> str:
    """A probability with three digits."""
    return f"{probability:.3g}"


def best_share(world: World, *, distributions: Distributions) -> float:
    """The probability of the likeliest allowed block, in per cent."""
    return 100 * math.exp(_best(world, distributions).logprob)


def share_of_block(world: World, *, tokens: Sequence[str], distributions: Distributions) -> float:
    """The probability of a block in per cent, allowed or not."""
    ids, rows = _ids(world), np.exp(_logits(world, distributions))
    return 100 * float(np.prod([row[ids[t]] for row, t in zip(rows, tokens, strict=True)]))


# -- the trellis ----------------------------------------------------------------------------


class _Trellis:
    """The places of a block as a graph, and the frames of Viterbi's algorithm."""

    def __init__(self, world: World, distributions: Distributions) -> None:
        self.world = world
        self.rows = np.exp(_logits(world, distributions))
        self.block = _best(world, distributions)
        start = Place(world.constraint.initial)
        self.layers: list[dict[Place, float]] = [
            {start: 1.0},
            *(
                {p: math.exp(way.logprob) for p, way in layer.items()}
                for layer in self.block.layers
            ),
        ]
        #: For each edge the position, its ends and its likeliest token.
        self.steps: list[tuple[int, Place, Place, TokenId]] = [
            (position, source, target, token_id)
            for position, (before, after) in enumerate(pairwise(self.layers))
            for target in after
            for source in before
            if (token_id := self._token(position, source, target)) is not None
        ]
        #: The edges of the likeliest ways.
        self.kept = {
            number
            for number, (position, source, target, _) in enumerate(self.steps)
            if self.block.layers[position][target].before == source
        }
        self.graph = self._graph()

    def _token(self, position: int, source: Place, target: Place) -> TokenId | None:
        """The likeliest token from one place to another, None if no token leads there."""
        constraint, ends = self.world.constraint, self.world.vocabulary.ends
        row = self.rows[position]
        ids = [
            token_id
            for token_id in ([*ends] if source.ended else constraint.mask(source.state))
            if row[token_id] > 0
            and target
            == (ENDED if token_id in ends else Place(constraint.advance(source.state, token_id)))
        ]
        return max(ids, key=lambda token_id: float(row[token_id]), default=None)

    def name(self, position: int, node: Place) -> str:
        """The id of a node."""
        return f"{position}-{self.shown(node)}"

    @staticmethod
    def shown(node: Place) -> str:
        return "end" if node.ended else str(node.state)

    def _graph(self) -> Graph:
        constraint, last = self.world.constraint, len(self.layers) - 1
        nodes = []
        for position, layer in enumerate(self.layers):
            for node, probability in layer.items():
                ends = position == last and (node.ended or constraint.is_final(node.state))
                number = _number(probability)
                nodes.append(
                    Node(
                        self.name(position, node),
                        f"{self.shown(node)}: {number}" if position else self.shown(node),
                        state_kinds(initial=position == 0, final=ends),
                        f"state {self.shown(node)} after {position} tokens, {number}",
                    )
                )
        edges = tuple(
            Edge(
                self.name(position, source),
                self.name(position + 1, target),
                (f"{self.world.shown(token)} {_number(self.rows[position][token])}",),
            )
            for position, source, target, token in self.steps
        )
        return Graph("the trellis: states after each position", tuple(nodes), edges)

    def frames(self) -> list[Frame]:
        """One frame for each place, then the way back."""
        start = self.name(0, next(iter(self.layers[0])))
        nodes, edges = {start}, set[int]()
        say = "Before the first token there is one state, and its probability is 1."
        frames = [Frame(say, (View((start,), (), frozenset(nodes), frozenset()),), self._alone())]
        for position, layer in enumerate(self.layers[1:]):
            for node in layer:
                into = [n for n, s in enumerate(self.steps) if s[0] == position and s[2] == node]
                nodes.add(self.name(position + 1, node))
                view = View(
                    (self.name(position + 1, node),),
                    tuple(sorted(self.kept.intersection(into))),
                    frozenset(nodes),
                    frozenset(edges.union(into)),
                )
                edges |= self.kept.intersection(into)
                frames.append(Frame(self._words(position, node, into), (view,), self._alone()))
        return [*frames, self._ending(nodes, edges)]

    def _words(self, position: int, node: Place, into: Sequence[int]) -> str:
        """The products of the ways to a place, the likeliest first."""
        ways = []
        for number in sorted(into, key=lambda number: number not in self.kept):
            _, source, _, token = self.steps[number]
            before, step = self.layers[position][source], float(self.rows[position][token])
            ways.append(
                f"from {self.shown(source)} with {self.world.shown(token)}"
                f" {_number(before)} × {_number(step)} = {_number(before * step)}"
            )
        kept = "" if len(ways) == 1 else ". The first is larger and stays"
        return f"Position {position + 1}, state {self.shown(node)}: {'; '.join(ways)}{kept}."

    def _alone(self) -> tuple[Row, ...]:
        """The rows of all frames but the last: the likeliest tokens, and the block to be found."""
        likeliest = [self.world.shown(int(token)) for token in self.rows.argmax(axis=1)]
        unknown = Row("likeliest allowed block", ("?",) * len(self.rows))
        return (Row("likeliest of each position", tuple(likeliest)), unknown)

    def _ending(self, nodes: set[str], edges: set[int]) -> Frame:
        """The likeliest way from the likeliest final place back to the beginning."""
        node = likeliest_end(self.world.constraint, self.block.layers[-1], finish=True)
        assert node is not None, "the block was found"
        lit, arcs = [self.name(len(self.layers) - 1, node)], list[int]()
        for position in range(len(self.layers) - 2, -1, -1):
            before = self.block.layers[position][node].before
            arcs.append(self.steps.index((position, before, node, self.block.token_ids[position])))
            node = before
            lit.append(self.name(position, node))
        shown = tuple(self.world.shown(token_id) for token_id in self.block.token_ids)
        probability = _number(math.exp(self.block.logprob))
        say = (
            f"Back from the likeliest final state: {' '.join(shown)} has the probability"
            f" {probability}, and no allowed block has a higher one."
        )
        view = View(tuple(lit), tuple(arcs), frozenset(nodes), frozenset(edges))
        return Frame(say, (view,), (self._alone()[0], Row("likeliest allowed block", shown)))


def trellis(world: World, given: Given, *, distributions: Distributions) -> Film:
    """Viterbi's algorithm on the machine of the world, for one distribution each position."""
    trellis = _Trellis(world, distributions)
    return Film((trellis.graph,), tuple(trellis.frames()))


def positions(world: World, *, distributions: Distributions) -> Table:
    """The distribution of each position, its likeliest token and that of the likeliest block."""
    rows = np.exp(_logits(world, distributions))
    blocks = [rows.argmax(axis=1).tolist(), list(_best(world, distributions).token_ids)]

    def together(ids: list[TokenId]) -> str:
        text = world.vocabulary.decode([i for i in ids if i not in world.vocabulary.ends])
        verdict = "accepted" if world.grammar.accepts(text) else "not accepted"
        return f"{verdict}, {_number(float(np.prod(rows[np.arange(len(rows)), ids])))}"

    listed = [
        (
            str(position + 1),
            "   ".join(f"{name} {_number(share)}" for name, share in shares.items()),
            *(world.shown(ids[position]) for ids in blocks),
        )
        for position, shares in enumerate(distributions)
    ]
    heads = ("position", "distribution", "likeliest token", "likeliest block")
    last = ("together", "", *map(together, blocks))
    return Table("Each position alone, and the likeliest block", heads, (*listed, last))


def hole_rules(world: World) -> Table:
    """The rules of the world's hole, the new ones first."""
    lines = export(world.grammar, "kbnf").replace("\n  ", " ").splitlines()
    rules = [line.rstrip(";").split(" ::= ", 1) for line in lines if " ::= " in line]
    return Table("The rules of the hole", ("rule", "its texts"), tuple((a, b) for a, b in rules))


# -- passes ---------------------------------------------------------------------------------


def _mixture(world: World, texts: Sequence[Mapping[str, object]]) -> MixtureModel:
    """The block model that knows some texts: ``{ tokens = ["[", "1"], weight = 0.5 }``."""
    weights: dict[tuple[TokenId, ...], float] = {}
    for entry in texts:
        tokens, weight = entry.get("tokens"), entry.get("weight")
        if not isinstance(tokens, list) or not isinstance(weight, int | float):
            raise LessonError("expected texts with tokens and a weight")
        weights[tuple(world.vocabulary.ids(*map(token_bytes, tokens)))] = float(weight)
    return MixtureModel(world.vocabulary, weights, noise=0.0)


def passes(
    world: World, *, texts: Sequence[Mapping[str, object]], length: int, passes: int
) -> Table:
    """The passes of a block model over one block: what is chosen in each."""
    model, rows = _mixture(world, texts), []

    def shown(tokens: Sequence[TokenId | None]) -> str:
        return "  ".join("▢" if token is None else world.shown(token) for token in tokens)

    steps = generate_blocks(model, world.constraint, length=length, passes=passes)
    for number, step in enumerate(steps, start=1):
        alone = [i for i in step.greedy if i not in world.vocabulary.ends]
        accepted = world.grammar.accepts(world.vocabulary.decode(alone))
        rows.append(
            (
                str(number),
                f"{shown(step.greedy)} {'✓' if accepted else '✗'}",
                shown(step.best),
                shown(step.token_ids),
            )
        )
    heads = ("pass", "likeliest of each position", "likeliest allowed block", "after the pass")
    return Table("Passes over one block", heads, tuple(rows))


def known_share(
    world: World,
    *,
    texts: Sequence[Mapping[str, object]],
    known: Sequence[str],
    position: int,
    token: str,
) -> float:
    """The probability of a token at a position in per cent, given known tokens (``▢``: unknown)."""
    ids = _ids(world)
    block = [None if name == "▢" else ids[name] for name in known]
    row = _mixture(world, texts).block_logits((), block)[position - 1]
    return 100 * float(np.exp(row[ids[token]]))
