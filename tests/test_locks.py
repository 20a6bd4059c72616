"""A lock for work that may be paused while it holds the lock."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from workbench.base.errors import EndedError
from workbench.base.limits import Clock, time_budget
from workbench.base.locks import WorkLock


def test_it_is_reentrant_and_excludes_other_threads() -> None:
    lock, steps = WorkLock(), list[int]()

    def step(number: int) -> None:
        with lock, lock:
            steps.extend(number for _ in range(100))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(step, range(40)))
    assert all(len(set(steps[begin : begin + 100])) == 1 for begin in range(0, 4000, 100))


def test_what_waits_gives_way_and_can_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the clock that is told to give way ends the work instead."""
    monkeypatch.setattr(Clock, "give_way", Clock.end)
    lock = WorkLock()

    def wait() -> None:
        with time_budget(60.0), lock:
            pytest.fail("the lock was taken while another thread held it")

    with lock, ThreadPoolExecutor(1) as pool, pytest.raises(EndedError):
        pool.submit(wait).result(timeout=60)
