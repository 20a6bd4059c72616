"""The order of names where schemas have options: in come shapes, out come shapes in that order.

An option of ``anyOf`` declares names in its own order. The schema as a whole declares them too:
the first mention counts, whichever option it is in. Objects are read in either order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.schema.names import all_but, somebody
from workbench.schema.values import Objects, property_of

if TYPE_CHECKING:
    from workbench.schema.algebra import Algebra

#: Names all options have together, beyond which each keeps to its own order.
_MOST = 200


def mentioned(shape: Objects) -> tuple[str, ...]:
    """The names a shape, and those it was an option beside, declare: the first mention first."""
    if shape.order is not None:
        return shape.order
    return tuple(name for name in shape.properties if name not in shape.loose)


def together(options: Sequence[Objects]) -> list[Objects]:
    """The options, each knowing the order in which all of them declare names."""
    orders = {mentioned(shape) for shape in options if shape.properties}
    if len(orders) < 2:
        return list(options)
    names = dict.fromkeys(name for shape in options for name in mentioned(shape))
    order = tuple(names)
    if len(order) > _MOST:
        return list(options)
    return [replace(shape, order=order) if shape.properties else shape for shape in options]


def in_each_order(algebra: Algebra, shape: Objects) -> Iterator[Objects]:
    """The shape in its own order, and in that of the schema it was an option of.

    A name that this option only tells apart has the place where another option declares it.
    """
    if shape.order is None:
        yield shape
        return
    places = {name: place for place, name in enumerate(shape.order)}
    last = len(places)
    pulled = [
        name
        for name in shape.order
        if name not in shape.properties and property_of(shape, name) is not None
    ]
    order = sorted([*shape.properties, *pulled], key=lambda name: places.get(name, last))
    own = [name for name in order if name in shape.properties]
    if own != list(shape.properties) and shape.loose.isdisjoint(places):
        yield shape
    properties = {name: property_of(shape, name) or algebra.nothing for name in order}
    extras = shape.extras
    if pulled:
        left = all_but(pulled)
        extras = somebody((names & left, later) for names, later in extras)
    loose = shape.loose.difference(places)
    yield replace(shape, properties=properties, extras=extras, loose=loose)
