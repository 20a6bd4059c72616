"""Schema text to nodes: the values of json.loads, with spans."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import ParseError
from workbench.base.source import Source
from workbench.schema.schema_reader import Document, Node, schema_source

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda held: st.lists(held) | st.dictionaries(st.sampled_from(["a", "b/c", "~", 'q"\\']), held),
    max_leaves=10,
)


def read(text: str) -> Node:
    return Document(Source(text, "schema")).root


@given(values, st.sampled_from([None, 2]), st.booleans())
def test_same_values_as_json(value: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert read(text).json_value() == value


@pytest.mark.slow
@given(values)
def test_spans_of_nodes(value: object) -> None:
    text = json.dumps(value)
    waiting = [read(text)]
    while waiting:
        node = waiting.pop()
        assert json.loads(text[node.start : node.end]) == node.json_value()
        waiting += (node.members or {}).values()
        waiting += node.items or []


def test_keywords_have_a_name_span_and_a_pointer() -> None:
    text = '{"properties": {"a/b~c": {"type" : 5}}}'
    named = read(text)
    for step in ("properties", "a/b~c", "type"):
        assert named.members is not None
        named = named.members[step]
    assert named.pointer == "/properties/a~1b~0c/type"
    span = named.name_span
    assert text[span.start : span.end] == '"type"'


ERRORS = [
    ("", 0, "nothing at all"),
    ('{"a": 1,}', 8, "a comma before the end"),
    ("[1, ]", 4, "a comma before the end"),
    ('{"a" 1}', 1, "no colon"),
    ('{"a": 1 "b": 2}', 8, "no comma"),
    ("[1}", 2, "the wrong bracket"),
    ("01", 0, "a number that begins with 0"),
    ("1.", 0, "a number without digits after the dot"),
    ("nul", 0, "half a word"),
    ('["a]', 1, "a string without an end"),
    ('"a\tb"', 0, "a control character in a string"),
    (r'{"a": "\x"}', 7, "an escape that JSON does not have"),
    ('{"a": 1, "a": 2}', 9, "one of two would be ignored silently"),
    (r'"\ud800"', 0, "half a surrogate pair, escaped"),
    ('"\ud800"', 1, "half a surrogate pair"),
    ("1 2", 2, "two values"),
    ("[" * 300, 200, "too deep to be walked"),
    ("1e999999999", 0, "more digits than could be written"),
    ("9" * 5000, 0, "more digits than could be written"),
]


@pytest.mark.parametrize(("text", "place", "why"), ERRORS)
def test_error_has_a_span(text: str, place: int, why: str) -> None:
    with pytest.raises(ParseError) as caught:
        read(text)
    assert caught.value.span.start == place, why


def test_the_source_of_a_python_value_is_its_json_text() -> None:
    assert schema_source({"type": "string"}).text == '{\n  "type": "string"\n}'
    assert schema_source(True).text == "true"
    assert schema_source('{"a":1}').text == '{"a":1}'


@pytest.mark.parametrize("value", [{"a": {1, 2}}, {"minimum": float("nan")}])
def test_error_python_value_that_is_not_json(value: dict[str, object]) -> None:
    with pytest.raises(ParseError):
        schema_source(value)


#   text                             hint
ELSEWHERE = [
    ('{"type": "string",}',          "remove the comma before it"),
    ('{"enum": [1, ]}',              "remove the comma before it"),
    ("{'type': 'string'}",           "write double quotes"),
    ('{"const": \'a\'}',             "write double quotes"),
    ('{\n  // a name\n  "a": 1}',    "leave the comment out, or write it as a description"),
    ('{"default": True}',            "write true"),
    ('{"default": None}',            "write null"),
    ('{"a": }',                      ""),
    ('{"a": 1',                      ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "hint"), ELSEWHERE)
def test_error_hints_for_other_notations(text: str, hint: str) -> None:
    with pytest.raises(ParseError) as raised:
        _ = Document(Source(text, "schema")).root
    assert raised.value.hint == hint
