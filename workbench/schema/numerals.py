"""Machines of the JSON numerals inside intervals.

A numeral is read digit by digit beside every bound: as long as the digits so far are those of the
bound, each next one decides or leaves it open. Whole parts are compared by their length first.
Beside that runs what the digits leave when they are divided by the period of a grid.

Which spellings of a number are read:

* Of integers spelled ``digits_only``, digits alone: 67, and neither 67.0 nor 6.7e1 nor -0. So are those
  of ``type: integer``, whose 1.0 a validator accepts and no program writes.
* Of all others, digits with or without a fraction, as many zeros after it as one likes: ``1``,
  ``1.0``, ``1.50``; and ``-0`` where 0 is a member, for they are equal.
* With an exponent, any numeral where the set asks for no more than the sign of a number. Where it
  has bounds, numerals are not regular once digits and exponents may make up for each other; then
  the mantissa has one digit before its point, and not 0, as Python and JavaScript write it:
  ``1e+20``, ``1.5e-07``. Members of a grid, integers among them, are read without exponents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd
from typing import NamedTuple

from workbench.automata.build import smallest
from workbench.automata.explore import nothing
from workbench.automata.nfa import NfaBuilder
from workbench.base.dfa import Dfa
from workbench.base.limits import LIMITS, Limits
from workbench.schema import digit_machines as reading
from workbench.schema.digit_machines import (
    ABOVE,
    BELOW,
    EQUAL,
    Edge,
    NumeralState,
    decimal_digits,
    decimal_places,
    exponent_numerals,
    scientific,
)
from workbench.schema.intervals import Grid, Interval

_ZERO = Fraction(0)


def interval_numerals(
    intervals: Sequence[Interval], limits: Limits = LIMITS, *, digits_only: bool = False
) -> Dfa:
    """The numerals of disjoint pieces; with any exponent where the pieces ask for signs alone.

    Spelled ``digits_only`` they have digits alone, and 0 has no sign.

    Raises: LimitError where bounds or multiples have too many digits.
    """
    spans = _Spans.of(intervals, digits_only)
    for steps in spans.grids:
        # what powers of ten leave is shared, where it is
        tens = 10 ** (4 * len(str(steps.modulus))) if steps.grid.period == 1 else 1
        told_apart = steps.modulus // gcd(steps.modulus, tens)
        limits.check("states", reading.STATE_COST * told_apart, "choose a multiple of fewer digits")
    return reading.numeral_machine(spans.edges, spans.is_final, limits)


def depend_only_on_sign(intervals: Sequence[Interval]) -> bool:
    """Whether the pieces hold or leave out the negative numbers, 0 and the positive ones whole."""
    ends = {end.number for interval in intervals for end in (interval.low, interval.high) if end}
    return ends <= {_ZERO} and all(interval.grid.is_everything for interval in intervals)


class _Bound(NamedTuple):
    """A bound's size, and its digits before and after the point."""

    size: Fraction
    whole: tuple[int, ...]
    part: tuple[int, ...]


def _bound(size: Fraction) -> _Bound:
    whole, part = decimal_digits(size)
    return _Bound(size, tuple(map(int, whole)), tuple(map(int, part)))


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """A grid, the digits its step has after the point, and its period in units of the last.

    What digits leave is remembered as the first that was met of those that no further digits tell
    apart: multiples of 86,400 take 146 states in place of as many as there are remainders.
    """

    grid: Grid
    places: int
    modulus: int
    first: dict[object, int] = field(default_factory=dict)
    known: dict[int, int] = field(default_factory=dict)

    def after(self, left: int, digit: int) -> int:
        """What is left after one more digit."""
        left = (10 * left + digit) % self.modulus
        return left if self.grid.period > 1 else self._known(left)

    def _known(self, left: int) -> int:
        if left not in self.known:
            # by how many digits more: those that end on a multiple, where there are any
            power, ends = 1, []
            while power <= 10 * self.modulus:
                missing = -left * power % self.modulus
                ends.append(missing if missing < power else None)
                power *= 10
            self.known[left] = self.first.setdefault(tuple(ends), left)
        return self.known[left]

    def settled(self, left: int, read: int) -> int:
        """What is left where only zeros may follow: nothing, or what is no multiple (−1)."""
        return -1 if left and self.grid.period == 1 and read >= self.places else left


@dataclass(frozen=True, slots=True)
class _Spans:
    """What a numeral is read beside."""

    intervals: Sequence[Interval]
    #: For positive and for negative numerals: their bounds, 0 the first of them.
    bounds: tuple[tuple[_Bound, ...], tuple[_Bound, ...]]
    grids: tuple[_Steps, ...]
    #: More digits of a whole part, or after the point, tell no bound or grid apart.
    most_whole: int
    most_part: int
    exponents: bool
    digits_only: bool

    @staticmethod
    def of(intervals: Sequence[Interval], digits_only: bool) -> _Spans:
        """The bounds and grids of pieces."""
        ends = {
            end.number for interval in intervals for end in (interval.low, interval.high) if end
        }
        positive = tuple(map(_bound, sorted({_ZERO, *(n for n in ends if n > 0)})))
        negative = tuple(map(_bound, sorted({_ZERO, *(-n for n in ends if n < 0)})))
        grids = []
        for grid in dict.fromkeys(p.grid for p in intervals if not p.grid.is_everything):
            places = decimal_places(grid.step)
            grids.append(_Steps(grid, places, int(grid.step * 10**places) * grid.period))
        every = (*positive, *negative)
        return _Spans(
            intervals=intervals,
            bounds=(positive, negative),
            grids=tuple(grids),
            most_whole=max(len(bound.whole) for bound in every) + 1,
            most_part=max([len(b.part) for b in every] + [steps.places for steps in grids]),
            exponents=depend_only_on_sign(intervals),
            digits_only=digits_only,
        )

    def edges(self, state: NumeralState) -> Iterator[Edge]:
        """The ways on from a place."""
        part = state.part
        if part == reading.BEGIN:
            yield reading.byte_edge(b"-", state._replace(part=reading.SIGNED, negative=True))
        # the first bound is 0: a whole part that equals it so far is its one digit, and over
        if part in (reading.BEGIN, reading.SIGNED) or (
            part == reading.WHOLE and state.compared[0] != EQUAL
        ):
            marks = self._marks(state, [bound.whole for bound in self.bounds[state.negative]])
            first = int(self.digits_only and part == reading.SIGNED)
            yield from reading.digit_edges(
                marks, lambda digit: self._whole_digit(state, digit), first
            )
        if part == reading.WHOLE and not self.digits_only:
            yield reading.byte_edge(b".", self._at_point(state))
        if part in (reading.POINT, reading.FRACTION):
            marks = {0, *self._marks(state, [bound.part for bound in self.bounds[state.negative]])}
            yield from reading.digit_edges(marks, lambda digit: self._fraction_digit(state, digit))
        if self.exponents:
            yield from _any_exponent(state)

    def _marks(self, state: NumeralState, expected: list[tuple[int, ...]]) -> set[int]:
        """The digits that lead elsewhere than their neighbours."""
        if any(steps.modulus > 1 for steps in self.grids):
            return set(range(10))
        at = state.read
        return {digits[at] for digits in expected if at < len(digits)}

    def _whole_digit(self, state: NumeralState, digit: int) -> NumeralState:
        """One more digit before the point."""
        bounds = self.bounds[state.negative]
        at = min(state.read, self.most_whole - 1)
        before = state.compared or (EQUAL,) * len(bounds)
        compared = tuple(
            ABOVE if at >= len(bound.whole) else reading.compare_digit(b, digit, bound.whole[at])
            for b, bound in zip(before, bounds, strict=True)
        )
        left = state.left or (0,) * len(self.grids)
        left = tuple(s.after(r, digit) for r, s in zip(left, self.grids, strict=True))
        return NumeralState(reading.WHOLE, state.negative, at + 1, compared, left)

    def _at_point(self, state: NumeralState) -> NumeralState:
        """The whole part is over: a shorter one is a smaller one."""
        compared = tuple(
            BELOW if state.read < len(bound.whole) else b
            for b, bound in zip(state.compared, self.bounds[state.negative], strict=True)
        )
        left = tuple(s.settled(r, 0) for r, s in zip(state.left, self.grids, strict=True))
        return NumeralState(reading.POINT, state.negative, 0, compared, left)

    def _fraction_digit(self, state: NumeralState, digit: int) -> NumeralState:
        """One more digit after the point."""
        at = state.read
        compared = tuple(
            reading.compare_digit(b, digit, bound.part[at] if at < len(bound.part) else 0)
            for b, bound in zip(state.compared, self.bounds[state.negative], strict=True)
        )
        # −1 is a number between the points
        left = tuple(
            s.settled(s.after(r, digit), at + 1)
            if r >= 0 and at < s.places
            else (r if digit == 0 else -1)
            for r, s in zip(state.left, self.grids, strict=True)
        )
        return NumeralState(
            reading.FRACTION, state.negative, min(at + 1, self.most_part), compared, left
        )

    def is_final(self, state: NumeralState) -> bool:
        """Whether a numeral may end here, and its number is in a piece."""
        if state.part == reading.WHOLE:
            state = self._at_point(state)
        elif state.part not in (reading.FRACTION, reading.POWER):
            return False
        sizes = {
            -bound.size if state.negative else bound.size: (
                BELOW if b == EQUAL and len(bound.part) > state.read else b
            )
            for b, bound in zip(state.compared, self.bounds[state.negative], strict=True)
        }
        found = reading.containing(self.intervals, sizes, state)
        return any(self._is_on_grid(interval.grid, state) for interval in found)

    def _is_on_grid(self, grid: Grid, state: NumeralState) -> bool:
        if grid.is_everything:
            return True
        which = next(k for k, steps in enumerate(self.grids) if steps.grid == grid)
        left, places = state.left[which], self.grids[which].places
        if left < 0:
            return grid.between
        left *= 10 ** max(0, places - state.read)
        unit = int(grid.step * 10**places)
        if left % unit:
            return grid.between
        steps = left // unit % grid.period
        return (-steps if state.negative else steps) % grid.period in grid.members


def _any_exponent(state: NumeralState) -> Iterator[Edge]:
    """The ways of an exponent, which changes nothing a sign depends on."""
    if state.part in (reading.WHOLE, reading.FRACTION):
        for letter in (b"e", b"E"):
            yield reading.byte_edge(letter, state._replace(part=reading.MARKED))
    if state.part == reading.MARKED:
        for letter in (b"+", b"-"):
            yield reading.byte_edge(letter, state._replace(part=reading.POWER_SIGNED))
    if state.part in (reading.MARKED, reading.POWER_SIGNED, reading.POWER):
        yield from reading.digit_edges((), lambda _: state._replace(part=reading.POWER))


def numerals_machine(
    intervals: Sequence[Interval], limits: Limits = LIMITS, *, digits_only: bool = False
) -> Dfa:
    """The JSON numerals of the numbers in disjoint pieces; ``digits_only``: these are integers.

    Raises: LimitError where bounds or multiples have too many digits.
    """
    spans = [interval for interval in intervals if interval.point is None]
    points = [interval.point for interval in intervals if interval.point is not None]
    machines = []
    if spans:
        machines.append(interval_numerals(spans, limits, digits_only=digits_only))
        dense = [interval for interval in spans if interval.grid.is_everything]
        if dense and not depend_only_on_sign(spans):
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
    """The Nfa of numerals while it grows: what they begin with is shared, and how they end."""

    def __init__(self) -> None:
        self.builder = NfaBuilder()
        self.begin, self.end = self.builder.new_state(), self.builder.new_state()
        self._nodes: dict[tuple[int, str], int] = {}
        self._powers: dict[int, int] = {}

    def add(self, whole: str, part: str, end: int, *, digits_only: bool = False) -> None:
        """A number's digits, with as many zeros after them as one likes, lead to a state."""
        here = self._read(self.begin, whole)
        if not part:
            self.builder.epsilon(here, end)
        if digits_only:
            return
        here = self._read(here, f".{part or '0'}")
        zeros = self.builder.new_state()
        self.builder.epsilon(here, zeros)
        self.builder.edge(zeros, ord("0"), ord("0"), zeros)
        self.builder.epsilon(zeros, end)

    def power(self, power: int) -> int:
        """The state from which an exponent leads to the end."""
        found = self._powers.get(power)
        if found is None:
            found = self._powers[power] = self.builder.new_state()
            after, signed = self.builder.new_state(), self.builder.new_state()
            for letter in b"eE":
                self.builder.edge(found, letter, letter, after)
            for sign in b"-" if power < 0 else b"+" if power else b"+-":
                self.builder.edge(after, sign, sign, signed)
            if power >= 0:
                self.builder.epsilon(after, signed)
            self.builder.edge(signed, ord("0"), ord("0"), signed)
            here = signed
            for digit in str(abs(power)):
                here, before = self.builder.new_state(), here
                self.builder.edge(before, ord(digit), ord(digit), here)
            self.builder.epsilon(here, self.end)
        return found

    def _read(self, here: int, text: str) -> int:
        for sign in text:
            there = self._nodes.get((here, sign))
            if there is None:
                there = self._nodes[here, sign] = self.builder.new_state()
                self.builder.edge(here, ord(sign), ord(sign), there)
            here = there
        return here
