"""Schema trees: names and spans of rules, errors with keyword and pointer, notes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.base.errors import BuildError
from workbench.schema.json_schema import SchemaGrammar, schema_grammar, schema_tree
from workbench.schema.schema_options import SchemaOptions
from workbench.schema.schema_reader import schema_source
from workbench.syntax.grammar_tree import Automaton, Expression, Literal, Repetition, Sequence

COMPACT = SchemaOptions(whitespace="compact")


def _made(schema: Any) -> SchemaGrammar:
    return schema_grammar(schema_source(json.dumps(schema)), COMPACT)


def _names(schema: Any) -> list[str]:
    return [rule.name for rule in _made(schema).tree.rules]


_OBJECT = {"type": "object", "properties": {"x": {"type": "null"}}, "additionalProperties": False}

#: The reason, the schema, and the names of its rules in order.
NAMES: list[tuple[str, Any, list[str]]] = [
    ("leaves have no rule", {"type": "string"}, ["start"]),
    ("a property's rule has its name", {**_OBJECT, "properties": {"home": _OBJECT}},
     ["start", "schema", "home"]),
    ("characters not allowed in names are removed", {**_OBJECT, "properties": {"zip code/№": _OBJECT}},
     ["start", "schema", "zip_code"]),
    ("a name may not begin with a digit", {**_OBJECT, "properties": {"2nd": _OBJECT}},
     ["start", "schema", "_2nd"]),
    ("two properties of one name", {**_OBJECT, "required": ["a", "b"], "properties": {
        "a": {**_OBJECT, "properties": {"b": _OBJECT}}, "b": _OBJECT}},
     ["start", "schema", "a", "b", "b_2"]),
    ("one definition is one rule", {"$defs": {"d": _OBJECT}, "required": ["a"], **_OBJECT,
     "properties": {"a": {"$ref": "#/$defs/d"}, "b": {"$ref": "#/$defs/d"}}},
     ["start", "schema", "d"]),
    ("what may follow a member", {**_OBJECT, "properties": {"a": {}, "b": {}, "c": {}}},
     ["start", "schema", "schema_after_b", "schema_after_a", "value", "value_object",
      "value_array"]),
    ("items after whose items they are", {"type": "array", "items": _OBJECT},
     ["start", "schema", "schema_item"]),
    ("no name of the punctuation's", {**_OBJECT, "properties": {"start": _OBJECT}},
     ["start", "schema", "start_2"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "names"), [row[1:] for row in NAMES], ids=[row[0] for row in NAMES]
)
def test_names_of_rules(schema: Any, names: list[str]) -> None:
    assert _names(schema) == names


def test_rules_of_punctuation_come_last() -> None:
    schema = {**_OBJECT, "properties": {"comma": _OBJECT}}
    tree = schema_tree(schema_source(json.dumps(schema)))
    names = [rule.name for rule in tree.rules]
    assert names == ["start", "schema", "comma_2", "comma", "colon", "whitespace"]


def test_spans_of_properties() -> None:
    source = schema_source(
        '{"properties": {"a": {"type": "integer"}}, "required": ["a"], "type": "object"}'
    )
    rules = {rule.name: rule for rule in schema_tree(source, COMPACT).rules}
    body = rules["schema"].body
    assert isinstance(body, Sequence)
    places = {
        item.value: source.text[item.span.start : item.span.end]
        for item in body.items
        if isinstance(item, Literal)
    }
    assert places[b'"a"'] == '"a"'
    (leaf,) = [item for item in _parts(body) if isinstance(item, Automaton) if "int" in item.label]
    assert source.text[leaf.span.start : leaf.span.end] == '{"type": "integer"}'


def _parts(body: Expression) -> list[Expression]:
    match body:
        case Sequence(items=items):
            return [part for item in items for part in _parts(item)]
        case Repetition(item=item):
            return _parts(item)
        case _:
            return [body]


#: An unsupported schema, the message, and the marked text.
REFUSED: list[tuple[Any, str, str]] = [
    (False, "no JSON value is an instance of this schema", "false"),
    (
        {"type": "array", "uniqueItems": True},
        "/uniqueItems: supported for items with up to 1,000 values, and for up to five strings, "
        "numbers, or objects that declare strings or numbers",
        '"uniqueItems"',
    ),
    (
        {"properties": {"a": {"type": "object", "minProperties": 6_000}}},
        "/properties/a/minProperties: to distinguish its members takes more than 5,000 rules",
        '"minProperties"',
    ),
]


@pytest.mark.parametrize(("schema", "message", "place"), REFUSED)
def test_error_with_pointer_and_span(schema: Any, message: str, place: str) -> None:
    with pytest.raises(BuildError) as caught:
        _made(schema)
    error = caught.value
    assert error.message == message
    assert error.source.text[error.span.start : error.span.end] == place


def test_empty_sets_have_no_rule() -> None:
    text = {"type": "string"}
    dead: dict[str, Any] = {"type": "object", "required": ["a"], "properties": {"a": text}}
    dead |= {"maxProperties": 1, "not": {"additionalProperties": text}}
    names = _names({**_OBJECT, "properties": {"x": dead, "y": _OBJECT}})
    assert names == ["start", "schema", "schema_after_x", "y"]
    with pytest.raises(BuildError, match="no JSON value is an instance"):
        _made(dead)


def test_an_unknown_format_is_a_note() -> None:
    (note,) = _made({"type": "string", "format": "colour"}).notes
    assert note.pointer == "/format"
