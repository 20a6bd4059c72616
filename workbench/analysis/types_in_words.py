"""A JSON Schema in words, keyword by keyword, and dataclasses, field by field."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.analysis.sentences import Wording, led, listed, quoted
from workbench.base.source import Source, Span
from workbench.base.visible_text import count_of, shorten
from workbench.schema.schema_reader import Document, Node
from workbench.schema.typed.python_reader import read_types
from workbench.schema.typed.types import (
    OPAQUE,
    Definition,
    Dict,
    Enumeration,
    Field,
    Many,
    Member,
    Named,
    OneOf,
    Plain,
    Scalar,
    Tuple,
    Type,
    Union,
)
from workbench.schema.typed.types import Kind as TypeKind

_TYPES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "an array",
    "object": "an object",
}

#: The most values of an enumeration that are listed.
_MAX_VALUES = 12


def _count_of_characters(least: str) -> Callable[[Any], str]:
    return lambda value: f"of at {least} {count_of(value, 'character')}"


def _count_text(least: str, what: str, whats: str) -> Callable[[Any], str]:
    return lambda value: f"with at {least} {value:,} {what if value == 1 else whats}"


#: Keywords whose value is no schema, as parts of a sentence.
PHRASES: Mapping[str, Callable[[Any], str]] = {
    "minimum": lambda value: f"at least {value}",
    "maximum": lambda value: f"at most {value}",
    "exclusiveMinimum": lambda value: f"more than {value}",
    "exclusiveMaximum": lambda value: f"less than {value}",
    "multipleOf": lambda value: f"a multiple of {value}",
    "minLength": _count_of_characters("least"),
    "maxLength": _count_of_characters("most"),
    "pattern": lambda value: f"with a match of the regex {quoted(value)}",
    "format": lambda value: f"in the format {quoted(value)}",
    "minItems": _count_text("least", "item", "items"),
    "maxItems": _count_text("most", "item", "items"),
    "minContains": lambda value: f"of which at least {value:,} are as described below",
    "maxContains": lambda value: f"of which at most {value:,} are as described below",
    "minProperties": _count_text("least", "property", "properties"),
    "maxProperties": _count_text("most", "property", "properties"),
    "uniqueItems": lambda value: "without equal items" if value else "",
    "nullable": lambda value: "or null" if value else "",
    "enum": lambda values: f"one of {_values(values)}",
    "const": lambda value: f"exactly {_value(value)}",
    "$ref": lambda value: f"as at {quoted(value)}",
    "$dynamicRef": lambda value: f"as at {quoted(value)}",
    "$recursiveRef": lambda value: f"as at {quoted(value)}",
}

#: Keywords whose value is a schema: the lead of its line, that of ``false`` and that of ``true``.
SCHEMAS: Mapping[str, tuple[str, str, str]] = {
    "additionalProperties": ("each other property", "no other properties", "any other properties"),
    "unevaluatedProperties": (
        "each property that no part describes",
        "no properties that no part describes",
        "any properties that no part describes",
    ),
    "propertyNames": ("each name of a property", "no properties", "any names of properties"),
    "items": ("each item", "no items", "any items"),
    "additionalItems": ("each further item", "no further items", "any further items"),
    "unevaluatedItems": (
        "each item that no part describes",
        "no items that no part describes",
        "any items that no part describes",
    ),
    "contains": ("at least one item", "an item that no value satisfies", "at least one item"),
    "not": ("but not", "but nothing that would be forbidden", "but no value at all"),
    "if": ("if it is", "if it is no value", "in every case"),
    "then": ("then it is", "then there is no such value", "then it is any value"),
    "else": ("otherwise it is", "otherwise there is no such value", "otherwise it is any value"),
}

#: Keywords with a list of schemas: the line above them.
LISTS = {
    "allOf": "all of these",
    "anyOf": "at least one of these",
    "oneOf": "exactly one of these",
}

#: Keywords that map names to schemas: how the line of each begins.
MAPS = {
    "patternProperties": "each property whose name has a match of the regex {}",
    "dependentSchemas": "if there is a property {}",
    "dependencies": "if there is a property {}",
    "$defs": "the definition {}",
    "definitions": "the definition {}",
}

#: Keywords that are described with others.
TOGETHER = frozenset({"type", "properties", "required", "prefixItems", "dependentRequired"})


def of_schema(source: Source) -> Wording:
    """A JSON Schema in words.

    Raises: ParseError for a text that is not JSON.
    """
    return _schema(Document(source).root)


def _schema(node: Node) -> Wording:
    if node.members is None:
        return Wording(node.span, "any value" if node.value is True else "no value")
    members = node.members
    parts = [_head(members)]
    for keyword, phrase in PHRASES.items():
        if keyword in members:
            parts.append(_phrase(members, keyword, phrase))
    details = [part for part in parts[1:] if part]
    whole = [parts[0], *details] if parts[0] else details
    sentence = ", ".join(whole) or "any value"
    children = tuple(_children(members))
    return Wording(node.span, sentence, children)


def _head(members: Mapping[str, Node]) -> str:
    """The types, if the other keywords do not say more than they."""
    named = members.get("type")
    if named is not None:
        types = named.json_value()
        names = types if isinstance(types, list) else [types]
        return listed([_TYPES.get(str(name), str(name)) for name in names]) or "no value"
    if {"enum", "const", "$ref", "$dynamicRef", "$recursiveRef"} & members.keys():
        return ""
    if {"properties", "patternProperties", "required", "additionalProperties"} & members.keys():
        return "any value; if it is an object, it has this form"
    if {"items", "prefixItems", "contains"} & members.keys():
        return "any value; if it is an array, it has this form"
    return "a value"


def _phrase(members: Mapping[str, Node], keyword: str, phrase: Callable[[Any], str]) -> str:
    value = members[keyword].json_value()
    if keyword in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool):
        return ""  # draft 4: it makes ``minimum`` or ``maximum`` exclusive
    exclusive = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}.get(keyword, "")
    if exclusive in members and members[exclusive].value is True:
        return PHRASES[exclusive](value)
    return phrase(value)


def _children(members: Mapping[str, Node]) -> Iterator[Wording]:
    yield from _properties(members)
    for keyword, node in members.items():
        if keyword in SCHEMAS and node.items is None:
            yield _subschema(keyword, node)
        elif keyword in ("items", "prefixItems") and node.items is not None:
            for number, item in enumerate(node.items, 1):
                yield led(f"item {number}", item.span, _schema(item))
        elif keyword in LISTS and node.items is not None:
            options = tuple(map(_schema, node.items))
            yield Wording(Span(node.name_start, node.end), LISTS[keyword], options)
        elif keyword in MAPS and node.members is not None:
            for name, member in node.members.items():
                yield _map_wording(MAPS[keyword].format(quoted(name)), member)
        elif keyword == "dependentRequired" and node.members is not None:
            for name, member in node.members.items():
                yield _map_wording(MAPS["dependencies"].format(quoted(name)), member)


def _properties(members: Mapping[str, Node]) -> Iterator[Wording]:
    """The properties, then the required ones that are not described."""
    required = members.get("required")
    names = required.json_value() if required is not None else []
    needed = [str(name) for name in names] if isinstance(names, list) else []
    properties = members.get("properties")
    described = (properties.members or {}) if properties is not None else {}
    for name, node in described.items():
        need = "required" if name in needed else "optional"
        yield led(f"{quoted(name)}, {need}", Span(node.name_start, node.end), _schema(node))
    others = [quoted(name) for name in needed if name not in described]
    if others and required is not None:
        sentence = f"{listed(others, 'and')}, required: any value"
        yield Wording(Span(required.name_start, required.end), sentence)


def _subschema(keyword: str, node: Node) -> Wording:
    lead, never, always = SCHEMAS[keyword]
    span = Span(node.name_start, node.end)
    if isinstance(node.value, bool):
        return Wording(span, always if node.value else never)
    return led(lead, span, _schema(node))


def _map_wording(lead: str, node: Node) -> Wording:
    span = Span(node.name_start, node.end)
    if node.items is None:
        return led(lead, span, _schema(node))
    names = [quoted(str(name.json_value())) for name in node.items]
    return Wording(span, f"{lead}, then also {listed(names, 'and') or 'nothing more'}")


def _value(value: object) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), 60)


def _values(values: object) -> str:
    texts = [_value(value) for value in values] if isinstance(values, list) else [_value(values)]
    if len(texts) > _MAX_VALUES:
        texts = [*texts[:_MAX_VALUES], f"{len(texts) - _MAX_VALUES:,} more values"]
    return listed(texts)


_SCALARS = {
    Scalar.INT: "an integer",
    Scalar.FLOAT: "a number",
    Scalar.BOOL: "True or False",
    Scalar.STR: "a string",
    Scalar.NONE: "None",
}
_MANY = {
    TypeKind.LIST: "a list",
    TypeKind.SET: "a set",
    TypeKind.FROZENSET: "a frozen set",
    TypeKind.TUPLE: "a tuple of any length",
}


def of_dataclasses(source: Source) -> Wording:
    """The dataclasses of a text in words, the root first.

    Raises: ParseError for unsupported text.
    """
    types = read_types(source)
    root = types.definitions[types.root]
    others = (definition for name, definition in types.definitions.items() if name != types.root)
    whole = Span(0, len(source.text))
    wordings = tuple(map(_definition, (root, *others)))
    return Wording(whole, f"an instance of {types.root}", wordings)


def _definition(definition: Definition) -> Wording:
    if isinstance(definition, Enumeration):
        names = [name for name, _ in definition.members]
        return Wording(definition.span, f"{definition.name} is one of its members {listed(names)}")
    if not definition.fields:
        return Wording(definition.span, f"{definition.name} has no fields")
    fields = tuple(map(_field, definition.fields))
    span = definition.span
    for field in fields:
        span = span.to(field.span)
    return Wording(span, f"{definition.name} has these fields", fields)


def _field(field: Field) -> Wording:
    need = "required"
    if field.default is not None:
        need = "optional" if field.default == OPAQUE else f"optional, {field.default} if left out"
    span = field.span.to(field.type.span) if field.type.span.end else field.span
    return Wording(span, f"{quoted(field.name)}, {need}: {_type(field.type)}")


def _type(type_: Type) -> str:
    match type_:
        case Plain(scalar=scalar):
            return _SCALARS[scalar]
        case OneOf(values=values):
            names = [
                f"{value.owner}.{value.name}" if isinstance(value, Member) else repr(value)
                for value in values
            ]
            return listed(names) if len(names) == 1 else f"one of {listed(names)}"
        case Union(options=options):
            return listed(list(map(_type, options)))
        case Many(kind=kind, item=item):
            return f"{_MANY[kind]} in which each item is {_type(item)}"
        case Tuple(items=items):
            return f"a tuple of {', then '.join(map(_type, items)) or 'nothing'}"
        case Dict(key=key, value=value):
            return f"a dict in which each key is {_type(key)} and each value is {_type(value)}"
        case Named(name=name):
            return f"an instance of {name}"
