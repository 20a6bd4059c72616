"""LanguageModel: token ids → logits; what every model of this project answers to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: One number a token, before softmax.
Logits = npt.NDArray[np.float32]


class Session(Protocol):
    """One conversation with a model: a cache that is cropped by itself."""

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """The logits after the whole sequence ``token_ids`` (not empty).

        What this sequence shares with that of the call before is not computed
        again; so rewinding and forking are just calls with another sequence.
        Shape: (V,) float32; models that pad their output give further rows, which are no tokens.
        """
        ...


@runtime_checkable
class LanguageModel(Protocol):
    """A causal language model over a vocabulary."""

    @property
    def name(self) -> str: ...

    @property
    def vocabulary(self) -> Vocabulary: ...

    def encode(self, text: str) -> list[TokenId]:
        """The model's own tokens of a prompt, never empty (an empty prompt is the end token)."""
        ...

    def session(self) -> Session:
        """A new conversation, with an empty cache."""
        ...
