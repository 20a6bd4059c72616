"""A model and prompts → its greedy completions, with no constraint at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from transformers import LlamaForCausalLM

from workbench.training.bpe import end_of
from workbench.training.corpus.document import Format


@dataclass(frozen=True, slots=True)
class Sample:
    """What the model makes of a prompt by itself."""

    format: str
    prompt: str
    text: str
    #: Whether the end token came within the budget.
    ended: bool


@torch.no_grad()
def complete(
    model: LlamaForCausalLM, tokenizer: Tokenizer, prompt: str, limit: int
) -> tuple[str, bool]:
    """The likeliest token again and again, and whether the end token came."""
    end = end_of(tokenizer)
    room = min(limit, model.config.max_position_embeddings - len(tokenizer.encode(prompt).ids))
    ids = torch.tensor([tokenizer.encode(prompt).ids])
    found: list[int] = []
    cache = None
    for _ in range(room):
        output = model(input_ids=ids, past_key_values=cache, use_cache=True)
        cache = output.past_key_values
        ids = output.logits[:, -1:].argmax(-1)
        token = int(ids.item())
        if token == end:
            return tokenizer.decode(found), True
        found.append(token)
    return tokenizer.decode(found), False


def samples(
    model: LlamaForCausalLM,
    tokenizer: Tokenizer,
    formats: Sequence[Format],
    *,
    limit: int,
    prompts: int,
) -> Iterator[Sample]:
    """Completions of at most ``limit`` tokens for the first few canonical prompts of each."""
    for form in formats:
        for prompt in form.prompts[:prompts]:
            yield Sample(form.name, prompt, *complete(model, tokenizer, prompt, limit))
