"""Shorter constraints and texts that still show a difference.

Source: delta debugging (Zeller & Hildebrandt 2002); JSON is shortened by its tree, as in
hierarchical delta debugging (Misherghi & Su 2006).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

#: A JSON value.
Json = Any

#: Keywords under which other parts of a schema may be referred to.
_DEFINITIONS = "$defs", "definitions", "$schema"


def shrunk(
    value: T,
    smaller: Callable[[T], Iterator[T]],
    holds: Callable[[T], bool],
    ends: float,
) -> T:
    """The value after replacing it by a smaller one as long as the property holds.

    ``smaller``  smaller values, those that leave out most first.
    ``ends``     the time (``time.monotonic``) after which nothing is tried.
    """
    changed = True
    while changed:
        changed = False
        for candidate in smaller(value):
            if time.monotonic() > ends:
                return value
            if holds(candidate):
                value, changed = candidate, True
                break
    return value


def smaller_texts(text: str) -> Iterator[str]:
    """A text without one of its parts: first halves, at last characters."""
    size = len(text) // 2
    while size:
        for begin in range(0, len(text), size):
            yield text[:begin] + text[begin + size :]
        size //= 2


#: Keywords without an effect on what is valid.
_ANNOTATIONS = {"description", "title", "default", "examples", "$comment", "$id", "$schema"}


def without_annotations(schema: Json) -> Json:
    """The schema without annotations that are no properties: their values are no schemas."""
    if isinstance(schema, dict):
        return {
            name: without_annotations(each)
            for name, each in schema.items()
            if name not in _ANNOTATIONS or isinstance(each, dict)
        }
    return [without_annotations(each) for each in schema] if isinstance(schema, list) else schema


def smaller_pairs(pair: tuple[Json, Json]) -> Iterator[tuple[Json, Json]]:
    """A schema and a value of which one is smaller, or both are replaced by one of their parts."""
    schema, value = pair
    bare = without_annotations(schema)
    if bare != schema:
        yield bare, value
    yield from _parts(schema, value)
    for candidate in smaller_values(schema):
        yield candidate, value
    for other in smaller_values(value):
        yield schema, other


def _parts(schema: Json, value: Json) -> Iterator[tuple[Json, Json]]:
    """Members and items of the value with the schemas that name them, and choices of the schema."""
    if not isinstance(schema, dict):
        return
    shared = {name: schema[name] for name in _DEFINITIONS if name in schema}

    def inner(part: Json) -> Json:
        return {**shared, **part} if isinstance(part, dict) else part

    properties, items = schema.get("properties"), schema.get("items")
    if isinstance(value, dict) and isinstance(properties, dict):
        for name, part in properties.items():
            if name in value:
                yield inner(part), value[name]
    if isinstance(value, list) and isinstance(items, dict):
        for item in value:
            yield inner(items), item
    for keyword in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(keyword) or () if isinstance(schema.get(keyword), list) else ():
            yield inner(part), value


def smaller_values(value: Json) -> Iterator[Json]:
    """A JSON value without one of its parts, outer parts first."""
    if isinstance(value, dict):
        names = [*value]
        if len(names) > 3:
            for half in (names[: len(names) // 2], names[len(names) // 2 :]):
                yield {name: value[name] for name in half}
        for name in value:
            yield {other: each for other, each in value.items() if other != name}
        for name, each in value.items():
            for less in smaller_values(each):
                yield {**value, name: less}
    elif isinstance(value, list):
        if len(value) > 3:
            yield value[: len(value) // 2]
            yield value[len(value) // 2 :]
        for i in range(len(value)):
            yield [*value[:i], *value[i + 1 :]]
        for i, each in enumerate(value):
            for less in smaller_values(each):
                yield [*value[:i], less, *value[i + 1 :]]
    elif isinstance(value, str):
        yield from smaller_texts(value)
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) > 9:
        yield int(value / 10)
