"""Every export ends within the seconds of the grammar's limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import workbench as wb
from workbench.base.cpu_time import cpu_seconds
from workbench.base.limits import check_time_budget
from workbench.grammar.export.lark_lexing import Lexers
from workbench.grammar.export.registry import EXPORTS

PATIENT, SHORT = wb.Limits(seconds=60, megabytes=4_000), wb.Limits(seconds=0.2)


def patterns() -> wb.Grammar:
    """A schema whose rules have the automata of many property names."""
    names = {f"^{chr(97 + i % 26)}{i}[a-z]*x": {"type": "integer"} for i in range(50)}
    schema = {"type": "object", "patternProperties": names}
    return wb.Grammar.from_json_schema(schema, limits=PATIENT)


def rules(count: int) -> wb.Grammar:
    """Many rules with a regex and options."""
    text = "".join(
        f"r{i} ::= 'a' r{i + 1} 'b' | #'[a-z]+é' r{7 * i % count} | 'c'? r{i + 1};"
        for i in range(count)
    )
    return wb.Grammar.from_kbnf(f"start ::= r0; {text} r{count} ::= 'x';", limits=PATIENT)


#: Grammars that take longer than SHORT to write, and the notations.
LARGE: dict[str, tuple[Callable[[], wb.Grammar], tuple[str, ...]]] = {
    "patterns": (patterns, ("kbnf", "gbnf", "lark")),
    "rules": (lambda: rules(4_000), ("gbnf", "lark", "regex", "structural_tag", "outlines")),
    "counter": (
        lambda: wb.Grammar.from_regex("(a|b)*a(a|b){14}", limits=PATIENT),
        ("machine",),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_error_of_an_export_that_takes_too_long(name: str) -> None:
    make, notations = LARGE[name]
    grammar = replace(make(), limits=SHORT)
    for notation in notations:
        began = cpu_seconds()
        with pytest.raises(wb.LimitError):
            wb.export(grammar, notation)
        assert cpu_seconds() - began < 2 * SHORT.seconds + 0.6, notation


@pytest.mark.parametrize("notation", EXPORTS)
def test_all_stages_of_an_export_share_the_seconds(
    notation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(_: wb.Grammar) -> str:
        while True:
            check_time_budget()

    monkeypatch.setitem(EXPORTS, notation, replace(EXPORTS[notation], write=write))
    with pytest.raises(wb.LimitError, match=r"needs more than 0\.01 seconds"):
        wb.export(wb.Grammar.from_regex("a", limits=wb.Limits(seconds=0.01)), notation)


def test_lark_without_the_lexer_has_half_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """If longest matches are not decided in time, terminals are written out letter by letter."""

    def undecided(lexers: Lexers, *_: object) -> set[int]:
        while True:
            lexers.clock.check()

    grammar = wb.Grammar.from_kbnf("start ::= #'a+b' | 'ab' start;", limits=SHORT)
    assert '"a" "b"' not in wb.export(grammar, "lark")
    monkeypatch.setattr(Lexers, "misread", undecided)
    text = wb.export(grammar, "lark")
    assert wb.equivalent(wb.Grammar.from_lark(text), grammar).same
    assert '"a" "b"' in text
