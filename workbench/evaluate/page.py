"""The written page of results: records come in, Markdown goes out."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from textwrap import fill

from workbench.decoding.model import LanguageModel
from workbench.evaluate.experiment import Experiment, Size
from workbench.evaluate.results import Results


def page(
    experiments: Sequence[Experiment], results: Results, size: Size, model: LanguageModel
) -> str:
    """All sections of what is done, and what it was done with."""
    parts = [_head(size, model)]
    for experiment in experiments:
        keys = [unit.key for unit in experiment.units(size)]
        done = sum(key in results.records for key in keys)
        if not done:
            continue
        parts.append(f"## {experiment.title}\n\n*{experiment.source}*")
        if done < len(keys):
            parts.append(f"*{done} of {len(keys)} parts were done.*")
        parts.append(experiment.section(results.records).strip())
    return "\n\n".join(parts) + "\n"


def _head(size: Size, model: LanguageModel) -> str:
    command = "workbench evaluate" + (" --quick" if size.name == "quick" else "")
    told = (
        f"Written by `{command}`; what is said of agreement is worked out from the figures, not"
        f" written by hand. {size.questions} questions a set, {size.repetitions} repetitions of"
        f" what is timed; {os.cpu_count()} cores ({platform.machine()}), {_threads()} of them used"
        f" by the model, Python {platform.python_version()}. The papers' own figures are of models"
        " a thousand times as large: a figure here says what a method does to *this* model, and"
        " agreement means the same direction."
    )
    title = f"# Every decoding method of the papers, on {_named(model)}"
    return f"{title}\n\n{fill(told, 100)}"


def _threads() -> int:
    """Threads of one forward pass."""
    import torch  # it takes a second, and only a page of results asks

    return torch.get_num_threads()


def _named(model: LanguageModel) -> str:
    return "the embedded model" if model.name == "builtin" else model.name
