"""Limits: work within a limit passes, work above it raises LimitError."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from workbench.base import kernels
from workbench.base.cpu_time import cpu_seconds, uncounted
from workbench.base.errors import EndedError, LimitError
from workbench.base.limits import (
    LIMITS,
    Clock,
    Limits,
    budget_clock,
    check_time_budget,
    time_budget,
    within,
)
from workbench.base.source import Source
from workbench.syntax.kbnf.kbnf_parser import parse_kbnf
from workbench.syntax.regex.parser import parse_regex


def test_error_names_the_budget_in_words() -> None:
    limits = Limits(token_edges=1_000)
    limits.check("token_edges", 1_000)
    with pytest.raises(LimitError) as caught:
        limits.check("token_edges", 1_001)
    assert caught.value.budget == "token_edges"
    assert str(caught.value) == (
        "needs more than 1,000 token edges\n"
        "hint: simplify the grammar, or raise the limit (Limits) when running locally"
    )


@pytest.mark.parametrize("name", ["states", "seconds", "megabytes", "rows", "stack_depth"])
def test_error_for_a_limit_of_zero(name: str) -> None:
    changed: dict[str, Any] = {name: 0}
    with pytest.raises(ValueError, match=f"as {name!r}, not 0"):
        replace(LIMITS, **changed)


def test_stages_share_the_seconds() -> None:
    work = Limits(seconds=1e-6).begun()
    first, second = work.clock(), work.clock()
    assert first is second
    while second.seconds < 1e-5:
        pass
    with pytest.raises(LimitError, match="needs more than 1e-06 seconds"):
        second.check()


def test_error_of_a_clock_has_a_hint() -> None:
    clock = Limits(seconds=1e-9).begun().clock()
    with pytest.raises(LimitError) as caught:
        clock.check("write less")
    assert caught.value.hint == "write less"
    LIMITS.clock().check()


def spend(seconds: float) -> None:
    """Check one clock after another, each of new limits, for that many seconds."""
    clock = LIMITS.clock()
    while clock.seconds < seconds:
        LIMITS.clock().check()


def test_operations_share_a_time_budget() -> None:
    with time_budget(0.05):
        spend(0.03)
        with pytest.raises(LimitError, match=r"needs more than 0\.05 seconds") as caught:
            spend(0.03)
        with pytest.raises(LimitError):
            check_time_budget()
    assert caught.value.budget == "seconds"
    spend(0.03)
    check_time_budget()


def test_nested_time_budgets_all_hold() -> None:
    with time_budget(0.02), time_budget(60), pytest.raises(LimitError, match=r"than 0\.02 seconds"):
        spend(0.1)
    with time_budget(60):
        with time_budget(0.02), pytest.raises(LimitError):
            spend(0.1)
        spend(0.03)


def use_processor(seconds: float) -> None:
    """Use CPU time of this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_a_thread_that_sleeps_uses_no_seconds() -> None:
    clock = Limits(seconds=0.02).clock()
    with time_budget(0.02):
        time.sleep(0.05)
        clock.check()
        check_time_budget()
    assert clock.seconds < 0.02


def test_a_thread_that_works_uses_its_seconds() -> None:
    clock = Limits(seconds=0.02).clock()
    use_processor(0.03)
    assert clock.seconds >= 0.03
    for _ in range(2):  # again at each later check
        with pytest.raises(LimitError, match=r"needs more than 0\.02 seconds"):
            clock.check()


def test_another_busy_thread_uses_none_of_the_seconds() -> None:
    clock, is_over = Limits(seconds=0.05).clock(), threading.Event()

    def work() -> None:
        while not is_over.is_set():
            pass

    other = threading.Thread(target=work)
    other.start()
    end = time.perf_counter() + 0.3
    while time.perf_counter() < end:
        time.sleep(0.01)
        clock.check()
    is_over.set()
    other.join()


def test_work_that_another_thread_continues_is_counted_there() -> None:
    clock, errors = Limits(seconds=0.05).clock(), list[LimitError]()
    time.sleep(0.06)  # later checks read the CPU time

    def work() -> None:
        try:
            while cpu_seconds() < 1:
                clock.check()
        except LimitError as error:
            errors.append(error)

    for _ in range(2):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert len(errors) == 2
    clock.check()  # this thread worked for less


def test_uncounted_work_uses_no_seconds() -> None:
    clock = Limits(seconds=0.05).clock()
    with time_budget(0.05):
        with uncounted(), uncounted():
            use_processor(0.1)
            clock.check()
        clock.check()
        use_processor(0.06)
        with pytest.raises(LimitError):
            clock.check()


def test_ended_work_stops_at_its_next_check() -> None:
    """Also where a narrower budget holds, and when the end comes from another thread."""
    ending = budget_clock()
    with within(ending), time_budget(60), time_budget(1):
        LIMITS.clock().check()
        thread = threading.Thread(target=ending.end)
        thread.start()
        thread.join()
        for _ in range(2):
            with pytest.raises(EndedError):
                LIMITS.clock().check()
            with pytest.raises(EndedError):
                check_time_budget()
    LIMITS.clock().check()


def test_a_copied_clock_begins_anew() -> None:
    clock = Clock(Limits(seconds=0.05))
    use_processor(0.06)
    copied = pickle.loads(pickle.dumps(clock))
    copied.check()
    with pytest.raises(LimitError):
        clock.check()


#   what reads                       a text                       the hint when time is over
READING: list[tuple[Callable[..., object], str, str]] = [
    (parse_regex,                    "a|" * 300,                  "the regex is very long; shorten it"),
    (parse_regex,                    "(a)" * 300,                 "the regex is very long; shorten it"),
    (parse_kbnf,                     "start ::= 'a';" * 300,      "the grammar is very long; shorten it"),
]  # fmt: skip


@pytest.mark.parametrize(("read", "text", "hint"), READING)
def test_parsers_check_the_clock(read: Callable[..., object], text: str, hint: str) -> None:
    clock = Limits(seconds=1e-9).begun().clock()
    with pytest.raises(LimitError) as caught:
        read(Source(text, "text"), clock=clock)
    assert (caught.value.budget, caught.value.hint) == ("seconds", hint)


def test_error_for_a_long_string_before_it_is_parsed() -> None:
    clock = Limits(states=10).clock()
    with pytest.raises(LimitError, match="needs more than 10 states"):
        parse_regex(Source("abcdefghijk", "regex"), clock=clock)
    with pytest.raises(LimitError, match="needs more than 10 states"):
        parse_kbnf(Source("start ::= 'abcdefghijk';", "grammar"), clock)


#   rows    megabytes   bytes of a row      rows remembered
ROWS = [
    (100,   1,          1_000,              100),
    (4_096, 1,          1_000,              500),
    (4_096, 256,        16_384,             4_096),
    (4_096, 256,        65_536,             1_953),
    (10,    1,          9_000_000,          1),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "megabytes", "size", "remembered"), ROWS)
def test_rows_remembered_fit_into_memory(
    rows: int, megabytes: int, size: int, remembered: int
) -> None:
    assert Limits(rows=rows, megabytes=megabytes).rows_of(size) == remembered


def test_cpu_time_is_counted_from_the_switch_to_compiled_kernels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with time_budget(0.2):
        use_processor(0.25)
        monkeypatch.setattr(kernels._state, "switched", time.perf_counter())
        check_time_budget()
        use_processor(0.1)
        check_time_budget()
        use_processor(0.15)
        with pytest.raises(LimitError):
            check_time_budget()
