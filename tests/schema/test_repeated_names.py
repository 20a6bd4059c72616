"""Names that an object has twice: readers keep the last member, which has to be valid.

Every text of up to three members over a few names and two values is read by ``json.loads`` and
judged by the oracle. What is accepted must be valid; a valid text in which no name is repeated must
be accepted, in some order or, if a note names that, where names are distinguished.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from tests.oracles.schema_oracle import validates
from workbench.base.errors import BuildError
from workbench.base.limits import LIMITS
from workbench.grammar.grammar import Grammar

#: The machine that runs the tests may be busy.
UNHURRIED = replace(LIMITS, seconds=60.0)
NAMES = ("a", "b", "aa", "ba")
VALUES: tuple[Any, ...] = (1, "s")
INTEGER, STRING = {"type": "integer"}, {"type": "string"}


def texts() -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """All texts of up to three members."""
    pairs = [*product(NAMES, VALUES)]
    for count in range(4):
        for members in product(pairs, repeat=count):
            inside = ",".join(f"{json.dumps(name)}:{json.dumps(held)}" for name, held in members)
            yield f"{{{inside}}}", [*members]


TEXTS = [*texts()]


def named(*names: str) -> dict[str, Any]:
    return {"propertyNames": {"enum": [*names]}}


#: Keywords of schemas for objects.
SCHEMAS: list[dict[str, Any]] = [
    {"minProperties": 2},
    {"minProperties": 3},
    {"minProperties": 2, "maxProperties": 2},
    {"minProperties": 2, "maxProperties": 3},
    {"minProperties": 2, "properties": {"a": INTEGER}},
    {"minProperties": 3, "properties": {"a": INTEGER}},
    {"minProperties": 2, "properties": {"a": INTEGER}, "additionalProperties": STRING},
    {"minProperties": 2, "required": ["b"]},
    {"minProperties": 3, "required": ["b"]},
    {"minProperties": 2, **named("a", "b")},
    {"minProperties": 2, **named("a", "b", "aa", "ba")},
    {"minProperties": 2, **named("a", "b", *(f"x{n}" for n in range(20)))},
    {"minProperties": 2, "propertyNames": {"pattern": "^(a|aa)$"}},
    {"minProperties": 2, "propertyNames": {"pattern": "^a"}},
    {"minProperties": 2, "patternProperties": {"^a": INTEGER, "^b$": STRING}},
    {"minProperties": 2, "patternProperties": {"^a": INTEGER}, "additionalProperties": False},
    {"minProperties": 2, "not": {"additionalProperties": STRING}},
    {"maxProperties": 1},
    named("a", "b"),
    {**named("a", "b"), "required": ["a"]},
    {"patternProperties": {"^(a|b)$": STRING}, "additionalProperties": False},
    {"patternProperties": {"^(a|b)$": STRING}},
    {"not": {"additionalProperties": STRING}},
    {"not": {"additionalProperties": False, "properties": {"a": True}}},
    {"not": {"patternProperties": {"^a": STRING}}},
    {"not": {"patternProperties": {"^a": STRING, "^b": INTEGER}}},
    {"not": {"propertyNames": {"enum": ["a", "b"]}}},
    {"not": {"properties": {"a": STRING}}},
    {"not": {"properties": dict.fromkeys("abcdefgh", STRING)}},
    {"not": {"minProperties": 3}},
    {"not": {"maxProperties": 1}},
    {"not": {"required": ["a"]}},
    {"not": {"const": {"a": 1, "b": "s"}}},
    {"const": {"a": 1, "b": "s"}},
    {"enum": [{"a": 1}, {"b": 1, "aa": "s"}, {}]},
    {"dependentRequired": {"a": ["b"]}},
    {"dependentSchemas": {"a": {"minProperties": 2}}},
    {"if": {"additionalProperties": STRING}, "then": {"required": ["a"]}},
    {
        "if": {"additionalProperties": STRING},
        "then": {"minProperties": 2},
        "else": {"required": ["b"]},
    },
    {
        "if": {"required": ["a"]},
        "then": {"properties": {"b": STRING}},
        "else": {"maxProperties": 1},
    },
    {"oneOf": [{"additionalProperties": STRING}, {"minProperties": 2}]},
    {"oneOf": [{"patternProperties": {"^a": STRING}}, {"patternProperties": {"^b": STRING}}]},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"anyOf": [{"required": ["a"]}, {"minProperties": 3}]},
    {"patternProperties": {"^a": STRING}, "unevaluatedProperties": False},
    {
        "anyOf": [{"properties": {"a": STRING}}, {"properties": {"b": INTEGER}}],
        "unevaluatedProperties": False,
    },
    {"anyOf": [{"patternProperties": {"^a": STRING}}, True], "unevaluatedProperties": INTEGER},
    {"allOf": [{"minProperties": 2}, {"not": {"additionalProperties": INTEGER}}]},
    {
        "allOf": [
            {"not": {"additionalProperties": STRING}},
            {"not": {"additionalProperties": INTEGER}},
        ]
    },
]


@pytest.mark.parametrize("order", ["declared", "any"])
@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_what_is_read_last_is_valid(schema: dict[str, Any], order: str) -> None:
    schema = {"type": "object", **schema}
    grammar = Grammar.from_json_schema(schema, whitespace="compact", order=order, limits=UNHURRIED)
    accepted = {text for text, _ in TEXTS if grammar.accepts(text)}
    found, valid = set[frozenset[Any]](), set[frozenset[Any]]()
    for text, members in TEXTS:
        value = json.loads(text)
        is_valid = validates(schema, value)
        assert is_valid or text not in accepted, text
        if is_valid and len(value) == len(members):
            valid.add(frozenset(members))
            found |= {frozenset(members)} if text in accepted else set()
            assert text in accepted or order == "declared" or grammar.notes, text
    assert found == valid or grammar.notes  # in some order


ONCE = [named("a", "b"), {"patternProperties": {"^(a|b)$": INTEGER}}]


@pytest.mark.parametrize("order", ["declared", "any"])
@pytest.mark.parametrize("schema", ONCE, ids=json.dumps)
def test_a_name_of_a_few_occurs_once(schema: dict[str, Any], order: str) -> None:
    grammar = Grammar.from_json_schema(schema, whitespace="compact", order=order)
    for text in ('{"b":1,"a":1}', '{"a":1,"b":1}'):
        assert grammar.accepts(text)
    for text in ('{"a":1,"a":1}', '{"a":1,"b":1,"a":2}', r'{"a":1,"\u0061":2}'):
        assert not grammar.accepts(text)


def test_names_are_distinguished_by_a_checksum() -> None:
    grammar = Grammar.from_json_schema({"minProperties": 2}, whitespace="compact")
    for text in ('{"a":1,"b":1}', '{"a1":1,"a2":1}', '{"ab":1,"acb":1}', '{"x_a_x":1,"x_b_x":1}'):
        assert grammar.accepts(text), text
    for text in ('{"a":1,"a":2}', r'{"a":1,"\u0061":2}', '{"a":1,"a":1,"a":1}'):
        assert not grammar.accepts(text), text
    assert grammar.accepts('{"a":1,"a":2,"b":1}')
    (note,) = grammar.notes
    assert "can distinguish" in note.message


def test_more_undeclared_names_than_can_be_distinguished_are_refused() -> None:
    assert Grammar.from_json_schema({"minProperties": 6}).accepts(
        json.dumps(dict.fromkeys("abcdef"))
    )
    with pytest.raises(BuildError, match="more than 6 undeclared names") as caught:
        Grammar.from_json_schema({"type": "object", "minProperties": 7})
    assert caught.value.kind == "unsupported_schema"
    names = {"properties": dict.fromkeys("abcd", True), "minProperties": 7}
    assert Grammar.from_json_schema(names).accepts(json.dumps(dict.fromkeys("abcdefg")))
