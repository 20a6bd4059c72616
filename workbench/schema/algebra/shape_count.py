"""How many shapes a set of JSON values needs; tags that tell them apart.

Options are mostly told apart by one property with a value each (``"kind": {"const": "cat"}``). Two
shapes whose tags of one name have no value in common have none themselves, which is seen at a
glance: 250 options are 31,125 pairs.
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
    is_empty,
    property_of,
    text_complement,
)
from workbench.schema.schema_reader import UncomputableSet

if TYPE_CHECKING:
    from workbench.schema.string_sets import StringSet


#: By name, a stand-in for each value it may have.
Tags = Mapping[str, frozenset[object]]

#: So many words of one name are a tag.
_MOST_WORDS = 64


def tags_of(shape: Objects | Arrays) -> Tags:
    """The tags of a shape; arrays have none."""
    if isinstance(shape, Arrays):
        return {}
    found = {name: _tag(shape.properties[name]) for name in shape.required}
    return {name: tag for name, tag in found.items() if tag is not None}


def have_disjoint_tags(one: Tags, other: Tags) -> bool:
    """Whether shapes with these tags have no value in common."""
    return any(name in other and tag.isdisjoint(other[name]) for name, tag in one.items())


def _tag(lazy: LazySet) -> frozenset[object] | None:
    try:
        values = lazy.raw
    except (CircularReference, BuildError, LimitError):
        return None  # whoever writes the set out is told
    words = values.texts.words
    if words is None or len(words) > _MOST_WORDS or values.arrays or values.objects:
        return None
    if not is_empty(values.undecided) or not values.numbers.is_empty:
        return None
    return frozenset((*words, *values.booleans, *((None,) if values.null else ())))


Shape = TypeVar("Shape", Arrays, Objects)

#: So few shapes are kept without asking whether they are empty: settling asks once more.
_FEW = 2
#: Shapes of one type in one set: a union of 250 options with tags compiles in 75 to 150 ms.
_MOST = 500
#: Shapes that are looked at on the way to one set.
_MOST_TRIED = 4_000


class TooManyCases(UncomputableSet):
    """A conjunction of unions has more shapes than are written out."""

    def __init__(self) -> None:
        super().__init__(f"its conditions part into more than {_MOST} cases")


def non_empty_shapes(algebra: SetAlgebra, shapes: Iterable[Shape | None]) -> tuple[Shape, ...]:
    """The shapes that may have a value; None stands for one that has none.

    Where there are more than a few, those with no value are looked for, and those all of whose
    values another shape has: a product of unions is mostly made of them.

    Raises: TooManyCases
    """
    kept: list[Shape] = []
    looked_at = False
    for tried, shape in enumerate(shapes):
        algebra.clock.check()
        if tried > _MOST_TRIED:
            raise TooManyCases
        if shape is None or shape in kept:
            continue
        if not looked_at and len(kept) < _FEW:
            kept.append(shape)
            continue
        if not looked_at:
            for one in tuple(kept):
                kept = _with(algebra, kept, one)
            looked_at = True
        kept = _with(algebra, kept, shape)
        if len(kept) > _MOST:
            raise TooManyCases
    return tuple(kept)


def _with(algebra: SetAlgebra, kept: list[Shape], shape: Shape) -> list[Shape]:
    """Some shapes with one more, so far as it has values that no other has."""
    others: list[Shape] = [other for other in kept if other is not shape]
    if algebra.is_empty(shape) or any(_within(algebra, shape, other) for other in others):
        return others
    others = [other for other in others if not _within(algebra, other, shape)]
    others.append(shape)
    return others


def _within(algebra: SetAlgebra, one: Arrays | Objects, other: Arrays | Objects) -> bool:
    """Whether it is plain that the other shape has every value of the one."""
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
    """Whether every one of some names is allowed, or is declared by a shape."""
    left = names & text_complement(allowed)
    few = left.finite(len(shape.properties))
    return few is not None and all(name in shape.properties for name in few)
