"""A schema and an instance in; out come texts of the instance, properties in declared order or not.

Written apart from the reading of schemas, so that the one can be held against the other: nothing
is validated, and what does not fit is left as it stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

#: A JSON value.
Json = Any

#: Whatever holds schemas that speak of the same value.
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

    Its own ``properties`` come first, then those of what it refers to and is put together of, in
    the order of the text, the first mention counting; names the schema does not have come last, in
    the order they stand.
    """
    return _ordered(schema, [schema], instance)


def _ordered(root: Json, schemas: list[Json], value: Json) -> Json:
    speaking = list(_speaking(root, schemas))
    if isinstance(value, dict):
        declared = dict.fromkeys(n for s in speaking for n in _mapping(s, "properties"))
        names = [*(n for n in declared if n in value), *(n for n in value if n not in declared)]
        return {n: _ordered(root, list(_of_property(speaking, n)), value[n]) for n in names}
    if isinstance(value, list):
        return [
            _ordered(root, list(_of_item(speaking, place)), item)
            for place, item in enumerate(value)
        ]
    return value


def _speaking(root: Json, schemas: list[Json]) -> Iterator[dict[str, Json]]:
    """The schemas that speak of one value, those referred to after those that refer."""
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
            yield _resolved(root, held) if keyword == "$ref" else held
        elif keyword in _ALL and isinstance(held, list):
            yield from held
        elif keyword in _MAPS:
            yield from _mapping(schema, keyword).values()


def _of_property(speaking: list[dict[str, Json]], name: str) -> Iterator[Json]:
    for schema in speaking:
        own = _mapping(schema, "properties")
        fitting = [s for p, s in _mapping(schema, "patternProperties").items() if _found(p, name)]
        if name in own:
            fitting.insert(0, own[name])
        yield from fitting or [schema.get("additionalProperties")]
        yield schema.get("unevaluatedProperties")


def _of_item(speaking: list[dict[str, Json]], place: int) -> Iterator[Json]:
    for schema in speaking:
        items = schema.get("items")
        first = items if isinstance(items, list) else schema.get("prefixItems")
        if isinstance(first, list) and place < len(first):
            yield first[place]
        else:
            yield schema.get("additionalItems") if isinstance(items, list) else items
        yield schema.get("unevaluatedItems")
        yield schema.get("contains")


def _mapping(schema: dict[str, Json], keyword: str) -> dict[str, Json]:
    held = schema.get(keyword)
    return held if isinstance(held, dict) else {}


def _found(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False


def _resolved(root: Json, reference: Json) -> Json:
    """What a local reference points at; None for any other."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    here = root
    for part in reference[1:].split("/")[1:]:
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(here, list) and name.isdigit() and int(name) < len(here):
            here = here[int(name)]
        elif isinstance(here, dict) and name in here:
            here = here[name]
        else:
            return None
    return here
