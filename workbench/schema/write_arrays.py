"""Writes arrays as expressions, those with unique items included.

In comes a shape with ``uniqueItems`` whose items have few values; out comes a graph with a state
for every set of them that may have been read.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import comb
from typing import Any

from workbench.base.errors import BuildError
from workbench.base.source import Span
from workbench.schema.counting import MAX_COUNTED_SINGLY, BlockCounter
from workbench.schema.member_rows import write_graph
from workbench.schema.normal_form import Arrays, Contains, LazySet, Values, canonical, item_of
from workbench.schema.schema_reader import unsupported
from workbench.schema.write_values import RuleWriter, has_no_value, optional, sequence
from workbench.syntax.grammar_tree import Expression, Nonterminal, Repetition, Sequence

#: The most sets of values that are told apart: with ten values all of them, with twenty those of
#: up to two.
_MOST_SETS = 1_100


class UniqueGraph:
    """The row of items of a shape that differ; a state is the set of values read, a bit each.

    Raises: BuildError of kind ``unsupported_schema`` where there are too many.
    """

    def __init__(self, shape: Arrays, name: str, writer: RuleWriter) -> None:
        assert shape.unique is not None
        self._shape = shape
        self._name = name
        self._writer = writer
        #: The values, each with its bit; and the bits of each place, the last one that of all
        #: places after the prefix.
        self._bits: dict[object, int] = {}
        is_short = shape.high is not None and shape.high <= len(shape.prefix)
        places = shape.prefix if is_short else (*shape.prefix, shape.rest)
        values = [self._few(items) for items in places]
        bits = [[self._bit(value) for value in few] for few in values]
        self._bits_at = bits
        most = len(self._bits) if shape.high is None else min(shape.high, len(self._bits))
        sets = sum(comb(len(self._bits), size) for size in range(most + 1))
        if shape.contains or sets > _MOST_SETS:
            raise self._refusal()
        #: The expression of each value, by its bit.
        self._held = {
            bit: writer.of(writer.algebra.constant(value, items.node), items.span)
            for items, few, its_bits in zip(places, values, bits, strict=True)
            for value, bit in zip(few, its_bits, strict=True)
        }

    def _few(self, items: LazySet) -> list[Any]:
        """The values of a set of a few."""
        few = finite_values(items.values, _MOST_SETS)
        if few is None:
            raise self._refusal()
        return few

    def _bit(self, value: Any) -> int:  # noqa: ANN401  # a JSON value, exact
        return self._bits.setdefault(canonical(value), 1 << len(self._bits))

    def edges(self, state: int) -> Iterator[tuple[Expression | None, int]]:
        """The items that may come next: all those that were not there yet."""
        place = state.bit_count()
        if place == self._shape.high:
            return
        comma = [self._writer.spacing.comma] if place else []
        for bit in self._bits_at[min(place, len(self._shape.prefix))]:
            if not state & bit:
                held = self._held[bit]
                yield sequence([*comma, held], held.span), state | bit

    def is_final(self, state: int) -> bool:
        return state.bit_count() >= self._shape.low

    def name_of(self, state: int) -> str:
        return f"{self._name}_after_{state.bit_count()}"

    def _refusal(self) -> BuildError:
        node = self._shape.unique
        assert node is not None
        return unsupported(
            node,
            "items can be compared where they have few values (about ten)",
            "list the values of the items with enum, or leave the keyword out and check afterwards",
        )


def finite_values(values: Values, most: int) -> list[Any] | None:
    """The values of a set of leaves, if there are at most so many; None else."""
    if values.arrays or values.objects:
        return None
    texts, numbers = values.texts.finite(most), values.numbers.finite(most)
    if texts is None or numbers is None:
        return None
    return [*sorted(values.booleans), *([None] if values.null else []), *numbers, *texts]


#: Items beyond so many are copies of one rule, not of all that is in it.
_COPIED = 8

#: The most brackets inside each other; where more may be left out a rule each.
_NESTED = 12

#: Of a graph that counts: how many items there were, and how many of them for each ``contains``.
_State = tuple[int, tuple[int, ...]]


def array_expression(
    shape: Arrays, name: str, owner: LazySet, writer: RuleWriter
) -> Expression | None:
    """The texts of the arrays of a shape of ``owner``; ``name`` begins the names of further rules.

    None where there are none, which not every shape shows before.

    Raises: BuildError of kind ``unsupported_schema`` where items must differ and are too many;
            LimitError.
    """
    span = owner.span
    if shape.high == 0:
        return writer.bracketed(b"[]", None, True, span)
    optional_ones = len(shape.prefix) - shape.low
    if shape.unique:
        unique = UniqueGraph(shape, name, writer)
        inside, may_be_empty = write_graph(unique, 0, writer, owner.node)
    elif shape.contains or optional_ones > _NESTED:
        counting, nothing_yet = _CountingGraph(shape, name, writer), (0,) * len(shape.contains)
        inside, may_be_empty = write_graph(counting, (0, nothing_yet), writer, owner.node)
    else:
        inside, may_be_empty = _row(shape, name, span, writer), shape.low == 0
    return writer.bracketed(b"[]", inside, may_be_empty, span)


def _row(shape: Arrays, name: str, span: Span, writer: RuleWriter) -> Expression:
    """One item after the other, the first of them there.

    Whatever may be left out is inside what it follows: ``a (, b (, c)?)?``.
    """
    comma, first = writer.spacing.comma, max(1, len(shape.prefix))
    row: list[Expression] = []
    items = [writer.of(lazy) for lazy in shape.prefix]
    if shape.high is None or shape.high > len(items):
        item = _counted_item(shape, name, span, writer)
        if not items:
            items.append(item)
        again = Sequence((comma, item), span)
        further = None if shape.high is None else shape.high - first
        row = _again(again, max(shape.low - first, 0), further, name, span, writer)
    for place in reversed(range(1, len(items))):
        row = [comma, items[place], *row]
        if place >= shape.low:
            row = [optional(Sequence(tuple(row), span), span)]
    return sequence([items[0], *row], span)


def _again(
    item: Expression, low: int, high: int | None, name: str, span: Span, writer: RuleWriter
) -> list[Expression]:
    """Copies of an item after the first; many of them are counted by blocks."""
    if max(low, high or 0) <= MAX_COUNTED_SINGLY:
        return [Repetition(item, low, high, span)] if high != 0 else []
    counting = BlockCounter(
        lambda least, most: Repetition(item, least, most, span),
        lambda level: writer.block(f"{name}_items", counting, level),
        span,
    )
    return counting.counted(low, high)


def _counted_item(shape: Arrays, name: str, span: Span, writer: RuleWriter) -> Expression:
    """An item after the prefix; where there are many copies of it, as the call of a rule."""
    item = writer.of(shape.rest)
    if max(shape.low, shape.high or 0) <= _COPIED or isinstance(item, Nonterminal):
        return item
    its_name = writer.new_name(f"{name}_item")
    writer.rule(its_name, item, span)
    return Nonterminal(its_name, span)


class _CountingGraph:
    """The row of items of a shape that asks for some of a kind."""

    def __init__(self, shape: Arrays, name: str, writer: RuleWriter) -> None:
        self._shape = shape
        self._name = name
        self._writer = writer
        starts = [condition.start for condition in shape.contains]
        #: From this place on all items are alike.
        self._alike = max(1, len(shape.prefix), shape.low, shape.high or 0, *starts)

    def edges(self, state: _State) -> Iterator[tuple[Expression | None, _State]]:
        """The items that may come next."""
        place, counts = state
        if place == self._shape.high:
            return
        item = item_of(self._shape, place)
        further = min(place + 1, self._alike)
        for after, held in self._counting(place, counts, item):
            value = self._writer.of(held)
            comma = [self._writer.spacing.comma] if place else []
            yield sequence([*comma, value], held.span), (further, after)

    def _counting(
        self, place: int, counts: tuple[int, ...], item: LazySet
    ) -> Iterator[tuple[tuple[int, ...], LazySet]]:
        """What each ``contains`` may have counted after an item, and the item's values then."""
        ways = [
            list(self._ways(place, count, condition))
            for count, condition in zip(counts, self._shape.contains, strict=True)
        ]
        algebra = self._writer.algebra
        for way in product(*ways):
            held = item
            for (_, is_in), condition in zip(way, self._shape.contains, strict=True):
                if is_in is not None:
                    kind = condition.values if is_in else algebra.complement(condition.values)
                    held = algebra.intersection(held, kind)
            if not has_no_value(held.values):
                yield tuple(count for count, _ in way), held

    def _ways(
        self, place: int, count: int, condition: Contains
    ) -> Iterator[tuple[int, bool | None]]:
        """The count after an item, and whether the item is of the kind; None if that is all one.

        Where there is no most, an item of the kind need not be counted: the count is a witness.
        """
        if place < condition.start or (condition.high is None and count >= condition.low):
            yield count, None
            return
        yield count, None if condition.high is None else False
        if condition.high is None or count < condition.high:
            yield count + 1, True

    def is_final(self, state: _State) -> bool:
        place, counts = state
        return place >= self._shape.low and all(
            count >= condition.low
            for count, condition in zip(counts, self._shape.contains, strict=True)
        )

    def name_of(self, state: _State) -> str:
        return f"{self._name}_from_{state[0]}"
