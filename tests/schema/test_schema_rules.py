"""The rules of a schema compared with its set: all small instances, and random samples."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from workbench.analysis.random_texts import samples
from workbench.base.limits import LIMITS
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import build_separately
from workbench.schema.json_schema import SchemaGrammar, schema_grammar
from workbench.schema.schema_options import SchemaOptions
from workbench.schema.schema_reader import schema_source

COMPACT, ONE_SPACE = SchemaOptions(whitespace="compact"), SchemaOptions(whitespace="one space")
ANY = SchemaOptions(whitespace=12)

_STRING, _INTEGER = {"type": "string"}, {"type": "integer"}
_ANY: dict[str, Any] = {}
_ABC: dict[str, Any] = {"type": "object", "properties": {"a": _INTEGER, "b": _STRING, "c": _ANY}}
_CLOSED = {**_ABC, "additionalProperties": False}
_ARRAY: dict[str, Any] = {"type": "array"}
#: An object of strings one member of which is not a string: no such object exists, but the algebra
#: cannot decide that.
_DEAD: dict[str, Any] = {"type": "object", "required": ["a"], "properties": {"a": _STRING},
                         "maxProperties": 1, "not": {"additionalProperties": _STRING}}  # fmt: skip

#: The feature to test, and a schema.
SCHEMAS: list[tuple[str, Any]] = [
    ("everything", True),
    ("leaves of all types", {"type": ["null", "boolean", "integer", "string"]}),
    ("a set of a few values", {"enum": ["a", 1, None, True, [1], {"a": 1}]}),
    ("all members are optional", _CLOSED),
    ("the first is required", {**_CLOSED, "required": ["a"]}),
    ("the last is required", {**_CLOSED, "required": ["c"]}),
    ("one in the middle is required", {**_CLOSED, "required": ["b"]}),
    ("all are required", {**_CLOSED, "required": ["a", "b", "c"]}),
    ("other names too", _ABC),
    ("other names with a required one", {**_ABC, "required": ["b"]}),
    ("other names of one kind", {**_ABC, "additionalProperties": {"type": "boolean"}}),
    ("no names but others", {"type": "object", "additionalProperties": _INTEGER}),
    ("no member at all", {"type": "object", "additionalProperties": False}),
    ("at least one member", {**_CLOSED, "minProperties": 1}),
    ("at least two members", {**_CLOSED, "minProperties": 2}),
    ("at most one member", {**_CLOSED, "maxProperties": 1}),
    ("exactly two with others", {**_ABC, "minProperties": 2, "maxProperties": 2}),
    ("a required one and at most two", {**_ABC, "required": ["c"], "maxProperties": 2}),
    ("nothing, by count", {"type": "object", "maxProperties": 0}),
    ("some other name", {"type": "object", "not": {"additionalProperties": {"type": "string"}}}),
    ("an undeclared name is required", {"type": "object", "required": ["d"]}),
    ("such a name among others", {**_ABC, "required": ["d"]}),
    ("such a name after a declared one", {**_ABC, "required": ["b", "d"]}),
    ("such a name without others", {**_CLOSED, "required": ["d"], "additionalProperties": _INTEGER}),
    ("two such names, and a declared one", {**_ABC, "required": ["a", "d", "e"]}),
    ("one name asks for another", {"type": "object", "dependentRequired": {"d": ["e"]}}),
    ("names by pattern", {"type": "object", "patternProperties": {"^[ab]$": _INTEGER}}),
    ("a name with signs that are escaped", {"type": "object", "properties": {'a"\\\n': _ANY}}),
    ("any array", _ARRAY),
    ("integers", {**_ARRAY, "items": _INTEGER}),
    ("no item", {**_ARRAY, "maxItems": 0}),
    ("at least two", {**_ARRAY, "items": _INTEGER, "minItems": 2}),
    ("one or two", {**_ARRAY, "items": _INTEGER, "minItems": 1, "maxItems": 2}),
    ("a prefix", {**_ARRAY, "prefixItems": [_INTEGER, _STRING]}),
    ("a prefix that ends", {**_ARRAY, "prefixItems": [_INTEGER, _STRING], "items": False}),
    ("a prefix of which one is there", {**_ARRAY, "prefixItems": [_INTEGER, _STRING], "minItems": 1}),
    ("more than the prefix", {**_ARRAY, "prefixItems": [_INTEGER], "items": _STRING, "minItems": 3}),
    ("less than the prefix", {**_ARRAY, "prefixItems": [_INTEGER, _STRING], "maxItems": 1}),
    ("contains one", {**_ARRAY, "contains": _STRING}),
    ("contains two", {**_ARRAY, "contains": _STRING, "minContains": 2}),
    ("contains at most one", {**_ARRAY, "contains": _STRING, "maxContains": 1}),
    ("contains exactly one of two", {**_ARRAY, "contains": _STRING, "maxContains": 1, "minItems": 2}),
    ("differing booleans", {**_ARRAY, "items": {"type": "boolean"}, "uniqueItems": True}),
    ("two places that differ", {**_ARRAY, "prefixItems": [{"enum": [1, "a"]}, {"enum": ["a", 2]}],
     "maxItems": 2, "uniqueItems": True}),
    ("two that differ of three", {**_ARRAY, "items": {"enum": [1, "a", None]}, "uniqueItems": True,
     "minItems": 2}),
    ("one of two objects", {"anyOf": [{**_CLOSED, "required": ["a"]}, {**_CLOSED, "required": ["b"]}]}),
    ("a member that cannot be", {**_CLOSED, "properties": {"a": _DEAD, "b": _INTEGER}}),
    ("items that cannot be", {**_ARRAY, "items": _DEAD}),
    ("one alternative cannot be", {"anyOf": [_DEAD, {**_CLOSED, "required": ["b"]}]}),
    ("an object or a list", {"type": ["object", "array", "null"], "items": _INTEGER,
     "properties": {"a": _INTEGER}, "additionalProperties": False}),
    ("a list of itself", {"$ref": "#/$defs/l", "$defs": {"l": {"type": "array", "items": {"$ref":
     "#/$defs/l"}}}}),
    ("a tree", {"type": "object", "properties": {"a": _INTEGER, "b": {"$ref": "#"}},
     "additionalProperties": False, "required": ["a"]}),
]  # fmt: skip
_IDS = [reason for reason, _ in SCHEMAS]


def _instances() -> Iterator[Any]:
    """Small values, with the names and types of the schemas."""
    leaves: list[Any] = [None, True, 1, -2, "a", "", 'a"\\\n']
    yield from leaves
    few: list[Any] = [None, False, 1, "a", [], {}, [1], {"a": 1}]
    for size in range(3):
        yield from (list(items) for items in product(few, repeat=size))
    yield from (list(items) for items in product([1, "a", None], repeat=3))
    for names in [*product("abcd"), ("a", "b"), ("a", "c"), ("b", "c"), ("c", "d"), ("d", "e")]:
        for values in product(few, repeat=len(names)):
            yield dict(zip(names, values, strict=True))
    for letters in ("abc", "abd", "acd", "abcd"):
        for values in product([1, "a", True], repeat=len(letters)):
            yield dict(zip(letters, values, strict=True))
    yield {'a"\\\n': 1}
    yield {"a": 1, "b": {"a": 1, "b": {"a": 2}}}
    yield {"a": 1, "b": {"a": 1, "b": {"b": {}}}}
    yield [[], [[]], [[[1]]]]
    yield [[], [[]], [[[]]]]


INSTANCES = list(_instances())


def _written(schema: Any, options: SchemaOptions) -> tuple[SchemaGrammar, Grammar]:
    """The result for a schema, and the grammar of the public API."""
    source = schema_source(json.dumps(schema))
    made = schema_grammar(source, options)
    machine = build_separately(made.tree)
    return made, Grammar(source, Notation.JSON_SCHEMA, machine, tree=made.tree, limits=LIMITS)


def _accepted(schema: Any, options: SchemaOptions, **how: Any) -> None:
    """Whether the grammar accepts the output of ``json.dumps`` exactly for members of the set."""
    made, grammar = _written(schema, options)
    for instance in INSTANCES:
        text = json.dumps(instance, **how)
        expected = made.instances.raw.contains(instance)
        assert grammar.accepts(text) == expected, text


@pytest.mark.parametrize("schema", [schema for _, schema in SCHEMAS], ids=_IDS)
def test_compact_instances(schema: Any) -> None:
    _accepted(schema, COMPACT, separators=(",", ":"))


@pytest.mark.parametrize("schema", [schema for _, schema in SCHEMAS[::4]], ids=_IDS[::4])
def test_spaced_instances(schema: Any) -> None:
    _accepted(schema, ONE_SPACE)
    _accepted(schema, ANY, indent=2)


@pytest.mark.parametrize("schema", [schema for _, schema in SCHEMAS], ids=_IDS)
def test_samples_are_instances(schema: Any) -> None:
    made, grammar = _written(schema, ANY)
    found = samples(grammar, 12, seed=1, longest=60)
    assert found
    for text in found:
        value, is_doubtful = _read(text)
        assert is_doubtful or made.instances.raw.contains(value), text


def _read(text: str) -> tuple[Any, bool]:
    """The value of a JSON text, and whether its membership cannot be checked.

    An object may have an undeclared name twice; a number may have too many digits for a float.
    """
    doubts: list[bool] = []

    def number(numeral: str) -> Decimal:
        doubts.append(abs(Decimal(numeral).adjusted()) > 400)
        return Decimal(0) if doubts[-1] else Decimal(numeral)

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        doubts.append(len(dict(pairs)) < len(pairs))
        return dict(pairs)

    return json.loads(text, parse_float=number, object_pairs_hook=members), any(doubts)
