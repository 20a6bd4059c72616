"""Prints regex trees and character classes as patterns of one dialect."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

from workbench.base.source import Source
from workbench.syntax.ranges import ANY_CHARACTER, Ranges, difference
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Dialect
from workbench.syntax.regex.tree import Alternate, Characters, Concat, Group, Regex, Repeat

_ANY = "(?s:.)"
_NONE = "[^\\x00-\\U0010ffff]"
_ESCAPED = frozenset("\\]^-[&~")
_SPELLED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\v": "\\v"}
#: The first code points that need more than two, and more than four, hexadecimal digits.
_WIDE, _WIDER = 0x100, 0x10000


def class_text(ranges: Ranges) -> str:
    """A set as a class: ``[a-z]``, ``[^"]``, or the empty class."""
    if ranges == ANY_CHARACTER:
        return _ANY
    if not ranges:
        return _NONE
    outside = difference(ANY_CHARACTER, ranges)
    if len(outside) < len(ranges) or ranges[-1] == ANY_CHARACTER[-1]:
        return f"[^{members(outside)}]"
    return f"[{members(ranges)}]"


def members(ranges: Ranges) -> str:
    """The content of a class, without its brackets."""
    pieces = []
    for low, high in ranges:
        pieces.append(spelled(low))
        if high > low:
            pieces.append(("-" if high > low + 1 else "") + spelled(high))
    return "".join(pieces)


def spelled(code: int, signs: frozenset[str] = _ESCAPED) -> str:
    """One character in a regex, escaped if it is special or not printable."""
    character = chr(code)
    if character in _SPELLED:
        return _SPELLED[character]
    if character in signs:
        return f"\\{character}"
    if character.isprintable():
        return character
    if code < _WIDE:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < _WIDER else f"\\U{code:08x}"


_POSTFIX = {(0, 1): "?", (0, None): "*", (1, None): "+"}
#: Special characters outside classes.
_SPECIAL = frozenset(r"\.^$|?*+()[]{}")
#: A set of more ranges is written with ``\w``, ``\d`` or ``\s`` if that is shorter.
_MAX_RANGES = 8


def pattern(regex: Regex, dialect: Dialect | None = None) -> str:
    """The pattern of a regex built by ``automata.to_regex``.

    Law: Python's ``re``, Rust's ``regex`` and ``parse_regex`` in either dialect read it as the same
         language, except for labels, which only ``parse_regex`` supports. With a ``dialect``,
         large sets are written with its ``\\w``, ``\\d`` and ``\\s``; then the law holds for
         that dialect only.
    """
    classes = (r"\w", r"\d", r"\s") if dialect is not None else ()
    return _Writer(dialect or Dialect.PYTHON, classes).alternation(regex)


@dataclass(frozen=True, slots=True)
class _Writer:
    dialect: Dialect
    #: The class escapes to use.
    classes: tuple[str, ...]

    def alternation(self, regex: Regex) -> str:
        if isinstance(regex, Alternate):
            return "|".join(map(self._row, regex.options))
        return self._row(regex)

    def _row(self, regex: Regex) -> str:
        """An option of an alternation."""
        match regex:
            case Concat(parts):
                return "".join(map(self._row, parts))
            case Repeat(part, low, high):
                return self._atom(part) + _count(low, high)
            case Alternate():
                return self._atom(regex)
            case _:
                return self._characters(regex)

    def _atom(self, regex: Regex) -> str:
        """An operand of a repetition."""
        if isinstance(regex, Concat | Alternate | Repeat):
            return f"(?:{self.alternation(regex)})"
        return self._characters(regex)

    def _characters(self, regex: Regex) -> str:
        if isinstance(regex, Group):  # a label
            return f"(?P<{regex.name}>)"
        assert isinstance(regex, Characters), "regexes of automata have no other nodes"
        return _set(regex.ranges, self.dialect, self.classes)


@lru_cache(maxsize=1024)  # the same few sets occur in many patterns
def _set(ranges: Ranges, dialect: Dialect, classes: tuple[str, ...]) -> str:
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return spelled(ranges[0][0], _SPECIAL)
    rest = difference(ANY_CHARACTER, ranges)
    if rest == ((0x0A, 0x0A),):
        return "."
    candidates = [class_text(ranges)]
    for name in classes if len(ranges) > _MAX_RANGES else ():
        class_ranges = _class(name, dialect)
        if class_ranges in (ranges, rest):
            return name if class_ranges == ranges else name.upper()
        if not difference(class_ranges, ranges):
            candidates.append(f"[{name}{members(difference(ranges, class_ranges))}]")
        if not difference(class_ranges, rest):
            candidates.append(f"[^{name}{members(difference(rest, class_ranges))}]")
    return min(candidates, key=len)


def _count(low: int, high: int | None) -> str:
    if (low, high) in _POSTFIX:
        return _POSTFIX[low, high]
    if low == high:
        return f"{{{low}}}"
    return f"{{{low},{'' if high is None else high}}}"


@cache
def _class(written: str, dialect: Dialect) -> Ranges:
    """The set of a class escape."""
    regex = parse_regex(Source(written, "regex"), dialect=dialect)
    assert isinstance(regex, Characters), written
    return regex.ranges
