"""Intervals of numbers, each restricted to a periodic grid (``multipleOf``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm

import numpy as np
import numpy.typing as npt

from workbench.base.errors import LimitError

#: The most points of a period: ``integer`` but not a multiple of 1e-8 would need 100 million.
_MAX_PERIOD = 100_000


@dataclass(frozen=True, slots=True)
class Grid:
    """The numbers k·step with k mod ``period`` in ``members``; if ``between``, also non-multiples.

    Shape: ``members`` are numbers below ``period``.
    """

    #: The distance of the points, a decimal fraction.
    step: Fraction
    #: The number of points after which the set repeats.
    period: int
    members: frozenset[int]
    #: Whether the numbers that are not multiples of ``step`` are in the set.
    between: bool

    def contains(self, number: Fraction) -> bool:
        """Whether a number is in the set."""
        steps = number / self.step
        if steps.denominator != 1:
            return self.between
        return steps.numerator % self.period in self.members

    @property
    def is_everything(self) -> bool:
        """Whether every number is in the set."""
        return self.between and len(self.members) == self.period

    @property
    def is_nothing(self) -> bool:
        """Whether no number is in the set."""
        return not self.between and not self.members

    def first_from(self, number: Fraction, *, strictly: bool) -> Fraction | None:
        """The least point in the set from a number on; None if the set has no point."""
        start = -((-number / self.step) // 1)
        start += strictly and start * self.step == number
        for k in range(start, start + self.period):
            if k % self.period in self.members:
                return k * self.step
        return None

    def __invert__(self) -> Grid:
        return Grid(
            self.step,
            self.period,
            frozenset(range(self.period)) - self.members,
            not self.between,
        )

    def __and__(self, other: Grid) -> Grid:
        return _both(self, other)


EVERYTHING = Grid(Fraction(1), 1, frozenset([0]), between=True)
NOTHING = Grid(Fraction(1), 1, frozenset(), between=False)
INTEGERS = Grid(Fraction(1), 1, frozenset([0]), between=False)


def multiples(step: Fraction) -> Grid:
    """The multiples of a number above 0."""
    return Grid(step, 1, frozenset([0]), between=False)


@lru_cache(maxsize=1024)
def _both(left: Grid, right: Grid) -> Grid:
    """The numbers in both grids.

    Raises: LimitError if their common period has more than ``_MAX_PERIOD`` points.
    """
    for grid, other in ((left, right), (right, left)):
        if grid.is_everything or other.is_nothing:
            return other
    if _is_plain(left) and _is_plain(right):
        return multiples(_lcm(left.step, right.step))
    step = _gcd(left.step, right.step)
    period = _lcm(left.step * left.period, right.step * right.period) / step
    if period > _MAX_PERIOD:
        raise LimitError(
            f"needs a period of more than {_MAX_PERIOD:,} points",
            "states",
            "choose multiples that divide one another",
        )
    points = np.flatnonzero(_points(left, step, int(period)) & _points(right, step, int(period)))
    members = frozenset(points.tolist())
    return _reduce(step, int(period), members, left.between and right.between)


def _points(grid: Grid, step: Fraction, period: int) -> npt.NDArray[np.bool_]:
    """For each k below ``period``, whether k·step is in a grid whose step is a multiple of it."""
    members = np.zeros(grid.period, np.bool_)
    members[list(grid.members)] = True
    inside = np.full(period, grid.between)
    multiples_of_step = inside[:: int(grid.step / step)]
    multiples_of_step[:] = np.resize(members, len(multiples_of_step))
    return inside


def _is_plain(grid: Grid) -> bool:
    """Whether it is exactly the multiples of its step."""
    return not grid.between and grid.period == 1 and bool(grid.members)


def _reduce(step: Fraction, period: int, members: frozenset[int], between: bool) -> Grid:
    """The same set in its simplest representation."""
    if not members and not between:
        return NOTHING
    if len(members) == period and between:
        return EVERYTHING
    if not between and members == frozenset([0]):
        return multiples(step * period)
    return Grid(step, period, members, between)


def _gcd(left: Fraction, right: Fraction) -> Fraction:
    return _of_fractions(gcd, left, right)


def _lcm(left: Fraction, right: Fraction) -> Fraction:
    return _of_fractions(lcm, left, right)


def _of_fractions(of: Callable[[int, int], int], left: Fraction, right: Fraction) -> Fraction:
    common = lcm(left.denominator, right.denominator)
    return Fraction(of(int(left * common), int(right * common)), common)


@dataclass(frozen=True, slots=True, order=True)
class End:
    """An end of an interval, as a cut of the number line before or (``after``) behind a number."""

    number: Fraction
    after: bool = False


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers of a grid between two cuts; None is unbounded."""

    low: End | None
    high: End | None
    grid: Grid

    @property
    def is_empty(self) -> bool:
        """Whether no number is in the interval."""
        if self.grid.is_nothing:
            return True
        if self.low is None or self.high is None:
            return False
        if self.low >= self.high:
            return True
        if self.low.number == self.high.number:
            return not self.grid.contains(self.low.number)
        if self.grid.between:
            return False
        first = self.grid.first_from(self.low.number, strictly=self.low.after)
        return first is None or End(first) >= self.high

    @property
    def point(self) -> Fraction | None:
        """The only number between its ends; None if there may be more."""
        if self.low and self.high and self.low.number == self.high.number:
            return self.low.number
        return None

    def contains(self, number: Fraction) -> bool:
        """Whether a number is in the interval."""
        if self.low is not None and End(number) < self.low:
            return False
        if self.high is not None and End(number) >= self.high:
            return False
        return self.grid.contains(number)


def end_numbers(intervals: Iterable[Interval]) -> set[Fraction]:
    """The numbers at the ends of intervals."""
    return {end.number for interval in intervals for end in (interval.low, interval.high) if end}
