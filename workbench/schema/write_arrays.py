"""Writes arrays as expressions.

An array with ``contains`` is a graph whose states count the matching items. With ``uniqueItems``,
a state is the set of values already used, or of classes of values; more than ten values are a
permutation phrase.

No automaton knows all items that it has read. The items are therefore divided into ``_CLASSES``
disjoint classes by one feature: a character at some place, the length, an integer's remainder, or
one of these of a property. Arrays whose items are in different classes have different items. An
array is accepted if its items differ in one of several features, so nothing forbidden is accepted;
arrays of more than ``MAX_ITEMS`` items, and those whose items differ in no feature, are not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb
from typing import Any

from workbench.base.errors import BuildError
from workbench.base.source import Span, replaced
from workbench.schema.algebra.set_operations import both_objects, meet
from workbench.schema.counting import MAX_COUNTED_SINGLY, BlockCounter
from workbench.schema.intervals import Grid, Interval
from workbench.schema.member_graphs import write_graph
from workbench.schema.normal_form import (
    Arrays,
    Contains,
    LazySet,
    Objects,
    Values,
    all_but,
    canonical,
    item_of,
)
from workbench.schema.numbers import NumberSet
from workbench.schema.schema_reader import Effect, Node, unsupported
from workbench.schema.set_protocols import SetAlgebra
from workbench.schema.string_sets import StringSet
from workbench.schema.write_phrases import bracketed_phrase
from workbench.schema.write_values import RuleWriter, has_no_value, optional
from workbench.syntax.grammar_tree import (
    Expression,
    Nonterminal,
    Repetition,
    Sequence,
    choice,
    sequence,
)
from workbench.syntax.permutation_phrases import Element, PermutationPhrase

#: The most items, and the classes. An array of strings has 2,500 states; with a sixth item 3,600.
#: It compiles in 9 ms, with 8 classes in 2.5 times that, and with all their subsets in 5 times.
MAX_ITEMS = 5
_CLASSES = 6
#: The features of a string: patterns with the class of a character, or the length.
_CHARACTERS = {"first": "^{}", "third": r"^[\s\S]{{2}}{}", "last": "{}$"}
_LENGTH = "length"
_FEATURES = (*_CHARACTERS, _LENGTH)
#: The modulus of integers in each feature. Of the pairs of integers below 130, 0.06 % have equal
#: classes in all of them, of the triples 3.4 % (with 7 alone 18 and 46 %).
_MODULI = dict(zip(_FEATURES, (7, 11, 13, 29), strict=True))
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
        return [
            Feature(name, property_name) for property_name in properties for name in _OF_PROPERTIES
        ]
    if items.texts == StringSet.everything() and items.objects:  # items of any type
        return []
    if items.texts.finite(1) is not None and (items.numbers.is_empty or items.objects):
        return []
    return [Feature(name) for name in _FEATURES]


def _distinguishing(shapes: tuple[Objects, ...]) -> list[str]:
    """The first required property with many strings or numbers; else the first optional ones."""
    in_all: dict[str, bool] = {}
    for shape in shapes:
        for name, lazy in shape.properties.items():
            values = lazy.values
            if values.texts.finite(_CLASSES) is None or values.numbers.finite(_CLASSES) is None:
                in_all[name] = in_all.get(name, False) or name in shape.required
    required = [name for name, is_required in in_all.items() if is_required]
    return required[:1] or [*in_all][:_MAX_PROPERTIES]


def class_of_values(algebra: SetAlgebra, feature: Feature, number: int) -> Values:
    """The values of one class of a feature; the classes of a feature are disjoint."""
    plain = Values(
        number == 2,
        frozenset((number == 0,)) if number < 2 else frozenset(),
        _numbers(_MODULI[feature.name], number),
        _texts(feature.name, number),
        (algebra.any_array,) if number == 3 else (),
        (algebra.any_object,) if number == 4 else (),
    )
    if feature.property is None:
        return plain
    return replaced(plain, objects=tuple(_objects(algebra, feature.property, plain, number)))


def _objects(algebra: SetAlgebra, name: str, plain: Values, number: int) -> Iterator[Objects]:
    """The objects whose property is in a class; those without it are in the first class."""
    names, others = frozenset((name,)), ((all_but([name]), algebra.anything),)
    held = algebra.atom(algebra.anything.node, lambda: plain)
    yield Objects({name: held}, names, others, undeclared=names)
    if number == 0:
        yield Objects({name: algebra.nothing}, frozenset(), others, undeclared=names)


@lru_cache(maxsize=_CLASSES * len(_FEATURES))
def _numbers(modulus: int, number: int) -> NumberSet:
    """The numbers of a class: integers by remainder, others in the last class."""
    remainders = frozenset(n for n in range(modulus) if n % _CLASSES == number)
    grid = Grid(Fraction(1), modulus, remainders, between=number == _CLASSES - 1)
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


class _DistinctItems:
    """Writes the items of arrays that differ in one feature.

    There is a rule for each set of used classes, with the items that may follow.
    """

    def __init__(self, shape: Arrays, name: str, feature: Feature, writer: RuleWriter) -> None:
        self._name = name
        self._low = shape.low
        self._span = shape.rest.span
        self._writer = writer
        held = [_item(shape.rest, feature, number, writer) for number in range(_CLASSES)]
        self._items = [(1 << index, item) for index, item in enumerate(held) if item is not None]
        high = MAX_ITEMS if shape.high is None else min(shape.high, MAX_ITEMS)
        self._high = min(high, len(self._items))
        #: The calls of the rules after the items of each set of classes, and those not yet written.
        self._calls: dict[int, Nonterminal] = {}
        self._waiting: list[int] = []

    def write(self, owner: Node) -> Expression | None:
        """The items, at least one; None if there are none.

        Raises: BuildError if there are too many rules; LimitError.
        """
        if not self._high or self._high < self._low:
            return None
        writer, span = self._writer, self._span
        whole = self._options(0)
        while self._waiting:
            used = self._waiting.pop()
            writer.count_state(owner)
            body: Expression = Sequence((writer.spacing.comma, self._options(used)), span)
            if used.bit_count() >= self._low:
                body = optional(body, span)
            writer.rule(self._calls[used].name, body, span)
        return whole

    def _options(self, used: int) -> Expression:
        """The possible next items, those of all classes that are not used yet, and what follows."""
        span, unused = self._span, [pair for pair in self._items if not used & pair[0]]
        if used.bit_count() + 1 == self._high:
            return choice([item for _, item in unused], span)
        return choice(
            [Sequence((item, self._after(used | bit)), span) for bit, item in unused], span
        )

    def _after(self, used: int) -> Nonterminal:
        """The call of the rule after the items of some classes."""
        call = self._calls.get(used)
        if call is None:
            name = self._writer.new_name(f"{self._name}_after_{used.bit_count()}")
            call = self._calls[used] = Nonterminal(name, self._span)
            self._waiting.append(used)
        return call


def _item(items: LazySet, feature: Feature, number: int, writer: RuleWriter) -> Expression | None:
    """The call of a rule of the items in one class; None if there are none."""
    algebra = writer.algebra
    held = algebra.atom(items.node, lambda: _in_class(algebra, items.raw, feature, number))
    if algebra.is_empty(held):
        return None
    if feature.property is not None:
        writer.distinguished[held] = feature.property
    body = writer.of(held)
    if isinstance(body, Nonterminal):
        return body
    name = writer.new_name(f"{items.name}_{feature.name}_{number}")
    writer.rule(name, body, items.span)
    return Nonterminal(name, items.span)


def _in_class(algebra: SetAlgebra, items: Values, feature: Feature, number: int) -> Values:
    """The items of one class.

    Their shapes are not compared: a class restricts one property of each.
    """
    kind = class_of_values(algebra, feature, number)
    pairs = product(items.objects, kind.objects)
    shapes = (both_objects(algebra, *pair) for pair in pairs)
    others = meet(algebra, replaced(items, objects=()), kind)
    return replaced(others, objects=tuple(shape for shape in shapes if shape is not None))


#: The most states for unique items, which are sets of used values: enough for all subsets of ten
#: values, or for those with up to two of twenty values.
_MAX_VALUE_SETS = 1_100


class _UniqueGraph:
    """The unique items of an array; a state is the bit set of the values already used.

    Raises: BuildError of kind ``unsupported_schema`` if there are too many sets.
    """

    def __init__(self, shape: Arrays, name: str, writer: RuleWriter) -> None:
        assert shape.unique is not None
        self._shape = shape
        self._name = name
        self._writer = writer
        #: The bit of each value; and the bits allowed at each index, the last entry for all
        #: indices after the prefix.
        self._bits: dict[object, int] = {}
        is_short = shape.high is not None and shape.high <= len(shape.prefix)
        positions = shape.prefix if is_short else (*shape.prefix, shape.rest)
        values = [self._values_of(items) for items in positions]
        bits = [[self._bit(value) for value in listed] for listed in values]
        self._bits_at = bits
        if shape.contains or len(self._bits) > _most_values(shape.high):
            raise self._too_many()
        #: The expression of each value, by its bit.
        self._held = {
            bit: writer.of(writer.algebra.constant(value, items.node), items.span)
            for items, listed, its_bits in zip(positions, values, bits, strict=True)
            for value, bit in zip(listed, its_bits, strict=True)
        }

    def _values_of(self, items: LazySet) -> list[Any]:
        """The values of a set with few of them."""
        listed = _finite_values(items.values, _most_values(self._shape.high))
        if listed is None:
            raise self._too_many()
        return listed

    def _bit(self, value: Any) -> int:  # noqa: ANN401  # a JSON value, exact
        return self._bits.setdefault(canonical(value), 1 << len(self._bits))

    def edges(self, state: int) -> Iterator[tuple[Expression | None, int]]:
        """The possible next items: all values that are not used yet."""
        index = state.bit_count()
        if index == self._shape.high:
            return
        comma = [self._writer.spacing.comma] if index else []
        for bit in self._bits_at[min(index, len(self._shape.prefix))]:
            if not state & bit:
                held = self._held[bit]
                yield sequence([*comma, held], held.span), state | bit

    def is_final(self, state: int) -> bool:
        return state.bit_count() >= self._shape.low

    def name_of(self, state: int) -> str:
        return f"{self._name}_after_{state.bit_count()}"

    def _too_many(self) -> BuildError:
        node = self._shape.unique
        assert node is not None
        return unsupported(
            node,
            "supported for items with up to 1,000 values, and for up to five strings, numbers, or "
            "objects that declare strings or numbers",
            "say what the items are",
        )


@lru_cache(maxsize=64)
def _most_values(high: int | None) -> int:
    """The most values that have at most ``_MAX_VALUE_SETS`` sets of up to ``high`` of them."""
    for count in range(1, _MAX_VALUE_SETS + 1):
        most = count if high is None else min(high, count)
        if sum(comb(count, size) for size in range(most + 1)) > _MAX_VALUE_SETS:
            return count - 1
    return _MAX_VALUE_SETS


def _finite_values(values: Values, most: int) -> list[Any] | None:
    """The values of a set without arrays and objects; None past ``most`` numbers or strings."""
    if values.arrays or values.objects:
        return None
    texts, numbers = values.texts.finite(most), values.numbers.finite(most)
    if texts is None or numbers is None:
        return None
    return [*sorted(values.booleans), *([None] if values.null else []), *numbers, *texts]


#: The most values of unique items that are elements of a permutation phrase.
_MAX_PHRASE_VALUES = 1_000


def _many_values(shape: Arrays) -> list[Any] | None:
    """The values of unique items, if they are finitely many, but too many for their sets."""
    if shape.prefix or shape.contains:
        return None
    values = _finite_values(shape.rest.values, _MAX_PHRASE_VALUES)
    return values if values is not None and len(values) > _most_values(shape.high) else None


def _any_order(
    shape: Arrays, values: list[Any], writer: RuleWriter, span: Span
) -> Expression | None:
    """Unique items as a permutation phrase: each value at most once."""
    ones = [1 << number for number in range(len(values))]
    phrase = PermutationPhrase(
        tuple([Element(one, one) for one in ones]), low=shape.low, high=shape.high
    )
    items = [
        (writer.of(writer.algebra.constant(value, shape.rest.node), shape.rest.span),)
        for value in values
    ]
    return bracketed_phrase(b"[]", phrase, items, span, writer)


#: Up to this many copies, an item is written inline; more copies call a rule.
_MAX_INLINE_COPIES = 8

#: Up to this many optional items are nested expressions; more get a rule each.
_MAX_NESTED_OPTIONAL = 12

#: State of a counting graph: the number of items, and the number of matches for each ``contains``.
_State = tuple[int, tuple[int, ...]]


def array_expression(
    shape: Arrays, name: str, owner: LazySet, writer: RuleWriter
) -> Expression | None:
    """The texts of the arrays of a shape of ``owner``; ``name`` is the prefix of further rules.

    None if there turn out to be none.

    Raises: BuildError of kind ``unsupported_schema`` for unique items with too many values;
            LimitError.
    """
    span = owner.span
    if shape.high == 0:
        return writer.bracketed(b"[]", None, True, span)
    if shape.unique and (values := _many_values(shape)) is not None:
        return _any_order(shape, values, writer, span)
    optional_ones = len(shape.prefix) - shape.low
    if shape.unique:
        inside, may_be_empty = _unique(shape, name, owner, writer)
    elif shape.contains or optional_ones > _MAX_NESTED_OPTIONAL:
        counting, nothing_yet = _CountingGraph(shape, name, writer), (0,) * len(shape.contains)
        inside, may_be_empty = write_graph(counting, (0, nothing_yet), writer, owner.node)
    else:
        inside, may_be_empty = _row(shape, name, span, writer), shape.low == 0
    return writer.bracketed(b"[]", inside, may_be_empty, span)


def _unique(
    shape: Arrays, name: str, owner: LazySet, writer: RuleWriter
) -> tuple[Expression | None, bool]:
    """Unique items, and whether there may be none; by classes if they have too many values.

    Raises: BuildError of kind ``unsupported_schema``; LimitError.
    """
    try:
        return write_graph(_UniqueGraph(shape, name, writer), 0, writer, owner.node)
    except BuildError:
        features = features_of(shape)
        if not features:
            raise
    assert shape.unique is not None
    writer.algebra.add_note(
        shape.unique, _narrower(shape, features), (_SAY_ITEMS, None), effect=Effect.NARROWED
    )
    key = _same_items(shape), writer.level
    inside = writer.unique_items.get(key)
    if inside is None:
        inside = _by_classes(shape, features, name, owner, writer)
        if inside is not None:
            writer.unique_items[key] = inside
    return inside, shape.low == 0


#: How all arrays with different items are accepted.
_SAY_ITEMS = (
    "list the items in an enum of up to 1,000 values, or check uniqueItems afterwards:"
    " unasserted=['uniqueItems'], --unasserted uniqueItems"
)


def _narrower(shape: Arrays, features: list[Feature]) -> str:
    """Which arrays ``uniqueItems`` accepts if its items have too many values."""
    is_longer = shape.high is None or shape.high > MAX_ITEMS
    given = "" if shape.high is None else f" (maxItems is {shape.high})"
    most = f"arrays have at most {MAX_ITEMS} items{given}, and " if is_longer else ""
    names = list(dict.fromkeys(feature.name for feature in features))
    places = [name for name in names if name != _LENGTH]
    listed = " or ".join([", ".join(places[:-1]), places[-1]] if len(places) > 1 else places)
    read = f"{listed} character{' or the length' if _LENGTH in names else ''}"
    of = " or ".join(f"the property {feature.property!r}" for feature in features[:: len(names)])
    if features[0].property is None:
        moduli = ", ".join(str(_MODULI[name]) for name in names)
        of = f"a text, or the remainder of an integer divided by one of {moduli}"
    return (
        f"uniqueItems is narrower here: {most}one feature must put all items into different groups "
        f"({_CLASSES} groups for each feature): the {read} of {of}; other arrays are refused, "
        "even if their items differ"
    )


def _by_classes(
    shape: Arrays, features: list[Feature], name: str, owner: LazySet, writer: RuleWriter
) -> Expression | None:
    """Items that differ in one of the features; each is a rule."""
    options: list[Expression] = []
    for feature in features:
        inside = _DistinctItems(shape, name, feature, writer).write(owner.node)
        if inside is not None:
            its_name = writer.new_name(f"{name}_by_{feature.property or feature.name}")
            writer.rule(its_name, inside, owner.span)
            options.append(Nonterminal(its_name, owner.span))
    return choice(options, owner.span) if options else None


def _same_items(shape: Arrays) -> Hashable:
    """A key of unique items: those with equal keys have the same rules.

    Leaves are compared by value; others by the identity of their set, which a reference and its
    target share.
    """
    items = shape.rest.values
    if items.arrays or items.objects:
        return shape.rest.raw, shape.low, shape.high
    return items.null, items.booleans, items.numbers, items.texts, shape.low, shape.high


def _row(shape: Arrays, name: str, span: Span, writer: RuleWriter) -> Expression:
    """The items, at least one of them; optional ones are nested: ``a (, b (, c)?)?``."""
    comma, first = writer.spacing.comma, max(1, len(shape.prefix))
    row: list[Expression] = []
    items = [writer.of(lazy) for lazy in shape.prefix]
    if shape.high is None or shape.high > len(items):
        item = _counted_item(shape, name, span, writer)
        if not items:
            items.append(item)
        again = Sequence((comma, item), span)
        further = None if shape.high is None else shape.high - first
        row = _repeat(again, max(shape.low - first, 0), further, name, span, writer)
    for index in reversed(range(1, len(items))):
        row = [comma, items[index], *row]
        if index >= shape.low:
            row = [optional(Sequence(tuple(row), span), span)]
    return sequence([items[0], *row], span)


def _repeat(
    item: Expression, low: int, high: int | None, name: str, span: Span, writer: RuleWriter
) -> list[Expression]:
    """Copies of an item after the first; large numbers are counted in blocks."""
    if max(low, high or 0) <= MAX_COUNTED_SINGLY:
        return [Repetition(item, low, high, span)] if high != 0 else []
    counting = BlockCounter(
        lambda least, most: Repetition(item, least, most, span),
        lambda level: writer.block(f"{name}_items", counting, level),
        span,
    )
    return counting.counted(low, high)


def _counted_item(shape: Arrays, name: str, span: Span, writer: RuleWriter) -> Expression:
    """An item after the prefix; the call of a rule if there are many copies."""
    item = writer.of(shape.rest)
    if max(shape.low, shape.high or 0) <= _MAX_INLINE_COPIES or isinstance(item, Nonterminal):
        return item
    its_name = writer.new_name(f"{name}_item")
    writer.rule(its_name, item, span)
    return Nonterminal(its_name, span)


class _CountingGraph:
    """The items of an array with ``contains``, or with many optional items."""

    def __init__(self, shape: Arrays, name: str, writer: RuleWriter) -> None:
        self._shape = shape
        self._name = name
        self._writer = writer
        starts = [condition.start for condition in shape.contains]
        #: From this index on all items have the same conditions.
        self._alike = max(1, len(shape.prefix), shape.low, shape.high or 0, *starts)

    def edges(self, state: _State) -> Iterator[tuple[Expression | None, _State]]:
        """The possible next items."""
        index, counts = state
        if index == self._shape.high:
            return
        item = item_of(self._shape, index)
        further = min(index + 1, self._alike)
        for after, held in self._counting(index, counts, item):
            value = self._writer.of(held)
            comma = [self._writer.spacing.comma] if index else []
            yield sequence([*comma, value], held.span), (further, after)

    def _counting(
        self, index: int, counts: tuple[int, ...], item: LazySet
    ) -> Iterator[tuple[tuple[int, ...], LazySet]]:
        """The possible counts of each ``contains`` after an item, with the item's values."""
        options = [
            list(self._next_counts(index, count, condition))
            for count, condition in zip(counts, self._shape.contains, strict=True)
        ]
        algebra = self._writer.algebra
        for chosen in product(*options):
            held = item
            for (_, is_in), condition in zip(chosen, self._shape.contains, strict=True):
                if is_in is not None:
                    kind = condition.values if is_in else algebra.complement(condition.values)
                    held = algebra.intersection(held, kind)
            if not has_no_value(held.values):
                yield tuple(count for count, _ in chosen), held

    def _next_counts(
        self, index: int, count: int, condition: Contains
    ) -> Iterator[tuple[int, bool | None]]:
        """The possible counts after an item, and whether the item has to match; None for either.

        Without ``maxContains`` a matching item need not be counted: enough counted items suffice.
        """
        if index < condition.start or (condition.high is None and count >= condition.low):
            yield count, None
            return
        yield count, None if condition.high is None else False
        if condition.high is None or count < condition.high:
            yield count + 1, True

    def is_final(self, state: _State) -> bool:
        index, counts = state
        return index >= self._shape.low and all(
            count >= condition.low
            for count, condition in zip(counts, self._shape.contains, strict=True)
        )

    def name_of(self, state: _State) -> str:
        return f"{self._name}_from_{state[0]}"
