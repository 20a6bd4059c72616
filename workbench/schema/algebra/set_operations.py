"""Conjunction, union and complement of sets of JSON values.

A shape is a conjunction of conditions, so its complement is a union with one shape for each
condition that may fail. The complement of a union of shapes is the conjunction of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import product
from operator import or_
from typing import TypeVar

from workbench.base.limits import Clock
from workbench.schema.algebra.dividing import (
    dividing_name,
    has_few_cases,
    objects_with,
    parts_of,
)
from workbench.schema.algebra.simplify import (
    declared_names,
    disjoint_shapes,
    non_empty_shapes,
    with_common_order,
)
from workbench.schema.normal_form import (
    Arrays,
    Contains,
    LazySet,
    NamedSets,
    Objects,
    Values,
    certain_complement,
    is_open,
    item_of,
    non_empty,
    property_of,
    undecided_in_both,
    undecided_in_complement,
)
from workbench.schema.schema_reader import unsupported
from workbench.schema.set_protocols import SetAlgebra
from workbench.schema.string_sets import StringSet


def meet(algebra: SetAlgebra, left: Values, right: Values) -> Values:
    """The values in both sets: the conjunctions of each shape of one with each shape of the other.

    Raises: TooManyCases
    """
    if left is algebra.all_values:
        return right
    if right is algebra.all_values:
        return left
    return Values(
        left.null and right.null,
        left.booleans & right.booleans,
        left.numbers & right.numbers,
        left.texts & right.texts,
        meet_arrays(algebra, left.arrays, right.arrays),
        meet_objects(algebra, left.objects, right.objects),
        undecided_in_both(left, right),
    )


def meet_arrays(
    algebra: SetAlgebra, left: tuple[Arrays, ...], right: tuple[Arrays, ...]
) -> tuple[Arrays, ...]:
    """The arrays in both unions."""
    if not left or not right:
        return ()
    return non_empty_shapes(
        algebra, (_arrays(algebra, first, other) for first, other in product(left, right))
    )


def meet_objects(
    algebra: SetAlgebra, left: tuple[Objects, ...], right: tuple[Objects, ...]
) -> tuple[Objects, ...]:
    """The objects in both unions."""
    if not left or not right:
        return ()
    return non_empty_shapes(
        algebra, (both_objects(algebra, first, other) for first, other in product(left, right))
    )


def join(algebra: SetAlgebra, sets: Iterable[Values]) -> Values:
    """The values in at least one of the sets."""
    sets = [*sets] or [algebra.no_values]
    arrays = [shape for values in sets for shape in values.arrays]
    objects = [shape for values in sets for shape in values.objects]
    if algebra.any_array in arrays and all(
        shape.evaluated == 0 and not shape.also for shape in arrays
    ):
        arrays = [algebra.any_array]
    if algebra.any_object in objects and all(shape.evaluated is None for shape in objects):
        objects = [algebra.any_object]
    return Values(
        any(values.null for values in sets),
        frozenset[bool]().union(*(values.booleans for values in sets)),
        reduced(or_, [values.numbers for values in sets], algebra.clock),
        reduced(or_, [values.texts for values in sets], algebra.clock),
        non_empty_shapes(algebra, arrays),
        non_empty_shapes(algebra, with_common_order(objects)),
        reduced(or_, [values.undecided for values in sets], algebra.clock),
    )


Part = TypeVar("Part")


def reduced(operation: Callable[[Part, Part], Part], parts: Sequence[Part], clock: Clock) -> Part:
    """The result of an associative operation on at least one part.

    Neighbours first, then their results: each part is copied a logarithmic number of times.
    """
    while len(parts) > 1:
        clock.check()
        rest = parts[-1:] if len(parts) % 2 else []
        parts = [*map(operation, parts[:-1:2], parts[1::2]), *rest]
    return parts[0]


def _arrays(algebra: SetAlgebra, left: Arrays, right: Arrays) -> Arrays | None:
    """The arrays of both shapes; None if there obviously is no such array."""
    if left is algebra.any_array:
        return right
    if right is algebra.any_array:
        return left
    low, high = max(left.low, right.low), smaller_bound(left.high, right.high)
    count = max(len(left.prefix), len(right.prefix))
    prefix = [
        algebra.intersection(item_of(left, index), item_of(right, index))
        for index in range(count if high is None else min(count, high))
    ]
    rest = algebra.intersection(left.rest, right.rest)
    gap = next((index for index, item in enumerate(prefix) if item is algebra.nothing), None)
    if gap is None and rest is algebra.nothing:
        gap = len(prefix)
    if gap is not None:
        high, prefix = smaller_bound(high, gap), prefix[:gap]
    if high is not None and high < low:
        return None
    return Arrays(
        tuple(prefix),
        rest,
        low,
        high,
        left.contains + right.contains,
        left.unique or right.unique,
        None
        if left.evaluated is None or right.evaluated is None
        else max(left.evaluated, right.evaluated),
        left.also + right.also,
    )


def both_objects(algebra: SetAlgebra, left: Objects, right: Objects) -> Objects | None:
    """The objects of both shapes; None if there obviously is no such object."""
    if left is algebra.any_object:
        return right
    if right is algebra.any_object:
        return left
    required = left.required | right.required
    low, high = max(left.low, right.low), smaller_bound(left.high, right.high)
    if high is not None and high < max(low, len(required)):
        return None
    intersection, nothing, anything = algebra.intersection, algebra.nothing, algebra.anything
    mine, its = left.properties, right.properties
    else_mine = anything if is_open(left, anything) else None
    else_its = anything if is_open(right, anything) else None
    properties = _names(left, right)
    # names of one shape alone keep their sets if the other shape is open
    are_open = else_mine is not None and else_its is not None
    for name in [name for name in mine if name in its] if are_open else [*properties]:
        first = mine.get(name) or else_mine or property_of(left, name)
        other = its.get(name) or else_its or property_of(right, name)
        lazy = nothing if first is None or other is None else intersection(first, other)
        if lazy is nothing and name in required:
            return None
        properties[name] = lazy
    order: tuple[str, ...] | None = None
    if left.order is not None or right.order is not None:
        order = tuple(dict.fromkeys((*declared_names(left), *declared_names(right))))
    evaluated: StringSet | None = left.evaluated
    if right.evaluated is not None:
        evaluated = right.evaluated if evaluated is None else evaluated | right.evaluated
    return Objects(
        properties,
        required,
        tuple(_extras(algebra, left, right)),
        low,
        high,
        tuple(dict.fromkeys((*left.some, *right.some))),
        _loose(left, right),
        order,
        evaluated,
        left.undecided | right.undecided,
    )


def _loose(left: Objects, right: Objects) -> frozenset[str]:
    """The names that neither shape declares."""
    if not left.undeclared and not right.undeclared:
        return left.undeclared
    return frozenset(
        name
        for name in left.undeclared | right.undeclared
        if (name not in left.properties or name in left.undeclared)
        and (name not in right.properties or name in right.undeclared)
    )


def _names(left: Objects, right: Objects) -> dict[str, LazySet]:
    """The properties of either shape, declared ones first."""
    names = left.properties | right.properties
    if not left.undeclared and not right.undeclared:
        return names
    return _declared_properties(left) | _declared_properties(right) | names


def _declared_properties(shape: Objects) -> dict[str, LazySet]:
    """The properties that a schema declares."""
    if not shape.undeclared:
        return shape.properties
    return {name: held for name, held in shape.properties.items() if name not in shape.undeclared}


def _extras(
    algebra: SetAlgebra, left: Objects, right: Objects
) -> Iterator[tuple[StringSet, LazySet]]:
    """The undeclared names of both shapes: the intersections of their sets of names."""
    for (names, first), (also, other) in product(left.extras, right.extras):
        lazy = algebra.intersection(first, other)
        if lazy is not algebra.nothing:
            common = names if names is also else names & also
            if not common.is_empty:
                yield common, lazy


def smaller_bound(left: int | None, right: int | None) -> int | None:
    """The smaller of two upper bounds; None is no bound."""
    if left is None or right is None:
        return right if left is None else left
    return min(left, right)


#: In the complement of a shape, up to this number of typed properties give one shape each; more of
#: them give one shape with the condition that at least one of them fails. With 6, a oneOf of three
#: open objects with eight typed properties each has a dozen shapes instead of 243. With 3, a
#: recursive oneOf of four open objects took over 2 s instead of 0.1 s.
_MAX_SEPARATE_PROPERTIES = 6


def complement(algebra: SetAlgebra, values: Values) -> Values:
    """The JSON values that are not in a set.

    Raises: BuildError where a shape requires unique items; UncomputableSet.
    """
    return Values(
        not values.null,
        algebra.all_values.booleans - values.booleans,
        ~values.numbers,
        certain_complement(values.texts, values.undecided),
        complement_arrays(algebra, values.arrays),
        complement_objects(algebra, values.objects),
        undecided_in_complement(values),
    )


def complement_arrays(algebra: SetAlgebra, shapes: tuple[Arrays, ...]) -> tuple[Arrays, ...]:
    """The arrays in none of the shapes."""
    remaining: tuple[Arrays, ...] = (algebra.any_array,)
    for shape in shapes:
        remaining = meet_arrays(algebra, remaining, tuple(_failing_arrays(algebra, shape)))
    return remaining


#: The most pairs of shapes for which a difference is computed without dividing the objects.
_MAX_PAIRS = 300


def complement_objects(algebra: SetAlgebra, shapes: tuple[Objects, ...]) -> tuple[Objects, ...]:
    """The objects in none of the shapes.

    If they may have many cases, objects are divided by a property that distinguishes the shapes.
    """
    name = None if has_few_cases((shapes,)) else dividing_name([(shape,) for shape in shapes])
    if name is None:
        return subtract_objects(algebra, (algebra.any_object,), shapes)
    return _divided_complement(algebra, shapes, name)


def _divided_complement(
    algebra: SetAlgebra, shapes: tuple[Objects, ...], name: str
) -> tuple[Objects, ...]:
    """The objects in none of the shapes, for each part of the values of a property."""
    remaining: list[Objects] = []
    for part in parts_of(algebra, name, [(shape,) for shape in shapes]):
        algebra.clock.check()
        inside = (both_objects(algebra, shape, part) for shape in shapes)
        held = tuple(shape for shape in inside if shape and not algebra.is_empty(shape))
        remaining += meet_objects(algebra, (part,), complement_objects(algebra, held))
    return disjoint_shapes(remaining)


def difference_of_few(
    algebra: SetAlgebra, shapes: tuple[Objects, ...], others: tuple[Objects, ...]
) -> tuple[Objects, ...] | None:
    """The objects of some shapes that are also in a complement; None if there are many pairs."""
    if len(shapes) * len(others) > _MAX_PAIRS:
        return None
    return meet_objects(algebra, shapes, others)


def subtract_objects(
    algebra: SetAlgebra,
    shapes: tuple[Objects, ...],
    others: tuple[Objects, ...],
    most_separate: int = _MAX_SEPARATE_PROPERTIES,
) -> tuple[Objects, ...]:
    """The objects of some shapes that are in none of the others.

    ``most_separate`` as ``_MAX_SEPARATE_PROPERTIES``.
    """
    for other in others:
        failing = tuple(_failing_objects(algebra, other, most_separate))
        shapes = meet_objects(algebra, shapes, failing)
    return shapes


def _failing_arrays(algebra: SetAlgebra, shape: Arrays) -> Iterator[Arrays]:
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
        condition = Contains(negated(shape.rest), 1, None, len(shape.prefix))
        yield Arrays((), anything, len(shape.prefix) + 1, None, (condition,))
    for condition in shape.contains:
        if condition.low:
            fewer = Contains(condition.values, 0, condition.low - 1, condition.start)
            yield Arrays((), anything, contains=(fewer,))
        if condition.high is not None:
            more = Contains(condition.values, condition.high + 1, None, condition.start)
            yield Arrays((), anything, condition.start + more.low, contains=(more,))
    if shape.unique is not None and (shape.high is None or shape.high > 1):
        raise unsupported(
            shape.unique,
            "arrays with two equal items cannot be distinguished from the others",
            "remove it from what is negated, or from options that must not overlap",
        )


def _failing_objects(algebra: SetAlgebra, shape: Objects, most_separate: int) -> Iterator[Objects]:
    """One shape for each condition of a shape: the objects that fail it."""
    anything, negated = algebra.anything, algebra.complement
    everything = algebra.any_object.extras
    failing = [(name, held) for name, held in shape.properties.items() if held is not anything]
    for name, lazy in shape.properties.items():
        if name in shape.required:
            yield objects_with(algebra, name, algebra.nothing)
        if len(failing) <= most_separate and lazy is not anything:
            yield objects_with(algebra, name, negated(lazy))
    if len(failing) > most_separate:
        pairs = tuple((StringSet.of([name]), negated(held)) for name, held in failing)
        yield Objects({}, frozenset(), everything, some=(pairs,))
    for pair in _failing_extras(algebra, shape):
        yield Objects({}, frozenset(), everything, some=((pair,),))
    if shape.low:
        yield Objects({}, frozenset(), everything, high=shape.low - 1)
    if shape.high is not None:
        yield Objects({}, frozenset(), everything, low=shape.high + 1)
    for pairs in shape.some:
        yield from reduce(partial(meet_objects, algebra), _without(algebra, pairs))


def _without(algebra: SetAlgebra, pairs: NamedSets) -> Iterator[tuple[Objects, ...]]:
    """For each (names, values) pair, the objects that have no property matching it."""
    for names, lazy in pairs:
        allowed = [(names, algebra.complement(lazy)), (~names, algebra.anything)]
        kept = (part for part in allowed if part[1] is not algebra.nothing)
        yield (Objects({}, frozenset(), non_empty(kept)),)


def _failing_extras(algebra: SetAlgebra, shape: Objects) -> Iterator[tuple[StringSet, LazySet]]:
    """The (names, values) pairs that a shape forbids to its undeclared properties."""
    allowed = StringSet.of(list(shape.properties))
    for names, lazy in shape.extras:
        allowed |= names
        if lazy is not algebra.anything:
            yield names, algebra.complement(lazy)
    forbidden = certain_complement(allowed, shape.undecided)
    if not forbidden.is_empty:
        yield forbidden, algebra.anything
