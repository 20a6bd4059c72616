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
from workbench.base.dfa import DEAD, Dfa
from workbench.base.limits import LIMITS, Limits
from workbench.schema.digit_machines import decimal_places
from workbench.schema.intervals import Grid

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
    decimals = decimal_places(grid.step)
    scale = 10**decimals
    unit = int(grid.step * scale)
    period = unit * grid.period
    #: The digits that are counted after the point, and the period of numbers with none.
    places = 0 if digits_only else decimals
    modulus = period // gcd(period, scale) if digits_only else period
    limits.check("states", modulus * (places + 1), _HINT)
    members = np.zeros(grid.period, np.bool_)
    members[list(grid.members)] = True
    remainders = np.arange(modulus)
    exact = remainders if period < _MAX_EXACT else remainders.astype(object)

    def is_member(negative: bool, read: int) -> npt.NDArray[np.bool_]:
        """For each remainder after so many digits behind the point, whether the number is one."""
        units = exact * (10 ** (decimals - read) % period) % period
        steps = (units // unit).astype(np.int64) % grid.period
        on_step = np.asarray(units % unit == 0, np.bool_)
        its_members = members[-steps % grid.period if negative else steps]
        held: npt.NDArray[np.bool_] = np.where(on_step, its_members, grid.between)
        return held

    # per sign: "0", the whole numbers, then the numbers with 0 to places − 1 digits after the point
    block = 1 + modulus * (places + 1)
    table = np.full((_FIRST + 2 * block, _ZERO + 10), DEAD, np.int32)
    finals = np.zeros(len(table), np.bool_)
    digits = np.arange(10)
    for negative in (False, True):
        zero = _FIRST + negative * block
        whole = zero + 1
        source = _SIGNED if negative else _START
        table[source, _ZERO + 1 :] = whole + digits[1:] % modulus
        if not (negative and digits_only):
            table[source, _ZERO] = zero
        onward = (10 * remainders[:, None] + digits) % modulus
        table[whole : whole + modulus, _ZERO:] = whole + onward
        at_end = is_member(negative, 0)
        finals[whole : whole + modulus] = at_end
        finals[zero] = at_end[0]
        if digits_only:
            continue
        after_point = (
            np.where(at_end, _AT_MEMBER, _AT_OTHER)
            if not places
            else (whole + modulus + remainders)
        )
        table[whole : whole + modulus, _POINT] = after_point
        table[zero, _POINT] = after_point[0]
        for read in range(1, places + 1):
            before = whole + read * modulus
            held = is_member(negative, read)
            if read < places:
                finals[before + modulus : before + 2 * modulus] = held
                targets = before + modulus + onward
            else:
                # the last digit that the step has
                targets = np.where(held, _MEMBER, _OTHER)[onward]
            table[before : before + modulus, _ZERO:] = targets
    table[_START, _MINUS] = _SIGNED
    table[[_AT_MEMBER, _MEMBER], _ZERO] = _MEMBER
    table[[_AT_OTHER, _OTHER], _ZERO] = _OTHER
    table[[_AT_MEMBER, _AT_OTHER, _MEMBER, _OTHER], _ZERO + 1 :] = _BETWEEN
    table[_BETWEEN, _ZERO:] = _BETWEEN
    finals[_MEMBER], finals[_BETWEEN] = True, grid.between
    return smallest_of(_CLASSES, table, finals)
