"""Experiments as units of resumable work, and the file of their results."""

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

#: The result of a unit: plain values that JSON can store.
Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much an experiment measures."""

    name: str
    #: Questions whose answers are checked.
    questions: int
    #: Runs of each method on each task whose speed is measured.
    repetitions: int
    #: Repetitions of work that takes milliseconds.
    timings: int


QUICK = Size(name="quick", questions=10, repetitions=5, timings=3)
FULL = Size(name="full", questions=50, repetitions=15, timings=10)


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """Model, size and stop signal of an experiment."""

    model: LanguageModel
    size: Size
    #: Polled during a unit; True ends the unit with ``Stopped``.
    stop: Callable[[], bool]


class Stopped(Exception):  # noqa: N818  # not an error: requested through Setting.stop
    """The current unit was abandoned; it has no result."""


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A part of an experiment whose result is stored; it takes seconds."""

    #: Equal in every run of this size; a unit whose key has a result is not run again.
    key: str
    work: Callable[[Setting], Record]


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """A table or figure of a paper, repeated with the given model."""

    name: str
    title: str
    #: Paper, and table, figure or section.
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
    max_tokens: int,
) -> Measures:
    """The measures of one run of at most ``max_tokens`` tokens; its steps are not stored.

    Raises: Stopped; WorkbenchError where the run fails.
    """
    for event in run_events(
        run, prepared, grammar, sampling, max_tokens=max_tokens, top=0, stop=setting.stop
    ):
        if isinstance(event, RunFailed):
            raise event.error
        if isinstance(event, RunEnded) and not setting.stop():
            return event.measures
    raise Stopped


@dataclass(eq=False)
class Results:
    """The records of one model and one size, by the unit's key."""

    path: Path
    #: Model and size; a file with another head is refused.
    head: Record
    records: dict[str, Record] = field(default_factory=dict)

    @staticmethod
    def at(folder: Path, setting: Setting) -> Results:
        """The results stored in a folder, which is created if missing.

        Raises: WorkbenchError where the file has another format or head, or on an OSError.
        """
        path = folder / f"{setting.size.name}.json"
        head = {"model": setting.model.name, "size": setting.size.name}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                return Results(path, head)
            stored = json.loads(path.read_text("utf-8"))
            found = Results(path, dict(stored["head"]), dict(stored["records"]))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise _not_kept(path, error) from error
        if found.head != head:
            raise WorkbenchError(
                f"{path} holds results of {found.head.get('model')}, not of {head['model']}",
                "name another folder with --out",
            )
        return found

    def keep(self, key: str, record: Record) -> None:
        """Store a record in the file immediately, so that an interruption loses only one unit.

        NaN and infinities become None.
        Raises: WorkbenchError where it cannot be written.
        """
        self.records[key] = finite(record)
        stored = {"head": self.head, "records": self.records}
        text = json.dumps(stored, indent=1, allow_nan=False)
        partial = self.path.with_suffix(".part")
        try:
            partial.write_text(text + "\n", "utf-8")
            os.replace(partial, self.path)
        except OSError as error:
            raise _not_kept(self.path, error) from error


def _not_kept(path: Path, error: Exception) -> WorkbenchError:
    return WorkbenchError(
        f"cannot keep results in {path}: {error}", "name another folder with --out"
    )


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """A unit that is about to begin, or has a stored result."""

    experiment: Experiment
    unit: Unit
    #: Counted from 0, of all units of all experiments.
    number: int
    of: int
    done_before: bool


def worked(
    experiments: Sequence[Experiment], setting: Setting, results: Results
) -> Iterator[Progress]:
    """Run the units that have no result; yields before each unit.

    Units that two experiments share are run once.
    Raises: Stopped; WorkbenchError where a result cannot be stored.
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
