"""determinize(): subsets, symbol classes, limits; explore() and trimmed(), the worklist of the operations."""

from __future__ import annotations

import time
from itertools import count

import numpy as np
import pytest

from tests.automata.machines import machine, rows, tree
from workbench.automata.build import regex_dfa
from workbench.automata.determinize import determinize, explore, nothing, trimmed
from workbench.automata.nfa import NfaBuilder
from workbench.automata.thompson import thompson
from workbench.base import cpu_time, limits
from workbench.base.dfa import DEAD
from workbench.base.errors import LimitError
from workbench.base.limits import Limits


def test_the_textbook_example() -> None:
    # Aho, Sethi & Ullman 1986, section 3.6: (a|b)*abb has five subsets, four after minimization
    dfa = determinize(thompson(tree("(a|b)*abb")))
    for text, accepted in [("abb", True), ("aabb", True), ("ab", False), ("abba", False)]:
        assert dfa.accepts(text.encode()) is accepted
    assert len(machine("(a|b)*abb")) == 4


def test_symbols_no_edge_tells_apart_share_a_class() -> None:
    dfa = determinize(thompson(tree("[a-z]+[0-9]")))
    assert dfa.table.shape[1] == 3  # letters, digits, the rest
    assert dfa.classes[ord("a")] == dfa.classes[ord("z")]
    assert dfa.classes[ord("0")] not in (dfa.classes[ord("a")], dfa.classes[ord("!")])


def test_every_state_reaches_a_final_one() -> None:
    dfa = determinize(thompson(tree(r"ab|ac[^\s\S]|b[^\s\S]*")))
    assert dfa.run(b"ac") == DEAD
    assert dfa.accepts(b"ab")
    assert dfa.accepts(b"b")


def test_the_empty_language_is_one_state() -> None:
    dfa = determinize(thompson(tree(r"[^\s\S]")))
    assert (len(dfa), dfa.is_empty, rows(dfa)) == (1, True, [[DEAD]])


def test_symbols_above_the_bytes_are_calls() -> None:
    builder = NfaBuilder(symbols=300)
    start, middle, end = (builder.new_state() for _ in range(3))
    builder.edge(start, 256, 256, middle)
    builder.edge(start, 97, 97, middle)
    builder.edge(middle, 257, 299, end)
    dfa = determinize(builder.build(start, {end}))
    assert len(dfa.classes) == 300
    assert dfa.classes[97] == dfa.classes[256] != dfa.classes[257]
    assert dfa.finals[dfa.step(dfa.step(dfa.initial, 256), 280)]


#   pattern                 limits                      budget
EXPLODING = [
    ("(a|b)*a(a|b){30}",    Limits(),                   "states"),
    ("(a|b)*a(a|b){30}",    Limits(states=10),          "states"),
    (r"(.*a.*b){60}.{40}",  Limits(seconds=0.05),       "seconds"),
    (r"(a?b?c?){0,2000}",   Limits(seconds=0.2),        "seconds"),
    (r"\w{1,20}",            Limits(megabytes=1),        "megabytes"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "limits", "budget"), EXPLODING)
def test_error_where_the_subsets_explode(pattern: str, limits: Limits, budget: str) -> None:
    regex = tree(pattern)
    started = time.thread_time()
    with pytest.raises(LimitError) as error:
        regex_dfa(regex, limits)
    assert error.value.budget == budget
    assert time.thread_time() - started < limits.seconds + 5


def test_error_message_says_what_to_do() -> None:
    with pytest.raises(LimitError) as error:
        machine("(a|b)*a(a|b){30}", Limits(states=1_000))
    assert str(error.value) == (
        "needs more than 1,000 states\n"
        "hint: a repetition or a choice makes too many cases; bound it"
    )


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


def test_error_exploring_above_the_states_limit() -> None:
    with pytest.raises(LimitError, match="needs more than 100 states"):
        explore(0, lambda n: [n + 1], lambda n: True, ONE_CLASS, Limits(states=100))


def test_error_exploring_above_the_seconds_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr(limits, "perf_counter", lambda: 0.01 * next(ticks))
    monkeypatch.setattr(cpu_time, "cpu_seconds", lambda: 0.01 * next(ticks))
    with pytest.raises(LimitError, match=r"needs more than 0\.1 seconds"):
        explore(0, lambda n: [n + 1], lambda n: True, ONE_CLASS, Limits(seconds=0.1))


def test_trimmed_keeps_a_single_initial_state() -> None:
    dfa = trimmed(ONE_CLASS, np.array([[1], [1]], np.int32), np.array([True, False]), 0)
    assert rows(dfa) == [[-1]]
    assert dfa.accepts(b"")
