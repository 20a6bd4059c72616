"""Retokenization: a text and a model come in, out comes the spelling the model prefers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.decoding.model import LanguageModel, Prompt, Session, context_of, padded
from workbench.decoding.sampling import log_softmax
from workbench.decoding.trace import perplexity
from workbench.errors import VocabularyError
from workbench.vocabulary.vocabulary import TokenId


def retokenized(
    model: LanguageModel,
    prompt: Prompt,
    text: bytes | str,
    session: Session | None = None,
) -> list[TokenId]:
    """The model's own spelling of a text after a prompt: its likeliest token that fits, each time.

    Cost:   a forward pass a token.
    Raises: VocabularyError where the tokens cannot spell the text; ModelError.
    Source: Beurer-Kellner et al. 2024 (DOMINO), appendix B, Algorithm 3. Of equals the lowest id.
    """
    left = text.encode() if isinstance(text, str) else text
    session = model.session() if session is None else session
    context, found = context_of(model, prompt), list[TokenId]()
    while left:
        lengths = range(1, min(model.vocabulary.longest, len(left)) + 1)
        ids = sorted(i for n in lengths for i in model.vocabulary.ids_of.get(left[:n], ()))
        if not ids:
            raise VocabularyError(f"no token of {model.vocabulary.name} begins {left[:20]!r}")
        logits = session.logits([*context, *found])
        found.append(int(ids[int(np.argmax(padded(logits, len(model.vocabulary))[ids]))]))
        left = left[len(model.vocabulary.tokens[found[-1]] or b"") :]
    return found


def perplexity_of(
    model: LanguageModel,
    prompt: Prompt,
    token_ids: Sequence[TokenId],
    session: Session | None = None,
) -> float:
    """The perplexity of tokens after a prompt, under the model alone; nan of none.

    Cost:   one forward pass.
    Raises: ModelError.
    """
    if not token_ids:
        return perplexity(())
    context = context_of(model, prompt)
    session = model.session() if session is None else session
    rows = session.judge([*context, *token_ids[:-1]], len(token_ids))
    return perplexity(
        float(log_softmax(padded(row, len(model.vocabulary)))[token_id])
        for row, token_id in zip(rows, token_ids, strict=True)
    )


def naturalised(model: LanguageModel, prompt: Prompt, text: bytes | str) -> float:
    """The perplexity of a text in the spelling the model prefers.

    Beside that of the tokens it was generated in it tells how much of the surprise is the spelling
    and how much the text.

    Raises: VocabularyError, ModelError.
    Source: DOMINO, figure 2 (3).
    """
    session = model.session()
    token_ids = retokenized(model, prompt, text, session)
    return perplexity_of(model, prompt, token_ids, session)
