"""Numerals: pieces of the line of numbers come in, the machine of their JSON numerals goes out.

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

from collections.abc import Sequence
from fractions import Fraction

from workbench.automata.build import smallest
from workbench.automata.dfa import Dfa
from workbench.automata.explore import nothing
from workbench.automata.nfa import NfaBuilder
from workbench.limits import LIMITS, Limits
from workbench.schema.numbers.decimals import digits, scientific
from workbench.schema.numbers.exponents import of_exponents
from workbench.schema.numbers.pieces import Piece
from workbench.schema.numbers.spans import of_spans, only_signs


def numerals(pieces: Sequence[Piece], limits: Limits = LIMITS, *, plainly: bool = False) -> Dfa:
    """The JSON numerals of the numbers in disjoint pieces; ``plainly``: these are integers.

    Raises: LimitError where bounds or multiples have too many digits.
    """
    spans = [piece for piece in pieces if piece.point is None]
    points = [piece.point for piece in pieces if piece.point is not None]
    machines = []
    if spans:
        machines.append(of_spans(spans, limits, plainly=plainly))
        dense = [piece for piece in spans if piece.grid.is_everything]
        if dense and not only_signs(spans):
            machines.append(of_exponents(dense, limits))
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
            whole, part = digits(abs(point))
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
