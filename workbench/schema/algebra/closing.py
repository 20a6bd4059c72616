"""Closed objects: where ``SchemaOptions.closed`` leaves an object only the members that are named.

A schema with ``properties`` that says nothing of other members gets
``additionalProperties: false``. Schemas that hold for one object together (``allOf``, a ``$ref``
beside ``properties``) each name a part of its members: the schema around them gets
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


def is_closed(subschemas: SubschemaSets, members: dict[str, Node], tracked: bool) -> bool:
    """Whether a schema for objects gets ``additionalProperties: false``.

    ``tracked`` says that the schema around it restricts the members that no part has named.
    """
    return subschemas.closes and not tracked and _names_members(members)


def is_closed_around(subschemas: SubschemaSets, members: dict[str, Node]) -> bool:
    """Whether a schema gets ``unevaluatedProperties: false``: several of its parts name members."""
    if not subschemas.closes or not OTHER_MEMBERS.isdisjoint(members):
        return False
    return sum(1 for _ in _naming_parts(subschemas, members, ())) > 1


def _names_members(members: dict[str, Node]) -> bool:
    return "properties" in members and OTHER_MEMBERS.isdisjoint(members)


def _naming_parts(
    subschemas: SubschemaSets, members: dict[str, Node], around: tuple[Node, ...]
) -> Iterator[None]:
    """Once for each part of a schema that names members of the object it describes.

    ``around`` are the schemas that this one is a part of.
    """

    def names(node: Node) -> bool:
        inside = node.members
        if inside is None or node in around:
            return False
        return any(True for _ in _naming_parts(subschemas, inside, (*around, node)))

    if "properties" in members:
        yield
    if "$ref" in members and names(subschemas.references.target(members["$ref"])):
        yield
    for word in ("$dynamicRef", "$recursiveRef"):
        if word in members and word in subschemas.keywords:
            target = subschemas.references.dynamic_target(members[word], subschemas.scope)
            if names(target):
                yield
    yield from (None for part in _items(members, "allOf") if names(part))
    yield from (None for word in _PARTS if word in members and names(members[word]))
    yield from (None for word in _ALTERNATIVES if any(map(names, _items(members, word))))
    for word in _DEPENDENT:
        if word in members and any(map(names, (members[word].members or {}).values())):
            yield


def _items(members: dict[str, Node], word: str) -> list[Node]:
    return (members[word].items or []) if word in members else []
