"""Reading digits: places of a numeral and the ways on from each come in, its machine goes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from workbench.automata.dfa import DEAD, Dfa
from workbench.automata.explore import trimmed
from workbench.automata.minimize import minimize
from workbench.limits import Limits
from workbench.schema.numbers.pieces import End, Piece

#: How the size of a number so far compares with a bound: below it, its digits so far, above it.
BELOW, EQUAL, ABOVE = -1, 0, 1

#: The parts of a numeral.
BEGIN, SIGNED, WHOLE, POINT, FRACTION = "begin", "signed", "whole", "point", "fraction"
MARKED, POWER_SIGNED, POWER = "marked", "power signed", "power"


class Place(NamedTuple):
    """Where the reading of a numeral stands."""

    part: str = BEGIN
    negative: bool = False
    #: Digits read of the part, as far as they count.
    read: int = 0
    #: How the size of the number compares with each bound of its sign.
    compared: tuple[int, ...] = ()
    #: What digits leave besides.
    left: tuple[int, ...] = ()


#: States a place counts as: 5,000 of them take 0.2 s.
SPENT = 20
#: The bytes of numerals; a run of digits is one of columns. Column 0 is that of all other bytes.
_SIGNS = b"+-.0123456789Ee"
_COLUMNS = {byte: column for column, byte in enumerate(_SIGNS, 1)}
_CLASSES = np.array([_COLUMNS.get(byte, 0) for byte in range(256)], np.uint16)

#: The first and last byte of a run, and the place to which each leads.
Way = tuple[int, int, Place]


def sign(byte: bytes, place: Place) -> Way:
    """The way of a single byte."""
    return byte[0], byte[0], place


def digits(marks: Iterable[int], after: Callable[[int], Place], first: int = 0) -> Iterator[Way]:
    """The ways of the digits from ``first`` on; those between the marks lead to one place."""
    cuts = {first, 10, *marks, *(mark + 1 for mark in marks)}
    for low, end in pairwise(sorted(cut for cut in cuts if first <= cut <= 10)):
        yield 0x30 + low, 0x2F + end, after(low)


def machine_of(
    ways: Callable[[Place], Iterable[Way]], is_final: Callable[[Place], bool], limits: Limits
) -> Dfa:
    """The smallest machine whose states are the places reached from the beginning.

    No byte leads from a place to two others.
    """
    clock = limits.clock()
    waiting = [Place()]
    numbers = {waiting[0]: 0}
    rows = []
    for here in waiting:  # grows while it is read
        row = [DEAD] * (len(_SIGNS) + 1)
        for low, high, there in ways(here):
            number = numbers.setdefault(there, len(waiting))
            if number == len(waiting):
                waiting.append(there)
            first = _COLUMNS[low]
            row[first : first + high - low + 1] = [number] * (high - low + 1)
        rows.append(row)
        limits.check("states", SPENT * len(waiting), "choose bounds and multiples of fewer digits")
        clock.check()
    finals = np.array([is_final(place) for place in waiting], np.bool_)
    whole = trimmed(_CLASSES, np.array(rows, np.int32), finals, 0)
    return minimize(whole, limits, clock)


def decided(before: int, digit: int, expected: int) -> int:
    """How digits compare with others when one more is read."""
    return before or (digit > expected) - (digit < expected)


def around(pieces: Sequence[Piece], sizes: dict[Fraction, int], place: Place) -> Iterator[Piece]:
    """The pieces between whose ends a number lies, by how its size compares with their sizes."""
    turned = -1 if place.negative else 1

    def past(end: End) -> bool:
        # a bound that was not compared is 0 or of the other sign
        compared = turned * sizes.get(end.number, ABOVE)
        return compared == ABOVE or (compared == EQUAL and not end.after)

    for piece in pieces:
        if (piece.low is None or past(piece.low)) and (piece.high is None or not past(piece.high)):
            yield piece
