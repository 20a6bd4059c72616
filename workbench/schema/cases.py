"""How many shapes a set may have: in come shapes, out come those that are not surely empty."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from workbench.schema.algebra import Algebra
    from workbench.schema.values import Arrays, Objects

Shape = TypeVar("Shape", "Arrays", "Objects")

#: So few shapes are kept without asking whether they are empty: settling asks once more.
_FEW = 2
#: Shapes of one type in one set.
_MOST = 200


class TooManyCases(Exception):  # noqa: N818  # told to people as a BuildError by whoever began
    """A conjunction of unions has more shapes than are written out."""

    def __init__(self) -> None:
        super().__init__(f"its conditions part into more than {_MOST} cases")


def live(algebra: Algebra, shapes: Iterable[Shape | None]) -> tuple[Shape, ...]:
    """The shapes that may have a value; None stands for one that has none.

    Raises: TooManyCases
    """
    kept: list[Shape] = []
    for shape in shapes:
        if shape is not None and shape not in kept:
            kept.append(shape)
            if len(kept) > 4 * _MOST:
                raise TooManyCases
    if len(kept) > _FEW:
        empty = algebra.emptiness.of_shape
        kept = [shape for shape in kept if empty(shape) is not True]
    if len(kept) > _MOST:
        raise TooManyCases
    return tuple(kept)
