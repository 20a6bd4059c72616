"""Experiments as units of resumable work, and the file of their results."""

from __future__ import annotations

import itertools
import json
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from workbench.base.errors import WorkbenchError
from workbench.base.limits import Limits
from workbench.base.problems import finite
from workbench.decoding.compare import Run, RunEnded, RunFailed, run_events
from workbench.decoding.contenders import PreparedContender
from workbench.decoding.measures import Measures
from workbench.decoding.model import LanguageModel
from workbench.decoding.sampling import Sampling
from workbench.grammar.grammar import Grammar

#: The result of a unit: plain values that JSON can store.
Record = dict[str, Any]

#: More than the page allows: an experiment may wait for a large grammar or a busy machine.
LIMITS = Limits(seconds=120.0, megabytes=2_048, states=500_000)

#: The most units that run at the same time; each remembers up to 400 MB of logits.
_AT_ONCE = 4


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
    #: Whether it measures times; other units run at the same time, in shared forward passes.
    timed: bool = True


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
            found = Stored(dict(line["record"]), float(line["seconds"]), str(line["date"]))
            self.stored[line["model"], line["key"]] = found

    def begin(self, setting: Setting, experiments: Sequence[Experiment]) -> None:
        """Store what is about to be measured. Raises: WorkbenchError."""
        names = tuple(experiment.name for experiment in experiments)
        call = Begun(setting.model.name, setting.size, names, machine())
        if call not in self.begun[-1:]:
            self.begun.append(call)
            self._append({"begun": asdict(call)})

    def keep(self, model: str, key: str, record: Record, seconds: float) -> None:
        """Append the result of a unit; NaN and infinities become None. Raises: WorkbenchError."""
        found = Stored(finite(record), round(seconds, 3), time.strftime("%Y-%m-%d"))
        self.stored[model, key] = found
        self._append({"model": model, "key": key} | asdict(found))

    def _append(self, line: Record) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, allow_nan=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _not_kept(self.path, error) from error

    def calls(self, experiment: Experiment) -> list[Begun]:
        """The last call of each model for this experiment, in the order of the first calls."""
        last: dict[str, Begun] = {}
        for call in self.begun:
            if experiment.name in call.experiments:
                last[call.model] = call
        return list(last.values())

    def of(self, experiment: Experiment, call: Begun) -> dict[str, Stored]:
        """The results of a call's units, by key."""
        keys = [unit.key for unit in experiment.units(call.size)]
        return {
            key: found for key in keys if (found := self.stored.get((call.model, key))) is not None
        }


def title_of(model: str) -> str:
    """The name of a model in tables: the last part of a directory or hub id."""
    return "embedded" if model == "builtin" else Path(model).name


def machine() -> str:
    """The machine as the page describes it."""
    import torch  # imported here: it takes a second, and only evaluations need it

    threads = torch.get_num_threads()
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {threads} of them used by the model,"
        f" Python {platform.python_version()}"
    )


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
    #: Seconds of the units that were run in this call.
    seconds: float


def worked(
    experiments: Sequence[Experiment], setting: Setting, results: Results
) -> Iterator[Progress]:
    """Run the units that have no result; yields before each unit, or before its result is awaited.

    Units that two experiments share are run once. Of units that run at the same time the results
    are stored in their order, and a stored time is that of the wait for the result. An interruption
    stores the results of those that ended.
    Raises: Stopped; WorkbenchError where a result cannot be stored.
    """
    results.begin(setting, experiments)
    units = {
        unit.key: (experiment, unit)
        for experiment in experiments
        for unit in experiment.units(setting.size)
    }
    spent, name = 0.0, setting.model.name
    numbered = [(number, *pair) for number, pair in enumerate(units.values())]
    left, stop = threading.Event(), setting.stop
    setting = replace(setting, stop=lambda: left.is_set() or stop())
    pool, running = ThreadPoolExecutor(_AT_ONCE), dict[str, Future[Record]]()
    try:
        for timed, group in itertools.groupby(numbered, lambda item: item[2].timed):
            some = list(group)
            missing = [unit for _, _, unit in some if (name, unit.key) not in results.stored]
            if not timed:
                running = {unit.key: pool.submit(unit.work, setting) for unit in missing}
            for number, experiment, unit in some:
                yield Progress(experiment, unit, number, len(units), unit not in missing, spent)
                if unit in missing:
                    started = time.perf_counter()
                    future = running.get(unit.key)
                    record = unit.work(setting) if future is None else future.result()
                    seconds = time.perf_counter() - started
                    results.keep(name, unit.key, record, seconds)
                    running.pop(unit.key, None)
                    spent += seconds
    finally:  # an interruption ends the units of other threads too
        left.set()
        pool.shutdown(cancel_futures=True)
        for key, future in running.items():
            if not future.cancelled() and future.exception() is None:
                results.keep(name, key, future.result(), 0.0)
