"""A JSON Schema inside another document: a tool definition, a response format, OpenAPI.

As a schema such a document restricts nothing, because it has no keyword of JSON Schema. The names
of its members tell which part is the schema; ``schema_at`` reads that part alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import dedent

from workbench.base.diagnostics import suggestion
from workbench.base.errors import BuildError, ParseError, WorkbenchError
from workbench.base.source import Source, Span
from workbench.schema.references import UNNAMED, pointed
from workbench.schema.schema_reader import Document, Node

#: The beginning of an OpenAPI document in YAML.
_YAML = re.compile(r"(?:\s*#[^\n]*\n)*\s*(?:openapi|swagger)\s*:")

#: An object with one of these keywords is a schema.
_KEYWORDS = UNNAMED.keywords - {"type", "format"} | {"$defs"}
_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})

_TOOL, _MCP_TOOL = "a tool definition", "an MCP tool"
_TOOLS, _REQUEST = {_TOOL, _MCP_TOOL}, "a request to a model"
#: The members from a named object to its schema, and what the object is.
_NAMED = (
    (("function", "parameters"), _TOOL),
    (("json_schema", "schema"), "a response format"),
    (("parameters",), _TOOL),
    (("input_schema",), _TOOL),
    (("inputSchema",), _MCP_TOOL),
    (("schema",), "a response format"),
)
#: The members of a request to a model that hold a schema.
_OF_REQUEST = (
    ("guided_json",),
    ("structured_outputs", "json"),
    ("generationConfig", "responseSchema"),
    ("generationConfig", "responseJsonSchema"),
    ("generation_config", "response_schema"),
    ("format",),
)
#: The members that hold one such object, or a list of them.
_AROUND = (
    ("response_format",),
    ("text", "format"),
    ("extra_body",),
    ("tools",),
    ("functions",),
    ("functionDeclarations",),
    ("function_declarations",),
    ("result", "tools"),
)
#: The members of OpenAPI 3 and of Swagger 2 that hold named schemas.
_SHARED = (("components", "schemas"), ("definitions",))
#: The name of a member that such a document has.
_SIGN = re.compile(
    '"(?:{})"'.format(
        "|".join({path[-1] for path, _ in _NAMED} | {path[0] for path in (*_OF_REQUEST, *_AROUND)})
        + "|openapi|swagger"
    )
)
#: Pointers that a message names.
_LISTED = 4


@dataclass(frozen=True, slots=True)
class WrappedSchema:
    """The schemas inside a document that is no schema itself."""

    #: What the document is, with its article.
    kind: str
    #: The JSON pointers of the schemas, in the order of the document; at least one.
    pointers: tuple[str, ...]

    @property
    def places(self) -> str:
        """Where the schemas are, for a message."""
        more = len(self.pointers) - _LISTED
        listed = ", ".join(self.pointers[:_LISTED]) + (f" and {more} more" if more > 0 else "")
        one = len(self.pointers) == 1
        return f"its schema is at {listed}" if one else f"its schemas are at {listed}"

    @property
    def described(self) -> str:
        """What the document is, and how the schema is read."""
        return f"this is {self.kind}; {self.places}: {self.hint}"

    @property
    def hint(self) -> str:
        """How the first of them is read."""
        return f"read that part with at={self.pointers[0]!r} or --at {self.pointers[0]}"


def wrapped_schema(text: str) -> WrappedSchema | None:
    """The schemas inside the text of a document; None for a schema and for other texts.

    Cost: 0.06 ms for 2,000 characters, if a member has a name that such documents use.
    """
    if not _SIGN.search(text):
        return None
    try:
        root = Document(Source(text, "schema")).root
    except WorkbenchError:
        return None
    held = list(_in(root))
    if not held:
        return None
    return WrappedSchema(_kind(root, [kind for kind, _ in held]), tuple(n.pointer for _, n in held))


def explained(error: ParseError, text: str) -> ParseError:
    """The error, with the place of the schema as its hint if the text is such a document."""
    wrapped = wrapped_schema(text)
    if wrapped is not None:
        error.hint = wrapped.described
        error.fix = None
    elif _YAML.match(text):
        error.hint = "this is an OpenAPI document in YAML, which is not read: write it as JSON"
    return error


def schema_at(source: Source, pointer: str) -> Source:
    """The schema at a JSON pointer of a document, as a separate text.

    It keeps its lines and columns: what is around it becomes white space. Only where it refers to
    other parts of the document, as OpenAPI's schemas do, the text is a reference to the schema
    with those parts.

    Raises: ParseError if the text is not JSON; BuildError if it has no such value.
    """
    text, root = source.text, Document(source).root
    name = f"{source.name}#{pointer.removeprefix('#')}"
    node = pointed(root, pointer.removeprefix("#"))
    if node is None:
        wrapped = wrapped_schema(text)
        pointers = wrapped.pointers if wrapped else ()
        hint, _ = suggestion(pointer, pointers, wrapped.places if wrapped else "")
        message = f"there is no value at {pointer!r}"
        raise BuildError(message, source, root.span, hint, "unsupported_schema")
    if node is not root and any(pointed(node, each) is None for each in _addresses(node)):
        return Source(_with_parts(root, node), name)
    return source.part(Span(node.start, node.end), name)


def schema_text(text: str, pointer: str) -> str:
    """The same for an editor: the lines of the schema without what is around it."""
    source = schema_at(Source(text, "schema"), pointer)
    first, line_break, rest = source.text.strip().partition("\n")
    return first + line_break + dedent(rest)


def _kind(root: Node, kinds: Sequence[str]) -> str:
    """What a document is, by what is around its schemas."""
    if {"model", "messages"} & (root.members or {}).keys():
        return _REQUEST
    return "a list of tools" if len(kinds) > 1 and _TOOLS.issuperset(kinds) else kinds[0]


def _in(node: Node) -> Iterator[tuple[str, Node]]:
    """The schemas inside a document, each with what is around it."""
    if node.items is not None:
        for item in node.items:
            yield from _in(item)
        return
    members = node.members
    if members is None or _is_schema(node):
        return
    if _text(members, "openapi") or _text(members, "swagger"):
        yield from (("an OpenAPI document", each) for each in _shared(node))
        return
    for path, kind in _NAMED:
        if (schema := _named(node, path)) is not None:
            yield kind, schema
            return
    if "model" in members or "messages" in members or "contents" in members:
        for path in _OF_REQUEST:
            schema = _along(node, path)
            if schema is not None and _is_schema(schema):
                yield _REQUEST, schema
    for path in _AROUND:
        inner = _along(node, path)
        if inner is not None:
            yield from _in(inner)


def _is_schema(node: Node) -> bool:
    members = node.members or {}
    kind = members.get("type")
    return bool(members.keys() & _KEYWORDS) or (kind is not None and kind.value in _TYPES)


def _named(node: Node, path: Sequence[str]) -> Node | None:
    """The schema along a path, whose holder has a name."""
    schema, holder = _along(node, path), _along(node, path[:-1])
    if schema is None or schema.members is None or holder is None or _is_schema(holder):
        return None
    return schema if _text(holder.members or {}, "name") is not None else None


def _shared(root: Node) -> Iterator[Node]:
    """The named schemas of an OpenAPI document; if it has none, those of its bodies."""
    parts = [_along(root, path) for path in _SHARED]
    named = [each for part in parts if part for each in (part.members or {}).values()]
    if named:
        yield from (each for each in named if each.members is not None)
        return
    waiting = [root]
    while waiting:
        node = waiting.pop()
        schema = (node.members or {}).get("schema")
        if schema is not None and schema.members is not None:
            yield schema
        else:
            waiting += [*(node.items or ()), *(node.members or {}).values()][::-1]


def _along(node: Node, path: Sequence[str]) -> Node | None:
    for name in path:
        inner = (node.members or {}).get(name)
        if inner is None:
            return None
        node = inner
    return node


def _text(members: dict[str, Node], name: str) -> str | None:
    value = members[name].value if name in members else None
    return value if isinstance(value, str) else None


def _addresses(part: Node) -> Iterator[str]:
    """The JSON pointers of the references to places in the same document."""
    waiting = [part]
    while waiting:
        node = waiting.pop()
        address = _text(node.members or {}, "$ref") or ""
        if address.startswith("#/"):
            yield address[1:]
        waiting += [*(node.items or ()), *(node.members or {}).values()]


def _with_parts(root: Node, schema: Node) -> str:
    """The text of a reference to a schema, and of the parts of its document that it needs."""
    members, text = root.members or {}, root.document.source.text
    lines = [f'  "$ref": {json.dumps("#" + schema.pointer)}']
    needed, waiting = set[str](), [schema.pointer, *_addresses(schema)]
    while waiting:
        name = waiting.pop().split("/")[1]
        if name in members and name not in needed:
            needed.add(name)
            part = members[name]
            lines.append(f"  {json.dumps(name)}: {text[part.start : part.end]}")
            waiting += _addresses(part)
    return "{\n" + ",\n".join(lines) + "\n}"
