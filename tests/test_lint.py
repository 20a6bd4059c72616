"""Lint as a whole: the order of the advice, no repetitions, and its time limit."""

from __future__ import annotations

import re
import time

import pytest

from workbench.analysis.advice import lint
from workbench.base.limits import Limits
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar

ALL = """start ::= 'x' list | old | 'x' list;
list ::= '[' #'[0-9]+' (',' list)? ']';
old ::= 'o' old;
gone ::= 'g';
"""


def test_warnings_come_before_notes_and_both_in_the_order_of_the_text() -> None:
    found = lint(Grammar.from_kbnf(ALL)).advice
    assert [one.kind for one in found] == [
        "unproductive",
        "unbounded_loop",
        "unproductive",
        "ambiguous",
        "duplicate_alternative",
        "unreachable_rule",
    ]
    severities = [one.severity for one in found]
    assert severities == sorted(severities, reverse=True) == ["warning"] * 3 + ["note"] * 3


@pytest.mark.parametrize(
    "text",
    [
        'root ::= "a"\nunused ::= "b"{1,5000}',
        'root ::= "a"\nunused ::= x{1,5000} "c"{0,6000}\nx ::= "b"',
        'root ::= "a" | used\nused ::= x{1,5000}\nx ::= x "a"',
        'root ::= "a" | x{1,5000}\nx ::= y\ny ::= x "a"',
    ],
)
def test_advice_names_the_rules_of_the_text_alone(text: str) -> None:
    written = set(re.findall(r"^\w+", text, re.MULTILINE))
    found = lint(Grammar.from_gbnf(text), seconds=0.2).advice
    named = {name for one in found for name in re.findall(r"'(\w+)'", f"{one.message} {one.hint}")}
    assert named - {"b"} <= written
    assert len(found) <= len(text.split("\n")) + 2, "one for each rule and each count"
    for kind in ("unreachable_rule", "unproductive"):
        spans = [one.span for one in found if one.kind == kind]
        assert len(spans) == len(set(spans))


def test_no_advice_is_repeated() -> None:
    found = lint(Grammar.from_kbnf("start ::= a; a ::= #'[0-9]+'; a ::= #'[0-9]+';")).advice
    assert len(found) == len(set(found))


def test_an_ambiguous_text_is_one_with_two_readings() -> None:
    grammar = Grammar.from_kbnf("start ::= start '+' start | '1';")
    (ambiguous,) = lint(grammar).advice
    assert ambiguous.message == "the rule 'start' can read '1+1+1' in two ways"
    assert grammar.accepts("1+1+1")


@pytest.mark.parametrize(
    ("text", "pieces", "why"),
    [
        (load_gallery()["sql"].text, True, "there are always longer texts"),
        ("start ::= 'a' | 'b';", False, "all texts were tried"),
        ("start ::= 'a' | x; x ::= 'a';", False, "one was found"),
    ],
)
def test_the_number_of_pieces_tried(text: str, pieces: bool, why: str) -> None:
    assert (lint(Grammar.from_kbnf(text), seconds=0.2).pieces is not None) is pieces, why


#   what is hard about it                         grammar
HARD = {
    "explodes as one machine": Grammar.from_kbnf("start ::= #'(a|b)*a(a|b){14}' start? 'x';"),
    "a terminal that takes long": Grammar.from_kbnf("start ::= #ex'(a|b)*a(a|b){13}' | '(' start ')';"),
    "many rules": Grammar.from_kbnf(
        "start ::= r0; " + " ".join(f"r{i} ::= r{i + 1} 'x';" for i in range(400)) + " r400 ::= 'y';"
    ),
    "many branches": Grammar.from_kbnf("start ::= " + " | ".join(f"#'w{i}[a-z]*'" for i in range(300)) + ";"),
    "a regex that explodes": Grammar.from_regex("(a|b)*a(a|b){40}|(a|b)*b(a|b){40}"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("why", HARD)
def test_error_lint_ends_soon(why: str) -> None:
    began = time.thread_time()
    lint(HARD[why], seconds=0.3)
    assert time.thread_time() - began < 10, "its budgets come to a second"


@pytest.mark.parametrize(
    "name", [name for name, one in load_gallery().items() if one.notation == "regex"]
)
def test_a_regex_of_the_gallery_has_no_redundant_branch(name: str) -> None:
    grammar = Grammar.from_regex(load_gallery()[name].text, limits=Limits(seconds=5))
    assert {one.kind for one in lint(grammar).advice} <= {"unbounded_loop", "unicode_class"}
