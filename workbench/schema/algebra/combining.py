"""Keywords that combine whole subschemas: in comes the keyword's node, out come its values.

Where ``unevaluated*`` asks (``tracked``), shapes say which names and items they have evaluated. An
instance of two options of ``anyOf`` has evaluated what both have, so the options then meet in all
ways; an option alone asks for more than is needed where two hold, which leaves the union exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.schema.algebra.complement import complement
from workbench.schema.algebra.conjunction import join, meet
from workbench.schema.algebra.constants import constants
from workbench.schema.algebra.exactly_one import exactly_one
from workbench.schema.algebra.names import all_but
from workbench.schema.reading import Node
from workbench.schema.refusals import unsupported, wrong
from workbench.schema.values import Objects, Values

if TYPE_CHECKING:
    from workbench.schema.algebra.subschemas import Subschemas


def _options(keyword: Node) -> list[Node]:
    if not keyword.items:
        raise wrong(keyword, "a list of at least one schema")
    return keyword.items


def _enum(subschemas: Subschemas, keyword: Node, tracked: bool) -> Values:
    if keyword.items is None:
        raise wrong(keyword, "a list of values")
    return constants(subschemas.algebra, [item.plain() for item in keyword.items], keyword)


def _const(subschemas: Subschemas, keyword: Node, tracked: bool) -> Values:
    return constants(subschemas.algebra, [keyword.plain()], keyword)


def _reference(subschemas: Subschemas, keyword: Node, tracked: bool) -> Values:
    return subschemas.of(subschemas.references.target(keyword), tracked).raw


def _dynamic(subschemas: Subschemas, keyword: Node, tracked: bool) -> Values:
    """As ``$ref``, where the document leaves it nothing else to mean."""
    if subschemas.references.is_open(keyword):
        why = "several schemas have this anchor; its target depends on the referring schema"
        raise unsupported(keyword, why, "write '$ref'")
    return _reference(subschemas, keyword, tracked)


def _all(subschemas: Subschemas, keyword: Node, tracked: bool) -> Values:
    values = subschemas.algebra.all_values
    for option in _options(keyword):
        values = meet(subschemas.algebra, values, subschemas.of(option, tracked).raw)
    return values


def _any(subschemas: Subschemas, keyword: Node, tracked: bool) -> Values:
    algebra = subschemas.algebra
    options = [subschemas.of(option, tracked).raw for option in _options(keyword)]
    if not tracked:
        return join(algebra, options)
    values = algebra.no_values
    for option in options:
        values = join(algebra, [values, option, meet(algebra, values, option)])
    return values


def _one(subschemas: Subschemas, keyword: Node, tracked: bool) -> Values:
    options = _options(keyword)
    plain = [subschemas.of(option).raw for option in options]
    if not tracked:
        return exactly_one(subschemas.algebra, plain, plain)
    kept = [subschemas.of(option, tracked).raw for option in options]
    return exactly_one(subschemas.algebra, plain, kept)


def _not(subschemas: Subschemas, keyword: Node, tracked: bool) -> Values:
    return complement(subschemas.algebra, subschemas.of(keyword).raw)


def _if(subschemas: Subschemas, keyword: Node, tracked: bool) -> Values:
    algebra = subschemas.algebra
    assert keyword.parent is not None
    around = keyword.parent.members or {}
    asked = subschemas.of(keyword, tracked)
    if not tracked and "then" not in around and "else" not in around:
        return algebra.all_values
    held = asked.raw
    failed = complement(algebra, subschemas.of(keyword).raw)
    if "then" in around:
        held = meet(algebra, held, subschemas.of(around["then"], tracked).raw)
    if "else" in around:
        failed = meet(algebra, failed, subschemas.of(around["else"], tracked).raw)
    return join(algebra, [held, failed])


def _dependent(subschemas: Subschemas, keyword: Node, tracked: bool) -> Values:
    if keyword.members is None:
        raise wrong(keyword, "an object: what each name asks for")
    values = subschemas.algebra.all_values
    for name, held in keyword.members.items():
        if held.items is None and keyword.step == "dependentRequired":
            raise wrong(held, "a list of names")
        values = meet(subschemas.algebra, values, _if_there(subschemas, name, held, tracked))
    return values


def _if_there(subschemas: Subschemas, name: str, held: Node, tracked: bool) -> Values:
    """Whatever has no property of a name, or what a list of names or a schema then asks for."""
    algebra = subschemas.algebra
    if held.items is not None and held.parent and held.parent.step != "dependentSchemas":
        names = [item.value for item in held.items]
        if not all(isinstance(one, str) for one in names):
            raise wrong(held, "a list of names")
        asked = replace(algebra.no_values, objects=(_with(subschemas, [name, *map(str, names)]),))
    else:
        present = replace(algebra.no_values, objects=(_with(subschemas, [name]),))
        asked = meet(algebra, present, subschemas.of(held, tracked).raw)
    others = ((all_but([name]), algebra.anything),)
    absent = Objects({name: algebra.nothing}, frozenset(), others, loose=frozenset((name,)))
    return join(algebra, [replace(algebra.all_values, objects=(absent,)), asked])


def _with(subschemas: Subschemas, names: list[str]) -> Objects:
    """Objects with properties of these names."""
    anything, required = subschemas.algebra.anything, frozenset(names)
    others = ((all_but(names), anything),)
    return Objects(dict.fromkeys(names, anything), required, others, loose=required)


#: What reads each of these keywords.
COMBINING: dict[str, Callable[[Subschemas, Node, bool], Values]] = {
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
