"""Simplifies normal forms before they are written, and orders their properties.

An option of ``anyOf`` declares names in an order, and so does the schema as a whole, where the
first occurrence counts, in whichever option it is. Objects are accepted in either order.

Removes shapes and properties that are known to be empty, and conditions that follow from others.

The number of shapes is limited, by removing empty and redundant ones. Options usually differ in one
property with a constant value (``"kind": {"const": "cat"}``). Two shapes whose tags under one name
are disjoint are disjoint themselves. This test is fast, which matters because 250 options are
31,125 pairs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from workbench.base.source import replaced
from workbench.schema.normal_form import (
    Arrays,
    Contains,
    Objects,
    Values,
    all_but,
    is_open,
    item_of,
    non_empty,
    property_of,
)
from workbench.schema.schema_options import Order
from workbench.schema.set_protocols import SetAlgebra

if TYPE_CHECKING:
    from workbench.schema.schema_reader import Node


from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from workbench.base.errors import BuildError, LimitError
from workbench.schema.normal_form import (
    CircularReference,
    LazySet,
)
from workbench.schema.schema_reader import UncomputableSet

if TYPE_CHECKING:
    from workbench.schema.string_sets import StringSet

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
    return [replaced(shape, order=order) if shape.properties else shape for shape in options]


def in_text_order(
    shapes: Sequence[Objects], members: dict[str, Node], parts: dict[str, Values]
) -> list[Objects]:
    """The shapes of a subschema that has both ``properties`` and combining keywords (``parts``).

    Its declared names come first by default. If ``properties`` is not the first of these keywords
    in the text, the order of the text is accepted too.
    """
    declared = members["properties"].members or {}
    words = [word for word in members if word == "properties" or word in parts]
    if words[0] == "properties":
        return list(shapes)
    order: dict[str, None] = {}
    for word in words:
        objects = parts[word].objects if word in parts else ()
        order |= dict.fromkeys(declared if word == "properties" else ())
        order |= dict.fromkeys(name for shape in objects for name in declared_names(shape))
    if len(order) > _MAX_COMMON_NAMES:
        return list(shapes)
    return [
        replaced(shape, order=tuple(order)) if shape.order is None else shape for shape in shapes
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
        remaining = all_but(pulled)
        extras = non_empty((those & remaining, lazy) for those, lazy in extras)
    return replaced(
        shape,
        properties={name: property_of(shape, name) or algebra.nothing for name in names},
        extras=extras,
        undeclared=shape.undeclared.difference(rank),
    )


def simplified(algebra: SetAlgebra, values: Values) -> Values:
    """The same set in simplified form."""
    if not values.arrays and not values.objects:
        return values
    arrays = [_array(algebra, shape) for shape in values.arrays]
    objects = [_object(algebra, shape) for shape in values.objects]
    kept = [shape for shape in objects if shape is not None]
    if algebra.options.order == Order.DECLARED:
        kept = list(ordered_variants(algebra, kept))
    fewer = tuple(shape for shape in arrays if shape is not None)
    if fewer == values.arrays and tuple(kept) == values.objects:  # shapes compare by identity
        return values
    return replaced(values, arrays=fewer, objects=tuple(kept))


def _object(algebra: SetAlgebra, shape: Objects) -> Objects | None:
    """Removes forbidden properties and redundant bounds; None if the shape is empty.

    The emptiness test of a shape gives up earlier than those of its parts, so both are used where
    it finds more.
    """
    is_empty = algebra.is_empty
    is_counted = shape.some or shape.high is not None or shape.low > len(shape.required)
    if is_counted and is_empty(shape):
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
    if (
        low == shape.low
        and high == shape.high
        and len(extras) == len(shape.extras)
        and len(properties) == len(shape.properties)
    ):
        return shape
    return replaced(shape, properties=properties, extras=extras, low=low, high=high)


def _array(algebra: SetAlgebra, shape: Arrays) -> Arrays | None:
    """Removes items without a value and redundant conditions; None if the shape is empty."""
    if algebra.is_empty(shape):
        return None
    prefix, rest = list(shape.prefix), shape.rest
    condition: list[Contains] = []
    for contained in shape.contains:
        if contained.low == contained.high == 0 and contained.start <= len(prefix):
            none = algebra.complement(contained.values)
            prefix[contained.start :] = [
                algebra.intersection(item, none) for item in prefix[contained.start :]
            ]
            rest = algebra.intersection(rest, none)
        elif contained.low or contained.high is not None:
            condition.append(contained)
    high = shape.high
    for index, item in enumerate([*prefix, rest]):
        if (high is None or index < high) and algebra.is_empty(item):
            high = index
            break
    if high is not None and high < shape.low:
        return None
    prefix = prefix if high is None else prefix[:high]
    if shape.contains or high != shape.high or len(prefix) != len(shape.prefix):
        shape = replaced(
            shape, prefix=tuple(prefix), rest=rest, high=high, contains=tuple(condition)
        )
        if algebra.is_empty(shape):  # ``contains`` may have needed the removed items
            return None
    if shape.unique is not None and _differ_anyway(algebra, shape):
        return replaced(shape, unique=None)
    return shape


def _differ_anyway(algebra: SetAlgebra, shape: Arrays) -> bool:
    """Whether no two items can be equal: at most one item, or pairwise disjoint sets."""
    length = shape.high
    if length is None or length > len(shape.prefix) + 1:
        return False
    items = [item_of(shape, index) for index in range(length)]
    return all(algebra.is_empty(algebra.intersection(*pair)) for pair in combinations(items, 2))


#: The possible values of each property that has few of them, by name.
Tags = Mapping[str, frozenset[object]]

#: A property with at most this number of strings is a tag.
_MAX_TAG_WORDS = 64


def tags_of(shape: Objects | Arrays) -> Tags:
    """The tags of a shape; arrays have none."""
    if isinstance(shape, Arrays):
        return {}
    tags = {name: tag_of(shape.properties[name]) for name in shape.required}
    return {name: tag for name, tag in tags.items() if tag is not None}


def have_disjoint_tags(tags: Tags, other: Tags) -> bool:
    """Whether shapes with these tags are surely disjoint."""
    return any(name in other and tag.isdisjoint(other[name]) for name, tag in tags.items())


def tag_of(lazy: LazySet) -> frozenset[object] | None:
    """The values of a set with few strings, booleans and null only; None for other sets."""
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
#: The most shapes of one type in a set.
_MAX_SHAPES = 1_000
#: The most candidate shapes that are examined for one set.
_MAX_CANDIDATES = 4_000
#: The shapes that are made between two checks of the time: most sets have one.
_SHAPES_PER_CHECK = 8


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
    untested: list[Shape] = []
    kept: _Kept[Shape] | None = None
    for tried, shape in enumerate(shapes):
        if tried % _SHAPES_PER_CHECK == 1:
            algebra.clock.check()
        if tried > _MAX_CANDIDATES:
            raise TooManyCases
        if shape is None or shape in (untested if kept is None else kept.shapes):
            continue
        if kept is None and len(untested) < _MAX_UNTESTED:
            untested.append(shape)
            continue
        if kept is None:
            kept = _Kept(algebra, untested)
        kept.add(shape)
        if len(kept.shapes) > _MAX_SHAPES:
            raise TooManyCases
    return tuple(untested if kept is None else kept.shapes)


def disjoint_shapes(shapes: Iterable[Shape]) -> tuple[Shape, ...]:
    """Shapes that do not contain one another.

    Raises: TooManyCases
    """
    kept = tuple(shapes)
    if len(kept) > _MAX_SHAPES:
        raise TooManyCases
    return kept


_Kind = TypeVar("_Kind", bound="Arrays | Objects")


class _Kept(Generic[_Kind]):
    """Shapes that may have a value, and of which none is obviously contained in another.

    Shapes with different sets under one required name do not contain each other, so a shape is
    compared with those that have the same set there, and with those that lack the name.
    """

    def __init__(self, algebra: SetAlgebra, shapes: Sequence[_Kind]) -> None:
        self._algebra = algebra
        self._name = _distinguishing_name(shapes)
        #: The shapes by their atom under this name.
        self._alike: defaultdict[frozenset[int] | None, list[_Kind]] = defaultdict(list)
        self.shapes: dict[_Kind, None] = {}
        for shape in shapes:
            self.add(shape)

    def add(self, shape: _Kind) -> None:
        """Adds a shape unless it is empty or contained in another; removes those it contains."""
        atom = _atom(shape, self._name)
        algebra, shapes = self._algebra, self.shapes
        alike = [*shapes] if atom is None else self._alike[atom] + self._alike[None]
        near = alike if atom is None else [other for other in alike if other in shapes]
        if algebra.is_empty(shape) or any(is_within(algebra, shape, other) for other in near):
            return
        for other in near:
            if is_within(algebra, other, shape):
                shapes.pop(other)
        shapes[shape] = None
        self._alike[atom].append(shape)


def _atom(shape: Arrays | Objects, name: str | None) -> frozenset[int] | None:
    """The key of the set under a required name, if it is one atom."""
    if name is None or isinstance(shape, Arrays) or name not in shape.required:
        return None
    key = shape.properties[name].key
    return key if len(key) == 1 else None


def _distinguishing_name(shapes: Sequence[Arrays | Objects]) -> str | None:
    """A required name under which each shape has another atom."""
    for name in shapes[0].properties if isinstance(shapes[0], Objects) else ():
        atoms = {_atom(shape, name) for shape in shapes} - {None}
        if len(atoms) == len(shapes):
            return name
    return None


def is_within(algebra: SetAlgebra, shape: Arrays | Objects, other: Arrays | Objects) -> bool:
    """Whether a shape is obviously contained in another one."""
    if not isinstance(shape, Objects) or not isinstance(other, Objects):
        return False
    if not other.required <= shape.required or other.low > shape.low:
        return False
    if any(pairs not in shape.some for pairs in other.some):
        return False
    if shape.evaluated is not other.evaluated:
        return False
    if other.high is not None and (shape.high is None or shape.high > other.high):
        return False
    mine, its = shape.properties, other.properties
    for name, lazy in its.items():
        values = mine.get(name) or property_of(shape, name) or algebra.nothing
        if values is not algebra.nothing and not lazy.key <= values.key:
            return False
    for name in () if is_open(other, algebra.anything) else mine.keys() - its.keys():
        held = property_of(other, name)
        if mine[name] is not algebra.nothing and not (held and held.key <= mine[name].key):
            return False
    return all(
        any(
            held.key <= lazy.key and _covers(names, allowed, other)
            for allowed, held in other.extras
        )
        for names, lazy in shape.extras
    )


def _covers(names: StringSet, allowed: StringSet, shape: Objects) -> bool:
    """Whether each of these names is allowed, or is declared by a shape."""
    if names is allowed:
        return True
    remaining = names & ~allowed
    few = remaining.finite(len(shape.properties))
    return few is not None and all(name in shape.properties for name in few)
