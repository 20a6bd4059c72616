"""Automata of the numerals of a grid with many remainders, as arrays.

``interval_numerals`` makes its states one by one, so it has at most 5,000 of them. Here the states
of all remainders are rows of one table, and the bounds of the interval are a second automaton with
which it is intersected. Multiples of 3, 5, 7, 8 and 11 that exclude one another have a period of
9,240: 10 ms.
"""

from __future__ import annotations

from math import gcd

import numpy as np
import numpy.typing as npt

from workbench.automata.minimize import smallest_of
from workbench.automata.nfa import Flags, Ints
from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, Dfa
from workbench.base.limits import LIMITS, Limits
from workbench.schema.digit_machines import decimal_places
from workbench.schema.intervals import Grid

Longs = npt.NDArray[np.int64]

_HINT = "choose a multiple of fewer digits"
#: The columns: other bytes, minus, point, and the digits from ``_ZERO`` on.
_MINUS, _POINT, _ZERO = 1, 2, 3
_CLASSES = np.zeros(256, np.uint16)
_CLASSES[ord("-")], _CLASSES[ord(".")] = _MINUS, _POINT
_CLASSES[ord("0") : ord("9") + 1] = np.arange(_ZERO, _ZERO + 10)

#: The first states: the start, after the minus, the point after a member and after another number,
#: and after further zeros of these, and the numbers that are not multiples of the step.
_START, _SIGNED, _AT_MEMBER, _AT_OTHER, _MEMBER, _OTHER, _BETWEEN = range(7)
_FIRST = 7

#: Products of two numbers below it are exact in 64 bits.
_MAX_EXACT = 2**31


def grid_numerals(grid: Grid, limits: Limits = LIMITS, *, digits_only: bool = False) -> Dfa:
    """The numerals without exponents of all numbers of a grid.

    A state is the sign, the number of digits after the point, and the remainder of all digits read
    modulo the period; after as many digits as the step has only zeros keep the number. In the order
    of the states, "0" and "-0" come before the whole numbers that begin with another digit.

    Cost:   a row for each sign, place and remainder, then minimization.
    Raises: LimitError past ``limits.states`` remainders.
    """
    states = _States(grid, digits_only)
    limits.check("states", states.modulus * (states.places + 1), _HINT)
    table = np.full((_FIRST + 2 * states.block, _ZERO + 10), DEAD, np.int32)
    finals = np.zeros(len(table), np.bool_)
    for negative in (False, True):
        states.write_whole(table, finals, negative=negative)
        for read in range(1, states.places + 1):
            states.write_place(table, finals, read, negative=negative)
    table[_START, _MINUS] = _SIGNED
    table[[_AT_MEMBER, _MEMBER], _ZERO] = _MEMBER
    table[[_AT_OTHER, _OTHER], _ZERO] = _OTHER
    table[[_AT_MEMBER, _AT_OTHER, _MEMBER, _OTHER], _ZERO + 1 :] = _BETWEEN
    table[_BETWEEN, _ZERO:] = _BETWEEN
    finals[_MEMBER], finals[_BETWEEN] = True, grid.between
    return smallest_of(_CLASSES, table, finals)


class _States:
    """The states of a grid: for each sign "0", the whole numbers, then a group for each place."""

    def __init__(self, grid: Grid, digits_only: bool) -> None:
        self._grid, self._digits_only = grid, digits_only
        self._decimals = decimal_places(grid.step)
        scale = 10**self._decimals
        self._unit = int(grid.step * scale)
        self._period = self._unit * grid.period
        #: The digits that are counted after the point, and the period of numbers with none.
        self.places = 0 if digits_only else self._decimals
        self.modulus = self._period // gcd(self._period, scale) if digits_only else self._period
        #: The states of one sign.
        self.block = 1 + self.modulus * (self.places + 1)

    @cached_property
    def _members(self) -> npt.NDArray[np.bool_]:
        members = np.zeros(self._grid.period, np.bool_)
        members[list(self._grid.members)] = True
        return members

    @cached_property
    def _onward(self) -> Longs:
        """The remainder after a remainder and one more digit, (modulus, 10)."""
        remainders: Longs = np.arange(self.modulus)
        return (10 * remainders[:, None] + np.arange(10)) % self.modulus

    def _is_member(self, read: int, *, negative: bool) -> npt.NDArray[np.bool_]:
        """For each remainder after ``read`` digits behind the point, whether it is a member."""
        remainders = np.arange(self.modulus)
        exact = remainders if self._period < _MAX_EXACT else remainders.astype(object)
        units = exact * (10 ** (self._decimals - read) % self._period) % self._period
        steps = (units // self._unit).astype(np.int64) % self._grid.period
        on_step = np.asarray(units % self._unit == 0, np.bool_)
        its_members = self._members[-steps % self._grid.period if negative else steps]
        held: npt.NDArray[np.bool_] = np.where(on_step, its_members, self._grid.between)
        return held

    def write_whole(self, table: Ints, finals: Flags, *, negative: bool) -> None:
        """Write the states of "0" and of the whole numbers."""
        zero = _FIRST + negative * self.block
        whole = slice(zero + 1, zero + 1 + self.modulus)
        source = _SIGNED if negative else _START
        table[source, _ZERO + 1 :] = whole.start + np.arange(1, 10) % self.modulus
        if not (negative and self._digits_only):
            table[source, _ZERO] = zero
        table[whole, _ZERO:] = whole.start + self._onward
        finals[whole] = at_end = self._is_member(0, negative=negative)
        finals[zero] = at_end[0]
        if self._digits_only:
            return
        after_point = np.where(at_end, _AT_MEMBER, _AT_OTHER)
        if self.places:
            after_point = whole.stop + np.arange(self.modulus)
        table[whole, _POINT], table[zero, _POINT] = after_point, after_point[0]

    def write_place(self, table: Ints, finals: Flags, read: int, *, negative: bool) -> None:
        """Write the steps by the ``read``-th digit after the point."""
        before = _FIRST + negative * self.block + 1 + read * self.modulus
        held = self._is_member(read, negative=negative)
        if read < self.places:
            finals[before + self.modulus : before + 2 * self.modulus] = held
            targets = before + self.modulus + self._onward
        else:  # the last digit that the step has
            targets = np.where(held, _MEMBER, _OTHER)[self._onward]
        table[before : before + self.modulus, _ZERO:] = targets
