"""A small world for strategies that aim at the model's own distribution, and its oracle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from tests.decoding.worlds import FiniteConstraint
from workbench.decoding.model import Logits, StatelessSession
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

VOCABULARY = Vocabulary((b"a", b"b", b"ab", b"c", b"<end>", b"<eot>"), end=(4, 5))

#: Valid texts; after "a" the model mostly writes what no valid text has.
TEXTS = (b"ab", b"abc", b"b", b"bb", b"ccc", b"a")


@dataclass(frozen=True, eq=False)
class HashedModel:
    """Logits that depend on the whole context, and a row that is no token."""

    seed: int = 0
    sharpness: float = 2.0
    vocabulary: Vocabulary = VOCABULARY
    name: str = "hashed"

    def encode(self, text: str) -> list[TokenId]:
        return [0]

    def session(self) -> StatelessSession:
        return StatelessSession(self.logits)

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        return _hashed(self.seed, self.sharpness, tuple(token_ids))


@cache
def _hashed(seed: int, sharpness: float, token_ids: tuple[TokenId, ...]) -> Logits:
    rng = np.random.default_rng((seed, *token_ids))
    found: Logits = rng.normal(0, sharpness, len(VOCABULARY) + 1).astype(np.float32)
    return found


class _Cached(FiniteConstraint):
    def __init__(self) -> None:
        super().__init__(VOCABULARY, TEXTS)
        self.mask = cache(super().mask)  # type: ignore[method-assign]


def constraint() -> FiniteConstraint:
    return _Cached()


def sequences(model: HashedModel, temperature: float = 1.0) -> dict[tuple[TokenId, ...], float]:
    """Every token sequence of every valid text with the model's probability of it and its end."""
    found: dict[tuple[TokenId, ...], float] = {}
    waiting: list[tuple[tuple[TokenId, ...], bytes, float]] = [((), b"", 1.0)]
    while waiting:
        ids, text, p = waiting.pop()
        scores = model.logits([0, *ids]).astype(float) / temperature
        # all end tokens are one event, to whose sum the temperature applies
        logits = model.logits([0, *ids]).astype(float)
        ends = math.log(math.exp(logits[4]) + math.exp(logits[5])) / temperature
        weights = np.exp(np.append(np.delete(scores, [4, 5]), ends))
        total = float(weights.sum())
        if text in TEXTS:
            found[ids] = p * math.exp(ends) / total
        for token_id, token in enumerate(VOCABULARY.tokens[:4]):
            longer = text + (token or b"")
            if any(each.startswith(longer) for each in TEXTS):
                step = math.exp(scores[token_id]) / total
                waiting.append(((*ids, token_id), longer, p * step))
    return found


def conditional(model: HashedModel, temperature: float = 1.0) -> dict[tuple[TokenId, ...], float]:
    """The model's probabilities of token sequences, given that the text is valid."""
    found = sequences(model, temperature)
    total = math.fsum(found.values())
    return {ids: p / total for ids, p in found.items()}


def total_variation(
    left: dict[tuple[TokenId, ...], float], right: dict[tuple[TokenId, ...], float]
) -> float:
    keys = left.keys() | right.keys()
    return math.fsum(abs(left.get(key, 0.0) - right.get(key, 0.0)) for key in keys) / 2
