"""Decides which question of which visitor is worked on next, and answers "busy" beyond that.

Gradio works on the questions of the page's scripts as they arrive, each in one of 40 threads that
static files and streams need too. Here every question has a class (``LIGHT``, ``HEAVY``, ``MODEL``,
``READING`` or ``AUDIT``), and each class a ``FairQueue``: a few questions are worked on at a time,
some wait without a thread, and clients take turns. Work that takes longer than a ``slice`` gives
way at the next check of its clocks: questions that have just arrived go first, then those that gave
way, one slice each. So a question that needs little is answered at once, however many costly ones
are asked. A question whose connection is closed leaves the queue, or its work ends at the next
check.

Events (runs, comparisons, calls of the API) wait in Gradio's own queue; ``Events`` bounds how many
of one address are in it, and ends the work of a client that has left.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread

from workbench.base.errors import EndedError, WorkbenchError
from workbench.base.limits import (
    LIMITS,
    Clock,
    budget_clock,
    time_budget,
    within,
)

if TYPE_CHECKING:
    from gradio.data_classes import PredictBodyInternal
    from gradio.queueing import Event, Queue
    from starlette.requests import Request

T = TypeVar("T")


class BusyError(WorkbenchError):
    """Too many questions wait already; ``waiting`` of them."""

    def __init__(self, waiting: int) -> None:
        ahead = "1 question waits" if waiting == 1 else f"{waiting} questions wait"
        super().__init__(f"the server is busy: {ahead}", "try again in a few seconds")
        self.waiting = waiting


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Share:
    """How many questions of a class are worked on and wait: of all addresses, and of each.

    Two classes with equal numbers have separate queues.
    """

    at_once: int
    each_at_once: int
    waiting: int
    each_waiting: int
    #: Seconds after which a waiting question is answered "busy".
    patience: float = 20.0
    #: CPU seconds after which work gives way to other questions; it does not if infinite.
    slice: float = math.inf
    #: How many questions that gave way wait; one more is answered "busy".
    paused: int = 0


#: Questions that a visitor expects to be answered while they type.
LIGHT = Share(at_once=3, each_at_once=2, waiting=128, each_waiting=32, slice=0.05, paused=24)

#: Questions that may take all of their time budget: pictures, advice, samples, exports.
HEAVY = Share(at_once=2, each_at_once=1, waiting=64, each_waiting=16, slice=0.1, paused=12)

#: Questions for the model, which may have to be loaded first.
MODEL = Share(at_once=4, each_at_once=2, waiting=64, each_waiting=8, patience=60.0)

#: Files of results, each of which a separate process reads.
READING = Share(at_once=1, each_at_once=1, waiting=16, each_waiting=2, patience=120.0)

#: Audits of engines, each in a separate process that may take more than a minute.
AUDIT = Share(at_once=1, each_at_once=1, waiting=16, each_waiting=2, patience=120.0)

#: Seconds without a change of turns after which the work that gave way first continues, and does
#: not give way again: it may hold a lock for which the questions that are worked on wait. The locks
#: of this package are ``WorkLock``, whose holders need no such help; a library may have others.
_MAX_STANDSTILL = 2.0

#: Events of all clients that wait or are worked on, at most.
MAX_EVENTS = 200

#: Events of one address that wait or are worked on, at most.
MAX_EVENTS_EACH = 12

#: Messages that wait for a client that does not read them; then its run ends.
MAX_UNREAD = 100

#: Characters of a tab's name that are compared.
_MAX_SESSION = 40


class Client(NamedTuple):
    """Who asks: an address, and a tab of the page that was opened there.

    At an address of this machine, each tab counts as an address.
    """

    address: str
    session: str


class FairQueue:
    """Gives turns to addresses one after another, and to the tabs of an address likewise.

    An address never has all turns, so another one waits at most until one question is answered.
    For the tasks of one event loop.
    """

    def __init__(self, share: Share) -> None:
        self._share = share
        self._running: Counter[str] = Counter()
        self._waiting: OrderedDict[str, OrderedDict[str, deque[anyio.Event]]] = OrderedDict()
        #: Those that gave way, with their addresses.
        self._paused: OrderedDict[anyio.Event, str] = OrderedDict()
        #: How often a turn has ended or continued.
        self._changes = 0

    @property
    def waiting(self) -> int:
        """How many questions wait for their first turn."""
        return sum(map(self._waiting_at, self._waiting))

    @property
    def is_wanted(self) -> bool:
        """Whether another question could have the turn of one that gives way."""
        return bool(self._waiting or self._paused)

    def _waiting_at(self, address: str) -> int:
        return sum(map(len, self._waiting.get(address, {}).values()))

    @asynccontextmanager
    async def turn(self, client: Client) -> AsyncIterator[None]:
        """Wait for a turn, which lasts for the block.

        Raises: BusyError at once if too many wait, or after ``patience`` seconds.
        """
        if self._may_arrive(client.address):
            self._running[client.address] += 1
        else:
            await self._wait(client)
        try:
            yield
        finally:
            self._end(client.address)

    async def give_way(self, client: Client) -> bool:
        """End a turn and wait for another one; False if the work should not give way again.

        Raises: BusyError if too many wait that gave way.
        """
        address, turn = client.address, anyio.Event()
        if len(self._paused) >= self._share.paused:
            raise BusyError(len(self._paused))
        self._paused[turn] = address
        self._end(address)
        while not turn.is_set():
            changes = self._changes
            with anyio.move_on_after(_MAX_STANDSTILL):
                await turn.wait()
            is_first = next(iter(self._paused), None) is turn
            if is_first and self._changes == changes:
                del self._paused[turn]
                self._running[address] += 1
                self._changes += 1
                return False
        return True

    def _may_arrive(self, address: str) -> bool:
        """Whether a question may have its first turn: the paused ones of an address are bounded."""
        paused = sum(each == address for each in self._paused.values())
        return self._may_begin(address) and paused < 2 * self._share.each_at_once

    def _may_begin(self, address: str) -> bool:
        share = self._share
        free = self._running.total() < share.at_once
        return free and self._running[address] < share.each_at_once

    async def _wait(self, client: Client) -> None:
        address, session = client
        share, waiting = self._share, self.waiting
        if waiting >= share.waiting or self._waiting_at(address) >= share.each_waiting:
            raise BusyError(waiting)
        turn = anyio.Event()
        self._waiting.setdefault(address, OrderedDict()).setdefault(session, deque()).append(turn)
        try:
            with anyio.move_on_after(share.patience):
                await turn.wait()
        except BaseException:
            if turn.is_set():  # the turn came at the moment in which the client left
                self._end(address)
            else:
                self._remove(client, turn)
            raise
        if not turn.is_set():
            self._remove(client, turn)
            raise BusyError(self.waiting)

    def _remove(self, client: Client, turn: anyio.Event) -> None:
        tabs = self._waiting[client.address]
        tabs[client.session].remove(turn)
        if not tabs[client.session]:
            del tabs[client.session]
        if not tabs:
            del self._waiting[client.address]

    def _end(self, address: str) -> None:
        """End a turn; the next one is for the first address that may begin."""
        self._changes += 1
        self._running[address] -= 1
        if not self._running[address]:
            del self._running[address]
        following = next(filter(self._may_arrive, self._waiting), None)
        if following is None:
            self._continue_paused()
            return
        tabs = self._waiting[following]
        session = next(iter(tabs))
        turn = tabs[session][0]
        # both move behind the others
        tabs.move_to_end(session)
        self._waiting.move_to_end(following)
        self._remove(Client(following, session), turn)
        self._running[following] += 1
        turn.set()

    def _continue_paused(self) -> None:
        """The next turn is for the first that gave way and may begin."""
        for turn, address in self._paused.items():
            if self._may_begin(address):
                del self._paused[turn]
                self._running[address] += 1
                turn.set()
                return


class _TurnClock(Clock):
    """Lets other questions go first after each slice of the work of a question.

    ``is_refused``: whether too many gave way already, so that the work has to end.
    """

    __slots__ = ("_client", "_gives_way", "_queue", "is_refused")

    def __init__(self, share: Share, queue: FairQueue, client: Client, ending: Clock) -> None:
        super().__init__(replace(LIMITS, seconds=share.slice), ending)
        self._queue, self._client = queue, client
        self._gives_way, self.is_refused = True, False

    def exceeded(self, hint: str) -> None:
        """Give way after a slice, unless this work holds what others wait for."""
        if self._gives_way:
            self._gives_way = self._gave_way()
        self.restart()

    def give_way(self) -> None:
        """Give way now, whatever is left of the slice."""
        self._gave_way()

    def _gave_way(self) -> bool:
        """Give way, in the event loop, while this thread waits; see ``FairQueue.give_way``.

        Raises: EndedError if the work has to end.
        """
        if not self._queue.is_wanted:
            return True
        try:
            return anyio.from_thread.run(self._queue.give_way, self._client)
        except BusyError:
            self.is_refused = True
            self.end()
            raise EndedError from None


class Admission:
    """The queues of one server."""

    def __init__(self, *, behind_proxy: bool = False) -> None:
        self._queues = {share: FairQueue(share) for share in (LIGHT, HEAVY, MODEL, READING, AUDIT)}
        # never full, because the queues admit fewer
        threads = sum(share.at_once + share.paused for share in self._queues)
        self._threads = anyio.CapacityLimiter(threads)
        self._behind_proxy = behind_proxy

    def client(self, request: Request, session: object) -> Client:
        """Who sent a request; behind a proxy, the address that the proxy reports."""
        host = request.client.host if request.client else ""
        if self._behind_proxy:
            # the last address is that of the proxy's own client; earlier ones may be invented
            host = request.headers.get("x-forwarded-for", host).rpartition(",")[2].strip()
        tab = str(session)[:_MAX_SESSION]
        return Client(tab if _is_local(host) else host, tab)

    async def answer(
        self, share: Share, request: Request, seconds: float, work: Callable[[], T]
    ) -> T | None:
        """The result of ``work``, done in a thread in its client's turn; None if the client left.

        The work may take ``seconds`` of CPU time (``time_budget``).

        Raises: BusyError; what ``work`` raises.
        """
        body = await request.json()
        client = self.client(request, body.get("session_hash"))
        ending, queue = budget_clock(), self._queues[share]

        def in_thread() -> T | None:
            turn = _TurnClock(share, queue, client, ending)
            with suppress(EndedError), within(turn), time_budget(seconds):
                return work()
            if turn.is_refused:
                raise BusyError(share.paused)
            return None

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            ending.end()
            scope.cancel()

        with anyio.CancelScope() as scope:
            watching = asyncio.create_task(watch())
            try:
                async with queue.turn(client):
                    return await anyio.to_thread.run_sync(in_thread, limiter=self._threads)
            finally:
                watching.cancel()
        return None


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True  # a test client, or a socket file


class Events:
    """The events of Gradio's queue (runs, comparisons, calls of the API), bounded for each address.

    Gradio bounds all of them together: without this, one client could fill the queue.
    """

    def __init__(self, queue: Queue, admission: Admission) -> None:
        self._queue, self._admission = queue, admission
        self._push, self._clean_events = queue.push, queue.clean_events
        vars(queue).update(push=self.push, clean_events=self.clean_events)
        #: The clocks of all work, each with the session of its client.
        self._working: set[tuple[str | None, Clock]] = set()

    async def push(
        self, body: PredictBodyInternal, request: Request, username: str | None
    ) -> tuple[Any, ...]:
        """Gradio's ``Queue.push``; refuses an event as where the queue is full."""
        address = self._admission.client(request, body.session_hash).address
        theirs = sum(
            self._admission.client(event.request, event.session_hash).address == address
            for event in self._all()
        )
        if theirs >= MAX_EVENTS_EACH:
            return False, f"{BusyError(theirs)}: they are yours", "queue_full"
        return await self._push(body=body, request=request, username=username)

    def _all(self) -> Iterator[Event]:
        """The events that wait or are worked on."""
        for waiting in self._queue.event_queue_per_concurrency_id.values():
            yield from waiting.queue
        for working in self._queue.active_jobs:
            yield from working or ()

    async def clean_events(
        self, *, session_hash: str | None = None, event_id: str | None = None
    ) -> None:
        """Gradio's ``Queue.clean_events``, called when a client has left; ends its work too."""
        for session, clock in tuple(self._working):
            if session == session_hash:
                clock.end()
        await self._clean_events(session_hash=session_hash, event_id=event_id)

    @contextmanager
    def _work(self, session: str | None) -> Iterator[Clock]:
        """The clock of some work, which ends when its client leaves."""
        work = (session, budget_clock())
        self._working.add(work)
        try:
            yield work[1]
        finally:
            self._working.discard(work)

    def while_connected(self, session: str | None, answer: Callable[[], T]) -> T | None:
        """The answer; None if its client has left."""
        with suppress(EndedError), self._work(session) as clock, within(clock):
            return answer()
        return None

    def while_read(self, session: str | None, begin: Callable[[], Iterator[T]]) -> Iterator[T]:
        """The items, until the client leaves, or ``MAX_UNREAD`` messages wait for it."""
        with suppress(EndedError), self._work(session) as clock:
            with within(clock):
                items = begin()
            while True:
                with within(clock):  # not around ``yield``: the caller's work is another one
                    item = next(items, None)
                if item is None:
                    return
                yield item
                if self._is_unread(session):
                    return

    def _is_unread(self, session: str | None) -> bool:
        messages = self._queue.pending_messages_per_session.get(session or "")
        return messages is not None and messages.qsize() > MAX_UNREAD
