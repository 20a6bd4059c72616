"""Writes types as a JSON Schema, and instances as JSON.

Each part of the schema has the span of the definition that it comes from.

An instance is written as ``json.dumps(dataclasses.asdict(instance))``: an object of its fields in
declared order, tuples and sets as arrays, members as their values, keys as texts.

Source: Koo et al. 2024, §5.1 and §5.2.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from workbench.base.errors import BuildError
from workbench.base.source import Source, Span
from workbench.schema.typed.types import (
    Definition,
    Dict,
    Enumeration,
    Many,
    Member,
    Named,
    OneOf,
    Plain,
    Scalar,
    Tuple,
    Type,
    Types,
    Union,
)

_SCALARS = {
    Scalar.INT: "integer", Scalar.FLOAT: "number", Scalar.BOOL: "boolean",
    Scalar.STR: "string", Scalar.NONE: "null",
}  # fmt: skip
#: A whole number as a key; valid both as a regex of JSON Schema and of Python.
WHOLE = "^(0|-?[1-9][0-9]*)$"


@dataclass(frozen=True, slots=True)
class PlacedSchema:
    """The text of a schema, and the part of the definitions that each part comes from."""

    source: Source
    #: Spans in the schema and the corresponding spans in the definitions, outer ones first.
    places: tuple[tuple[Span, Span], ...]


def schema_of(types: Types) -> PlacedSchema:
    """The schema of the root.

    Raises: BuildError of kind ``unsupported_type`` for keys that cannot be written as text.
    """
    writer = _Writer(types)
    writer.document()
    return PlacedSchema(Source("".join(writer.pieces), "schema"), tuple(writer.places))


@dataclass(slots=True, eq=False)
class _Writer:
    """Writes the schema's text."""

    types: Types
    pieces: list[str] = field(default_factory=list)
    places: list[tuple[Span, Span]] = field(default_factory=list)
    length: int = 0

    def document(self) -> None:
        """``{"$ref": …, "$defs": {…}}``."""
        self._text('{"$ref": ')
        self._text(json.dumps(f"#/$defs/{self.types.root}"))
        self._text(', "$defs": ')
        self._members(
            (name, definition.span, partial(self._definition, definition))
            for name, definition in self.types.definitions.items()
        )
        self._text("}")

    def _text(self, text: str) -> None:
        self.pieces.append(text)
        self.length += len(text)

    def _json(self, value: object) -> None:
        self._text(json.dumps(value))

    def _at(self, span: Span, write: Callable[[], None]) -> None:
        """Call ``write`` and record that its text comes from a span of the definitions."""
        index, start = len(self.places), self.length
        write()
        self.places.insert(index, (Span(start, self.length), span))

    def _members(self, members: Iterable[tuple[str, Span, Callable[[], None]]]) -> None:
        """An object whose members come from the given spans."""
        self._text("{")
        for i, (name, span, write) in enumerate(members):
            self._text(f"{', ' if i else ''}{json.dumps(name)}: ")
            self._at(span, write)
        self._text("}")

    def _definition(self, definition: Definition) -> None:
        if isinstance(definition, Enumeration):
            values = dict.fromkeys(map(json.dumps, member_values(definition).values()))
            self._text(f'{{"enum": [{", ".join(values)}]}}')
            return
        self._text('{"type": "object", "properties": ')
        self._members(
            (each.name, each.span, partial(self._type, each.type)) for each in definition.fields
        )
        required = [each.name for each in definition.fields if each.default is None]
        self._text(f', "required": {json.dumps(required)}, "additionalProperties": false}}')

    def _type(self, type_: Type) -> None:
        self._at(type_.span, lambda: self._bare(type_))

    def _bare(self, type_: Type) -> None:
        match type_:
            case Plain(scalar=scalar):
                self._json({"type": _SCALARS[scalar]})
            case Named(name=name):
                self._json({"$ref": f"#/$defs/{name}"})
            case OneOf():
                self._json({"enum": self._values(type_)})
            case Union(options=options):
                self._text('{"anyOf": [')
                self._several(options)
                self._text("]}")
            case Many(item=item):
                self._text('{"type": "array", "items": ')
                self._type(item)
                self._text("}")
            case Tuple(items=items):
                self._tuple(items)
            case Dict(key=key, value=value):
                self._text('{"type": "object", "propertyNames": ')
                self._at(key.span, lambda: self._json(self._names(key)))
                self._text(', "additionalProperties": ')
                self._type(value)
                self._text("}")

    def _several(self, types: tuple[Type, ...]) -> None:
        for i, option in enumerate(types):
            self._text(", " if i else "")
            self._type(option)

    def _tuple(self, items: tuple[Type, ...]) -> None:
        if not items:
            self._json({"type": "array", "maxItems": 0})
            return
        self._text('{"type": "array", "prefixItems": [')
        self._several(items)
        self._text(f'], "items": false, "minItems": {len(items)}}}')

    def _values(self, one_of: OneOf) -> list[object]:
        return [json_of(value, self.types.definitions) for value in one_of.values]

    def _names(self, key: Type) -> Mapping[str, object]:
        """The schema of the keys of a ``dict``.

        Raises: BuildError
        """
        match key:
            case Plain(scalar=Scalar.STR):
                return {"type": "string"}
            case Plain(scalar=Scalar.INT):
                return {"pattern": WHOLE}
            case Plain(scalar=Scalar.BOOL):
                return {"enum": ["true", "false"]}
            case OneOf():
                return {"enum": [key_text(value) for value in self._values(key)]}
            case Named(name=name) if isinstance(
                enumeration := self.types.definitions[name], Enumeration
            ):
                return {"enum": [key_text(value) for value in member_values(enumeration).values()]}
        raise BuildError(
            "expected str, int, bool, a Literal or an Enum as keys, because JSON keys are texts",
            self.types.source,
            key.span,
            "use a list of tuples, or write it as constructor calls",
            "unsupported_type",
        )


def key_text(value: object) -> str:
    """A key as ``json.dumps`` writes it."""
    return value if isinstance(value, str) else json.dumps(value)


def member_values(enumeration: Enumeration) -> dict[str, object]:
    """The JSON value of each member, by name; the name itself if a value is not JSON."""
    try:
        values = {name: ast.literal_eval(text) for name, text in enumeration.members}
    except (ValueError, SyntaxError):
        return {name: name for name, _ in enumeration.members}
    if all(map(_is_json, values.values())):
        return values
    return {name: name for name in values}


def _is_json(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)


def json_of(value: str | int | Member | None, definitions: Mapping[str, Definition]) -> object:
    """A value of a ``Literal`` as JSON."""
    if not isinstance(value, Member):
        return value
    owner = definitions[value.owner]
    assert isinstance(owner, Enumeration), "python_reader has checked it"
    return member_values(owner)[value.name]
