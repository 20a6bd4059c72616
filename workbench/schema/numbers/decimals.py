"""Decimals: a fraction comes in, the digits it is written with go out."""

from __future__ import annotations

from fractions import Fraction


def digits(number: Fraction) -> tuple[str, str]:
    """The digits before and after the point of a number from 0 on, no zeros at their ends.

    Raises: ValueError where they have no end.
    """
    places = decimal_places(number)
    text = str(number.numerator * (10**places // number.denominator)).zfill(places + 1)
    return text[: len(text) - places], text[len(text) - places :]


def decimal_places(number: Fraction) -> int:
    """How many digits after the point a number needs.

    Raises: ValueError where they have no end.
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
    """The digits of a number above 0 from the first that is not 0 to the last, and its exponent.

    The point stands behind the first of them.
    """
    whole, part = digits(number)
    every = whole + part
    stripped = every.lstrip("0")
    exponent = len(whole) - 1 - (len(every) - len(stripped))
    return stripped.rstrip("0"), exponent
