"""Divides objects by the values of a property that distinguishes alternatives, such as ``type``.

The complement of a shape has an alternative for each of its conditions, so that of a union of many
shapes has a number of cases that is exponential in their number. In a part with one value of a
distinguishing property few shapes are left; the others overlap only in objects without it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations

from workbench.base.limits import check_time_budget
from workbench.base.source import replaced
from workbench.schema.algebra.simplify import tag_of
from workbench.schema.normal_form import LazySet, Objects, all_but, property_of
from workbench.schema.set_protocols import SetAlgebra
from workbench.schema.string_sets import StringSet

#: Objects are divided if a complement may have more cases.
MAX_CASES = 1_000


def has_few_cases(unions: Iterable[tuple[Objects, ...]], most: int = MAX_CASES) -> bool:
    """Whether the complement of all these shapes has few cases, if each condition is one."""
    cases = 1
    for shape in chain.from_iterable(unions):
        cases *= max(1, len(shape.properties) + len(shape.required) + len(shape.extras))
        if cases > most:
            return False
    return True


def objects_with(algebra: SetAlgebra, name: str, lazy: LazySet) -> Objects:
    """Objects with a property whose value is in a set; without the property if the set is empty."""
    rest, undeclared = ((all_but([name]), algebra.anything),), frozenset((name,))
    required = frozenset[str]() if lazy is algebra.nothing else undeclared
    return Objects({name: lazy}, required, rest, undeclared=undeclared)


def dividing_name(options: Sequence[tuple[Objects, ...]]) -> str | None:
    """The property that has different values in most pairs of options; None without one."""
    tags: defaultdict[str, list[frozenset[object]]] = defaultdict(list)
    for option in options:
        for name, values in _tags_of_option(option).items():
            tags[name].append(values)
    disjoint = {name: _disjoint_pairs(values) for name, values in tags.items()}
    best = max(disjoint, key=disjoint.__getitem__, default=None)
    return best if best is not None and disjoint[best] else None


def _disjoint_pairs(values: Sequence[frozenset[object]]) -> int:
    """The number of pairs of sets without a common value."""
    count = 0
    for left, right in combinations(values, 2):
        check_time_budget()
        count += left.isdisjoint(right)
    return count


def _tags_of_option(option: tuple[Objects, ...]) -> dict[str, frozenset[object]]:
    """The values of each property that has few of them in all shapes that allow it."""
    names = dict.fromkeys(chain.from_iterable(shape.properties for shape in option))
    tags = {name: _tag_in(option, name) for name in names}
    return {name: tag for name, tag in tags.items() if tag}


def _tag_in(option: tuple[Objects, ...], name: str) -> frozenset[object] | None:
    """The values of a property in an option, if they are few."""
    values: frozenset[object] = frozenset()
    for shape in option:
        lazy = property_of(shape, name)
        tag = frozenset[object]() if lazy is None else tag_of(lazy)
        if tag is None:
            return None
        values |= tag
    return values


def parts_of(
    algebra: SetAlgebra, name: str, options: Sequence[tuple[Objects, ...]]
) -> Iterator[Objects]:
    """Disjoint shapes that together are all objects: by the value of a property.

    Values that the same options allow are in one part. The last part is the objects without it.
    """
    tags = [_tag_in(option, name) for option in options]
    allowing: dict[object, list[int]] = {}
    for index, tag in enumerate(tags):
        for value in tag or ():
            allowing.setdefault(value, []).append(index)
    alike: defaultdict[tuple[int, ...], list[object]] = defaultdict(list)
    for value, indices in sorted(
        allowing.items(), key=lambda item: (str(item[0]), str(type(item[0])))
    ):
        alike[tuple(indices)].append(value)
    listed = algebra.nothing
    for values in alike.values():
        part = _values(algebra, values)
        listed = algebra.union(listed, part)
        yield objects_with(algebra, name, part)
    yield objects_with(algebra, name, algebra.complement(listed))
    yield objects_with(algebra, name, algebra.nothing)


def _values(algebra: SetAlgebra, values: Sequence[object]) -> LazySet:
    """The set of some strings, booleans and null."""
    listed = replaced(
        algebra.no_values,
        null=None in values,
        booleans=frozenset(value for value in values if isinstance(value, bool)),
        texts=StringSet.of([value for value in values if isinstance(value, str)]),
    )
    return algebra.atom(algebra.anything.node, lambda: listed)
