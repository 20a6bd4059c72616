"""Complement of a set of JSON values: in comes a normal form, out comes that of all other values.

What a shape asks for is a conjunction, so what it leaves out is a union: one shape for every
condition that may fail. Of a set of shapes the complements meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce
from typing import TYPE_CHECKING

from workbench.schema.algebra.conjunction import meet_arrays, meet_objects
from workbench.schema.algebra.doubts import of_the_rest, outside
from workbench.schema.algebra.names import all_but, nobody, others, somebody
from workbench.schema.refusals import unsupported
from workbench.schema.strings.texts import Texts
from workbench.schema.values import Arrays, Contains, Later, Named, Objects, Values

if TYPE_CHECKING:
    from workbench.schema.algebra.algebra import Algebra

#: Properties that may fail, of which each is a case; of more that one of them does is one case: so
#: a oneOf of three open objects with eight typed properties each has a dozen shapes, not 243. With
#: 3 a recursive oneOf of four open objects took over 2 s in place of 0.1.
_FEW = 6


def complement(algebra: Algebra, values: Values) -> Values:
    """The JSON values that are not in a set.

    Raises: BuildError where a shape asks for items that differ; Untold.
    """
    return Values(
        not values.null,
        algebra.all_values.booleans - values.booleans,
        ~values.numbers,
        outside(values.texts, values.unsure),
        other_arrays(algebra, values.arrays),
        other_objects(algebra, values.objects),
        of_the_rest(values),
    )


def other_arrays(algebra: Algebra, shapes: tuple[Arrays, ...]) -> tuple[Arrays, ...]:
    """The arrays of none of the shapes."""
    left: tuple[Arrays, ...] = (algebra.any_array,)
    for shape in shapes:
        left = meet_arrays(algebra, left, tuple(_failing_arrays(algebra, shape)))
    return left


def other_objects(algebra: Algebra, shapes: tuple[Objects, ...]) -> tuple[Objects, ...]:
    """The objects of none of the shapes."""
    left: tuple[Objects, ...] = (algebra.any_object,)
    for shape in shapes:
        left = meet_objects(algebra, left, tuple(_failing_objects(algebra, shape)))
    return left


def _failing_arrays(algebra: Algebra, shape: Arrays) -> Iterator[Arrays]:
    """One shape for each condition of a shape: the arrays that fail it."""
    anything, negated = algebra.anything, algebra.complement
    if shape.low:
        yield Arrays((), anything, 0, shape.low - 1)
    if shape.high is not None:
        yield Arrays((), anything, shape.high + 1)
    for index, item in enumerate(shape.prefix):
        if item is not anything:
            yield Arrays((anything,) * index + (negated(item),), anything, index + 1)
    if shape.rest is not anything:
        asked = Contains(negated(shape.rest), 1, None, len(shape.prefix))
        yield Arrays((), anything, len(shape.prefix) + 1, None, (asked,))
    for asked in shape.contains:
        if asked.low:
            fewer = Contains(asked.values, 0, asked.low - 1, asked.start)
            yield Arrays((), anything, contains=(fewer,))
        if asked.high is not None:
            more = Contains(asked.values, asked.high + 1, None, asked.start)
            yield Arrays((), anything, asked.start + more.low, contains=(more,))
    if shape.unique is not None and (shape.high is None or shape.high > 1):
        raise unsupported(
            shape.unique,
            "arrays with two equal items cannot be distinguished from the others",
            "leave 'uniqueItems' out of what is negated, or of options that must not overlap",
        )


def _failing_objects(algebra: Algebra, shape: Objects) -> Iterator[Objects]:
    """One shape for each condition of a shape: the objects that fail it."""
    anything, negated = algebra.anything, algebra.complement
    everything = algebra.any_object.extras
    failing = [(name, held) for name, held in shape.properties.items() if held is not anything]
    for name, later in shape.properties.items():
        if name in shape.required:
            yield _with(algebra, name, algebra.nothing)
        if len(failing) <= _FEW and later is not anything:
            yield _with(algebra, name, negated(later))
    if len(failing) > _FEW:
        pairs = tuple((Texts.of([name]), negated(held)) for name, held in failing)
        yield Objects({}, frozenset(), everything, some=(pairs,))
    for pair in _failing_extras(algebra, shape):
        yield Objects({}, frozenset(), everything, some=((pair,),))
    if shape.low:
        yield Objects({}, frozenset(), everything, high=shape.low - 1)
    if shape.high is not None:
        yield Objects({}, frozenset(), everything, low=shape.high + 1)
    for pairs in shape.some:
        yield from reduce(partial(meet_objects, algebra), _without(algebra, pairs))


def _with(algebra: Algebra, name: str, later: Later) -> Objects:
    """Objects with a property of a name and a set, or without it where the set has no value."""
    rest, loose = ((all_but([name]), algebra.anything),), frozenset((name,))
    required = frozenset[str]() if later is algebra.nothing else loose
    return Objects({name: later}, required, rest, loose=loose)


def _without(algebra: Algebra, pairs: Named) -> Iterator[tuple[Objects, ...]]:
    """For each pair the objects that have no property with such a name and such a value."""
    for names, later in pairs:
        allowed = [(names, algebra.complement(later)), (others(names), algebra.anything)]
        kept = (part for part in allowed if part[1] is not algebra.nothing)
        yield (Objects({}, frozenset(), somebody(kept)),)


def _failing_extras(algebra: Algebra, shape: Objects) -> Iterator[tuple[Texts, Later]]:
    """Names and values that no property may have which is not declared."""
    allowed = Texts.of(list(shape.properties))
    for names, later in shape.extras:
        allowed |= names
        if later is not algebra.anything:
            yield names, algebra.complement(later)
    forbidden = outside(allowed, shape.unsure)
    if not nobody(forbidden):
        yield forbidden, algebra.anything
