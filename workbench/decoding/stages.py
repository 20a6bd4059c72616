"""The stages of sampling: each maps the log-probabilities of tokens to log-probabilities.

Logits pass through them in this order: repetition penalty, mask, temperature, top-k, top-p, min-p.
That is the order of transformers, whose ``generate`` applies the repetition penalty, then the
processors of the caller (``LogitsProcessor``), then temperature, top-k, top-p and min-p. In vLLM
too the mask comes before the stages that remove unlikely tokens; llama.cpp applies it only if the
grammar forbids the first draw. The stages after the mask count allowed tokens alone: they keep at
least the likeliest of them, and no run ends because the mask forbids the whole nucleus.

Source: transformers, ``GenerationMixin._get_logits_processor``; vLLM, ``Sampler.forward`` (mask,
        penalty, temperature, min-p, top-k, top-p); llama.cpp, ``common_sampler_sample`` (penalty,
        top-k, top-p, min-p, temperature, first without the grammar; if the grammar forbids the
        drawn token, again after its mask).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

#: Logits or log-probabilities of some tokens.
Scores = npt.NDArray[np.float32] | npt.NDArray[np.float64]

#: Log-probabilities of tokens up to a constant; −inf for a token that is never drawn.
LogWeights = npt.NDArray[np.float64]


class Stage(Protocol):
    """A stage of sampling after the mask: log-probabilities of the allowed tokens, in and out.

    A stage may remove tokens (−inf), never the likeliest one.
    """

    @property
    def name(self) -> str:
        """The name in tables."""
        ...

    def __call__(self, weights: LogWeights) -> LogWeights:
        """The log-probabilities after the stage, up to a constant; ``weights`` is not changed."""
        ...


@dataclass(frozen=True, slots=True)
class Temperature:
    """Divides log-probabilities by ``value``; 0 keeps the likeliest token, of ties the first."""

    value: float
    name: ClassVar[str] = "temperature"

    def __call__(self, weights: LogWeights) -> LogWeights:
        """Implements ``Stage``."""
        if self.value:
            return self.scaled(weights)
        first = np.full(len(weights), -np.inf)
        first[int(np.argmax(weights))] = 0.0
        return first

    def scaled(self, scores: Scores) -> LogWeights:
        """Log-weights from logits: 0 for the likeliest; all 0 if the model gives none of them any.

        ``value`` must not be 0.
        """
        best = scores.max()
        if best == -math.inf:
            return np.zeros(len(scores))
        shifted: LogWeights = np.subtract(scores, best, dtype=np.float64)
        return shifted / self.value


@dataclass(frozen=True, slots=True)
class TopK:
    """Keeps the ``k`` likeliest tokens, and those as likely as the last of them.

    Source: transformers, ``TopKLogitsWarper``; vLLM keeps equals too, llama.cpp does not.
    """

    k: int
    name: ClassVar[str] = "top-k"

    def __call__(self, weights: LogWeights) -> LogWeights:
        """Implements ``Stage``."""
        if self.k >= len(weights):
            return weights
        least = weights[likeliest(weights, self.k)[-1]]
        return np.where(weights < least, -np.inf, weights)


@dataclass(frozen=True, slots=True)
class TopP:
    """Keeps the nucleus: the fewest tokens that together have probability ``p``.

    Ties go to the lowest id.

    Source: Holtzman et al. 2020; transformers, ``TopPLogitsWarper``.
    """

    p: float
    name: ClassVar[str] = "top-p"

    def __call__(self, weights: LogWeights) -> LogWeights:
        """Implements ``Stage``."""
        shares = np.exp(weights - weights.max())
        order, wanted = likeliest(shares, _SORTED_FIRST), self.p * shares.sum()
        if shares[order].sum() < wanted:
            order = likeliest(shares, len(shares))
        before = np.cumsum(shares[order]) - shares[order]
        kept = order[: max(1, int(np.count_nonzero(before < wanted)))]
        nucleus = np.full(len(weights), -np.inf)
        nucleus[kept] = weights[kept]
        return nucleus


#: How many of the likeliest tokens are sorted first; they nearly always reach top-p's probability.
_SORTED_FIRST = 1000


@dataclass(frozen=True, slots=True)
class MinP:
    """Keeps the tokens that are at least ``p`` times as likely as the likeliest one.

    Source: Nguyen et al. 2024; transformers, ``MinPLogitsWarper``.
    """

    p: float
    name: ClassVar[str] = "min-p"

    def __call__(self, weights: LogWeights) -> LogWeights:
        """Implements ``Stage``."""
        return np.where(np.exp(weights - weights.max()) < self.p, -np.inf, weights)


# -- the likeliest tokens ------------------------------------------------------------------------

#: The scores of a group; the highest of each of n groups are n scores, so that all of the n highest
#: scores are at least as high as the lowest of these.
_GROUP = 64


def _highest(scores: Scores, count: int) -> np.floating[Any]:
    """The ``count``-th highest score."""
    highest: np.floating[Any] = np.partition(scores, len(scores) - count)[len(scores) - count]
    return highest


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
