"""A tree of values becomes an instance of a type: what a text says meets what was declared.

How instances come to be is a ``Maker``'s matter: calls of the real classes, or records where a
definition was only read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from workbench.errors import ParseError
from workbench.source import Source, Span
from workbench.typed.definitions import type_text, value_text
from workbench.typed.misfits import MisfitError, Options, lacking
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


def parse_call(types: Types, maker: Maker, source: Source, type_: Type) -> object:
    """The value of a type that a text stands for: of the root's, its instance.

    Every text of ``call_tree`` is read, and some more: see ``values``.

    Raises: ParseError of kind ``syntax``, ``bad_escape``, ``digits``, ``nesting`` or ``mismatch``.
    """
    value = read_value(source)
    try:
        return _Fitting(types, maker).value(value, type_)
    except MisfitError as misfit:
        place = misfit.place
        assert isinstance(place, Span), "raised below"
        raise ParseError(misfit.message, source, place, kind="mismatch") from None
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
    options: Options = field(default_factory=Options)

    def value(self, value: Value, type_: Type) -> object:
        match type_, value:
            case Plain(scalar=scalar), _:
                return self._scalar(value, scalar, type_)
            case OneOf(values=values), _:
                return self._one_of(value, values, type_)
            case Union(options=options), _:
                return self.options.first(value, options, self.value, _misfit(value, type_))
            case Named(name=name), _:
                return self._named(value, self.types.definitions[name])
            case Many(kind=kind, item=item), _:
                return self._many(value, kind, item, type_)
            case Tuple(items=items), Items(bracket="(", items=given) if len(given) == len(items):
                return tuple(self.value(one, item) for one, item in zip(given, items, strict=True))
            case Dict(key=key, value=item), Pairs(pairs=pairs):
                return {self.value(k, key): self.value(v, item) for k, v in pairs}
        raise _misfit(value, type_)

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
        raise _misfit(value, type_)

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
                case int(), Number(value=int(given)) if given == one and type(one) is int:
                    return one
        raise _misfit(value, type_)

    def _named(self, value: Value, definition: Record | Enumeration) -> object:
        match definition, value:
            case Enumeration(name=owner, members=members), Word(name=name):
                member = name.removeprefix(f"{owner}.")
                if member != name and member in dict(members):
                    return self.maker.member(definition, member)
            case Record(name=name), Call(name=called, given=()) if called == name:
                return self._record(value, definition)
        raise _misfit(value, Named(definition.name))

    def _record(self, call: Call, record: Record) -> object:
        fields = {one.name: one for one in record.fields}
        given = {}
        for keyword, value in call.keywords:
            if keyword not in fields:
                raise _told(value.span, f"{record.name} has no field {keyword}")
            given[keyword] = self.value(value, fields[keyword].type)
        if missing := lacking(record, given):
            bracket = Span(call.span.end - 1, call.span.end)
            raise _told(bracket, f"expected {missing.name}= in {record.name}(…)")
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
        raise _misfit(value, type_)


def as_float(number: float) -> float:
    """A whole number as a float; one that no float is equal to stays what it is."""
    try:
        return number if isinstance(number, float) or float(number) != number else float(number)
    except OverflowError:
        return number


def _misfit(value: Value, type_: Type) -> MisfitError:
    return _told(value.span, f"expected {type_text(type_)}")


def _told(span: Span, message: str) -> MisfitError:
    return MisfitError(span, span.start, message)
