"""Spans: intervals with grids come in, the machine of the numerals inside them goes out.

A numeral is read digit by digit beside every bound: as long as the digits so far are those of the
bound, each next one decides or leaves it open. Whole parts are compared by their length first.
Beside that runs what the digits leave when they are divided by the period of a grid.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from workbench.automata.dfa import Dfa
from workbench.automata.explore import explore
from workbench.automata.minimize import minimize
from workbench.limits import LIMITS, Limits
from workbench.schema.decimals import decimal_places, digits, scientific
from workbench.schema.grids import Grid
from workbench.schema.pieces import End, Piece

#: The classes of bytes in numerals: the digits are their own numbers.
MINUS, PLUS, POINT, EXPONENT, OTHER = range(10, 15)

CLASSES = np.full(256, OTHER, np.uint16)
CLASSES[[ord(sign) for sign in "0123456789-+.eE"]] = [*range(10), 10, 11, 12, 13, 13]
CLASSES.setflags(write=False)

#: How the number so far compares with a bound: below it, above it, or its digits so far.
BELOW, EQUAL, ABOVE = -1, 0, 1
_ZERO = Fraction(0)


class _Place(NamedTuple):
    """Where the reading of a numeral stands."""

    part: str
    negative: bool = False
    #: Digits read of the whole part, or after the point, as far as they count.
    read: int = 0
    #: How the size of the number compares with each bound of its sign.
    compared: tuple[int, ...] = ()
    #: For each grid what its period leaves, or −1 where the number is between its points.
    left: tuple[int, ...] = ()


_BEGIN, _MINUS, _WHOLE, _POINT, _FRACTION = "begin", "minus", "whole", "point", "fraction"
_E, _E_SIGN, _POWER = "e", "e sign", "power"


def of_spans(pieces: Sequence[Piece], limits: Limits = LIMITS) -> Dfa:
    """The numerals of disjoint pieces; with any exponent where the pieces ask for signs alone."""
    reading = _Reading.of(pieces)
    found = explore(_Place(_BEGIN), reading.step, reading.is_final, CLASSES, limits)
    return minimize(found, limits)


def only_signs(pieces: Sequence[Piece]) -> bool:
    """Whether the pieces hold or leave out the negative numbers, 0 and the positive ones whole."""
    ends = {end.number for piece in pieces for end in (piece.low, piece.high) if end}
    return ends <= {_ZERO} and all(piece.grid.is_everything for piece in pieces)


def _decided(before: int, digit: int, expected: str) -> int:
    """How digits compare with others when one more is read."""
    if before != EQUAL:
        return before
    known = int(expected)
    return (digit > known) - (digit < known)


def _around(pieces: Sequence[Piece], sizes: dict[Fraction, int], place: _Place) -> Iterator[Piece]:
    """The pieces between whose ends a number lies, by how its size compares with their sizes."""
    sign = -1 if place.negative else 1

    def past(end: End) -> bool:
        # a bound that was not compared is 0 or of the other sign
        decided = sign * sizes.get(end.number, ABOVE)
        return decided == ABOVE or (decided == EQUAL and not end.after)

    for piece in pieces:
        if (piece.low is None or past(piece.low)) and (piece.high is None or not past(piece.high)):
            yield piece


class _Bound(NamedTuple):
    """A bound's size, as digits before and after the point."""

    whole: str
    part: str


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a numeral is read beside."""

    pieces: Sequence[Piece]
    #: For positive and for negative numerals: the sizes of their bounds, 0 among them.
    sizes: tuple[tuple[Fraction, ...], tuple[Fraction, ...]]
    bounds: tuple[tuple[_Bound, ...], tuple[_Bound, ...]]
    grids: tuple[Grid, ...]
    #: Of each grid the digits after the point of its step, and its period in units of the last.
    places: tuple[int, ...]
    moduli: tuple[int, ...]
    #: More digits of a whole part, or after the point, tell no bound or grid apart.
    most_whole: int
    most_part: int
    exponents: bool

    @staticmethod
    def of(pieces: Sequence[Piece]) -> _Reading:
        """The bounds and grids of pieces."""
        ends = {end.number for piece in pieces for end in (piece.low, piece.high) if end}
        sizes = (
            tuple(sorted({_ZERO, *(n for n in ends if n > 0)})),
            tuple(sorted({_ZERO, *(-n for n in ends if n < 0)})),
        )
        bounds = tuple(tuple(_Bound(*digits(size)) for size in side) for side in sizes)
        grids = tuple(dict.fromkeys(p.grid for p in pieces if not p.grid.is_everything))
        places = tuple(decimal_places(grid.step) for grid in grids)
        moduli = tuple(
            int(grid.step * 10**place) * grid.period
            for grid, place in zip(grids, places, strict=True)
        )
        every = [bound for side in bounds for bound in side]
        return _Reading(
            pieces=pieces,
            sizes=sizes,
            bounds=(bounds[0], bounds[1]),
            grids=grids,
            places=places,
            moduli=moduli,
            most_whole=max(len(bound.whole) for bound in every) + 1,
            most_part=max([len(bound.part) for bound in every] + list(places)),
            exponents=only_signs(pieces),
        )

    def step(self, place: _Place) -> list[_Place | None]:
        """The places after each class of bytes."""
        part = place.part
        after: list[_Place | None] = [None] * (OTHER + 1)
        if part == _BEGIN:
            after[MINUS] = place._replace(part=_MINUS, negative=True)
        if part in (_BEGIN, _MINUS):
            for digit in range(10):
                after[digit] = self._whole(place, digit)
        elif part == _WHOLE:
            if not self._is_leading_zero(place):
                for digit in range(10):
                    after[digit] = self._whole(place, digit)
            after[POINT] = self._at_point(place)
        elif part in (_POINT, _FRACTION):
            for digit in range(10):
                after[digit] = self._fraction(place, digit)
        elif part in (_E, _E_SIGN, _POWER):
            after[:10] = [place._replace(part=_POWER)] * 10
            if part == _E:
                after[PLUS] = after[MINUS] = place._replace(part=_E_SIGN)
        if self.exponents and part in (_WHOLE, _FRACTION):
            after[EXPONENT] = place._replace(part=_E)
        return after

    def _is_leading_zero(self, place: _Place) -> bool:
        # the first bound is 0: a whole part that equals it so far is its one digit
        return place.compared[0] == EQUAL

    def _whole(self, place: _Place, digit: int) -> _Place:
        """One more digit before the point."""
        bounds = self.bounds[place.negative]
        count = min(place.read + 1, self.most_whole)
        before = place.compared or (EQUAL,) * len(bounds)
        compared = tuple(
            ABOVE if count > len(bound.whole) else _decided(b, digit, bound.whole[count - 1])
            for b, bound in zip(before, bounds, strict=True)
        )
        left = place.left or (0,) * len(self.grids)
        left = tuple((10 * r + digit) % m for r, m in zip(left, self.moduli, strict=True))
        return _Place(_WHOLE, place.negative, count, compared, left)

    def _at_point(self, place: _Place) -> _Place:
        """The whole part is over: a shorter one is a smaller one."""
        bounds = self.bounds[place.negative]
        compared = tuple(
            BELOW if place.read < len(bound.whole) else b
            for b, bound in zip(place.compared, bounds, strict=True)
        )
        return _Place(_POINT, place.negative, 0, compared, place.left)

    def _fraction(self, place: _Place, digit: int) -> _Place:
        """One more digit after the point."""
        bounds = self.bounds[place.negative]
        compared = tuple(
            _decided(b, digit, bound.part[place.read : place.read + 1] or "0")
            for b, bound in zip(place.compared, bounds, strict=True)
        )
        left = tuple(
            (10 * r + digit) % m if r >= 0 and place.read < e else (r if digit == 0 else -1)
            for r, m, e in zip(place.left, self.moduli, self.places, strict=True)
        )
        return _Place(
            _FRACTION, place.negative, min(place.read + 1, self.most_part), compared, left
        )

    def is_final(self, place: _Place) -> bool:
        """Whether a numeral may end here, and its number is in a piece."""
        if place.part == _WHOLE:
            place = self._at_point(place)
        elif place.part not in (_FRACTION, _POWER):
            return False
        read = place.read
        compared = {}
        for size, bound, b in zip(
            self.sizes[place.negative], self.bounds[place.negative], place.compared, strict=True
        ):
            if b == EQUAL and len(bound.part) > read:
                b = BELOW
            compared[-size if place.negative else size] = b
        return any(
            self._on_grid(piece.grid, place) for piece in _around(self.pieces, compared, place)
        )

    def _on_grid(self, grid: Grid, place: _Place) -> bool:
        if grid.is_everything:
            return True
        which = self.grids.index(grid)
        left, places = place.left[which], self.places[which]
        if left < 0:
            return grid.between
        left *= 10 ** max(0, places - place.read)
        unit = int(grid.step * 10**places)
        if left % unit:
            return grid.between
        steps = left // unit % grid.period
        return (-steps if place.negative else steps) % grid.period in grid.members


def of_exponents(pieces: Sequence[Piece], limits: Limits = LIMITS) -> Dfa:
    """The numerals with one digit before the point, not 0, and an exponent, of disjoint pieces.

    The pieces have no grid.
    """
    reading = _Scientific.of(pieces)
    found = explore(_Place(_BEGIN), reading.step, reading.is_final, CLASSES, limits)
    return minimize(found, limits)


class _Mantissa(NamedTuple):
    """A bound as it is written with an exponent."""

    number: Fraction
    digits: str
    exponent: int


@dataclass(frozen=True, slots=True)
class _Scientific:
    """What a numeral with an exponent is read beside; its places hold the power in ``left``."""

    pieces: Sequence[Piece]
    #: Of positive and of negative numerals.
    bounds: tuple[tuple[_Mantissa, ...], tuple[_Mantissa, ...]]
    #: Powers of ten beyond this, either way, tell no bounds apart.
    most: int

    @staticmethod
    def of(pieces: Sequence[Piece]) -> _Scientific:
        """The bounds of pieces."""
        ends = {end.number for piece in pieces for end in (piece.low, piece.high) if end}
        positive = tuple(_Mantissa(n, *scientific(n)) for n in sorted(ends) if n > 0)
        negative = tuple(_Mantissa(n, *scientific(-n)) for n in sorted(ends) if n < 0)
        powers = [abs(bound.exponent) for bound in (*positive, *negative)]
        return _Scientific(pieces, (positive, negative), max(powers, default=0) + 1)

    def step(self, place: _Place) -> list[_Place | None]:
        """The places after each class of bytes."""
        part = place.part
        after: list[_Place | None] = [None] * (OTHER + 1)
        if part == _BEGIN:
            after[MINUS] = place._replace(part=_MINUS, negative=True)
        if part in (_BEGIN, _MINUS):
            for digit in range(1, 10):
                after[digit] = self._read(place, digit, _WHOLE)
        elif part in (_POINT, _FRACTION):
            for digit in range(10):
                after[digit] = self._read(place, digit, _FRACTION)
        elif part in (_E, _E_SIGN, _POWER):
            for digit in range(10):
                after[digit] = self._power(place, digit)
        if part == _WHOLE:
            after[POINT] = place._replace(part=_POINT)
        if part in (_WHOLE, _FRACTION):
            after[EXPONENT] = place._replace(part=_E, left=(1, 0))
        if part == _E:
            after[PLUS] = place._replace(part=_E_SIGN)
            after[MINUS] = place._replace(part=_E_SIGN, left=(-1, 0))
        return after

    def _read(self, place: _Place, digit: int, part: str) -> _Place:
        """One more digit of the mantissa."""
        bounds = self.bounds[place.negative]
        before = place.compared or (EQUAL,) * len(bounds)
        compared = tuple(
            _decided(b, digit, bound.digits[place.read : place.read + 1] or "0")
            for b, bound in zip(before, bounds, strict=True)
        )
        most = max((len(bound.digits) for bound in bounds), default=0)
        return _Place(part, place.negative, min(place.read + 1, most), compared)

    def _power(self, place: _Place, digit: int) -> _Place:
        sign, power = place.left
        return place._replace(part=_POWER, left=(sign, min(10 * power + digit, self.most)))

    def is_final(self, place: _Place) -> bool:
        """Whether a numeral may end here, and its number is in a piece."""
        if place.part != _POWER:
            return False
        power = place.left[0] * place.left[1]
        compared = {}
        for bound, b in zip(self.bounds[place.negative], place.compared, strict=True):
            if b == EQUAL and len(bound.digits) > place.read:
                b = BELOW
            if power != bound.exponent:
                b = ABOVE if power > bound.exponent else BELOW
            compared[bound.number] = b
        return any(_around(self.pieces, compared, place))
