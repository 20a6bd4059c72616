"""Notes on the terminals of Lark grammars of which lark's contextual lexer reads only one."""

from __future__ import annotations

import time

import pytest
from lark import Lark
from lark.exceptions import LarkError

from workbench.analysis.advice import lint
from workbench.analysis.lark_terminals import collision_advice
from workbench.base.limits import Limits
from workbench.grammar.grammar import Grammar

#   grammar                                               text       lark reads   place    because
COLLISIONS = [
    ('start: "if" NAME | NAME "=" NAME\nNAME: /[a-z]+/',  "if=a",    '"if"',      "NAME", "a string is preferred to a regex"),
    ('start: A "." | B "!"\nA: "if"\nB: /[a-z]+/',        "if!",     "A",         "B",    "also if it has a name"),
    ('start: A "." | B "!"\nA: "if"\nB.1: /[a-z]+/',      "if.",     "B",         "A",    "unless the other has a priority"),
    ('start: A "." | B "!"\nA: /a+/\nB.2: /a|b/',         "a.",      "B",         "A",    "a priority decides between regexes"),
    ('start: x "." | B "!"\nx: A?\nA.2: /a+/\nB: /ab?/',  "a!",      "A",         "B",    "where a rule may be empty"),
    ('start: C (A "." | B "!")\nA.2: /a/\nB: /ab?/\nC: "c"', "ca!",  "A",         "B",    "after a terminal"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "refused", "kept", "lost"),
    [row[:4] for row in COLLISIONS],
    ids=[r[4] for r in COLLISIONS],
)
def test_note_names_both_terminals(text: str, refused: str, kept: str, lost: str) -> None:
    grammar = Grammar.from_lark(text)
    (note,) = [one for one in lint(grammar).advice if one.kind == "terminal_collision"]
    assert note.severity == "note"
    assert note.message.startswith(f"{lost} and {kept} both match ")
    assert f"reads only {kept} there" in note.message
    assert text[note.span.start : note.span.end] == lost
    assert grammar.accepts(refused)
    with pytest.raises(LarkError):
        Lark(text, parser="lalr").parse(refused)


#   grammar                                               because
NONE = [
    ('start: A | B\nA: /a+/\nB: /b+/',                    "no common text"),
    ('start: A "." B\nA: /a+/\nB: /[ab]+/',               "never at one position"),
    ('start: "if" | "iff"',                               "strings differ"),
    ('start: A | A\nA: /a+/',                             "one terminal twice"),
]  # fmt: skip


@pytest.mark.parametrize("text", [row[0] for row in NONE], ids=[row[1] for row in NONE])
def test_no_note(text: str) -> None:
    advice = lint(Grammar.from_lark(text)).advice
    assert [one for one in advice if one.kind == "terminal_collision"] == []


def test_several_strings_share_a_note() -> None:
    grammar = Grammar.from_lark('start: ("if" | "in" | "is" | NAME) NAME\nNAME: /[a-z]+/')
    (note,) = [one for one in lint(grammar).advice if one.kind == "terminal_collision"]
    assert note.message.endswith('reads only "if" there, and so for 2 other terminals')


def test_regexes_of_one_priority() -> None:
    grammar = Grammar.from_lark("start: A | B\nA: /a+/\nB: /[ab]/")
    (note,) = [one for one in lint(grammar).advice if one.kind == "terminal_collision"]
    assert note.message == (
        "A and B both match 'a' at the same position, and lark's contextual lexer reads only one "
        "of them there"
    )


OPTIONS = " | ".join(f"T{n}" for n in range(150))
#: Terminals that take long to compare, many positions, and a long chain of rules.
LARGE = [
    f"start: {OPTIONS}\n" + "".join(f"T{n}: /[a-z]*{n}[a-z]{{1,20}}/\n" for n in range(150)),
    "start: " + " | ".join(f'"s{n}" r ("x{n}" | {OPTIONS})' for n in range(500))
    + "\nr: T0 | T1 T2\n" + "".join(f"T{n}: /t{n}+/\n" for n in range(150)),
    "start: r0\n" + "".join(f"r{n}: r{n + 1}\n" for n in range(2_000)) + 'r2000: "a" | /b/',
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("text", LARGE, ids=["terminals", "positions", "rules"])
def test_the_search_keeps_its_time(text: str) -> None:
    grammar = Grammar.from_lark(text, limits=Limits(seconds=30.0))
    assert grammar.tree is not None
    began = time.thread_time()
    collision_advice(grammar.tree, "start", Limits(seconds=0.1))
    assert time.thread_time() - began < 10.0  # without the clock minutes
