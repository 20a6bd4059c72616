"""The records of runs, in batches computed ahead of their reader."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Generic, TypeVar

from workbench.base import kernels
from workbench.base.errors import ModelError
from workbench.base.limits import current_budget, within
from workbench.decoding.candidates import milliseconds_since
from workbench.decoding.model import ForwardPass, TimedLogits
from workbench.decoding.shared_passes import run_together, shared_passes_of

Item = TypeVar("Item")

#: The most runs of all visitors at a time: their tokens are computed in shared forward passes.
RUNS_AT_ONCE = 48

#: The least seconds between two batches of a run: the page draws no more often.
BATCH_SECONDS = 0.03

#: The same for each run of the loop: sending a batch takes time from all of them.
_SECONDS_PER_RUN = 0.005

#: Yields items, and forward passes, each of which it is sent the result of.
Work = Generator[Item | ForwardPass, TimedLogits | ModelError | None, None]

#: Work that takes more milliseconds between two passes gets a separate thread.
_SLOW_MS = 50


def in_thread(items: Iterator[Item], seconds: float) -> Generator[list[Item], None, None]:
    """The items in the same order, in lists, computed in a separate thread.

    If the caller stops, the work ends at its next item; its exceptions are raised in the caller.
    """

    def work() -> Work[Item]:
        yield from items

    task = _Task(work())
    task.advance_alone()
    return task.batches(lambda: seconds)


class PassLoop:
    """Runs the work of many callers in one thread, and their forward passes together.

    With a thread for each work, threads would be switched for every token, and each operation of a
    pass would wait for the Python code of other threads. Work that would delay the others continues
    in a separate thread: work with slow masks, all work before the kernels are compiled, and that
    of models whose sessions cannot share passes. The loop's thread ends when there is no work.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        #: The tasks that the loop has not begun.
        self._new: list[_Task[Any]] = []
        #: The number of tasks in the loop.
        self._size = 0
        self._is_running = False

    def batches(self, work: Work[Item], seconds: float) -> Iterator[list[Item]]:
        """The items of some work in the same order, in lists, computed ahead of the caller.

        Items before the first forward pass are computed in the caller's thread, one in each list.
        If the caller stops, the work is closed after the pass it waits for. Two lists are at least
        ``seconds`` apart, more if the loop has much work.

        Raises: what the work raises, after the items before it.
        """
        first = next(work, None)
        while first is not None and not isinstance(first, ForwardPass):
            yield [first]
            first = next(work, None)
        if first is None:
            return
        task = _Task(work, first)
        if kernels.interpreting() or shared_passes_of(first.session) is None:
            task.advance_alone()
        else:
            self._add(task)
        yield from task.batches(lambda: max(seconds, self._size * _SECONDS_PER_RUN))

    def _add(self, task: _Task[Any]) -> None:
        with self._mutex:
            self._new.append(task)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name="runs", daemon=True).start()

    def _run(self) -> None:
        running: list[_Task[Any]] = []
        while True:
            with self._mutex:
                running += self._new
                self._new.clear()
                self._size = len(running)
                if not running:
                    self._is_running = False
                    return
            continued = []
            for task, ms in _advance_all(running):
                if ms > _SLOW_MS:
                    task.advance_alone()
                else:
                    continued.append(task)
            running = continued


def _advance_all(tasks: Sequence[_Task[Any]]) -> Iterator[tuple[_Task[Any], float]]:
    """Run the passes that tasks wait for, and the work up to the next ones.

    Yields the tasks that have not ended, with the milliseconds of their work.
    """
    try:
        results = run_together([task.waits_for for task in tasks if task.waits_for is not None])
    except BaseException as error:  # raised in each caller
        for task in tasks:
            task.end(error)
        return
    for task, result in zip(tasks, results, strict=True):
        started = time.perf_counter()
        if task.advance(result):
            yield task, milliseconds_since(started)


class _Task(Generic[Item]):
    """Work that another thread computes for its caller."""

    def __init__(self, work: Work[Item], waits_for: ForwardPass | None = None) -> None:
        self._work = work
        #: The time budget of the caller, which may end the work.
        self._budget = current_budget()
        #: None before the first pass, if there is one.
        self.waits_for = waits_for
        #: Whether the caller wants no further items.
        self._is_cancelled = False
        self._computed: deque[Item] = deque()
        self._error: BaseException | None = None
        #: Set when there are new items, or none will follow.
        self._news = threading.Event()
        self._ended = threading.Event()

    def advance(self, result: TimedLogits | ModelError | None) -> bool:
        """Compute up to the next forward pass; False at the end."""
        try:
            while not self._is_cancelled:
                with within(self._budget):
                    item = self._work.send(result)
                if isinstance(item, ForwardPass):
                    self.waits_for = item
                    return True
                result = None
                self._computed.append(item)
                self._news.set()
            self._work.close()  # in the thread that ran it: its resources are released immediately
        except StopIteration:
            self.end()
        except BaseException as error:  # raised again in the caller
            self.end(error)
        else:
            self.end()
        return False

    def advance_alone(self) -> None:
        """Compute the rest in a separate thread."""

        def run() -> None:
            goes_on = self.waits_for is not None or self.advance(None)
            while goes_on:
                goes_on = any(_advance_all([self]))

        threading.Thread(target=run, name="run", daemon=True).start()

    def end(self, error: BaseException | None = None) -> None:
        """Record that no items follow; an error is raised in the caller."""
        self._error = error
        self._ended.set()
        self._news.set()

    def batches(self, seconds: Callable[[], float]) -> Generator[list[Item], None, None]:
        """The items in lists, ``seconds()`` apart; the first and the last list without delay."""
        try:
            while True:
                self._news.wait()
                self._news.clear()
                ended = self._ended.is_set()
                if items := [self._computed.popleft() for _ in range(len(self._computed))]:
                    yield items
                if ended:
                    break
                self._ended.wait(seconds())
        finally:
            self._is_cancelled = True
        if self._error is not None:
            raise self._error
