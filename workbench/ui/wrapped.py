"""Finds the JSON Schema inside a tool description or message.

Tools of chat models are described by objects that hold a schema and a name; pasted as a whole
such an object is no schema, or one that requires nothing.
"""

from __future__ import annotations

from textwrap import dedent

from workbench.errors import WorkbenchError
from workbench.schema.reading import Document, Node
from workbench.source import Source
from workbench.ui.records import Record

#: What holds the schema, from the outside in; the object of the last step has a name.
_WAYS = (
    ("function", "parameters"),
    ("json_schema", "schema"),
    ("parameters",),
    ("input_schema",),
    ("inputSchema",),
    ("schema",),
)

#: Who has one of these is a schema itself.
_OWN = frozenset({"properties", "$ref", "$defs", "anyOf", "oneOf", "allOf", "enum", "items"})


def schema_inside(text: str) -> Record | None:
    """Where the schema is in the description of a tool, and its text; None for anything else."""
    try:
        node = Document(Source(text, "schema")).root
    except WorkbenchError:
        return None
    if node.items is not None and len(node.items) == 1:
        node = node.items[0]
    found = next(filter(None, (_along(node, way) for way in _WAYS)), None)
    if found is None:
        return None
    first, line_break, rest = text[found.start : found.end].partition("\n")
    return {"pointer": found.pointer, "text": first + line_break + dedent(rest)}


def _along(node: Node, way: tuple[str, ...]) -> Node | None:
    holder = node
    for step in way:
        if node.members is None or node.members.keys() & _OWN:
            return None
        holder, inner = node, node.members.get(step)
        if inner is None:
            return None
        node = inner
    name = (holder.members or {}).get("name")
    named = name is not None and isinstance(name.value, str)
    return node if named and node.members is not None else None
