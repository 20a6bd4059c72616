"""Decides which question of which visitor is worked on next, and answers "busy" beyond that.

Gradio works on the questions of the page's scripts as they arrive, each in one of 40 threads that
static files and streams need too. Here every question has a class (``LIGHT``, ``HEAVY``, ``MODEL``
or ``READING``), and each class a ``FairQueue``: a few questions are worked on at a time, some wait
without a thread, and clients take turns. A question whose connection is closed leaves the queue, or
its work ends at the next check of its clocks.

Events (runs, comparisons, calls of the API) wait in Gradio's own queue; ``Events`` bounds how many
of one address are in it.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import anyio
import anyio.to_thread

from workbench.base.errors import EndedError, WorkbenchError
from workbench.base.limits import Deadline, time_budget

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How many questions of a class are worked on and wait: of all addresses, and of each."""

    at_once: int
    each_at_once: int
    waiting: int
    each_waiting: int
    #: Seconds after which a waiting question is answered "busy".
    patience: float = 20.0


#: Questions that a visitor expects to be answered while they type.
LIGHT = Share(at_once=4, each_at_once=3, waiting=128, each_waiting=32)

#: Questions that may take all of their time budget: pictures, advice, samples, exports.
HEAVY = Share(at_once=2, each_at_once=1, waiting=64, each_waiting=16)

#: Questions for the model, which may have to be loaded first.
MODEL = Share(at_once=4, each_at_once=2, waiting=64, each_waiting=8, patience=60.0)

#: Files of results, each of which a separate process reads.
READING = Share(at_once=1, each_at_once=1, waiting=16, each_waiting=2, patience=120.0)

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

    @property
    def waiting(self) -> int:
        """How many questions wait."""
        return sum(map(self._waiting_at, self._waiting))

    def _waiting_at(self, address: str) -> int:
        return sum(map(len, self._waiting.get(address, {}).values()))

    @asynccontextmanager
    async def turn(self, client: Client) -> AsyncIterator[None]:
        """Wait for a turn, which lasts for the block.

        Raises: BusyError at once if too many wait, or after ``patience`` seconds.
        """
        if self._may_begin(client.address):
            self._running[client.address] += 1
        else:
            await self._wait(client)
        try:
            yield
        finally:
            self._end(client.address)

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
        self._running[address] -= 1
        if not self._running[address]:
            del self._running[address]
        following = next(filter(self._may_begin, self._waiting), None)
        if following is None:
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


class Admission:
    """The queues of one server."""

    def __init__(self, *, behind_proxy: bool = False) -> None:
        self._queues = {share: FairQueue(share) for share in (LIGHT, HEAVY, MODEL, READING)}
        # never full, because the queues admit fewer
        self._threads = anyio.CapacityLimiter(sum(share.at_once for share in self._queues))
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
        sent = await request.json()
        client = self.client(request, sent.get("session_hash"))
        deadlines: list[Deadline] = []

        def in_thread() -> T | None:
            with suppress(EndedError), time_budget(seconds) as deadline:
                deadlines.append(deadline)
                return work()
            return None

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            for deadline in deadlines:
                deadline.end()
            scope.cancel()

        with anyio.CancelScope() as scope:
            watching = asyncio.create_task(watch())
            try:
                async with self._queues[share].turn(client):
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
        self._push = queue.push
        vars(queue)["push"] = self.push

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

    def while_read(self, session: str | None, items: Iterator[T]) -> Iterator[T]:
        """The items, until ``MAX_UNREAD`` messages wait for a client that does not read them."""
        for item in items:
            yield item
            messages = self._queue.pending_messages_per_session.get(session or "")
            if messages is not None and messages.qsize() > MAX_UNREAD:
                return
