"""The normal form of a set of JSON values.

A set of JSON values has one part for each type; arrays and objects are unions of conjunctive
shapes. The values inside a shape are sets of type ``LazySet``, computed on first use, so that a
schema which refers to itself has a normal form too.

The automata of some formats accept fewer strings than the specification. ``Values.texts`` then are
the strings that surely belong to a set, and ``Values.undecided`` contains all others that may. The
complement of such a set is what is in neither, so nothing forbidden is accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from workbench.base.source import Span, quick_init
from workbench.schema.schema_reader import Json, Node, UncomputableSet
from workbench.schema.string_sets import StringSet

if TYPE_CHECKING:
    from workbench.schema.numbers import NumberSet


_NO_STRING = StringSet.nothing()

#: Keywords whose members are subschemas: the member's name is a good name for its rule.
_NAMING = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")


class LazySet:
    """A set of JSON values with a name and a span, computed on first use.

    The algebra makes one object per set: the same conjunction of the same subschemas is the same
    ``LazySet``, so the rule of a set can be looked up by ``key`` (or by identity).

    ``values`` is the simplified form, from which rules are written: without shapes, properties
    and names that are known to be empty. ``raw`` is the form the algebra computes with; computing
    it does not compute the sets inside its shapes.
    """

    __slots__ = (
        "_compute", "_make", "_making", "_raw", "_settle", "_span", "_values",
        "empty", "key", "node",
    )  # fmt: skip

    def __init__(
        self,
        key: frozenset[int],
        node: Node,
        make: Callable[[], Values],
        compute: Callable[[LazySet, Callable[[], Values]], Values],
        settle: Callable[[Values], Values],
    ) -> None:
        self.key = key
        #: The subschema of this set (the first one, if it is a conjunction of several).
        self.node = node
        self._make = make
        self._compute = compute
        self._settle = settle
        self._raw: Values | None = None
        self._values: Values | None = None
        self._span: Span | None = None
        self._making = False
        #: The final result of ``set_operations``; None until there is one.
        self.empty: bool | None = None

    def with_values(self, values: Values) -> LazySet:
        """Give the set its values, which are simplified and not empty; return it."""
        self._raw = self._values = values
        self.empty = False
        return self

    @property
    def raw(self) -> Values:
        """The normal form as the keywords give it.

        Raises: ``CircularReference`` if it is requested during its own computation: the subschema
                refers to itself outside any property or item.
        """
        if self._raw is None:
            if self._making:
                raise CircularReference(self)
            self._making = True
            try:
                self._raw = self._compute(self, self._make)
            finally:
                self._making = False
        return self._raw

    @property
    def values(self) -> Values:
        """The simplified normal form, from which rules are written."""
        if self._values is None:
            self._values = self._settle(self.raw)
        return self._values

    @property
    def name(self) -> str:
        """A name for its rule: of the property or the definition; may be any text."""
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
        """The span of its subschema in the text; if it is in another document, of the reference."""
        if self._span is None:
            self._span = self.node.shown_span
        return self._span

    def __repr__(self) -> str:
        return f"Later({self.name!r}, {sorted(self.key)})"


#: Pairs of a set of property names and the set of their values.
NamedSets = tuple[tuple[StringSet, LazySet], ...]


class CircularReference(Exception):  # noqa: N818  # the algebra reports it as a BuildError
    """A subschema refers to itself outside any property or item."""

    def __init__(self, lazy: LazySet) -> None:
        super().__init__(lazy.pointer)
        self.lazy = lazy
        #: The keyword through which it refers to itself, once that is known.
        self.keyword: Node | None = None


@quick_init
@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """Objects that meet all of these conditions."""

    #: In declared order, disjoint from the names of ``extras``. The sets include the conditions
    #: of ``patternProperties``. A name with an empty set is forbidden.
    properties: dict[str, LazySet]
    #: A subset of the names of ``properties``.
    required: frozenset[str]
    #: All other names: disjoint sets, each with its values. A name in none of them is forbidden.
    extras: NamedSets
    #: The least and the largest number of properties.
    low: int = 0
    high: int | None = None
    #: For each element, at least one property, declared or not, matches one of its (names, values)
    #: pairs. These conditions come from complements.
    some: tuple[NamedSets, ...] = ()
    #: Names of ``properties`` that no schema declares: ``required`` or a complement mentions them.
    #: In a conjunction of shapes declared names come first.
    undeclared: frozenset[str] = frozenset()
    #: The names that this shape and its sibling options declare, in order of first occurrence;
    #: None without sibling options. ``simplify`` adds a shape in this order.
    order: tuple[str, ...] | None = None
    #: The names that count as evaluated; None if no ``unevaluatedProperties`` needs them.
    evaluated: StringSet | None = None
    #: Names that may be allowed although no part has them, as with ``Values.undecided``.
    undecided: StringSet = _NO_STRING


@quick_init
@dataclass(frozen=True, slots=True, eq=False)
class Contains:
    """From ``low`` to ``high`` of the items from index ``start`` on are in ``values``."""

    values: LazySet
    low: int
    high: int | None
    start: int = 0


@quick_init
@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """Arrays that meet all of these conditions."""

    #: The sets of the first items.
    prefix: tuple[LazySet, ...]
    #: The set of every item after them.
    rest: LazySet
    #: The least and the largest number of items.
    low: int = 0
    high: int | None = None
    contains: tuple[Contains, ...] = ()
    #: The keyword ``uniqueItems`` if it applies; None if items may be equal.
    unique: Node | None = None
    #: How many of the first items count as evaluated, None for all; see ``also``.
    evaluated: int | None = 0
    #: Items in one of these sets count as evaluated at any index.
    also: tuple[LazySet, ...] = ()


@quick_init
@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """A set of JSON values, with one part for each type."""

    null: bool
    booleans: frozenset[bool]
    numbers: NumberSet
    texts: StringSet
    #: The union of these shapes, which may overlap.
    arrays: tuple[Arrays, ...]
    objects: tuple[Objects, ...]
    #: Strings that may belong to the set although ``texts`` does not contain them, because the
    #: automaton of a format accepts fewer strings than it has. The two may overlap.
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
            return any(_is_in_array_shape(shape, value) for shape in self.arrays)
        if isinstance(value, dict):
            return any(_is_in_object_shape(shape, value) for shape in self.objects)
        return self.numbers.contains(value)


def _is_in_object_shape(shape: Objects, value: dict[str, Json]) -> bool:
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
    """The set of values a shape allows under a name; None if the name is forbidden."""
    lazy = shape.properties.get(name)
    if lazy is not None:
        return lazy
    for names, extra in shape.extras:
        if names.contains(name):
            return extra
    return None


def is_open(shape: Objects, anything: LazySet) -> bool:
    """Whether a shape surely allows ``anything`` under each undeclared name."""
    if len(shape.extras) != 1 or shape.extras[0][1] is not anything:
        return False
    names = shape.extras[0][0]
    return names.is_complement and names.without <= shape.properties.keys()


def _is_in_array_shape(shape: Arrays, items: list[Json]) -> bool:
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
    """A hashable key of a JSON value: equal for equal values (``1`` and ``1.0`` are equal)."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, list):
        return ("array", tuple(canonical(item) for item in value))
    if isinstance(value, dict):
        return ("object", frozenset((name, canonical(held)) for name, held in value.items()))
    if isinstance(value, float):
        return Decimal(repr(value))
    return value


def all_but(names: Iterable[str]) -> StringSet:
    """All names except these."""
    return StringSet.all_but(names)


def non_empty(parts: Iterable[tuple[StringSet, LazySet]]) -> NamedSets:
    """The parts whose set of names is not empty."""
    return tuple((names, lazy) for names, lazy in parts if not names.is_empty)


def possible_texts(values: Values) -> StringSet:
    """All strings that belong or may belong to a set."""
    return values.texts if values.undecided.is_empty else values.texts | values.undecided


def undecided_in_both(left: Values, right: Values) -> StringSet:
    """The undecided strings of the intersection of two sets."""
    if left.undecided.is_empty and right.undecided.is_empty:
        return left.undecided
    return (left.undecided & possible_texts(right)) | (right.undecided & possible_texts(left))


def undecided_in_complement(values: Values) -> StringSet:
    """The undecided strings of the complement of a set."""
    return values.undecided if values.undecided.is_empty else values.undecided & ~values.texts


def certain_complement(texts: StringSet, undecided: StringSet) -> StringSet:
    """The strings that surely are outside a set.

    Raises: UncomputableSet if there are none although some strings are undecided.
    """
    if undecided.is_empty:
        return ~texts
    outside = ~(texts | undecided)
    if outside.is_empty:
        raise UncomputableSet(
            "it contains a format whose automaton accepts only some of its strings, "
            "so the complement is not known"
        )
    return outside
