"""The NFA of a program has the language of an equal regex, for every instruction."""

from __future__ import annotations

import numpy as np
import pytest

from tests.automata.machines import machine
from workbench.automata.nfa import BYTES
from workbench.automata.operations import equivalent
from workbench.automata.program_nfa import program_nfa, rule_nfa
from workbench.automata.regex_program import (
    CALL,
    CHOICE,
    HAS_EMPTY,
    HAS_NONEMPTY,
    HAS_TEXT,
    REPEAT,
    SEQUENCE,
    Program,
    subtree_ends,
)
from workbench.automata.small_dfa import smallest


def program(*instructions: int | str | bytes) -> Program:
    """Numbers are code, text is a machine, bytes are a literal."""
    made = Program()
    for one in instructions:
        if isinstance(one, int):
            made.code.append(one)
        elif isinstance(one, bytes):
            made.literal(one)
        else:
            made.code += (0, 0, 0)
            made.set_machine(len(made.code) // 3 - 1, machine(one))
    return made


#   instructions                                        as               because
WRITTEN = [
    ((b"foo",),                                         "foo",           "a literal"),
    ((b"",),                                            "",              "an empty one"),
    ((SEQUENCE, 0, 0),                                  "",              "an empty sequence"),
    ((SEQUENCE, 2, 0, b"a", CHOICE, 2, 0, b"b", b"c"),  "a[bc]",         "a choice in a sequence"),
    (("(a|b)*a",),                                      "(a|b)*a",       "an automaton with a cycle through its initial state"),
    ((SEQUENCE, 3, 0, "a*", "a*", "b*"),                "a*b*",          "automata that accept the empty text"),
    ((CHOICE, 2, 0, SEQUENCE, 2, 0, "x*", b"a", SEQUENCE, 2, 0, "x*", b"b"),
                                                        "x*a|x*b",       "options with the same first part"),
    ((REPEAT, 0, -1, b"ab"),                            "(?:ab)*",       "no copy is enough"),
    ((REPEAT, 1, -1, b"ab"),                            "(?:ab)+",       "at least one"),
    ((REPEAT, 3, -1, b"a"),                             "a{3,}",         "at least three"),
    ((REPEAT, 2, 4, "a|b?"),                            "(?:a|b?){2,4}", "copies that may be empty"),
    ((REPEAT, 0, 0, b"a"),                              "",              "no copy at all"),
    ((REPEAT, 0, 2_000, b"a"),                          "a{0,2000}",     "more states than the arrays have room for at first"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("instructions", "pattern", "because"), WRITTEN, ids=[r[2] for r in WRITTEN]
)
def test_program_nfa(
    instructions: tuple[int | str | bytes, ...], pattern: str, because: str
) -> None:
    assert equivalent(smallest(program_nfa(*program(*instructions).arrays())), machine(pattern)), (
        because
    )


def rules_of(symbol: int, jumps: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    return np.array([[0, HAS_TEXT | HAS_NONEMPTY, symbol, jumps]], np.int32)


def test_calls_at_the_end_of_an_inlined_rule_become_a_cycle() -> None:
    made = program(CHOICE, 2, 0, b"b", SEQUENCE, 2, 0, b"a", CALL, 0, 0)  # r ::= 'b' | 'a' r
    code, data = made.arrays()
    texts = np.ones(len(code), np.int32)
    for rules in (rules_of(-1, 0), rules_of(BYTES, 1)):
        nfa = rule_nfa(code, data, subtree_ends(code), texts, rules, 0, BYTES + 1, 100)
        assert nfa is not None
        assert smallest(nfa).accepts(b"aab")
        assert len(smallest(nfa)) == 2
    called = rule_nfa(code, data, subtree_ends(code), texts, rules_of(BYTES, 0), 0, BYTES + 1, 100)
    assert called is not None
    found = smallest(called)
    assert not found.accepts(b"ab")
    assert found.is_final(found.step(found.run(b"a"), BYTES))


def test_options_without_texts_are_left_out() -> None:
    made = program(CHOICE, 2, 0, b"a", b"b")
    code, data = made.arrays()
    nfa = rule_nfa(
        code,
        data,
        subtree_ends(code),
        np.array([1, 0, 1], np.int32),
        rules_of(-1, 0),
        0,
        BYTES,
        100,
    )
    assert nfa is not None
    assert equivalent(smallest(nfa), machine("b"))


def test_none_above_the_states_limit() -> None:
    code, data = program(REPEAT, 50, 50, b"abc").arrays()
    texts = np.full(len(code), HAS_TEXT | HAS_EMPTY, np.int32)
    assert rule_nfa(code, data, subtree_ends(code), texts, rules_of(-1, 0), 0, BYTES, 100) is None
    assert (
        rule_nfa(code, data, subtree_ends(code), texts, rules_of(-1, 0), 0, BYTES, 200) is not None
    )
