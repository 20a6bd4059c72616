"""The order of names in schemas with options, and which of their shapes are kept."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.base.errors import BuildError
from workbench.schema.algebra.subschemas import Algebra
from workbench.schema.normal_form import Objects
from workbench.schema.schema_reader import Document, schema_source


def shapes_of(schema: Any) -> tuple[Objects, ...]:
    return Algebra(Document(schema_source(schema))).root.values.objects


def option(names: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "null"} for name in names}, **more}


CLOSED = {"additionalProperties": False}
ORDERS = [
    (
        {"anyOf": [option("ab", **CLOSED), option("bca", **CLOSED)]},
        ["ab", "bca", "abc"],
        "an option has its own order and that of the schema as a whole",
    ),
    (
        {"anyOf": [option("ab", **CLOSED), option("abc", **CLOSED)]},
        ["ab", "abc"],
        "which are the same more often than not",
    ),
    (
        {"anyOf": [option("a"), option("b")]},
        ["a", "ab", "b", "ab"],
        "a name that only another option declares stands where that one has it",
    ),
    (
        {"allOf": [option("ba")], **option("ca")},
        ["cab", "bac"],
        "own names come first, and where the text has them",
    ),
    (
        {**option("ca"), "allOf": [option("ba")]},
        ["cab"],
        "the same if they are first",
    ),
    (
        {"allOf": [{"anyOf": [option("b", **CLOSED), option("ba")]}, option("ac")]},
        ["b", "bac"],
        "the names of all options come before those of what comes later",
    ),
    (
        {
            "if": option("k", required=["k"]),
            "then": option("b", **CLOSED | {"properties": {"b": {}, "k": {}}}),
            "else": option("c"),
        },
        None,
        "the condition only distinguishes the name, at its position",
    ),
]


@pytest.mark.parametrize(("schema", "orders", "why"), ORDERS)
def test_options_are_read_in_both_orders(schema: Any, orders: list[str] | None, why: str) -> None:
    found = ["".join(shape.properties) for shape in shapes_of(schema)]
    if orders is None:
        assert found[0] == "kb", why
    else:
        assert found == orders, why


def test_options_with_very_many_names_keep_their_order() -> None:
    options = [
        {"type": "object", "properties": {f"{letter}{n}": {} for n in range(150)}}
        for letter in "ab"
    ]
    assert [len(shape.properties) for shape in shapes_of({"anyOf": options})] == [150, 150]


def test_a_shape_contained_in_another_is_dropped() -> None:
    options = [{"type": "object", "required": list(names)} for names in ("ab", "a", "ac", "abc")]
    (shape,) = shapes_of({"anyOf": options})
    assert shape.required == {"a"}


def test_other_shapes_are_kept() -> None:
    options = [
        option("a", required=["a"]),
        option("a", minProperties=2),
        option("a", maxProperties=2),
        option("a", additionalProperties=option("a")),
        {"type": "object", "properties": {"a": {"type": "string"}}},
    ]
    assert len(shapes_of({"anyOf": options})) == len(options)


def test_error_too_many_cases() -> None:
    asked = {f"a{n}": [f"b{n}"] for n in range(12)}
    with pytest.raises(BuildError, match="/dependentRequired: its conditions have"):
        shapes_of({"dependentRequired": asked})
