"""The units of experiments as tasks: what a worker loads, and how it finds a unit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from lab.experiments.experiment import Experiment, Setting, Size, Unit
from lab.experiments.results_page import EXPERIMENTS
from workbench.base.kernels import wait_until_compiled
from workbench.tasks.runners import Runner
from workbench.tasks.task import Outcome, Result, Task, Work

#: The functions of the tasks of an evaluation.
WORK = Work(f"{__name__}:prepare", f"{__name__}:run")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A model as the command line names it."""

    name: str
    device: str = "auto"
    dtype: str = "auto"
    revision: str | None = None


def units_run_by(
    runner: Runner, model: ModelChoice, size: Size
) -> Callable[[Sequence[tuple[Experiment, Unit]]], Iterator[Outcome]]:
    """The function of ``worked`` that runs units with a runner."""
    shard = json.dumps({"model": asdict(model), "size": asdict(size)})
    return partial(_outcomes, runner, shard)


def _outcomes(
    runner: Runner, shard: str, units: Sequence[tuple[Experiment, Unit]]
) -> Iterator[Outcome]:
    tasks = [
        Task(unit.key, shard, {"experiment": experiment.name, "unit": unit.key})
        for experiment, unit in units
    ]
    return runner.outcomes(WORK, tasks)


def prepare(shard: str) -> Setting:
    """The setting of a shard, with its models loaded. Raises: ModelError, VocabularyError."""
    from workbench.decoding.checkpoint import set_threads
    from workbench.decoding.transformers_model import load_model

    chosen = json.loads(shard)
    fields = chosen["size"]
    size = Size(**{**fields, "vocabularies": tuple(fields["vocabularies"])})
    about = chosen["model"]

    def loaded(name: str) -> Any:  # noqa: ANN401  # a model of transformers
        model = load_model(name, about["device"], about["dtype"], revision=about["revision"])
        set_threads(model.module)
        return model

    wait_until_compiled()
    return Setting(
        loaded(about["name"]), size, lambda: False, loaded(size.draft) if size.draft else None
    )


def run(setting: Setting, arguments: Mapping[str, Any]) -> Result:
    """The record of a unit. Raises: WorkbenchError where its work fails."""
    experiment = EXPERIMENTS[arguments["experiment"]]
    (unit,) = (one for one in experiment.units(setting.size) if one.key == arguments["unit"])
    return Result(unit.work(setting))
