"""Machines of the JSON numerals inside intervals.

A numeral is read digit by digit beside every bound: as long as the digits so far are those of the
bound, each next one decides or leaves it open. Whole parts are compared by their length first.
Beside that runs what the digits leave when they are divided by the period of a grid.

Which spellings of a number are read:

* Of integers spelled ``plainly``, digits alone: 67, and neither 67.0 nor 6.7e1 nor -0. So are those
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
    pieces: Sequence[Interval], limits: Limits = LIMITS, *, plainly: bool = False
) -> Dfa:
    """The numerals of disjoint pieces; with any exponent where the pieces ask for signs alone.

    Spelled ``plainly`` they have digits alone, and 0 has no sign.

    Raises: LimitError where bounds or multiples have too many digits.
    """
    spans = _Spans.of(pieces, plainly)
    for steps in spans.grids:
        # what powers of ten leave is shared, where it is
        tens = 10 ** (4 * len(str(steps.modulus))) if steps.grid.period == 1 else 1
        told_apart = steps.modulus // gcd(steps.modulus, tens)
        limits.check("states", reading.STATE_COST * told_apart, "choose a multiple of fewer digits")
    return reading.numeral_machine(spans.ways, spans.is_final, limits)


def depend_only_on_sign(pieces: Sequence[Interval]) -> bool:
    """Whether the pieces hold or leave out the negative numbers, 0 and the positive ones whole."""
    ends = {end.number for piece in pieces for end in (piece.low, piece.high) if end}
    return ends <= {_ZERO} and all(piece.grid.is_everything for piece in pieces)


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

    pieces: Sequence[Interval]
    #: For positive and for negative numerals: their bounds, 0 the first of them.
    bounds: tuple[tuple[_Bound, ...], tuple[_Bound, ...]]
    grids: tuple[_Steps, ...]
    #: More digits of a whole part, or after the point, tell no bound or grid apart.
    most_whole: int
    most_part: int
    exponents: bool
    plainly: bool

    @staticmethod
    def of(pieces: Sequence[Interval], plainly: bool) -> _Spans:
        """The bounds and grids of pieces."""
        ends = {end.number for piece in pieces for end in (piece.low, piece.high) if end}
        positive = tuple(map(_bound, sorted({_ZERO, *(n for n in ends if n > 0)})))
        negative = tuple(map(_bound, sorted({_ZERO, *(-n for n in ends if n < 0)})))
        grids = []
        for grid in dict.fromkeys(p.grid for p in pieces if not p.grid.is_everything):
            places = decimal_places(grid.step)
            grids.append(_Steps(grid, places, int(grid.step * 10**places) * grid.period))
        every = (*positive, *negative)
        return _Spans(
            pieces=pieces,
            bounds=(positive, negative),
            grids=tuple(grids),
            most_whole=max(len(bound.whole) for bound in every) + 1,
            most_part=max([len(b.part) for b in every] + [steps.places for steps in grids]),
            exponents=depend_only_on_sign(pieces),
            plainly=plainly,
        )

    def ways(self, place: NumeralState) -> Iterator[Edge]:
        """The ways on from a place."""
        part = place.part
        if part == reading.BEGIN:
            yield reading.byte_edge(b"-", place._replace(part=reading.SIGNED, negative=True))
        # the first bound is 0: a whole part that equals it so far is its one digit, and over
        if part in (reading.BEGIN, reading.SIGNED) or (
            part == reading.WHOLE and place.compared[0] != EQUAL
        ):
            marks = self._marks(place, [bound.whole for bound in self.bounds[place.negative]])
            first = int(self.plainly and part == reading.SIGNED)
            yield from reading.digit_edges(marks, lambda digit: self._whole(place, digit), first)
        if part == reading.WHOLE and not self.plainly:
            yield reading.byte_edge(b".", self._at_point(place))
        if part in (reading.POINT, reading.FRACTION):
            marks = {0, *self._marks(place, [bound.part for bound in self.bounds[place.negative]])}
            yield from reading.digit_edges(marks, lambda digit: self._fraction(place, digit))
        if self.exponents:
            yield from _any_exponent(place)

    def _marks(self, place: NumeralState, expected: list[tuple[int, ...]]) -> set[int]:
        """The digits that lead elsewhere than their neighbours."""
        if any(steps.modulus > 1 for steps in self.grids):
            return set(range(10))
        at = place.read
        return {digits[at] for digits in expected if at < len(digits)}

    def _whole(self, place: NumeralState, digit: int) -> NumeralState:
        """One more digit before the point."""
        bounds = self.bounds[place.negative]
        at = min(place.read, self.most_whole - 1)
        before = place.compared or (EQUAL,) * len(bounds)
        compared = tuple(
            ABOVE if at >= len(bound.whole) else reading.compare_digit(b, digit, bound.whole[at])
            for b, bound in zip(before, bounds, strict=True)
        )
        left = place.left or (0,) * len(self.grids)
        left = tuple(s.after(r, digit) for r, s in zip(left, self.grids, strict=True))
        return NumeralState(reading.WHOLE, place.negative, at + 1, compared, left)

    def _at_point(self, place: NumeralState) -> NumeralState:
        """The whole part is over: a shorter one is a smaller one."""
        compared = tuple(
            BELOW if place.read < len(bound.whole) else b
            for b, bound in zip(place.compared, self.bounds[place.negative], strict=True)
        )
        left = tuple(s.settled(r, 0) for r, s in zip(place.left, self.grids, strict=True))
        return NumeralState(reading.POINT, place.negative, 0, compared, left)

    def _fraction(self, place: NumeralState, digit: int) -> NumeralState:
        """One more digit after the point."""
        at = place.read
        compared = tuple(
            reading.compare_digit(b, digit, bound.part[at] if at < len(bound.part) else 0)
            for b, bound in zip(place.compared, self.bounds[place.negative], strict=True)
        )
        # −1 is a number between the points
        left = tuple(
            s.settled(s.after(r, digit), at + 1)
            if r >= 0 and at < s.places
            else (r if digit == 0 else -1)
            for r, s in zip(place.left, self.grids, strict=True)
        )
        return NumeralState(
            reading.FRACTION, place.negative, min(at + 1, self.most_part), compared, left
        )

    def is_final(self, place: NumeralState) -> bool:
        """Whether a numeral may end here, and its number is in a piece."""
        if place.part == reading.WHOLE:
            place = self._at_point(place)
        elif place.part not in (reading.FRACTION, reading.POWER):
            return False
        sizes = {
            -bound.size if place.negative else bound.size: (
                BELOW if b == EQUAL and len(bound.part) > place.read else b
            )
            for b, bound in zip(place.compared, self.bounds[place.negative], strict=True)
        }
        found = reading.containing(self.pieces, sizes, place)
        return any(self._is_on_grid(piece.grid, place) for piece in found)

    def _is_on_grid(self, grid: Grid, place: NumeralState) -> bool:
        if grid.is_everything:
            return True
        which = next(k for k, steps in enumerate(self.grids) if steps.grid == grid)
        left, places = place.left[which], self.grids[which].places
        if left < 0:
            return grid.between
        left *= 10 ** max(0, places - place.read)
        unit = int(grid.step * 10**places)
        if left % unit:
            return grid.between
        steps = left // unit % grid.period
        return (-steps if place.negative else steps) % grid.period in grid.members


def _any_exponent(place: NumeralState) -> Iterator[Edge]:
    """The ways of an exponent, which changes nothing a sign depends on."""
    if place.part in (reading.WHOLE, reading.FRACTION):
        for letter in (b"e", b"E"):
            yield reading.byte_edge(letter, place._replace(part=reading.MARKED))
    if place.part == reading.MARKED:
        for letter in (b"+", b"-"):
            yield reading.byte_edge(letter, place._replace(part=reading.POWER_SIGNED))
    if place.part in (reading.MARKED, reading.POWER_SIGNED, reading.POWER):
        yield from reading.digit_edges((), lambda _: place._replace(part=reading.POWER))


def numerals_machine(
    pieces: Sequence[Interval], limits: Limits = LIMITS, *, plainly: bool = False
) -> Dfa:
    """The JSON numerals of the numbers in disjoint pieces; ``plainly``: these are integers.

    Raises: LimitError where bounds or multiples have too many digits.
    """
    spans = [piece for piece in pieces if piece.point is None]
    points = [piece.point for piece in pieces if piece.point is not None]
    machines = []
    if spans:
        machines.append(interval_numerals(spans, limits, plainly=plainly))
        dense = [piece for piece in spans if piece.grid.is_everything]
        if dense and not depend_only_on_sign(spans):
            machines.append(exponent_numerals(dense, limits))
    if points:
        machines.append(_of_points(points, limits, plainly=plainly))
    if len(machines) == 1:
        return machines[0]
    builder = NfaBuilder()
    start, end = builder.new_state(), builder.new_state()
    for machine in machines:
        builder.embed(machine, start, end)
    return smallest(builder.build(start, {end}), limits) if machines else nothing(256)


def _of_points(points: Sequence[Fraction], limits: Limits, *, plainly: bool) -> Dfa:
    """The numerals of single numbers."""
    words = _Words()
    for point in points:
        signs = ("", "-") if point == 0 else ("-" if point < 0 else "",)
        for sign in signs[:1] if plainly else signs:
            whole, part = decimal_digits(abs(point))
            words.add(sign + whole, part, words.end, plainly=plainly)
            if point and not plainly:
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

    def add(self, whole: str, part: str, end: int, *, plainly: bool = False) -> None:
        """A number's digits, with as many zeros after them as one likes, lead to a state."""
        here = self._read(self.begin, whole)
        if not part:
            self.builder.epsilon(here, end)
        if plainly:
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
