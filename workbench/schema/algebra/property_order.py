"""The order of property names in schemas with several options.

An option of ``anyOf`` declares names in an order, and so does the schema as a whole, where the
first occurrence counts, in whichever option it is. Objects are accepted in either order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.schema.algebra.interface import SetAlgebra
from workbench.schema.normal_form import Objects, all_but, non_empty, property_of

if TYPE_CHECKING:
    from workbench.schema.normal_form import Values
    from workbench.schema.schema_reader import Node

#: If the options have more names than this together, each keeps only its order.
_MAX_COMMON_NAMES = 200
#: Up to this number of shapes, both orders are accepted wherever they differ at all.
_MAX_SHAPES_IN_BOTH_ORDERS = 8


def declared_names(shape: Objects) -> tuple[str, ...]:
    """The names that a shape and its sibling options declare, in order of first occurrence."""
    if shape.order is not None:
        return shape.order
    return tuple(name for name in shape.properties if name not in shape.undeclared)


def with_common_order(options: Sequence[Objects]) -> list[Objects]:
    """The options, each with ``order`` set to the order in which all of them declare names."""
    orders = {declared_names(shape) for shape in options if shape.properties}
    if len(orders) < 2:
        return list(options)
    names = dict.fromkeys(name for shape in options for name in declared_names(shape))
    order = tuple(names)
    if len(order) > _MAX_COMMON_NAMES:
        return list(options)
    return [replace(shape, order=order) if shape.properties else shape for shape in options]


def in_text_order(
    shapes: Sequence[Objects], members: dict[str, Node], parts: dict[str, Values]
) -> list[Objects]:
    """The shapes of a subschema that has both ``properties`` and combining keywords (``parts``).

    Its declared names come first by default. If ``properties`` is not the first of these keywords
    in the text, the order of the text is accepted too.
    """
    own = members["properties"].members or {}
    words = [word for word in members if word == "properties" or word in parts]
    if words[0] == "properties":
        return list(shapes)
    order: dict[str, None] = {}
    for word in words:
        objects = parts[word].objects if word in parts else ()
        order |= dict.fromkeys(own if word == "properties" else ())
        order |= dict.fromkeys(name for shape in objects for name in declared_names(shape))
    if len(order) > _MAX_COMMON_NAMES:
        return list(shapes)
    return [
        replace(shape, order=tuple(order)) if shape.order is None else shape for shape in shapes
    ]


def ordered_variants(algebra: SetAlgebra, shapes: Sequence[Objects]) -> Iterator[Objects]:
    """Yields each shape in its order and in that of the schema of which it is an option.

    If the two orders differ only by names that the shape does not declare itself, and there are
    many shapes, the second order alone is yielded: with both, the machines of 15 shapes took six
    times as long.
    """
    for shape in shapes:
        if shape.order is None:
            yield shape
            continue
        aligned = _in_order(algebra, shape, shape.order)
        common = [name for name in aligned.properties if name in shape.properties]
        differs = common != list(shape.properties)
        more = len(common) < len(aligned.properties) and len(shapes) <= _MAX_SHAPES_IN_BOTH_ORDERS
        if (differs or more) and shape.undeclared.isdisjoint(shape.order):
            yield shape
        yield aligned


def _in_order(algebra: SetAlgebra, shape: Objects, order: tuple[str, ...]) -> Objects:
    """A shape with its names in this order, including names that it does not declare itself.

    A name that it only distinguishes gets the position where another option declares it.
    """
    rank = {name: position for position, name in enumerate(order)}
    pulled = [
        name
        for name in order
        if name not in shape.properties and property_of(shape, name) is not None
    ]
    names = sorted([*shape.properties, *pulled], key=lambda name: rank.get(name, len(rank)))
    extras = shape.extras
    if pulled:
        left = all_but(pulled)
        extras = non_empty((those & left, lazy) for those, lazy in extras)
    return replace(
        shape,
        properties={name: property_of(shape, name) or algebra.nothing for name in names},
        extras=extras,
        undeclared=shape.undeclared.difference(rank),
    )
