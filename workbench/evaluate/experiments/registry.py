"""The experiments by name, in the order of the written page."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.errors import WorkbenchError
from workbench.evaluate.experiment import Experiment
from workbench.evaluate.experiments.accuracy import TABLE_2, TABLE_4
from workbench.evaluate.experiments.compiling import KOO_2
from workbench.evaluate.experiments.invading import INVADING
from workbench.evaluate.experiments.merging import TRAN_2
from workbench.evaluate.experiments.naturalising import FIGURE_2
from workbench.evaluate.experiments.ranking import RANKING
from workbench.evaluate.experiments.skew import CHALLENGE_1
from workbench.evaluate.experiments.throughput import FIGURE_5, TABLE_3

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
    """The experiments named, all where none is.

    Raises: WorkbenchError for a name nobody knows.
    """
    asked = list(dict.fromkeys(names)) or list(EXPERIMENTS)
    for name in asked:
        if name not in EXPERIMENTS:
            raise WorkbenchError(
                f"there is no experiment {name!r}", f"choose from {', '.join(EXPERIMENTS)}"
            )
    return tuple(EXPERIMENTS[name] for name in asked)
