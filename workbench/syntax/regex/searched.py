r"""Regexes that are searched for (ECMA-262), and regexes without their anchors.

A terminal matches the whole of a text wherever it stands, so ``^`` and ``$`` at its edges say
nothing; inside they would match nothing anywhere, and xgrammar, whose grammars have them there,
drops them as well. ``\/`` and ``\cA`` are JavaScript's.

What ``parse_regex`` refuses because the whole of a text has to match says something here: anchors,
word boundaries, and what has to follow or stand before a place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from workbench.base.limits import Clock
from workbench.base.source import Source, Span, Unescaped
from workbench.syntax.regex.parser import Parser
from workbench.syntax.regex.reader import Dialect, Flags, Reader
from workbench.syntax.regex.tree import Concat, Regex

_CONCERNED = re.compile(r"[\^$]|\\[c/]")
#: A regex by its pieces: an escape, a class, an anchor, anything else.
_PIECES = re.compile(
    r"""(?P<slash>\\/) | \\c(?P<control>[A-Za-z]) | \\. | \[\^?\]?(?:[^\]\\]|\\.)*\]
      | (?P<anchor>[\^$]) | .""",
    re.VERBOSE | re.DOTALL,
)
#: A control character is a letter without this bit.
_CONTROL = 0x40


def without_anchors(written: Unescaped) -> Unescaped:
    """The regex, each of its characters with its place."""
    if not _CONCERNED.search(written.text):
        return written
    told: list[str] = []
    places: list[int] = []
    for match in _PIECES.finditer(written.text):
        if match["anchor"]:
            continue
        piece, its = match[0], list(written.places[match.start() : match.end()])
        if match["slash"]:
            piece = "/"
        elif match["control"]:
            piece = f"\\x{ord(match['control'].upper()) ^ _CONTROL:02x}"
        told.append(piece)
        # what was written as one escape has one place
        places += its if piece == match[0] else its[:1] * len(piece)
    return Unescaped("".join(told), [*places, written.places[-1]])


class Kind(StrEnum):
    """What an assertion asks of its place."""

    START = "^"
    END = "$"
    BOUNDARY = r"\b"
    INSIDE = r"\B"
    AHEAD = "(?="
    NOT_AHEAD = "(?!"
    BEHIND = "(?<="
    NOT_BEHIND = "(?<!"


@dataclass(frozen=True, slots=True)
class Assertion:
    """Something that holds of a place and reads nothing; ``part`` is what is looked for there."""

    kind: Kind
    part: Regex | None = None


#: Assertions by their place; in the tree one is an empty ``Concat`` with that span.
Assertions = dict[Span, Assertion]

_LOOKS = (Kind.BEHIND, Kind.NOT_BEHIND, Kind.AHEAD, Kind.NOT_AHEAD)
_BOUNDARIES = {r"\b": Kind.BOUNDARY, r"\B": Kind.INSIDE}


def parse_search(source: Source, clock: Clock | None = None) -> tuple[Regex, Assertions]:
    """The tree of a regex that has to match somewhere in a text, and its assertions.

    Raises: ParseError with the place, what was expected and a way out.
    """
    text = source.text
    reader = Reader(source, text, range(len(text) + 1), Dialect.ECMA, Flags())
    parser = _SearchParser(reader, clock, searched=False)
    return parser.parse(), parser.assertions


class _SearchParser(Parser):
    """The parser of regexes, with assertions kept as they come."""

    def __init__(self, reader: Reader, clock: Clock | None, *, searched: bool) -> None:
        super().__init__(reader, clock, searched=searched)
        self.assertions: Assertions = {}

    def _anchor(self, start: int, *, at_start: bool, of_lines: bool) -> Regex:
        if of_lines:
            return super()._anchor(start, at_start=at_start, of_lines=of_lines)
        return self._asserted(start, Assertion(Kind.START if at_start else Kind.END))

    def _escape(self) -> Regex:
        reader = self.reader
        start = reader.at
        kind = _BOUNDARIES.get(reader.text[start : start + 2])
        if kind is None:
            return super()._escape()
        reader.at += 2
        return self._asserted(start, Assertion(kind))

    def _group(self) -> Regex | None:
        reader = self.reader
        start = reader.at
        kind = next((kind for kind in _LOOKS if reader.take(kind)), None)
        if kind is None:
            return super()._group()
        reader.enter(start)
        outside = reader.flags
        part = self._alternation()
        reader.flags = outside
        if not reader.take(")"):
            raise reader.fail("expected ')' to close the group", reader.span(start))
        reader.leave()
        return self._asserted(start, Assertion(kind, part))

    def _asserted(self, start: int, assertion: Assertion) -> Regex:
        span = self.reader.span(start)
        self.assertions[span] = assertion
        return Concat((), span)
