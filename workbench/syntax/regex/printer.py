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
#: From here on a number needs more than two, and more than four, hexadecimal digits.
_WIDE, _WIDER = 0x100, 0x10000


def class_text(ranges: Ranges) -> str:
    """``[a-z]``, ``[^"]``, or a class of no character at all."""
    if ranges == ANY_CHARACTER:
        return _ANY
    if not ranges:
        return _NONE
    outside = difference(ANY_CHARACTER, ranges)
    if len(outside) < len(ranges) or ranges[-1] == ANY_CHARACTER[-1]:
        return f"[^{members(outside)}]"
    return f"[{members(ranges)}]"


def members(ranges: Ranges) -> str:
    """What stands between the brackets of a class."""
    told = []
    for low, high in ranges:
        told.append(spelled(low))
        if high > low:
            told.append(("-" if high > low + 1 else "") + spelled(high))
    return "".join(told)


def spelled(code: int, signs: frozenset[str] = _ESCAPED) -> str:
    """One character in a regex, escaped where it is one of the signs or cannot be seen."""
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
#: What means something outside brackets.
_SIGNS = frozenset(r"\.^$|?*+()[]{}")
#: A set of so many ranges is looked for among the classes that have letters.
_MANY = 8


def pattern(regex: Regex, dialect: Dialect | None = None) -> str:
    """The pattern of a regex made of the parts ``terms`` makes.

    Law: Python's ``re``, Rust's ``regex`` and ``parse_regex`` in either dialect read it as the same
         language, but for labels, which ``parse_regex`` alone knows. With a ``dialect``, large sets
         are told by its ``\\w``, ``\\d``, ``\\s``, and only that dialect does: what these letters
         mean differs.
    """
    classes = (r"\w", r"\d", r"\s") if dialect is not None else ()
    return _Writer(dialect or Dialect.PYTHON, classes).alternation(regex)


@dataclass(frozen=True, slots=True)
class _Writer:
    dialect: Dialect
    #: Sets that may be told by a letter.
    classes: tuple[str, ...]

    def alternation(self, regex: Regex) -> str:
        if isinstance(regex, Alternate):
            return "|".join(map(self._row, regex.options))
        return self._row(regex)

    def _row(self, regex: Regex) -> str:
        """What may stand between two bars."""
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
        """What a count may follow."""
        if isinstance(regex, Concat | Alternate | Repeat):
            return f"(?:{self.alternation(regex)})"
        return self._characters(regex)

    def _characters(self, regex: Regex) -> str:
        if isinstance(regex, Group):  # a label
            return f"(?P<{regex.name}>)"
        assert isinstance(regex, Characters), "all that is left"
        return _set(regex.ranges, self.dialect, self.classes)


@lru_cache(maxsize=1024)  # a machine has few sets, and patterns are made of all that grows
def _set(ranges: Ranges, dialect: Dialect, classes: tuple[str, ...]) -> str:
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return spelled(ranges[0][0], _SIGNS)
    rest = difference(ANY_CHARACTER, ranges)
    if rest == ((0x0A, 0x0A),):
        return "."
    told = [class_text(ranges)]
    for name in classes if len(ranges) > _MANY else ():
        known = _class(name, dialect)
        if known in (ranges, rest):
            return name if known == ranges else name.upper()
        if not difference(known, ranges):
            told.append(f"[{name}{members(difference(ranges, known))}]")
        if not difference(known, rest):
            told.append(f"[^{name}{members(difference(rest, known))}]")
    return min(told, key=len)


def _count(low: int, high: int | None) -> str:
    if (low, high) in _POSTFIX:
        return _POSTFIX[low, high]
    if low == high:
        return f"{{{low}}}"
    return f"{{{low},{'' if high is None else high}}}"


@cache
def _class(written: str, dialect: Dialect) -> Ranges:
    """The set a letter stands for."""
    regex = parse_regex(Source(written, "regex"), dialect=dialect)
    assert isinstance(regex, Characters), written
    return regex.ranges
