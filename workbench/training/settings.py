"""What a training run is told: sizes, length, rates, seed, places."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The size of a model of Llama's architecture, embeddings tied."""

    width: int = 256
    layers: int = 6
    heads: int = 4
    inner: int = 704
    context: int = 512
    tokens: int = 6000


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSettings:
    """One training run.

    Unit:   ``batch`` counts rows of ``shape.context`` tokens; ``minutes`` is wall time, after
            which a run writes its checkpoint and stops; ``decay`` is the part of all steps in
            which the rate falls to nothing.
    Raises: ValueError for sizes that cannot be.
    """

    #: Where checkpoint, log, tokenizer and the model directory are written.
    out: Path
    steps: int = 1950
    batch: int = 16
    seed: int = 1
    resume: bool = False
    minutes: float | None = None
    checkpoint_minutes: float = 3.0
    matrix_rate: float = 0.02
    vector_rate: float = 0.004
    warmup: int = 60
    decay: float = 0.7
    #: The step from which what a document lists comes in order (``corpus.document.Orderly``).
    orderly: int = 1350
    #: Documents the tokenizer learns from, and documents a format the card measures.
    tokenizer_documents: int = 40_000
    held_out: int = 200
    #: The longest completion the card shows, in tokens.
    sample: int = 240
    shape: Shape = Shape()

    def __post_init__(self) -> None:
        if self.steps < 1 or self.batch < 1:
            raise ValueError(f"steps and batch must be at least 1, got {self.steps}, {self.batch}")
        if not 0 <= self.decay <= 1:
            raise ValueError(f"decay must be a part of all steps, from 0 to 1, got {self.decay}")
        if self.shape.width % self.shape.heads:
            raise ValueError(
                f"heads must divide the width, got {self.shape.heads} and {self.shape.width}"
            )

    def recipe(self) -> dict[str, Any]:
        """What the result depends on, as plain values: for checkpoints and the card."""
        place = {"out", "resume", "minutes", "checkpoint_minutes"}
        return {key: value for key, value in asdict(self).items() if key not in place}


def smoke(settings: TrainSettings) -> TrainSettings:
    """The same run, small enough for a test: a few steps of a tiny model."""
    shape = Shape(width=32, layers=1, heads=2, inner=64, context=64, tokens=400)
    return replace(
        settings,
        steps=min(settings.steps, 6),
        batch=2,
        warmup=2,
        tokenizer_documents=300,
        held_out=4,
        sample=3,
        shape=shape,
    )
