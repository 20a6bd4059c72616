"""Decides which request of which visitor is worked on next, and answers "busy" beyond that.

Every question and every stream of the page has a class, its ``Share`` of the server, and each class
a ``FairQueue``: a few requests are worked on at a time, some wait without a thread, and clients
take turns. Work on a question that takes longer than a ``slice`` gives way at the next check of its
clocks: questions that have just arrived go first, then those that gave way, one slice each. So a
question that needs little is answered at once, however many costly ones are asked. A request whose
connection is closed leaves the queue, or its work ends at the next check.

Calls of the API wait in Gradio's own queue; ``Events`` bounds how many of one address are in it,
and ends the work of a client that has left.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread

from workbench.app.ui.shares import AUDIT, COMPARISON, HEAVY, LIGHT, MODEL, READING, RUN, Share
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
    from starlette.types import Message

T = TypeVar("T")


class BusyError(WorkbenchError):
    """Too many questions wait already; ``waiting`` of them."""

    def __init__(self, waiting: int) -> None:
        ahead = "1 question waits" if waiting == 1 else f"{waiting} questions wait"
        super().__init__(f"the server is busy: {ahead}", "try again in a few seconds")
        self.waiting = waiting


#: Seconds in which a client must take what is sent to it; then its stream ends.
MAX_UNREAD_SECONDS = 30.0

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

#: The header in which the page sends the name of its tab.
TAB_HEADER = "x-workbench-tab"

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

    def must_wait(self, client: Client) -> bool:
        """Whether a request of a client would have to wait for its turn."""
        return not self._may_arrive(client.address)

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
        shares = (LIGHT, HEAVY, MODEL, READING, AUDIT, RUN, COMPARISON)
        self._queues = {share: FairQueue(share) for share in shares}
        # never full, because the queues admit fewer
        threads = sum(share.at_once + share.paused for share in shares)
        self._threads = anyio.CapacityLimiter(threads)
        self._behind_proxy = behind_proxy

    def client(self, request: Request, session: str | None = None) -> Client:
        """Who sent a request from a tab; behind a proxy, the address that the proxy reports.

        The page names its tab in a header, Gradio's clients a session in their body.
        """
        host = request.client.host if request.client else ""
        if self._behind_proxy:
            # the last address is that of the proxy's own client; earlier ones may be invented
            host = request.headers.get("x-forwarded-for", host).rpartition(",")[2].strip()
        tab = str(session or request.headers.get(TAB_HEADER))[:_MAX_SESSION]
        return Client(tab if _is_local(host) else host, tab)

    async def answer(
        self, share: Share, request: Request, seconds: float, work: Callable[[], T]
    ) -> T | None:
        """The result of ``work``, done in a thread in its client's turn; None if the client left.

        The body of the request has been read. The work may take ``seconds`` of CPU time
        (``time_budget``).

        Raises: BusyError; what ``work`` raises.
        """
        client = self.client(request)
        ending, queue = budget_clock(), self._queues[share]

        def in_thread() -> T | None:
            turn = _TurnClock(share, queue, client, ending)
            with suppress(EndedError), within(turn), time_budget(seconds):
                return work()
            if turn.is_refused:
                raise BusyError(share.paused)
            return None

        async with _while_connected(request.receive, ending), queue.turn(client):
            return await anyio.to_thread.run_sync(in_thread, limiter=self._threads)
        return None

    async def stream(
        self,
        share: Share,
        request: Request,
        begin: Callable[[], Iterator[T]],
        send: Callable[[T | BusyError | None], Awaitable[None]],
    ) -> None:
        """Send the items of work, each computed in a thread in its client's turn.

        ``send`` gets None if the client has to wait for its turn, and at last a BusyError if it
        waited in vain. The work ends when the client leaves, or takes too long to read an item.
        """
        client, ending, queue = self.client(request), budget_clock(), self._queues[share]
        items: Iterator[T] | None = None

        def following() -> T | None:
            nonlocal items
            with suppress(EndedError), within(ending):
                items = items or begin()
                return next(items, None)
            return None

        async with _while_connected(request.receive, ending):
            if queue.must_wait(client):
                await send(None)
            try:
                async with queue.turn(client):
                    while True:
                        item = await anyio.to_thread.run_sync(following, limiter=self._threads)
                        if item is None:
                            return
                        with anyio.move_on_after(MAX_UNREAD_SECONDS) as reading:
                            await send(item)
                        if reading.cancelled_caught:
                            return
            except BusyError as busy:
                await send(busy)
            finally:
                ending.end()


@asynccontextmanager
async def _while_connected(
    receive: Callable[[], Awaitable[Message]], ending: Clock
) -> AsyncIterator[None]:
    """The block ends, and its clock with it, when the client closes its connection."""

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        ending.end()
        scope.cancel()

    with anyio.CancelScope() as scope:
        watching = asyncio.create_task(watch())
        try:
            yield
        finally:
            watching.cancel()


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True  # a test client, or a socket file


class Events:
    """The events of Gradio's queue, calls of the API, bounded for each address.

    Gradio bounds all of them together: without this, one client could fill the queue.
    """

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        #: The clocks of all work, each with the session of its client.
        self._working: set[tuple[str | None, Clock]] = set()

    def limit(self, queue: Queue) -> None:
        """Limit the events of a queue of Gradio, from now on."""
        self._queue = queue
        self._push, self._clean_events = queue.push, queue.clean_events
        vars(queue).update(push=self.push, clean_events=self.clean_events, max_size=MAX_EVENTS)

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
