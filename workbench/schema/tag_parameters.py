"""Parameters of a tool call as Qwen's XML: ``<parameter=city>Paris</parameter>``.

A property whose value may be any string is written without quotes and escapes; it ends at
the first ``</parameter>``. A property whose values are some strings is one of them. Every other
value is JSON. Properties follow one another in declared order with any white space around them, as
in xgrammar 0.2; properties that the schema does not mention are not allowed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workbench.base.source import Span
from workbench.schema.schema_options import DEFAULT_BOUND, whitespace_machine
from workbench.schema.schema_reader import Json, Node, invalid, unsupported
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    Literal,
    Repetition,
    Sequence,
)

#: Keywords that do not restrict a value.
_ANNOTATIONS = frozenset({"type", "title", "description", "default", "examples", "$comment"})
#: The keywords that the schema of the parameters may have.
_OUTER = _ANNOTATIONS | {"properties", "required", "additionalProperties", "$defs", "definitions"}
_SHARED = ("$defs", "definitions")


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
    required = (
        [one.value for one in members["required"].items or []] if "required" in members else []
    )
    writer = _Writer(free, value, members)
    span = schema.span
    blank = Automaton(whitespace_machine(DEFAULT_BOUND), f"up to {DEFAULT_BOUND} blanks", span)
    items: list[Expression] = [blank]
    for name, node in properties.items():
        begin = Literal(f"<parameter={name}>".encode(), node.name_span)
        end = Literal(b"</parameter>", node.name_span)
        item: Expression = Sequence((begin, writer.texts(node, blank), end, blank), node.span)
        items.append(item if name in required else Repetition(item, 0, 1, node.span))
    return Sequence(tuple(items), span)


@dataclass(frozen=True, slots=True)
class _Writer:
    free: Expression
    value: Callable[[Node, str], Expression]
    root: Mapping[str, Node]

    def texts(self, node: Node, blank: Expression) -> Expression:
        """The values of a property."""
        members = node.members or {}
        types = _types(members.get("type"))
        chosen = members.get("enum") or members.get("const")
        if chosen is not None:
            listed = chosen.items if "enum" in members else [chosen]
            return self._listed([one.json_value() for one in listed or []], node.span)
        if "string" in types or node.value is True or not members:
            if unknown := [one for name, one in members.items() if name not in _ANNOTATIONS]:
                hint = "leave it out: a string without quotes ends at the first </parameter>"
                raise unsupported(unknown[0], "a string as XML is not restricted further", hint)
            return self.free  # it covers the other types
        shared = [
            f"{json.dumps(at)}: {_written(self.root[at])}" for at in _SHARED if at in self.root
        ]
        text = f"{{{', '.join([*shared, _written(node)[1:]])}"
        return Sequence((blank, self.value(node, text), blank), node.span)

    def _listed(self, values: list[Json], span: Span) -> Expression:
        texts = [one if isinstance(one, str) else json.dumps(one, default=str) for one in values]
        options = tuple(Literal(text.encode(), span) for text in dict.fromkeys(texts))
        return options[0] if len(options) == 1 else Choice(options, span)


def _written(node: Node) -> str:
    return node.document.source.text[node.start : node.end]


def _types(node: Node | None) -> list[object]:
    if node is None:
        return []
    return [one.value for one in node.items] if node.items is not None else [node.value]
