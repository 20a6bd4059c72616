"""Regexes that are read in one way: each next character says which part of the regex reads it.

Most terminals of programming languages are of this kind. Where nothing is chosen, the order of a
matcher's attempts does not matter.

Source: Brüggemann-Klein & Wood 1998, "One-unambiguous regular languages".
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

from workbench.syntax.ranges import ANY_CHARACTER, Ranges, intersection, union
from workbench.syntax.regex.tree import (
    Alternate,
    Characters,
    Combined,
    Concat,
    Group,
    Look,
    Regex,
    Repeat,
)


class Reading(NamedTuple):
    """What decides how a regex is read."""

    #: Whether it may match the empty text.
    nullable: bool
    #: The characters that a text may begin with.
    first: Ranges
    #: The characters by which a text may be continued to a longer one.
    after: Ranges
    #: Whether a matcher may prefer a text to a longer one.
    prefers_less: bool = False


_EMPTY = Reading(nullable=True, first=(), after=())


def reading(regex: Regex) -> Reading | None:
    """How a regex is read; None if some character can be read by two parts of it.

    Assertions are left out: with them, fewer texts are read, and in the same way.
    """
    match regex:
        case Characters(ranges):
            return Reading(nullable=False, first=ranges, after=())
        case Look():
            return _EMPTY
        case Group(part):
            return reading(part)
        case Concat(parts):
            nothing: Reading | None = _EMPTY
            return reduce(_in_sequence, map(reading, parts), nothing)
        case Alternate(options):
            return _of_options([*map(reading, options)])
        case Repeat():
            return _of_copies(regex)
        case _:
            return None  # bytes and extensions


def is_read_greedily(regex: Regex) -> bool:
    """Whether a matcher that is given a text of the regex certainly matches all of the text."""
    way = reading(regex)
    return way is not None and not way.prefers_less


def first_characters(regex: Regex) -> tuple[Ranges, bool]:
    """At least the characters that a text may begin with, and whether it may be empty."""
    match regex:
        case Characters(ranges):
            return ranges, False
        case Look():
            return (), True
        case Group(part):
            return first_characters(part)
        case Concat(parts):
            first: Ranges = ()
            for part in parts:
                ranges, nullable = first_characters(part)
                first = union(first, ranges)
                if not nullable:
                    return first, False
            return first, True
        case Alternate(options):
            firsts = [*map(first_characters, options)]
            return union(*(ranges for ranges, _ in firsts)), any(empty for _, empty in firsts)
        case Repeat(part, low):
            ranges, nullable = first_characters(part)
            return ranges, nullable or low == 0
        case Combined(_, (whole, *_)):
            return first_characters(whole)
        case _:
            return ANY_CHARACTER, True


def _in_sequence(left: Reading | None, right: Reading | None) -> Reading | None:
    if left is None or right is None:
        return None
    if intersection(left.after, right.first):
        return None
    if left.nullable and intersection(left.first, right.first):
        return None
    after, prefers_less = right.after, right.prefers_less
    if right.nullable:
        after = union(after, right.first, left.after)
        prefers_less |= left.prefers_less
    first = union(left.first, right.first) if left.nullable else left.first
    return Reading(left.nullable and right.nullable, first, after, prefers_less)


def _of_options(options: list[Reading | None]) -> Reading | None:
    first: Ranges = ()
    after: Ranges = ()
    for option in options:
        if option is None or intersection(first, option.first):
            return None
        first, after = union(first, option.first), union(after, option.after)
    ways = [option for option in options if option is not None]
    empty = [index for index, option in enumerate(ways) if option.nullable]
    prefers_less = any(option.prefers_less for option in ways) or empty not in (
        [],
        [len(ways) - 1],
    )
    return Reading(bool(empty), first, after, prefers_less)


def _of_copies(regex: Repeat) -> Reading | None:
    part = reading(regex.part)
    if part is None or (part.nullable and regex.high != 1):
        return None
    if regex.high == 0:
        return _EMPTY
    several = regex.high is None or regex.high > 1
    if several and intersection(part.after, part.first):
        return None
    is_counted = regex.low == regex.high
    after = union(part.after, part.first) if several and not is_counted else part.after
    lazy = regex.lazy and not is_counted
    return Reading(part.nullable or regex.low == 0, part.first, after, part.prefers_less or lazy)
