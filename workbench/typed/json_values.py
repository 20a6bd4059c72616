"""JSON becomes an instance of a type: what ``json.loads`` gives meets what was declared."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NoReturn

from workbench.errors import ParseError
from workbench.source import Source, Span
from workbench.typed.as_schema import WHOLE, json_of, key_text, member_values
from workbench.typed.definitions import type_text
from workbench.typed.fitting import Maker, as_float, too_deep
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

_MAKE: dict[Kind, Callable[[Iterable[object]], object]] = {
    Kind.LIST: list, Kind.SET: set, Kind.FROZENSET: frozenset, Kind.TUPLE: tuple,
}  # fmt: skip


def parse_json(types: Types, maker: Maker, source: Source, type_: Type) -> object:
    """The value of a type that a JSON text stands for.

    Where a union has options that JSON writes alike, it is the first of them.

    Raises: ParseError of kind ``syntax``, ``digits``, ``nesting`` or ``mismatch``.
    """
    whole = Span(0, len(source.text))
    try:
        value = json.loads(source.text, parse_constant=_no_constant)
        return _Fitting(types, maker).value(value, type_, "")
    except json.JSONDecodeError as error:
        what = f"expected JSON: {error.msg.lower()}"
        raise ParseError(what, source, Span(error.pos, error.pos)) from None
    except MisfitError as misfit:
        where = f"{misfit.place}: " if misfit.place else ""
        raise ParseError(where + misfit.message, source, whole, kind="mismatch") from None
    except RecursionError:
        raise too_deep(source) from None
    except ValueError as error:  # numerals of thousands of digits, NaN
        raise ParseError(str(error).lower(), source, whole, kind="digits") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON's")


@dataclass(frozen=True, slots=True, eq=False)
class _Fitting:
    """One text being fitted."""

    types: Types
    maker: Maker
    options: Options = field(default_factory=Options)

    def value(self, value: object, type_: Type, at: str) -> object:
        match type_:
            case Plain(scalar=scalar):
                return _scalar(value, scalar, at)
            case OneOf(values=values):
                return self._one_of(value, values, type_, at)
            case Union(options=options):
                return self.options.first(
                    value,
                    options,
                    lambda each, option: self.value(each, option, at),
                    _misfit(at, type_),
                )
            case Named(name=name):
                return self._named(value, self.types.definitions[name], at)
            case Many(kind=kind, item=item) if isinstance(value, list):
                return _MAKE[kind](
                    self.value(each, item, f"{at}/{i}") for i, each in enumerate(value)
                )
            case Tuple(items=items) if isinstance(value, list) and len(value) == len(items):
                pairs = enumerate(zip(value, items, strict=True))
                return tuple(self.value(v, item, f"{at}/{i}") for i, (v, item) in pairs)
            case Dict(key=key, value=item) if isinstance(value, dict):
                return {
                    self._key(k, key, at): self.value(v, item, f"{at}/{k}")
                    for k, v in value.items()
                }
        raise _misfit(at, type_)

    def _key(self, text: str, key: Type, at: str) -> object:
        """A key, which JSON writes as a text."""
        match key:
            case Plain(scalar=Scalar.INT) if re.fullmatch(WHOLE, text):
                return int(text)
            case Plain(scalar=Scalar.BOOL) if text in ("true", "false"):
                return text == "true"
            case OneOf(values=values):
                for constant in values:
                    if key_text(json_of(constant, self.types.definitions)) == text:
                        return self._constant(constant)
            case Named(name=name) if isinstance(one := self.types.definitions[name], Enumeration):
                for member, value in member_values(one).items():
                    if key_text(value) == text:
                        return self.maker.member(one, member)
            case Plain(scalar=Scalar.STR):
                return text
        raise _misfit(at, key)

    def _one_of(
        self, value: object, values: tuple[str | int | Member | None, ...], type_: Type, at: str
    ) -> object:
        for one in values:
            if _same(json_of(one, self.types.definitions), value):
                return self._constant(one)
        raise _misfit(at, type_)

    def _constant(self, one: str | int | Member | None) -> object:
        if not isinstance(one, Member):
            return one
        owner = self.types.definitions[one.owner]
        assert isinstance(owner, Enumeration), "checked when it was read"
        return self.maker.member(owner, one.name)

    def _named(self, value: object, one: Record | Enumeration, at: str) -> object:
        if isinstance(one, Enumeration):
            for member, known in member_values(one).items():
                if _same(known, value):
                    return self.maker.member(one, member)
        elif isinstance(value, dict):
            return self._record(value, one, at)
        raise _misfit(at, Named(one.name))

    def _record(self, value: dict[str, object], record: Record, at: str) -> object:
        fields = {one.name: one for one in record.fields}
        given = {}
        for name, each in value.items():
            if name not in fields:
                raise _told(f"{at}/{name}", f"{record.name} has no field {name}")
            given[name] = self.value(each, fields[name].type, f"{at}/{name}")
        if missing := lacking(record, given):
            raise _told(at, f"expected {missing.name} among the fields of {record.name}")
        return self.maker.instance(record, given)


def _scalar(value: object, scalar: Scalar, at: str) -> object:
    match scalar, value:
        case Scalar.NONE, None:
            return None
        case (Scalar.BOOL, bool()) | (Scalar.STR, str()):
            return value
        case ((Scalar.INT | Scalar.FLOAT), bool()):
            pass
        case Scalar.INT, int():
            return value
        case Scalar.INT, float() if value.is_integer():  # 1.0 is a whole number to JSON Schema
            return int(value)
        case Scalar.FLOAT, int() | float():
            return as_float(value)
    raise _misfit(at, Plain(scalar))


def _same(known: object, value: object) -> bool:
    """Whether two JSON values are one; ``true`` is not 1."""
    return known == value and isinstance(known, bool) == isinstance(value, bool)


def _misfit(at: str, type_: Type) -> MisfitError:
    return _told(at, f"expected {type_text(type_)}")


def _told(at: str, message: str) -> MisfitError:
    return MisfitError(at, at.count("/"), message)
