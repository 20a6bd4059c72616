"""Measure: a regex tree comes in, how large its machine must become goes out."""

from __future__ import annotations

from workbench.automata.utf8 import character_machine
from workbench.errors import LimitError
from workbench.limits import Limits
from workbench.syntax.regex_tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Group,
    Regex,
    Repeat,
)

#: The bytes of the shortest and of the longest text; None where there is no longest.
Lengths = tuple[int, int | None]

_LAST_ASCII = 0x7F
_HINT = "shorten the regex, or lower the bound of a repetition"


def check_size(regex: Regex, limits: Limits) -> None:
    """Raise LimitError if the machine is sure to be too large, before any state is made."""
    if _size(regex) > limits.unrolled:
        raise LimitError(
            f"the counted repetitions need more than {limits.unrolled:,} states",
            "unrolled",
            "lower the bound of a repetition, or use '*' or '+'",
        )
    lengths = _lengths(regex)
    if lengths is not None:
        # the shortest text passes each state at most once, and so does any where all are finite
        shortest, longest = lengths
        limits.check("states", 1 + (shortest if longest is None else longest), _HINT)


def simple_repeat(regex: Repeat) -> tuple[Regex, int, int | None]:
    """A repetition with the same texts: ``(x?){n}`` as ``x{0,n}``, ``(x*){2,}`` as ``x*``."""
    part, low, high = regex.part, regex.low, regex.high
    while True:
        if isinstance(part, Group):
            part = part.part
        elif isinstance(part, Repeat) and part.low == 0 and (part.high == 1 or part.high is None):
            low, high = 0, (None if part.high is None and high != 0 else high)
            part = part.part
        else:
            return part, low, high


def _size(regex: Regex) -> int:
    """States the regex needs once its repetitions are unrolled, about."""
    match regex:
        case Characters(ranges) if ranges and ranges[-1][1] <= _LAST_ASCII:
            return 1
        case Characters(ranges):
            return max(1, len(character_machine(ranges).edges) - 1)
        case Bytes():
            return 1
        case Group(part):
            return _size(part)
        case Concat(parts) | Alternate(parts):
            return 1 + sum(map(_size, parts))
        case Repeat():
            part, low, high = simple_repeat(regex)
            return 2 + _size(part) * (max(low, 1) if high is None else high)


def _lengths(regex: Regex) -> Lengths | None:
    """The bytes of the shortest and the longest text; no longest if unbounded, None if no text."""
    match regex:
        case Characters(ranges) if ranges:
            return _utf8_length(ranges[0][0]), _utf8_length(ranges[-1][1])
        case Bytes(ranges) if ranges:
            return 1, 1
        case Group(part):
            return _lengths(part)
        case Concat(parts):
            every = [_lengths(part) for part in parts]
            return None if None in every else _sum([one for one in every if one])
        case Alternate(options):
            some = [one for one in map(_lengths, options) if one]
            return _widest(some) if some else None
        case Repeat(part, low, high):
            return _repeated(_lengths(part), low, high)
    return None


def _utf8_length(code: int) -> int:
    return len(chr(code).encode())


def _sum(parts: list[Lengths]) -> Lengths:
    longest = _longest(parts)
    return sum(least for least, _ in parts), None if longest is None else sum(longest)


def _widest(options: list[Lengths]) -> Lengths:
    longest = _longest(options)
    return min(least for least, _ in options), None if longest is None else max(longest)


def _longest(parts: list[Lengths]) -> list[int] | None:
    """The longest text of each part; None if one has none."""
    longest = [most for _, most in parts if most is not None]
    return longest if len(longest) == len(parts) else None


def _repeated(part: Lengths | None, low: int, high: int | None) -> Lengths | None:
    if part is None:
        return (0, 0) if low == 0 else None
    least, most = part
    if most == 0 or high == 0:
        return 0, 0
    return least * low, None if most is None or high is None else most * high
