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

#: The same for each run of a model at a time: to send a batch takes time that all runs share.
_SECONDS_PER_RUN = 0.005

#: What computes items and, in between, waits for the results of forward passes.
Work = Generator[Item | ForwardPass, TimedLogits | ModelError | None, None]

#: Work that needed more seconds between two passes gets a separate thread.
_SLOW_SECONDS = 0.05


def in_thread(items: Iterator[Item], seconds: float) -> Generator[list[Item], None, None]:
    """The items in the same order, in lists, computed in a separate thread.

    If the caller stops, the work ends at its next item; its exceptions are raised in the caller.
    """

    def work() -> Work[Item]:
        yield from items

    task = _Advancing(work())
    task.advance_alone()
    return task.batches(lambda: seconds)


class PassLoop:
    """Runs the work of many callers in one thread, with the forward passes of all together.

    Compared to a thread for each work, no threads are switched for a token, and no other Python
    code runs between the operations of a pass, each of which would wait for it. In a separate
    thread continues what would delay the others: work with slow masks, all work before the kernels
    are compiled, and that of models whose sessions cannot share passes. The loop's thread ends when
    there is no work.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._new: list[_Advancing[Any]] = []
        self._count = 0
        self._active = False

    def batches(self, work: Work[Item], seconds: float) -> Iterator[list[Item]]:
        """The items of some work in the same order, in lists, computed ahead of the caller.

        What comes before the first forward pass is computed in the caller's thread, each item a
        list. If the caller stops, the work is closed after the pass it waits for.

        ``seconds``  the least time between two lists; longer if the loop has much work.

        Raises: what the work raises, after the items before it.
        """
        first = next(work, None)
        while first is not None and not isinstance(first, ForwardPass):
            yield [first]
            first = next(work, None)
        if first is None:
            return
        task = _Advancing(work, first)
        if kernels.interpreting() or shared_passes_of(first.session) is None:
            task.advance_alone()
        else:
            self._add(task)
        yield from task.batches(lambda: max(seconds, self._count * _SECONDS_PER_RUN))

    def _add(self, task: _Advancing[Any]) -> None:
        with self._mutex:
            self._new.append(task)
            if not self._active:
                self._active = True
                threading.Thread(target=self._run, name="runs", daemon=True).start()

    def _run(self) -> None:
        running: list[_Advancing[Any]] = []
        while True:
            with self._mutex:
                running += self._new
                self._new.clear()
                self._count = len(running)
                if not running:
                    self._active = False
                    return
            running = list(_advance_all(running))


def _advance_all(running: Sequence[_Advancing[Any]]) -> Iterator[_Advancing[Any]]:
    """Run the passes that all wait for; those that the loop continues with."""
    try:
        results = run_together([task.waits_for for task in running if task.waits_for is not None])
    except BaseException as error:  # raised in each caller
        for task in running:
            task.end(error)
        return
    for task, result in zip(running, results, strict=True):
        started = time.perf_counter()
        if task.advance(result):
            if milliseconds_since(started) > 1000 * _SLOW_SECONDS:
                task.advance_alone()
            else:
                yield task


class _Advancing(Generic[Item]):
    """Work that is computed in another thread than its caller's."""

    def __init__(self, work: Work[Item], waits_for: ForwardPass | None = None) -> None:
        self._work = work
        #: The caller's, which may end the work.
        self._budget = current_budget()
        #: None before work that may have no passes.
        self.waits_for = waits_for
        #: Whether the caller wants no further items.
        self._left = False
        self._computed: deque[Item] = deque()
        self._error: BaseException | None = None
        #: Set when there are items, or none will follow.
        self._found = threading.Event()
        self._ended = threading.Event()

    def advance(self, result: TimedLogits | ModelError | None) -> bool:
        """Compute up to the next forward pass; False at the end."""
        try:
            while not self._left:
                with within(self._budget):
                    item = self._work.send(result)
                if isinstance(item, ForwardPass):
                    self.waits_for = item
                    return True
                result = None
                self._computed.append(item)
                self._found.set()
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
        """There are no further items; an error is raised in the caller."""
        self._error = error
        self._ended.set()
        self._found.set()

    def batches(self, seconds: Callable[[], float]) -> Generator[list[Item], None, None]:
        """The items in lists, some ``seconds`` apart; the first and the last without delay."""
        try:
            while True:
                self._found.wait()
                self._found.clear()
                ended = self._ended.is_set()
                if items := [self._computed.popleft() for _ in range(len(self._computed))]:
                    yield items
                if ended:
                    break
                self._ended.wait(seconds())
        finally:
            self._left = True
        if self._error is not None:
            raise self._error
