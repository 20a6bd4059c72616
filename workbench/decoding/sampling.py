"""Sampling: how a token is drawn from logits and a mask."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.base.errors import WorkbenchError
from workbench.constraint.mask import TokenMask
from workbench.vocabulary.vocabulary import TokenId

#: Logits or log-probabilities of some tokens.
Scores = npt.NDArray[np.float32] | npt.NDArray[np.float64]


class SamplingError(WorkbenchError, ValueError):
    """A sampling setting is outside its range."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling settings, applied in this order: mask, temperature, top-k, top-p.

    Unit:   ``temperature`` divides the logits; 0 is greedy (ties go to the lowest id).
            ``top_p`` is a probability after mask, temperature and top-k.
    Raises: SamplingError for a setting outside its range.
    """

    #: From 0; 1 draws from the model's own probabilities.
    temperature: float = 0.0
    #: Draw from the k likeliest of the allowed tokens; None for all of them.
    top_k: int | None = None
    #: Draw from the fewest tokens that together have this probability; None for all of them.
    top_p: float | None = None
    #: The same seed gives the same tokens, step by step, also after a rewind.
    seed: int = 0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
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

        Top-k and top-p count only allowed tokens, so with them the mask is needed first.

        Shape:  ``logits`` (V,) or longer (rows that are no token).
        Raises: SamplingError if no token is allowed.
        """
        logits = logits[: allowed.size]
        times = None if self.temperature == 0 else rng.standard_exponential(len(logits))
        every = self.top_k is None and self.top_p is None
        if every and (winner := self._first(logits, times)) in allowed:
            return winner
        ids = allowed.ids
        if not len(ids):
            raise SamplingError("expected at least one allowed token to choose from")
        if times is None:
            return int(ids[self._first(logits[ids], None)])
        if not every:
            ids = ids[self._kept(self._weights(logits[ids]))]
        return int(ids[self._first(logits[ids], times[ids])])

    def shares(self, scores: Scores) -> npt.NDArray[np.float64]:
        """The probability of each allowed token to be drawn, from the logits of the allowed tokens.

        Shape: (A,) in and out.
        """
        if self.temperature == 0:
            weights = np.zeros(len(scores))
            weights[int(np.argmax(scores))] = 1.0
            return weights
        weights = self._weights(scores)
        if self.top_k is not None or self.top_p is not None:
            kept = self._kept(weights)
            weights, every = np.zeros(len(weights)), weights
            weights[kept] = every[kept]
        weights /= weights.sum()
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
        return int(few[np.argmax(self._weights(scores[few]) / times[few])])

    def _weights(self, scores: Scores) -> npt.NDArray[np.float64]:
        """Unnormalized probabilities; uniform if the model gives all of them 0."""
        best = scores.max()
        if best == -math.inf:
            return np.ones(len(scores))
        shifted: npt.NDArray[np.float64] = np.subtract(scores, best, dtype=np.float64)
        return np.exp(shifted / self.temperature)

    def _kept(self, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
        """The indices that top-k and top-p keep, likeliest first."""
        if self.top_k is not None:
            order = likeliest(weights, self.top_k)
            return order if self.top_p is None else _nucleus(weights, order, self.top_p)
        share = 1.0 if self.top_p is None else self.top_p
        few = likeliest(weights, _SORTED_FIRST)
        if weights[few].sum() >= share * weights.sum():
            return _nucleus(weights, few, share, weights.sum())
        return _nucleus(weights, likeliest(weights, len(weights)), share)


#: The likeliest tokens that are sorted first: they nearly always have top-p's probability.
_SORTED_FIRST = 1000


def _nucleus(
    weights: npt.NDArray[np.float64],
    order: npt.NDArray[np.intp],
    share: float,
    total: float | None = None,
) -> npt.NDArray[np.intp]:
    """The shortest prefix of ``order`` that has ``share`` of the total (by default its own)."""
    up_to = np.cumsum(weights[order])
    before = up_to - weights[order]
    wanted = share * (up_to[-1] if total is None else total)
    return order[: max(1, int(np.count_nonzero(before < wanted)))]


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


#: The scores of a group; the highest of each of n groups are n scores, so that all of the n highest
#: scores are at least as high as the lowest of these.
_GROUP = 64


def _highest(scores: Scores, count: int) -> np.floating[Any]:
    """The score that is the ``count``-th in order."""
    found: np.floating[Any] = np.partition(scores, len(scores) - count)[len(scores) - count]
    return found


def likeliest(scores: Scores, count: int) -> npt.NDArray[np.intp]:
    """The indices of the ``count`` highest scores, highest first; of equals the lowest first."""
    if count <= 0:
        return np.empty(0, np.intp)
    groups = len(scores) // _GROUP
    if count < groups:  # a third of the time of a partition of all scores
        highest = scores[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0)
        (few,) = (scores >= _highest(highest, count)).nonzero()
    elif count < len(scores):
        (few,) = (scores >= _highest(scores, count)).nonzero()
    else:
        few = np.arange(len(scores))
    return few[np.argsort(-scores[few], kind="stable")[:count]]
