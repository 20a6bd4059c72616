"""An experiment as resumable work, and its results."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.base.errors import WorkbenchError
from workbench.base.problems import finite
from workbench.decoding.compare import Run, RunEnded, RunFailed, run_events
from workbench.decoding.contenders import PreparedContender
from workbench.decoding.measures import Measures
from workbench.decoding.model import LanguageModel
from workbench.decoding.sampling import Sampling
from workbench.grammar.grammar import Grammar

#: What a unit of work comes to: plain values, as JSON keeps them.
Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much of it is done."""

    name: str
    #: Questions whose answers are checked.
    questions: int
    #: Runs of each method on each task whose speed is measured.
    repetitions: int
    #: Repetitions of what takes milliseconds.
    timings: int


QUICK = Size(name="quick", questions=10, repetitions=5, timings=3)
FULL = Size(name="full", questions=50, repetitions=15, timings=10)


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """What an experiment is done with."""

    model: LanguageModel
    size: Size
    #: Asked now and then; True ends the unit under way with ``Stopped``.
    stop: Callable[[], bool]


class Stopped(Exception):  # noqa: N818  # not an error: somebody asked
    """The unit under way was given up; nothing of it is kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A piece of an experiment whose result is kept: seconds of work."""

    #: The same in every run of this size; what is done under it is not done again.
    key: str
    work: Callable[[Setting], Record]


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """A table or figure of a paper on the model at hand."""

    name: str
    title: str
    #: Paper and place.
    source: str
    units: Callable[[Size], Sequence[Unit]]
    #: The records by key, some of which may be missing → Markdown.
    section: Callable[[Mapping[str, Record]], str]


def finished(
    setting: Setting,
    run: Run,
    prepared: PreparedContender,
    grammar: Grammar,
    sampling: Sampling,
    most: int,
) -> Measures:
    """The measures of one run to its end, steps forgotten; ``most`` tokens.

    Raises: Stopped; WorkbenchError of a run that could not be.
    """
    for event in run_events(
        run, prepared, grammar, sampling, max_tokens=most, top=0, stop=setting.stop
    ):
        if isinstance(event, RunFailed):
            raise event.error
        if isinstance(event, RunEnded) and not setting.stop():
            return event.measures
    raise Stopped


@dataclass(eq=False)
class Results:
    """The records of one model and one size, by the key of their unit."""

    path: Path
    #: What they are of: other records in the same file would be mixed up.
    head: Record
    records: dict[str, Record] = field(default_factory=dict)

    @staticmethod
    def at(folder: Path, setting: Setting) -> Results:
        """Those of a folder, as far as they were done; the folder is made where there is none.

        Raises: WorkbenchError where the file is not one of ours, or the folder cannot be made.
        """
        path = folder / f"{setting.size.name}.json"
        head = {"model": setting.model.name, "size": setting.size.name}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                return Results(path, head)
            kept = json.loads(path.read_text("utf-8"))
            found = Results(path, dict(kept["head"]), dict(kept["records"]))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise _not_kept(path, error) from error
        if found.head != head:
            raise WorkbenchError(
                f"{path} holds results of {found.head.get('model')}, not of {head['model']}",
                "name another folder with --out",
            )
        return found

    def keep(self, key: str, record: Record) -> None:
        """Write a record down at once: whoever stops the work loses the unit under way alone.

        Numbers JSON has no word for are None from here on.
        Raises: WorkbenchError where it cannot be written.
        """
        self.records[key] = finite(record)
        kept = {"head": self.head, "records": self.records}
        text = json.dumps(kept, indent=1, allow_nan=False)
        beside = self.path.with_suffix(".part")
        try:
            beside.write_text(text + "\n", "utf-8")
            os.replace(beside, self.path)
        except OSError as error:
            raise _not_kept(self.path, error) from error


def _not_kept(path: Path, error: Exception) -> WorkbenchError:
    return WorkbenchError(
        f"cannot keep results in {path}: {error}", "name another folder with --out"
    )


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """A unit is about to begin, or was done before."""

    experiment: Experiment
    unit: Unit
    #: Counted from 0, of all units of all experiments.
    number: int
    of: int
    done_before: bool


def worked(
    experiments: Sequence[Experiment], setting: Setting, results: Results
) -> Iterator[Progress]:
    """Do what is not done yet, unit by unit; told before each.

    Units that two experiments share are done once.
    Raises: Stopped; WorkbenchError where a result cannot be kept.
    """
    units = {
        unit.key: (experiment, unit)
        for experiment in experiments
        for unit in experiment.units(setting.size)
    }
    for number, (key, (experiment, unit)) in enumerate(units.items()):
        before = key in results.records
        yield Progress(experiment, unit, number, len(units), before)
        if not before:
            results.keep(key, unit.work(setting))
