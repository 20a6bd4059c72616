"""Sampling: how a token is drawn from logits and a mask.

The stages of a draw and their order: ``workbench.decoding.stages``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.base.arguments import check_fields
from workbench.base.errors import ArgumentValueError
from workbench.constraint.masks import TokenMask
from workbench.decoding.model import Logits
from workbench.decoding.stages import (
    LogWeights,
    MinP,
    Scores,
    Stage,
    Temperature,
    TopK,
    TopP,
)
from workbench.vocabulary.vocabulary import TokenId


class SamplingError(ArgumentValueError):
    """A sampling setting is outside its range."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling settings, one for each stage, in the order of ``workbench.decoding.stages``.

    A setting that changes nothing has no stage. At temperature 0 only the repetition penalty
    changes the text: the likeliest allowed token is never removed.

    Unit:   ``temperature`` divides the logits; 0 is greedy (ties go to the lowest id).
            ``top_p`` is a probability after mask, temperature and top-k; ``min_p`` a fraction of
            the likeliest token's probability. ``repetition_penalty`` divides the positive logits
            of the tokens that the model has read, and multiplies the negative ones.
    Raises: SamplingError for a setting outside its range.
    Source: repetition penalty: Keskar et al. 2019; transformers,
            ``RepetitionPenaltyLogitsProcessor``, for prompt and text.
    """

    #: From 0; 1 draws from the model's own probabilities.
    temperature: float = 0.0
    #: Draw from the k likeliest of the allowed tokens and their equals; None for all of them.
    top_k: int | None = None
    #: Draw from the fewest tokens that together have this probability; None for all of them.
    top_p: float | None = None
    #: The same seed gives the same tokens, step by step, also after a rewind.
    seed: int = 0
    #: Draw from the tokens with this fraction of the likeliest one's probability; None for all.
    min_p: float | None = None
    #: Above 1 a token that was read becomes less likely, below 1 likelier; 1 changes nothing.
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 <= self.temperature <= sys.float_info.max:
            raise SamplingError(
                f"expected a temperature of 0 or more, not {self.temperature!r}",
                "0 always takes the likeliest token, 0.7 is a usual choice",
            )
        if self.top_k is not None and self.top_k < 1:
            raise SamplingError(
                f"expected top-k to be 1 or more, not {self.top_k!r}", "leave it out to keep all"
            )
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise SamplingError(
                f"expected top-p above 0 and up to 1, not {self.top_p!r}", "1 keeps all tokens"
            )
        if self.seed < 0:
            raise SamplingError(f"expected a seed of 0 or more, not {self.seed!r}")
        if self.min_p is not None and not 0 <= self.min_p <= 1:
            raise SamplingError(
                f"expected min-p between 0 and 1, not {self.min_p!r}", "0 keeps all tokens"
            )
        if not 0 < self.repetition_penalty <= sys.float_info.max:
            raise SamplingError(
                f"expected a repetition penalty above 0, not {self.repetition_penalty!r}",
                "use 1 for no penalty; 1.1 is a common value",
            )

    @property
    def filters(self) -> tuple[Stage, ...]:
        """The stages that remove unlikely tokens, in their order."""
        stages: tuple[Stage | None, ...] = (
            None if self.top_k is None else TopK(self.top_k),
            None if self.top_p is None or self.top_p == 1 else TopP(self.top_p),
            None if not self.min_p else MinP(self.min_p),
        )
        return tuple(stage for stage in stages if stage is not None)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages after the mask, in their order."""
        warm = () if self.temperature == 1 else (Temperature(self.temperature),)
        return (*warm, *self.filters)

    @property
    def penalizes(self) -> bool:
        """Whether there is a repetition penalty."""
        return self.repetition_penalty != 1

    @property
    def is_plain(self) -> bool:
        """Whether the mask decides alone, or with it the likeliest token of the model is taken."""
        return not self.penalizes and (self.temperature == 0 or not self.stages)

    def as_record(self) -> dict[str, float]:
        """The temperature, and the settings that change something, without the seed."""
        unset = asdict(Sampling(seed=self.seed))
        return {
            name: value
            for name, value in asdict(self).items()
            if name == "temperature" or value != unset[name]
        }

    @staticmethod
    def of(record: Mapping[str, Any], seed: int = 0) -> Sampling:
        """The sampling of ``as_record``'s result; other keys are ignored.

        Raises: SamplingError.
        """
        names = {each.name for each in fields(Sampling)} - {"seed"}
        return Sampling(
            **{name: value for name, value in record.items() if name in names}, seed=seed
        )

    def penalized(self, logits: Logits, read: Sequence[TokenId]) -> Logits:
        """The logits after the repetition penalty; ``read`` are the tokens of prompt and text."""
        if not self.penalizes or not len(read):
            return logits
        ids = np.unique(np.asarray(read, np.int64))
        logits, scores, penalty = logits.copy(), logits[ids], self.repetition_penalty
        logits[ids] = np.where(scores < 0, scores * penalty, scores / penalty)
        return logits

    def rng(self, index: int, attempt: int = 0) -> np.random.Generator:
        """The random numbers of step ``index``: a separate stream, so a rewind repeats them.

        ``attempt``  another stream for each text that is drawn for one seed.
        """
        key = (self.seed, index, attempt) if attempt else (self.seed, index)
        # the same stream as that of the tuple, whose numbers numpy converts one by one
        entropy = np.array(key, np.uint32) if max(key) < 1 << 32 else key
        return np.random.Generator(np.random.PCG64(entropy))

    def choose(self, logits: Scores, allowed: TokenMask, rng: np.random.Generator) -> TokenId:
        """Draw one of the tokens in ``allowed``.

        An exponential race: every token gets a random time, exponential with its probability as
        rate, and the first allowed token wins, which has its probability among the allowed ones.
        Two properties follow. A token that wins among all tokens wins wherever it is allowed, so a
        run differs from the unconstrained run of the same seed only where the mask forbids a token
        (DOMINO's interventions, at every temperature). And the mask is not needed if the winner is
        allowed (``OpportunisticMasking``). Inverse transform sampling (2.5 ms at V = 131k, the race
        1.0; equal at 6000) has neither, and each cumulative sum has the rounding errors of all
        terms before it: logits scored in another batch then drew another token once in 23,000.

        Top-k, top-p and min-p count only allowed tokens, so with them the mask is needed first.

        Shape:  ``logits`` (V,) or longer (rows that are no token), after the repetition penalty.
        Raises: SamplingError if no token is allowed.
        """
        logits = logits[: allowed.size]
        times = None if self.temperature == 0 else rng.standard_exponential(len(logits))
        filters = () if times is None else self.filters
        if not filters and (winner := self._first(logits, times)) in allowed:
            return winner
        ids = allowed.ids
        if not len(ids):
            raise SamplingError("expected at least one allowed token to choose from")
        if times is None:
            return int(ids[self._first(logits[ids], None)])
        if filters:
            ids = ids[self._filter(logits[ids]) > -np.inf]
        return int(ids[self._first(logits[ids], times[ids])])

    def shares(self, scores: Scores) -> npt.NDArray[np.float64]:
        """The probability of each allowed token to be drawn, from the logits of the allowed tokens.

        Shape: (A,) in and out; after the repetition penalty.
        """
        if self.temperature == 0:
            weights = np.zeros(len(scores))
            weights[int(np.argmax(scores))] = 1.0
            return weights
        weights = np.exp(self._filter(scores))
        weights /= weights.sum()
        return weights

    def _filter(self, scores: Scores) -> LogWeights:
        """Log-weights of the allowed tokens after all stages, from their logits."""
        weights = Temperature(self.temperature).scaled(scores)
        for stage in self.filters:
            weights = stage(weights)
        return weights

    def _first(self, scores: Scores, times: npt.NDArray[np.float64] | None) -> int:
        """The index of the winning token, the first of equals."""
        likeliest = int(np.argmax(scores))
        if times is None:
            return likeliest
        best = scores[likeliest]
        if best == -math.inf:
            return int(np.argmin(times))
        # a token wins only if its weight is at least its time divided by the likeliest token's
        # time: weights of other tokens are not computed; 1e-4 exceeds the rounding error
        least = math.log(max(float(times.min()), 1e-300) / max(float(times[likeliest]), 1e-300))
        bound = float(best) + self.temperature * least
        (few,) = (scores >= bound - 1e-4 * (1.0 + abs(bound))).nonzero()
        weights = np.exp(Temperature(self.temperature).scaled(scores[few]))
        return int(few[np.argmax(weights / times[few])])


def log_softmax(logits: Scores) -> npt.NDArray[np.float64]:
    """Log-probabilities in nats.

    Shape: (V,) in, (V,) float64 out; float32 loses small probabilities at V = 131k.
    """
    return logits.astype(np.float64) - log_sum(logits)


def log_sum(scores: Scores) -> float:
    """log Σ exp: the log-probability of all of these together; −inf for none.

    The terms are computed in the precision of ``scores``, their sum in float64: with float32 (a
    quarter of the time on a processor without AVX-512) the error is below 1e-6.
    """
    if not len(scores) or (best := scores.max()) == -math.inf:
        return -math.inf
    return float(best) + math.log(float(np.exp(scores - best).sum(dtype=np.float64)))
