"""Schemas with instances: the rows of a file, and the texts of an instance.

The traversal that puts properties into declared order shares no code with ``workbench.schema``, so
that it can check it: it validates nothing, and leaves values that fit no schema unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

#: A JSON value.
Json = Any

#: Keywords whose schemas apply to the same value: lists, mappings, single schemas.
_ALL, _MAPS = ("allOf", "anyOf", "oneOf"), ("dependentSchemas", "dependencies")
_ONE = ("$ref", "if", "then", "else")

_GAPS: dict[str, dict[str, Any]] = {
    "spaced": {},
    "compact": {"separators": (",", ":")},
    "indented": {"indent": 2},
}


def spellings(schema: Json, instance: Json) -> dict[str, str]:
    """An instance as ``json.dumps`` writes it, by order, separators and whether ASCII only."""
    declared = in_declared_order(schema, instance)
    return {
        f"{order}/{gaps}/{letters}": json.dumps(value, ensure_ascii=ascii_only, **how)
        for order, value in (("declared", declared), ("file", instance))
        for gaps, how in _GAPS.items()
        for letters, ascii_only in (("raw", False), ("ascii", True))
    }


def in_declared_order(schema: Json, instance: Json) -> Json:
    """The same value, properties ordered as the schema names them.

    The schema's own ``properties`` come first, then those of referenced and combined schemas in
    the order of the text, each name at its first mention. Undeclared names come last, in the
    instance's order.
    """
    return _order_members(schema, [schema], instance)


def undeclared_left_out(schema: Json, instance: Json) -> Json:
    """The same value without the properties that no schema names, matches or speaks of."""
    return _order_members(schema, [schema], instance, undeclared=False)


def _order_members(
    root: Json, schemas: list[Json], value: Json, *, undeclared: bool = True
) -> Json:
    applicable = list(_applicable(root, schemas))
    ordered = partial(_order_members, root, undeclared=undeclared)
    if isinstance(value, dict):
        declared = dict.fromkeys(n for s in applicable for n in _mapping(s, "properties"))
        others = (n for n in value if n not in declared)
        kept = (n for n in others if undeclared or _is_described(applicable, n))
        names = [*(n for n in declared if n in value), *kept]
        return {n: ordered(list(_of_property(applicable, n)), value[n]) for n in names}
    if isinstance(value, list):
        return [
            ordered(list(_of_item(applicable, index)), item) for index, item in enumerate(value)
        ]
    return value


#: Keywords that describe properties without naming them.
_OTHERS = "additionalProperties", "unevaluatedProperties", "propertyNames"


def _is_described(applicable: list[dict[str, Json]], name: str) -> bool:
    """Whether a keyword other than ``properties`` speaks of a property."""
    return any(
        any(keyword in schema for keyword in _OTHERS)
        or any(_matches(pattern, name) for pattern in _mapping(schema, "patternProperties"))
        for schema in applicable
    )


def _applicable(root: Json, schemas: list[Json]) -> Iterator[dict[str, Json]]:
    """The schemas that apply to one value; a referenced schema after the one that refers."""
    seen: set[int] = set()
    waiting = schemas[::-1]
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        yield schema
        waiting += list(_beside(root, schema))[::-1]


def _beside(root: Json, schema: dict[str, Json]) -> Iterator[Json]:
    for keyword, held in schema.items():
        if keyword in _ONE:
            yield _resolve(root, held) if keyword == "$ref" else held
        elif keyword in _ALL and isinstance(held, list):
            yield from held
        elif keyword in _MAPS:
            yield from _mapping(schema, keyword).values()


def _of_property(applicable: list[dict[str, Json]], name: str) -> Iterator[Json]:
    for schema in applicable:
        properties = _mapping(schema, "properties")
        fitting = [s for p, s in _mapping(schema, "patternProperties").items() if _matches(p, name)]
        if name in properties:
            fitting.insert(0, properties[name])
        yield from fitting or [schema.get("additionalProperties")]
        yield schema.get("unevaluatedProperties")


def _of_item(applicable: list[dict[str, Json]], index: int) -> Iterator[Json]:
    for schema in applicable:
        items = schema.get("items")
        first = items if isinstance(items, list) else schema.get("prefixItems")
        if isinstance(first, list) and index < len(first):
            yield first[index]
        else:
            yield schema.get("additionalItems") if isinstance(items, list) else items
        yield schema.get("unevaluatedItems")
        yield schema.get("contains")


def _mapping(schema: dict[str, Json], keyword: str) -> dict[str, Json]:
    held = schema.get(keyword)
    return held if isinstance(held, dict) else {}


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False


def _resolve(root: Json, reference: Json) -> Json:
    """The target of a local reference; None for any other reference."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    target = root
    for part in reference[1:].split("/")[1:]:
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(target, list) and name.isdigit() and int(name) < len(target):
            target = target[int(name)]
        elif isinstance(target, dict) and name in target:
            target = target[name]
        else:
            return None
    return target


def rows_of(file: Path, only: str) -> Iterator[dict[str, Any]]:
    """The rows of a file or folder whose id, suite or subset holds a text.

    A folder, such as MaskBench's, has a file of JSON for each row, named ``SUBSET---ID.json`` or
    ``SUBSET_NUMBER.json``.
    """
    for row in _rows_of_folder(file) if file.is_dir() else _rows_of_lines(file):
        if any(only in row.get(key, "") for key in ("id", "suite", "subset")):
            yield row


def _rows_of_lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _rows_of_folder(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.glob("*.json")):
        row = json.loads(file.read_text("utf-8"))
        subset = file.stem.partition("---")[0]
        yield {"id": file.stem, "subset": re.sub(r"_\d+$", "", subset), **row}
