"""How many shapes a set may have: in come shapes, out come those that add values to the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from workbench.schema.algebra.names import others
from workbench.schema.refusals import Untold
from workbench.schema.values import Arrays, Objects, property_of

if TYPE_CHECKING:
    from workbench.schema.algebra.algebra import Algebra
    from workbench.schema.strings.texts import Texts

Shape = TypeVar("Shape", Arrays, Objects)

#: So few shapes are kept without asking whether they are empty: settling asks once more.
_FEW = 2
#: Shapes of one type in one set: a union of 250 options with tags compiles in 75 to 150 ms.
_MOST = 500
#: Shapes that are looked at on the way to one set.
_MOST_TRIED = 4_000


class TooManyCases(Untold):
    """A conjunction of unions has more shapes than are written out."""

    def __init__(self) -> None:
        super().__init__(f"its conditions part into more than {_MOST} cases")


def live(algebra: Algebra, shapes: Iterable[Shape | None]) -> tuple[Shape, ...]:
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


def _with(algebra: Algebra, kept: list[Shape], shape: Shape) -> list[Shape]:
    """Some shapes with one more, so far as it has values that no other has."""
    others: list[Shape] = [other for other in kept if other is not shape]
    if algebra.emptiness.surely(shape) or any(_within(algebra, shape, other) for other in others):
        return others
    others = [other for other in others if not _within(algebra, other, shape)]
    others.append(shape)
    return others


def _within(algebra: Algebra, one: Arrays | Objects, other: Arrays | Objects) -> bool:
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
    for name, later in other.properties.items():
        own = property_of(one, name) or algebra.nothing
        if own is not algebra.nothing and not later.key <= own.key:
            return False
    for name, later in one.properties.items():
        if name not in other.properties and later is not algebra.nothing:
            held = property_of(other, name)
            if held is None or not held.key <= later.key:
                return False
    return all(
        any(
            held.key <= later.key and _covered(names, allowed, other)
            for allowed, held in other.extras
        )
        for names, later in one.extras
    )


def _covered(names: Texts, allowed: Texts, shape: Objects) -> bool:
    """Whether every one of some names is allowed, or is declared by a shape."""
    left = names & others(allowed)
    few = left.finite(len(shape.properties))
    return few is not None and all(name in shape.properties for name in few)
