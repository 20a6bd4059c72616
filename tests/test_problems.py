"""All problems of a text at once: a table of broken texts, written by hand."""

from __future__ import annotations

import tomllib
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from workbench import Grammar, Problem, WorkbenchError, problems
from workbench.base.errors import SourceError
from workbench.syntax import recovery

_TABLE = Path(__file__).parent / "data" / "broken_grammars.toml"
CASES = [
    (notation, case)
    for notation, cases in tomllib.loads(_TABLE.read_text("utf-8")).items()
    for case in cases
]


def _shown(problem: Problem) -> str:
    assert problem.position is not None
    line, column = problem.position
    note = "" if problem.severity == "error" else f"{problem.severity} "
    return f"{line}:{column} {note}{problem.kind}"


@pytest.mark.parametrize(
    ("notation", "case"), CASES, ids=[f"{notation} {case['reason']}" for notation, case in CASES]
)
def test_all_problems_of_a_broken_text(notation: str, case: dict[str, Any]) -> None:
    assert [_shown(one) for one in problems(case["text"], notation)] == case["problems"]


def test_the_table_has_sixty_texts() -> None:
    assert len(CASES) >= 60


@pytest.mark.parametrize(
    ("notation", "case"), CASES, ids=[f"{notation} {case['reason']}" for notation, case in CASES]
)
def test_the_raised_error_is_reported(notation: str, case: dict[str, Any]) -> None:
    """At its place, or at its cause in an earlier rule."""
    with pytest.raises(SourceError) as raised:
        Grammar.from_text(case["text"], notation)
    reported = problems(case["text"], notation)
    assert any(
        one.message == raised.value.message and one.span == raised.value.span for one in reported
    ) or any(one.span.start < raised.value.span.start for one in reported if one.span and one.rule)


@pytest.mark.parametrize(
    ("notation", "text"),
    [
        ("kbnf", "start ::= a b c;\nc ::= a;"),
        ("gbnf", "root ::= a b c\nc ::= a"),
        ("lark", "start: a B WS"),
    ],
)
def test_the_missing_rules_make_a_grammar(notation: str, text: str) -> None:
    added = [one.missing_rule for one in problems(text, notation)]
    grammar = Grammar.from_text("\n".join([text, *added]), notation)
    assert grammar.accepts({"kbnf": "aba", "gbnf": "aba", "lark": "aB "}[notation])


def test_the_rule_of_a_syntax_error() -> None:
    text = "start ::= a;\na ::= 'x\n  | 'y';\n\nb ::= c;\n"
    first, second = problems(text, "kbnf")[:2]
    assert first.rule is not None
    assert text[first.rule.start : first.rule.end] == "a ::= 'x\n  | 'y';"
    assert second.rule is None, "an undefined name keeps no rule from being read"


def test_a_fix_of_a_name_in_a_broken_rule_is_at_the_name() -> None:
    text = "start ::= (numbr | 'a';\nnumber ::= 'n';"
    _, undefined, _ = problems(text, "kbnf")
    assert undefined.fix_span is not None
    assert text[undefined.fix_span.start : undefined.fix_span.end] == "numbr"
    assert (undefined.fix, undefined.missing_rule) == ("number", "numbr ::= 'numbr';")


def test_a_grammar_has_its_advice() -> None:
    (unused,) = problems("start ::= 'a'; b ::= 'b';", "kbnf")
    assert (unused.severity, unused.kind) == ("note", "unreachable_rule")
    assert problems("start ::= 'a';", "kbnf") == ()


@pytest.mark.parametrize(
    ("notation", "text", "kind"),
    [
        ("regex", "(a", "bad_regex"),
        ("json_schema", '{"type": }', "json"),
        ("dataclass", "class A:\n  a:", "syntax"),
    ],
)
def test_other_notations_report_their_first_error(notation: str, text: str, kind: str) -> None:
    (problem,) = problems(text, notation)
    assert (problem.severity, problem.kind) == ("error", kind)


def test_error_options_of_the_notation() -> None:
    with pytest.raises(WorkbenchError, match="no option"):
        problems("start ::= 'a';", "kbnf", order="any")


def test_many_errors_end_within_the_time_limit() -> None:
    """The first ones are reported."""
    text = "\n".join(f"r{number} ::= ('x';" for number in range(2_000))
    began = process_time()
    reported = [one for one in problems(text, "kbnf") if one.kind == "syntax"]
    assert process_time() - began < 10
    assert 1 <= len(reported) <= recovery.MAX_ERRORS
    assert [one.position for one in reported] == [
        (n + 1, 7 + len(str(n))) for n in range(len(reported))
    ]


@pytest.mark.parametrize("text", ["(*" * 25_000, "'\\" * 25_000, ";a{" * 16_000, "a{" * 25_000])
def test_the_rules_of_a_hostile_text_are_separated_in_linear_time(text: str) -> None:
    began = process_time()
    recovery._LAYOUTS["kbnf"].extents(text)
    assert process_time() - began < 2
