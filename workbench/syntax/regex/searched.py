r"""Regexes in search mode (ECMA-262), and removal of anchors.

``parse_search`` parses the ``pattern`` of a JSON Schema, which has to match somewhere in a text.
There anchors, word boundaries, lookahead and lookbehind, which ``parse_regex`` rejects because a
whole text has to match, have a meaning and are returned as assertions.

``without_anchors`` is for terminals of GBNF and Lark. A terminal matches a whole text, so ``^``
and ``$`` at its edges have no effect; inside they would match nothing, and xgrammar drops them
there too. It also replaces JavaScript's ``\/`` and ``\cA``.
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

_CANDIDATE = re.compile(r"[\^$]|\\[c/]")
#: The lexemes of a regex: an escape, a class, an anchor, any other character.
_PIECES = re.compile(
    r"""(?P<slash>\\/) | \\c(?P<control>[A-Za-z]) | \\. | \[\^?\]?(?:[^\]\\]|\\.)*\]
      | (?P<anchor>[\^$]) | .""",
    re.VERBOSE | re.DOTALL,
)
#: The bit that distinguishes a letter from its control character.
_CONTROL = 0x40


def without_anchors(written: Unescaped) -> Unescaped:
    """The regex without anchors; characters keep their positions."""
    if not _CANDIDATE.search(written.text):
        return written
    pieces: list[str] = []
    places: list[int] = []
    for match in _PIECES.finditer(written.text):
        if match["anchor"]:
            continue
        piece, positions = match[0], list(written.places[match.start() : match.end()])
        if match["slash"]:
            piece = "/"
        elif match["control"]:
            piece = f"\\x{ord(match['control'].upper()) ^ _CONTROL:02x}"
        pieces.append(piece)
        # all characters of an escape have positions position
        places += positions if piece == match[0] else positions[:1] * len(piece)
    return Unescaped("".join(pieces), [*places, written.places[-1]])


class Kind(StrEnum):
    """The kind of an assertion."""

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
    """A condition on a position, which reads nothing; ``part`` is the regex of a lookaround."""

    kind: Kind
    part: Regex | None = None


#: Assertions by span; in the tree an assertion is an empty ``Concat`` with that span.
Assertions = dict[Span, Assertion]

_LOOKS = (Kind.BEHIND, Kind.NOT_BEHIND, Kind.AHEAD, Kind.NOT_AHEAD)
_BOUNDARIES = {r"\b": Kind.BOUNDARY, r"\B": Kind.INSIDE}


def parse_search(source: Source, clock: Clock | None = None) -> tuple[Regex, Assertions]:
    """The tree of a regex that has to match somewhere in a text, and positions assertions.

    Raises: ParseError
    """
    text = source.text
    reader = Reader(source, text, range(len(text) + 1), Dialect.ECMA, Flags())
    parser = _SearchParser(reader, clock, searched=False)
    return parser.parse(), parser.assertions


class _SearchParser(Parser):
    """The regex parser with assertions instead of anchors."""

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
