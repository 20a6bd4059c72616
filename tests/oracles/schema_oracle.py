"""A slow JSON Schema validator that follows draft 2020-12, for the keywords generated below."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st


@dataclass
class Result:
    fits: bool = True
    names: set[str] = field(default_factory=set)
    items: set[int] = field(default_factory=set)


def validates(schema: Any, instance: Any) -> bool:
    """Whether an instance is valid."""
    return check(schema, instance, schema).fits


class Endless(Exception):  # noqa: N818
    """A schema refers to itself without a property or item between; this is not specified."""


def check(schema: Any, value: Any, root: Any) -> Result:
    if isinstance(schema, bool):
        return Result(schema)
    depth.append(schema)
    try:
        if len(depth) > 40:
            raise Endless
        return checked(schema, value, root)
    finally:
        depth.pop()


#: The nested schemas that are being checked.
depth: list[Any] = []


def checked(schema: Any, value: Any, root: Any) -> Result:
    result = Result()
    result.fits = plain(schema, value, root)
    for part in in_place(schema, value, root):
        result.fits = result.fits and part.fits
        result.names |= part.names
        result.items |= part.items
    if isinstance(value, dict):
        members(schema, value, root, result)
    if isinstance(value, list):
        elements(schema, value, root, result)
    return result if result.fits else Result(False)


def type_of(value: Any) -> set[str]:
    if value is None:
        return {"null"}
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, (int, float)):
        return {"number", "integer"} if value == int(value) else {"number"}
    names: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return {names[type(value)]}


def same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    return type_of(one) == type_of(other) and one == other


def plain(schema: dict[str, Any], value: Any, root: Any) -> bool:
    types = schema.get("type", [])
    types = {types} if isinstance(types, str) else set(types)
    if types and not types & type_of(value):
        return False
    if "enum" in schema and not any(same(value, one) for one in schema["enum"]):
        return False
    if "const" in schema and not same(value, schema["const"]):
        return False
    if isinstance(value, str):
        return (
            schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", math.inf)
            and re.search(schema.get("pattern", ""), value) is not None
        )
    if "number" in type_of(value):
        return (
            schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf)
            and schema.get("exclusiveMinimum", -math.inf)
            < value
            < schema.get("exclusiveMaximum", math.inf)
            and ("multipleOf" not in schema or value % schema["multipleOf"] == 0)
        )
    if isinstance(value, list):
        distinct = not any(same(a, b) for i, a in enumerate(value) for b in value[:i])
        return schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf) and (
            distinct or not schema.get("uniqueItems")
        )
    if isinstance(value, dict):
        asked = set(schema.get("required", []))
        for name, names in schema.get("dependentRequired", {}).items():
            asked |= set(names) if name in value else set()
        names_fit = all(check(schema.get("propertyNames", True), name, root).fits for name in value)
        low, high = schema.get("minProperties", 0), schema.get("maxProperties", math.inf)
        return asked <= value.keys() and low <= len(value) <= high and names_fit
    return True


def in_place(schema: dict[str, Any], value: Any, root: Any) -> list[Result]:
    parts = [check(one, value, root) for one in schema.get("allOf", [])]
    if "$ref" in schema:
        target = root
        for step in schema["$ref"][2:].split("/"):
            target = target[step] if step else target
        parts.append(check(target, value, root))
    if "anyOf" in schema:
        parts += fitting(schema["anyOf"], value, root, range(1, 99))
    if "oneOf" in schema:
        parts += fitting(schema["oneOf"], value, root, range(1, 2))
    if "not" in schema:
        parts.append(Result(not check(schema["not"], value, root).fits))
    if "if" in schema:
        asked = check(schema["if"], value, root)
        branch = check(schema.get("then" if asked.fits else "else", True), value, root)
        parts += [branch, *([asked] if asked.fits else [])]
    if isinstance(value, dict):
        for name, held in schema.get("dependentSchemas", {}).items():
            parts += [check(held, value, root)] if name in value else []
    return parts


def fitting(options: list[Any], value: Any, root: Any, wanted: range) -> list[Result]:
    found = [part for part in (check(one, value, root) for one in options) if part.fits]
    return [Result(len(found) in wanted), *found]


def members(schema: dict[str, Any], value: dict[str, Any], root: Any, result: Result) -> None:
    own: set[str] = set()
    for name, held in value.items():
        asked = [schema["properties"][name]] if name in schema.get("properties", {}) else []
        for pattern, one in schema.get("patternProperties", {}).items():
            asked += [one] if re.search(pattern, name) else []
        if not asked and "additionalProperties" in schema:
            asked = [schema["additionalProperties"]]
        own |= {name} if asked else set()
        result.fits = result.fits and all(check(one, held, root).fits for one in asked)
    result.names |= own
    if "unevaluatedProperties" in schema:
        for name in value.keys() - result.names:
            fits = check(schema["unevaluatedProperties"], value[name], root).fits
            result.fits = result.fits and fits
        result.names |= value.keys()


def elements(schema: dict[str, Any], value: list[Any], root: Any, result: Result) -> None:
    first = schema.get("prefixItems", [])
    for index, held in enumerate(value):
        asked = first[index] if index < len(first) else schema.get("items", True)
        result.fits = result.fits and check(asked, held, root).fits
        if index < len(first) or "items" in schema:
            result.items.add(index)
    if "contains" in schema:
        found = {i for i, held in enumerate(value) if check(schema["contains"], held, root).fits}
        low, high = schema.get("minContains", 1), schema.get("maxContains", math.inf)
        result.fits = result.fits and low <= len(found) <= high
        result.items |= found
    if "unevaluatedItems" in schema:
        for index, held in enumerate(value):
            if index not in result.items:
                fits = check(schema["unevaluatedItems"], held, root).fits
                result.fits = result.fits and fits
        result.items |= set(range(len(value)))


NAMES = ("a", "b", "ab")
LEAVES = (None, True, False, 0, 1, 2, 3, 1.5, "", "a", "b", "ab")
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")

leaves = st.sampled_from(LEAVES)
instances = st.recursive(
    leaves,
    lambda held: st.lists(held, max_size=3) | st.dictionaries(st.sampled_from(NAMES), held),
    max_leaves=6,
)
counts = st.integers(0, 2)
names = st.lists(st.sampled_from(NAMES), unique=True, max_size=2)


def keywords(held: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A schema with one keyword."""
    several = st.lists(held, min_size=1, max_size=3)
    named = st.dictionaries(st.sampled_from(NAMES), held, min_size=1, max_size=2)
    patterned = st.dictionaries(st.sampled_from(("^a", "b", "b$")), held, min_size=1, max_size=2)
    values = {
        "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, unique=True),
        "enum": st.lists(instances, min_size=1, max_size=3),
        "const": instances,
        "minLength": counts,
        "maxLength": counts,
        "pattern": st.sampled_from(("a", "^a", "b$", "^(a|b)?$")),
        "minimum": counts,
        "exclusiveMaximum": counts,
        "multipleOf": st.sampled_from((2, 0.5)),
        "properties": named,
        "patternProperties": patterned,
        "additionalProperties": held,
        "propertyNames": held,
        "required": names,
        "minProperties": counts,
        "maxProperties": counts,
        "dependentRequired": st.dictionaries(st.sampled_from(NAMES), names, max_size=2),
        "dependentSchemas": named,
        "prefixItems": several,
        "items": held,
        "minItems": counts,
        "maxItems": counts,
        "contains": held,
        "minContains": counts,
        "maxContains": counts,
        "uniqueItems": st.booleans(),
        "unevaluatedProperties": held,
        "unevaluatedItems": held,
        "allOf": several,
        "anyOf": several,
        "oneOf": several,
        "not": held,
        "if": held,
        "then": held,
        "else": held,
        "$ref": st.sampled_from(("#", "#/$defs/a", "#/$defs/b")),
    }
    return st.sampled_from(sorted(values)).flatmap(
        lambda word: values[word].map(lambda value: {word: value})
    )


def merged(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {word: value for part in parts for word, value in part.items()}


subschemas = st.recursive(
    st.booleans() | st.fixed_dictionaries({"type": st.sampled_from(TYPES)}),
    lambda held: st.lists(keywords(held), min_size=1, max_size=4).map(merged),
    max_leaves=8,
)
documents = st.builds(
    lambda top, a, b: {**top, "$defs": {"a": a, "b": b}} if isinstance(top, dict) else top,
    subschemas,
    subschemas,
    subschemas,
)
