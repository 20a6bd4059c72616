"""What definitions have to be, once all of them are known: in they come, out come errors."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.typed.definitions import type_text
from workbench.typed.python_text import PythonText
from workbench.typed.types import (
    Definition,
    Dict,
    Enumeration,
    Kind,
    Many,
    Member,
    Named,
    OneOf,
    Record,
    Type,
    inside,
)


def check(text: PythonText, definitions: Mapping[str, Definition]) -> None:
    """Classes and members that are named are there; items of sets and keys can be hashed.

    Raises: ParseError of kind ``undefined_name`` or ``unsupported_type``.
    """
    for one in definitions.values():
        for field in one.fields if isinstance(one, Record) else ():
            for part in inside(field.type):
                match part:
                    case Named(name=name) if name not in definitions:
                        hint = f"write @dataclass above {name}"
                        message = f"{name} is neither a dataclass nor an Enum"
                        text.refuse(message, part.span, hint, "unsupported_type")
                    case OneOf(values=values):
                        _check_members(text, definitions, part, values)
                    case Many(kind=Kind.SET | Kind.FROZENSET, item=item) | Dict(key=item):
                        _check_hashable(text, definitions, item)


def _check_members(
    text: PythonText,
    definitions: Mapping[str, Definition],
    type_: OneOf,
    values: tuple[str | int | Member | None, ...],
) -> None:
    for value in values:
        if not isinstance(value, Member):
            continue
        owner = definitions.get(value.owner)
        if not isinstance(owner, Enumeration) or value.name not in dict(owner.members):
            message = f"{value.owner} has no member {value.name}"
            text.refuse(message, type_.span, kind="undefined_name")


def _check_hashable(text: PythonText, definitions: Mapping[str, Definition], type_: Type) -> None:
    """Every value of the type can be hashed, and what it holds."""
    seen: set[str] = set()
    waiting = [type_]
    for one in waiting:  # grows while it is read
        for part in inside(one):
            if isinstance(part, Dict) or (
                isinstance(part, Many) and part.kind in (Kind.LIST, Kind.SET)
            ):
                text.refuse(
                    f"items of sets and keys have to be hashable, and {type_text(part)} is not",
                    type_.span,
                    "use tuple, or frozenset",
                    "unsupported_type",
                )
            if isinstance(part, Named) and part.name not in seen:
                seen.add(part.name)
                waiting += _held(text, definitions.get(part.name), type_)


def _held(text: PythonText, definition: Definition | None, type_: Type) -> list[Type]:
    """The types of the fields of a dataclass whose instances are hashed."""
    if not isinstance(definition, Record):
        return []  # members can be hashed; what is neither is told of at its own place
    if not definition.hashable:
        text.refuse(
            f"items of sets and keys have to be hashable, and {definition.name} is not",
            type_.span,
            f"write @dataclass(frozen=True) above {definition.name}",
            "unsupported_type",
        )
    return [field.type for field in definition.fields]
