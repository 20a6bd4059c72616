"""The order of names where schemas have options: in come shapes, out come shapes in that order.

An option of ``anyOf`` declares names in its own order. The schema as a whole declares them too:
the first mention counts, whichever option it is in. Objects are read in either order.
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

#: Names all options have together, beyond which each keeps to its own order.
_MOST = 200
#: So few shapes are read in both orders wherever these differ in anything.
_FEW = 8


def declared_names(shape: Objects) -> tuple[str, ...]:
    """The names a shape, and those it was an option beside, declare: the first mention first."""
    if shape.order is not None:
        return shape.order
    return tuple(name for name in shape.properties if name not in shape.undeclared)


def with_common_order(options: Sequence[Objects]) -> list[Objects]:
    """The options, each knowing the order in which all of them declare names."""
    orders = {declared_names(shape) for shape in options if shape.properties}
    if len(orders) < 2:
        return list(options)
    names = dict.fromkeys(name for shape in options for name in declared_names(shape))
    order = tuple(names)
    if len(order) > _MOST:
        return list(options)
    return [replace(shape, order=order) if shape.properties else shape for shape in options]


def in_text_order(
    shapes: Sequence[Objects], members: dict[str, Node], parts: dict[str, Values]
) -> list[Objects]:
    """The shapes of a subschema whose ``properties`` stand behind what it is put together of.

    ``parts`` are the keywords that combine, with their values. Own names come first, as everywhere;
    as the text is written they come later, which is an order too.
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
    if len(order) > _MOST:
        return list(shapes)
    return [
        replace(shape, order=tuple(order)) if shape.order is None else shape for shape in shapes
    ]


def ordered_variants(algebra: SetAlgebra, shapes: Sequence[Objects]) -> Iterator[Objects]:
    """Shapes in their own order, and in that of the schema they were options of.

    Where only names that a shape does not declare itself come between its own, the second order is
    enough if there are many shapes: machines of both took six times as long for 15 of them.
    """
    for shape in shapes:
        if shape.order is None:
            yield shape
            continue
        aligned = _in_order(algebra, shape, shape.order)
        common = [name for name in aligned.properties if name in shape.properties]
        differs = common != list(shape.properties)
        more = len(common) < len(aligned.properties) and len(shapes) <= _FEW
        if (differs or more) and shape.undeclared.isdisjoint(shape.order):
            yield shape
        yield aligned


def _in_order(algebra: SetAlgebra, shape: Objects, order: tuple[str, ...]) -> Objects:
    """A shape with names in this order, those it does not declare itself among them.

    A name that it only tells apart has the place where another option declares it.
    """
    places = {name: place for place, name in enumerate(order)}
    pulled = [
        name
        for name in order
        if name not in shape.properties and property_of(shape, name) is not None
    ]
    names = sorted([*shape.properties, *pulled], key=lambda name: places.get(name, len(places)))
    extras = shape.extras
    if pulled:
        left = all_but(pulled)
        extras = non_empty((those & left, lazy) for those, lazy in extras)
    return replace(
        shape,
        properties={name: property_of(shape, name) or algebra.nothing for name in names},
        extras=extras,
        undeclared=shape.undeclared.difference(places),
    )
