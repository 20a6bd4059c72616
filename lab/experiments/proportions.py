"""Proportions with their intervals, means with their spread, and how tables write them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

#: The quantile of the normal distribution for intervals of 95 %.
_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Proportion:
    """``hits`` of ``of`` trials.

    Source: the interval is Wilson 1927, the score interval of 95 %.
    """

    hits: int
    of: int

    @staticmethod
    def among(trials: Iterable[bool]) -> Proportion:
        """The share of trials that are true."""
        found = list(trials)
        return Proportion(sum(found), len(found))

    @property
    def value(self) -> float:
        """Hits divided by trials; nan without trials."""
        return self.hits / self.of if self.of else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end; the whole of 0 to 1 without trials."""
        if not self.of:
            return 0.0, 1.0
        n, p, square = self.of, self.value, _Z * _Z
        centre = (p + square / (2 * n)) / (1 + square / n)
        half = _Z / (1 + square / n) * math.sqrt(p * (1 - p) / n + square / (4 * n * n))
        # exact at the ends, where rounding would leave 1e-17
        low = 0.0 if self.hits == 0 else centre - half
        return low, 1.0 if self.hits == n else centre + half

    def differs(self, other: Proportion) -> int:
        """1 if this is higher and the intervals are disjoint, −1 if lower, else 0."""
        (low, high), (other_low, other_high) = self.interval, other.interval
        return (low > other_high) - (high < other_low)

    def compared(self, other: Proportion) -> str:
        """``differs`` in words, to be followed by the other one."""
        return {1: "higher than", -1: "lower than", 0: "not distinguishable from"}[
            self.differs(other)
        ]

    def __str__(self) -> str:
        if not self.of:
            return "–"
        low, high = self.interval
        return f"{self.value:.3f} [{low:.2f}, {high:.2f}]"


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean of some measurements and their standard deviation, which is 0 for one."""

    mean: float
    deviation: float
    count: int

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """Of at least one value."""
        deviation = stdev(values) if len(values) > 1 else 0.0
        return Spread(fmean(values), deviation, len(values))
