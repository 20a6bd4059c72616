"""The registry of experiments, and the Markdown page of their results."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from textwrap import fill

from workbench.base.errors import WorkbenchError
from workbench.decoding.model import LanguageModel
from workbench.lab.experiments.accuracy import TABLE_2, TABLE_4
from workbench.lab.experiments.experiment import Experiment, Results, Size
from workbench.lab.experiments.invasiveness import FIGURE_2, INVADING
from workbench.lab.experiments.koo import KOO_2, RANKING
from workbench.lab.experiments.proper_tokens import CHALLENGE_1, TRAN_2
from workbench.lab.experiments.throughput import FIGURE_5, TABLE_3

_ALL = (
    TABLE_2,
    TABLE_3,
    TABLE_4,
    FIGURE_5,
    FIGURE_2,
    INVADING,
    KOO_2,
    RANKING,
    CHALLENGE_1,
    TRAN_2,
)

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}


def chosen_experiments(names: Iterable[str]) -> tuple[Experiment, ...]:
    """The experiments of these names; all where no name is given.

    Raises: WorkbenchError for an unknown name.
    """
    chosen = list(dict.fromkeys(names)) or list(EXPERIMENTS)
    for name in chosen:
        if name not in EXPERIMENTS:
            raise WorkbenchError(
                f"there is no experiment {name!r}", f"choose from {', '.join(EXPERIMENTS)}"
            )
    return tuple(EXPERIMENTS[name] for name in chosen)


def page(
    experiments: Sequence[Experiment], results: Results, size: Size, model: LanguageModel
) -> str:
    """The sections of all experiments with results, and the conditions of the measurement."""
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
    conditions = (
        f"Written by `{command}`, statements about agreement with the papers included."
        f" {size.questions} questions in each set, {size.repetitions} repetitions of timed runs;"
        f" {os.cpu_count()} cores ({platform.machine()}), {_threads()} of them used by the model,"
        f" Python {platform.python_version()}. The papers' own figures are of models"
        " a thousand times as large: a figure here says what a method does to *this* model, and"
        " agreement means the same direction."
    )
    title = f"# Every decoding method of the papers, on {_named(model)}"
    return f"{title}\n\n{fill(conditions, 100)}"


def _threads() -> int:
    """Threads of one forward pass."""
    import torch  # imported here: it takes a second, and only this page needs it

    return torch.get_num_threads()


def _named(model: LanguageModel) -> str:
    return "the embedded model" if model.name == "builtin" else model.name
