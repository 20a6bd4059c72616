"""Settings, losses and figures → the model card and its numbers as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workbench.training.evaluate import Figure
from workbench.training.mixture import FORMATS
from workbench.training.samples import Sample
from workbench.training.settings import TrainSettings

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
    """What a card says of one run.

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
    #: What else is to be said of how this run went, as whole sentences.
    note: str = ""


def mean_losses(log: Path, every: int) -> tuple[tuple[int, float], ...]:
    """The log's losses averaged over stretches of steps; of a step done twice the last counts."""
    found: dict[int, float] = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found[row["step"]] = row["loss"]
    last = max(found)
    stretches = [range(start + 1, min(start + every, last) + 1) for start in range(0, last, every)]
    return tuple(
        (those[-1], sum(found[s] for s in those if s in found) / len(those)) for those in stretches
    )


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table, the first column left and the others right."""
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines)


def introduction(facts: Facts) -> str:
    """What the model is and is for."""
    shape = facts.settings.shape
    return f"""# The workbench's embedded model

A small causal language model of Llama's architecture, trained from nothing by this project, so that
constrained decoding can be watched offline. It completes the prompts it was trained on (JSON, XML,
small C programs, dates, addresses, sums, word problems …) in their format. It knows very little of
the world and is no assistant; on problems as hard as GSM8K's its answers look right and are not.

* {facts.parameters:,} parameters: {shape.layers} layers, width {shape.width}, {shape.heads} heads,
  inner width {shape.inner}, context {shape.context}, embeddings tied;
  {facts.weights / 1e6:.1f} MB of bf16 safetensors
* byte-level BPE of {shape.tokens:,} tokens: all 256 single bytes, one end token `<|end|>` (also the
  padding; there is no beginning token), digits one by one, runs of punctuation kept together
  (`":`, `",`, `{{"`, `"]`, `"}}`, `": "`)
"""


def training(facts: Facts) -> str:
    """How it was trained, and how to do it again."""
    settings = facts.settings
    tokens = facts.step * settings.batch * settings.shape.context
    planned = "" if facts.step == settings.steps else f" of {settings.steps:,} planned"
    losses = table(("step", "mean loss"), [(s, f"{v:.3f}") for s, v in facts.losses])
    return f"""## Training

{facts.step:,} steps{planned} of {settings.batch} × {settings.shape.context} tokens,
{tokens / 1e6:.1f} million tokens in all, in {facts.seconds / 60:.0f} minutes on {facts.device};
bf16 autocast; Muon for the layers' matrices (rate {settings.matrix_rate}), AdamW for embeddings and
norms (rate {settings.vector_rate}); warm-up {settings.warmup} steps, stable, then
a linear decay to nothing over the last {settings.decay:.0%}; gradients clipped at norm 1; seed
{settings.seed}. Losses are nats a token over all tokens, prompts included. {facts.note}

{losses}

To do it again (`--resume` goes on from the last checkpoint):

```sh
python -m workbench.training OUT --steps {settings.steps} --seed {settings.seed}
```

From step {settings.orderly:,} on, what a document lists (tags, hobbies, errands …) comes in one
fixed order, which teaches a small model not to name a thing twice, and code fences are seldom
closed. Every batch is a function of seed and step, so a resumed run sees what an unbroken one
would; the same machine, threads and library versions give the same losses.
"""


def recipe() -> str:
    """What it was trained on."""
    total = sum(f.share for f in FORMATS)
    rows = [(f.name, f"{100 * f.share / total:.1f} %") for f in FORMATS]
    return f"""## Data

Documents are `prompt`, `text`, end token; whole documents are packed into rows. All are made from
a seed by `workbench/training/corpus/`, but for the word problems, which are GSM8K's training split
(Cobbe et al. 2021, MIT licence), as prose and as JSON made from its annotations. Made-up persons,
numbers out of the ranges kept for fiction, hosts kept for examples. Shares are of all characters:

{table(("format", "share"), rows)}
"""


def measurements(facts: Facts) -> str:
    """Perplexities, format by format."""
    rows = [(f.format, f.documents, f"{f.text:.2f}", f"{f.whole:.2f}") for f in facts.figures]
    return f"""## Perplexity per token on held-out documents

Generated formats: documents of another seed. GSM8K: test questions, never trained on. *Text* counts
the text and its end token given the prompt, *whole* the prompt as well. What is random by nature
(identifiers, telephone numbers, licence plates) cannot be predicted, and should not be. The short
formats have few different documents (colours, sums, facts), so that many of these were seen in
training; the UUIDs are 48 in all.

{table(("format", "documents", "text", "whole"), rows)}
"""


def examples(facts: Facts) -> str:
    """What the model makes of each format's first prompt by itself."""
    shown = []
    for sample in facts.samples:
        rest = "" if sample.ended else " …"
        shown.append(f"~~~text\n{sample.prompt}▸{sample.text}{rest}\n~~~\n")
    return f"""## Samples

The likeliest token again and again, with no constraint at all; ▸ ends the prompt, and … stands
where the end token did not come in {facts.settings.sample} tokens.

{"".join(shown)}"""


LICENCES = """## Licences

Weights, tokenizer and the documents made by this project: Apache-2.0. GSM8K: MIT, © 2021 OpenAI
(`openai/grade-school-math`); its text is in `workbench/training/data/`.
"""


def card(facts: Facts) -> str:
    """The whole card."""
    parts = (introduction, training, measurements)
    told = [*(part(facts) for part in parts), recipe(), LICENCES, examples(facts)]
    return FRONT + "\n".join(told)


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
