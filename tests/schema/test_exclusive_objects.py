"""``oneOf`` of many overlapping objects, compared with ``jsonschema`` on small instances."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import jsonschema
import pytest

import workbench as wb
from workbench.base.limits import Limits
from workbench.base.source import Source
from workbench.schema.algebra.dividing import has_few_cases
from workbench.schema.algebra.subschemas import Algebra
from workbench.schema.normal_form import Objects
from workbench.schema.schema_reader import Document

_NAMES = ("a", "b", "c", "d")
_VALUES: tuple[Any, ...] = ("x", "y", 1, True)
_INSTANCES = [
    dict(zip(names, values, strict=True))
    for size in range(len(_NAMES) + 1)
    for names in itertools.combinations(_NAMES, size)
    for values in itertools.product(_VALUES, repeat=size)
]
_KINDS: tuple[dict[str, Any], ...] = (
    {"type": "string"},
    {"type": "integer"},
    {"type": ["integer", "boolean"]},
    {"enum": ["x", 1]},
    {"enum": ["y"]},
)


def _check(schema: dict[str, Any]) -> None:
    """Compare the set of a schema on all instances."""
    document = Document(Source(json.dumps(schema), "schema"))
    values = Algebra(document, Limits(seconds=20)).root.values
    validator = jsonschema.Draft202012Validator(schema)
    for instance in _INSTANCES:
        assert values.contains(instance) == validator.is_valid(instance), instance


def _option(tag: list[str], rng: random.Random) -> dict[str, Any]:
    """An object whose optional property ``a`` is one of some tags."""
    names = rng.sample(_NAMES[1:], rng.randint(1, 3))
    option: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"enum": tag}, **{n: rng.choice(_KINDS) for n in sorted(names)}},
    }
    if rng.random() < 0.4:
        option["required"] = rng.sample(["a", *names], 1)
    if rng.random() < 0.3:
        option["additionalProperties"] = False
    return option


@pytest.mark.parametrize("seed", range(25))
def test_options_with_an_optional_tag(seed: int) -> None:
    rng = random.Random(seed)
    tags = [["x"], ["y"], ["x", "y"], ["z"], ["w"], ["v"]]
    _check({"oneOf": [_option(tag, rng) for tag in rng.sample(tags, rng.randint(5, 6))]})


@pytest.mark.parametrize("seed", range(15))
def test_options_without_a_tag(seed: int) -> None:
    rng = random.Random(seed)
    kinds = [{"type": "string"}, {"type": "integer"}, {"type": ["integer", "boolean"]}]
    options = [
        {
            "type": "object",
            "properties": {name: rng.choice(kinds) for name in sorted(rng.sample(_NAMES, 3))},
            "required": rng.sample(_NAMES, rng.randint(0, 2)),
        }
        for _ in range(5)
    ]
    _check({"oneOf": options})


@pytest.mark.parametrize("seed", range(15))
def test_complement_of_options_with_a_tag(seed: int) -> None:
    rng = random.Random(seed)
    options = [_option([tag], rng) for tag in "xyzwv"]
    _check({"type": "object", "not": {"anyOf": options}})


def test_equal_options_exclude_each_other() -> None:
    same = {"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}}
    other = {"type": "object", "properties": {"c": {"type": "integer"}, "d": {"type": "string"}}}
    tagged = [
        {**option, "properties": {"a": {"const": tag}, **option["properties"]}}  # type: ignore[dict-item]
        for tag, option in (("x", same), ("y", same), ("z", same), ("w", other), ("v", other))
    ]
    _check({"oneOf": tagged})
    _check({"oneOf": [*tagged, {"type": "object", "required": ["d"]}]})


def test_unevaluated_properties_of_divided_options() -> None:
    rng = random.Random(3)
    options = [_option([tag], rng) for tag in "xyzwv"]
    for option in options:
        option.pop("additionalProperties", None)
    _check({"type": "object", "oneOf": options, "unevaluatedProperties": False})


def test_many_options_with_an_optional_type() -> None:
    """32 options of open objects: more than 1,000 cases without dividing them."""
    kinds = [{"type": "string"}, {"type": "integer"}, {"type": "boolean"}]
    options = [
        {"properties": {"kind": {"const": f"k{n}"}, f"p{n % 8}": kinds[n % 3], "text": kinds[0]}}
        for n in range(32)
    ]
    schema: dict[str, Any] = {"type": "object", "oneOf": options}
    grammar = wb.Grammar.from_json_schema(schema, limits=Limits(seconds=20))
    validator = jsonschema.Draft202012Validator(schema)
    for instance in (
        {"kind": "k3", "text": "a"},
        {"kind": "k3", "p3": "a"},
        {"kind": "k3", "p3": 1},
        {"kind": "k4", "p4": 5},
        {"kind": "other"},
        {"text": "a"},
        {"text": 1},
        {},
    ):
        text = json.dumps(instance)
        assert grammar.accepts(text) == validator.is_valid(instance), instance


def test_few_cases() -> None:
    shape = Objects({}, frozenset("abcdefghij"), ())
    assert has_few_cases([(shape, shape), (shape,)])
    assert not has_few_cases([(shape, shape), (shape, shape)])
