"""The training loop: settings, batches, network, optimizers, checkpoints; the tokenizer."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import LlamaConfig, LlamaForCausalLM

from lab.training.corpus.document import Document, Orderly
from lab.training.corpus.mixture import Mixture
from lab.training.tokenizer_training import end_of


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
            which the rate falls to 0.
    Raises: ValueError for impossible sizes.
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
    #: The step from which lists in documents are in order (``corpus.document.Orderly``).
    orderly: int = 1350
    #: Documents the tokenizer is trained on, and held-out documents of each format for the card.
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
        """The settings that determine the result, as plain values, for checkpoints and the card."""
        not_determining = {"out", "resume", "minutes", "checkpoint_minutes"}
        return {key: value for key, value in asdict(self).items() if key not in not_determining}


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


def encode(tokenizer: Tokenizer, document: Document) -> list[int]:
    """Prompt, text, end token. The prompt is encoded by itself, as it is in decoding."""
    prompt = tokenizer.encode(document.prompt).ids
    return [*prompt, *tokenizer.encode(document.text).ids, end_of(tokenizer)]


def row(tokenizer: Tokenizer, documents: Iterable[Document], length: int) -> list[int]:
    """Whole documents in sequence, the last one cut at the row's end."""
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


def network(shape: Shape, *, end: int) -> LlamaForCausalLM:
    """A fresh model; its weights come from torch's random number generator."""
    config = LlamaConfig(
        vocab_size=shape.tokens,
        hidden_size=shape.width,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=shape.context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=end,
        pad_token_id=end,
        attention_dropout=0.0,
    )
    return LlamaForCausalLM(config)


def parameters(model: torch.nn.Module) -> int:
    """The number of parameters, tied ones counted once."""
    return sum(p.numel() for p in model.parameters())


def optimizers(
    model: torch.nn.Module, settings: TrainSettings
) -> tuple[torch.optim.Optimizer, torch.optim.Optimizer]:
    """Muon for the layers' matrices (Jordan et al. 2024), AdamW for embeddings and norms."""
    if not hasattr(torch.optim, "Muon"):
        raise RuntimeError(f"training needs torch 2.9 or newer, this is {torch.__version__}")
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    rest = [p for n, p in model.named_parameters() if p.ndim != 2 or "embed" in n]
    muon = torch.optim.Muon(
        matrices, lr=settings.matrix_rate, weight_decay=0.05, momentum=0.95, nesterov=True
    )
    adam = torch.optim.AdamW(
        rest, lr=settings.vector_rate, betas=(0.9, 0.95), weight_decay=0.0, foreach=True
    )
    return muon, adam


NAME = "checkpoint.pt"


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """The full state of a run, so that a resumed run equals an unbroken one.

    The position in the data is the step, because every batch is a function of seed and step.
    """

    step: int
    seconds: float
    recipe: dict[str, Any]
    model: dict[str, torch.Tensor]
    optimizers: list[dict[str, Any]]
    generator: torch.Tensor


def write(out: Path, checkpoint: Checkpoint) -> Path:
    """Write the checkpoint atomically."""
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
    """Restore model, optimizers and torch's random generator."""
    model.load_state_dict(checkpoint.model)
    for optimizer, state in zip(optimizers, checkpoint.optimizers, strict=True):
        optimizer.load_state_dict(state)
    torch.set_rng_state(checkpoint.generator)


LOG = "losses.jsonl"
NORM = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One completed step.

    Unit:   ``loss`` in nats a token; ``tokens`` since the first step; ``seconds`` of
            training, those before a resume included.
    """

    step: int
    steps: int
    loss: float
    #: The fraction of the full rate used in this step.
    rate: float
    tokens: int
    seconds: float


def rate_at(step: int, settings: TrainSettings) -> float:
    """The fraction of the full rate at a step (from 0): warm-up, stable, decay."""
    falling = settings.decay * settings.steps
    warm = (step + 1) / max(settings.warmup, 1)
    return min(1.0, warm, (settings.steps - step) / falling if falling else 1.0)


def device() -> torch.device:
    """CUDA where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def loss_of(model: LlamaForCausalLM, ids: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy of each next token, in nats; bf16 inside, fp32 at the end."""
    with torch.autocast(ids.device.type, torch.bfloat16):
        logits = model(input_ids=ids[:, :-1], use_cache=False).logits
    flat = logits.float().view(-1, logits.shape[-1])
    return torch.nn.functional.cross_entropy(flat, ids[:, 1:].reshape(-1))


def set_rates(those: Sequence[torch.optim.Optimizer], full: Sequence[float], part: float) -> None:
    """Set every optimizer to this fraction of its full rate."""
    for optimizer, rate in zip(those, full, strict=True):
        for group in optimizer.param_groups:
            group["lr"] = rate * part


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A training run: settings, model, optimizers, first step, seconds spent before."""

    settings: TrainSettings
    model: LlamaForCausalLM
    optimizers: tuple[torch.optim.Optimizer, ...]
    first: int
    seconds: float


def begin(settings: TrainSettings, tokenizer: Tokenizer) -> Run:
    """A new run, or the run of the checkpoint."""
    torch.manual_seed(settings.seed)
    model = network(settings.shape, end=end_of(tokenizer))
    torch.nn.Module.to(model, device())
    both = optimizers(model, settings)
    if not settings.resume:
        return Run(settings, model, both, 0, 0.0)
    saved = read(settings.out)
    if saved.recipe["shape"] != settings.recipe()["shape"]:
        raise ValueError("the checkpoint is of a model of another shape")
    restore(saved, model, both)
    return Run(settings, model, both, saved.step, saved.seconds)


def save(run: Run, step: int, seconds: float) -> Path:
    """Write the checkpoint after ``step`` steps."""
    state = Checkpoint(
        step,
        seconds,
        json.loads(json.dumps(run.settings.recipe())),
        run.model.state_dict(),
        [optimizer.state_dict() for optimizer in run.optimizers],
        torch.get_rng_state(),
    )
    return write(run.settings.out, state)


def one_step(run: Run, ids: torch.Tensor, part: float) -> float:
    """Forward, backward, clip, step; returns the loss before the step."""
    settings = run.settings
    set_rates(run.optimizers, (settings.matrix_rate, settings.vector_rate), part)
    loss = loss_of(run.model, ids)
    torch.autograd.backward(loss)
    torch.nn.utils.clip_grad_norm_(run.model.parameters(), NORM)
    for optimizer in run.optimizers:
        optimizer.step()
        optimizer.zero_grad()
    return loss.item()


def steps(run: Run, tokenizer: Tokenizer, mixture: Mixture) -> Iterator[Progress]:
    """Run the steps; writes checkpoints regularly and at the end, and a log line for each step."""
    settings, shape = run.settings, run.settings.shape
    begun = saved = time.monotonic()
    run.model.train()
    with (settings.out / LOG).open("a", encoding="utf-8") as log:
        for step in range(run.first, settings.steps):
            ids = batch(tokenizer, mixture, settings, step).to(device())
            part = rate_at(step, settings)
            loss = one_step(run, ids, part)
            now = time.monotonic()
            seconds = run.seconds + now - begun
            done = Progress(
                step=step + 1,
                steps=settings.steps,
                loss=loss,
                rate=part,
                tokens=(step + 1) * settings.batch * shape.context,
                seconds=seconds,
            )
            log.write(json.dumps(asdict(done)) + "\n")
            log.flush()
            late = settings.minutes is not None and now - begun > 60 * settings.minutes
            if step + 1 == settings.steps or late or now - saved > 60 * settings.checkpoint_minutes:
                save(run, step + 1, seconds)
                saved = now
            yield done
            if late:
                return
