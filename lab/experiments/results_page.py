"""The registry of experiments, the Markdown page of their results, their units as tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from textwrap import fill

from lab.experiments.accuracy import TABLE_2, TABLE_4
from lab.experiments.experiment import (
    Column,
    Experiment,
    Results,
    Stored,
    title_of,
)
from lab.experiments.finishing import FINISHING
from lab.experiments.gallery_experiments import HOLES
from lab.experiments.invasiveness import FIGURE_1, FIGURE_2, INVADING
from lab.experiments.koo import KOO_2, RANKING
from lab.experiments.meaning import MEANING
from lab.experiments.multiple_choice import TABLE_3 as KOO_3
from lab.experiments.own_distribution import OWN
from lab.experiments.proper_tokens import CHALLENGE_1, CHALLENGE_2, TRAN_2
from lab.experiments.throughput import FIGURE_5, JOINT, TABLE_3
from lab.experiments.tool_calls import TOOL_CALLS, data_folder
from workbench.base.errors import WorkbenchError

_ALL = (
    TABLE_2,
    TABLE_3,
    TABLE_4,
    FIGURE_5,
    JOINT,
    FIGURE_1,
    FIGURE_2,
    INVADING,
    KOO_2,
    KOO_3,
    RANKING,
    CHALLENGE_1,
    CHALLENGE_2,
    TRAN_2,
    FINISHING,
    OWN,
    TOOL_CALLS,
    HOLES,
    MEANING,
)

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}


def chosen_experiments(names: Iterable[str]) -> tuple[Experiment, ...]:
    """The experiments of these names; without names all whose package is installed.

    Raises: WorkbenchError for an unknown name, or a missing package.
    """
    chosen = list(dict.fromkeys(names)) or [
        name for name, one in EXPERIMENTS.items() if not one.package or find_spec(one.package)
    ]
    for name in chosen:
        if name not in EXPERIMENTS:
            raise WorkbenchError(
                f"there is no experiment {name!r}", f"choose from {', '.join(EXPERIMENTS)}"
            )
        if EXPERIMENTS[name] is TOOL_CALLS:
            data_folder()
    return tuple(EXPERIMENTS[name] for name in chosen)


def page(experiments: Sequence[Experiment], results: Results) -> str:
    """The sections of all experiments with results, and the conditions of the measurement."""
    parts = [_head(experiments, results)]
    for experiment in experiments:
        columns, sizes = [], []
        for call in results.calls(experiment):
            units = experiment.units(call.size)
            found = results.of(experiment, call)
            if not found:
                continue
            records = {key: stored.record for key, stored in found.items()}
            columns.append(Column(title_of(call.model), call.size, records))
            named = experiment.subject or title_of(call.model)
            sizes.append(_measured(named, list(found.values()), len(units)))
        if columns:
            parts.append(f"## {experiment.title}\n\n*{experiment.source}.* {' '.join(sizes)}")
            parts.append(experiment.section(columns).strip())
    return "\n\n".join(parts) + "\n"


def _measured(title: str, found: Sequence[Stored], units: int) -> str:
    """How much of an experiment was done, when, and how long it took."""
    part = "" if len(found) == units else f", {len(found)} of {units} parts"
    hours = sum(stored.seconds for stored in found) / 3600
    first, last = min(s.date for s in found), max(s.date for s in found)
    days = first if first == last else f"{first} to {last}"
    return f"{title}: {days}, {_duration(hours)}{part}."


def _duration(hours: float) -> str:
    return f"{hours:.1f} hours" if hours >= 1 else f"{hours * 60:.1f} minutes"


def _head(experiments: Sequence[Experiment], results: Results) -> str:
    conditions = (
        "Written by `python -m lab evaluate`. Sentences that name a model are computed from the"
        " tables; *Comment* marks the others, and figures of the papers are theirs. A figure says"
        " what a method does to the model it was measured on, and no more. Intervals are of 95 %;"
        " shares are called not distinguishable where their intervals overlap."
    )
    used = _machines(experiments, results)
    return "\n\n".join(
        ["# The papers' experiments", fill(conditions, 100), *(["\n".join(used)] if used else [])]
    )


def _machines(experiments: Sequence[Experiment], results: Results) -> list[str]:
    """For each model its machine, and the parts that were measured on another one."""
    lines = []
    for model in dict.fromkeys(call.model for call in results.begun):
        parts: dict[str, dict[str, list[int]]] = {}  # by machine and experiment
        for experiment in experiments:
            for call in results.calls(experiment):
                if call.model != model:
                    continue
                found = list(results.of(experiment, call).values())
                for stored in found:
                    of = parts.setdefault(stored.machine, {})
                    of.setdefault(experiment.title, [0, len(found)])[0] += 1
        title = title_of(model)
        usual = max(parts, key=lambda machine: len(parts[machine]), default="")
        for machine in sorted(parts, key=lambda machine: machine != usual):
            named = ", ".join(
                f"*{name}*" + ("" if count == of else f" ({count} of {of} parts)")
                for name, (count, of) in parts[machine].items()
            )
            where = "" if machine == usual else f" for {named}"
            lines.append(f"* {title}{where}: {machine}.")
    return lines
