"""``oneOf`` for arrays and objects: the values in exactly one of several unions of shapes.

Disjoint options are joined; from an option that overlaps others, the values of those are
subtracted. The complement of a shape has an alternative for each of its conditions, so that the
difference may have a number of cases that is exponential in the number of options. Where it may be
large, two things are done first:

* Objects are divided by the values of a property that distinguishes options (``dividing``).
* An option that another one contains adds no values, and is subtracted with that one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain, product
from operator import and_

from workbench.base.errors import BuildError, LimitError
from workbench.base.source import replaced
from workbench.schema.algebra.dividing import (
    MAX_CASES,
    dividing_name,
    has_few_cases,
    objects_with,
    parts_of,
)
from workbench.schema.algebra.set_operations import (
    both_objects,
    complement_arrays,
    complement_objects,
    difference_of_few,
    meet_arrays,
    meet_objects,
    subtract_objects,
)
from workbench.schema.algebra.simplify import (
    Shape,
    Tags,
    disjoint_shapes,
    have_disjoint_tags,
    is_within,
    non_empty_shapes,
    tags_of,
)
from workbench.schema.normal_form import Arrays, CircularReference, LazySet, Objects, property_of
from workbench.schema.set_protocols import SetAlgebra
from workbench.schema.string_sets import StringSet

#: The shapes of an option.
_Union = tuple[Shape, ...]


def exclusive_arrays(
    algebra: SetAlgebra, plain: Sequence[_Union[Arrays]], kept: Sequence[_Union[Arrays]]
) -> _Union[Arrays]:
    """The arrays in exactly one of the options; ``kept`` as in ``combining.exactly_one``."""

    def subtract(option: _Union[Arrays], other: _Union[Arrays]) -> _Union[Arrays]:
        return meet_arrays(algebra, option, complement_arrays(algebra, other))

    overlaps = _overlaps(algebra, plain, meet_arrays)
    return non_empty_shapes(algebra, _differences(plain, kept, overlaps, subtract))


#: The most cases of a part of divided objects.
_MAX_CASES_IN_PART = 60


def exclusive_objects(
    algebra: SetAlgebra,
    plain: Sequence[_Union[Objects]],
    kept: Sequence[_Union[Objects]],
    most_cases: int = MAX_CASES,
) -> _Union[Objects]:
    """The objects in exactly one of the options; ``kept`` as in ``combining.exactly_one``.

    ``most_cases``: with more cases, objects are divided.
    """

    def subtract_together(option: _Union[Objects], other: _Union[Objects]) -> _Union[Objects]:
        shapes = subtract_objects(algebra, option, other, most_separate=0)
        decided = (_decided(algebra, shape) for shape in shapes)
        return tuple(shape for shape in decided if shape is not None)

    overlaps = _overlaps(algebra, plain, meet_objects)
    is_small = all(
        has_few_cases((plain[other] for other in its), most_cases) for its in overlaps.values()
    )
    name = None if is_small else dividing_name(plain)
    if name is not None:
        parts = parts_of(algebra, name, plain)
        shapes = chain.from_iterable(_in_part(algebra, part, plain, kept) for part in parts)
        return disjoint_shapes(shapes)
    separate = _separate_differences(algebra, plain, kept, overlaps, is_small=is_small)
    if separate is not None:
        return non_empty_shapes(algebra, separate)
    overlaps = _without_contained(algebra, plain, overlaps)
    return non_empty_shapes(algebra, _differences(plain, kept, overlaps, subtract_together))


def _overlaps(
    algebra: SetAlgebra,
    options: Sequence[_Union[Shape]],
    meet: Callable[[SetAlgebra, _Union[Shape], _Union[Shape]], _Union[Shape]],
) -> dict[int, set[int]]:
    """For each option the others that overlap it."""
    overlaps: dict[int, set[int]] = {index: set() for index in range(len(options))}
    for before, index in _possible_overlaps(options):
        common = meet(algebra, options[before], options[index])
        if not all(algebra.is_empty(shape) for shape in common):
            overlaps[index].add(before)
            overlaps[before].add(index)
    return overlaps


def _differences(
    plain: Sequence[_Union[Shape]],
    kept: Sequence[_Union[Shape]],
    overlaps: Mapping[int, set[int]],
    subtract: Callable[[_Union[Shape], _Union[Shape]], _Union[Shape]],
) -> Iterator[Shape]:
    """The shapes of each option, minus the values of the options that overlap it.

    An option without an entry in ``overlaps`` adds no values.
    """
    for index, option in enumerate(kept):
        if index in overlaps:
            for other in sorted(overlaps[index]):
                option = subtract(option, plain[other])
            yield from option


def _decided(algebra: SetAlgebra, shape: Objects) -> Objects | None:
    """A shape whose conditions that only one property can meet require it; None if one has none.

    Sets that distinguish arrays or objects are not compared: their conjunctions may be large.
    """
    for pairs in shape.some:
        possible = [pair for pair in pairs if not _has_no_value(algebra, shape, pair)]
        if not possible:
            return None
        names, lazy = possible[0]
        if len(possible) == 1 and (name := _only_name(names)) is not None:
            held = property_of(shape, name)
            if held is not None and _is_simple(algebra, held) and _is_simple(algebra, lazy):
                others = tuple(other for other in shape.some if other is not pairs)
                rest = replaced(shape, some=others)
                met = both_objects(algebra, rest, objects_with(algebra, name, lazy))
                return None if met is None else _decided(algebra, met)
    return shape


def _has_no_value(algebra: SetAlgebra, shape: Objects, pair: tuple[StringSet, LazySet]) -> bool:
    """Whether a shape surely has no property with one of some names and a value of a set."""
    name = _only_name(pair[0])
    if name is None:
        return False
    held = property_of(shape, name)
    if held is None:
        return True
    if not (_is_simple(algebra, held) and _is_simple(algebra, pair[1])):
        return False
    return algebra.is_empty(algebra.intersection(held, pair[1]))


def _only_name(names: StringSet) -> str | None:
    return next(iter(names.words)) if names.words is not None and len(names.words) == 1 else None


def _is_simple(algebra: SetAlgebra, lazy: LazySet) -> bool:
    """Whether a set has all arrays or none, and all objects or none."""
    try:
        values = lazy.raw
    except (CircularReference, BuildError, LimitError):
        return False  # the error is reported when the set is written as rules
    return values.arrays in ((), (algebra.any_array,)) and values.objects in (
        (),
        (algebra.any_object,),
    )


def _separate_differences(
    algebra: SetAlgebra,
    plain: Sequence[_Union[Objects]],
    kept: Sequence[_Union[Objects]],
    overlaps: Mapping[int, set[int]],
    *,
    is_small: bool,
) -> list[Objects] | None:
    """The differences of the options with a case for each condition.

    None if there are many, unless the options are known to be small.
    """
    shapes: list[Objects] = []
    for index, option in enumerate(kept):
        for other in sorted(overlaps[index]):
            others = complement_objects(algebra, plain[other])
            if is_small:
                option = meet_objects(algebra, option, others)
            elif (few := difference_of_few(algebra, option, others)) is not None:
                option = few
            else:
                return None
        shapes += option
    return shapes


def _without_contained(
    algebra: SetAlgebra, options: Sequence[_Union[Objects]], overlaps: Mapping[int, set[int]]
) -> dict[int, set[int]]:
    """The overlaps of the options that no other one contains, with the largest others only."""
    containing: dict[int, set[int]] = {
        index: {other for other in its if _contains(algebra, options[other], options[index])}
        for index, its in overlaps.items()
    }
    fewer: dict[int, set[int]] = {}
    for index, its in overlaps.items():
        if not containing[index]:
            # of options with the same values, the first one represents all
            fewer[index] = {
                other
                for other in its
                if not any(
                    larger in its and (other not in containing[larger] or larger < other)
                    for larger in containing[other]
                )
            }
    return fewer


def _contains(algebra: SetAlgebra, union: _Union[Objects], other: _Union[Objects]) -> bool:
    """Whether a union obviously contains another one."""
    return all(any(is_within(algebra, shape, whole) for whole in union) for shape in other)


def _in_part(
    algebra: SetAlgebra,
    part: Objects,
    plain: Sequence[_Union[Objects]],
    kept: Sequence[_Union[Objects]],
) -> _Union[Objects]:
    """The objects of a part that are in exactly one option."""
    algebra.clock.check()
    pairs = [
        (its_plain, meet_objects(algebra, its_kept, (part,)))
        for option, its_kept in zip(plain, kept, strict=True)
        if (its_plain := non_empty_shapes(algebra, meet_objects(algebra, option, (part,))))
        and not all(algebra.is_empty(shape) for shape in its_plain)
    ]
    return exclusive_objects(
        algebra, [pair[0] for pair in pairs], [pair[1] for pair in pairs], _MAX_CASES_IN_PART
    )


def _possible_overlaps(options: Sequence[tuple[Shape, ...]]) -> Iterator[tuple[int, int]]:
    """The pairs of options that may overlap: those whose shapes do not have disjoint tags.

    Most options have a tag under one name. One with this tag is only compared with those that have
    a value of it too, and with those without the tag.
    """
    tags: dict[int, list[Tags]] = {}
    for index, option in enumerate(options):
        if option:
            tags[index] = [tags_of(shape) for shape in option]
    names = {
        index: reduce(and_, (option_tags.keys() for option_tags in tags[index])) for index in tags
    }
    common = Counter(chain.from_iterable(names.values())).most_common(1)
    name = common[0][0] if common else ""
    alike: defaultdict[object, list[int]] = defaultdict(list)
    untagged: list[int] = []
    for index, its_tags in tags.items():
        values: set[object] = set()
        if name in names[index]:
            values.update(*(option_tags[name] for option_tags in its_tags))
        near = {before for value in values for before in alike[value]}
        near.update(untagged if values else range(index))
        for before in sorted(near & tags.keys()):
            if not all(have_disjoint_tags(*pair) for pair in product(tags[before], its_tags)):
                yield before, index
        for value in values:
            alike[value].append(index)
        if not values:
            untagged.append(index)
