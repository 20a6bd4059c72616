"""How far drawn texts are from the model's own distribution, by the forward passes they cost.

The texts of a finite language are drawn from its token tree (``exact_distribution.token_tree``),
which the model has scored once: so thousands of texts cost no further pass, and the passes that
they would cost are counted.
"""

from __future__ import annotations

import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.base.cached_property import cached_property
from workbench.base.errors import TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.constraint.masks import TokenMask
from workbench.constraint.protocol import State
from workbench.decoding.exact_distribution import Node, TokenTree, model_distribution
from workbench.decoding.generate import generate
from workbench.decoding.model import Logits, StatelessSession
from workbench.decoding.particles import Particles
from workbench.decoding.sampling import Sampling
from workbench.decoding.strategy import Strategy
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: Passes at which the distance is computed, up to the largest.
CHECKPOINTS = (10, 20, 40, 80, 150, 300, 600)

#: Each curve is the mean over as many independent repetitions.
REPETITIONS = 6


class TreeWorld:
    """The texts of a token tree as a model and a constraint over the tokens that occur in it.

    All other tokens of the model are one further row, which no mask allows.

    Raises: VocabularyError if the vocabulary has no end token.
    """

    name = "token tree"

    def __init__(self, tree: TokenTree, vocabulary: Vocabulary) -> None:
        if vocabulary.end is None:
            raise VocabularyError("expected a vocabulary with an end token")
        used = sorted({token_id for node in _nodes(tree.root) for token_id in node.children})
        tokens = [vocabulary.tokens[token_id] for token_id in used]
        self.initial: State = tree.root
        self.vocabulary = Vocabulary((*tokens, b"<end>"), end=len(used))
        self._dense = {token_id: index for index, token_id in enumerate(used)}
        self._children = {
            id(node): {self._dense[i]: child for i, child in node.children.items()}
            for node in _nodes(tree.root)
        }
        self._rows: dict[int, Logits] = {}
        self._masks: dict[int, TokenMask] = {}

    # -- the constraint ------------------------------------------------------------------------

    def mask(self, state: State) -> TokenMask:
        """Implements ``Constraint``."""
        if id(state) not in self._masks:
            ids = [*self._children[id(state)]] + [self._end] * state.accepted
            self._masks[id(state)] = TokenMask.of(ids, len(self.vocabulary))
        return self._masks[id(state)]

    def advance(self, state: State, token_id: TokenId) -> State:
        """Implements ``Constraint``."""
        if token_id == self._end and state.accepted:
            return state
        if token_id not in self._children[id(state)]:
            raise TokenNotAllowed(f"no text of the tree continues with token {token_id}")
        return self._children[id(state)][token_id]

    def is_final(self, state: State) -> bool:
        """Implements ``Constraint``."""
        return bool(state.accepted)

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        """Implements ``Constraint``; the bytes are not computed."""
        return b""

    # -- the model -----------------------------------------------------------------------------

    def encode(self, text: str) -> list[TokenId]:
        """One token, whatever the prompt."""
        return [self._end]

    def session(self) -> StatelessSession:
        """Implements ``LanguageModel``."""
        return StatelessSession(self._logits)

    @cached_property
    def _end(self) -> TokenId:
        return len(self.vocabulary) - 1

    def _logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """The log-probabilities after some tokens of the tree (V + 1,), the last of all others."""
        node = self.initial
        for token_id in token_ids[1:]:
            node = self._children[id(node)][token_id]
        if id(node) not in self._rows:
            row = np.full(len(self.vocabulary) + 1, -np.inf)
            for token_id, logprob in node.logprobs.items():
                row[self._dense[token_id]] = logprob
            row[self._end] = node.end
            row[-1] = math.log(max(1.0 - float(np.exp(row).sum()), 1e-30))
            self._rows[id(node)] = row.astype(np.float32)
        return self._rows[id(node)]


def _nodes(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children.values())


@dataclass(frozen=True, slots=True)
class DistanceCurve:
    """The distance of all drawn texts from the model's own distribution.

    ``points``  a number of forward passes, and the total variation after them. Texts drawn from
                the model's own distribution are at a distance too while they are few.
    ``texts``   the mean number of texts that the most passes were enough for.
    """

    points: tuple[tuple[int, float], ...]
    texts: float


def distance_curves(
    tree: TokenTree,
    vocabulary: Vocabulary,
    strategies: Mapping[str, Callable[[], Strategy]],
    *,
    checkpoints: Sequence[int] = CHECKPOINTS,
    repetitions: int = REPETITIONS,
    seconds: float = math.inf,
) -> dict[str, DistanceCurve]:
    """A curve for each strategy by name, at temperature 1; each repetition begins with a new one.

    The texts of ``Particles`` count with their weights, those of other strategies once. After
    ``seconds`` no further repetition begins; the first one is always computed.

    Raises: VocabularyError without an end token; WorkbenchError if the model gives all texts
            probability 0, or a strategy cannot draw texts.
    """
    target = model_distribution(tree).probability
    world, started = TreeWorld(tree, vocabulary), time.monotonic()
    runs: dict[str, list[_Distances]] = {name: [] for name in strategies}
    for repetition in range(repetitions):
        for name, make in strategies.items():
            runs[name].append(_distances(world, make(), target, checkpoints, repetition << 20))
        if time.monotonic() - started > seconds:
            break
    return {name: _mean_curve(checkpoints, runs_of_method) for name, runs_of_method in runs.items()}


#: The distance at each checkpoint, and the number of texts that were drawn.
_Distances = tuple[list[float], int]


def _mean_curve(checkpoints: Sequence[int], runs: Sequence[_Distances]) -> DistanceCurve:
    means = np.mean([distances for distances, _ in runs], axis=0).tolist()
    texts = sum(texts for _, texts in runs) / len(runs)
    return DistanceCurve(tuple(zip(checkpoints, means, strict=True)), texts)


def _distances(
    world: TreeWorld,
    strategy: Strategy,
    target: Mapping[bytes, float],
    checkpoints: Sequence[int],
    first_seed: int,
) -> _Distances:
    """Draw texts until the passes of the last checkpoint are spent."""
    weights: defaultdict[bytes, float] = defaultdict(float)
    distances: list[float] = []
    passes, texts = 0, 0
    while len(distances) < len(checkpoints):
        drawn, cost = _draw(world, strategy, first_seed + texts)
        passes += max(cost, 1)
        while len(distances) < len(checkpoints) and passes > checkpoints[len(distances)]:
            distances.append(_distance(weights, target))
        for text, weight in drawn.items():
            weights[text] += weight
        texts += 1
    return distances, texts - 1


def _draw(world: TreeWorld, strategy: Strategy, seed: int) -> tuple[dict[bytes, float], int]:
    """The weights of the texts of one draw, and its forward passes."""
    sampling = Sampling(1.0, seed=seed)
    if isinstance(strategy, Particles):
        population = strategy.population(world, world, "", sampling)
        scale = math.exp(population.log_evidence)
        return {t: scale * w for t, w in population.texts.items()}, population.passes
    run = generate(world, world, "", sampling, strategy=strategy, top=0)
    for _ in run:
        pass
    trace = run.trace
    if not trace.accepted:
        raise WorkbenchError(f"{strategy!r} drew a text that is not one of the language")
    return {trace.text: 1.0}, trace.forward_passes


def _distance(weights: Mapping[bytes, float], target: Mapping[bytes, float]) -> float:
    """The total variation of weighted texts; 1 before the first text."""
    total = math.fsum(weights.values())
    if not total:
        return 1.0
    return math.fsum(abs(weights.get(text, 0.0) / total - p) for text, p in target.items()) / 2
