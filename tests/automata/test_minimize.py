"""minimize(): sizes known from theory, one table for each language, and worst cases."""

from __future__ import annotations

import numpy as np
import pytest

from tests.automata.machines import machine, rows, tree
from workbench.automata.determinize import determinize
from workbench.automata.minimize import minimize, normalized
from workbench.automata.thompson import thompson
from workbench.base.dfa import Dfa

#   pattern                 states  because
SIZES = [
    ("",                    1,      "the empty text alone"),
    (r"[^\s\S]",            1,      "the empty language is one state"),
    ("a*",                  1,      "one loop"),
    ("(foo)+d",             5,      "Koo et al. 2024, figure 2"),
    ("(a|b)*abb",           4,      "Aho, Sethi & Ullman 1986, figure 3.36"),
    ("(a|b)*a(a|b){3}",     16,     "2^4: the last four letters have to be remembered"),
    ("(a|b)*a(a|b){9}",     1024,   "2^10"),
    ("[a-z]{0,20}x",        42,     "the last letter may have been the x, or not"),
    ("a{0,300}b*",          301,    "states that only a long text tells apart"),
    ("(?:a{3})*|(?:a{2})*", 6,      "counting modulo 6"),
    ("abc|abd|xbc|xbd",     4,      "equal tails are shared"),
    ("(?:.|\n)",            9,      "any character: initial, final, and seven states inside"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "states", "because"), SIZES)
def test_minimal_machines_have_the_sizes_of_theory(pattern: str, states: int, because: str) -> None:
    assert len(machine(pattern)) == states, because


#   equal languages, written differently
SAME = [
    ("(a|b)*", "(a*b*)*"),
    ("a(ba)*", "(ab)*a"),
    ("(a|ab)(c|bcd)", "ac|abcd|abc|abbcd"),
    ("[0-9]{2,3}", r"(?a:\d\d\d?)"),
    (r"\x61?", "a|"),
    ("a+?", "aa*"),
    ("[b-da]", "[a-d]"),
    ("(?i)k", "[Kk\u212a]"),
    (r"a[^\s\S]|b", "b"),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_equal_languages_give_identical_tables(left: str, right: str) -> None:
    one, other = machine(left), machine(right)
    assert one.classes.tolist() == other.classes.tolist()
    assert rows(one) == rows(other)
    assert one.finals.tolist() == other.finals.tolist()
    assert one.initial == other.initial == 0


def test_states_are_numbered_breadth_first() -> None:
    assert rows(machine("ab|c")) == [[-1, 1, -1, 2], [-1, -1, 2, -1], [-1, -1, -1, -1]]


def test_minimize_is_idempotent() -> None:
    once = machine("(a|b)*a(a|b){5}")
    again = minimize(once)
    assert rows(once) == rows(again)
    assert once.classes.tolist() == again.classes.tolist()


def test_a_machine_that_is_not_trimmed() -> None:
    # 0 -a-> 1 (final) -a-> 3 (no final state follows); 2 is never reached
    dfa = Dfa(
        np.zeros(256, np.uint16),
        np.array([[1], [3], [1], [3]], np.int32),
        np.array([False, True, False, False]),
    )
    assert rows(minimize(dfa)) == [[1], [-1]]


def test_normalized_merges_equal_columns() -> None:
    classes = np.array([2] * 128 + [0] * 64 + [1] * 64, np.uint16)
    dfa = normalized(classes, np.array([[0, 0, 1], [1, 1, 0]], np.int32), np.ones(2, np.bool_), 1)
    assert rows(dfa) == [[1, 0], [0, 1]]
    assert dfa.classes.tolist() == [0] * 128 + [1] * 128


def test_states_that_differ_after_a_long_text_are_not_merged() -> None:
    # the branches differ only after 200 letters
    dfa = minimize(determinize(thompson(tree("a(x{200}y)?z*|b(x{200}w)?z*"))))
    assert dfa.accepts(b"a" + b"x" * 200 + b"y")
    assert not dfa.accepts(b"b" + b"x" * 200 + b"y")
    assert dfa.accepts(b"b" + b"x" * 200 + b"w")
