"""A given text under a constraint: each token's probability before and after the mask.

The text is not generated but read (teacher forcing): the model scores the tokens that its tokenizer
writes for it after the prompt, and the end token, all in a few passes. Up to the first token that
the constraint refuses, a step is that of a run that takes the same token. After it the constraint
has no state, so that the model alone scores the rest.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile

from workbench.base.arguments import Count, checked
from workbench.base.errors import ModelError, VocabularyError
from workbench.base.visible_text import count_of
from workbench.constraint.protocol import Constraint
from workbench.constraint.unconstrained import Unconstrained
from workbench.decoding.candidates import TokenDistribution, milliseconds_since
from workbench.decoding.generate import GREEDY, same_tokens
from workbench.decoding.model import (
    ChatPrompts,
    LanguageModel,
    Logits,
    Prompt,
    Session,
    context_of,
)
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import Step, perplexity
from workbench.vocabulary.vocabulary import TokenId

#: Positions that are scored in one pass: the logits of one take V numbers.
_AT_ONCE = 32


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The tokens of a text, each as a step with its mask.

    The refused token's step has the mask that forbids it: ``masked_logprob`` −inf and
    ``masked_rank`` 0. The masks after it allow all tokens.
    """

    steps: tuple[Step, ...]
    #: The index of the first token that the constraint refuses, the end token included; or None.
    refused: int | None
    #: Whether the constraint accepts the whole text.
    accepted: bool

    def __repr__(self) -> str:
        verdict = "accepted" if self.accepted else "not complete"
        if self.refused is not None:
            verdict = f"token {self.refused + 1} refused"
        return f"Reading({count_of(len(self.steps), 'token')}, {verdict})"

    @property
    def perplexity(self) -> float:
        """The model's perplexity of the text without the end token; nan for no tokens."""
        return perplexity(step.logprob for step in self.steps if not step.is_end)


@checked
def read_text(
    model: LanguageModel,
    constraint: Constraint,
    prompt: Prompt,
    text: str,
    sampling: Sampling = GREEDY,
    *,
    top: Count = 10,
    stages: bool = False,
    session: Session | None = None,
) -> Reading:
    """Score each token of a text before and after the mask.

    ``top``      how many candidates a step records, before and after the mask.
    ``stages``   whether a step records the probabilities after every stage of ``sampling``.
    ``session``  a model session to continue.

    Raises: VocabularyError if the constraint was compiled for another vocabulary, or the model's
            tokens cannot write the text; ModelError for more tokens than the model reads;
            LimitError.
    """
    same_tokens(model.vocabulary, constraint.vocabulary)
    context, token_ids = tokens_after(model, prompt, text)
    session = model.session() if session is None else session
    return read_tokens(session, constraint, context, token_ids, sampling, top=top, stages=stages)


def read_tokens(
    session: Session,
    constraint: Constraint,
    context: Sequence[TokenId],
    token_ids: Sequence[TokenId],
    sampling: Sampling,
    *,
    top: int,
    stages: bool,
) -> Reading:
    """``read_text`` for tokens of the constraint's vocabulary after those of a prompt."""
    end = constraint.vocabulary.end
    whole = [*token_ids] if end is None else [*token_ids, end]
    state, refused = constraint.initial, None
    free = Unconstrained(constraint.vocabulary).mask(0)
    steps: list[Step] = []
    for index, (row, model_ms) in enumerate(_score(session, context, whole)):
        if refused is not None and whole[index] == end:
            break  # the model alone may end a text anywhere
        started = time.perf_counter()
        mask = constraint.mask(state) if refused is None else free
        mask_ms = milliseconds_since(started)
        scored = TokenDistribution.of(constraint.vocabulary, state, (mask, mask_ms), row, model_ms)
        token_id, read = whole[index], [*context, *whole[:index]]
        after = scored.stages(sampling, read) if stages and len(mask) else ()
        step = scored.taken(token_id, index, top, 0.0, forward=model_ms > 0, stages=after)
        if token_id in mask:
            if refused is None and token_id != end:
                state = constraint.advance(state, token_id)
        elif refused is None:
            refused = index
            step = replace(step, masked_logprob=-math.inf, masked_rank=0)
        steps.append(step)
    accepted = refused is None and (end is not None or constraint.is_final(state))
    return Reading(tuple(steps), refused, accepted)


def tokens_after(
    model: LanguageModel, prompt: Prompt, text: str
) -> tuple[list[TokenId], list[TokenId]]:
    """The tokens of a prompt, and those of a text after it.

    A token never crosses the end of the prompt: where the tokenizer would write one, the text is
    tokenized without the prompt.

    Raises: VocabularyError if these tokens do not write the text; ModelError as ``context_of``, and
            if prompt and text are longer than the model reads.
    """
    context = context_of(model, prompt)
    ids: list[TokenId] | None = None
    if isinstance(prompt, str) and text:
        chat = isinstance(model, ChatPrompts)
        whole = model.encode(prompt, text) if chat else model.encode(prompt + text)  # type: ignore[call-arg]
        if whole[: len(context)] == context:
            ids = whole[len(context) :]
    if ids is None:
        base = model.model if isinstance(model, ChatPrompts) else model
        ids = base.encode(text) if text else []
        spelled = model.vocabulary.tokens
        ids = [*dropwhile(lambda token: spelled[token] is None, ids)]  # a start token
    if model.vocabulary.decode(ids) != text.encode("utf-8", "replace"):
        raise VocabularyError(
            "the tokens of this model cannot write this text",
            "leave out special tokens, or choose another model",
        )
    longest: int | None = getattr(model, "context_length", None)
    if longest is not None and len(context) + len(ids) > longest:
        tokens = count_of(len(context) + len(ids), "token")
        raise ModelError(
            f"prompt and text have {tokens}; this model reads {longest:,}",
            "shorten one of them, or choose a model with a longer context",
        )
    return context, ids


def _score(
    session: Session, context: Sequence[TokenId], token_ids: Sequence[TokenId]
) -> Iterator[tuple[Logits, float]]:
    """The logits before each token; the first of a pass has the milliseconds of the pass.

    Raises: ModelError.
    """
    for start in range(0, len(token_ids), _AT_ONCE):
        size = min(_AT_ONCE, len(token_ids) - start)
        started = time.perf_counter()
        rows = session.score([*context, *token_ids[: start + size - 1]], size)
        ms = milliseconds_since(started)
        for number, row in enumerate(rows):
            yield row, 0.0 if number else ms
