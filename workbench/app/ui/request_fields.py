"""The fields of requests: how each is checked when it is read from JSON.

A text has a bound, a number is clipped to its bounds, and what has another form is an error that
names the field. ``sent`` is the type for scripts (``wire_declarations``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationInfo
from pydantic_core.core_schema import CoreSchema, with_info_plain_validator_function

from workbench.base.errors import WorkbenchError

#: Characters of a grammar or a prompt at most.
MAX_TEXT_CHARACTERS = 50_000

_Fields = Mapping[str, Any]


def checked_text(value: object, name: str, most: int = MAX_TEXT_CHARACTERS) -> str:
    """A text as UTF-8 can hold it.

    Raises: WorkbenchError where it is not a text or too long.
    """
    if not isinstance(value, str):
        raise WorkbenchError(f"expected a text as {name}")
    if len(value) > most:
        raise WorkbenchError(
            f"the {name} has {len(value):,} characters; this page takes at most {most:,}",
            "use the command line, or the library, for larger ones",
        )
    # a lone surrogate cannot be written as UTF-8; browsers send them for broken pastes
    return value.encode("utf-8", "replace").decode("utf-8")


def checked_number(value: object, name: str, low: float, high: float) -> float:
    """A number, clipped to bounds.

    Raises: WorkbenchError where it is not a number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise WorkbenchError(f"expected a number as {name}, not {value!r}")
    return min(high, max(low, value))


def checked_switch(value: object, name: str) -> bool:
    """A switch; false for null.

    Raises: WorkbenchError where it is neither true nor false.
    """
    value = value or False
    if not isinstance(value, bool):
        raise WorkbenchError(f"expected true or false as {name}, not {value!r}")
    return value


def checked_flag(value: object, _: str) -> bool:
    """Whether a value is there: not null, false, zero or empty."""
    return bool(value)


def text_in(fields: _Fields, name: str, most: int = MAX_TEXT_CHARACTERS) -> str:
    """A text field. Raises: as ``checked_text``."""
    return checked_text(fields.get(name, ""), name, most)


def texts_in(value: object, name: str, most: int, longest: int) -> list[str]:
    """The first ``most`` texts of a list, each with at most ``longest`` characters.

    Raises: WorkbenchError where it is no such list.
    """
    if not isinstance(value, list):
        raise WorkbenchError("expected a list of texts")
    return [checked_text(each, name, longest) for each in value[:most]]


def bytes_in(value: object, _: str = "") -> bytes:
    """Bytes sent as hexadecimal digits.

    Raises: WorkbenchError where they are malformed, or too many.
    """
    if not isinstance(value, str) or len(value) > 2 * MAX_TEXT_CHARACTERS:
        raise WorkbenchError("expected bytes as hexadecimal digits")
    try:
        return bytes.fromhex(value)
    except ValueError:
        raise WorkbenchError("expected bytes as hexadecimal digits") from None


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """How a field is read from JSON."""

    #: Called with the value and what is known of the request: the field's name, earlier fields.
    check: Callable[[Any, ValidationInfo], Any]
    #: The type of its JSON.
    sent: Any

    def __get_pydantic_core_schema__(self, _: Any, __: Any) -> CoreSchema:  # noqa: ANN401
        return with_info_plain_validator_function(self.check)


def field(check: Callable[..., Any], *bounds: Any, sent: Any) -> Checked:  # noqa: ANN401
    """A field that ``check(value, name, *bounds)`` reads."""
    return Checked(lambda value, info: check(value, info.field_name, *bounds), sent)


def up_to(most: int = MAX_TEXT_CHARACTERS) -> Checked:
    """A text with at most so many characters."""
    return field(checked_text, most, sent=str)


def number(low: float, high: float) -> Checked:
    """A number, clipped to bounds."""
    return field(checked_number, low, high, sent=float)


def integer(low: int, high: int) -> Checked:
    """An integer, clipped to bounds; its fraction is cut."""
    return field(lambda *value: int(checked_number(*value)), low, high, sent=int)


def optional(kind: Checked) -> Checked:
    """A field of another kind, or null."""
    return Checked(
        lambda value, info: None if value is None else kind.check(value, info), kind.sent | None
    )
