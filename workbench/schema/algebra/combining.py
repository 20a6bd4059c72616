"""Keywords that combine subschemas: ``allOf``, ``oneOf``, ``if``, ``unevaluated*`` and others.

``oneOf`` is computed for each type separately (``exclusive``).

If a schema uses ``unevaluated*`` (``tracked``), shapes record which names and items they have
evaluated. An instance that matches two options of ``anyOf`` has evaluated the names of both, so
the union then also contains the conjunction of every subset of options. A shape of one option
alone is stricter than necessary where a second option holds too; the union stays exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from operator import or_
from typing import TypeVar

from workbench.base.limits import Clock
from workbench.base.source import replaced
from workbench.schema.algebra.exclusive import exclusive_arrays, exclusive_objects
from workbench.schema.algebra.set_operations import (
    complement,
    join,
    meet,
    meet_arrays,
    meet_objects,
    reduced,
)
from workbench.schema.algebra.simplify import with_common_order
from workbench.schema.normal_form import (
    Arrays,
    LazySet,
    Objects,
    Values,
    all_but,
    non_empty,
    possible_texts,
)
from workbench.schema.numbers import NumberSet
from workbench.schema.schema_reader import Json, Node, invalid
from workbench.schema.set_protocols import SetAlgebra, SubschemaSets
from workbench.schema.string_sets import StringSet

#: Objects of ``enum`` and ``const`` accept their names in any order, because no schema declares an
#: order, if they have at most this many names and there are at most this many of them. Each name
#: doubles the rules.
_MAX_ANY_ORDER = 4


def constant(algebra: SetAlgebra, value: Json, node: Node) -> Values:
    """The set of one value."""
    return constants(algebra, [value], node)


def constants(algebra: SetAlgebra, values: Sequence[Json], node: Node) -> Values:
    """The set of the values of ``enum`` or ``const``; ``node`` is the keyword."""
    texts = [value for value in values if isinstance(value, str)]
    booleans = [value for value in values if isinstance(value, bool)]
    numbers = [
        value
        for value in values
        if value is not None and not isinstance(value, (bool, str, list, dict))
    ]
    objects = [value for value in values if isinstance(value, dict)]
    return Values(
        None in values,
        frozenset(booleans),
        NumberSet.of(numbers) if numbers else algebra.no_values.numbers,
        StringSet.of(texts) if texts else algebra.no_values.texts,
        tuple(_array(algebra, value, node) for value in values if isinstance(value, list)),
        tuple(_object(algebra, value, node, len(objects)) for value in objects),
    )


def _array(algebra: SetAlgebra, items: list[Json], node: Node) -> Arrays:
    prefix = tuple(algebra.constant(item, node) for item in items)
    return Arrays(prefix, algebra.nothing, len(items), len(items))


def _object(algebra: SetAlgebra, members: dict[str, Json], node: Node, total: int) -> Objects:
    """The set of one object; ``total``: how many objects the keyword lists."""
    properties = {name: algebra.constant(value, node) for name, value in members.items()}
    names = frozenset(properties)
    undeclared = names if max(len(names), total) <= _MAX_ANY_ORDER else frozenset()
    return Objects(properties, names, (), undeclared=undeclared)


UNEVALUATED = frozenset(("unevaluatedProperties", "unevaluatedItems"))


def restrict_unevaluated(
    subschemas: SubschemaSets, values: Values, members: dict[str, Node], closed: bool
) -> Values:
    """The values whose unevaluated properties and items meet ``unevaluated*``.

    ``closed`` says that no property is unevaluated.
    """
    algebra = subschemas.algebra
    if closed or "unevaluatedProperties" in members:
        unnamed = members.get("unevaluatedProperties")
        lazy = algebra.nothing if unnamed is None else subschemas.of(unnamed)
        objects = (
            meet_objects(algebra, (shape,), (_objects(subschemas, shape, lazy),))
            for shape in values.objects
        )
        values = replaced(values, objects=tuple(chain.from_iterable(objects)))
    if "unevaluatedItems" in members:
        lazy = subschemas.of(members["unevaluatedItems"])
        arrays = (
            meet_arrays(algebra, (shape,), (_arrays(subschemas, shape, lazy),))
            for shape in values.arrays
        )
        values = replaced(values, arrays=tuple(chain.from_iterable(arrays)))
    return values


def _objects(subschemas: SubschemaSets, shape: Objects, lazy: LazySet) -> Objects:
    """Objects each of whose names is evaluated by a shape or has a value in a set."""
    algebra = subschemas.algebra
    everything, seen = algebra.all_values.texts, shape.evaluated
    if seen is None:
        seen = algebra.no_values.texts
    parts = [(seen, algebra.anything), (~seen, lazy)]
    kept = (part for part in parts if part[1] is not algebra.nothing)
    return Objects({}, frozenset(), non_empty(kept), evaluated=everything)


def _arrays(subschemas: SubschemaSets, shape: Arrays, lazy: LazySet) -> Arrays:
    """Arrays each of whose items is evaluated by a shape or is in a set."""
    algebra = subschemas.algebra
    if shape.evaluated is None:
        return algebra.any_array
    for seen in shape.also:
        lazy = algebra.union(lazy, seen)
    return Arrays((algebra.anything,) * shape.evaluated, lazy, evaluated=None)


Leaf = TypeVar("Leaf", NumberSet, StringSet)


def exactly_one(algebra: SetAlgebra, plain: Sequence[Values], kept: Sequence[Values]) -> Values:
    """The values of exactly one of the options.

    ``kept`` are the same options with the record of what they have evaluated; the result is made
    of their shapes.

    Raises: BuildError where options overlap and the complement of one cannot be computed;
            TooManyCases.
    """
    booleans = algebra.all_values.booleans
    return Values(
        sum(option.null for option in plain) == 1,
        frozenset(
            value for value in booleans if sum(value in option.booleans for option in plain) == 1
        ),
        _leaves([(option.numbers, option.numbers) for option in plain], algebra.clock),
        _leaves([(option.texts, possible_texts(option)) for option in plain], algebra.clock),
        exclusive_arrays(
            algebra, [option.arrays for option in plain], [option.arrays for option in kept]
        ),
        tuple(
            with_common_order(
                exclusive_objects(
                    algebra,
                    [option.objects for option in plain],
                    [option.objects for option in kept],
                ),
            )
        ),
        reduced(or_, [option.undecided for option in plain], algebra.clock),
    )


def _leaves(options: list[tuple[Leaf, Leaf]], clock: Clock) -> Leaf:
    """Values in exactly one option, from pairs (values surely in it, values possibly in it)."""

    def either(left: tuple[Leaf, Leaf], right: tuple[Leaf, Leaf]) -> tuple[Leaf, Leaf]:
        """Values surely in exactly one option of both groups, and values possibly in any."""
        (once, seen), (sure, whole) = left, right
        if not (seen & whole).is_empty:
            once, sure = once & ~whole, sure & ~seen
        return once | sure, seen | whole

    return reduced(either, options, clock)[0]


def _options(keyword: Node) -> list[Node]:
    if not keyword.items:
        raise invalid(keyword, "a list of at least one schema")
    return keyword.items


def _enum(subschemas: SubschemaSets, keyword: Node, tracked: bool) -> Values:
    if keyword.items is None:
        raise invalid(keyword, "a list of values")
    return constants(subschemas.algebra, [item.json_value() for item in keyword.items], keyword)


def _const(subschemas: SubschemaSets, keyword: Node, tracked: bool) -> Values:
    return constants(subschemas.algebra, [keyword.json_value()], keyword)


def _reference(subschemas: SubschemaSets, keyword: Node, tracked: bool) -> Values:
    return subschemas.of(subschemas.references.target(keyword), tracked).raw


def _dynamic(subschemas: SubschemaSets, keyword: Node, tracked: bool) -> Values:
    target = subschemas.references.dynamic_target(keyword, subschemas.scope)
    return subschemas.of(target, tracked).raw


def _all(subschemas: SubschemaSets, keyword: Node, tracked: bool) -> Values:
    values = subschemas.algebra.all_values
    for option in _options(keyword):
        values = meet(subschemas.algebra, values, subschemas.of(option, tracked).raw)
    return values


def _any(subschemas: SubschemaSets, keyword: Node, tracked: bool) -> Values:
    algebra = subschemas.algebra
    options = [subschemas.of(option, tracked).raw for option in _options(keyword)]
    if not tracked:
        return join(algebra, options)
    values = algebra.no_values
    for option in options:
        values = join(algebra, [values, option, meet(algebra, values, option)])
    return values


def _one(subschemas: SubschemaSets, keyword: Node, tracked: bool) -> Values:
    options = _options(keyword)
    if not tracked:
        plain = [subschemas.of(option).raw for option in options]
        return exactly_one(subschemas.algebra, plain, plain)
    plain = [subschemas.open.of(option).raw for option in options]
    kept = [subschemas.of(option, tracked).raw for option in options]
    return exactly_one(subschemas.algebra, plain, kept)


def _not(subschemas: SubschemaSets, keyword: Node, tracked: bool) -> Values:
    return complement(subschemas.algebra, subschemas.open.of(keyword).raw)


def _if(subschemas: SubschemaSets, keyword: Node, tracked: bool) -> Values:
    algebra = subschemas.algebra
    assert keyword.parent is not None
    around = keyword.parent.members or {}
    asked = subschemas.open.of(keyword, tracked)
    if not tracked and "then" not in around and "else" not in around:
        return algebra.all_values
    held = asked.raw
    failed = complement(algebra, subschemas.open.of(keyword).raw)
    if "then" in around:
        held = meet(algebra, held, subschemas.of(around["then"], tracked).raw)
    if "else" in around:
        failed = meet(algebra, failed, subschemas.of(around["else"], tracked).raw)
    return join(algebra, [held, failed])


def _dependent(subschemas: SubschemaSets, keyword: Node, tracked: bool) -> Values:
    if keyword.members is None:
        raise invalid(keyword, "an object: what each name requires")
    values = subschemas.algebra.all_values
    for name, held in keyword.members.items():
        if held.items is None and keyword.step == "dependentRequired":
            raise invalid(held, "a list of names")
        values = meet(subschemas.algebra, values, _if_there(subschemas, name, held, tracked))
    return values


def _if_there(subschemas: SubschemaSets, name: str, held: Node, tracked: bool) -> Values:
    """Values without a property of this name, or that meet the names or schema it depends on."""
    algebra = subschemas.algebra
    if held.items is not None and held.parent and held.parent.step != "dependentSchemas":
        names = [item.value for item in held.items]
        if not all(isinstance(item, str) for item in names):
            raise invalid(held, "a list of names")
        asked = replaced(algebra.no_values, objects=(_with(subschemas, [name, *map(str, names)]),))
    else:
        present = replaced(algebra.no_values, objects=(_with(subschemas, [name]),))
        asked = meet(algebra, present, subschemas.of(held, tracked).raw)
    others = ((all_but([name]), algebra.anything),)
    absent = Objects({name: algebra.nothing}, frozenset(), others, undeclared=frozenset((name,)))
    return join(algebra, [replaced(algebra.all_values, objects=(absent,)), asked])


def _with(subschemas: SubschemaSets, names: list[str]) -> Objects:
    """Objects with properties of these names."""
    anything, required = subschemas.algebra.anything, frozenset(names)
    others = ((all_but(names), anything),)
    return Objects(dict.fromkeys(names, anything), required, others, undeclared=required)


#: The function that computes the set of each keyword.
COMBINING: dict[str, Callable[[SubschemaSets, Node, bool], Values]] = {
    "enum": _enum,
    "const": _const,
    "$ref": _reference,
    "$recursiveRef": _dynamic,
    "$dynamicRef": _dynamic,
    "allOf": _all,
    "anyOf": _any,
    "oneOf": _one,
    "not": _not,
    "if": _if,
    "dependentRequired": _dependent,
    "dependentSchemas": _dependent,
    "dependencies": _dependent,
}
