"""Misfits: a value and types in, which of them it fits out, or what is said of one it does not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from workbench.typed.types import Field, Plain, Record, Scalar, Type

V = TypeVar("V")


class MisfitError(Exception):
    """A value is not of a type; whoever reads the whole text makes a ParseError of it."""

    def __init__(self, place: object, depth: int, message: str) -> None:
        super().__init__(message)
        #: Where in its text: a span, or a JSON pointer.
        self.place = place
        #: The larger, the more of the value had fitted before.
        self.depth = depth
        self.message = message


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """Tries the options of unions on the values of one text, none of them twice.

    Unions in unions that fail at the bottom would else be tried in every combination.
    """

    failed: dict[tuple[int, str], MisfitError] = field(default_factory=dict)

    def first(
        self,
        value: V,
        options: Sequence[Type],
        fitted: Callable[[V, Type], object],
        misfit: MisfitError,
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
                except MisfitError as error:
                    self.failed[tried] = error
            if self.failed[tried].depth > misfit.depth:
                misfit = self.failed[tried]
        raise misfit


def lacking(record: Record, given: Collection[str]) -> Field | None:
    """The first field without a default that is not given."""
    missing = (one for one in record.fields if one.default is None and one.name not in given)
    return next(missing, None)
