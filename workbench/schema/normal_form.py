"""The normal form of a set of JSON values.

A set of JSON values is one part a type; arrays and objects are unions of conjunctive shapes. Where
a shape holds further values it holds them as ``LazySet``: a set that is worked out when first asked
for, so that a schema which refers to itself has a normal form too.

The same few sets of a schema are asked about again and again, and where patterns or formats made
them an answer takes an automaton.

Of a set of strings of which fewer are read than the specification has, ``Values.texts`` are those
that surely belong, and ``Values.undecided`` holds all that may. What is left out of such a set is only
what is in neither, so that nothing is accepted which the specification forbids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from workbench.base.source import Span
from workbench.schema.schema_reader import Json, Node, UncomputableSet
from workbench.schema.string_sets import StringSet

if TYPE_CHECKING:
    from workbench.schema.numbers import NumberSet


_NO_STRING = StringSet.nothing()

#: Keywords under which every member is a subschema with a name of its own.
_NAMING = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")


class LazySet:
    """A set of JSON values with a name and a place, worked out when first asked for.

    The algebra makes one object a set: the same conjunction of the same subschemas is the same
    ``LazySet``, so a rule made from one may be found again by ``key`` (or by identity).

    ``values`` is the settled form, the one to write out: shapes that are surely empty are gone,
    and so are properties and other names without a value. ``raw`` is the form the algebra works
    with; it looks into no ``LazySet`` below itself.
    """

    __slots__ = ("_make", "_making", "_raw", "_settle", "_values", "empty", "key", "node")

    def __init__(
        self,
        key: frozenset[int],
        node: Node,
        make: Callable[[LazySet], Values],
        settle: Callable[[Values], Values],
    ) -> None:
        self.key = key
        #: The subschema that says it (the first of them, where several are conjoined).
        self.node = node
        self._make = make
        self._settle = settle
        self._raw: Values | None = None
        self._values: Values | None = None
        self._making = False
        #: What ``emptiness`` found out for good; None while it has not.
        self.empty: bool | None = None

    @property
    def raw(self) -> Values:
        """The parts as the keywords give them.

        Raises: ``CircularReference`` where they are asked for while they are being made: the subschema
                is a part of itself without anything between.
        """
        if self._raw is None:
            if self._making:
                raise CircularReference(self)
            self._making = True
            try:
                self._raw = self._make(self)
            finally:
                self._making = False
        return self._raw

    @property
    def values(self) -> Values:
        """The parts to write out."""
        if self._values is None:
            self._values = self._settle(self.raw)
        return self._values

    @property
    def name(self) -> str:
        """A good name for a rule: the property's, or that under ``$defs``; may be any text."""
        node: Node | None = self.node
        while node is not None and node.parent is not None:
            if node.parent.step in _NAMING and isinstance(node.step, str):
                return node.step
            node = node.parent
        return "schema"

    @property
    def pointer(self) -> str:
        """The JSON pointer of its subschema."""
        return self.node.pointer

    @property
    def span(self) -> Span:
        """The place of its subschema in the text."""
        return self.node.span

    def __repr__(self) -> str:
        return f"Later({self.name!r}, {sorted(self.key)})"


#: Sets of names, each with a set of values.
NamedSets = tuple[tuple[StringSet, LazySet], ...]


class CircularReference(Exception):  # noqa: N818  # told to people as a BuildError by whoever began
    """A subschema is a part of itself without a property or an item between."""

    def __init__(self, lazy: LazySet) -> None:
        super().__init__(lazy.pointer)
        self.lazy = lazy
        #: The keyword through which it came back to itself, once that is known.
        self.keyword: Node | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """Objects that meet every one of these conditions."""

    #: In declared order; no name of ``extras`` is among them. What ``patternProperties`` say of
    #: a name is in its set already. A name with an empty set is forbidden.
    properties: dict[str, LazySet]
    #: All of them names of ``properties``.
    required: frozenset[str]
    #: The other names: disjoint sets, each with its values. A name in none of them is forbidden.
    extras: NamedSets
    #: How many properties there are, all together.
    low: int = 0
    high: int | None = None
    #: Each: at least one property, declared or not, has a name and a value of one of its pairs.
    #: They come from complements.
    some: tuple[NamedSets, ...] = ()
    #: Names of ``properties`` that no schema declares: they are required, or told apart. Where
    #: shapes meet, declared names come first.
    undeclared: frozenset[str] = frozenset()
    #: The names that this shape and the options beside it declare, the first mention first; None
    #: where there are no other options. Settling makes shapes in this order of it.
    order: tuple[str, ...] | None = None
    #: The names that count as evaluated; None where no ``unevaluatedProperties`` asks.
    evaluated: StringSet | None = None
    #: Names that no part has and that may be allowed all the same, as with ``Values.undecided``.
    undecided: StringSet = _NO_STRING


@dataclass(frozen=True, slots=True, eq=False)
class Contains:
    """From ``low`` to ``high`` of the items from index ``start`` on are in ``values``."""

    values: LazySet
    low: int
    high: int | None
    start: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """Arrays that meet every one of these conditions."""

    #: The first items, one set each.
    prefix: tuple[LazySet, ...]
    #: Every item after those.
    rest: LazySet
    #: How many items there are.
    low: int = 0
    high: int | None = None
    contains: tuple[Contains, ...] = ()
    #: The keyword that asks for items no two of which are equal; None where they may be.
    unique: Node | None = None
    #: How many of the first items count as evaluated, all of them if None; see ``also``.
    evaluated: int | None = 0
    #: Items in one of these sets count as evaluated wherever they stand.
    also: tuple[LazySet, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """A set of JSON values, one part a type."""

    null: bool
    booleans: frozenset[bool]
    numbers: NumberSet
    texts: StringSet
    #: The arrays of any of these shapes; shapes may overlap.
    arrays: tuple[Arrays, ...]
    objects: tuple[Objects, ...]
    #: Strings that may belong to the set though they are not among ``texts``: of some formats
    #: fewer strings are read than they have. Some of them may be among ``texts`` as well.
    undecided: StringSet = _NO_STRING

    def contains(self, value: Json) -> bool:
        """Whether a JSON value is in the set; ``1.0`` is the integer 1."""
        if value is None:
            return self.null
        if isinstance(value, bool):
            return value in self.booleans
        if isinstance(value, str):
            return self.texts.contains(value)
        if isinstance(value, list):
            return any(_array_fits(shape, value) for shape in self.arrays)
        if isinstance(value, dict):
            return any(_object_fits(shape, value) for shape in self.objects)
        return self.numbers.contains(value)


def _object_fits(shape: Objects, value: dict[str, Json]) -> bool:
    high = len(value) if shape.high is None else shape.high
    if not shape.low <= len(value) <= high or not shape.required <= value.keys():
        return False
    for name, held in value.items():
        lazy = property_of(shape, name)
        if lazy is None or not lazy.raw.contains(held):
            return False
    return all(
        any(
            names.contains(name) and lazy.raw.contains(held)
            for names, lazy in pairs
            for name, held in value.items()
        )
        for pairs in shape.some
    )


def property_of(shape: Objects, name: str) -> LazySet | None:
    """The set of values a shape allows under a name; None where the name is forbidden."""
    lazy = shape.properties.get(name)
    if lazy is not None:
        return lazy
    return next((extra for names, extra in shape.extras if names.contains(name)), None)


def _array_fits(shape: Arrays, items: list[Json]) -> bool:
    high = len(items) if shape.high is None else shape.high
    if not shape.low <= len(items) <= high:
        return False
    for index, item in enumerate(items):
        if not item_of(shape, index).raw.contains(item):
            return False
    for condition in shape.contains:
        count = sum(condition.values.raw.contains(item) for item in items[condition.start :])
        if count < condition.low or (condition.high is not None and count > condition.high):
            return False
    return shape.unique is None or all_distinct(items)


def item_of(shape: Arrays, index: int) -> LazySet:
    """The set of values a shape allows at an index."""
    return shape.prefix[index] if index < len(shape.prefix) else shape.rest


def all_distinct(items: list[Json]) -> bool:
    """Whether no two JSON values are equal."""
    return len({canonical(item) for item in items}) == len(items)


def canonical(value: Json) -> object:
    """A hashable stand-in for a JSON value: equal for equal values (``1`` and ``1.0`` are)."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, list):
        return ("array", tuple(canonical(item) for item in value))
    if isinstance(value, dict):
        return ("object", frozenset((name, canonical(held)) for name, held in value.items()))
    if isinstance(value, float):
        return Decimal(repr(value))
    return value


@lru_cache(maxsize=2048)
def is_empty(names: StringSet) -> bool:
    """Whether there is no such name."""
    return names.is_empty


@lru_cache(maxsize=2048)
def text_complement(names: StringSet) -> StringSet:
    """All other names."""
    return ~names


@lru_cache(maxsize=2048)
def text_union(texts: StringSet, more: StringSet) -> StringSet:
    """The strings of both sets together."""
    return texts | more


def all_but(names: Iterable[str]) -> StringSet:
    """All names but these."""
    return ~StringSet.of(names)


def non_empty(parts: Iterable[tuple[StringSet, LazySet]]) -> NamedSets:
    """The parts in which there is a name."""
    return tuple((names, lazy) for names, lazy in parts if not is_empty(names))


def possible_texts(values: Values) -> StringSet:
    """The strings that may belong to a set."""
    return (
        values.texts if is_empty(values.undecided) else text_union(values.texts, values.undecided)
    )


def undecided_in_both(left: Values, right: Values) -> StringSet:
    """The strings of which it is not known whether both sets have them."""
    if is_empty(left.undecided) and is_empty(right.undecided):
        return left.undecided
    return text_union(
        left.undecided & possible_texts(right), right.undecided & possible_texts(left)
    )


def undecided_in_complement(values: Values) -> StringSet:
    """The strings of which it is not known whether they are in the complement of a set."""
    return (
        values.undecided
        if is_empty(values.undecided)
        else values.undecided & text_complement(values.texts)
    )


def certain_complement(texts: StringSet, undecided: StringSet) -> StringSet:
    """The strings that surely do not belong to a set.

    Raises: Untold where that is known of none.
    """
    if is_empty(undecided):
        return text_complement(texts)
    found = text_complement(text_union(texts, undecided))
    if is_empty(found):
        why = (
            "of a format in it fewer strings are read than it has: what it leaves out is not known"
        )
        raise UncomputableSet(why)
    return found
