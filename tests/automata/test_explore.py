"""explore() and trimmed(): the worklist that the operations use."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from tests.automata.machines import rows
from workbench.automata.determinize import explore, nothing, trimmed
from workbench.base import cpu_time, limits
from workbench.base.errors import LimitError
from workbench.base.limits import Limits

ONE_CLASS = np.zeros(256, np.uint16)


def test_nodes_are_numbered_breadth_first() -> None:
    dfa = explore(7, lambda n: [n - 1 if n > 5 else None], lambda n: n == 5, ONE_CLASS)
    assert rows(dfa) == [[1], [2], [-1]]
    assert dfa.finals.tolist() == [False, False, True]


def test_nodes_that_reach_no_final_one_are_left_out() -> None:
    dfa = explore(
        1, lambda n: [n * 2 % 10, 3], lambda n: n == 4, np.arange(256).astype(np.uint16) % 2
    )
    assert dfa.accepts(b"\x00\x00")  # 1 -> 2 -> 4
    assert dfa.run(b"\x00") != -1
    only_end = explore(1, lambda n: [3, n + 1 if n < 3 else 3], lambda n: n == 2, dfa.classes)
    assert rows(only_end) == [[-1, 1], [-1, -1]]


def test_without_final_nodes_the_language_is_empty() -> None:
    assert explore(0, lambda n: [n], lambda n: False, ONE_CLASS).is_empty
    assert nothing(256).is_empty


def test_error_above_the_states_limit() -> None:
    with pytest.raises(LimitError, match="needs more than 100 states"):
        explore(0, lambda n: [n + 1], lambda n: True, ONE_CLASS, Limits(states=100))


def test_error_above_the_seconds_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr(limits, "perf_counter", lambda: 0.01 * next(ticks))
    monkeypatch.setattr(cpu_time, "cpu_seconds", lambda: 0.01 * next(ticks))
    with pytest.raises(LimitError, match=r"needs more than 0\.1 seconds"):
        explore(0, lambda n: [n + 1], lambda n: True, ONE_CLASS, Limits(seconds=0.1))


def test_trimmed_keeps_a_single_initial_state() -> None:
    dfa = trimmed(ONE_CLASS, np.array([[1], [1]], np.int32), np.array([True, False]), 0)
    assert rows(dfa) == [[-1]]
    assert dfa.accepts(b"")
