"""Prints the tree of a regex as a pattern of one dialect."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

from workbench.source import Source
from workbench.syntax.ranges import ANY_CHARACTER, difference
from workbench.syntax.regex.class_text import class_text, members, spelled
from workbench.syntax.regex.parser import Dialect, parse_regex
from workbench.syntax.regex.tree import Alternate, Characters, Concat, Group, Ranges, Regex, Repeat

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
