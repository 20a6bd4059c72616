"""Unique items with more values than an automaton can store: classes of which each is used once.

No automaton knows all items that it has read. The items are therefore divided into ``_CLASSES``
disjoint classes by one feature: a character at some place, the length, an integer's remainder, or
one of these of a property. Arrays whose items are in different classes have different items. An
array is accepted if its items differ in one of several features, so nothing forbidden is accepted;
arrays of more than ``MAX_ITEMS`` items, and those whose items differ in no feature, are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from workbench.schema.algebra.interface import SetAlgebra
from workbench.schema.intervals import Grid, Interval
from workbench.schema.normal_form import Arrays, LazySet, Objects, Values, all_but
from workbench.schema.numbers import NumberSet
from workbench.schema.string_sets import StringSet
from workbench.schema.write_values import RuleWriter, sequence
from workbench.syntax.grammar_tree import Expression, Nonterminal

#: The most items, and the classes. An array of strings compiles in 14 ms; with 8 classes in 35 ms,
#: and with all their subsets, for 8 items, in 70 ms.
MAX_ITEMS = 4
_CLASSES = 6
#: The modulus of integers: 7 distinguishes round numbers.
_MODULUS = 7
#: The state in which there are as many items as there may be.
_FULL = -1
#: The features of a string: patterns with the class of a character, or the length.
_CHARACTERS = {"first": "^{}", "third": r"^[\s\S]{{2}}{}", "last": "{}$"}
_LENGTH = "length"
_FEATURES = (*_CHARACTERS, _LENGTH)
#: The most properties by which objects are distinguished, and the features of their values.
_MAX_PROPERTIES = 2
_OF_PROPERTIES = ("first", "last", _LENGTH)


@dataclass(frozen=True, slots=True)
class Feature:
    """What must differ: a feature of the item, or of one of its properties."""

    name: str
    property: str | None = None


def features_of(shape: Arrays) -> list[Feature]:
    """The features by which the items of arrays are distinguished; empty if there are none."""
    if shape.prefix or shape.contains or shape.low > MAX_ITEMS:
        return []
    items = shape.rest.values
    properties = _distinguishing(items.objects)
    if properties:
        return [Feature(name, one) for one in properties for name in _OF_PROPERTIES]
    if items.texts == StringSet.everything() and items.objects:  # items of any type
        return []
    if items.texts.finite(1) is None:
        return [Feature(name) for name in _FEATURES]
    return [] if items.numbers.is_empty or items.objects else [Feature(_FEATURES[0])]


def _distinguishing(shapes: tuple[Objects, ...]) -> list[str]:
    """The first required property with many strings or numbers; else the first optional ones."""
    found: dict[str, bool] = {}
    for shape in shapes:
        for name, lazy in shape.properties.items():
            values = lazy.values
            if values.texts.finite(_CLASSES) is None or values.numbers.finite(_CLASSES) is None:
                found[name] = found.get(name, False) or name in shape.required
    required = [name for name, is_required in found.items() if is_required]
    return required[:1] or [*found][:_MAX_PROPERTIES]


def class_of_values(algebra: SetAlgebra, feature: Feature, number: int) -> Values:
    """The values of one class of a feature; the classes of a feature are disjoint."""
    plain = Values(
        number == 2,
        frozenset((number == 0,)) if number < 2 else frozenset(),
        _numbers(number),
        _texts(feature.name, number),
        (algebra.any_array,) if number == 3 else (),
        (algebra.any_object,) if number == 4 else (),
    )
    if feature.property is None:
        return plain
    return replace(plain, objects=tuple(_objects(algebra, feature.property, plain, number)))


def _objects(algebra: SetAlgebra, name: str, plain: Values, number: int) -> Iterator[Objects]:
    """The objects whose property is in a class; those without it are in the first class."""
    names, others = frozenset((name,)), ((all_but([name]), algebra.anything),)
    held = algebra.atom(algebra.anything.node, lambda: plain)
    yield Objects({name: held}, names, others, undeclared=names)
    if number == 0:
        yield Objects({name: algebra.nothing}, frozenset(), others, undeclared=names)


@lru_cache(maxsize=_CLASSES)
def _numbers(number: int) -> NumberSet:
    """The numbers of a class: integers by remainder, others in the last class."""
    remainders = frozenset(n for n in range(_MODULUS) if n % _CLASSES == number)
    grid = Grid(Fraction(1), _MODULUS, remainders, between=number == _CLASSES - 1)
    return NumberSet((Interval(None, None, grid),))


@lru_cache(maxsize=_CLASSES * len(_FEATURES))
def _texts(feature: str, number: int) -> StringSet:
    if feature == _LENGTH:
        return StringSet.pattern(rf"^(?:[\s\S]{{{_CLASSES}}})*[\s\S]{{{number}}}$")
    # mixed, so that neither neighbours nor characters with equal last bits share a class
    codes = (code for code in range(0x80) if (code ^ code >> 3) % _CLASSES == number)
    kinds = [f"\\x{code:02X}" for code in codes]
    more = r"\u0080-\u{10FFFF}" if number == 0 else ""
    return StringSet.pattern(_CHARACTERS[feature].format(f"[{''.join(kinds)}{more}]"))


class DistinctGraph:
    """The items of arrays that differ in one feature; a state is the bit set of used classes."""

    def __init__(self, shape: Arrays, name: str, feature: Feature, writer: RuleWriter) -> None:
        self._name = name
        self._low = shape.low
        self._high = MAX_ITEMS if shape.high is None else min(shape.high, MAX_ITEMS)
        self._span = shape.rest.span
        self._comma = writer.spacing.comma
        self._held = [
            (1 << number, item)
            for number in range(_CLASSES)
            if (item := _item(shape.rest, feature, number, writer)) is not None
        ]

    def edges(self, state: int) -> Iterator[tuple[Expression | None, int]]:
        """The possible next items: those of all classes that are not used yet."""
        count = state.bit_count()
        if state == _FULL or not self._high:
            return
        comma = [self._comma] if count else []
        for bit, item in self._held:
            if not state & bit:
                after = _FULL if count + 1 == self._high else state | bit
                yield sequence([*comma, item], self._span), after

    def is_final(self, state: int) -> bool:
        return state == _FULL or state.bit_count() >= self._low

    def name_of(self, state: int) -> str:
        return f"{self._name}_after_{state.bit_count()}"


def _item(items: LazySet, feature: Feature, number: int, writer: RuleWriter) -> Expression | None:
    """The call of a rule of the items in one class; None if there are none."""
    algebra = writer.algebra
    kind = algebra.atom(items.node, lambda: class_of_values(algebra, feature, number))
    held = algebra.intersection(items, kind)
    if algebra.is_empty(held):
        return None
    body = writer.of(held)
    if isinstance(body, Nonterminal):
        return body
    name = writer.new_name(f"{items.name}_{feature.name}_{number}")
    writer.rule(name, body, items.span)
    return Nonterminal(name, items.span)
