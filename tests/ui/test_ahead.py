from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from workbench.app.ui.streams import ahead


def test_the_same_items_in_the_same_order() -> None:
    assert list(ahead(iter(range(1000)))) == list(range(1000))
    assert list(ahead(iter(()))) == []


def test_the_work_does_not_wait_for_its_reader() -> None:
    done = threading.Event()

    def work() -> Iterator[int]:
        yield 1
        yield 2
        done.set()

    reading = ahead(work())
    assert next(reading) == 1
    assert done.wait(30), "though the second item was not requested"
    assert list(reading) == [2]


def test_who_stops_reading_ends_the_work() -> None:
    closed, asked = threading.Event(), threading.Event()

    def work() -> Iterator[int]:
        try:
            yield 0
            asked.wait(30)
            while True:
                yield 1
        finally:
            closed.set()

    reading = ahead(work())
    next(reading)
    reading.close()
    asked.set()
    assert closed.wait(30)


def test_error_of_the_work_reaches_its_reader() -> None:
    def work() -> Iterator[int]:
        yield 1
        raise ValueError("gone")

    reading = ahead(work())
    assert next(reading) == 1
    with pytest.raises(ValueError, match="gone"):
        next(reading)
