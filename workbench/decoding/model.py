"""LanguageModel: token ids → logits; what every model of this project answers to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from workbench.errors import ModelError
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: One number a token, before softmax.
Logits = npt.NDArray[np.float32]

#: What a model reads first: text, or its own tokens.
Prompt = str | Sequence[TokenId]


class Session(Protocol):
    """One conversation with a model: a cache that is cropped by itself."""

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """The logits after the whole sequence ``token_ids`` (not empty).

        What this sequence shares with that of the call before is not computed
        again; so rewinding and forking are just calls with another sequence.
        Shape: (V,) float32; models that pad their output give further rows, which are no tokens.
        """
        ...

    def judge(self, token_ids: Sequence[TokenId], last: int) -> Logits:
        """The logits after each of the ``last`` longest beginnings of ``token_ids``, in one pass.

        Row i is what ``logits(token_ids[: n - last + 1 + i])`` says, up to rounding: a model
        sums other numbers of rows in another order.
        Shape: (last, V) float32; 1 <= last <= n.
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


@dataclass(frozen=True, slots=True)
class Forgetful:
    """A conversation with a model that works out every answer anew."""

    #: The model's logits after a sequence.
    answer: Callable[[Sequence[TokenId]], Logits]

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """As ``Session`` says. Raises: ModelError for no tokens."""
        if not token_ids:
            raise ModelError("expected at least one token", "an empty prompt is the end token")
        return self.answer(token_ids)

    def judge(self, token_ids: Sequence[TokenId], last: int) -> Logits:
        """As ``Session`` says."""
        return one_by_one(self.logits, token_ids, last)


def context_of(model: LanguageModel, prompt: Prompt) -> list[TokenId]:
    """The tokens of a prompt, never none."""
    ids = model.encode(prompt) if isinstance(prompt, str) else list(prompt)
    return ids or model.encode("")


def padded(logits: Logits, size: int) -> Logits:
    """At least ``size`` rows: tokens without one (added to the tokenizer alone) have no chance."""
    missing = size - len(logits)
    return logits if missing <= 0 else np.append(logits, np.full(missing, -np.inf, np.float32))


def one_by_one(
    logits: Callable[[Sequence[TokenId]], Logits], token_ids: Sequence[TokenId], last: int
) -> Logits:
    """``Session.judge`` for models that read nothing in parallel."""
    lengths = range(len(token_ids) - last + 1, len(token_ids) + 1)
    return np.stack([logits(token_ids[:length]) for length in lengths])
