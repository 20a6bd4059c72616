"""The training loop: settings and a tokenizer in, a record for every step out."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import LlamaForCausalLM

from workbench.training import checkpoint
from workbench.training.batches import batch
from workbench.training.bpe import end_of
from workbench.training.mixture import Mixture
from workbench.training.network import network, optimizers
from workbench.training.settings import TrainSettings

LOG = "losses.jsonl"
NORM = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One step done.

    Unit:   ``loss`` in nats a token; ``tokens`` since the very first step; ``seconds`` of
            training, those before a resume included.
    """

    step: int
    steps: int
    loss: float
    #: The part of the full rate used in this step.
    rate: float
    tokens: int
    seconds: float


def rate_at(step: int, settings: TrainSettings) -> float:
    """Warm-up, stable, decay: the part of the full rate at this step, counted from 0."""
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
    """Every optimizer at this part of its full rate."""
    for optimizer, rate in zip(those, full, strict=True):
        for group in optimizer.param_groups:
            group["lr"] = rate * part


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A run under way: what is trained, on what, and where it began."""

    settings: TrainSettings
    model: LlamaForCausalLM
    optimizers: tuple[torch.optim.Optimizer, ...]
    first: int
    seconds: float


def begin(settings: TrainSettings, tokenizer: Tokenizer) -> Run:
    """A fresh run, or the one the checkpoint was taken from."""
    torch.manual_seed(settings.seed)
    model = network(settings.shape, end=end_of(tokenizer))
    torch.nn.Module.to(model, device())
    both = optimizers(model, settings)
    if not settings.resume:
        return Run(settings, model, both, 0, 0.0)
    saved = checkpoint.read(settings.out)
    if saved.recipe["shape"] != settings.recipe()["shape"]:
        raise ValueError("the checkpoint is of a model of another shape")
    checkpoint.restore(saved, model, both)
    return Run(settings, model, both, saved.step, saved.seconds)


def save(run: Run, step: int, seconds: float) -> Path:
    """The run as it stands after ``step`` steps."""
    state = checkpoint.Checkpoint(
        step,
        seconds,
        json.loads(json.dumps(run.settings.recipe())),
        run.model.state_dict(),
        [optimizer.state_dict() for optimizer in run.optimizers],
        torch.get_rng_state(),
    )
    return checkpoint.write(run.settings.out, state)


def one_step(run: Run, ids: torch.Tensor, part: float) -> float:
    """Forward, backward, clip, step; the loss before it."""
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
    """The run's steps; checkpoints on the way and at the end, and a line of log for each step."""
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
