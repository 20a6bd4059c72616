"""A run's state on disk: written whole or not at all, read without pickled code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

NAME = "checkpoint.pt"


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """Everything a run needs to go on as if it had never stopped.

    The data's place is the step itself, since every batch is a function of seed and step.
    """

    step: int
    seconds: float
    recipe: dict[str, Any]
    model: dict[str, torch.Tensor]
    optimizers: list[dict[str, Any]]
    generator: torch.Tensor


def write(out: Path, checkpoint: Checkpoint) -> Path:
    """The checkpoint, put in its place in one move."""
    path = out / NAME
    state = {name: getattr(checkpoint, name) for name in Checkpoint.__slots__}
    torch.save(state, path.with_suffix(".part"))
    os.replace(path.with_suffix(".part"), path)
    return path


def read(out: Path) -> Checkpoint:
    """The checkpoint of an earlier run."""
    path = out / NAME
    if not path.is_file():
        raise FileNotFoundError(f"no checkpoint to resume from at {path}")
    return Checkpoint(**torch.load(path, map_location="cpu", weights_only=True))


def restore(
    checkpoint: Checkpoint, model: torch.nn.Module, optimizers: Sequence[torch.optim.Optimizer]
) -> None:
    """Model, optimizers and torch's random numbers as they were."""
    model.load_state_dict(checkpoint.model)
    for optimizer, state in zip(optimizers, checkpoint.optimizers, strict=True):
        optimizer.load_state_dict(state)
    torch.set_rng_state(checkpoint.generator)
