"""ScoredModel: token sequences with their probabilities → a language model that writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.decoding.model import Forgetful, Logits
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


@dataclass(frozen=True, eq=False)
class ScoredModel:
    """A model that writes some sequences and no others; each ends with the end token.

    After a beginning that none of them has it ends at once. Prompts are not read. The scores
    need not add up to 1.
    """

    vocabulary: Vocabulary
    scores: Mapping[tuple[TokenId, ...], float]
    name: str = "scored"

    def encode(self, text: str) -> list[TokenId]:
        """One token, whatever the prompt."""
        return [0]

    def session(self) -> Forgetful:
        return Forgetful(self.logits)

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """The logarithms of what goes on so, summed over the sequences (V,)."""
        taken = tuple(token_ids[1:])
        end = self.vocabulary.end
        assert end is not None, "its sequences end"
        mass = np.zeros(len(self.vocabulary))
        for ids, score in self.scores.items():
            if ids[: len(taken)] == taken:
                mass[ids[len(taken)] if len(ids) > len(taken) else end] += score
        if not mass.any():
            mass[end] = 1
        with np.errstate(divide="ignore"):
            logits: Logits = np.log(mass / mass.sum()).astype(np.float32)
        return logits
