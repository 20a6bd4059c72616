"""Tasks: independent, seeded units of work whose functions are named by import path.

A task has plain values as arguments, so it can be sent to any process. Tasks with the same
``shard`` need the same things loaded (a model, a vocabulary); a worker loads them once and runs
such tasks one after the other.
"""

from __future__ import annotations

import importlib
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from workbench.base.diagnostics import finite
from workbench.base.errors import WorkbenchError

#: Plain values: what JSON can store.
Record = dict[str, Any]

#: How often a task is tried whose worker was lost.
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Task:
    """A unit of work; running it again gives the same record."""

    #: Unique in its list, and equal in every list with the same settings.
    key: str
    #: What a worker has to load before it runs the task.
    shard: str
    arguments: Mapping[str, Any]
    #: Tasks of a shard with the same one are computed in one call; empty for a task alone.
    batch: str = ""


#: Tasks that a worker computes in one call, in the order of the list.
Batch = tuple[Task, ...]


def batches_of(tasks: Sequence[Task]) -> list[Batch]:
    """The tasks in the batches that they name, ordered by the first task of each."""
    batches: dict[tuple[str, str], list[Task]] = {}
    for task in tasks:
        batches.setdefault((task.shard, task.batch) if task.batch else ("", task.key), []).append(
            task
        )
    return [tuple(batch) for batch in batches.values()]


@dataclass(frozen=True, slots=True)
class Work:
    """The functions of a list of tasks, as ``package.module:function``."""

    #: shard → what the tasks of this shard need, loaded once in each worker.
    prepare: str
    #: (what ``prepare`` returned, a task's arguments) → a ``Result``.
    run: str
    #: A task's arguments → the columns of the results file before the record's, such as the prompt
    #: and the grammar's text; empty for none.
    given: str = ""
    #: (what ``prepare`` returned, the arguments of the tasks of a batch) → the ``Result`` of each,
    #: or its ``WorkbenchError``; empty if no task names a batch.
    run_batch: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What a task returns."""

    #: Depends on the task alone: every runner computes the same.
    record: Record
    #: Times and sizes measured on the way, which differ between runs.
    measured: Record = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of a task: its record, or its error."""

    key: str
    status: Literal["done", "failed"]
    record: Record = field(default_factory=dict)
    #: The message and hint of the error; empty for a task that is done.
    error: str = ""
    hint: str = ""
    #: Seconds of the task, and what it measured.
    measured: Record = field(default_factory=dict)

    @property
    def head(self) -> Record:
        """The first columns of its row: ``key``, ``status``, ``error``, ``hint``."""
        return {"key": self.key, "status": self.status, "error": self.error, "hint": self.hint}

    @property
    def row(self) -> Record:
        """All of it as one row: head, record and measures."""
        return self.head | self.record | self.measured


class Worker:
    """Runs batches one after the other, with the last shard's preparation kept."""

    def __init__(self, work: Work) -> None:
        self._prepare = function_named(work.prepare)
        self._run = function_named(work.run)
        self._run_batch = function_named(work.run_batch) if work.run_batch else None
        self._shard: str | None = None
        self._prepared: Any = None

    def run(self, batch: Batch) -> list[Outcome]:
        """The outcome of each task; an error of any kind is an outcome, an interruption is not."""
        started = time.perf_counter()
        try:
            results = self._results(batch)
        except WorkbenchError as error:
            results = [error] * len(batch)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            reason = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
            results = [WorkbenchError(reason)] * len(batch)
        seconds = round((time.perf_counter() - started) / len(batch), 6)
        return [
            _outcome(task, result, seconds) for task, result in zip(batch, results, strict=True)
        ]

    def _results(self, batch: Batch) -> list[Result | WorkbenchError]:
        shard = batch[0].shard
        if shard != self._shard:
            self._prepared = self._shard = None  # frees a model before the next is loaded
            self._prepared = self._prepare(shard)
            self._shard = shard
        if self._run_batch is None or len(batch) == 1:
            return [self._run(self._prepared, task.arguments) for task in batch]
        return list(self._run_batch(self._prepared, [task.arguments for task in batch]))


def _outcome(task: Task, result: Result | WorkbenchError, seconds: float) -> Outcome:
    if isinstance(result, WorkbenchError):
        reason, hint = storable([result.message, result.hint])
        return Outcome(key=task.key, status="failed", error=reason, hint=hint)
    return Outcome(
        key=task.key,
        status="done",
        record=storable(finite(result.record)),
        measured={"task_seconds": seconds} | storable(finite(result.measured)),
    )


def storable(value: Any) -> Any:  # noqa: ANN401  # a JSON value
    """A JSON value whose texts are Unicode: a lone surrogate is written as an escape."""
    match value:
        case dict():
            return {storable(key): storable(each) for key, each in value.items()}
        case list():
            return [storable(each) for each in value]
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
    return value


def lost(task: Task) -> Outcome:
    """The outcome of a task whose worker ended each time it was tried."""
    return Outcome(
        key=task.key,
        status="failed",
        error=f"its worker process ended {ATTEMPTS} times",
        hint="the machine may be out of memory: use fewer jobs",
    )


def function_named(path: str) -> Callable[..., Any]:
    """The function of an import path such as ``workbench.decoding.grid:run``."""
    module, _, name = path.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function
