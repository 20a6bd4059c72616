"""Reads a dataclass by reflection, as types with the text that would define them.

Only fields and annotations are inspected; no constructor, factory or property is called.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import enum
import sys
import types
import typing
from collections.abc import Mapping
from typing import NoReturn

from workbench.base.errors import BuildError
from workbench.base.source import NO_SPAN, Source, Span
from workbench.schema.pydantic_models import STRING_TYPES, is_pydantic
from workbench.schema.typed.annotations import REPLACEMENTS, union_of
from workbench.schema.typed.class_bodies import FACTORY_DEFAULTS
from workbench.schema.typed.python_printer import call_name, default_text, definitions_text
from workbench.schema.typed.python_reader import read_types
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
    Scalar,
    Tuple,
    Type,
    Types,
)

_SCALARS: dict[object, Scalar] = {
    int: Scalar.INT, float: Scalar.FLOAT, bool: Scalar.BOOL, str: Scalar.STR,
    None: Scalar.NONE, type(None): Scalar.NONE,
}  # fmt: skip
_KINDS: dict[object, Kind] = {list: Kind.LIST, set: Kind.SET, frozenset: Kind.FROZENSET}
_FACTORIES: dict[object, str] = {
    getattr(builtins, name): default for name, default in FACTORY_DEFAULTS.items()
}


def reflect(cls: type) -> tuple[Types, dict[str, type]]:
    """The types of a dataclass, read from the text that defines them, and the classes by name.

    Raises: BuildError of kind ``unsupported_type`` or ``unsupported_class``.
    """
    reflection = _Reflection()
    if not isinstance(cls, type) or not dataclasses.is_dataclass(cls):
        hint = "write @dataclass above the class"
        if is_pydantic(cls):
            hint = f"use Grammar.from_json_schema({getattr(cls, '__name__', 'adapter')})"
        reflection.refuse(repr(cls), "expected a dataclass", hint)
    root = reflection.named(cls).name
    text = definitions_text(reflection.definitions, root)
    return read_types(Source(text, "dataclass"), root), reflection.classes


class _Reflection:
    """The classes visited so far, and their definitions, by name."""

    def __init__(self) -> None:
        self.classes: dict[str, type] = {}
        self.definitions: dict[str, Definition] = {}
        self._at = ""

    def refuse(self, what: str, message: str, hint: str = "") -> NoReturn:
        """Reports an error in a class or a field.

        Raises: BuildError, always.
        """
        source = Source(f"{self._at}{what}", "dataclass")
        span = Span(len(self._at), len(source.text))
        raise BuildError(message, source, span, hint, "unsupported_type")

    def named(self, cls: type) -> Named:
        """A dataclass or an enumeration, by name; read on first use."""
        name = call_name(cls)
        if self.classes.setdefault(name, cls) is not cls:
            self.refuse(name, f"two classes are called {name}", "rename one")
        if name not in self.definitions:
            self.definitions[name] = Record(name, ())  # for recursive references
            definition = self._enumeration(cls) if issubclass(cls, enum.Enum) else self._record(cls)
            del self.definitions[name]
            self.definitions[name] = definition  # move it after the definitions that it uses
        return Named(name)

    def _enumeration(self, cls: type[enum.Enum]) -> Enumeration:
        name = call_name(cls)
        if issubclass(cls, enum.Flag):
            self.refuse(name, "flags have no literals", "use set of an Enum")
        if not cls.__members__:
            self.refuse(name, f"{name} has no members, so no value")
        bases = (
            tuple(base.__name__ for base in cls.__bases__ if base in (str, int, float))
            + tuple(
                base
                for base in ("IntEnum", "StrEnum", "Enum")
                if issubclass(cls, getattr(enum, base))
            )[:1]
        )
        members = ((key, _literal(member.value)) for key, member in cls.__members__.items())
        return Enumeration(name, tuple(members), bases)

    def _record(self, cls: type) -> Record:
        name = call_name(cls)
        if not getattr(cls, "__dataclass_params__").init:  # noqa: B009  # unknown to mypy
            self.refuse(name, "a dataclass that makes no __init__ has no constructor calls")
        hints = self._hints(cls)
        before, fields = self._at, []
        for its_name, hint in hints.items():
            if isinstance(hint, dataclasses.InitVar):
                self._at = f"{name}.{its_name}: "
                why = "an InitVar is not stored, so instances could not be written"
                self.refuse("InitVar", why, "make it a field")
        for field in dataclasses.fields(cls):
            if field.init:
                self._at = f"{name}.{field.name}: "
                fields.append(Field(field.name, self.type(hints[field.name]), _default(field)))
        self._at = before
        return Record(name, tuple(fields), cls.__hash__ is not None)

    def _hints(self, cls: type) -> Mapping[str, object]:
        """The annotations of a class; annotations written as strings are resolved."""
        names: dict[str, object] = {call_name(cls): cls, cls.__name__: cls}
        try:
            return typing.get_type_hints(cls, localns=names, include_extras=True)
        except NameError:
            pass  # a class in a function may refer to other local classes: search the call stack
        frame = sys._getframe()
        while frame.f_back is not None:
            frame = frame.f_back
            names = {**frame.f_locals, **names}
        try:
            return typing.get_type_hints(cls, localns=names, include_extras=True)
        except (NameError, AttributeError, TypeError, SyntaxError) as error:
            hint = "define the classes it names where it can see them"
            self.refuse(call_name(cls), f"an annotation cannot be resolved: {error}", hint)

    def type(self, hint: object) -> Type:
        """The type of an annotation.

        Raises: BuildError
        """
        if isinstance(hint, type(None)) or (isinstance(hint, type) and hint in _SCALARS):
            return Plain(_SCALARS[hint])
        if (
            isinstance(hint, type)
            and not isinstance(hint, types.GenericAlias)
            and (issubclass(hint, enum.Enum) or dataclasses.is_dataclass(hint))
        ):
            return self.named(hint)
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Annotated, typing.Final):
            return self.type(arguments[0])
        if origin in (typing.Union, types.UnionType):
            return union_of(tuple(map(self.type, arguments)), NO_SPAN)
        if origin is typing.Literal:
            return OneOf(tuple(map(self._constant, arguments)))
        if origin is tuple or hint == tuple[()]:
            return self._tuple(arguments)
        if origin in _KINDS and arguments:
            return Many(_KINDS[origin], self.type(arguments[0]))
        if origin is dict and arguments:
            return Dict(self.type(arguments[0]), self.type(arguments[1]))
        if isinstance(hint, typing.NewType):
            return self.type(hint.__supertype__)
        if value := getattr(hint, "__value__", None):  # type Tags = list[str], from 3.12 on
            return self.type(value)
        return self._unknown(hint)

    def _tuple(self, arguments: tuple[object, ...]) -> Type:
        if len(arguments) == 2 and arguments[1] is ...:
            return Many(Kind.TUPLE, self.type(arguments[0]))
        return Tuple(tuple(map(self.type, arguments)))

    def _constant(self, value: object) -> str | int | Member | None:
        if isinstance(value, enum.Enum):
            return Member(self.named(type(value)).name, value.name)
        if value is None or isinstance(value, str | int):
            return value
        return self.refuse(
            repr(value), "expected texts, whole numbers, True, False, None or members in Literal"
        )

    def _unknown(self, hint: object) -> NoReturn:
        name = getattr(hint, "__name__", None) or str(hint)
        if hint in (list, set, frozenset, tuple, dict, *_BARE):
            hint = f"write the types in brackets: {name}[str]"
            self.refuse(name, f"expected {name}[…], not {name} alone", hint)
        message = f"expected a type whose values are literals or calls of dataclasses, not {name}"
        replacement = REPLACEMENTS.get(name, "use str, or a dataclass of its parts")
        if name in STRING_TYPES:
            owner = self._at.partition(".")[0]
            replacement = f"use str, or Grammar.from_json_schema(pydantic.TypeAdapter({owner}))"
        self.refuse(name, message, replacement)


_BARE = (typing.List, typing.Dict, typing.Set, typing.FrozenSet, typing.Tuple)  # noqa: UP006


def _literal(value: object) -> str:
    """The value of a member as text; ``OPAQUE`` if it is not a literal."""
    try:
        same = ast.literal_eval(repr(value)) == value
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return OPAQUE
    return repr(value) if same else OPAQUE


def _default(field: dataclasses.Field[object]) -> str | None:
    """The default of a field as text; ``OPAQUE`` for a factory other than a few builtins."""
    if field.default is not dataclasses.MISSING:
        return default_text(field.default)
    if field.default_factory is dataclasses.MISSING:
        return None
    return _FACTORIES.get(field.default_factory, OPAQUE)
