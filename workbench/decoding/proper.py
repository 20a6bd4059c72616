"""Whether a model's tokenizer would have written a text so: tokens in, the first that differs out.

A run picks tokens one by one and may spell a word as the tokenizer never would: "lo·vely" for
"love·ly". A model has hardly seen such spellings, so what follows is judged worse than the text
deserves. (Tran-Thien 2024 calls what the tokenizer writes proper token sequences.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.decoding.model import LanguageModel
from workbench.decoding.sessions import common
from workbench.vocabulary.vocabulary import TokenId

#: Tokens told of what the tokenizer would have written.
_TOLD = 6


@dataclass(frozen=True, slots=True)
class Improper:
    """Where a text is spelt otherwise than by the tokenizer."""

    #: The first token that differs, counted from 0 after the prompt.
    index: int
    #: What the tokenizer would have written from there on, the first few.
    proper: tuple[TokenId, ...]
    #: Whether it would have joined the end of the prompt with the text.
    at_prompt: bool


def improper(model: LanguageModel, prompt: str, taken: Sequence[TokenId]) -> Improper | None:
    """The first difference from the tokenizer's own spelling; None where there is none.

    The prompt is read with it, because tokens may join over its end. Text that is not UTF-8
    cannot be compared and is not spoken of.
    """
    ids = [token_id for token_id in taken if token_id != model.vocabulary.end]
    try:
        text = model.vocabulary.decode(ids).decode("utf-8")
    except UnicodeDecodeError:
        return None
    before = model.encode(prompt) if prompt else []
    whole = model.encode(prompt + text) if text else before
    here = common([*before, *ids], whole)
    if here >= len(before) + len(ids):
        return None
    index = max(0, here - len(before))
    return Improper(index, tuple(whole[here : here + _TOLD]), here < len(before))
