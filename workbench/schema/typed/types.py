"""Python types as immutable records; errors about values of the wrong type.

A class is referred to by its name, so types can be recursive; ``Types`` has the definition of each
name. The equality of types ignores spans.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from workbench.base.source import NO_SPAN, Source, Span

#: The text of a default that is not a literal: the field has a default, but its value is unknown.
OPAQUE = "..."


class Scalar(Enum):
    """The types of values that contain no other values."""

    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    STR = "str"
    NONE = "None"


@dataclass(frozen=True, slots=True)
class Plain:
    """``int``, ``float``, ``bool``, ``str`` or ``None``."""

    scalar: Scalar
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an enumeration in a ``Literal``."""

    owner: str
    name: str


@dataclass(frozen=True, slots=True)
class OneOf:
    """``Literal[…]``: one of these values; ``1`` and ``True`` are different."""

    values: tuple[str | int | Member | None, ...]
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Union:
    """``A | B``; ``Optional[A]`` is ``A | None``. At least two options, none of them a union."""

    options: tuple[Type, ...]
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


class Kind(Enum):
    """The collections with a single item type."""

    LIST = "list"
    SET = "set"
    FROZENSET = "frozenset"
    TUPLE = "tuple"


@dataclass(frozen=True, slots=True)
class Many:
    """``list[T]``, ``set[T]``, ``frozenset[T]`` or ``tuple[T, ...]``."""

    kind: Kind
    item: Type
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Tuple:
    """``tuple[A, B]``: a fixed number of items, each with a type."""

    items: tuple[Type, ...]
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Dict:
    """``dict[K, V]``."""

    key: Type
    value: Type
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Named:
    """A dataclass or an enumeration, by its name."""

    name: str
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


Type = Plain | OneOf | Union | Many | Tuple | Dict | Named


def _parts(type_: Type) -> tuple[Type, ...]:
    """The component types of a type, in written order."""
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
    """A type and all its component types; names are not resolved."""
    yield type_
    for part in _parts(type_):
        yield from inside(part)


@dataclass(frozen=True, slots=True)
class Field:
    """A keyword of the constructor."""

    name: str
    type: Type
    #: The default as Python text, ``OPAQUE`` if it is not a literal; None without a default.
    default: str | None = None
    #: The span of the name.
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Record:
    """A dataclass: the fields of its constructor, including inherited ones, in declared order."""

    name: str
    fields: tuple[Field, ...]
    #: Whether instances are hashable, as those of a frozen dataclass.
    hashable: bool = False
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Enumeration:
    """An ``Enum``: names, aliases, and the text of each value (``OPAQUE`` if no literal)."""

    name: str
    members: tuple[tuple[str, str], ...]
    #: Its base classes as written: ``("str", "Enum")``.
    bases: tuple[str, ...] = ("Enum",)
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


Definition = Record | Enumeration


@dataclass(frozen=True, slots=True, eq=False)
class Types:
    """Definitions by name, if possible in order of dependency; and the root."""

    root: str
    definitions: Mapping[str, Definition]
    #: The text in which the spans are.
    source: Source


V = TypeVar("V")


class TypeMismatchError(Exception):
    """A value is not of a type; ``instances`` converts it to a ParseError."""

    def __init__(self, position: Span | str, message: str) -> None:
        super().__init__(message)
        #: Its position: a span, or a JSON pointer.
        self.place = position
        #: How far into the value the error is; the larger, the more of the value was accepted.
        self.depth = position.start if isinstance(position, Span) else position.count("/")
        self.message = message


@dataclass(frozen=True, slots=True, eq=False)
class UnionOptions:
    """Tries the options of unions on the values of one text, each option of a value once.

    Without this cache, nested unions that fail at the innermost level would be tried in every
    combination.
    """

    failed: dict[tuple[int, str], TypeMismatchError] = field(default_factory=dict)

    def first(
        self,
        value: V,
        options: Sequence[Type],
        convert: Callable[[V, Type], object],
        mismatch: TypeMismatchError,
    ) -> object:
        """The value as an instance of the first option that accepts it.

        A whole number becomes a float only if no other option accepts it.

        Raises: the error of the option that accepted most of the value, or ``mismatch``.
        """
        for option in sorted(options, key=lambda each: each == Plain(Scalar.FLOAT)):
            tried = id(value), repr(option)
            if tried not in self.failed:
                try:
                    return convert(value, option)
                except TypeMismatchError as error:
                    self.failed[tried] = error
            if self.failed[tried].depth > mismatch.depth:
                mismatch = self.failed[tried]
        raise mismatch


def missing_field(record: Record, given: Collection[str]) -> Field | None:
    """The first required field that is not given."""
    missing = (
        field for field in record.fields if field.default is None and field.name not in given
    )
    return next(missing, None)
