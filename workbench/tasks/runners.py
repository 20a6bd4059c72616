"""Runners: the outcomes of tasks, computed in this process or in others.

All of them run one batch at a time in each worker (a task alone, or those that name the same
``Task.batch``), on one thread of the numeric libraries, so the records are equal in every bit.
Outcomes arrive as batches end, in any order.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from typing import Protocol

from workbench.base.errors import WorkbenchError
from workbench.tasks.results import ResultsFile
from workbench.tasks.task import ATTEMPTS, Batch, Outcome, Task, Work, Worker, batches_of, lost

#: Settings of libraries that start threads; read when they are imported.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


#: Pools that end one after the other without an outcome before the list is given up.
_MAX_FAILURES = 2 * ATTEMPTS


class Runner(Protocol):
    """Runs tasks; closing the iterator ends the tasks that are running."""

    def outcomes(self, work: Work, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """The outcome of every task, as it ends."""


def run_missing(
    runner: Runner, work: Work, tasks: Sequence[Task], results: ResultsFile
) -> Iterator[Outcome]:
    """Run the tasks that have no result, keep each outcome, and yield it.

    A batch is run whole if one of its tasks has none: its results depend on all of them.
    The Parquet file is written at the end, also when the iterator is closed or interrupted.
    Raises: WorkbenchError where a result cannot be kept.
    """
    missing = [
        task
        for batch in batches_of(tasks)
        if any(task.key not in results.outcomes for task in batch)
        for task in batch
    ]
    missing.sort(key=lambda task: task.shard)  # stable: the order of the list within a shard
    try:
        for outcome in runner.outcomes(work, missing):
            results.keep(outcome)
            yield outcome
    finally:
        results.write()


class InProcess:
    """Runs tasks in this process."""

    def outcomes(self, work: Work, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """The outcome of every task, in order."""
        worker = Worker(work)
        for batch in batches_of(tasks):
            yield from worker.run(batch)


#: The worker of a process of ``LocalProcesses``.
_worker: Worker


def _begin(work: Work) -> None:
    """Start the worker of a process; Ctrl-C is handled by the process that started it."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker = Worker(work)


def _end_with_parent() -> None:
    """End this process when the one that started it is killed; a pool would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _run(batch: Batch) -> list[Outcome]:
    return _worker.run(batch)


class LocalProcesses:
    """Runs tasks in ``jobs`` processes of this machine.

    A process that is killed takes the pool with it (as ``concurrent.futures`` defines): a new pool
    begins with the batches that have no outcome. One that was running each time is run alone, so
    that one that kills its process is reported and the others are not.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def outcomes(self, work: Work, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """The outcome of every task, as it ends."""
        os.environ.update(ONE_THREAD)  # inherited by the processes
        tried = Counter[str]()
        waiting = deque(batches_of(tasks))
        failures = 0
        while waiting:
            if failures > _MAX_FAILURES:
                raise WorkbenchError(
                    "the worker processes end before they answer",
                    "run it with --jobs 1, which shows why",
                )
            first = waiting[0][0].key
            if tried[first] >= ATTEMPTS:
                yield from map(lost, waiting.popleft())
                continue
            failures += 1
            alone = tried[first] == ATTEMPTS - 1
            for outcome in self._pool(work, waiting, tried, 1 if alone else self._jobs, alone):
                failures = 0
                yield outcome

    def _pool(
        self, work: Work, waiting: deque[Batch], tried: Counter[str], jobs: int, alone: bool
    ) -> Iterator[Outcome]:
        """The outcomes of waiting batches until all ended or a process did.

        ``alone``: only the first one is run. Batches without an outcome are put back to the front.
        """
        before = set(multiprocessing.active_children())
        pool = ProcessPoolExecutor(
            jobs, multiprocessing.get_context("spawn"), initializer=_begin, initargs=(work,)
        )
        running: dict[Future[list[Outcome]], Batch] = {}
        try:
            while waiting or running:
                while waiting and len(running) < (1 if alone else 2 * jobs):
                    running[pool.submit(_run, waiting[0])] = waiting[0]
                    waiting.popleft()  # not before: a broken pool takes no batch
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    outcomes = future.result()
                    del running[future]
                    yield from outcomes
                if alone and not running:
                    return
        except BrokenProcessPool:
            unfinished = sorted(running.values(), key=lambda batch: -tried[batch[0].key])
            tried.update(batch[0].key for batch in unfinished)
            waiting.extendleft(reversed(unfinished))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()
