"""Weighted samples of the model's own distribution: rejection of single tokens, and particles.

``Awrs`` draws a token without computing a mask: it tests tokens in the order in which they would be
drawn until one is allowed. These tests and a few further draws give an unbiased estimate of the
probability that the mask would keep, which is the weight of the draw. ``Particles`` draws several
texts together under a mask. The weight of each is the product of the probabilities that its masks
kept: that is what masking token by token forgets. Texts with small weights are replaced by copies
of those with large ones (resampling), so that the passes are spent on prefixes that valid texts
follow.

Sources: Lipkin et al. 2025, Fast Controlled Generation from Language Models with Adaptive Weighted
Rejection Sampling; Loula et al. 2025, Syntactic and Semantic Control of Large Language Models via
Sequential Monte Carlo.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workbench.base.arguments import PositiveCount, Probability, check_fields
from workbench.base.errors import ModelError
from workbench.constraint.protocol import Constraint
from workbench.decoding.adaptive_sampling import check_drawn
from workbench.decoding.candidates import TokenDistribution, milliseconds_since
from workbench.decoding.generate import decoding_loop
from workbench.decoding.model import (
    ForwardPass,
    LanguageModel,
    Logits,
    Prompt,
    another_session,
)
from workbench.decoding.opportunistic_masking import LazyMask, LazyStep, allows
from workbench.decoding.sampling import Sampling, log_sum
from workbench.decoding.shared_passes import run_together
from workbench.decoding.stages import likeliest
from workbench.decoding.strategy import DecodingLoop, Steps
from workbench.decoding.trace import Step, StopReason, Trace
from workbench.vocabulary.vocabulary import TokenId

#: How many tokens are sorted first when tokens are tested in the order of a draw.
_SORTED_FIRST = 16

#: A part of the random numbers of a step that no other draw uses: resampling, the weights of
#: ``Awrs``, and the choice of a particle. Particles use the streams from 1 on.
_RESAMPLING, _WEIGHTS, _CHOICE = 1 << 30, 1 << 31, 1 << 32


@dataclass(frozen=True, slots=True)
class Draw:
    """A token drawn by tests of single tokens; None if no token is allowed.

    Unit: ``weight`` is an unbiased estimate of the probability of all allowed tokens together.
    """

    token_id: TokenId | None
    weight: float
    tests: int


@dataclass(frozen=True, slots=True)
class Awrs:
    """Adaptive weighted rejection sampling: tokens are tested one by one, no mask is computed.

    A token is drawn from the model's distribution; if it is forbidden, it is removed, and the next
    one is drawn from the rest. The first allowed token has its probability among the allowed ones:
    it is the plain loop's token (``Sampling.choose`` is the same race). So as a strategy this is
    ``OpportunisticMasking`` whose refused draws cost tests of single tokens in place of a mask.

    The weight: let R be the rejected tokens, with probability r. A further draw from the tokens
    that are not in R is allowed with probability Z / (1 − r), where Z is the probability of all
    allowed tokens; so (1 − r) if it is allowed, else 0, has the mean Z. A refused draw joins R
    before the next one, and the weight is the mean over ``trials`` such draws. R holds
    forbidden tokens only and is independent of the allowed token that was drawn, so the mean weight
    is Z for every token.

    ``trials``  draws for a weight; a weight is used by ``Particles`` only.

    Source: Lipkin et al. 2025; this estimator is one of several with the same mean.
    """

    trials: PositiveCount = 2

    def __post_init__(self) -> None:
        check_fields(self)

    def steps(self, loop: DecodingLoop) -> Steps:
        """Implements ``Strategy``."""
        check_drawn("AWRS", loop.sampling)
        while loop.stop is None:
            mask = LazyMask(loop.constraint, loop.state)
            # without an end token a text is complete if no token is allowed
            whole = loop.constraint.vocabulary.end is None or loop.left <= 0
            if not (loop.can_continue(mask) if whole else loop.has_room()):
                return
            rows, model_ms = yield from loop.score(())
            scored = loop.distribution((mask, 0.0), rows[0], model_ms)
            times = loop.sampling.rng(loop.index).standard_exponential(len(scored.logits))
            race = _race(scored.logits, loop.sampling.temperature, times)
            token_id, _ = _first_allowed(race, mask.__contains__)
            if token_id is None:
                loop.end()
                return
            index, advance_ms = loop.advance(token_id, mask)
            yield LazyStep.of(scored, mask, token_id, index, loop.top, advance_ms)

    def draw(
        self,
        rows: Logits,
        is_allowed: Callable[[TokenId], bool],
        temperature: float,
        rngs: tuple[np.random.Generator, np.random.Generator],
    ) -> Draw:
        """Draw a token and its weight.

        ``is_allowed``  False for a row that is no token.
        ``rngs``        the random numbers of the token and those of its weight.

        Shape: ``rows`` (V or more,).
        """
        race = _race(rows, temperature, rngs[0].standard_exponential(len(rows)))
        token_id, rejected = _first_allowed(race, is_allowed)
        tests = len(rejected) + (token_id is not None)
        if token_id is None:
            return Draw(None, 0.0, tests)
        scores = rows.astype(np.float64) / temperature
        shares = np.exp(scores - log_sum(scores))
        removed = math.fsum(shares[rejected])
        shares[rejected] = 0.0
        weights = []
        for _ in range(self.trials):
            tried = int(np.argmax(shares / rngs[1].standard_exponential(len(rows))))
            tests += 1
            if is_allowed(tried):
                weights.append(1.0 - removed)
            else:
                weights.append(0.0)
                removed += float(shares[tried])
                shares[tried] = 0.0
        return Draw(token_id, math.fsum(weights) / self.trials, tests)


def _race(
    rows: Logits, temperature: float, times: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The result of an exponential race (``Sampling.choose``): the highest value wins."""
    weights: npt.NDArray[np.float64] = np.exp(
        np.subtract(rows, rows.max(), dtype=np.float64) / temperature
    )
    return weights / times


def _first_allowed(
    race: npt.NDArray[np.float64], is_allowed: Callable[[TokenId], bool]
) -> tuple[TokenId | None, list[TokenId]]:
    """The first allowed token in the order of a race, and the tokens before it."""
    rejected: list[TokenId] = []
    count = _SORTED_FIRST
    while len(rejected) < len(race):
        for token_id in likeliest(race, count)[len(rejected) :].tolist():
            if race[token_id] == 0.0:
                return None, rejected  # the model gives all others probability 0
            if is_allowed(token_id):
                return token_id, rejected
            rejected.append(token_id)
        count *= 8
    return None, rejected


@dataclass(slots=True, eq=False)
class Particle:
    """One of the texts that are drawn together. Unit: ``log_weight`` in nats."""

    loop: DecodingLoop
    steps: list[Step] = field(default_factory=list)
    log_weight: float = 0.0

    @property
    def trace(self) -> Trace:
        """The steps of the text, and why it ended."""
        return Trace(tuple(self.steps), self.loop.stop)

    def copy(self) -> Particle:
        """A particle that continues with the same text."""
        loop = self.loop.copy()
        loop.session = another_session(loop.session)
        return Particle(loop, [*self.steps], self.log_weight)


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Texts with weights.

    The evidence estimates the probability that the model writes a valid text. Evidence times the
    weighted mean of a function f of the texts is an unbiased estimate of the sum of p(text) f(text)
    over all valid texts.
    """

    particles: tuple[Particle, ...]
    #: log of the unbiased estimate of the probability that the model writes a valid text.
    log_evidence: float
    #: The forward passes of all particles.
    passes: int
    #: How often particles were resampled.
    resampled: int

    def __repr__(self) -> str:
        count = len({particle.trace.text for particle in self.particles})
        return (
            f"Population({len(self.particles)} particles, {count} texts, {self.passes} passes,"
            f" log evidence {self.log_evidence:.3g})"
        )

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """The weight of each particle (n,); they sum to 1, or are all 0."""
        return normalized([particle.log_weight for particle in self.particles])

    @property
    def texts(self) -> dict[bytes, float]:
        """The weight of each text, heaviest first; texts of weight 0 are left out."""
        weights: dict[bytes, float] = {}
        for particle, weight in zip(self.particles, self.weights.tolist(), strict=True):
            if weight:
                text = particle.trace.text
                weights[text] = weights.get(text, 0.0) + weight
        return dict(sorted(weights.items(), key=lambda item: -item[1]))


@dataclass(frozen=True, slots=True)
class Particles:
    """Sequential Monte Carlo: several texts together, weighted, with resampling.

    Each particle takes its tokens under the mask, and its weight is multiplied by the probability
    that the mask kept. When few particles have most of the weight, all are replaced by particles
    drawn in proportion to the weights. As a strategy it draws one of the texts; its steps come when
    all particles have ended, and the forward passes of the others are discarded. ``population``
    returns all texts. Texts that ``max_tokens`` cuts have weight 0 unless all are cut. Where
    ``awrs`` estimates weight 0 for all of them, it completes one of the texts alone.

    ``count``           the number of particles. One particle is the plain loop; with more of them
                        the distribution of the text comes closer to the model's own.
    ``resample_below``  resampling when the effective number of particles, (Σ w)² / Σ w², is below
                        this share of their number; 0 for never.
    ``awrs``            draws tokens and estimates weights by tests of single tokens, for
                        constraints whose masks are slow; without it the weights are exact.

    Raises: SamplingError for what ``check_drawn`` refuses.
    Source: Loula et al. 2025; Lew et al. 2023 (SMC steering of language models).
    """

    count: PositiveCount = 8
    resample_below: Probability = 0.5
    awrs: Awrs | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    def population(
        self,
        model: LanguageModel,
        constraint: Constraint,
        prompt: Prompt,
        sampling: Sampling,
        *,
        max_tokens: int = 256,
        stop: Callable[[], bool] | None = None,
    ) -> Population:
        """Draw all texts, with their weights. Raises: as ``generate``."""
        loop = decoding_loop(
            model, constraint, prompt, sampling, max_tokens=max_tokens, top=0, stop=stop
        )
        return self._evolve(loop)

    def steps(self, loop: DecodingLoop) -> Steps:
        """Implements ``Strategy``."""
        population = self._evolve(loop)
        weights = population.weights
        if not weights.any():  # estimates of 0, or dead ends
            dead = [particle.loop.stop is StopReason.DEAD_END for particle in population.particles]
            weights = np.array([1.0 if all(dead) else 1.0 - is_dead for is_dead in dead])
            weights /= weights.sum()
        rng = loop.sampling.rng(loop.index, _CHOICE)
        chosen = population.particles[int(rng.choice(len(weights), p=weights))]
        loop.discarded_passes += population.passes - sum(step.forward for step in chosen.steps)
        yield from loop.become(chosen.loop, chosen.steps)
        if loop.stop is None and self.awrs is not None:
            yield from self.awrs.steps(loop)

    def _evolve(self, loop: DecodingLoop) -> Population:
        """Advance particles by one token at a time until all have ended."""
        check_drawn("SMC", loop.sampling)
        first = Particle(loop.copy())
        particles = [first, *(first.copy() for _ in range(self.count - 1))]
        passes, resampled, log_evidence = 0, 0, 0.0
        while running := [particle for particle in particles if self._can_continue(particle)]:
            requests = [
                ForwardPass(particle.loop.session, particle.loop.context, 1) for particle in running
            ]
            passes += len(requests)
            for particle, result in zip(running, run_together(requests), strict=True):
                if isinstance(result, ModelError):
                    raise result
                self._take(particle, particles.index(particle), result[0][0], result[1])
            if self._is_uneven(particles):
                log_evidence += _log_mean([particle.log_weight for particle in particles])
                rng = loop.sampling.rng(
                    max(len(particle.steps) for particle in particles), _RESAMPLING
                )
                particles = _resample(particles, rng)
                resampled += 1
        _drop_unfinished(particles)
        log_evidence += _log_mean([particle.log_weight for particle in particles])
        return Population(tuple(particles), log_evidence, passes, resampled)

    def _can_continue(self, particle: Particle) -> bool:
        loop = particle.loop
        if loop.stop is not None or particle.log_weight == -math.inf:
            return False
        # without masks a dead end shows when no token is allowed
        lazy = self.awrs is not None and loop.constraint.vocabulary.end is not None
        running = loop.has_room() if lazy else loop.can_continue(loop.masked(loop.state)[0])
        if loop.stop is StopReason.DEAD_END:
            particle.log_weight = -math.inf
        return running

    def _take(self, particle: Particle, number: int, rows: Logits, model_ms: float) -> None:
        """Take a token and multiply the weight by the probability of all allowed tokens."""
        loop, sampling = particle.loop, particle.loop.sampling
        rng = sampling.rng(loop.index, number)
        if self.awrs is None:
            scored = loop.distribution(loop.masked(loop.state), rows, model_ms)
            particle.log_weight += _log_kept(scored, sampling.temperature)
            token_id = sampling.choose(scored.logits, scored.mask, rng)
            particle.steps.append(loop.take(scored, token_id))
            return
        mask = LazyMask(loop.constraint, loop.state)
        scored = loop.distribution((mask, 0.0), rows, model_ms)
        started, size = time.perf_counter(), len(scored.logits)

        def is_allowed(token_id: TokenId) -> bool:
            if token_id >= size or token_id in loop.constraint.vocabulary.ends[1:]:
                return False
            return allows(loop.constraint, loop.state, token_id)

        rngs = rng, sampling.rng(loop.index, _WEIGHTS + number)
        drawn = self.awrs.draw(scored.rows, is_allowed, sampling.temperature, rngs)
        mask.ms += milliseconds_since(started)
        particle.log_weight += math.log(drawn.weight) if drawn.weight else -math.inf
        if drawn.token_id is None:
            loop.end()
            return
        index, advance_ms = loop.advance(drawn.token_id, mask)
        particle.steps.append(
            LazyStep.of(scored, mask, drawn.token_id, index, loop.top, advance_ms)
        )

    def _is_uneven(self, particles: Sequence[Particle]) -> bool:
        """Whether to resample: some particle continues, and few have most of the weight."""
        weights = normalized([particle.log_weight for particle in particles])
        effective = 1 / float(weights @ weights) if weights.any() else math.inf
        return effective < self.resample_below * len(particles) and any(
            particle.loop.stop is None and weight > 0
            for particle, weight in zip(particles, weights, strict=True)
        )


def normalized(log_weights: Sequence[float]) -> npt.NDArray[np.float64]:
    """Weights that sum to 1 (n,); all 0 if every log-weight is −inf."""
    logs = np.array(log_weights)
    total = log_sum(logs)
    return np.zeros(len(logs)) if total == -math.inf else np.exp(logs - total)


def _log_mean(log_weights: Sequence[float]) -> float:
    return log_sum(np.array(log_weights)) - math.log(len(log_weights))


def _log_kept(scored: TokenDistribution, temperature: float) -> float:
    """log of the probability of all allowed tokens together, at a temperature."""
    if temperature == 1:
        return min(scored.log_within - scored.log_total, 0.0)
    scale = np.float32(temperature)
    return min(log_sum(scored.within / scale) - log_sum(scored.rows / scale), 0.0)


def _resample(particles: Sequence[Particle], rng: np.random.Generator) -> list[Particle]:
    """As many particles, drawn in proportion to the weights; their weights are then equal.

    Systematic resampling: one random number for all, so a particle with n times the mean weight
    has n copies, rounded up or down.
    """
    weights = normalized([particle.log_weight for particle in particles])
    places = (rng.random() + np.arange(len(particles))) / len(particles)
    chosen = np.minimum(np.searchsorted(np.cumsum(weights), places), len(particles) - 1)
    result: list[Particle] = []
    for number, index in enumerate(chosen.tolist()):
        is_first = number == 0 or chosen[number - 1] != index
        particle = particles[index] if is_first else particles[index].copy()
        particle.log_weight = 0.0
        result.append(particle)
    return result


def _drop_unfinished(particles: Sequence[Particle]) -> None:
    """Give texts that ``max_tokens`` cut weight 0, unless all of them are cut."""
    cut = [particle for particle in particles if particle.loop.stop is StopReason.TOKEN_BUDGET]
    if any(particle not in cut and particle.log_weight > -math.inf for particle in particles):
        for particle in cut:
            particle.log_weight = -math.inf
