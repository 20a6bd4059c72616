"""Exponents: intervals come in, the machine of the numerals inside them with an exponent goes out.

One digit that is not 0 stands before the point, so the exponent alone says how large a number is
as long as it is not that of a bound; where it is, the digits say it. With any number of digits
before the point the two could make up for each other, and no machine counts that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from workbench.automata.dfa import Dfa
from workbench.limits import LIMITS, Limits
from workbench.schema.numbers import digit_reading as reading
from workbench.schema.numbers.decimals import scientific
from workbench.schema.numbers.digit_reading import ABOVE, BELOW, EQUAL, Place, Way
from workbench.schema.numbers.pieces import Piece


def of_exponents(pieces: Sequence[Piece], limits: Limits = LIMITS) -> Dfa:
    """The numerals ``d.ddde±dd`` of disjoint pieces without grids.

    Raises: LimitError where bounds are too large or too small.
    """
    numerals = _Scientific.of(pieces)
    return reading.machine_of(numerals.ways, numerals.is_final, limits)


class _Bound(NamedTuple):
    """A bound as it is written with an exponent."""

    number: Fraction
    digits: tuple[int, ...]
    power: int


def _bound(number: Fraction) -> _Bound:
    digits, power = scientific(abs(number))
    return _Bound(number, tuple(map(int, digits)), power)


@dataclass(frozen=True, slots=True)
class _Scientific:
    """What a numeral is read beside; places hold the exponent's sign and size in ``left``."""

    pieces: Sequence[Piece]
    #: Of positive and of negative numerals.
    bounds: tuple[tuple[_Bound, ...], tuple[_Bound, ...]]
    #: The exponents of the bounds, as they are written without a sign.
    powers: frozenset[str]
    #: Exponents beyond this, either way, tell no bounds apart.
    most: int

    @staticmethod
    def of(pieces: Sequence[Piece]) -> _Scientific:
        """The bounds of pieces."""
        ends = {end.number for piece in pieces for end in (piece.low, piece.high) if end}
        positive = tuple(_bound(number) for number in sorted(ends) if number > 0)
        negative = tuple(_bound(number) for number in sorted(ends) if number < 0)
        powers = {abs(bound.power) for bound in (*positive, *negative)}
        most = max(powers, default=0) + 1
        return _Scientific(pieces, (positive, negative), frozenset(map(str, powers)), most)

    def ways(self, place: Place) -> Iterator[Way]:
        """The ways on from a place."""
        part = place.part
        if part == reading.BEGIN:
            yield reading.sign(b"-", place._replace(part=reading.SIGNED, negative=True))
        if part in (reading.BEGIN, reading.SIGNED):
            marks = self._marks(place)
            yield from reading.digits(marks, lambda d: self._read(place, d, reading.WHOLE), 1)
        if part == reading.WHOLE:
            yield reading.sign(b".", place._replace(part=reading.POINT))
        if part in (reading.POINT, reading.FRACTION):
            marks = self._marks(place)
            yield from reading.digits(marks, lambda d: self._read(place, d, reading.FRACTION))
        if part in (reading.WHOLE, reading.FRACTION):
            for letter in (b"e", b"E"):
                yield reading.sign(letter, place._replace(part=reading.MARKED, left=(1, 0)))
        if part == reading.MARKED:
            signed = place._replace(part=reading.POWER_SIGNED)
            yield reading.sign(b"+", signed)
            yield reading.sign(b"-", signed._replace(left=(-1, 0)))
        if part in (reading.MARKED, reading.POWER_SIGNED, reading.POWER):
            yield from reading.digits(range(10), lambda digit: self._power(place, digit))

    def _marks(self, place: Place) -> set[int]:
        """The digits that lead elsewhere than their neighbours."""
        at = place.read
        return {b.digits[at] if at < len(b.digits) else 0 for b in self.bounds[place.negative]}

    def _read(self, place: Place, digit: int, part: str) -> Place:
        """One more digit."""
        bounds, at = self.bounds[place.negative], place.read
        before = place.compared or (EQUAL,) * len(bounds)
        compared = tuple(
            reading.decided(b, digit, bound.digits[at] if at < len(bound.digits) else 0)
            for b, bound in zip(before, bounds, strict=True)
        )
        most = max((len(bound.digits) for bound in bounds), default=0)
        return Place(part, place.negative, min(at + 1, most), compared)

    def _power(self, place: Place, digit: int) -> Place:
        turned, power = place.left
        power = self._like(min(10 * power + digit, self.most))
        return place._replace(part=reading.POWER, left=(turned, power))

    def _like(self, power: int) -> int:
        """The least exponent that no digits after it tell from this one.

        They compare alike with the bounds' own up to where these have as many digits: beside 308
        one of 309 is the least of 13. With each by itself, the bounds of a double took 2 seconds.
        """
        length = len(str(power))
        beginnings = {int(other[:length]) for other in self.powers if len(other) >= length}
        if not power or power in beginnings:
            return power
        least: int = 10 ** (length - 1)
        return max([least, *(one + 1 for one in beginnings if one < power)])

    def is_final(self, place: Place) -> bool:
        """Whether a numeral may end here, and its number is in a piece."""
        if place.part != reading.POWER:
            return False
        power = place.left[0] * place.left[1]
        sizes = {}
        for b, bound in zip(place.compared, self.bounds[place.negative], strict=True):
            if power != bound.power:
                b = ABOVE if power > bound.power else BELOW
            elif b == EQUAL and len(bound.digits) > place.read:
                b = BELOW
            sizes[bound.number] = b
        return any(reading.around(self.pieces, sizes, place))
