"""Automata of the JSON numerals of the numbers in intervals.

The automaton compares the numeral digit by digit with every bound: while the digits are equal to
those of the bound, the next digit decides the comparison or leaves it open. Whole parts of
different length are compared by length. For each grid the state also has the remainder of the
digits modulo its period.

Accepted notations of a number:

* Sets with ``digits_only``, such as ``type: integer``: digits without fraction and exponent, so
  67 but not 67.0, 6.7e1 or -0. A validator accepts 1.0 as an integer, but no program writes it.
* All other sets: digits with an optional fraction, followed by any number of zeros (``1``,
  ``1.0``, ``1.50``); and ``-0`` if 0 is a member, because they are equal.
* Exponents: with any numeral if membership depends on the sign of a number only. With bounds, the
  numerals with arbitrary exponents are not a regular language, because a longer mantissa can
  compensate for a smaller exponent; the mantissa then has one digit before its point, which is
  not 0, as in the output of Python and JavaScript: ``1e+20``, ``1.5e-07``. Members of a grid,
  such as integers, are accepted without exponents only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import gcd
from typing import NamedTuple

from workbench.automata.determinize import nothing
from workbench.automata.nfa import NfaBuilder
from workbench.automata.operations import intersection
from workbench.automata.small_dfa import smallest
from workbench.base.dfa import Dfa
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.schema.digit_machines import (
    ABOVE,
    BEGIN,
    BELOW,
    EQUAL,
    FRACTION,
    MARKED,
    POINT,
    POWER,
    POWER_SIGNED,
    SIGNED,
    STATE_COST,
    WHOLE,
    Edge,
    NumeralState,
    byte_edge,
    compare_digit,
    containing,
    decimal_digits,
    decimal_places,
    digit_edges,
    exponent_numerals,
    numeral_machine,
    scientific,
)
from workbench.schema.grid_numerals import grid_numerals
from workbench.schema.intervals import EVERYTHING, Grid, Interval, end_numbers

_ZERO = Fraction(0)
#: The most remainders of a grid that are written before they are merged.
_MAX_WRITTEN = 1_000


def interval_numerals(
    intervals: Sequence[Interval], limits: Limits = LIMITS, *, digits_only: bool = False
) -> Dfa:
    """The numerals without exponents of disjoint intervals; with any exponent if only signs matter.

    Raises: LimitError if bounds or multiples have too many digits.
    """
    numerals = _IntervalNumerals.collect(intervals, digits_only)
    for steps in numerals.grids:
        # remainders that powers of ten cannot distinguish share a state (see ``_Remainders``)
        tens = 10 ** (4 * len(str(steps.modulus))) if steps.grid.period == 1 else 1
        remainders = steps.modulus // gcd(steps.modulus, tens)
        limits.check("states", STATE_COST * remainders, "choose a multiple of fewer digits")
    return numeral_machine(numerals.edges, numerals.is_final, limits)


def depend_only_on_sign(intervals: Sequence[Interval]) -> bool:
    """Whether membership depends on the sign of a number (negative, 0, positive) only."""
    ends = end_numbers(intervals)
    return ends <= {_ZERO} and all(interval.grid.is_everything for interval in intervals)


class _Bound(NamedTuple):
    """The absolute value of a bound, and its digits before and after the point."""

    size: Fraction
    whole: tuple[int, ...]
    part: tuple[int, ...]


def _bound(size: Fraction) -> _Bound:
    whole, part = decimal_digits(size)
    return _Bound(size, tuple(map(int, whole)), tuple(map(int, part)))


@dataclass(frozen=True, slots=True, eq=False)
class _Remainders:
    """The remainders of numerals modulo the period of a grid.

    ``places`` is the number of digits of the step after the point; ``modulus`` is the period in
    units of the last of them. Remainders that no further digits distinguish are represented by the
    first one of them, so multiples of 86,400 take 146 states instead of 86,400.
    """

    grid: Grid
    places: int
    modulus: int
    first: dict[object, int] = field(default_factory=dict)
    representatives: dict[int, int] = field(default_factory=dict)

    def after(self, remainder: int, digit: int) -> int:
        """The remainder after one more digit."""
        remainder = (10 * remainder + digit) % self.modulus
        return remainder if self.grid.period > 1 else self._representative(remainder)

    def _representative(self, remainder: int) -> int:
        if remainder not in self.representatives:
            # for each number of further digits: the digits that lead to a multiple, if any do
            power, ends = 1, []
            while power <= 10 * self.modulus:
                missing = -remainder * power % self.modulus
                ends.append(missing if missing < power else None)
                power *= 10
            self.representatives[remainder] = self.first.setdefault(tuple(ends), remainder)
        return self.representatives[remainder]

    def closed(self, remainder: int, read: int) -> int:
        """The remainder, or −1 if no further digit can lead to a multiple."""
        return -1 if remainder and self.grid.period == 1 and read >= self.places else remainder


@dataclass(frozen=True, slots=True)
class _IntervalNumerals:
    """The automaton of the numerals of intervals, as a transition function."""

    intervals: Sequence[Interval]
    #: The bounds of positive and of negative numerals; the first bound of each is 0.
    bounds: tuple[tuple[_Bound, ...], tuple[_Bound, ...]]
    grids: tuple[_Remainders, ...]
    #: Numbers of digits before and after the point beyond which no bound or grid is distinguished.
    most_whole: int
    most_part: int
    exponents: bool
    digits_only: bool

    @staticmethod
    def collect(intervals: Sequence[Interval], digits_only: bool) -> _IntervalNumerals:
        """Collects the bounds and grids of intervals."""
        ends = end_numbers(intervals)
        positive = tuple(map(_bound, sorted({_ZERO, *(n for n in ends if n > 0)})))
        negative = tuple(map(_bound, sorted({_ZERO, *(-n for n in ends if n < 0)})))
        grids = []
        for grid in dict.fromkeys(p.grid for p in intervals if not p.grid.is_everything):
            places = decimal_places(grid.step)
            grids.append(_Remainders(grid, places, int(grid.step * 10**places) * grid.period))
        every = (*positive, *negative)
        return _IntervalNumerals(
            intervals=intervals,
            bounds=(positive, negative),
            grids=tuple(grids),
            most_whole=max(len(bound.whole) for bound in every) + 1,
            most_part=max([len(b.part) for b in every] + [steps.places for steps in grids]),
            exponents=depend_only_on_sign(intervals),
            digits_only=digits_only,
        )

    def edges(self, state: NumeralState) -> Iterator[Edge]:
        """The outgoing edges of a state."""
        part = state.part
        if part == BEGIN:
            yield byte_edge(b"-", state._replace(part=SIGNED, negative=True))
        # the first bound is 0: a whole part equal to it is "0" and complete
        if part in (BEGIN, SIGNED) or (part == WHOLE and state.compared[0] != EQUAL):
            marks = self._marks(state, [bound.whole for bound in self.bounds[state.negative]])
            first = int(self.digits_only and part == SIGNED)
            yield from digit_edges(marks, lambda digit: self._whole_digit(state, digit), first)
        if part == WHOLE and not self.digits_only:
            yield byte_edge(b".", self._at_point(state))
        if part in (POINT, FRACTION):
            marks = {0, *self._marks(state, [bound.part for bound in self.bounds[state.negative]])}
            yield from digit_edges(marks, lambda digit: self._fraction_digit(state, digit))
        if self.exponents:
            yield from _any_exponent(state)

    def _marks(self, state: NumeralState, expected: list[tuple[int, ...]]) -> set[int]:
        """The digits whose targets differ from those of their neighbours."""
        if any(steps.modulus > 1 for steps in self.grids):
            return set(range(10))
        position = state.read
        return {digits[position] for digits in expected if position < len(digits)}

    def _whole_digit(self, state: NumeralState, digit: int) -> NumeralState:
        """One more digit before the point."""
        bounds = self.bounds[state.negative]
        position = min(state.read, self.most_whole - 1)
        before = state.compared or (EQUAL,) * len(bounds)
        compared = tuple(
            ABOVE
            if position >= len(bound.whole)
            else compare_digit(b, digit, bound.whole[position])
            for b, bound in zip(before, bounds, strict=True)
        )
        extra = state.extra or (0,) * len(self.grids)
        extra = tuple(s.after(r, digit) for r, s in zip(extra, self.grids, strict=True))
        return NumeralState(WHOLE, state.negative, position + 1, compared, extra)

    def _at_point(self, state: NumeralState) -> NumeralState:
        """The state after the whole part: a shorter whole part is a smaller number."""
        compared = tuple(
            BELOW if state.read < len(bound.whole) else b
            for b, bound in zip(state.compared, self.bounds[state.negative], strict=True)
        )
        extra = tuple(s.closed(r, 0) for r, s in zip(state.extra, self.grids, strict=True))
        return NumeralState(POINT, state.negative, 0, compared, extra)

    def _fraction_digit(self, state: NumeralState, digit: int) -> NumeralState:
        """One more digit after the point."""
        position = state.read
        compared = tuple(
            compare_digit(b, digit, bound.part[position] if position < len(bound.part) else 0)
            for b, bound in zip(state.compared, self.bounds[state.negative], strict=True)
        )
        # −1: not a multiple of the step
        extra = tuple(
            s.closed(s.after(r, digit), position + 1)
            if r >= 0 and position < s.places
            else (r if digit == 0 else -1)
            for r, s in zip(state.extra, self.grids, strict=True)
        )
        return NumeralState(
            FRACTION, state.negative, min(position + 1, self.most_part), compared, extra
        )

    def is_final(self, state: NumeralState) -> bool:
        """Whether a numeral may end here and its number is in an interval."""
        if state.part == WHOLE:
            state = self._at_point(state)
        elif state.part not in (FRACTION, POWER):
            return False
        sizes = {
            -bound.size if state.negative else bound.size: (
                BELOW if b == EQUAL and len(bound.part) > state.read else b
            )
            for b, bound in zip(state.compared, self.bounds[state.negative], strict=True)
        }
        intervals = containing(self.intervals, sizes, state)
        return any(self._is_on_grid(interval.grid, state) for interval in intervals)

    def _is_on_grid(self, grid: Grid, state: NumeralState) -> bool:
        if grid.is_everything:
            return True
        which = next(k for k, steps in enumerate(self.grids) if steps.grid == grid)
        remainder, places = state.extra[which], self.grids[which].places
        if remainder < 0:
            return grid.between
        remainder *= 10 ** max(0, places - state.read)
        unit = int(grid.step * 10**places)
        if remainder % unit:
            return grid.between
        steps = remainder // unit % grid.period
        return (-steps if state.negative else steps) % grid.period in grid.members


def _any_exponent(state: NumeralState) -> Iterator[Edge]:
    """The edges of an exponent where it does not matter: it does not change the sign."""
    if state.part in (WHOLE, FRACTION):
        for letter in (b"e", b"E"):
            yield byte_edge(letter, state._replace(part=MARKED))
    if state.part == MARKED:
        for letter in (b"+", b"-"):
            yield byte_edge(letter, state._replace(part=POWER_SIGNED))
    if state.part in (MARKED, POWER_SIGNED, POWER):
        yield from digit_edges((), lambda _: state._replace(part=POWER))


def numerals_machine(
    intervals: Sequence[Interval], limits: Limits = LIMITS, *, digits_only: bool = False
) -> Dfa:
    """The JSON numerals of the numbers in disjoint intervals; ``digits_only``: all are integers.

    Raises: LimitError if bounds or multiples have too many digits.
    """
    wide = [interval for interval in intervals if interval.point is None]
    points = [interval.point for interval in intervals if interval.point is not None]
    machines: list[Dfa] = []
    if wide:
        machines.extend(_of_intervals(wide, limits, digits_only=digits_only))
        dense = [interval for interval in wide if interval.grid.is_everything]
        if dense and not depend_only_on_sign(wide):
            machines.append(exponent_numerals(dense, limits))
    if points:
        machines.append(_of_points(points, limits, digits_only=digits_only))
    if len(machines) == 1:
        return machines[0]
    builder = NfaBuilder()
    start, end = builder.new_state(), builder.new_state()
    for machine in machines:
        builder.embed(machine, start, end)
    return smallest(builder.build(start, {end}), limits) if machines else nothing(256)


def _of_intervals(
    intervals: Sequence[Interval], limits: Limits, *, digits_only: bool
) -> Iterator[Dfa]:
    """The numerals without exponents of intervals, each alone if their grids are large."""
    first = intervals[0]
    if len(intervals) == 1 and first.low is None and first.high is None and _is_small(first.grid):
        yield grid_numerals(first.grid, limits, digits_only=digits_only)
        return
    try:
        yield interval_numerals(intervals, limits, digits_only=digits_only)
    except LimitError as error:
        if error.budget != "states" or all(each.grid.is_everything for each in intervals):
            raise
    else:
        return
    for interval in intervals:
        bounds = interval_numerals(
            [replace(interval, grid=EVERYTHING)], limits, digits_only=digits_only
        )
        if interval.grid.is_everything:
            yield bounds
        else:
            on_grid = grid_numerals(interval.grid, limits, digits_only=digits_only)
            yield intersection(on_grid, bounds, limits)


def _is_small(grid: Grid) -> bool:
    """Whether the remainders of a grid are few enough that all are written, then merged.

    Measured with periods of 7 and 13: 0.4 ms instead of 5 to 14.
    """
    places = decimal_places(grid.step)
    return not grid.is_everything and grid.step * 10**places * grid.period <= _MAX_WRITTEN


def _of_points(points: Sequence[Fraction], limits: Limits, *, digits_only: bool) -> Dfa:
    """The numerals of single numbers."""
    words = _Words()
    for point in points:
        signs = ("", "-") if point == 0 else ("-" if point < 0 else "",)
        for sign in signs[:1] if digits_only else signs:
            whole, part = decimal_digits(abs(point))
            words.add(sign + whole, part, words.end, digits_only=digits_only)
            if point and not digits_only:
                every, power = scientific(abs(point))
                words.add(sign + every[0], every[1:], words.power(power))
        limits.check("unrolled", len(words.builder), "name fewer numbers")
    return smallest(words.builder.build(words.begin, {words.end}), limits)


class _Words:
    """Builds the NFA of a list of numerals, with shared prefixes and exponents."""

    def __init__(self) -> None:
        self.builder = NfaBuilder()
        self.begin, self.end = self.builder.new_state(), self.builder.new_state()
        self._nodes: dict[tuple[int, str], int] = {}
        self._powers: dict[int, int] = {}

    def add(self, whole: str, part: str, end: int, *, digits_only: bool = False) -> None:
        """Add the path of a number's digits, followed by any number of zeros, to a state."""
        state = self._read(self.begin, whole)
        if not part:
            self.builder.epsilon(state, end)
        if digits_only:
            return
        state = self._read(state, f".{part or '0'}")
        zeros = self.builder.new_state()
        self.builder.epsilon(state, zeros)
        self.builder.edge(zeros, ord("0"), ord("0"), zeros)
        self.builder.epsilon(zeros, end)

    def power(self, power: int) -> int:
        """The state from which an exponent leads to the final state."""
        start = self._powers.get(power)
        if start is None:
            start = self._powers[power] = self.builder.new_state()
            after, signed = self.builder.new_state(), self.builder.new_state()
            for letter in b"eE":
                self.builder.edge(start, letter, letter, after)
            for sign in b"-" if power < 0 else b"+" if power else b"+-":
                self.builder.edge(after, sign, sign, signed)
            if power >= 0:
                self.builder.epsilon(after, signed)
            self.builder.edge(signed, ord("0"), ord("0"), signed)
            state = signed
            for digit in str(abs(power)):
                state, before = self.builder.new_state(), state
                self.builder.edge(before, ord(digit), ord(digit), state)
            self.builder.epsilon(state, self.end)
        return start

    def _read(self, state: int, text: str) -> int:
        for sign in text:
            target = self._nodes.get((state, sign))
            if target is None:
                target = self._nodes[state, sign] = self.builder.new_state()
                self.builder.edge(state, ord(sign), ord(sign), target)
            state = target
        return state
