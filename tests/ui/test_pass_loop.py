from __future__ import annotations

import threading
from collections.abc import Generator
from itertools import chain

import pytest

from tests.decoding.worlds import FiniteConstraint
from workbench.app.ui.streams import PassLoop, Work, in_thread
from workbench.base.errors import ModelError
from workbench.decoding.generate import generate
from workbench.decoding.model import ForwardPass, TimedLogits
from workbench.decoding.shared_passes import run_together
from workbench.decoding.transformers_model import TransformersModel


def counted(most: int) -> Generator[int, None, None]:
    yield from range(most)


def test_the_same_items_in_the_same_order() -> None:
    assert list(chain.from_iterable(in_thread(counted(1000), 0))) == list(range(1000))
    assert list(in_thread(counted(0), 0)) == []


def test_items_are_delivered_together_after_some_seconds() -> None:
    most = list(in_thread(counted(1000), 60))
    assert len(most) <= 2, "the first ones, and the others when the work ended"


def test_the_work_does_not_wait_for_its_reader() -> None:
    done = threading.Event()

    def work() -> Generator[int, None, None]:
        yield 1
        yield 2
        done.set()

    reading = in_thread(work(), 0)
    found = next(reading)
    assert done.wait(30), "though the second item was not requested"
    assert [*found, *chain.from_iterable(reading)] == [1, 2]


def test_who_stops_reading_ends_the_work() -> None:
    closed, asked = threading.Event(), threading.Event()

    def work() -> Generator[int, None, None]:
        try:
            yield 0
            asked.wait(30)
            while True:
                yield 1
        finally:
            closed.set()

    reading = in_thread(work(), 0)
    next(reading)
    reading.close()
    asked.set()
    assert closed.wait(30)


def test_error_of_the_work_reaches_its_reader() -> None:
    def work() -> Generator[int, None, None]:
        yield 1
        raise ValueError("gone")

    reading = in_thread(work(), 0)
    assert next(reading) == [1]
    with pytest.raises(ValueError, match="gone"):
        next(reading)


# -- work with forward passes ----------------------------------------------------------------------


def tokens(model: TransformersModel, number: int) -> Work[int]:
    """The tokens of a generation; the first item comes before its passes."""
    yield -number
    constraint = FiniteConstraint(model.vocabulary, [b"one two three", b"four five"])
    run = generate(model, constraint, "one " * (1 + number % 5))
    answer: TimedLogits | ModelError | None = None
    while (item := run.proceed(answer)) is not None:
        answer = None
        if isinstance(item, ForwardPass):
            answer = yield item
        else:
            yield item.token_id


def alone(work: Work[int]) -> list[int]:
    """What work yields if its passes are run one after the other."""
    found, answer = list[int](), None
    while True:
        try:
            item = work.send(answer)
        except StopIteration:
            return found
        answer = run_together([item])[0] if isinstance(item, ForwardPass) else None
        if not isinstance(item, ForwardPass):
            found.append(item)


def test_callers_get_the_items_of_their_work(tiny_model: TransformersModel) -> None:
    loop = PassLoop()
    found: dict[int, list[int]] = {}

    def call(number: int) -> None:
        found[number] = list(chain.from_iterable(loop.batches(tokens(tiny_model, number), 0)))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {number: alone(tokens(tiny_model, number)) for number in range(12)}


def test_one_thread_runs_the_passes_of_all(tiny_model: TransformersModel) -> None:
    loop, computing, begun = PassLoop(), set[str](), threading.Barrier(4)

    def work(number: int) -> Work[int]:
        begun.wait(30)
        running = tokens(tiny_model, number)
        answer: TimedLogits | ModelError | None = None
        try:
            while True:
                answer = yield running.send(answer)
                if answer is not None:
                    computing.add(threading.current_thread().name)
        except StopIteration:
            return

    threads = [
        threading.Thread(target=lambda n=number: list(loop.batches(work(n), 0)))
        for number in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert computing == {"runs"}


def test_slow_work_continues_in_another_thread(tiny_model: TransformersModel) -> None:
    loop, waits, ended = PassLoop(), threading.Event(), threading.Event()

    def slow() -> Work[int]:
        session = tiny_model.session()
        yield ForwardPass(session, [1], 1)
        assert ended.wait(0.2) or True  # longer than an advance may take
        yield ForwardPass(session, [1, 2], 1)
        waits.set()
        assert ended.wait(30), "the other work ends although this one waits for it"
        yield 1

    def other() -> Work[int]:
        session = tiny_model.session()
        for length in range(1, 100):
            yield ForwardPass(session, [1] * length, 1)
            if waits.is_set():
                break
        yield 2

    found: list[list[int]] = []
    first = threading.Thread(target=lambda: found.extend(loop.batches(slow(), 0)))
    first.start()
    found.extend(loop.batches(other(), 0))
    ended.set()
    first.join(60)
    assert sorted(found) == [[1], [2]]


def test_error_of_one_caller_is_not_that_of_another(tiny_model: TransformersModel) -> None:
    loop = PassLoop()

    def wrong() -> Work[int]:
        answer = yield ForwardPass(tiny_model.session(), [], 1)
        assert isinstance(answer, ModelError)
        raise answer

    def failing() -> None:
        with pytest.raises(ModelError, match="at least one token"):
            list(loop.batches(wrong(), 0))

    thread = threading.Thread(target=failing)
    thread.start()
    assert [-3] in loop.batches(tokens(tiny_model, 3), 0)
    thread.join(60)
    assert not thread.is_alive()
