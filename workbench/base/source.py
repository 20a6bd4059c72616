"""Source texts and positions in them: spans, lines and columns, underlined excerpts."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, TypeVar

from workbench.base.cached_property import cached_property

_Class = TypeVar("_Class")
_Value = TypeVar("_Value")


def quick_init(cls: type[_Class]) -> type[_Class]:
    """A frozen dataclass with slots that is made quickly: reading a grammar makes thousands.

    Until its fields are written, an object is one of a class with the same slots that is not
    frozen. This takes 0.4 of the time of the generated ``__init__``, which calls ``__setattr__``,
    and 0.75 of that of writing the frozen slots by their descriptors.
    """
    its = fields(cls)  # type: ignore[arg-type]  # of dataclasses only
    names = [field.name for field in its]
    scope: dict[str, Any] = {f"default_{field.name}": field.default for field in its}
    scope["unfrozen"] = type(cls.__name__, cls.__bases__, {"__slots__": tuple(names)})
    scope |= {"made_class": cls, "same": object()}
    parameters = [
        field.name if field.default is MISSING else f"{field.name}=default_{field.name}"
        for field in its
    ]
    lines = [
        f"def __new__(cls, {', '.join(parameters)}):",
        "    made = unfrozen()",
        *(f"    made.{name} = {name}" for name in names),
        "    made.__class__ = made_class",
        "    return made",
        "def __reduce__(self):",  # the inherited one makes an object without arguments
        f"    return made_class, ({''.join(f'self.{name}, ' for name in names)})",
        f"def __replace__(self, *, {', '.join(f'{name}=same' for name in names)}):",
        "    made = unfrozen()",
        *(f"    made.{name} = self.{name} if {name} is same else {name}" for name in names),
        "    made.__class__ = made_class",
        "    return made",
    ]
    exec("\n".join(lines), scope)
    del cls.__init__
    cls.__new__, cls.__reduce__ = scope["__new__"], scope["__reduce__"]  # type: ignore[method-assign]
    cls.__replace__ = scope["__replace__"]  # type: ignore[attr-defined]
    return cls


def replaced(node: _Value, **changes: Any) -> _Value:  # noqa: ANN401  # as of its fields
    """A ``quick_init`` object with other values of some fields, as of ``dataclasses.replace``."""
    copy: _Value = node.__replace__(**changes)  # type: ignore[attr-defined]
    return copy


@dataclass(frozen=True, slots=True, init=False)
class Span:
    """A half-open range ``start:end`` of a text, counted in characters (code points)."""

    start: int
    end: int

    def __init__(self, start: int, end: int) -> None:
        if not 0 <= start <= end:
            raise ValueError(f"a span needs 0 <= start <= end, not {start}:{end}")
        _set_start(self, start)
        _set_end(self, end)

    def to(self, other: Span) -> Span:
        """The smallest span that covers this one and a later one."""
        return Span(min(self.start, other.start), max(self.end, other.end))

    def shifted(self, offset: int) -> Span:
        """The same range in a text that contains this text at ``offset``."""
        return Span(self.start + offset, self.end + offset)


#: Half of the nodes of a small grammar are spans; the generated ``__init__`` took twice the time.
_set_start, _set_end = vars(Span)["start"].__set__, vars(Span)["end"].__set__

#: The span of what no text contains.
NO_SPAN = Span(0, 0)
#: Half of a surrogate pair, which no encoded text contains.
SURROGATE = re.compile("[\ud800-\udfff]")

#: The most characters of a label.
_LONGEST_LABEL = 40
#: The most characters of a line that a message shows.
_LONGEST_LINE = 160


@dataclass(frozen=True)
class Source:
    """A text with the name that messages call it: a file's name, ``regex``, ``grammar``."""

    text: str
    name: str

    @cached_property
    def _line_starts(self) -> tuple[int, ...]:
        breaks = (i + 1 for i, character in enumerate(self.text) if character == "\n")
        return (0, *breaks)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both counted from 1.

        The position after a final line break belongs to the line before it, so that no message
        points at a line that does not exist.
        """
        offset = min(offset, len(self.text))
        if offset == len(self.text) and self.text.endswith("\n"):
            offset -= 1
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def part(self, span: Span, name: str = "") -> Source:
        """The text at a span, at its lines and columns: what is before it is blank."""
        before = re.sub(r"[^\n]", " ", self.text[: span.start])
        return Source(before + self.text[span.start : span.end], name or self.name)

    def label(self, span: Span) -> str:
        """The text at a span in one line, shortened: the label of what it was made into."""
        text = " ".join(self.text[span.start : span.end].split())
        return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its line break."""
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start:] if end < 0 else self.text[start:end]

    def underline(self, span: Span) -> str:
        """The line on which a span starts, with carets below the part of the span on that line.

        Of a long line it shows what is around the start of the span.
        """
        number, column = self.position(span.start)
        text = self.line(number)
        width = max(1, min(span.end - span.start, len(text) - column + 1))
        prefix = f"{number} | "
        # half a surrogate pair cannot be printed
        text = SURROGATE.sub("\ufffd", text)
        if len(text) > _LONGEST_LINE:
            start = max(0, min(column - 1 - _LONGEST_LINE // 2, len(text) - _LONGEST_LINE))
            end = start + _LONGEST_LINE
            width = max(1, min(width, end - column + 1))
            prefix += "…" if start > 0 else ""
            text, column = text[start:end] + ("…" if end < len(text) else ""), column - start
        pad = "".join("\t" if c == "\t" else " " for c in text[: column - 1])
        return f"{prefix}{text}\n{' ' * len(prefix)}{pad}{'^' * width}"


@dataclass(frozen=True, slots=True, eq=False)
class Unescaped:
    """The text between quotes, with its escapes resolved."""

    text: str
    #: The source position of each character of ``text``, and that of the closing quote.
    places: Sequence[int]
    #: How the source writes a backslash of the text: twice where it resolves escapes.
    backslash: str = "\\"
