"""Prints types as Python definitions, and instances as constructor calls.

``python_reader`` reads the definitions back as the same types. So classes and texts are processed
in the same way, and spans of a class point into a text.

Instances are printed as by ``repr``, except for members of enumerations, which are written as
``Colour.RED``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from enum import Enum

from workbench.schema.typed.python_values import literal_or
from workbench.schema.typed.types import (
    OPAQUE,
    Definition,
    Dict,
    Enumeration,
    Field,
    Kind,
    Many,
    Member,
    Named,
    OneOf,
    Plain,
    Record,
    Tuple,
    Type,
    Union,
    inside,
)

_FACTORIES = {"[]": "list", "{}": "dict", "set()": "set"}


def definitions_text(definitions: Mapping[str, Definition], root: str) -> str:
    """The text of a module that defines these names, the root last.

    Law: ``read_types`` of this text returns the same definitions.
    """
    ordered = [name for name in definitions if name != root] + [root]
    tops = list(dict.fromkeys(name.partition(".")[0] for name in ordered))
    tops.sort(key=lambda top: top == root.partition(".")[0])
    classes = "\n\n\n".join("\n".join(_class(top, definitions)) for top in tops)
    head = "\n".join(_imports(definitions))
    return f"from __future__ import annotations\n\n{head}\n\n\n{classes}\n"


def type_text(type_: Type) -> str:
    """A type as an annotation."""
    match type_:
        case Plain(scalar):
            return scalar.value
        case Named(name):
            return name
        case OneOf(values):
            return f"Literal[{', '.join(map(value_text, values))}]"
        case Union(options):
            return " | ".join(map(type_text, options))
        case Many(kind, item):
            return f"{kind.value}[{type_text(item)}{', ...' if kind is Kind.TUPLE else ''}]"
        case Tuple(items):
            return f"tuple[{', '.join(map(type_text, items)) or '()'}]"
        case Dict(key, value):
            return f"dict[{type_text(key)}, {type_text(value)}]"


def value_text(value: str | int | Member | None) -> str:
    """A value of a ``Literal``."""
    return f"{value.owner}.{value.name}" if isinstance(value, Member) else repr(value)


def _imports(definitions: Mapping[str, Definition]) -> Iterator[str]:
    records = [definition for definition in definitions.values() if isinstance(definition, Record)]
    defaults = [field.default for record in records for field in record.fields]
    has_factory = any(default in _FACTORIES for default in defaults)
    yield "from dataclasses import dataclass" + (", field" if has_factory else "")
    bases = {
        base
        for definition in definitions.values()
        if isinstance(definition, Enumeration)
        for base in definition.bases
        if base.endswith("Enum")
    }
    if bases:
        yield f"from enum import {', '.join(sorted(bases))}"
    types = (part for record in records for field in record.fields for part in inside(field.type))
    if any(isinstance(part, OneOf) for part in types):
        yield "from typing import Literal"


def _class(name: str, definitions: Mapping[str, Definition]) -> Iterator[str]:
    """The lines of one class; nested classes come before its fields."""
    definition = definitions.get(name)
    last = name.rpartition(".")[2]
    if isinstance(definition, Enumeration):
        yield f"class {last}({', '.join(definition.bases)}):"
    elif isinstance(definition, Record):
        settings = ["frozen=True"] if definition.hashable else []
        if _out_of_order(definition.fields):
            settings.append("kw_only=True")
        yield f"@dataclass({', '.join(settings)})" if settings else "@dataclass"
        yield f"class {last}:"
    else:
        yield f"class {last}:"
    inner = dict.fromkeys(
        ".".join(other.split(".")[: name.count(".") + 2])
        for other in definitions
        if other.startswith(f"{name}.")
    )
    for other in inner:
        yield from (f"    {line}" for line in _class(other, definitions))
    if isinstance(definition, Enumeration):
        yield from (f"    {member} = {value}" for member, value in definition.members)
    elif isinstance(definition, Record):
        yield from (f"    {_field(field)}" for field in definition.fields)
        if not definition.fields and not inner:
            yield "    pass"


def _out_of_order(fields: tuple[Field, ...]) -> bool:
    """Whether a field without a default follows one with a default."""
    given = [field.default is not None for field in fields]
    return given != sorted(given)


def _field(field: Field) -> str:
    line = f"{field.name}: {type_text(field.type)}"
    if field.default is None:
        return line
    if field.default in _FACTORIES:
        return f"{line} = field(default_factory={_FACTORIES[field.default]})"
    return f"{line} = {field.default}"


def call_name(cls: type) -> str:
    """The qualified name of a class without the function that defines it."""
    return cls.__qualname__.rpartition("<locals>.")[2]


def literal_text(value: object) -> str:
    """A value as Python text; a dataclass as a call with all keywords of its constructor."""
    if isinstance(value, Enum):
        return f"{call_name(type(value))}.{value.name}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        given = (
            f"{field.name}={literal_text(getattr(value, field.name))}"
            for field in dataclasses.fields(value)
            if field.init
        )
        return f"{call_name(type(value))}({', '.join(given)})"
    if type(value) is list:
        return f"[{', '.join(map(literal_text, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(literal_text, value))}{',' if len(value) == 1 else ''})"
    if type(value) is dict:
        return f"{{{', '.join(f'{literal_text(k)}: {literal_text(v)}' for k, v in value.items())}}}"
    if type(value) is set and value:
        return f"{{{', '.join(map(literal_text, value))}}}"
    if type(value) is frozenset and value:
        return f"frozenset({{{', '.join(map(literal_text, value))}}})"
    return repr(value)


def default_text(value: object) -> str:
    """The text of a default; ``OPAQUE`` if it is not made of literals and calls."""
    return literal_or(literal_text(value), OPAQUE)
