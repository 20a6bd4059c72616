"""A model and held-out documents → perplexity per token, format by format."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from transformers import LlamaForCausalLM

from workbench.training.batches import encode
from workbench.training.corpus.document import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """How well a model reads the held-out documents of one format.

    Unit:   perplexities per token; ``text`` counts the text and its end token, given the prompt,
            and ``whole`` the prompt as well (its first token apart, which nothing precedes).
    """

    format: str
    documents: int
    tokens: int
    text: float
    whole: float


def chunks(documents: Sequence[Document], size: int) -> Iterator[Sequence[Document]]:
    """Documents a few at a time."""
    for start in range(0, len(documents), size):
        yield documents[start : start + size]


@torch.no_grad()
def surprisals(
    model: LlamaForCausalLM, tokenizer: Tokenizer, documents: Sequence[Document]
) -> list[tuple[list[float], int]]:
    """For each document −log p of every token but the first, and how many of them are prompt.

    What does not fit into the model's context is left out.
    """
    context = model.config.max_position_embeddings
    ids = [encode(tokenizer, d)[: context + 1] for d in documents]
    width = max(map(len, ids))
    padded = torch.zeros((len(ids), width), dtype=torch.int64)
    for i, found in enumerate(ids):
        padded[i, : len(found)] = torch.tensor(found)
    padded = padded.to(model.device)
    logits = model(input_ids=padded[:, :-1], use_cache=False).logits.float()
    losses = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2), padded[:, 1:], reduction="none"
    ).cpu()
    return [
        (losses[i, : len(found) - 1].tolist(), len(tokenizer.encode(d.prompt).ids) - 1)
        for i, (found, d) in enumerate(zip(ids, documents, strict=True))
    ]


def perplexity(losses: Sequence[float]) -> float:
    """exp of the mean surprisal; 1 where there is none."""
    return math.exp(sum(losses) / max(len(losses), 1))


def measure(model: LlamaForCausalLM, tokenizer: Tokenizer, documents: Sequence[Document]) -> Figure:
    """The figure of one format's documents, those left out whose prompt fills the context."""
    model.train(False)
    room = model.config.max_position_embeddings
    # The longest last, so that rows of one batch are about equally long.
    fitting = [d for d in documents if len(tokenizer.encode(d.prompt).ids) <= room]
    by_length = sorted(fitting, key=lambda d: len(d.prompt) + len(d.text))
    whole: list[float] = []
    text: list[float] = []
    for some in chunks(by_length, 16):
        for losses, prompt in surprisals(model, tokenizer, some):
            whole += losses
            text += losses[prompt:]
    return Figure(
        format=documents[0].format,
        documents=len(fitting),
        tokens=len(text),
        text=perplexity(text),
        whole=perplexity(whole),
    )


def measure_all(
    model: LlamaForCausalLM, tokenizer: Tokenizer, documents: dict[str, tuple[Document, ...]]
) -> Iterator[Figure]:
    """One figure a format, as they come."""
    for found in documents.values():
        yield measure(model, tokenizer, found)
