"""Experiments as units of resumable work, the file of their results; their proportions.

A unit is a task (``workbench.tasks``): any runner can compute it.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from workbench.base.diagnostics import finite
from workbench.base.errors import WorkbenchError
from workbench.base.limits import Limits
from workbench.decoding.compare import RunFailed, run_events
from workbench.decoding.contenders import PreparedContender
from workbench.decoding.measures import Measures
from workbench.decoding.model import LanguageModel
from workbench.decoding.run_summaries import Run, RunEnded
from workbench.decoding.sampling import Sampling
from workbench.grammar.grammar import Grammar
from workbench.tasks.task import Outcome

#: The result of a unit: plain values that JSON can store.
Record = dict[str, Any]

#: More than the page allows: an experiment may wait for a large grammar or a busy machine.
LIMITS = Limits(seconds=120.0, megabytes=2_048, states=500_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much an experiment measures; the defaults are the papers' sizes or support a statement.

    Units that depend on a field have it in their keys.
    """

    #: Questions of each set whose answers are checked.
    questions: int = 200
    #: Worked problems before each question.
    shots: int = 0
    #: Whether a prompt is a message of a chat, in the model's own template.
    chat: bool = False
    #: Tokens of an answer at most; answers that reach it are counted as cut.
    tokens: int = 256
    #: Runs of each method on each task, interleaved.
    repetitions: int = 30
    #: Repetitions of work that takes milliseconds; their mean is reported.
    timings: int = 10
    #: Regexes of Tran-Thien's table 2.
    regexes: int = 1_000
    #: GSM8K's test questions as JSON lines; None for those of the training corpus's held-out part.
    gsm8k: str | None = None
    #: JSON lines whose field ``schema`` is a JSON Schema, for Tran-Thien's table 2.
    schemas: str | None = None
    #: The vocabularies of Koo's table 2; none for the model's own.
    vocabularies: tuple[str, ...] = ()
    #: The Python of an environment with Outlines 0.0.34.
    outlines: str | None = None
    #: A smaller model with the same tokens, for draft speculation.
    draft: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """Model, size and stop signal of an experiment."""

    model: LanguageModel
    size: Size
    #: Polled during a unit; True ends the unit with ``Stopped``.
    stop: Callable[[], bool]
    #: The model of ``Size.draft``.
    draft: LanguageModel | None = None


class Stopped(Exception):  # noqa: N818  # not an error: requested through Setting.stop
    """The current unit was abandoned; it has no result."""


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A part of an experiment whose result is stored; it takes seconds to minutes."""

    #: Equal in every run of this size; a unit whose key has a result is not run again.
    key: str
    work: Callable[[Setting], Record]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The results of one model in one experiment."""

    #: The model's name in tables.
    title: str
    size: Size
    #: By the unit's key; some may be missing.
    records: Mapping[str, Record]


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """A table or figure of a paper, repeated with the given model."""

    name: str
    title: str
    #: Paper, and table, figure or section.
    source: str
    units: Callable[[Size], Sequence[Unit]]
    #: The results of each model → Markdown.
    section: Callable[[Sequence[Column]], str]
    #: The installed package whose data it reads; empty if it needs none.
    package: str = ""
    #: What it measures if that is not the given model, so that the page names no model.
    subject: str = ""


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


def check_running(setting: Setting) -> None:
    """Raise Stopped if a stop was requested."""
    if setting.stop():
        raise Stopped


@dataclass(frozen=True, slots=True)
class Stored:
    """The result of one unit."""

    record: Record
    seconds: float
    #: The day it was measured, as YYYY-MM-DD.
    date: str
    #: The machine of the call that measured it: the last one of its model before it.
    machine: str


@dataclass(frozen=True, slots=True)
class Begun:
    """A call of ``evaluate``: what it was asked to measure."""

    model: str
    size: Size
    experiments: tuple[str, ...]
    machine: str


@dataclass(eq=False)
class Results:
    """The results of all models, in one file of JSON lines that is only appended to.

    A line is a call (``begun``) or the result of a unit. An interruption loses the current unit
    only: a last line without its end is dropped.
    """

    path: Path
    begun: list[Begun] = field(default_factory=list)
    #: By model and the unit's key.
    stored: dict[tuple[str, str], Stored] = field(default_factory=dict)

    @staticmethod
    def at(folder: Path) -> Results:
        """The results stored in a folder, which is created if missing.

        Raises: WorkbenchError for a line of another format, or on an OSError.
        """
        results = Results(folder / "results.jsonl")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            text = results.path.read_bytes() if results.path.exists() else b""
            whole = text[: text.rfind(b"\n") + 1]
            if whole != text:
                results.path.write_bytes(whole)
            for line in whole.decode().splitlines():
                results._read(json.loads(line))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise _not_kept(results.path, error) from error
        return results

    def _read(self, line: Record) -> None:
        if "begun" in line:
            fields = dict(line["begun"])
            size = dict(fields["size"]) | {"vocabularies": tuple(fields["size"]["vocabularies"])}
            names = tuple(fields["experiments"])
            self.begun.append(Begun(fields["model"], Size(**size), names, fields["machine"]))
        else:
            model, seconds, date = line["model"], float(line["seconds"]), str(line["date"])
            found = Stored(dict(line["record"]), seconds, date, self._machine_of(model))
            self.stored[model, line["key"]] = found

    def _machine_of(self, model: str) -> str:
        """The machine of a model's last call."""
        return next((call.machine for call in self.begun[::-1] if call.model == model), "")

    def begin(self, call: Begun) -> None:
        """Store what is about to be measured. Raises: WorkbenchError."""
        if call not in self.begun[-1:]:
            self.begun.append(call)
            self._append({"begun": asdict(call)})

    def keep(self, model: str, key: str, record: Record, seconds: float) -> None:
        """Append the result of a unit; NaN and infinities become None. Raises: WorkbenchError."""
        date = time.strftime("%Y-%m-%d")
        found = Stored(finite(record), round(seconds, 3), date, self._machine_of(model))
        self.stored[model, key] = found
        line = {"record": found.record, "seconds": found.seconds, "date": date}
        self._append({"model": model, "key": key} | line)

    def _append(self, line: Record) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, allow_nan=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _not_kept(self.path, error) from error

    def calls(self, experiment: Experiment) -> list[Begun]:
        """The last call of each model for this experiment; the model of the first call is first."""
        last: dict[str, Begun | None] = {call.model: None for call in self.begun}
        for call in self.begun:
            if experiment.name in call.experiments:
                last[call.model] = call
        return [call for call in last.values() if call is not None]

    def of(self, experiment: Experiment, call: Begun) -> dict[str, Stored]:
        """The results of a call's units, by key."""
        keys = [unit.key for unit in experiment.units(call.size)]
        return {
            key: found for key in keys if (found := self.stored.get((call.model, key))) is not None
        }


def title_of(model: str) -> str:
    """The name of a model in tables: the last part of a directory or hub id."""
    return "embedded" if model == "builtin" else Path(model).name


def machine(device: str = "cpu", jobs: int = 1) -> str:
    """The machine as the page describes it; ``jobs`` processes, each with a model on ``device``."""
    import torch  # imported here: it takes a second, and only evaluations need it

    on = torch.cuda.get_device_name() if device.startswith("cuda") else "the processor"
    each = f", {jobs} processes at a time" if jobs > 1 else ""
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), the model on {on}{each},"
        f" Python {platform.python_version()}"
    )


def _not_kept(path: Path, error: Exception) -> WorkbenchError:
    return WorkbenchError(
        f"cannot keep results in {path}: {error}", "name another folder with --out"
    )


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """A unit that ended, or that had a result before."""

    experiment: Experiment
    unit: Unit
    #: Units with a result or an error so far, of all units of all experiments.
    number: int
    of: int
    done_before: bool
    #: Why it has no result; empty if it has one.
    error: str = ""


def worked(
    experiments: Sequence[Experiment],
    call: Begun,
    results: Results,
    run: Callable[[Sequence[tuple[Experiment, Unit]]], Iterator[Outcome]],
) -> Iterator[Progress]:
    """Run the units that have no result, and keep each result when its unit ends.

    ``run``  the outcomes of units, in any order.

    Units that two experiments share are run once. An interruption loses the units that are running.
    Raises: WorkbenchError where a result cannot be stored.
    """
    results.begin(call)
    units = {
        unit.key: (experiment, unit)
        for experiment in experiments
        for unit in experiment.units(call.size)
    }
    missing = [pair for key, pair in units.items() if (call.model, key) not in results.stored]
    ended = 0
    for key, (experiment, unit) in units.items():
        if (call.model, key) in results.stored:
            ended += 1
            yield Progress(experiment, unit, ended, len(units), True)
    for outcome in run(missing):
        if outcome.status == "done":
            seconds = outcome.measured["task_seconds"]
            results.keep(call.model, outcome.key, outcome.record, seconds)
        ended += 1
        yield Progress(*units[outcome.key], ended, len(units), False, outcome.error)
