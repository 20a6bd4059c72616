"""Structural tags: exactly the texts of the definitions, errors with their pointers, both forms."""

from __future__ import annotations

import json
import random

import pytest

from tests.oracles.tag_oracle import ALPHABET, Format, random_format, texts
from workbench import Grammar, Vocabulary, compile
from workbench.base.errors import LimitError, ParseError, SourceError
from workbench.base.limits import Limits
from workbench.schema.tag_formats import FORMATS

MOST = 5


def grammar_of(form: Format) -> Grammar:
    return Grammar.from_structural_tag({"type": "structural_tag", "format": form})


def accepted(grammar: Grammar, most: int = MOST) -> frozenset[str]:
    """All accepted texts up to a length, by extending prefixes."""
    found, waiting = set(), [""]
    for text in waiting:  # grows during iteration
        if grammar.accepts(text):
            found.add(text)
        if len(text) < most:
            waiting += [one for sign in ALPHABET if grammar.is_prefix(one := text + sign)]
    return frozenset(found)


def any_text(*excludes: str) -> Format:
    return {"type": "any_text", "excludes": list(excludes)}


def const(value: str) -> Format:
    return {"type": "const_string", "value": value}


def tag(begin: str, content: Format, end: str | list[str]) -> Format:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


@pytest.mark.parametrize("seed", range(12))
def test_random_formats_have_the_texts_of_the_oracle(seed: int) -> None:
    draw = random.Random(seed)
    checked = 0
    for _ in range(12):
        form = random_format(draw)
        expected = texts(form, MOST)
        try:
            grammar = grammar_of(form)
        except SourceError as error:
            # a tag that nothing ends is rejected, and so is a language without a text
            rejected = "structural_tag" if isinstance(error, ParseError) else "empty_grammar"
            if error.kind in (rejected, "unproductive") and (
                rejected == error.kind or not expected
            ):
                continue
            raise
        assert accepted(grammar) == expected, form
        checked += 1
    assert checked >= 6


def parameter(schema: object) -> Format:
    """One required parameter as XML."""
    tree = {"type": "array", "items": {"$ref": "#/$defs/tree"}}
    return {
        "type": "qwen_xml_parameter",
        "json_schema": {
            "$defs": {"word": {"type": "string"}, "tree": tree},
            "properties": {"a": schema},
            "required": ["a"],
        },
    }


def given(value: str) -> str:
    return f"<parameter=a>{value}</parameter>"


#: A format, texts that it accepts and texts that it does not, with the reason.
CASES = [
    (any_text("ab"), ["", "ba", "a\nb"], ["ab", "cabc"], "no excluded text inside"),
    (tag("b", any_text(), "aa"), ["baa", "baaa"], ["ba", "baabaa"], "the content alone is tested"),
    (tag("", any_text(), ["x", "yy"]), ["x", "ayy", "yx"], ["ax.", "axx"], "either end"),
    (
        {"type": "triggered_tags", "triggers": ["<"], "tags": [tag("<f>", const("1"), "</f>")]},
        ["", "so", "a<f>1</f>b<f>1</f>"], ["<", "a <g>", "<f>1", "<f>2</f>"],
        "a trigger obliges",
    ),
    (
        {"type": "triggered_tags", "triggers": ["<"], "tags": [tag("<f>", const("1"), ">")],
         "at_least_one": True, "stop_after_first": True},
        ["<f>1>"], ["", "a<f>1>", "<f>1>a"], "exactly one tag",
    ),
    (
        {"type": "triggered_tags", "triggers": ["aba", "b"],
         "tags": [tag("abac", const(""), ""), tag("bd", const(""), "")]},
        ["abd", "a", "aabda"], ["ab", "aba", "abac"], "the first complete trigger counts",
    ),
    (
        {"type": "triggered_tags", "triggers": ["ab", "b"],
         "tags": [tag("abx", const(""), ""), tag("by", const(""), "")]},
        ["abx", "by", "cby"], ["aby", "bx"], "of two at one place the longer one",
    ),
    (
        {"type": "triggered_tags", "triggers": ["ab"], "tags": [tag("abx", const(""), "")],
         "excludes": ["b"]},
        ["a", "x"], ["abx", "b"], "an excluded text wins",
    ),
    (
        {"type": "tags_with_separator", "separator": ", ",
         "tags": [tag("[", {"type": "regex", "pattern": "[0-9]+"}, "]")]},
        ["", "[1]", "[1], [23]"], [", ", "[1],", "[]"], "tags and separators, nothing else",
    ),
    (
        {"type": "dispatch", "rules": [["#", {"type": "regex", "pattern": "[0-9]"}]],
         "loop": False, "excludes": ["!"]},
        ["", "a #1"], ["#", "#1 ", "a!"], "one dispatch, then the end",
    ),
    (
        {"type": "grammar", "grammar": 'root ::= "(" root ")" | "\\u00e9"'},
        ["é", "((é))"], ["(é", ""], "a grammar that needs a stack",
    ),
    ({"type": "regex", "pattern": "a.\\d$"}, ["a\n1", "ab2"], ["ab", "aab2"], "ECMA, full match"),
    (
        {"type": "json_schema", "json_schema": {"type": "array", "items": {"type": "boolean"}}},
        ["[]", "[ true,\n false ]"], [" []", "[] ", "[1]"], "no white space around",
    ),
    (
        {"type": "json_schema", "max_whitespace_cnt": 0, "any_order": True, "json_schema":
         {"properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["a"],
          "additionalProperties": False, "type": "object"}},
        ['{"b":2,"a":1}', '{"a":1}'], ['{"b":2}', '{"a": 1}', '{"a":1,"a":1}'], "options",
    ),
    (
        {"type": "qwen_xml_parameter", "json_schema":
         {"type": "object", "properties": {"s": {"type": "string"}, "n": {"$ref": "#/$defs/n"},
          "e": {"enum": ["x y", 3]}}, "required": ["s"], "$defs": {"n": {"type": "integer"}}}},
        ["<parameter=s>a</param\n</parameter>", "<parameter=s></parameter>\n<parameter=n> 3 "
         "</parameter><parameter=e>x y</parameter>"],
        ["", "<parameter=s>a</parameter><parameter=n>b</parameter>", "<parameter=n>3</parameter>",
         '<parameter=s></parameter><parameter=e>"x y"</parameter>'],
        "strings as they are",
    ),
    (
        parameter({"enum": [1.5, "b", "c", {"a": 1}, 2], "type": ["number", "string", "object"]}),
        [given("1.5"), given("b"), given('{"a":1}'), given('{ "a": 1 }'), given(" 2 ")],
        [given('"1.5"'), given('"b"'), given("")], "listed values: strings, or JSON",
    ),
    (
        parameter({"enum": ["x", 1, True, None], "type": ["integer", "null"]}),
        [given("1"), given("null")], [given("x"), given("true")], "listed values have their type",
    ),
    (
        parameter({"enum": ["x", 1, "y"], "const": "y"}),
        [given("y")], [given("x"), given("1")], "a value listed twice",
    ),
    (
        parameter({"description": "any value"}),
        [given("a <b"), given("1"), given('"x"')], [given("</parameter>")], "annotations alone",
    ),
    (
        parameter({"$ref": "#/$defs/word"}), [given("a b"), given("")], [], "a string by reference",
    ),
    (
        parameter({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        [given("a b"), given("null")], [], "a string or null",
    ),
    (
        parameter({"anyOf": [{"enum": ["a", "b"]}, {"$ref": "#/$defs/tree"}]}),
        [given("a"), given("[[], []]")], [given('"a"'), given("c"), given("null")],
        "strings as they are, or JSON",
    ),
    (
        {"type": "qwen_xml_parameter", "json_schema": {"properties": {"a": False, "b": True}}},
        ["", "<parameter=b>1</parameter>"], [given("x")], "a property without a value",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("form", "good", "bad", "why"), CASES, ids=[case[3] for case in CASES])
def test_a_structural_tag_accepts_exactly_its_texts(
    form: Format, good: list[str], bad: list[str], why: str
) -> None:
    grammar = grammar_of(form)
    assert [text for text in good if not grammar.accepts(text)] == [], why
    assert [text for text in bad if grammar.accepts(text)] == [], why


def test_every_format_occurs_in_a_case() -> None:
    written = json.dumps([case[0] for case in CASES]) + json.dumps(
        [random_format(random.Random(seed)) for seed in range(200)]
    )
    assert [name for name in FORMATS if f'"type": "{name}"' not in written] == []


def test_the_older_form_is_triggered_tags() -> None:
    older = {
        "type": "structural_tag",
        "structures": [{"begin": "<f=a>", "schema": {"type": "integer"}, "end": "</f>"}],
        "triggers": ["<f="],
    }
    form = {
        "type": "triggered_tags",
        "triggers": ["<f="],
        "tags": [tag("<f=a>", {"type": "json_schema", "json_schema": {"type": "integer"}}, "</f>")],
    }
    grammar = Grammar.from_structural_tag(older)
    for text in ("", "hi <f=a>3</f>.", "<f=", "<f=a>x</f>"):
        assert grammar.accepts(text) == grammar_of(form).accepts(text)


def in_xml(schema: str) -> str:
    """A structural tag of parameters as XML."""
    format_ = f'{{"type": "qwen_xml_parameter", "json_schema": {{{schema}}}}}'
    return f'{{"type": "structural_tag", "format": {format_}}}'


#: A structural tag with one mistake, the text that is underlined, and a part of the message.
ERRORS = [
    ('{"type": "structural_tag", "format": {"type": "triggred_tags"}}', '"triggred_tags"',
     "/format/type: unknown type of format"),
    ('{"type": "any_text"}', '"any_text"', "/type: 'any_text' is a format"),
    ('{"type": "structural_tag"}', '"structural_tag"', "needs a member 'format'"),
    ('{"type": "tag", "format": {}}', '"tag"', "/type: 'tag' is a format"),
    ('{"type": "structural", "format": {}}', '"structural"', "/type: expected 'structural_tag'"),
    ('{"type": "structural_tag", "format": {"type": "any_text", "exclude": []}}', '"exclude"',
     "/format/exclude: any_text has no member 'exclude'"),
    ('{"type": "structural_tag", "format": {"type": "any_text", "excludes": ["a", ""]}}', '""',
     "/format/excludes/1: expected strings that are not empty"),
    ('{"type": "structural_tag", "format": {"type": "any_text", "max_tokens": 3}}', "3",
     "/format/max_tokens: how many tokens"),
    ('{"type": "structural_tag", "format": {"type": "token", "token": 3}}',
     '{"type": "token", "token": 3}', "/format: token names tokens"),
    ('{"type": "structural_tag", "format": {"type": "regex", "pattern": "a\\\\d(é"}}', "",
     "/format/pattern: expected ')'"),
    ('{"type": "structural_tag", "format": {"type": "grammar", "grammar": "root ::= \\"é\\" fo"}}',
     "fo", "/format/grammar: the rule 'fo' is not written"),
    ('{"type": "structural_tag", "format": {"type": "grammar", "grammar": "r ::= \\"a\\""}}', "",
     "/format/grammar: the start symbol 'root' has no rule"),
    ('{"type": "structural_tag", "format": {"type": "json_schema", "json_schema": {"type": "x"}}}',
     '"x"', "/format/json_schema/type: expected one of"),
    ('{"type": "structural_tag", "format": {"type": "json_schema", "style": "qwen",'
     ' "json_schema": {}}}', '"qwen"', "/format/style: the style 'qwen' cannot be read"),
    ('{"type": "structural_tag", "format": {"type": "sequence", "elements": []}}', "[]",
     "/format/elements: expected a list of formats, at least one"),
    ('{"type": "structural_tag", "format": {"type": "repeat", "min": 2, "max": 1, "content":'
     ' {"type": "any_text"}}}', "1", "/format/max: expected at least min"),
    ('{"type": "structural_tag", "format": {"type": "tag", "begin": "a", "content":'
     ' {"type": "any_text"}, "end": ""}}', '""', "/format/end: expected an end"),
    ('{"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<", "#"],'
     ' "tags": [{"type": "tag", "begin": "<a", "content": {"type": "any_text"}, "end": ">"}]}}',
     '["<", "#"]', "/format/triggers: expected a tag that begins with the trigger '#'"),
    ('{"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<"],'
     ' "tags": [{"begin": "a", "content": {"type": "any_text"}, "end": ">"}]}}',
     '"a"', "/format/tags/0/begin: expected a text that begins with '<'"),
    ('{"type": "structural_tag", "format": {"type": "qwen_xml_parameter", "json_schema":'
     ' {"properties": {"a": {"type": "string", "maxLength": 2}}}}}', '"maxLength"',
     "/format/json_schema/properties/a/maxLength: a string as XML is not restricted"),
    ('{"type": "structural_tag", "format": {"type": "qwen_xml_parameter", "json_schema":'
     ' {"type": "integer"}}}', '"integer"', "/format/json_schema/type: expected 'object'"),
    (in_xml('"properties": {"a": true}, "required": ["b"]'), '"b"', "required/0: expected a name"),
    (in_xml('"properties": {"a": true}, "required": 3'), "3", "required: expected a list of names"),
    (in_xml('"properties": {"a": false}, "required": ["a"]'), '"a"', "properties/a: a required"),
    (in_xml('"properties": {"a": 3}'), "3", "properties/a: expected a schema"),
    (in_xml('"properties": {"a": {"enum": []}}'), '"enum"', "a/enum: no value is listed"),
    (in_xml('"properties": {"a": {"enum": 3}}'), "3", "a/enum: expected a list of values"),
    (in_xml('"properties": {"a": {"const": 1, "type": "null"}}'), '"const"', "no value is listed"),
    (in_xml('"properties": {"a": {"enum": ["b"], "maxLength": 0}}'), '"maxLength"', "restricted"),
    (in_xml('"properties": {"a": {"enum": ["b</parameter>"]}}'), '"b</parameter>"', "contain"),
    (in_xml('"properties": {"a": {"type": "array", "items": {"$ref": "#"}}}'), '"$ref"', "shared"),
    (in_xml('"$defs": {"b": {"$ref": "#/$defs/b"}}, "properties": {"a": {"$ref": "#/$defs/b"}}'),
     '"b"', "itself"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "message"), ERRORS)
def test_errors_have_their_place(text: str, place: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        Grammar.from_structural_tag(text)
    error = caught.value
    assert message in error.message
    assert place in (text[error.span.start : error.span.end], "")
    assert error.source.text == text


@pytest.mark.parametrize("most", [200_000, 2**31, 10**30])
def test_error_a_bound_of_many_characters(most: int) -> None:
    with pytest.raises(LimitError, match="100,000 states"):
        grammar_of({"type": "any_text", "max_chars": most})
    with pytest.raises(LimitError, match="100,000 states"):
        grammar_of({"type": "json_schema", "json_schema": {}, "max_whitespace_cnt": most})


def test_error_a_type_that_is_no_text() -> None:
    with pytest.raises(ParseError, match="/type"):
        Grammar.from_structural_tag({"type": ["any_text"], "format": {"type": "any_text"}})


def test_error_within_limits() -> None:
    form = {"type": "any_text", "max_chars": 2_000_000_000}
    with pytest.raises(LimitError):
        grammar_of(form)
    with pytest.raises(LimitError):
        Grammar.from_structural_tag(
            {"type": "structural_tag", "format": any_text("a" * 400)}, limits=Limits(states=100)
        )


def test_masks_and_the_end_token() -> None:
    """A token may contain the end of free text, a whole trigger and the beginning of its tag."""
    form = {
        "type": "triggered_tags",
        "triggers": ["<"],
        "tags": [tag("<f>", const("1"), "</f>")],
    }
    tokens = [b"a", b"<", b"a<f", b"<g", b">1</f>b", b"1", b"f"]
    vocabulary = Vocabulary((*tokens, b""), end=len(tokens))
    constraint = compile(grammar_of(form), vocabulary)
    state = constraint.initial
    assert [*constraint.mask(state)] == [0, 1, 2, 5, 6, 7]  # 7: the end token
    state = constraint.advance(state, 2)
    assert [*constraint.mask(state)] == [4]
    assert not constraint.is_final(state)
    assert constraint.is_final(constraint.advance(state, 4))
