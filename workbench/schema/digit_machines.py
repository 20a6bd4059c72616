"""Automata of numerals: their states and edges, and the numerals with an exponent.

In a numeral with an exponent, exactly one digit, which is not 0, is before the point. So a number
is compared with a bound by its exponent, and by its digits if the exponents are equal. With any
number of digits before the point the numerals in an interval are not a regular language.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from workbench.automata.determinize import trimmed
from workbench.automata.minimize import minimize
from workbench.base.dfa import DEAD, Dfa
from workbench.base.limits import LIMITS, Limits
from workbench.schema.intervals import End, Interval, end_numbers


def decimal_digits(number: Fraction) -> tuple[str, str]:
    """The digits before and after the point of a non-negative number, without redundant zeros.

    Raises: ValueError if it is not a decimal fraction.
    """
    places = decimal_places(number)
    text = str(number.numerator * (10**places // number.denominator)).zfill(places + 1)
    return text[: len(text) - places], text[len(text) - places :]


def decimal_places(number: Fraction) -> int:
    """The number of digits after the point that a number needs.

    Raises: ValueError if it is not a decimal fraction.
    """
    rest = number.denominator
    counts = []
    for prime in (2, 5):
        count = 0
        while rest % prime == 0:
            rest //= prime
            count += 1
        counts.append(count)
    if rest != 1:
        raise ValueError(f"expected a decimal fraction, not {number}")
    return max(counts)


def scientific(number: Fraction) -> tuple[str, int]:
    """The significant digits of a positive number, and its exponent in scientific notation."""
    whole, part = decimal_digits(number)
    every = whole + part
    stripped = every.lstrip("0")
    exponent = len(whole) - 1 - (len(every) - len(stripped))
    return stripped.rstrip("0"), exponent


#: The comparison of the digits read with those of a bound.
BELOW, EQUAL, ABOVE = -1, 0, 1

#: The parts of a numeral: its start, after "-", before and after the point, and the exponent:
#: after "e", after its sign, in its digits.
BEGIN, SIGNED, WHOLE, POINT, FRACTION = "begin", "signed", "whole", "point", "fraction"
MARKED, POWER_SIGNED, POWER = "marked", "power signed", "power"


class NumeralState(NamedTuple):
    """A state of the automaton of numerals."""

    part: str = BEGIN
    negative: bool = False
    #: The number of digits read in this part, capped where more make no difference.
    read: int = 0
    #: The comparison of the absolute value with each bound of its sign.
    compared: tuple[int, ...] = ()
    #: The remainder for each grid; in numerals with an exponent, its sign and absolute value.
    extra: tuple[int, ...] = ()


#: Each of these states counts as 20 against ``Limits.states``: 5,000 of them take 0.2 s.
STATE_COST = 20
#: The bytes of numerals, in the order of their columns. Column 0 is for all other bytes.
_SIGNS = b"+-.0123456789Ee"
_COLUMNS = {byte: column for column, byte in enumerate(_SIGNS, 1)}
_CLASSES = np.array([_COLUMNS.get(byte, 0) for byte in range(256)], np.uint16)

#: The first and last byte of a range, and the target state.
Edge = tuple[int, int, NumeralState]


def byte_edge(byte: bytes, state: NumeralState) -> Edge:
    """The edge of a single byte."""
    return byte[0], byte[0], state


def digit_edges(
    marks: Iterable[int], after: Callable[[int], NumeralState], first: int = 0
) -> Iterator[Edge]:
    """The edges of the digits from ``first`` on; those between two marks have the same target."""
    cuts = {first, 10, *marks, *(mark + 1 for mark in marks)}
    for low, end in pairwise(sorted(cut for cut in cuts if first <= cut <= 10)):
        yield 0x30 + low, 0x2F + end, after(low)


def numeral_machine(
    edges: Callable[[NumeralState], Iterable[Edge]],
    is_final: Callable[[NumeralState], bool],
    limits: Limits,
) -> Dfa:
    """The minimal DFA of the states reachable from the initial one; edges must not overlap."""
    clock = limits.clock()
    waiting = deque([NumeralState()])
    numbers = {waiting[0]: 0}
    rows = []
    while waiting:
        state = waiting.popleft()
        row = [DEAD] * (len(_SIGNS) + 1)
        for low, high, target in edges(state):
            number = numbers.get(target)
            if number is None:
                number = numbers[target] = len(numbers)
                waiting.append(target)
            first = _COLUMNS[low]
            row[first : first + high - low + 1] = [number] * (high - low + 1)
        rows.append(row)
        limits.check(
            "states", STATE_COST * len(numbers), "choose bounds and multiples of fewer digits"
        )
        clock.check()
    finals = np.array([is_final(state) for state in numbers], np.bool_)
    whole = trimmed(_CLASSES, np.array(rows, np.int32), finals, 0)
    return minimize(whole, limits, clock)


def compare_digit(before: int, digit: int, expected: int) -> int:
    """The comparison with a bound after one more digit."""
    return before or (digit > expected) - (digit < expected)


def containing(
    intervals: Sequence[Interval], sizes: dict[Fraction, int], state: NumeralState
) -> Iterator[Interval]:
    """The intervals that contain a number, given its comparison with the size of each end."""
    sign = -1 if state.negative else 1

    def past(end: End) -> bool:
        # a bound without a comparison is 0 or has the other sign
        compared = sign * sizes.get(end.number, ABOVE)
        return compared == ABOVE or (compared == EQUAL and not end.after)

    for interval in intervals:
        if (interval.low is None or past(interval.low)) and (
            interval.high is None or not past(interval.high)
        ):
            yield interval


def exponent_numerals(intervals: Sequence[Interval], limits: Limits = LIMITS) -> Dfa:
    """The numerals ``d.ddde±dd`` of disjoint intervals without grids.

    Raises: LimitError if bounds are too large or too small.
    """
    numerals = _Scientific.of(intervals)
    return numeral_machine(numerals.edges, numerals.is_final, limits)


class _Bound(NamedTuple):
    """A bound in scientific notation."""

    number: Fraction
    digits: tuple[int, ...]
    power: int


def _bound(number: Fraction) -> _Bound:
    digits, power = scientific(abs(number))
    return _Bound(number, tuple(map(int, digits)), power)


@dataclass(frozen=True, slots=True)
class _Scientific:
    """The automaton of numerals with an exponent, as a transition function."""

    intervals: Sequence[Interval]
    #: The bounds of positive and of negative numerals.
    bounds: tuple[tuple[_Bound, ...], tuple[_Bound, ...]]
    #: The absolute values of the bounds' exponents, as text.
    powers: frozenset[str]
    #: Exponents of a larger absolute value distinguish no bounds.
    max_power: int

    @staticmethod
    def of(intervals: Sequence[Interval]) -> _Scientific:
        """Collects the bounds of intervals."""
        ends = end_numbers(intervals)
        positive = tuple(_bound(number) for number in sorted(ends) if number > 0)
        negative = tuple(_bound(number) for number in sorted(ends) if number < 0)
        powers = {abs(bound.power) for bound in (*positive, *negative)}
        max_power = max(powers, default=0) + 1
        return _Scientific(intervals, (positive, negative), frozenset(map(str, powers)), max_power)

    def edges(self, state: NumeralState) -> Iterator[Edge]:
        """The outgoing edges of a state."""
        part = state.part
        if part == BEGIN:
            yield byte_edge(b"-", state._replace(part=SIGNED, negative=True))
        if part in (BEGIN, SIGNED):
            marks = self._marks(state)
            yield from digit_edges(marks, lambda d: self._read(state, d, WHOLE), 1)
        if part == WHOLE:
            yield byte_edge(b".", state._replace(part=POINT))
        if part in (POINT, FRACTION):
            marks = self._marks(state)
            yield from digit_edges(marks, lambda d: self._read(state, d, FRACTION))
        if part in (WHOLE, FRACTION):
            for letter in (b"e", b"E"):
                yield byte_edge(letter, self._after_mantissa(state))
        if part == MARKED:
            signed = state._replace(part=POWER_SIGNED)
            yield byte_edge(b"+", signed)
            yield byte_edge(b"-", signed._replace(extra=(-1, 0)))
        if part in (MARKED, POWER_SIGNED, POWER):
            marks = self._power_marks(state.extra[1])
            yield from digit_edges(marks, lambda digit: self._exponent_digit(state, digit))

    def _marks(self, state: NumeralState) -> set[int]:
        """The digits whose targets differ from those of their neighbours."""
        position = state.read
        return {
            b.digits[position] if position < len(b.digits) else 0
            for b in self.bounds[state.negative]
        }

    def _read(self, state: NumeralState, digit: int, part: str) -> NumeralState:
        """The state after one more digit of the mantissa."""
        bounds, position = self.bounds[state.negative], state.read
        before = state.compared or (EQUAL,) * len(bounds)
        compared = tuple(
            compare_digit(b, digit, bound.digits[position] if position < len(bound.digits) else 0)
            for b, bound in zip(before, bounds, strict=True)
        )
        longest = max((len(bound.digits) for bound in bounds), default=0)
        return NumeralState(part, state.negative, min(position + 1, longest), compared)

    def _after_mantissa(self, state: NumeralState) -> NumeralState:
        """The state after the mantissa, of which only the comparisons matter from here on."""
        compared = tuple(
            BELOW if b == EQUAL and len(bound.digits) > state.read else b
            for b, bound in zip(state.compared, self.bounds[state.negative], strict=True)
        )
        return NumeralState(MARKED, state.negative, 0, compared, (1, 0))

    def _power_marks(self, power: int) -> set[int]:
        """The digits after an exponent whose targets differ from those of their neighbours."""
        length = len(str(power)) + 1 if power else 1
        others = {0, self.max_power, *(int(other[:length]) for other in self.powers)}
        return {other - 10 * power for other in others}

    def _exponent_digit(self, state: NumeralState, digit: int) -> NumeralState:
        sign, power = state.extra
        power = self._representative(min(10 * power + digit, self.max_power))
        return NumeralState(POWER, state.negative, 0, state.compared, (sign, power))

    def _representative(self, power: int) -> int:
        """The least exponent that no further digits distinguish from this one.

        Exponents are equivalent if they compare equally with the prefixes of the same length of
        the bounds' exponents. Without this merging, the bounds of a double took 2 seconds.
        """
        length = len(str(power))
        beginnings = {int(other[:length]) for other in self.powers if len(other) >= length}
        if not power or power in beginnings:
            return power
        least: int = 10 ** (length - 1)
        return max([least, *(beginning + 1 for beginning in beginnings if beginning < power)])

    def is_final(self, state: NumeralState) -> bool:
        """Whether a numeral may end here and its number is in an interval."""
        if state.part != POWER:
            return False
        power = state.extra[0] * state.extra[1]
        sizes = {}
        for b, bound in zip(state.compared, self.bounds[state.negative], strict=True):
            above = (power > bound.power) - (power < bound.power)
            sizes[bound.number] = above or b
        return any(containing(self.intervals, sizes, state))
