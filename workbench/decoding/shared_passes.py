"""Continuous batching: forward passes that several contexts share.

``run_together`` runs the passes that one thread waits for. ``PassQueue`` is for many threads:
calls wait until one of them runs a pass for all. Neither knows how a model shares a pass.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from workbench.base.errors import ModelError
from workbench.decoding.candidates import milliseconds_since
from workbench.decoding.model import ForwardPass, Session, SharedPasses, TimedLogits

#: The most contexts that share a pass.
MAX_ROWS = 64


def run_together(passes: Sequence[ForwardPass]) -> list[TimedLogits | ModelError]:
    """Run forward passes, those of one model's sessions together if they can be shared.

    Each result is that of ``Session.score`` with the milliseconds of its pass, or its error.
    """
    shared: dict[SharedPasses, list[int]] = {}
    by_index: dict[int, TimedLogits | ModelError] = {}
    for index, forward_pass in enumerate(passes):
        model = shared_passes_of(forward_pass.session)
        if model is not None:
            shared.setdefault(model, []).append(index)
            continue
        started = time.perf_counter()
        try:
            rows = forward_pass.session.score(forward_pass.token_ids, forward_pass.last)
            by_index[index] = rows, milliseconds_since(started)
        except ModelError as error:
            by_index[index] = error
    for model, indices in shared.items():
        started = time.perf_counter()
        results = model.score([passes[index] for index in indices])
        ms = milliseconds_since(started)
        for index, result in zip(indices, results, strict=True):
            by_index[index] = result if isinstance(result, ModelError) else (result, ms)
    return [by_index[index] for index in range(len(passes))]


def shared_passes_of(session: Session) -> SharedPasses | None:
    """What runs a session's passes with those of other sessions; None if they are run alone."""
    passes: SharedPasses | None = getattr(session, "shared_passes", None)
    return passes


@dataclass(slots=True, eq=False)
class Call:
    """The requests of one thread, which waits until all of them are answered."""

    #: How many are not answered.
    left: int = 0
    #: Gets an item when the thread may return, or run the next pass.
    woken: queue.SimpleQueue[None] = field(default_factory=queue.SimpleQueue, init=False)
    returned: bool = field(default=False, init=False)
    thread: int = field(default_factory=threading.get_ident, init=False)


class Request(Protocol):
    """What a pass answers."""

    call: Call


_Request = TypeVar("_Request", bound=Request)

#: Seconds that a call waits for the threads of the last pass: as long as that pass took, within
#: these bounds.
_LEAST_PATIENCE, _MOST_PATIENCE = 0.002, 0.05


class PassQueue(Generic[_Request]):
    """Collects the requests of many threads, and lets one of them run a pass for several.

    A thread that finds no pass running, and no other thread that is expected, runs the pass itself:
    a program with one thread never waits. Expected are the threads whose calls the last pass
    completed, since they will ask for their next token. A call waits for them until the last one
    has asked, or for as long as a pass takes; then they are no longer expected.

    The threads that a pass answered return one after the other: each wakes the next one when it
    asks again. If all ran at the same time, they would switch at every array operation (16 threads
    of the embedded model took 1.4 times as long). A thread that is not woken for 50 ms returns by
    itself, so a slow one does not stop the others.

    ``choose``  which of the waiting requests, oldest first, share the next pass; none if all of
                them must wait for memory.
    ``run``     runs the pass and stores the answers; may raise only what ends a program.
    """

    def __init__(
        self,
        choose: Callable[[Sequence[_Request]], Sequence[_Request]],
        run: Callable[[Sequence[_Request]], None],
    ) -> None:
        self._choose = choose
        self._run = run
        self._mutex = threading.Lock()
        self._waiting: list[_Request] = []
        #: Calls that are answered, and wait for their turn to return.
        self._answered: deque[Call] = deque()
        #: The call that runs a pass, and the requests that share it.
        self._running: tuple[Call, Sequence[_Request]] | None = None
        self._expected: set[int] = set()
        #: When calls no longer wait for the expected threads.
        self._due = 0.0
        self._patience = _LEAST_PATIENCE

    def answer(self, call: Call, requests: Sequence[_Request]) -> None:
        """Return when passes have answered all requests of a call."""
        try:
            with self._mutex:
                self._waiting += requests
                self._expected.discard(call.thread)
                now = time.monotonic()
                if now < self._due:
                    self._due = now + self._patience
                self._wake_answered()
            while call.left:
                with self._mutex:
                    chosen, seconds = self._begin(call, time.monotonic())
                if chosen:
                    self._pass(chosen)
                elif call.left:
                    self._wait(call, seconds)
        except BaseException:  # such as KeyboardInterrupt: another thread must run the next pass
            with self._mutex:
                if self._running is not None and self._running[0] is call:
                    self._waiting[:0] = self._running[1]
                    self._running = None
                self._waiting = [request for request in self._waiting if request.call is not call]
                self._wake_next()
            raise
        finally:
            call.returned = True

    @staticmethod
    def _wait(call: Call, seconds: float) -> None:
        with contextlib.suppress(queue.Empty):
            call.woken.get(timeout=seconds)

    def _begin(self, call: Call, now: float) -> tuple[Sequence[_Request], float]:
        """The requests of the pass that the caller runs; else none, and the seconds to wait."""
        if self._running is not None or not self._waiting:
            return (), _MOST_PATIENCE
        if self._expected and now < self._due:
            return (), self._due - now
        chosen = self._choose(self._waiting)
        if not chosen:
            return (), _MOST_PATIENCE
        taken = set(map(id, chosen))
        self._running = call, chosen
        self._waiting = [request for request in self._waiting if id(request) not in taken]
        return chosen, 0.0

    def _pass(self, chosen: Sequence[_Request]) -> None:
        """Run a pass and wake the threads it answered, and one of those that still wait."""
        started = time.monotonic()
        self._run(chosen)
        now = time.monotonic()
        with self._mutex:
            self._running = None
            self._complete(chosen, now, now - started)
            self._wake_next()

    def _complete(self, chosen: Sequence[_Request], now: float, seconds: float) -> None:
        for request in chosen:
            request.call.left -= 1
        calls = {id(request.call): request.call for request in chosen if not request.call.left}
        self._expected = {call.thread for call in calls.values()}
        self._patience = min(max(seconds, _LEAST_PATIENCE), _MOST_PATIENCE)
        self._due = now + self._patience
        self._answered.extend(calls.values())
        if not any(call.thread == threading.get_ident() for call in calls.values()):
            self._wake_answered()  # otherwise this thread returns first

    def _wake_answered(self) -> None:
        """Let the next answered call return."""
        while self._answered:
            call = self._answered.popleft()
            if not call.returned and call.thread != threading.get_ident():
                call.woken.put(None)
                return

    def _wake_next(self) -> None:
        """Let the thread that waits longest begin a pass, unless one is running."""
        if self._waiting and self._running is None:
            self._waiting[0].call.woken.put(None)
