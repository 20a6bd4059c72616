"""Arrays no two items of which are equal, written: where that can be decided by remembering.

In comes a shape with ``uniqueItems`` whose items have few values; out comes a graph with a state
for every set of them that may have been read.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import Any

from workbench.errors import BuildError
from workbench.schema.refusals import unsupported
from workbench.schema.values import Arrays, Later, Values, canonical
from workbench.schema.writing.writing import Writing, in_a_row
from workbench.syntax.grammar_tree import Expression

#: The most sets of values that are told apart: with ten values all of them, with twenty those of
#: up to two.
_MOST_SETS = 1_100


class UniqueGraph:
    """The row of items of a shape that differ; a state is the set of values read, a bit each.

    Raises: BuildError of kind ``unsupported_schema`` where there are too many.
    """

    def __init__(self, shape: Arrays, name: str, writing: Writing) -> None:
        assert shape.unique is not None
        self._shape = shape
        self._name = name
        self._writing = writing
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
            bit: writing.of(writing.algebra.constant(value, items.node), items.span)
            for items, few, its_bits in zip(places, values, bits, strict=True)
            for value, bit in zip(few, its_bits, strict=True)
        }

    def _few(self, items: Later) -> list[Any]:
        """The values of a set of a few."""
        few = finite(items.values, _MOST_SETS)
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
        comma = [self._writing.spacing.comma] if place else []
        for bit in self._bits_at[min(place, len(self._shape.prefix))]:
            if not state & bit:
                held = self._held[bit]
                yield in_a_row([*comma, held], held.span), state | bit

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


def finite(values: Values, most: int) -> list[Any] | None:
    """The values of a set of leaves, if there are at most so many; None else."""
    if values.arrays or values.objects:
        return None
    texts, numbers = values.texts.finite(most), values.numbers.finite(most)
    if texts is None or numbers is None:
        return None
    return [*sorted(values.booleans), *([None] if values.null else []), *numbers, *texts]
