"""``oneOf``: in come the values of its options, out come those of exactly one of them.

Each type is asked by itself. Options that have nothing in common are joined; from one that
overlaps others their values are taken away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, TypeVar

from workbench.schema.algebra.cases import Shape, live
from workbench.schema.algebra.complement import other_arrays, other_objects
from workbench.schema.algebra.conjunction import meet_arrays, meet_objects
from workbench.schema.algebra.doubts import widest
from workbench.schema.algebra.names import either
from workbench.schema.algebra.ordering import together
from workbench.schema.algebra.tags import apart, tags_of
from workbench.schema.numbers.numbers import Numbers
from workbench.schema.strings.texts import Texts
from workbench.schema.values import Values

if TYPE_CHECKING:
    from workbench.schema.algebra.algebra import Algebra

Leaf = TypeVar("Leaf", Numbers, Texts)


def exactly_one(algebra: Algebra, plain: Sequence[Values], kept: Sequence[Values]) -> Values:
    """The values of exactly one of the options.

    ``kept`` are the options again, as their shapes are to be kept: with what they have evaluated.

    Raises: BuildError where options overlap and one of them has no complement; TooManyCases.
    """
    booleans = algebra.all_values.booleans
    return Values(
        sum(option.null for option in plain) == 1,
        frozenset(one for one in booleans if sum(one in option.booleans for option in plain) == 1),
        _leaves([(option.numbers, option.numbers) for option in plain], algebra.no_values.numbers),
        _leaves([(option.texts, widest(option)) for option in plain], algebra.no_values.texts),
        _shapes(
            algebra,
            [option.arrays for option in plain],
            [option.arrays for option in kept],
            meet_arrays,
            other_arrays,
        ),
        tuple(
            together(
                _shapes(
                    algebra,
                    [option.objects for option in plain],
                    [option.objects for option in kept],
                    meet_objects,
                    other_objects,
                ),
            )
        ),
        reduce(either, [option.unsure for option in plain]),
    )


def _leaves(options: list[tuple[Leaf, Leaf]], nothing: Leaf) -> Leaf:
    """What is surely in one option and in no other; each is given with all that may be in it."""
    once = seen = nothing
    for sure, whole in options:
        common = seen & whole
        once = once | sure if common.is_empty else (once & ~whole) | (sure & ~seen)
        seen |= whole
    return once


def _shapes(
    algebra: Algebra,
    plain: list[tuple[Shape, ...]],
    kept: list[tuple[Shape, ...]],
    meet: Callable[[Algebra, tuple[Shape, ...], tuple[Shape, ...]], tuple[Shape, ...]],
    others: Callable[[Algebra, tuple[Shape, ...]], tuple[Shape, ...]],
) -> tuple[Shape, ...]:
    """The shapes of each option, without those of the options that overlap it."""
    empty = algebra.emptiness.surely
    overlaps: dict[int, set[int]] = {index: set() for index in range(len(plain))}
    tags = [[tags_of(shape) for shape in option] for option in plain]
    for index, option in enumerate(plain):
        for before in range(index):
            if all(apart(*pair) for pair in product(tags[before], tags[index])):
                continue
            common = meet(algebra, plain[before], option)
            if not all(empty(shape) for shape in common):
                overlaps[index].add(before)
                overlaps[before].add(index)
    found: list[Shape] = []
    for index, option in enumerate(kept):
        for other in sorted(overlaps[index]):
            option = meet(algebra, option, others(algebra, plain[other]))
        found += option
    return live(algebra, found)
