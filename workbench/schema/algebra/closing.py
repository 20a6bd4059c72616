"""Closed objects: where ``SchemaOptions.closed`` leaves an object only the members that are named.

A schema with ``properties`` that says nothing of other members gets
``additionalProperties: false``. Schemas that hold for one object together (``allOf``, a ``$ref``
next to ``properties``) each name a part of its members: the schema around them gets
``unevaluatedProperties: false`` instead. Nothing is closed inside of ``not`` and ``if``: to exclude
fewer values there would allow more.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.schema.schema_options import OTHER_MEMBERS
from workbench.schema.schema_reader import Node
from workbench.schema.set_protocols import SubschemaSets

#: The keywords whose subschema holds for the same value.
_PARTS = ("if", "then", "else")
#: The keywords of whose subschemas one or more hold for the same value.
_ALTERNATIVES = ("anyOf", "oneOf")
_DEPENDENT = ("dependentSchemas", "dependencies")
_DYNAMIC = ("$dynamicRef", "$recursiveRef")


def is_closed(subschemas: SubschemaSets, members: dict[str, Node], tracked: bool) -> bool:
    """Whether a schema for objects gets ``additionalProperties: false``.

    ``tracked`` says that the schema around it restricts the members that no part has named.
    """
    closes = subschemas.closes and not tracked
    return closes and "properties" in members and OTHER_MEMBERS.isdisjoint(members)


def is_closed_around(subschemas: SubschemaSets, members: dict[str, Node]) -> bool:
    """Whether a schema gets ``unevaluatedProperties: false``: several of its parts name members."""
    if not subschemas.closes or not OTHER_MEMBERS.isdisjoint(members):
        return False
    return sum(1 for _ in _naming_parts(subschemas, members)) > 1


def _names_members(subschemas: SubschemaSets, node: Node) -> bool:
    """Whether a schema, or a part of it, has ``properties``; computed once for each schema.

    A schema that is a part of itself adds nothing to itself.
    """
    memo = subschemas.naming
    if node not in memo:
        subschemas.algebra.clock.check()
        memo[node] = False
        parts = _naming_parts(subschemas, node.members or {})
        memo[node] = next(parts, None) is not None
    return memo[node]


def _naming_parts(subschemas: SubschemaSets, members: dict[str, Node]) -> Iterator[str]:
    """The keyword of each part of a schema that names members of the object it describes."""

    def names(node: Node) -> bool:
        return _names_members(subschemas, node)

    if "properties" in members:
        yield "properties"
    if "$ref" in members and names(subschemas.references.target(members["$ref"])):
        yield "$ref"
    for word in _DYNAMIC:
        if word in members and word in subschemas.keywords:
            target = subschemas.references.dynamic_target(members[word], subschemas.scope)
            if names(target):
                yield word
    yield from ("allOf" for part in _items(members, "allOf") if names(part))
    yield from (word for word in _PARTS if word in members and names(members[word]))
    yield from (word for word in _ALTERNATIVES if any(map(names, _items(members, word))))
    for word in _DEPENDENT:
        if word in members and any(map(names, (members[word].members or {}).values())):
            yield word


def _items(members: dict[str, Node], word: str) -> list[Node]:
    return (members[word].items or []) if word in members else []
