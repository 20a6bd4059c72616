"""Measures, exports and documents a trained model; training as a whole, with its progress."""

from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import DynamicCache, GenerationConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils import logging

from lab.training.corpus.document import Document, Format
from lab.training.corpus.mixture import FORMATS
from lab.training.loop import (
    TrainSettings,
    encode,
)
from lab.training.tokenizer_training import END, end_of
from workbench.base.text_tables import format_table
from workbench.decoding.checkpoint import cache_argument


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """How well a model reads the held-out documents of one format.

    Unit:   perplexities per token; ``text`` counts the text and its end token, given the prompt,
            and ``whole`` the prompt as well, except its first token, which has no context.
    """

    format: str
    documents: int
    tokens: int
    text: float
    whole: float


def chunks(documents: Sequence[Document], size: int) -> Iterator[Sequence[Document]]:
    """Consecutive groups of at most ``size`` documents."""
    for start in range(0, len(documents), size):
        yield documents[start : start + size]


@torch.no_grad()
def surprisals(
    model: LlamaForCausalLM, tokenizer: Tokenizer, documents: Sequence[Document]
) -> list[tuple[list[float], int]]:
    """For each document −log p of every token but the first, and the number that are prompt.

    Tokens beyond the model's context are left out.
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
    """exp of the mean surprisal; 1 for no tokens."""
    return math.exp(sum(losses) / max(len(losses), 1))


def measure(model: LlamaForCausalLM, tokenizer: Tokenizer, documents: Sequence[Document]) -> Figure:
    """The figure of one format's documents, without those whose prompt fills the context."""
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
    """One figure for each format, in turn."""
    for found in documents.values():
        yield measure(model, tokenizer, found)


@dataclass(frozen=True, slots=True)
class Sample:
    """The model's completion of a prompt, without a constraint."""

    format: str
    prompt: str
    text: str
    #: Whether the end token was generated within the budget.
    ended: bool


@torch.no_grad()
def complete(
    model: LlamaForCausalLM, tokenizer: Tokenizer, prompt: str, limit: int
) -> tuple[str, bool]:
    """The greedy completion, and whether it ended with the end token."""
    end = end_of(tokenizer)
    room = min(limit, model.config.max_position_embeddings - len(tokenizer.encode(prompt).ids))
    ids = torch.tensor([tokenizer.encode(prompt).ids])
    found: list[int] = []
    cache = {cache_argument(model): DynamicCache(config=model.config)}
    for _ in range(room):
        output = model(input_ids=ids, use_cache=True, **cache)
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


FILES = (
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
)


@contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """A temporary folder whose files are moved into ``folder`` when all are written."""
    fresh = folder.with_name(folder.name + ".part")
    fresh.mkdir(parents=True, exist_ok=True)
    yield fresh
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(fresh.iterdir()):
        path.chmod(0o644)
        os.replace(path, folder / path.name)
    fresh.rmdir()


def export(model: LlamaForCausalLM, tokenizer: Tokenizer, folder: Path) -> None:
    """Configuration, weights in bf16 and tokenizer, written into ``folder``."""
    end = end_of(tokenizer)
    logging.disable_progress_bar()
    half = copy.deepcopy(model)
    torch.nn.Module.to(half, device="cpu", dtype=torch.bfloat16)
    half.generation_config = GenerationConfig(
        eos_token_id=end, pad_token_id=end, do_sample=False, max_new_tokens=256
    )
    words = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=END,
        clean_up_tokenization_spaces=False,
        model_max_length=model.config.max_position_embeddings,
    )
    with whole(folder) as fresh:
        half.save_pretrained(fresh)
        words.save_pretrained(fresh)
        # the original file of the tokenizer, not the wrapper's version of it
        tokenizer.save(str(fresh / "tokenizer.json"))


def load(folder: Path) -> tuple[LlamaForCausalLM, Tokenizer]:
    """An exported model in fp32, and its tokenizer."""
    model = LlamaForCausalLM.from_pretrained(
        folder, dtype=torch.float32, local_files_only=True, use_safetensors=True
    )
    model.train(False)
    return model, Tokenizer.from_file(str(folder / "tokenizer.json"))


def size(folder: Path) -> int:
    """Bytes of the weights."""
    return (folder / "model.safetensors").stat().st_size


CARD = "README.md"
FIGURES = "figures.json"
FRONT = """---
license: apache-2.0
language: [en]
library_name: transformers
pipeline_tag: text-generation
datasets: [openai/gsm8k]
---
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The contents of a card.

    Unit:   ``seconds`` of training; ``weights`` in bytes; ``losses`` as (step, mean nats a token).
    """

    settings: TrainSettings
    parameters: int
    weights: int
    step: int
    seconds: float
    device: str
    losses: tuple[tuple[int, float], ...]
    figures: tuple[Figure, ...]
    samples: tuple[Sample, ...]
    #: Further remarks on the run, as whole sentences.
    note: str = ""


def mean_losses(log: Path, every: int) -> tuple[tuple[int, float], ...]:
    """The log's losses averaged over intervals of steps; of a repeated step the last counts."""
    found: dict[int, float] = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found[row["step"]] = row["loss"]
    last = max(found)
    stretches = [range(start + 1, min(start + every, last) + 1) for start in range(0, last, every)]
    return tuple(
        (those[-1], sum(found[s] for s in those if s in found) / len(those)) for those in stretches
    )


def introduction(facts: Facts) -> str:
    """The section on the model and its purpose."""
    shape = facts.settings.shape
    return f"""# The workbench's embedded model

A small causal language model of Llama's architecture, trained from random weights by this project,
so that constrained decoding can be watched offline. It completes the prompts it was trained on
(JSON, XML, small C programs, dates, addresses, sums, word problems …) in their format. It knows
very little of the world and is no assistant; on problems as hard as GSM8K's its answers look right
and are not.

* {facts.parameters:,} parameters: {shape.layers} layers, width {shape.width}, {shape.heads} heads,
  inner width {shape.inner}, context {shape.context}, embeddings tied;
  {facts.weights / 1e6:.1f} MB of bf16 safetensors
* byte-level BPE of {shape.tokens:,} tokens: all 256 single bytes, one end token `<|end|>` (also the
  padding; there is no beginning token), digits one by one, runs of punctuation kept together
  (`":`, `",`, `{{"`, `"]`, `"}}`, `": "`)
"""


def training(facts: Facts) -> str:
    """The section on the training and its repetition."""
    settings = facts.settings
    tokens = facts.step * settings.batch * settings.shape.context
    planned = "" if facts.step == settings.steps else f" of {settings.steps:,} planned"
    rows = [(s, f"{v:.3f}") for s, v in facts.losses]
    losses = format_table([("step", "mean loss"), *rows], "markdown")
    return f"""## Training

{facts.step:,} steps{planned} of {settings.batch} × {settings.shape.context} tokens,
{tokens / 1e6:.1f} million tokens in all, in {facts.seconds / 60:.0f} minutes on {facts.device};
bf16 autocast; Muon for the layers' matrices (rate {settings.matrix_rate}), AdamW for embeddings and
norms (rate {settings.vector_rate}); warm-up {settings.warmup} steps, stable, then
a linear decay to 0 over the last {settings.decay:.0%}; gradients clipped at norm 1; seed
{settings.seed}. Losses are nats a token over all tokens, prompts included. {facts.note}

{losses}

To repeat it (`--resume` continues from the last checkpoint):

```sh
python -m lab train --out OUT --steps {settings.steps} --seed {settings.seed}
```

From step {settings.orderly:,} on, what a document lists (tags, hobbies, errands …) comes in one
fixed order, which teaches a small model not to name a thing twice, and code fences are seldom
closed. Every batch is a function of seed and step, so a resumed run equals an unbroken one; the
same machine, threads and library versions give the same losses.
"""


def recipe() -> str:
    """The section on the data."""
    total = sum(f.share for f in FORMATS)
    rows = [(f.name, f"{100 * f.share / total:.1f} %") for f in FORMATS]
    return f"""## Data

Documents are `prompt`, `text`, end token; whole documents are packed into rows. All are made from
a seed by `lab/training/corpus/`; the word problems are those of GSM8K's training split
(Cobbe et al. 2021, MIT licence), as prose and as JSON made from its annotations. Persons are
invented; telephone numbers and hosts are from the ranges reserved for fiction and examples. Shares
are of all characters:

{format_table([("format", "share"), *rows], "markdown")}
"""


def measurements(facts: Facts) -> str:
    """The section on perplexities by format."""
    rows = [(f.format, f.documents, f"{f.text:.2f}", f"{f.whole:.2f}") for f in facts.figures]
    return f"""## Perplexity per token on held-out documents

Generated formats: documents of another seed. GSM8K: test questions, never trained on. *Text* counts
the text and its end token given the prompt, *whole* the prompt as well. What is random by nature
(identifiers, telephone numbers, licence plates) cannot be predicted, and should not be. The short
formats have few different documents (colours, sums, facts), so that many of these were seen in
training; the UUIDs are 48 in all.

{format_table([("format", "documents", "text", "whole"), *rows], "markdown")}
"""


def examples(facts: Facts) -> str:
    """The section of sample completions, one for each format."""
    shown = []
    for sample in facts.samples:
        rest = "" if sample.ended else " …"
        shown.append(f"~~~text\n{sample.prompt}▸{sample.text}{rest}\n~~~\n")
    return f"""## Samples

Greedy completions without a constraint; ▸ ends the prompt, and … marks a sample without an end
token in {facts.settings.sample} tokens.

{"".join(shown)}"""


LICENCES = """## Licences

Weights, tokenizer and the documents made by this project: Apache-2.0. GSM8K: MIT, © 2021 OpenAI
(`openai/grade-school-math`); its text is in `lab/training/data/`.
"""


def card(facts: Facts) -> str:
    """The whole card."""
    parts = (introduction, training, measurements)
    sections = [*(part(facts) for part in parts), recipe(), LICENCES, examples(facts)]
    return FRONT + "\n".join(sections)


def write(facts: Facts, folder: Path) -> None:
    """The card as README.md and its numbers as figures.json."""
    (folder / CARD).write_text(card(facts), encoding="utf-8")
    numbers: dict[str, Any] = {
        "recipe": facts.settings.recipe(),
        "step": facts.step,
        "seconds": round(facts.seconds, 1),
        "parameters": facts.parameters,
        "losses": facts.losses,
        "figures": [asdict(figure) for figure in facts.figures],
    }
    (folder / FIGURES).write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
