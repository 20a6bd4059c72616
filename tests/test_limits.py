"""Limits: work within a limit passes, work above it raises LimitError."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.own_time import day_time
from workbench.base import kernels
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits, check_time_budget, time_budget
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
    with pytest.raises(ValueError, match=f"limit '{name}' must be above 0"):
        Limits(**{name: 0})


def test_stages_share_the_seconds() -> None:
    work = Limits(seconds=1e-6).begun()
    first, second = work.clock(), work.clock()
    assert first.started == second.started
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


def test_the_earlier_of_two_deadlines_holds() -> None:
    with time_budget(0.02), time_budget(60), pytest.raises(LimitError, match=r"than 0\.02 seconds"):
        spend(0.1)
    with time_budget(60):
        with time_budget(0.02), pytest.raises(LimitError):
            spend(0.1)
        spend(0.03)


def test_loading_kernels_is_not_counted_in_a_time_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "counted_now", day_time)
    with time_budget(0.05):
        with kernels._not_counted(), kernels._not_counted():
            end = time.thread_time() + 0.1
            while time.thread_time() < end:
                pass
        time.sleep(0.1)  # another request
        check_time_budget()


def test_waiting_is_not_counted_in_a_time_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "counted_now", day_time)
    with time_budget(0.03):
        time.sleep(0.05)
        check_time_budget()
        LIMITS.clock().check()


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
    monkeypatch.setattr(kernels, "counted_now", day_time)
    with time_budget(0.2):
        work(0.15)
        monkeypatch.setattr(kernels._state, "switched", kernels.counted_now())
        time.sleep(0.25)
        work(0.1)
        check_time_budget()
        with pytest.raises(LimitError):
            work(0.5)


def work(seconds: float) -> None:
    """Use CPU time, with checks of the budget."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        check_time_budget()
