"""Limits the number of shapes of a set, by removing empty and redundant ones; discriminator tags.

Options usually differ in one property with a constant value (``"kind": {"const": "cat"}``). Two
shapes whose tags under one name are disjoint are disjoint themselves. This test is fast, which
matters because 250 options are 31,125 pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from workbench.base.errors import BuildError, LimitError
from workbench.schema.algebra.interface import SetAlgebra
from workbench.schema.normal_form import (
    Arrays,
    CircularReference,
    LazySet,
    Objects,
    property_of,
)
from workbench.schema.schema_reader import UncomputableSet

if TYPE_CHECKING:
    from workbench.schema.string_sets import StringSet


#: The possible values of each property that has few of them, by name.
Tags = Mapping[str, frozenset[object]]

#: A property with at most this number of strings is a tag.
_MAX_TAG_WORDS = 64


def tags_of(shape: Objects | Arrays) -> Tags:
    """The tags of a shape; arrays have none."""
    if isinstance(shape, Arrays):
        return {}
    found = {name: _tag(shape.properties[name]) for name in shape.required}
    return {name: tag for name, tag in found.items() if tag is not None}


def have_disjoint_tags(one: Tags, other: Tags) -> bool:
    """Whether shapes with these tags are surely disjoint."""
    return any(name in other and tag.isdisjoint(other[name]) for name, tag in one.items())


def _tag(lazy: LazySet) -> frozenset[object] | None:
    try:
        values = lazy.raw
    except (CircularReference, BuildError, LimitError):
        return None  # the error is reported when the set is written as rules
    words = values.texts.words
    if words is None or len(words) > _MAX_TAG_WORDS or values.arrays or values.objects:
        return None
    if not values.undecided.is_empty or not values.numbers.is_empty:
        return None
    return frozenset((*words, *values.booleans, *((None,) if values.null else ())))


Shape = TypeVar("Shape", Arrays, Objects)

#: Up to this number, shapes are kept without an emptiness test; ``simplify`` tests them later.
_MAX_UNTESTED = 2
#: The most shapes of one type in a set: a union of 250 options with tags compiles in 75 to 150 ms.
_MAX_SHAPES = 500
#: The most candidate shapes that are examined for one set.
_MAX_CANDIDATES = 4_000


class TooManyCases(UncomputableSet):
    """A conjunction of unions has more than ``_MAX_SHAPES`` shapes."""

    def __init__(self) -> None:
        super().__init__(f"its conditions have more than {_MAX_SHAPES} cases")


def non_empty_shapes(algebra: SetAlgebra, shapes: Iterable[Shape | None]) -> tuple[Shape, ...]:
    """The shapes that may have a value; None is an empty shape.

    If there are more than ``_MAX_UNTESTED``, empty shapes and shapes contained in another one are
    removed: most shapes of a product of unions are such.

    Raises: TooManyCases
    """
    kept: list[Shape] = []
    tested = False
    for tried, shape in enumerate(shapes):
        algebra.clock.check()
        if tried > _MAX_CANDIDATES:
            raise TooManyCases
        if shape is None or shape in kept:
            continue
        if not tested and len(kept) < _MAX_UNTESTED:
            kept.append(shape)
            continue
        if not tested:
            for one in tuple(kept):
                kept = _with(algebra, kept, one)
            tested = True
        kept = _with(algebra, kept, shape)
        if len(kept) > _MAX_SHAPES:
            raise TooManyCases
    return tuple(kept)


def _with(algebra: SetAlgebra, kept: list[Shape], shape: Shape) -> list[Shape]:
    """Adds a shape unless it is empty or contained in another; removes shapes that it contains."""
    others: list[Shape] = [other for other in kept if other is not shape]
    if algebra.is_empty(shape) or any(_within(algebra, shape, other) for other in others):
        return others
    others = [other for other in others if not _within(algebra, other, shape)]
    others.append(shape)
    return others


def _within(algebra: SetAlgebra, one: Arrays | Objects, other: Arrays | Objects) -> bool:
    """Whether a shape is obviously contained in another one."""
    if not isinstance(one, Objects) or not isinstance(other, Objects):
        return False
    if not other.required <= one.required or other.low > one.low:
        return False
    if any(pairs not in one.some for pairs in other.some):
        return False
    if one.evaluated is not other.evaluated:
        return False
    if other.high is not None and (one.high is None or one.high > other.high):
        return False
    for name, lazy in other.properties.items():
        own = property_of(one, name) or algebra.nothing
        if own is not algebra.nothing and not lazy.key <= own.key:
            return False
    for name, lazy in one.properties.items():
        if name not in other.properties and lazy is not algebra.nothing:
            held = property_of(other, name)
            if held is None or not held.key <= lazy.key:
                return False
    return all(
        any(
            held.key <= lazy.key and _covered(names, allowed, other)
            for allowed, held in other.extras
        )
        for names, lazy in one.extras
    )


def _covered(names: StringSet, allowed: StringSet, shape: Objects) -> bool:
    """Whether each of these names is allowed, or is declared by a shape."""
    left = names & ~allowed
    few = left.finite(len(shape.properties))
    return few is not None and all(name in shape.properties for name in few)
