"""Python types as values, names in their text, and errors about values that do not fit.

A class is spoken of by its name, so that types can be recursive; ``Types`` knows what the names
stand for. Two types are equal where they mean the same, wherever they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from workbench.base.source import Source, Span

_NOWHERE = Span(0, 0)
#: The text of a default that is not written as a literal: there is one, and that is all we know.
OPAQUE = "..."


class Scalar(Enum):
    """The types of values that hold no others."""

    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    STR = "str"
    NONE = "None"


@dataclass(frozen=True, slots=True)
class Plain:
    """``int``, ``float``, ``bool``, ``str`` or ``None``."""

    scalar: Scalar
    span: Span = field(default=_NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an enumeration, as ``Literal`` names one."""

    owner: str
    name: str


@dataclass(frozen=True, slots=True)
class OneOf:
    """``Literal[…]``: any of these values; ``1`` and ``True`` are two."""

    values: tuple[str | int | Member | None, ...]
    span: Span = field(default=_NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Union:
    """``A | B``; ``Optional[A]`` is ``A | None``. At least two, none a union."""

    options: tuple[Type, ...]
    span: Span = field(default=_NOWHERE, compare=False, repr=False)


class Kind(Enum):
    """The collections whose items are all of one type."""

    LIST = "list"
    SET = "set"
    FROZENSET = "frozenset"
    TUPLE = "tuple"


@dataclass(frozen=True, slots=True)
class Many:
    """``list[T]``, ``set[T]``, ``frozenset[T]`` or ``tuple[T, ...]``."""

    kind: Kind
    item: Type
    span: Span = field(default=_NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Tuple:
    """``tuple[A, B]``: so many items, each of its own type."""

    items: tuple[Type, ...]
    span: Span = field(default=_NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Dict:
    """``dict[K, V]``."""

    key: Type
    value: Type
    span: Span = field(default=_NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Named:
    """A dataclass or an enumeration, by its name."""

    name: str
    span: Span = field(default=_NOWHERE, compare=False, repr=False)


Type = Plain | OneOf | Union | Many | Tuple | Dict | Named


def _parts(type_: Type) -> tuple[Type, ...]:
    """The types a type is made of, in the order they are written."""
    match type_:
        case Union(options=options):
            return options
        case Many(item=item):
            return (item,)
        case Tuple(items=items):
            return items
        case Dict(key=key, value=value):
            return (key, value)
    return ()


def inside(type_: Type) -> Iterator[Type]:
    """A type, and every type written in it; names are not followed."""
    yield type_
    for part in _parts(type_):
        yield from inside(part)


@dataclass(frozen=True, slots=True)
class Field:
    """A keyword of the constructor."""

    name: str
    type: Type
    #: The default as Python text, ``OPAQUE`` where that is no literal; None where there is none.
    default: str | None = None
    #: The place of the name.
    span: Span = field(default=_NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Record:
    """A dataclass: the fields its constructor takes, inherited ones too, in declared order."""

    name: str
    fields: tuple[Field, ...]
    #: Whether instances can be items of a set and keys, as those of a frozen dataclass.
    hashable: bool = False
    span: Span = field(default=_NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Enumeration:
    """An ``Enum``: names, aliases too, and the text of each value (``OPAQUE`` if no literal)."""

    name: str
    members: tuple[tuple[str, str], ...]
    #: The classes it is made of, as they are written: ``("str", "Enum")``.
    bases: tuple[str, ...] = ("Enum",)
    span: Span = field(default=_NOWHERE, compare=False, repr=False)


Definition = Record | Enumeration


@dataclass(frozen=True, slots=True, eq=False)
class Types:
    """Definitions by name, those a definition needs before it where they can be; and the root."""

    root: str
    definitions: Mapping[str, Definition]
    #: The text the places are in.
    source: Source


V = TypeVar("V")


class TypeMismatchError(Exception):
    """A value is not of a type; whoever reads the whole text makes a ParseError of it."""

    def __init__(self, place: object, depth: int, message: str) -> None:
        super().__init__(message)
        #: Where in its text: a span, or a JSON pointer.
        self.place = place
        #: The larger, the more of the value had fitted before.
        self.depth = depth
        self.message = message


@dataclass(frozen=True, slots=True, eq=False)
class UnionOptions:
    """Tries the options of unions on the values of one text, none of them twice.

    Unions in unions that fail at the bottom would else be tried in every combination.
    """

    failed: dict[tuple[int, str], TypeMismatchError] = field(default_factory=dict)

    def first(
        self,
        value: V,
        options: Sequence[Type],
        fitted: Callable[[V, Type], object],
        misfit: TypeMismatchError,
    ) -> object:
        """The value as the first option it fits.

        A whole number is a float only where nothing else takes it.

        Raises: the MisfitError of the option that fitted furthest, or the one of them all.
        """
        for option in sorted(options, key=lambda one: one == Plain(Scalar.FLOAT)):
            tried = id(value), repr(option)
            if tried not in self.failed:
                try:
                    return fitted(value, option)
                except TypeMismatchError as error:
                    self.failed[tried] = error
            if self.failed[tried].depth > misfit.depth:
                misfit = self.failed[tried]
        raise misfit


def missing_field(record: Record, given: Collection[str]) -> Field | None:
    """The first field without a default that is not given."""
    missing = (one for one in record.fields if one.default is None and one.name not in given)
    return next(missing, None)
