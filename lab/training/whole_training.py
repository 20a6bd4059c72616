"""Trains, exports and measures a model, and writes its card; yields progress."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer

from lab.training import loop, tokenizer_training
from lab.training.card import Facts, export, load, mean_losses, measure_all, samples, size, write
from lab.training.corpus.mixture import FORMATS, held_out, mixture
from lab.training.loop import (
    LOG,
    Progress,
    TrainSettings,
    begin,
    device,
    network,
    parameters,
    steps,
)

TOKENIZER = "tokenizer.json"
#: The folder of the finished model inside ``settings.out``.
MODEL = "model"


def tokenizer_for(settings: TrainSettings) -> Tokenizer:
    """The tokenizer of the resumed run, or a new one, stored next to the checkpoint."""
    path = settings.out / TOKENIZER
    if settings.resume and path.is_file():
        return tokenizer_training.load(path)
    tokenizer = tokenizer_training.train_tokenizer(
        f"tokenizer {settings.seed}",
        tokens=settings.shape.tokens,
        documents=settings.tokenizer_documents,
    )
    tokenizer.save(str(path))
    return tokenizer


def publish(settings: TrainSettings, folder: Path, note: str = "") -> Facts:
    """Export the last checkpoint into ``folder``, measure the exported model, write its card."""
    saved = loop.read(settings.out)
    tokenizer = tokenizer_training.load(settings.out / TOKENIZER)
    trained = network(settings.shape, end=tokenizer_training.end_of(tokenizer))
    trained.load_state_dict(saved.model)
    export(trained, tokenizer, folder)
    model, tokenizer = load(folder)
    facts = Facts(
        settings=settings,
        parameters=parameters(model),
        weights=size(folder),
        step=saved.step,
        seconds=saved.seconds,
        device=f"{os.cpu_count()} CPU cores" if device().type == "cpu" else "a GPU",
        losses=mean_losses(settings.out / LOG, max(1, saved.step // 12)),
        figures=tuple(measure_all(model, tokenizer, held_out(settings.held_out))),
        note=note,
        samples=tuple(samples(model, tokenizer, FORMATS, limit=settings.sample, prompts=1)),
    )
    write(facts, folder)
    return facts


def train(settings: TrainSettings) -> Iterator[Progress]:
    """Train, yielding a record for each step, then export, measure and write the card.

    A generator: nothing happens before it is iterated. A run that ``minutes`` ends early also
    leaves a checkpoint and a model. The finished model directory is ``settings.out / MODEL``.

    Raises: ValueError for impossible settings; FileNotFoundError for a resume without checkpoint.
    """
    settings.out.mkdir(parents=True, exist_ok=True)
    if settings.resume:
        loop.read(settings.out)
    elif (log := settings.out / LOG).exists():
        log.unlink()
    tokenizer = tokenizer_for(settings)
    yield from steps(begin(settings, tokenizer), tokenizer, mixture())
    publish(settings, settings.out / MODEL)
