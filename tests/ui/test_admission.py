"""Which question is worked on next, and what is answered "busy"."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from workbench.app.ui.admission import (
    HEAVY,
    MAX_EVENTS_EACH,
    MAX_UNREAD,
    Admission,
    BusyError,
    Client,
    Events,
    FairQueue,
    Share,
)
from workbench.base.limits import check_time_budget

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

    async def json(self) -> dict[str, str]:
        return {"session_hash": "tab"}

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
        admission, sent = Admission(), Sent()
        async with anyio.create_task_group() as group:

            async def leave() -> None:
                while len(checks) < 1000:
                    await anyio.sleep(0.001)
                sent.closed.set()

            group.start_soon(leave)
            with anyio.fail_after(20):
                answer: object = await admission.answer(HEAVY, sent, 100.0, work)  # type: ignore[arg-type]
                assert answer is None
        assert not admission._queues[HEAVY]._running

    anyio.run(run)


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

    async def push(self, body: Any, request: Any, username: str | None) -> tuple[Any, ...]:
        event = type("Event", (), {"request": request, "session_hash": body.session_hash})()
        self.event_queue_per_concurrency_id.setdefault("run", type("Waiting", (), {"queue": []}))
        self.event_queue_per_concurrency_id["run"].queue.append(event)
        return True, "event", "success"


def test_events_of_one_address_are_bounded() -> None:
    queue: Any = Queue()
    Events(queue, Admission())

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
    for item in Events(queue, Admission()).while_read("tab", iter(range(1000))):
        items.append(item)
        queue.unread += 1
    assert len(items) == MAX_UNREAD + 1
    assert len(list(Events(queue, Admission()).while_read("elsewhere", iter(range(1000))))) == 1000
