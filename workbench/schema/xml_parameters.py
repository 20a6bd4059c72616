"""Parameters of a tool call as Qwen's XML: ``<parameter=city>Paris</parameter>``.

A property whose value may be any string is written without quotes and escapes; it ends at the
first ``</parameter>``. Listed strings (``enum``, ``const``) are written as they are too. Every
other value is JSON. ``$ref`` and ``anyOf`` mean the schemas they name. Properties follow one
another in declared order with any white space around them, as in xgrammar 0.2; properties that
the schema does not mention are not allowed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from workbench.base.source import Span
from workbench.schema.schema_options import LONGEST_RUN, whitespace_machine
from workbench.schema.schema_reader import Node, invalid, unsupported
from workbench.syntax.grammar_tree import (
    Automaton,
    Expression,
    Literal,
    Repetition,
    Sequence,
    choice,
)

#: Keywords that do not restrict a value.
_ANNOTATIONS = frozenset({"type", "title", "description", "default", "examples", "$comment"})
#: The keywords that the schema of the parameters may have.
_OUTER = _ANNOTATIONS | {"properties", "required", "additionalProperties", "$defs", "definitions"}
_SHARED = ("$defs", "definitions")
#: Keywords that list values.
_LISTS = ("enum", "const")
#: The end of a value.
_END = "</parameter>"
#: JSON's types of the values of a Python type.
_TYPES_OF = {str: "string", bool: "boolean", int: "integer", list: "array", dict: "object"}


def parameters(
    schema: Node, free: Expression, value: Callable[[Node, str], Expression]
) -> Expression:
    """The parameters of an object schema.

    ``free``   the texts without ``</parameter>``.
    ``value``  the JSON texts of a schema: its node, and its text with all definitions.

    Raises: BuildError of kind ``unsupported_schema``; what ``value`` raises.
    """
    members = schema.members
    if members is None:
        raise invalid(schema, "an object schema with properties")
    for name, node in members.items():
        if name not in _OUTER:
            hint = "write the properties of the object itself"
            raise unsupported(node, "parameters as XML are listed by 'properties' alone", hint)
    if "type" in members and members["type"].value != "object":
        raise invalid(members["type"], "'object': the schema lists the parameters")
    properties = members["properties"].members if "properties" in members else {}
    if properties is None:
        raise invalid(members["properties"], "an object of properties")
    required = _names(members.get("required"), properties)
    writer = _Writer(free, value, members)
    span = schema.span
    blank = Automaton(whitespace_machine(LONGEST_RUN), f"up to {LONGEST_RUN} blanks", span)
    items: list[Expression] = [blank]
    for name, node in properties.items():
        if node.value is False and name not in required:
            continue
        begin = Literal(f"<parameter={name}>".encode(), node.name_span)
        end = Literal(b"</parameter>", node.name_span)
        item: Expression = Sequence((begin, writer.texts(node, blank), end, blank), node.span)
        items.append(item if name in required else Repetition(item, 0, 1, node.span))
    return Sequence(tuple(items), span)


def _names(node: Node | None, properties: Mapping[str, Node]) -> list[str]:
    """The names of required properties; each is declared, since others are not allowed."""
    if node is None:
        return []
    if node.items is None:
        raise invalid(node, "a list of names")
    for item in node.items:
        if not isinstance(item.value, str) or item.value not in properties:
            raise invalid(item, "a name in 'properties': no other parameter is allowed")
    return [str(item.value) for item in node.items]


@dataclass(frozen=True, slots=True)
class _Writer:
    free: Expression
    value: Callable[[Node, str], Expression]
    root: Mapping[str, Node]

    def texts(
        self, node: Node, blank: Expression, above: frozenset[int] = frozenset()
    ) -> Expression:
        """The values of a property; ``above`` are the schemas that refer to this one."""
        members = node.members
        if members is None and not isinstance(node.value, bool):
            raise invalid(node, "a schema: an object, true or false")
        if node.value is True:
            return self.free
        if members is None:
            raise unsupported(node, "a required parameter has no value", "leave it out")
        if above and id(node) in above:
            raise unsupported(node, "a schema refers to itself alone")
        keywords = {name: member for name, member in members.items() if name not in _ANNOTATIONS}
        above |= {id(node)}
        match [*keywords] if "type" not in members else []:
            case ["$ref"]:
                if (target := self._target(keywords["$ref"])) is not None:
                    return self.texts(target, blank, above)
            case ["anyOf"] if options := keywords["anyOf"].items:
                return self._either(
                    [self.texts(option, blank, above) for option in options], node.span
                )
        if any(name in keywords for name in _LISTS):
            return self._list_values(node, members, keywords, blank)
        if ("type" not in members and not keywords) or "string" in _types(members.get("type")):
            if keywords:
                hint = "leave it out: a string without quotes ends at the first </parameter>"
                keyword = next(iter(keywords.values()))
                raise unsupported(keyword, "a string as XML is not restricted further", hint)
            return self.free  # it covers the other types
        return self._json(node, _json_text(node), blank)

    def _either(self, options: list[Expression], span: Span) -> Expression:
        if any(option is self.free for option in options):
            return self.free
        return choice(options, span)

    def _target(self, reference: Node) -> Node | None:
        """The shared schema that a reference names; None for one inside a shared schema."""
        match str(reference.value).split("/"):
            case ["#", part, name] if part in _SHARED and part in self.root:
                name = name.replace("~1", "/").replace("~0", "~")
                return (self.root[part].members or {}).get(name)
        return None

    def _json(self, node: Node, text: str, blank: Expression) -> Expression:
        """The JSON values of a schema, written with all definitions."""
        shared = [self.root[key] for key in _SHARED if key in self.root]
        for reference in _references([node, *shared]):
            if str(reference.value).partition("/")[2].partition("/")[0] not in _SHARED:
                hint = "write it under '$defs', and refer to it as '#/$defs/…'"
                raise unsupported(
                    reference, "the schema of a parameter refers to shared ones only", hint
                )
        parts = [f"{json.dumps(member.step)}: {_json_text(member)}" for member in shared]
        return Sequence(
            (blank, self.value(node, f"{{{', '.join([*parts, text[1:]])}"), blank), node.span
        )

    def _list_values(
        self,
        node: Node,
        members: Mapping[str, Node],
        keywords: Mapping[str, Node],
        blank: Expression,
    ) -> Expression:
        """Some values: strings as they are, others as JSON."""
        if unknown := [member for name, member in keywords.items() if name not in _LISTS]:
            hint = "leave it out, and list only the values that it allows"
            raise unsupported(unknown[0], "listed values as XML are not restricted further", hint)
        listed = [keywords["const"]] if "const" in keywords else []
        if "enum" in keywords:
            items = keywords["enum"].items
            if items is None:
                raise invalid(keywords["enum"], "a list of values")
            listed = [item for item in items if not listed or _equal(item, listed[0])]
        types = _types(members.get("type"))
        listed = [item for item in listed if not types or _has_type(item, types)]
        if not listed:
            keyword = keywords.get("enum") or keywords["const"]
            raise unsupported(keyword, "no value is listed that the schema allows", "add one")
        texts = {item.value: item for item in listed if isinstance(item.value, str)}
        for text, item in texts.items():
            if _END in str(text):
                raise unsupported(item, f"a value cannot contain {_END}", "leave it out")
        options: list[Expression] = [
            Literal(str(text).encode(), item.span) for text, item in texts.items()
        ]
        others = [_json_text(item) for item in listed if not isinstance(item.value, str)]
        if others:
            options.append(self._json(node, f'{{"enum": [{", ".join(others)}]}}', blank))
        return self._either(options, node.span)


def _equal(node: Node, other: Node) -> bool:
    same = isinstance(node.value, bool) == isinstance(other.value, bool)
    return same and node.json_value() == other.json_value()


def _has_type(node: Node, types: list[object]) -> bool:
    value = node.value
    if value is None:
        return "null" in types
    name = _TYPES_OF.get(type(value))
    if name in types or (name == "integer" and "number" in types):
        return True
    if isinstance(value, Decimal):
        return "number" in types or ("integer" in types and value == value.to_integral_value())
    return False


def _references(nodes: Iterable[Node]) -> Iterator[Node]:
    """All references in some schemas."""
    for node in nodes:
        named = (node.members or {}).get("$ref")
        if named is not None and isinstance(named.value, str):
            yield named
        yield from _references((node.members or {}).values())
        yield from _references(node.items or ())


def _json_text(node: Node) -> str:
    return node.document.source.text[node.start : node.end]


def _types(node: Node | None) -> list[object]:
    if node is None:
        return []
    return [item.value for item in node.items] if node.items is not None else [node.value]
