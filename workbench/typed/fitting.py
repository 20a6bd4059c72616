"""A tree of values becomes an instance of a type: what a text says meets what was declared.

How instances come to be is a ``Maker``'s matter: calls of the real classes, or records where a
definition was only read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

from workbench.errors import ParseError
from workbench.source import Source, Span
from workbench.typed.definitions import type_text, value_text
from workbench.typed.types import (
    Dict,
    Enumeration,
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
    Union,
)
from workbench.typed.values import Call, Items, Number, Pairs, Text, Value, Word, read_value

_WORDS = {"None": None, "True": True, "False": False}


class Maker(Protocol):
    """Makes instances and members."""

    def instance(self, record: Record, given: Mapping[str, object]) -> object: ...
    def member(self, owner: Enumeration, name: str) -> object: ...


class _Misfit(Exception):  # noqa: N818  # never leaves this module
    """A value is not of a type: where, and what was expected."""

    def __init__(self, span: Span, message: str) -> None:
        super().__init__(message)
        self.span = span
        self.message = message


def parse_call(types: Types, maker: Maker, source: Source, type_: Type) -> object:
    """The value of a type that a text stands for: of the root's, its instance.

    Every text of ``call_tree`` is read, and some more: see ``values``.

    Raises: ParseError of kind ``syntax``, ``bad_escape``, ``digits``, ``nesting`` or ``mismatch``.
    """
    value = read_value(source)
    try:
        return _Fitting(types, maker).value(value, type_)
    except _Misfit as misfit:
        raise ParseError(misfit.message, source, misfit.span, kind="mismatch") from None
    except RecursionError:
        raise too_deep(source) from None


def too_deep(source: Source) -> ParseError:
    """What is said of a text with more brackets in brackets than Python's own stack can take."""
    whole = Span(0, len(source.text))
    return ParseError("nested too deeply to be made into objects", source, whole, kind="nesting")


@dataclass(frozen=True, slots=True, eq=False)
class _Fitting:
    """One text being fitted."""

    types: Types
    maker: Maker
    #: Which values were tried as which options of a union in vain: never twice.
    failed: dict[tuple[int, str], _Misfit] = field(default_factory=dict)

    def value(self, value: Value, type_: Type) -> object:
        match type_, value:
            case Plain(scalar=scalar), _:
                return self._scalar(value, scalar, type_)
            case OneOf(values=values), _:
                return self._one_of(value, values, type_)
            case Union(options=options), _:
                return self._union(value, options)
            case Named(name=name), _:
                return self._named(value, self.types.definitions[name])
            case Many(kind=kind, item=item), _:
                return self._many(value, kind, item, type_)
            case Tuple(items=items), Items(bracket="(", items=given) if len(given) == len(items):
                return tuple(self.value(one, item) for one, item in zip(given, items, strict=True))
            case Dict(key=key, value=item), Pairs(pairs=pairs):
                return {self.value(k, key): self.value(v, item) for k, v in pairs}
        return _misfit(value, type_)

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
        return _misfit(value, type_)

    def _one_of(
        self, value: Value, values: tuple[str | int | Member | None, ...], type_: Type
    ) -> object:
        for one in values:
            match one, value:
                case Member(owner=owner, name=name), Word(name=given) if given == value_text(one):
                    enumeration = self.types.definitions[owner]
                    assert isinstance(enumeration, Enumeration), "checked when it was read"
                    return self.maker.member(enumeration, name)
                case str(), Text(value=given) if given == one:
                    return one
                case bool() | None, Word(name=given) if given == str(one):
                    return one
                case int(), Number(value=int(given)) if given == one and one is not True:
                    return one
        return _misfit(value, type_)

    def _union(self, value: Value, options: tuple[Type, ...]) -> object:
        """The first option it fits; a whole number is a float only where nothing else takes it."""
        furthest: _Misfit | None = None
        for option in sorted(options, key=lambda one: one == Plain(Scalar.FLOAT)):
            tried = id(value), repr(option)
            if tried not in self.failed:
                try:
                    return self.value(value, option)
                except _Misfit as misfit:
                    self.failed[tried] = misfit
            failed = self.failed[tried]
            if furthest is None or failed.span.start > furthest.span.start:
                furthest = failed
        if furthest is not None and furthest.span.start > value.span.start:
            raise furthest
        return _misfit(value, Union(options))

    def _named(self, value: Value, definition: Record | Enumeration) -> object:
        match definition, value:
            case Enumeration(name=owner, members=members), Word(name=name):
                member = name.removeprefix(f"{owner}.")
                if member != name and member in dict(members):
                    return self.maker.member(definition, member)
            case Record(name=name), Call(name=called, given=()) if called == name:
                return self._record(value, definition)
        return _misfit(value, Named(definition.name))

    def _record(self, call: Call, record: Record) -> object:
        fields = {one.name: one for one in record.fields}
        given = {}
        for keyword, value in call.keywords:
            if keyword not in fields:
                raise _Misfit(value.span, f"{record.name} has no field {keyword}")
            given[keyword] = self.value(value, fields[keyword].type)
        for one in record.fields:
            if one.default is None and one.name not in given:
                end = Span(max(call.span.start, call.span.end - 1), call.span.end)
                raise _Misfit(end, f"expected {one.name}= in {record.name}(…)")
        return self.maker.instance(record, given)

    def _many(self, value: Value, kind: Kind, item: Type, type_: Type) -> object:
        match kind, value:
            case Kind.LIST, Items(bracket="[", items=items):
                return [self.value(one, item) for one in items]
            case Kind.TUPLE, Items(bracket="(", items=items):
                return tuple(self.value(one, item) for one in items)
            case Kind.SET, Items(bracket="{", items=items):
                return {self.value(one, item) for one in items}
            case Kind.SET, Call(name="set", keywords=(), given=()):
                return set()
            case Kind.FROZENSET, Call(name="frozenset", keywords=(), given=()):
                return frozenset()
            case Kind.FROZENSET, Call(
                name="frozenset", keywords=(), given=(Items(bracket="{", items=items),)
            ):
                return frozenset(self.value(one, item) for one in items)
        return _misfit(value, type_)


def as_float(number: float) -> float:
    """A whole number as a float; one that no float is equal to stays what it is."""
    try:
        return float(number) if float(number) == number or number != number else number
    except OverflowError:
        return number


def _misfit(value: Value, type_: Type) -> NoReturn:
    raise _Misfit(value.span, f"expected {type_text(type_)}")
