"""Exact sets of numbers: unions of intervals, each with a grid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import isfinite

from workbench.base.dfa import Dfa
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.schema.intervals import (
    EVERYTHING,
    INTEGERS,
    End,
    Interval,
    multiples,
)
from workbench.schema.numerals import numerals_machine

#: A JSON number in Python; a float means the shortest decimal that is parsed to it.
Number = int | float | Decimal | Fraction


@dataclass(frozen=True, slots=True)
class NumberSet:
    """A set of numbers by value: ``1``, ``1.0`` and ``1e0`` are one number, and so are 0 and -0.

    The intervals are sorted, disjoint and not empty. ``digits_only``: the numerals have no
    fraction and no exponent, which is so for ``type: integer``. In a conjunction one part with
    this property is enough, in a union all parts need it, a complement never has it.
    """

    intervals: tuple[Interval, ...] = ()
    digits_only: bool = False

    @staticmethod
    def everything() -> NumberSet:
        """Every number."""
        return _EVERYTHING

    @staticmethod
    def nothing() -> NumberSet:
        """No number."""
        return _NOTHING

    @staticmethod
    def integers() -> NumberSet:
        """Every integer, written with digits only."""
        return _INTEGERS

    @staticmethod
    def of(numbers: Iterable[Number]) -> NumberSet:
        """Exactly these numbers."""
        values = sorted({exact(number) for number in numbers})
        return NumberSet(tuple(Interval(End(v), End(v, after=True), EVERYTHING) for v in values))

    @staticmethod
    def interval(
        low: Number | None = None,
        high: Number | None = None,
        *,
        open_low: bool = False,
        open_high: bool = False,
    ) -> NumberSet:
        """The numbers from ``low`` to ``high``; an open end is not among them."""
        first = None if low is None else End(exact(low), after=open_low)
        last = None if high is None else End(exact(high), after=not open_high)
        return _merge_intervals([Interval(first, last, EVERYTHING)])

    @staticmethod
    def multiples(of: Number) -> NumberSet:
        """The multiples of a number above 0."""
        return NumberSet((Interval(None, None, multiples(exact(of))),))

    def __and__(self, other: NumberSet) -> NumberSet:
        if other is self or other is _EVERYTHING or not self.intervals:
            return self
        if self is _EVERYTHING or not other.intervals:
            return other
        intervals = []
        i = j = 0
        while i < len(self.intervals) and j < len(other.intervals):
            first, two = self.intervals[i], other.intervals[j]
            low = max((e for e in (first.low, two.low) if e), default=None)
            high = min((e for e in (first.high, two.high) if e), default=None)
            if low is None or high is None or low < high:
                intervals.append(Interval(low, high, first.grid & two.grid))
            if first.high == high:
                i += 1
            if two.high == high:
                j += 1
        return _merge_intervals(intervals, self.digits_only or other.digits_only)

    def __invert__(self) -> NumberSet:
        intervals = []
        reached: End | None = None
        begun = False
        for interval in self.intervals:
            if interval.low is not None and (not begun or interval.low != reached):
                intervals.append(Interval(reached, interval.low, EVERYTHING))
            intervals.append(replace(interval, grid=~interval.grid))
            reached, begun = interval.high, True
        if not begun or reached is not None:
            intervals.append(Interval(reached, None, EVERYTHING))
        return _merge_intervals(intervals)

    def __or__(self, other: NumberSet) -> NumberSet:
        if not self.intervals or not other.intervals:
            return self if self.intervals else other
        if self._is_points and other._is_points:
            points = {
                end.number
                for interval in (*self.intervals, *other.intervals)
                if (end := interval.low)
            }
            return replace(NumberSet.of(points), digits_only=self.digits_only and other.digits_only)
        return replace(~(~self & ~other), digits_only=self.digits_only and other.digits_only)

    @property
    def _is_points(self) -> bool:
        """Whether each interval is one number."""
        return all(interval.point is not None for interval in self.intervals)

    @property
    def is_empty(self) -> bool:
        """Whether no number is a member."""
        return not self.intervals

    def contains(self, number: Number) -> bool:
        """Whether a number is a member; infinities and NaN never are."""
        if isinstance(number, float) and not isfinite(number):
            return False
        value = exact(number)
        return any(interval.contains(value) for interval in self.intervals)

    def finite(self, most: int) -> tuple[Fraction, ...] | None:
        """The members in order, if there are at most ``most``; None if there are more."""
        members: list[Fraction] = []
        for interval in self.intervals:
            if interval.point is None and (
                interval.low is None or interval.high is None or interval.grid.between
            ):
                return None
            assert interval.low is not None
            if interval.point is not None:
                members.append(interval.point)
                continue
            value = interval.grid.first_from(interval.low.number, strictly=interval.low.after)
            while value is not None and interval.contains(value) and len(members) <= most:
                members.append(value)
                value = interval.grid.first_from(value, strictly=True)
        return tuple(members) if len(members) <= most else None

    def machine(self, limits: Limits = LIMITS) -> Dfa:
        """The automaton of the JSON numerals of the members (``numerals_machine``).

        Raises: LimitError if it is too large.
        """
        return _machine(self, limits)


#: The most digits before or after the point, because ``1e999999999`` would need a huge fraction.
_MAX_DIGITS = 1_000


def exact(number: Number) -> Fraction:
    """A number as a fraction; a float as the decimal that Python prints.

    Raises: LimitError if it has more than ``_MAX_DIGITS`` digits.
    """
    if isinstance(number, float | Decimal):
        decimal = Decimal(repr(number)) if isinstance(number, float) else number
        too_long = not decimal.is_finite() or abs(decimal.adjusted()) > _MAX_DIGITS
    else:
        too_long = abs(number) > 10**_MAX_DIGITS
    if too_long:
        raise LimitError(
            f"needs a number of more than {_MAX_DIGITS:,} digits",
            "states",
            "choose a smaller number",
        )
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def _merge_intervals(intervals: list[Interval], digits_only: bool = False) -> NumberSet:
    """Sorted intervals without empty ones; adjacent ones with the same grid are merged."""
    merged: list[Interval] = []
    for interval in intervals:
        if interval.is_empty:
            continue
        if interval.point is not None:
            interval = replace(interval, grid=EVERYTHING)
        if merged and merged[-1].high == interval.low and merged[-1].grid == interval.grid:
            merged[-1] = replace(merged[-1], high=interval.high)
        else:
            merged.append(interval)
    return NumberSet(tuple(merged), digits_only)


_EVERYTHING = NumberSet((Interval(None, None, EVERYTHING),))
_INTEGERS = NumberSet((Interval(None, None, INTEGERS),), digits_only=True)
_NOTHING = NumberSet()


@lru_cache(maxsize=1024)
def _machine(numbers: NumberSet, limits: Limits) -> Dfa:
    return numerals_machine(numbers.intervals, limits, digits_only=numbers.digits_only)
