"""The position of a run in the text of a grammar: the innermost parts that could read a token."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from workbench.analysis.run_tracing import TextTracer, innermost
from workbench.base.limits import Limits
from workbench.base.source import Span
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation

SCHEMA = '{"properties": {"a": {"type": "null"}, "b": {"enum": [1, 2]}}, "required": ["a", "b"], "additionalProperties": false, "type": "object"}'
PERSON = "@dataclass\nclass Person:\n    name: str\n    tags: list[str]\n"

#   notation, text          tokens                          pieces that read the last of them
ROWS = [
    (Notation.JSON_SCHEMA, SCHEMA, ("{", '"a"'),             ['"a"']),
    (Notation.JSON_SCHEMA, SCHEMA, ('{"a":', "null"),        ['{"type": "null"}']),
    (Notation.JSON_SCHEMA, SCHEMA, ('{"a":null,', '"b'),     ['"b"']),
    (Notation.JSON_SCHEMA, SCHEMA, ('{"a":null,"b":', "2"),  ['{"enum": [1, 2]}']),
    (Notation.DATACLASS,   PERSON, ("Person(", "name"),      ["name"]),
    (Notation.DATACLASS,   PERSON, ("Person(name=", "'x"),   ["str"]),
    (Notation.REGEX,       "a+[0-9]|b", ("a", "3"),          ["a", "[0-9]"]),
    (Notation.REGEX,       "a+[0-9]|b", ("x", "3"),          []),
    (Notation.KBNF,        "start ::= 'a';", ("", "a"),      []),
]  # fmt: skip


@pytest.mark.parametrize(("notation", "text", "tokens", "pieces"), ROWS)
def test_the_pieces_that_read_a_token(
    notation: Notation, text: str, tokens: tuple[str, ...], pieces: list[str]
) -> None:
    options: dict[str, Any] = {"whitespace": "compact"} if notation is Notation.JSON_SCHEMA else {}
    run = TextTracer(Grammar.from_text(text, notation, **options))
    for token in tokens:
        found = run.take(token.encode())
    assert [text[span.start : span.end] for span in found] == pieces


def test_a_run_that_left_its_grammar_stays_outside() -> None:
    run = TextTracer(Grammar.from_regex("ab"))
    assert run.take(b"x")
    assert run.take(b"b") == ()
    assert run.take(b"a") == ()


def test_without_time_nothing_is_marked() -> None:
    grammar = replace(Grammar.from_regex("(a|b)*(a|b){9}c"), limits=Limits(seconds=1e-9))
    run = TextTracer(grammar)
    run.take(b"ab" * 5_000)
    assert run.take(b"a") == ()


def test_of_nested_pieces_the_inner_ones() -> None:
    outer, inner, beside = Span(0, 20), Span(3, 8), Span(30, 31)
    assert innermost([outer, inner, beside, inner]) == (inner, beside)
    assert innermost([]) == ()
