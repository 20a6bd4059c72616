"""Walks through a type: in comes one, out come the types written inside it."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.typed.types import Dict, Many, Tuple, Type, Union


def parts(type_: Type) -> tuple[Type, ...]:
    """The types a type is made of, in the order they are written."""
    match type_:
        case Union(options=options):
            return options
        case Many(item=item):
            return (item,)
        case Tuple(items=items):
            return items
        case Dict(key=key, value=value):
            return (key, value)
    return ()


def inside(type_: Type) -> Iterator[Type]:
    """A type, and every type written in it; names are not followed."""
    yield type_
    for part in parts(type_):
        yield from inside(part)
