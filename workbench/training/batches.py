"""Documents → rows of token ids; row after row a function of seed and step alone."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import torch
from tokenizers import Tokenizer

from workbench.training.bpe import end_of
from workbench.training.corpus.document import Document, Orderly
from workbench.training.mixture import Mixture
from workbench.training.settings import TrainSettings


def encode(tokenizer: Tokenizer, document: Document) -> list[int]:
    """Prompt, text, end token. The prompt is encoded by itself, as it is in decoding."""
    prompt = tokenizer.encode(document.prompt).ids
    return [*prompt, *tokenizer.encode(document.text).ids, end_of(tokenizer)]


def row(tokenizer: Tokenizer, documents: Iterable[Document], length: int) -> list[int]:
    """Whole documents one after another, the last one cut at the row's end."""
    ids: list[int] = []
    for document in documents:
        ids += encode(tokenizer, document)
        if len(ids) >= length:
            break
    return ids[:length]


def batch(
    tokenizer: Tokenizer, mixture: Mixture, settings: TrainSettings, step: int
) -> torch.Tensor:
    """The ids of one step; from ``settings.orderly`` on, of orderly documents.

    Shape:  (rows, context + 1): inputs are all but the last column, targets all but the first.
    """
    generator = Orderly if step >= settings.orderly else Random
    length = settings.shape.context + 1
    found = []
    for number in range(settings.batch):
        rng = generator(f"train {settings.seed}/{step}/{number}")
        found.append(row(tokenizer, mixture.documents(rng), length))
    return torch.tensor(found, dtype=torch.int64)
