"""Grammars in words: every kind of node has its own sentence, and every sentence a span."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.analysis import in_words, types_in_words
from workbench.grammar.gallery import load_gallery
from workbench.schema.references import ANNOTATIONS, UNNAMED
from workbench.syntax.regex.tree import LookKind

#   regex                      in words
REGEXES = [
    (r"(foo)+d",               "in this order\n  one or more times: a group: the text 'foo'\n  then the letter 'd'"),
    (r"",                      "nothing"),
    (r"a",                     "the letter 'a'"),
    (r"7",                     "the digit '7'"),
    (r",",                     "the character ','"),
    (r" ",                     "a space"),
    (r"[a-z]",                 "a small letter"),
    (r"[^,\n]",                "any character but a line break or ','"),
    (r"[^\s\S]",               "a character of an empty set, so no text"),
    (r"a?",                    "optional: the letter 'a'"),
    (r"a*",                    "zero or more times: the letter 'a'"),
    (r"a{3}",                  "exactly 3 times: the letter 'a'"),
    (r"a{2,}",                 "2 or more times: the letter 'a'"),
    (r"a{0,4}",                "up to 4 times: the letter 'a'"),
    (r"a{2,4}",                "2 to 4 times: the letter 'a'"),
    (r"a{0}",                  "never: the letter 'a'"),
    (r"yes|no",                "one of these 2\n  the text 'yes'\n  or the text 'no'"),
    (r"(?P<year>\d)",          "the group 'year': a digit of any script"),
    (r"(?i)no",                "the text 'no' in small or capital letters"),
    (r"a(?=b)b",               "in this order\n  the letter 'a'\n  then what follows has to begin with: the letter 'b'\n  then the letter 'b'"),
    (r"(?!b)a",                "in this order\n  what follows must not begin with: the letter 'b'\n  then the letter 'a'"),
    (r"a(?<=a)b",              "in this order\n  the letter 'a'\n  then what precedes has to end with: the letter 'a'\n  then the letter 'b'"),
    (r"a(?<!b)",               "in this order\n  the letter 'a'\n  then what precedes must not end with: the letter 'b'"),
    (r"\ba\Bb",                "in this order\n  a word begins or ends here\n  then the letter 'a'\n  then no word begins or ends here\n  then the letter 'b'"),
    (r"(?P<SUBSTRING_OF>abc)", "any piece of the text 'abc', also nothing"),
    (r"(?P<TEXT_UNTIL>end)",   "any text up to and with the first text 'end'"),
    (r"(?P<QUOTED_TEXT>)",     "a text in double quotes, in one line, with at least one visible character"),
    (r"(?P<TEXT_TOKEN>)",      "a token of text"),
    (r"(?P<DELIMITED_SUBSEQUENCE_OF>(?P<DELIMITER>, )a|b)",
     "one or more of these, in this order, with the text ', ' between them\n  the letter 'a'\n  the letter 'b'"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "words"), REGEXES)
def test_a_regex_in_words(pattern: str, words: str) -> None:
    assert str(wb.in_words(wb.Grammar.from_regex(pattern))) == words


#   notation, grammar                                      in words, without the first line
RULES = [
    ("kbnf", "start ::= 'a' b?; b ::= #'[0-9]';",           ["'start': in this order", "the letter 'a'", "then optional: the rule 'b'", "'b': a digit"]),
    ("kbnf", "start ::= #e'[a-z]*x';",                      ["'start': text up to the end of the first match of the regex: in this order", "zero or more times: a small letter", "then the letter 'x'"]),
    ("kbnf", "start ::= #ex'xy';",                          ["'start': text without a match of the regex: the text 'xy'"]),
    ("kbnf", "start ::= #substrs'abc';",                    ["'start': any piece of the text 'abc', also nothing"]),
    ("kbnf", "start ::= except!('ab', 9) 'ab';",            ["'start': in this order", "a text of at most 9 bytes in which the text 'ab' does not occur", "then the text 'ab'"]),
    ("kbnf", "start ::= except!(stop) 'a'; stop ::= 'a';",  ["'start': in this order", "a text in which no 'stop' occurs", "then the letter 'a'", "'stop': the letter 'a'"]),
    ("gbnf", 'root ::= "a"{2} | [^b]',                      ["'root': one of these 2", "exactly 2 times: the letter 'a'", "or any character but 'b'"]),
    ("lark", 'start: "a" B\nB: /[0-9]/',                    ["'start': in this order", "the letter 'a'", "then the rule 'B'", "'B': a digit"]),
]  # fmt: skip


@pytest.mark.parametrize(("notation", "text", "words"), RULES)
def test_rules_in_words(notation: str, text: str, words: list[str]) -> None:
    found = str(wb.in_words(wb.Grammar.from_text(text, notation))).split("\n")
    assert [line.strip() for line in found[1:]] == words


#   schema                                                            in words
SCHEMAS = [
    ('{"type": "integer", "minimum": 0}',                             "an integer, at least 0"),
    ('{"type": ["string", "null"], "maxLength": 1}',                  "a string or null, of at most 1 character"),
    ('{"enum": ["a", 1]}',                                            'one of "a" or 1'),
    ('{"const": {"a": 1}}',                                           'exactly {"a": 1}'),
    ('{"$schema": "http://json-schema.org/draft-04/schema", "type": "number", "minimum": 1, "exclusiveMinimum": true}', "a number, more than 1"),
    ('{"type": "object", "properties": {"age": {"type": "integer"}, "id": true}, "required": ["id"], "additionalProperties": false}',
     "an object\n  'age', optional: an integer\n  'id', required: any value\n  no other properties"),
    ('{"type": "array", "items": {"type": "boolean"}, "minItems": 2}', "an array, with at least 2 items\n  each item: true or false"),
    ('{"prefixItems": [{"type": "null"}], "items": false}',           "any value; if it is an array, it has this form\n  item 1: null\n  no items"),
    ('{"anyOf": [{"type": "null"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {"type": "string"}}}',
     "a value\n  at least one of these\n    null\n    as at '#/$defs/a'\n  the definition 'a': a string"),
    ('{"type": "object", "required": ["a", "b"], "dependentRequired": {"a": ["b"]}}',
     "an object\n  'a' and 'b', required: any value\n  if there is a property 'a', then also 'b'"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "words"), SCHEMAS)
def test_a_schema_in_words(schema: str, words: str) -> None:
    assert str(types_in_words.of_schema(wb.Grammar.from_json_schema(schema).source)) == words


def test_every_keyword_has_words() -> None:
    described = {
        *types_in_words.PHRASES,
        *types_in_words.SCHEMAS,
        *types_in_words.LISTS,
        *types_in_words.MAPS,
        *types_in_words.TOGETHER,
    }
    assert not UNNAMED.keywords - described
    assert described - UNNAMED.keywords <= ANNOTATIONS


def test_a_dataclass_in_words() -> None:
    text = """from dataclasses import dataclass
from enum import Enum
from typing import Literal

class Colour(Enum):
    RED = 1
    BLUE = 2

@dataclass
class Point:
    x: int
    name: str | None
    colours: list[Colour]
    pair: tuple[float, bool]
    marks: dict[str, set[int]]
    kind: Literal["a", 1] = "a"
"""
    found = wb.in_words(wb.Grammar.from_dataclass(text))
    assert str(found).split("\n") == [
        "an instance of Point",
        "  Point has these fields",
        "    'x', required: an integer",
        "    'name', required: a string or None",
        "    'colours', required: a list in which each item is an instance of Colour",
        "    'pair', required: a tuple of a number, then True or False",
        "    'marks', required: a dict in which each key is a string and each value is a set in"
        " which each item is an integer",
        "    'kind', optional, \"a\" if left out: one of 'a' or 1",
        "  Colour is one of its members RED or BLUE",
    ]
    spans = [text[one.span.start : one.span.end] for _, one in found.walk()]
    assert "x: int" in spans
    assert "name: str | None" in spans


@pytest.mark.parametrize("name", list(load_gallery()))
def test_every_node_of_an_example_has_its_sentence_and_span(name: str) -> None:
    """Every sentence of every example is in words, with a span inside its parent's."""
    example = load_gallery()[name]
    grammar = wb.Grammar.from_text(example.text, example.notation, example.start)
    root = wb.in_words(grammar)
    count = len(grammar.source.text)
    for _, one in root.walk():
        assert one.sentence
        assert "Span(" not in one.sentence
        assert "None" not in one.sentence or example.notation == "dataclass"
        assert one.span.end <= count
        # what a grammar of Lark or ANTLR ignores is written elsewhere than where it may occur
        # and the parts of a tag are written beside each other
        loose = example.notation in ("lark", "antlr", "structural_tag")
        for child in () if loose else one.children:
            assert one.span.start <= child.span.start <= child.span.end <= one.span.end, child


def test_every_assertion_has_words() -> None:
    assert set(LookKind) == {*in_words._LOOKS, *in_words._POSITIONS}


def test_deep_nesting() -> None:
    pattern = "(" * 90 + "a" + ")" * 90
    assert str(wb.in_words(wb.Grammar.from_regex(pattern))).startswith("a group: a group")
