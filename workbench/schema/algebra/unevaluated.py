"""``unevaluated*``: in come shapes that say what they have evaluated, out come those restricted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.schema.algebra.conjunction import meet_arrays, meet_objects
from workbench.schema.algebra.names import others, somebody
from workbench.schema.reading import Node
from workbench.schema.values import Arrays, Later, Objects, Values

if TYPE_CHECKING:
    from workbench.schema.algebra.subschemas import Subschemas

UNEVALUATED = frozenset(("unevaluatedProperties", "unevaluatedItems"))


def restricted(subschemas: Subschemas, values: Values, members: dict[str, Node]) -> Values:
    """The values of which these words allow what no other keyword has evaluated."""
    algebra = subschemas.algebra
    if "unevaluatedProperties" in members:
        later = subschemas.of(members["unevaluatedProperties"])
        objects: list[Objects] = []
        for shape in values.objects:
            objects += meet_objects(algebra, (shape,), (_objects(subschemas, shape, later),))
        values = replace(values, objects=tuple(objects))
    if "unevaluatedItems" in members:
        later = subschemas.of(members["unevaluatedItems"])
        arrays: list[Arrays] = []
        for one in values.arrays:
            arrays += meet_arrays(algebra, (one,), (_arrays(subschemas, one, later),))
        values = replace(values, arrays=tuple(arrays))
    return values


def _objects(subschemas: Subschemas, shape: Objects, later: Later) -> Objects:
    """Objects whose names are evaluated by a shape, or whose values are in a set."""
    algebra = subschemas.algebra
    everything, seen = algebra.all_values.texts, shape.evaluated
    if seen is None:
        seen = algebra.no_values.texts
    parts = [(seen, algebra.anything), (others(seen), later)]
    kept = (part for part in parts if part[1] is not algebra.nothing)
    return Objects({}, frozenset(), somebody(kept), evaluated=everything)


def _arrays(subschemas: Subschemas, shape: Arrays, later: Later) -> Arrays:
    """Arrays whose items are evaluated by a shape, or are in a set."""
    algebra = subschemas.algebra
    if shape.evaluated is None:
        return algebra.any_array
    for seen in shape.also:
        later = algebra.either(later, seen)
    return Arrays((algebra.anything,) * shape.evaluated, later, evaluated=None)
