"""All matches in a text, compared with every part of the text."""

from __future__ import annotations

import re
import time
from itertools import product

import pytest

import workbench as wb
from workbench import Grammar, LimitError, find
from workbench.base.limits import Limits

PATTERNS = [
    "a", "a*", "a+b", "a|ab", "ab|a", "a*b", "(a|b)*a", "b(a|b){2}", "a{2,3}", "(ab)+", "aa|b|abab",
    "[^a]", "()", "(a|b)*abb", "é+", "a.b",
]  # fmt: skip


def oracle(accepts: object, text: str) -> list[tuple[int, int]]:
    """The definition: the longest non-empty accepted part at each position, left to right."""
    assert callable(accepts)
    found, start = [], 0
    while start < len(text):
        ends = [end for end in range(len(text), start, -1) if accepts(text[start:end])]
        if ends:
            found.append((start, ends[0]))
            start = ends[0]
        else:
            start += 1
    return found


def spans(grammar: Grammar, text: str) -> list[tuple[int, int]]:
    return [(span.start, span.end) for span in find(grammar, text)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_matches_of_a_regex_are_those_of_the_definition(pattern: str) -> None:
    grammar = Grammar.from_regex(pattern)
    compiled = re.compile(pattern, re.DOTALL)
    for length in range(7):
        for letters in product("abé" if length < 5 else "ab", repeat=length):
            text = "".join(letters)
            assert spans(grammar, text) == oracle(compiled.fullmatch, text), text


def test_matches_of_a_grammar_with_a_stack_are_those_of_the_definition() -> None:
    grammar = Grammar.from_kbnf("start ::= '(' start ')' start | '';")
    for length in range(8):
        for letters in product("()x" if length < 6 else "()", repeat=length):
            text = "".join(letters)
            assert spans(grammar, text) == oracle(grammar.accepts, text), text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("héllo 12 wörld 345", [(6, 8), (15, 18)]),
        ("", []),
        ("no digits", []),
        ("😀7😀", [(1, 2)]),
        ("\ud8001", [(1, 2)]),
    ],
)
def test_spans_count_characters(text: str, wanted: list[tuple[int, int]]) -> None:
    assert spans(Grammar.from_regex("[0-9]+"), text) == wanted


def test_a_byte_inside_a_character_is_no_match() -> None:
    # the bytes of é are C3 A9; no part of the text is the byte A9 alone
    grammar = Grammar.from_regex(r"\xa9")
    assert spans(grammar, "é©") == oracle(grammar.accepts, "é©") == [(1, 2)]


def test_the_cost_is_linear() -> None:
    """Starting again at each position would read 10 ** 10 bytes here."""
    text = "a" * 100_000
    began = time.process_time()
    assert spans(Grammar.from_regex("a|a*b"), text) == [(i, i + 1) for i in range(100_000)]
    assert list(find(Grammar.from_regex("a*b"), text)) == []
    assert time.process_time() - began < 20


def test_a_large_automaton_is_searched_without_its_whole_table() -> None:
    grammar = Grammar.from_regex("(a|b)*a(a|b){18}c")
    text = "bb" + "a" + "b" * 18 + "c" + "a"
    assert spans(grammar, text) == [(0, 22)]


def test_error_when_the_time_is_over() -> None:
    grammar = Grammar.from_kbnf("start ::= 'a' start 'b' | 'a' start | 'c';")
    with pytest.raises(LimitError):
        list(find(grammar, "a" * 50_000, limits=Limits(seconds=0.2)))


def test_schemas_and_dataclasses_are_found_in_a_text() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
              "additionalProperties": False}  # fmt: skip
    text = 'first {"a":1}, then {"a":"x"}, then {"a":22}'
    found = find(Grammar.from_json_schema(schema, whitespace="compact"), text)
    assert [text[one.start : one.end] for one in found] == ['{"a":1}', '{"a":22}']
    assert wb.find is find
