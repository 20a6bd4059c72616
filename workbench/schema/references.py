"""Resolves ``$ref`` to its target node.

Nothing is ever fetched. A reference to another document is an error that names its address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote, urljoin

from workbench.schema.schema_reader import (
    ANNOTATIONS,
    Dialect,
    Document,
    Node,
    invalid,
    unsupported,
)

_INDEX = re.compile("0|[1-9][0-9]*")
#: The value of these keywords is not a schema but maps names to schemas.
_MAPS = (
    "$defs",
    "definitions",
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
)
#: The value of these keywords is data: it contains no schemas, whatever it looks like.
_DATA = ("enum", "const", "default", "examples", "example")


class References:
    """The possible targets of references in a document."""

    def __init__(self, document: Document, dialect: Dialect) -> None:
        self.document = document
        self.dialect = dialect
        self._named: dict[str, Node] | None = None

    def target(self, reference: Node) -> Node:
        """The target of a reference.

        Raises: BuildError if it is not in this document; ParseError if it is not a string.
        """
        address = reference.value
        if not isinstance(address, str):
            raise invalid(reference, "the address of a schema, as text")
        base_resource = self.resource(reference)
        if address.startswith("#"):
            resource, fragment = base_resource, address[1:]
        else:
            absolute, _, fragment = _joined(self.base(base_resource), address).partition("#")
            found = self.named.get(absolute)
            if found is None:
                raise unsupported(
                    reference,
                    f"{address!r} is not in this text, and nothing is fetched",
                    "copy the schema into '$defs'",
                )
            resource = found
        target = self.inside(resource, unquote(fragment))
        if target is None:
            raise unsupported(
                reference,
                f"there is no schema {address!r} in this text",
                "correct the reference, or add the schema under '$defs'",
            )
        return target

    def inside(self, resource: Node, fragment: str) -> Node | None:
        """The node of a resource to which a fragment refers: a JSON pointer or an anchor."""
        if not fragment:
            return resource
        if not fragment.startswith("/"):
            return self.named.get(f"{self.base(resource)}#{fragment}")
        node = resource
        for step in fragment[1:].split("/"):
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(node.value, dict) and step in node.value:
                node = node.value[step]
            elif isinstance(node.value, list) and _INDEX.fullmatch(step):
                if int(step) >= len(node.value):
                    return None
                node = node.value[int(step)]
            else:
                return None
        return node

    def resource(self, node: Node) -> Node:
        """The innermost schema around a node that has an identifier, or the document."""
        while node.parent is not None:
            if node.members is not None and self.identifier(node) is not None:
                return node
            node = node.parent
        return node

    def identifier(self, node: Node) -> str | None:
        """The identifier of a schema; None if it has none or only an anchor (``#name``)."""
        members = node.members
        if not members:
            return None
        named = members.get(self.dialect.identifier)
        if named is None or not isinstance(named.value, str) or named.value.startswith("#"):
            return None
        if self.dialect.refs_alone and "$ref" in members:
            return None
        return named.value

    def base(self, resource: Node) -> str:
        """The base address of the references in a resource."""
        name = self.identifier(resource)
        around = self.base(self.resource(resource.parent)) if resource.parent else ""
        return around if name is None else _joined(around, name).partition("#")[0]

    def is_open(self, reference: Node) -> bool:
        """Whether a dynamic reference may refer to one of several schemas.

        That is so only if its target as a ``$ref`` has a matching dynamic anchor and another
        schema has the same anchor.
        """
        word = "$recursiveAnchor" if reference.step == "$recursiveRef" else "$dynamicAnchor"
        anchor = (self.target(reference).members or {}).get(word)
        fragment = str(reference.value).partition("#")[2]
        if anchor is None or anchor.value != (fragment or True):
            return False
        held = (
            node.members[word] for node in self._schemas() if node.members and word in node.members
        )
        return sum(other.value == anchor.value for other in held) > 1

    @property
    def named(self) -> dict[str, Node]:
        """Every resource by its address and every anchor by the address of its resource."""
        if self._named is None:
            self._named = {self.base(self.document.root): self.document.root}
            for node in self._schemas():
                members = node.members
                assert members is not None
                if self.identifier(node) is not None:
                    self._named.setdefault(self.base(node), node)
                for word in ("$anchor", "$dynamicAnchor", self.dialect.identifier):
                    anchor = members.get(word)
                    if anchor is not None and isinstance(anchor.value, str):
                        name = anchor.value.removeprefix("#")
                        if word[-2:] != "id" or name != anchor.value:
                            base = self.base(self.resource(node))
                            self._named.setdefault(f"{base}#{name}", node)
        return self._named

    def _schemas(self) -> Iterator[Node]:
        """Every object that may be a schema, in the order of the text.

        Objects under words that this draft does not have come last: they are not schemas in this
        draft, so if one of them and a schema have the same name, it refers to the schema.
        """
        words = self.dialect.keywords | ANNOTATIONS
        waiting, unknown = [self.document.root], list[Node]()
        while waiting or unknown:
            node = waiting.pop() if waiting else unknown.pop(0)
            held = list(node.items or ())
            if node.members is not None:
                yield node
                is_schema = node.step not in _MAPS or node.parent is None
                for name, member in node.members.items():
                    if not is_schema or name in words:
                        held += [member] if name not in _DATA else []
                    else:
                        unknown.append(member)
            waiting.extend(reversed(held))


def _joined(base: str, address: str) -> str:
    """An address resolved against a base; an invalid one is returned unchanged."""
    try:
        return urljoin(base, address)
    except ValueError:
        return address
