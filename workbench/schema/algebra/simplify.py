"""Simplifies a normal form before it is written as rules.

Removes shapes and properties that are known to be empty, and conditions that follow from others.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from workbench.schema.algebra.interface import SetAlgebra
from workbench.schema.algebra.property_order import ordered_variants
from workbench.schema.normal_form import Arrays, Contains, Objects, Values, item_of


def simplified(algebra: SetAlgebra, values: Values) -> Values:
    """The same set in simplified form."""
    if not values.arrays and not values.objects:
        return values
    arrays = [_array(algebra, shape) for shape in values.arrays]
    objects = [_object(algebra, shape) for shape in values.objects]
    kept = [shape for shape in objects if shape is not None]
    return replace(
        values,
        arrays=tuple(shape for shape in arrays if shape is not None),
        objects=tuple(ordered_variants(algebra, kept)),
    )


def _object(algebra: SetAlgebra, shape: Objects) -> Objects | None:
    """Removes forbidden properties and redundant bounds; None if the shape is empty.

    The emptiness test of a shape gives up earlier than those of its parts, so both are used.
    """
    is_empty = algebra.is_empty
    if algebra.is_empty(shape):
        return None
    properties = {name: lazy for name, lazy in shape.properties.items() if not is_empty(lazy)}
    if not shape.required <= properties.keys():
        return None
    extras = tuple(extra for extra in shape.extras if not is_empty(extra[1]))
    low = shape.low if shape.low > len(shape.required) else 0
    high = shape.high
    if not extras and len(properties) < low:
        return None
    if high is not None and not extras and len(properties) <= high:
        high = None
    return replace(shape, properties=properties, extras=extras, low=low, high=high)


def _array(algebra: SetAlgebra, shape: Arrays) -> Arrays | None:
    """Removes items without a value and redundant conditions; None if the shape is empty."""
    if algebra.is_empty(shape):
        return None
    prefix, rest = list(shape.prefix), shape.rest
    condition: list[Contains] = []
    for one in shape.contains:
        if one.low == one.high == 0 and one.start <= len(prefix):
            none = algebra.complement(one.values)
            prefix[one.start :] = [algebra.intersection(item, none) for item in prefix[one.start :]]
            rest = algebra.intersection(rest, none)
        elif one.low or one.high is not None:
            condition.append(one)
    high = shape.high
    for index, item in enumerate([*prefix, rest]):
        if (high is None or index < high) and algebra.is_empty(item):
            high = index
            break
    if high is not None and high < shape.low:
        return None
    prefix = prefix if high is None else prefix[:high]
    shape = replace(shape, prefix=tuple(prefix), rest=rest, high=high, contains=tuple(condition))
    if algebra.is_empty(shape):  # ``contains`` may have needed the removed items
        return None
    if shape.unique is not None and _differ_anyway(algebra, shape):
        return replace(shape, unique=None)
    return shape


def _differ_anyway(algebra: SetAlgebra, shape: Arrays) -> bool:
    """Whether no two items can be equal: at most one item, or pairwise disjoint sets."""
    length = shape.high
    if length is None or length > len(shape.prefix) + 1:
        return False
    items = [item_of(shape, index) for index in range(length)]
    return all(algebra.is_empty(algebra.intersection(*pair)) for pair in combinations(items, 2))
