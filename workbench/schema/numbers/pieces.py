"""Pieces of the line of numbers: intervals between cuts, each with the grid of its members."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from workbench.schema.numbers.grids import Grid


@dataclass(frozen=True, slots=True, order=True)
class End:
    """An end of an interval, as a cut of the line: before a number, or (``after``) behind it."""

    number: Fraction
    after: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """The numbers of a grid between two cuts; None where there is no end."""

    low: End | None
    high: End | None
    grid: Grid

    @property
    def is_empty(self) -> bool:
        """Whether no number is in the piece."""
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
        """The only number the piece can hold; None if there is room for more."""
        if self.low and self.high and self.low.number == self.high.number:
            return self.low.number
        return None

    def contains(self, number: Fraction) -> bool:
        """Whether a number is in the piece."""
        if self.low is not None and End(number) < self.low:
            return False
        if self.high is not None and End(number) >= self.high:
            return False
        return self.grid.contains(number)
