"""Builds instances from texts: constructor calls (``parse_call``) or JSON (``parse_json``).

An ``InstanceFactory`` creates the objects: by calling the real classes, or as records if only the
text of the definitions is given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

from workbench.base.errors import ParseError, WorkbenchError
from workbench.base.source import Source, Span
from workbench.schema.typed.python_printer import type_text, value_text
from workbench.schema.typed.python_values import (
    Call,
    Items,
    Number,
    Pairs,
    Text,
    Value,
    Word,
    read_value,
    too_deep,
)
from workbench.schema.typed.type_printer import WHOLE, json_of, key_text, member_values
from workbench.schema.typed.types import (
    OPAQUE,
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
    TypeMismatchError,
    Types,
    Union,
    UnionOptions,
    missing_field,
)

_WORDS = {"None": None, "True": True, "False": False}


class InstanceFactory(Protocol):
    """Creates instances of dataclasses and members of enumerations."""

    def instance(self, record: Record, given: Mapping[str, object]) -> object: ...
    def member(self, owner: Enumeration, name: str) -> object: ...


def parse_call(types: Types, factory: InstanceFactory, source: Source, type_: Type) -> object:
    """The value of a type that a text denotes.

    Accepts every text of ``call_tree``, and more (see ``python_text``).

    Raises: ParseError of kind ``syntax``, ``bad_escape``, ``digits``, ``nesting`` or ``mismatch``.
    """
    value = read_value(source)
    try:
        return _CallConverter(types, factory).value(value, type_)
    except TypeMismatchError as error:
        span = error.place
        assert isinstance(span, Span), "raised below"
        raise ParseError(error.message, source, span, kind="mismatch") from None
    except RecursionError:
        raise too_deep(source) from None


@dataclass(frozen=True, slots=True, eq=False)
class _Converter:
    """What the conversions of the values of one text have in common."""

    types: Types
    factory: InstanceFactory
    options: UnionOptions = field(default_factory=UnionOptions)

    def constant(self, value: str | int | Member | None) -> object:
        """A value of a ``Literal``."""
        if not isinstance(value, Member):
            return value
        owner = self.types.definitions[value.owner]
        assert isinstance(owner, Enumeration), "python_reader has checked it"
        return self.factory.member(owner, value.name)


@dataclass(frozen=True, slots=True, eq=False)
class _CallConverter(_Converter):
    """Converts the tree of a constructor call."""

    def value(self, value: Value, type_: Type) -> object:
        match type_, value:
            case Plain(scalar=scalar), _:
                return self._scalar(value, scalar, type_)
            case OneOf(values=values), _:
                return self._one_of(value, values, type_)
            case Union(options=options), _:
                return self.options.first(value, options, self.value, _mismatch(value.span, type_))
            case Named(name=name), _:
                return self._value_of_class(value, self.types.definitions[name])
            case Many(kind=kind, item=item), _:
                return self._many(value, kind, item, type_)
            case Tuple(items=items), Items(bracket="(", items=given) if len(given) == len(items):
                return tuple(
                    self.value(each, item) for each, item in zip(given, items, strict=True)
                )
            case Dict(key=key, value=item), Pairs(pairs=pairs):
                return {self.value(k, key): self.value(v, item) for k, v in pairs}
        raise _mismatch(value.span, type_)

    def _scalar(self, value: Value, scalar: Scalar, type_: Type) -> object:
        match scalar, value:
            case Scalar.STR, Text(value=text):
                return text
            case Scalar.INT, Number(value=int(number)):
                return number
            case Scalar.FLOAT, Number(value=number):
                return as_float(number)
            case Scalar.FLOAT, Word(name="inf" | "nan" as name):
                return float(name)
            case Scalar.BOOL, Word(name="True" | "False" as name):
                return _WORDS[name]
            case Scalar.NONE, Word(name="None"):
                return None
        raise _mismatch(value.span, type_)

    def _one_of(
        self, value: Value, values: tuple[str | int | Member | None, ...], type_: Type
    ) -> object:
        for literal in values:
            match literal, value:
                case Member(), Word(name=given) if given == value_text(literal):
                    return self.constant(literal)
                case str(), Text(value=given) if given == literal:
                    return literal
                case bool() | None, Word(name=given) if given == str(literal):
                    return literal
                case int(), Number(value=int(given)) if given == literal and type(literal) is int:
                    return literal
        raise _mismatch(value.span, type_)

    def _value_of_class(self, value: Value, definition: Record | Enumeration) -> object:
        match definition, value:
            case Enumeration(name=owner, members=members), Word(name=name):
                member = name.removeprefix(f"{owner}.")
                if member != name and member in dict(members):
                    return self.factory.member(definition, member)
            case Record(name=name), Call(name=called, given=()) if called == name:
                return self._record(value, definition)
        raise _mismatch(value.span, Named(definition.name))

    def _record(self, call: Call, record: Record) -> object:
        fields = {field.name: field for field in record.fields}
        given = {}
        for keyword, value in call.keywords:
            if keyword not in fields:
                raise TypeMismatchError(value.span, f"{record.name} has no field {keyword}")
            given[keyword] = self.value(value, fields[keyword].type)
        if missing := missing_field(record, given):
            bracket = Span(call.span.end - 1, call.span.end)
            raise TypeMismatchError(bracket, f"expected {missing.name}= in {record.name}(…)")
        return self.factory.instance(record, given)

    def _many(self, value: Value, kind: Kind, item: Type, type_: Type) -> object:
        match kind, value:
            case Kind.LIST, Items(bracket="[", items=items):
                return [self.value(each, item) for each in items]
            case Kind.TUPLE, Items(bracket="(", items=items):
                return tuple(self.value(each, item) for each in items)
            case Kind.SET, Items(bracket="{", items=items):
                return {self.value(each, item) for each in items}
            case Kind.SET, Call(name="set", keywords=(), given=()):
                return set()
            case Kind.FROZENSET, Call(name="frozenset", keywords=(), given=()):
                return frozenset()
            case Kind.FROZENSET, Call(
                name="frozenset", keywords=(), given=(Items(bracket="{", items=items),)
            ):
                return frozenset(self.value(each, item) for each in items)
        raise _mismatch(value.span, type_)


def as_float(number: float) -> float:
    """A whole number as a float; unchanged if no float is equal to it."""
    try:
        return number if isinstance(number, float) or float(number) != number else float(number)
    except OverflowError:
        return number


def _mismatch(position: Span | str, type_: Type) -> TypeMismatchError:
    return TypeMismatchError(position, f"expected {type_text(type_)}")


@dataclass(frozen=True, slots=True, eq=False)
class ClassFactory:
    """Calls the real classes, including their ``__post_init__``."""

    classes: Mapping[str, type]

    def instance(self, record: Record, given: Mapping[str, object]) -> object:
        """An instance.

        Raises: WorkbenchError if the class raises an exception.
        """
        try:
            return self.classes[record.name](**given)
        except Exception as error:  # __post_init__ may raise anything
            what = f"{record.name} refused its fields: {error}"
            raise WorkbenchError(what, "its __post_init__ requires more than its types") from error

    def member(self, owner: Enumeration, name: str) -> object:
        return self.classes[owner.name][name]  # type: ignore[index]  # it is an Enum


@dataclass(frozen=True, slots=True)
class MemberValue:
    """A member of an enumeration of which only the text is given."""

    owner: str
    name: str

    def __repr__(self) -> str:
        return f"{self.owner}.{self.name}"


@dataclass(frozen=True, slots=True, repr=False)
class RecordInstance:
    """An instance of a dataclass of which only the text is given; its fields are attributes.

    Law: the grammar accepts its ``repr``, if all defaults in it are literals.
    """

    __type: str
    __fields: tuple[tuple[str, object], ...]

    def __getattr__(self, name: str) -> object:
        for field_name, value in self.__fields:
            if field_name == name:
                return value
        raise AttributeError(f"{self.__type} has no field {name!r}")

    def __repr__(self) -> str:
        return f"{self.__type}({', '.join(f'{name}={value!r}' for name, value in self.__fields)})"


@dataclass(frozen=True, slots=True, repr=False)
class UnparsedDefault:
    """A default that cannot be parsed as a value of the field's type, as text."""

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, eq=False)
class RecordFactory:
    """Creates records; missing fields get their defaults."""

    types: Types

    def instance(self, record: Record, given: Mapping[str, object]) -> RecordInstance:
        values = (
            (field.name, given[field.name] if field.name in given else self._default(field))
            for field in record.fields
        )
        return RecordInstance(record.name, tuple(values))

    def member(self, owner: Enumeration, name: str) -> MemberValue:
        return MemberValue(owner.name, name)

    def _default(self, field: Field) -> object:
        text = field.default or OPAQUE
        try:
            return parse_call(self.types, self, Source(text, "default"), field.type)
        except ParseError:
            return UnparsedDefault(text)


_CONSTRUCTORS: dict[Kind, Callable[[Iterable[object]], object]] = {
    Kind.LIST: list, Kind.SET: set, Kind.FROZENSET: frozenset, Kind.TUPLE: tuple,
}  # fmt: skip


def parse_json(types: Types, factory: InstanceFactory, source: Source, type_: Type) -> object:
    """The value of a type that a JSON text denotes.

    If options of a union have the same JSON text, it is a value of the first one.

    Raises: ParseError of kind ``syntax``, ``digits``, ``nesting`` or ``mismatch``.
    """
    whole = Span(0, len(source.text))
    try:
        value = json.loads(source.text, parse_constant=_no_constant)
        return _JsonConverter(types, factory).value(value, type_, "")
    except json.JSONDecodeError as error:
        what = f"expected JSON: {error.msg.lower()}"
        raise ParseError(what, source, Span(error.pos, error.pos)) from None
    except TypeMismatchError as error:
        where = f"{error.place}: " if error.place else ""
        raise ParseError(where + error.message, source, whole, kind="mismatch") from None
    except RecursionError:
        raise too_deep(source) from None
    except ValueError as error:  # numerals of thousands of digits, NaN
        raise ParseError(str(error).lower(), source, whole, kind="digits") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


@dataclass(frozen=True, slots=True, eq=False)
class _JsonConverter(_Converter):
    """Converts a JSON value; ``at`` is its JSON pointer."""

    def value(self, value: object, type_: Type, pointer: str) -> object:
        match type_:
            case Plain(scalar=scalar):
                return _scalar(value, scalar, pointer)
            case OneOf(values=values):
                return self._one_of(value, values, type_, pointer)
            case Union(options=options):
                return self.options.first(
                    value,
                    options,
                    lambda each, option: self.value(each, option, pointer),
                    _mismatch(pointer, type_),
                )
            case Named(name=name):
                return self._value_of_class(value, self.types.definitions[name], pointer)
            case Many(kind=kind, item=item) if isinstance(value, list):
                return _CONSTRUCTORS[kind](
                    self.value(each, item, f"{pointer}/{i}") for i, each in enumerate(value)
                )
            case Tuple(items=items) if isinstance(value, list) and len(value) == len(items):
                pairs = enumerate(zip(value, items, strict=True))
                return tuple(self.value(v, item, f"{pointer}/{i}") for i, (v, item) in pairs)
            case Dict(key=key, value=item) if isinstance(value, dict):
                return {
                    self._key(k, key, pointer): self.value(v, item, f"{pointer}/{k}")
                    for k, v in value.items()
                }
        raise _mismatch(pointer, type_)

    def _key(self, text: str, key: Type, pointer: str) -> object:
        """The value of a key, which is text in JSON."""
        match key:
            case Plain(scalar=Scalar.INT) if re.fullmatch(WHOLE, text):
                return int(text)
            case Plain(scalar=Scalar.BOOL) if text in ("true", "false"):
                return text == "true"
            case OneOf(values=values):
                for constant in values:
                    if key_text(json_of(constant, self.types.definitions)) == text:
                        return self.constant(constant)
            case Named(name=name) if isinstance(
                enumeration := self.types.definitions[name], Enumeration
            ):
                for member, value in member_values(enumeration).items():
                    if key_text(value) == text:
                        return self.factory.member(enumeration, member)
            case Plain(scalar=Scalar.STR):
                return text
        raise _mismatch(pointer, key)

    def _one_of(
        self,
        value: object,
        values: tuple[str | int | Member | None, ...],
        type_: Type,
        pointer: str,
    ) -> object:
        for literal in values:
            if _same(json_of(literal, self.types.definitions), value):
                return self.constant(literal)
        raise _mismatch(pointer, type_)

    def _value_of_class(
        self, value: object, definition: Record | Enumeration, pointer: str
    ) -> object:
        if isinstance(definition, Enumeration):
            for member, json_value in member_values(definition).items():
                if _same(json_value, value):
                    return self.factory.member(definition, member)
        elif isinstance(value, dict):
            return self._record(value, definition, pointer)
        raise _mismatch(pointer, Named(definition.name))

    def _record(self, value: dict[str, object], record: Record, pointer: str) -> object:
        fields = {field.name: field for field in record.fields}
        given = {}
        for name, each in value.items():
            if name not in fields:
                raise TypeMismatchError(f"{pointer}/{name}", f"{record.name} has no field {name}")
            given[name] = self.value(each, fields[name].type, f"{pointer}/{name}")
        if missing := missing_field(record, given):
            raise TypeMismatchError(
                pointer, f"expected {missing.name} among the fields of {record.name}"
            )
        return self.factory.instance(record, given)


def _scalar(value: object, scalar: Scalar, pointer: str) -> object:
    match scalar, value:
        case Scalar.NONE, None:
            return None
        case (Scalar.BOOL, bool()) | (Scalar.STR, str()):
            return value
        case ((Scalar.INT | Scalar.FLOAT), bool()):
            pass
        case Scalar.INT, int():
            return value
        case Scalar.INT, float() if value.is_integer():  # 1.0 is an integer in JSON Schema
            return int(value)
        case Scalar.FLOAT, int() | float():
            return as_float(value)
    raise _mismatch(pointer, Plain(scalar))


def _same(expected: object, value: object) -> bool:
    """Whether two JSON values are equal; ``true`` is not equal to 1."""
    return expected == value and isinstance(expected, bool) == isinstance(value, bool)
