"""determinize(): subsets, symbol classes, larger alphabets, and limits."""

from __future__ import annotations

import time

import pytest

from tests.automata.machines import machine, rows, tree
from workbench.automata.build import regex_dfa
from workbench.automata.determinize import determinize
from workbench.automata.nfa import NfaBuilder
from workbench.automata.thompson import thompson
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
