"""Which question is worked on next, and what is answered "busy"."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from workbench.app.ui import admission
from workbench.app.ui.admission import (
    MAX_EVENTS_EACH,
    MAX_UNREAD,
    Admission,
    BusyError,
    Client,
    Events,
    FairQueue,
)
from workbench.app.ui.shares import AUDIT, COMPARISON, HEAVY, LIGHT, RUN, Share
from workbench.app.ui.streams import in_thread
from workbench.base.limits import check_time_budget
from workbench.base.locks import WorkLock

SHARE = Share(at_once=2, each_at_once=1, waiting=20, each_waiting=10)


async def settle() -> None:
    """Let every task run until it waits for another one."""
    for _ in range(10):
        await anyio.lowlevel.checkpoint()


class Clients:
    """Clients whose questions are answered when the test says so."""

    def __init__(self, share: Share, group: anyio.abc.TaskGroup) -> None:
        self.queue = FairQueue(share)
        self.group = group
        self.working: list[tuple[Client, anyio.Event]] = []
        self.answered: list[Client] = []
        self.refused: list[Client] = []
        self.scopes: list[anyio.CancelScope] = []

    async def ask(self, address: str, session: str = "tab") -> anyio.CancelScope:
        client, scope = Client(address, session), anyio.CancelScope()

        async def question() -> None:
            with scope:
                try:
                    async with self.queue.turn(client):
                        end = anyio.Event()
                        self.working.append((client, end))
                        try:
                            await end.wait()
                        finally:
                            self.working.remove((client, end))
                        self.answered.append(client)
                except BusyError:
                    self.refused.append(client)

        self.group.start_soon(question)
        await settle()
        return scope

    async def answer(self) -> None:
        """End the oldest question that is worked on."""
        self.working[0][1].set()
        await settle()

    async def answer_all(self) -> None:
        while self.working:
            await self.answer()


def with_clients(test: Callable[[Clients], Awaitable[None]], share: Share = SHARE) -> None:
    async def run() -> None:
        async with anyio.create_task_group() as group:
            clients = Clients(share, group)
            await test(clients)
            await clients.answer_all()
            assert not clients.queue.waiting
            assert not clients.queue._running

    anyio.run(run)


def test_one_address_never_has_all_turns() -> None:
    async def test(clients: Clients) -> None:
        for _ in range(5):
            await clients.ask("many")
        assert len(clients.working) == 1
        await clients.ask("other")
        assert [client.address for client, _ in clients.working] == ["many", "other"]

    with_clients(test)


def test_addresses_take_turns_and_so_do_the_tabs_of_one() -> None:
    async def test(clients: Clients) -> None:
        for _ in range(3):
            await clients.ask("a", "one")
        await clients.ask("a", "two")
        for _ in range(2):
            await clients.ask("b")
            await clients.ask("c")
        await clients.answer_all()
        order = [f"{client.address}.{client.session}" for client in clients.answered]
        assert order == ["a.one", "a.one", "b.tab", "c.tab", "a.two", "b.tab", "c.tab", "a.one"]

    with_clients(test, replace(SHARE, at_once=1))


def test_what_is_too_much_is_refused_at_once() -> None:
    async def test(clients: Clients) -> None:
        for _ in range(SHARE.each_waiting + 3):
            await clients.ask("many")
        assert len(clients.refused) == 2
        for number in range(SHARE.waiting):
            await clients.ask(f"address {number}")
        # one of these has the second turn, ten wait beside those of the first address
        assert clients.queue.waiting == SHARE.waiting
        assert Counter(client.address for client in clients.refused)["many"] == 2
        assert len(clients.refused) == 2 + SHARE.waiting - 11

    with_clients(test)


def test_a_question_waits_no_longer_than_the_patience() -> None:
    async def test(clients: Clients) -> None:
        await clients.ask("many")
        await clients.ask("many")
        await anyio.sleep(0.05)
        assert [client.address for client in clients.refused] == ["many"]
        assert clients.queue.waiting == 0

    with_clients(test, replace(SHARE, patience=0.02))


def test_who_gives_way_continues_after_the_questions_that_wait() -> None:
    async def test(clients: Clients) -> None:
        order: list[str] = []

        async def costly(address: str) -> None:
            client = Client(address, "tab")
            async with clients.queue.turn(client):
                for part in range(3):
                    order.append(f"{address}{part}")
                    await clients.queue.give_way(client)

        await clients.ask("first")
        for address in "abc":
            clients.group.start_soon(costly, address)
            await settle()
        assert clients.queue.is_wanted
        await clients.answer()
        await settle()
        assert order == ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"]
        assert not clients.queue.is_wanted

    with_clients(test, replace(SHARE, at_once=1, paused=9))


def test_a_question_that_arrives_goes_before_those_that_gave_way() -> None:
    async def test(clients: Clients) -> None:
        order: list[str] = []

        async def light() -> None:
            async with clients.queue.turn(Client("light", "tab")):
                order.append("light")

        async def costly(address: str) -> None:
            client = Client(address, "tab")
            async with clients.queue.turn(client):
                for part in range(3):
                    order.append(f"{address}{part}")
                    if order[-1] == "a1":
                        clients.group.start_soon(light)
                        await settle()
                    await clients.queue.give_way(client)

        await clients.ask("first")
        for address in "ab":
            clients.group.start_soon(costly, address)
            await settle()
        await clients.answer()
        await settle()
        assert order == ["a0", "b0", "a1", "light", "b1", "a2", "b2"]

    with_clients(test, replace(SHARE, at_once=1, paused=9))


def test_too_many_that_gave_way_are_refused() -> None:
    async def test(clients: Clients) -> None:
        refused: list[tuple[str, int]] = []

        async def costly(address: str) -> None:
            client = Client(address, "tab")
            async with clients.queue.turn(client):
                try:
                    await clients.queue.give_way(client)
                except BusyError as error:
                    refused.append((address, error.waiting))

        await clients.ask("first")
        for address in "abc":
            clients.group.start_soon(costly, address)
            await settle()
        await clients.answer()
        await settle()
        assert refused == [("c", 2)]
        assert not clients.queue.is_wanted

    with_clients(test, replace(SHARE, at_once=1, paused=2))


def test_a_standstill_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The question that is worked on may wait for a lock that the paused one holds."""
    monkeypatch.setattr(admission, "_MAX_STANDSTILL", 0.02)

    async def test(clients: Clients) -> None:
        await clients.ask("holds a lock")
        await clients.ask("waits for it")
        assert not await clients.queue.give_way(Client("holds a lock", "tab"))
        assert clients.queue._running == {"holds a lock": 1, "waits for it": 1}
        assert not clients.queue.is_wanted

    with_clients(test, replace(SHARE, at_once=1, paused=9))


async def ask_light(
    queues: Admission, results: list[object], address: str, work: Callable[[], object]
) -> None:
    sent: Any = Sent(address)
    results.append(await queues.answer(LIGHT, sent, 100.0, work))


@pytest.mark.parametrize("gives_way", [True, False])
def test_a_holder_of_a_lock_gets_its_turn(
    monkeypatch: pytest.MonkeyPatch, *, gives_way: bool
) -> None:
    """Three questions wait for the lock of a fourth, in all turns that there are."""
    lock: WorkLock | threading.Lock = WorkLock() if gives_way else threading.Lock()
    steps, standstills = list[int](), list[Client]()
    give_way = FairQueue.give_way
    if not gives_way:
        monkeypatch.setattr(admission, "_MAX_STANDSTILL", 0.25)

    async def noted(queue: FairQueue, client: Client) -> bool:
        may_again = await give_way(queue, client)
        if not may_again:
            standstills.append(client)
        return may_again

    monkeypatch.setattr(FairQueue, "give_way", noted)

    def locked() -> bool:
        with lock:
            for step in range(20):
                steps.append(step)
                end = time.thread_time() + LIGHT.slice
                while time.thread_time() < end:
                    check_time_budget()
        return True

    async def run() -> None:
        queues, results = Admission(), list[object]()
        ask = partial(ask_light, queues, results)

        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(ask, f"10.0.0.{number}", locked)
        assert results == [True] * 4

    anyio.run(run)
    assert len(steps) == 80
    # without the lock's help, each question that holds it is paused once
    assert not standstills if gives_way else 0 < len(standstills) == len(set(standstills))


def test_one_address_does_not_pause_all_of_its_questions() -> None:
    async def test(clients: Clients) -> None:
        begun: list[int] = []

        async def costly(number: int) -> None:
            client = Client("many", "tab")
            async with clients.queue.turn(client):
                begun.append(number)
                for _ in range(9):
                    await clients.queue.give_way(client)

        await clients.ask("first")
        for number in range(5):
            clients.group.start_soon(costly, number)
            await settle()
        await clients.answer()
        assert begun[:2] == [0, 1]
        assert len(clients.queue._paused) <= 2
        for _ in range(20):
            await settle()
        assert begun == [0, 1, 2, 3, 4]

    with_clients(test, replace(SHARE, at_once=1, each_at_once=1, paused=9))


def test_a_light_question_is_answered_beside_many_costly_ones() -> None:
    answered, addresses = threading.Event(), 20

    def costly() -> bool:
        while not answered.is_set():
            check_time_budget()
        return True

    async def run() -> None:
        queues, results = Admission(), list[object]()
        ask = partial(ask_light, queues, results)

        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for number in range(addresses):
                    group.start_soon(ask, f"10.0.0.{number}", costly)
                await settle()
                await ask("10.0.1.0", lambda: "light")
                assert results == ["light"]
                answered.set()
        assert results == ["light", *[True] * addresses]
        assert not queues._queues[LIGHT]._running

    anyio.run(run)


@pytest.mark.parametrize("seed", range(20))
def test_clients_that_leave_take_no_turns_with_them(seed: int) -> None:
    chance = random.Random(seed)

    async def test(clients: Clients) -> None:
        scopes: list[Any] = []
        for _ in range(150):
            match chance.randrange(4):
                case 0 | 1:
                    scope = await clients.ask(chance.choice("abc"), chance.choice("xy"))
                    scopes.append(scope)
                case 2 if scopes:
                    scopes.pop(chance.randrange(len(scopes))).cancel()
                    if chance.random() < 0.5:
                        await settle()
                case _ if clients.working:
                    await clients.answer()
            running = Counter(client.address for client, _ in clients.working)
            assert running.total() <= SHARE.at_once
            assert all(count <= SHARE.each_at_once for count in running.values())
        await settle()

    with_clients(test)


class Sent:
    """A request whose connection is closed when the test says so."""

    def __init__(self, address: str = "1.2.3.4", headers: dict[str, str] | None = None) -> None:
        self.client = type("Address", (), {"host": address})()
        self.headers = headers or {}
        self.closed = anyio.Event()

    async def receive(self) -> dict[str, str]:
        await self.closed.wait()
        return {"type": "http.disconnect"}


def test_work_whose_client_left_ends_at_its_next_check() -> None:
    checks: list[int] = []

    def work() -> object:
        while True:
            checks.append(0)
            check_time_budget()

    async def run() -> None:
        queues, sent = Admission(), Sent()
        async with anyio.create_task_group() as group:

            async def leave() -> None:
                while len(checks) < 1000:
                    await anyio.sleep(0.001)
                sent.closed.set()

            group.start_soon(leave)
            with anyio.fail_after(20):
                answer: object = await queues.answer(HEAVY, sent, 100.0, work)  # type: ignore[arg-type]
                assert answer is None
        assert not queues._queues[HEAVY]._running

    anyio.run(run)


class Audits:
    """Audits that last until the test ends them, or their client leaves."""

    def __init__(self, admission: Admission, group: anyio.abc.TaskGroup) -> None:
        self.admission, self.group = admission, group
        self.requests: list[Sent] = []
        self.begun: list[int] = []
        self.ended = threading.Event()

    def ask(self) -> None:
        number = len(self.requests)
        request = Sent(f"1.2.3.{number}")
        self.requests.append(request)

        def work() -> None:
            self.begun.append(number)
            while not self.ended.is_set():
                check_time_budget()
                time.sleep(0.001)

        answer: Any = self.admission.answer
        self.group.start_soon(answer, AUDIT, request, 100.0, work)

    async def until_begun(self, count: int) -> None:
        with anyio.fail_after(20):
            while len(self.begun) < count:
                await anyio.sleep(0.001)


def test_audits_wait_for_each_other_and_pictures_do_not_wait_for_audits() -> None:
    async def run() -> None:
        async with anyio.create_task_group() as group:
            audits = Audits(Admission(), group)
            for _ in range(3):
                audits.ask()
            await audits.until_begun(1)
            for address in ("5.6.7.8", "5.6.7.9"):
                picture: Any = Sent(address)
                with anyio.fail_after(20):
                    answer = await audits.admission.answer(HEAVY, picture, 100.0, lambda: "picture")
                assert answer == "picture"
            assert audits.begun == [0]
            assert audits.admission._queues[AUDIT].waiting == 2
            # the turn of a client that leaves is free, whether its audit runs or waits
            audits.requests[1].closed.set()
            audits.requests[0].closed.set()
            await audits.until_begun(2)
            assert audits.begun == [0, 2]
            audits.ended.set()
        assert not audits.admission._queues[AUDIT]._running

    anyio.run(run)


def test_classes_with_equal_numbers_have_separate_queues() -> None:
    assert replace(SHARE) != SHARE
    assert len(Admission()._queues) == 7


@pytest.mark.parametrize(
    ("behind", "address", "forwarded", "expected"),
    [
        (False, "1.2.3.4", "9.9.9.9", "1.2.3.4"),
        (True, "127.0.0.1", "9.9.9.9, 5.6.7.8", "5.6.7.8"),
        (True, "1.2.3.4", None, "1.2.3.4"),
        (False, "127.0.0.1", None, "tab"),
        (False, "::1", None, "tab"),
    ],
)
def test_clients_are_told_apart_by_address(
    behind: bool, address: str, forwarded: str | None, expected: str
) -> None:
    sent: Any = Sent(address, {} if forwarded is None else {"x-forwarded-for": forwarded})
    found = Admission(behind_proxy=behind).client(sent, "tab")
    assert found == Client(expected, "tab")


class Queue:
    """What ``Events`` uses of Gradio's queue."""

    def __init__(self) -> None:
        self.event_queue_per_concurrency_id: dict[str, Any] = {}
        self.active_jobs: list[Any] = []
        self.pending_messages_per_session: dict[str, Any] = {"tab": self}
        self.unread = 0

    def qsize(self) -> int:
        return self.unread

    async def clean_events(self, **_: Any) -> None:
        pass

    async def push(self, body: Any, request: Any, username: str | None) -> tuple[Any, ...]:
        event = type("Event", (), {"request": request, "session_hash": body.session_hash})()
        self.event_queue_per_concurrency_id.setdefault("run", type("Waiting", (), {"queue": []}))
        self.event_queue_per_concurrency_id["run"].queue.append(event)
        return True, "event", "success"


def bounded(queue: Any) -> Events:
    events = Events(Admission())
    events.limit(queue)
    return events


def test_events_of_one_address_are_bounded() -> None:
    queue: Any = Queue()
    bounded(queue)

    async def run() -> None:
        body = type("Body", (), {"session_hash": "tab"})()
        many: Any = Sent("1.2.3.4")
        for _ in range(MAX_EVENTS_EACH):
            assert (await queue.push(body, many, None))[0]
        taken, why, kind = await queue.push(body, many, None)
        assert (taken, kind) == (False, "queue_full")
        assert "12 questions wait" in why
        other: Any = Sent("5.6.7.8")
        assert (await queue.push(body, other, None))[0]
        # those that are worked on count too
        queue.active_jobs = [queue.event_queue_per_concurrency_id["run"].queue, None]
        queue.event_queue_per_concurrency_id = {}
        assert not (await queue.push(body, many, None))[0]

    anyio.run(run)


def test_a_run_ends_where_its_client_reads_nothing() -> None:
    queue: Any = Queue()
    items: list[int] = []
    for item in bounded(queue).while_read("tab", lambda: iter(range(1000))):
        items.append(item)
        queue.unread += 1
    assert len(items) == MAX_UNREAD + 1
    assert len(list(bounded(queue).while_read("elsewhere", lambda: iter(range(1000))))) == 1000


def endless() -> Iterator[int]:
    """One item, then work without an end."""
    yield 1
    while True:
        check_time_budget()


@pytest.mark.parametrize("in_other_thread", [False, True])
def test_work_of_a_client_who_left_ends_at_its_next_check(in_other_thread: bool) -> None:
    queue: Any = Queue()
    events, items = bounded(queue), list[Any]()

    def stream(session: str, work: Iterator[int]) -> None:
        begin = partial(in_thread, work, 0.01) if in_other_thread else lambda: work
        items.extend(events.while_read(session, begin))

    threads = [
        threading.Thread(target=stream, args=("tab", endless())),
        threading.Thread(target=stream, args=("elsewhere", iter(range(1000)))),
    ]
    for thread in threads:
        thread.start()
    while not items:
        time.sleep(0.001)
    anyio.run(partial(queue.clean_events, session_hash="tab"))
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    flat = chain.from_iterable(items) if in_other_thread else items
    assert sorted(flat) == sorted([1, *range(1000)])
    assert not events._working


# -- streams ---------------------------------------------------------------------------------------


class Reader:
    """A client that reads a stream; ``wait`` blocks it for seconds at each item."""

    def __init__(self, address: str = "1.2.3.4", wait: float = 0) -> None:
        self.request: Any = Sent(address)
        self.wait = wait
        self.received: list[Any] = []

    async def send(self, item: Any) -> None:
        await anyio.sleep(self.wait)
        self.received.append(item)


def test_the_items_of_a_stream_arrive_in_order_and_one_more_client_waits() -> None:
    async def run() -> None:
        admission, first, second = Admission(), Reader(), Reader("5.6.7.8")
        begun, over = threading.Event(), threading.Event()

        def held() -> Iterator[int]:
            yield 1
            begun.set()
            over.wait(20)
            yield 2

        async with anyio.create_task_group() as group:
            args = (COMPARISON, first.request, held, first.send)
            group.start_soon(admission.stream, *args)
            while not begun.is_set():
                await anyio.sleep(0.001)
            args = (COMPARISON, second.request, lambda: iter([3, 4]), second.send)
            group.start_soon(admission.stream, *args)
            while not second.received:
                await anyio.sleep(0.001)
            assert second.received == [None], "it is told that it waits"
            over.set()
        assert first.received == [1, 2]
        assert second.received == [None, 3, 4]

    anyio.run(run)


def test_the_work_of_a_stream_ends_when_its_client_leaves() -> None:
    async def run() -> None:
        admission, reader = Admission(), Reader()
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                args = (RUN, reader.request, endless, reader.send)
                group.start_soon(admission.stream, *args)
                while not reader.received:
                    await anyio.sleep(0.001)
                reader.request.closed.set()
        assert reader.received == [1]
        assert not admission._queues[RUN]._running

    anyio.run(run)


def test_a_stream_that_is_not_read_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "MAX_UNREAD_SECONDS", 0.01)

    async def run() -> None:
        queues, reader = Admission(), Reader(wait=20)
        with anyio.fail_after(10):
            await queues.stream(RUN, reader.request, lambda: iter(range(100)), reader.send)
        assert reader.received == []
        assert not queues._queues[RUN]._running

    anyio.run(run)


def test_who_waits_in_vain_for_a_stream_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        queues, reader = Admission(), Reader()
        full = replace(RUN, at_once=0, waiting=0)
        queues._queues[full] = FairQueue(full)
        await queues.stream(full, reader.request, lambda: iter([1]), reader.send)
        waiting, busy = reader.received
        assert waiting is None
        assert isinstance(busy, BusyError)

    anyio.run(run)
