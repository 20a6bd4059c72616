"""Conjunction and union of sets of JSON values: in come two normal forms, out comes one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import TYPE_CHECKING

from workbench.schema.algebra.cases import live
from workbench.schema.algebra.doubts import of_both
from workbench.schema.algebra.names import either, nobody
from workbench.schema.algebra.ordering import mentioned, together
from workbench.schema.strings.texts import Texts
from workbench.schema.values import Arrays, Objects, Values, item_of, property_of

if TYPE_CHECKING:
    from workbench.schema.algebra.algebra import Algebra
    from workbench.schema.values import Later


def meet(algebra: Algebra, left: Values, right: Values) -> Values:
    """The values in both sets: every shape of the one with every shape of the other.

    Raises: TooManyCases
    """
    if left is algebra.all_values:
        return right
    if right is algebra.all_values:
        return left
    return Values(
        left.null and right.null,
        left.booleans & right.booleans,
        left.numbers & right.numbers,
        left.texts & right.texts,
        meet_arrays(algebra, left.arrays, right.arrays),
        meet_objects(algebra, left.objects, right.objects),
        of_both(left, right),
    )


def meet_arrays(
    algebra: Algebra, left: tuple[Arrays, ...], right: tuple[Arrays, ...]
) -> tuple[Arrays, ...]:
    """The arrays in both unions."""
    return live(algebra, (_arrays(algebra, one, other) for one, other in product(left, right)))


def meet_objects(
    algebra: Algebra, left: tuple[Objects, ...], right: tuple[Objects, ...]
) -> tuple[Objects, ...]:
    """The objects in both unions."""
    return live(algebra, (_objects(algebra, one, other) for one, other in product(left, right)))


def join(algebra: Algebra, sets: Iterable[Values]) -> Values:
    """The values in any of some sets."""
    null, booleans = False, frozenset[bool]()
    unsure = algebra.no_values.unsure
    numbers, texts = algebra.no_values.numbers, algebra.no_values.texts
    arrays: list[Arrays] = []
    objects: list[Objects] = []
    for values in sets:
        null = null or values.null
        booleans |= values.booleans
        numbers |= values.numbers
        texts = either(texts, values.texts)
        unsure = either(unsure, values.unsure)
        arrays += values.arrays
        objects += values.objects
    if algebra.any_array in arrays and all(
        shape.evaluated == 0 and not shape.also for shape in arrays
    ):
        arrays = [algebra.any_array]
    if algebra.any_object in objects and all(shape.evaluated is None for shape in objects):
        objects = [algebra.any_object]
    return Values(
        null,
        booleans,
        numbers,
        texts,
        live(algebra, arrays),
        live(algebra, together(objects)),
        unsure,
    )


def _arrays(algebra: Algebra, left: Arrays, right: Arrays) -> Arrays | None:
    """The arrays of two shapes; None where it is plain that there is none."""
    if left is algebra.any_array:
        return right
    if right is algebra.any_array:
        return left
    low, high = max(left.low, right.low), least(left.high, right.high)
    count = max(len(left.prefix), len(right.prefix))
    prefix = [
        algebra.both(item_of(left, index), item_of(right, index))
        for index in range(count if high is None else min(count, high))
    ]
    rest = algebra.both(left.rest, right.rest)
    gap = next((index for index, item in enumerate(prefix) if item is algebra.nothing), None)
    if gap is None and rest is algebra.nothing:
        gap = len(prefix)
    if gap is not None:
        high, prefix = least(high, gap), prefix[:gap]
    if high is not None and high < low:
        return None
    return Arrays(
        tuple(prefix),
        rest,
        low,
        high,
        left.contains + right.contains,
        left.unique or right.unique,
        None
        if left.evaluated is None or right.evaluated is None
        else max(left.evaluated, right.evaluated),
        left.also + right.also,
    )


def _objects(algebra: Algebra, left: Objects, right: Objects) -> Objects | None:
    """The objects of two shapes; None where it is plain that there is none."""
    if left is algebra.any_object:
        return right
    if right is algebra.any_object:
        return left
    required = left.required | right.required
    low, high = max(left.low, right.low), least(left.high, right.high)
    if high is not None and high < max(low, len(required)):
        return None
    properties: dict[str, Later] = {}
    for name in dict.fromkeys(_names(left, right)):
        one, other = property_of(left, name), property_of(right, name)
        later = algebra.nothing if one is None or other is None else algebra.both(one, other)
        if later is algebra.nothing and name in required:
            return None
        properties[name] = later
    order: tuple[str, ...] | None = None
    if left.order is not None or right.order is not None:
        order = tuple(dict.fromkeys((*mentioned(left), *mentioned(right))))
    evaluated: Texts | None = left.evaluated
    if right.evaluated is not None:
        evaluated = right.evaluated if evaluated is None else evaluated | right.evaluated
    return Objects(
        properties,
        required,
        tuple(_extras(algebra, left, right)),
        low,
        high,
        tuple(dict.fromkeys((*left.some, *right.some))),
        frozenset(_loose(left, right)),
        order,
        evaluated,
        either(left.unsure, right.unsure),
    )


def _loose(left: Objects, right: Objects) -> Iterator[str]:
    """The names that neither shape declares."""
    for name in left.loose | right.loose:
        if not any(name in one.properties and name not in one.loose for one in (left, right)):
            yield name


def _names(left: Objects, right: Objects) -> Iterator[str]:
    """The names of two shapes, declared ones first; a name may come twice."""
    if not left.loose and not right.loose:
        yield from left.properties
        yield from right.properties
        return
    for shape in (left, right):
        yield from (name for name in shape.properties if name not in shape.loose)
    yield from left.properties
    yield from right.properties


def _extras(algebra: Algebra, left: Objects, right: Objects) -> Iterator[tuple[Texts, Later]]:
    """The other names of two shapes: those of each without the names that the other declares."""
    for (names, one), (others, other) in product(left.extras, right.extras):
        later = algebra.both(one, other)
        if later is not algebra.nothing:
            common = names if names is others else names & others
            if not nobody(common):
                yield common, later


def least(left: int | None, right: int | None) -> int | None:
    """The smaller of two bounds, None where there is none."""
    if left is None or right is None:
        return right if left is None else left
    return min(left, right)
