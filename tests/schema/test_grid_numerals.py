"""Numerals of grids with many remainders, compared with the numbers themselves."""

from __future__ import annotations

from fractions import Fraction

import pytest

import workbench as wb
from workbench.automata.operations import difference
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.schema.grid_numerals import grid_numerals
from workbench.schema.intervals import Grid, Interval
from workbench.schema.numbers import NumberSet
from workbench.schema.numerals import interval_numerals

_GRIDS = (
    NumberSet.multiples(7),
    ~NumberSet.multiples(7),
    NumberSet.multiples(0.25),
    ~NumberSet.multiples(0.25) & ~NumberSet.multiples(0.3),
    NumberSet.multiples(3) & ~NumberSet.multiples(5),
    NumberSet.multiples(13.5),
    NumberSet.integers() & ~NumberSet.multiples(6),
    NumberSet.multiples(1.5) | NumberSet.multiples(4),
)


def _grid(numbers: NumberSet) -> Grid:
    (interval,) = numbers.intervals
    return interval.grid


@pytest.mark.parametrize("numbers", _GRIDS, ids=str)
@pytest.mark.parametrize("digits_only", [False, True])
def test_same_numerals_as_state_by_state(numbers: NumberSet, digits_only: bool) -> None:
    grid = _grid(numbers)
    by_state = interval_numerals([Interval(None, None, grid)], digits_only=digits_only)
    as_table = grid_numerals(grid, digits_only=digits_only)
    assert difference(by_state, as_table).is_empty
    assert difference(as_table, by_state).is_empty


def test_members_of_a_long_period() -> None:
    numbers = NumberSet.integers()
    for step in (2, 3, 5, 7, 11, 13):
        numbers &= ~NumberSet.multiples(step)
    numbers &= NumberSet.interval(169, 40_000)
    machine = numbers.machine()
    for value in (
        *range(-5, 3),
        *range(150, 2_000),
        30_029,
        30_030,
        30_031,
        39_999,
        40_000,
        40_001,
    ):
        coprime = all(value % step for step in (2, 3, 5, 7, 11, 13))
        assert machine.accepts(b"%d" % value) == (169 <= value <= 40_000 and coprime), value


def test_fractions_of_a_long_period() -> None:
    numbers = NumberSet.multiples(0.5) & ~NumberSet.multiples(77) & ~NumberSet.multiples(13)
    machine = (numbers & NumberSet.interval(low=-1_000, open_low=True)).machine()
    for halves in range(-2_100, 600):
        value = Fraction(halves, 2)
        whole, part = divmod(abs(halves), 2)
        text = f"{'-' if halves < 0 else ''}{whole}.{5 * part}0"
        expected = value > -1_000 and value % 77 != 0 and value % 13 != 0
        assert machine.accepts(text.encode()) == expected, text
    assert not machine.accepts(b"0.25")


def test_error_past_the_states() -> None:
    with pytest.raises(LimitError) as caught:
        grid_numerals(_grid(NumberSet.multiples(1_000_003)), Limits())
    assert caught.value.budget == "states"


def test_errors_name_the_keyword() -> None:
    steps = {"properties": {"a": {"type": "integer", "not": {"multipleOf": 1_000_003}}}}
    with pytest.raises(LimitError, match=r"^/properties/a/not: needs a period"):
        wb.Grammar.from_json_schema(steps)
    several = [{"multipleOf": step} for step in (2, 3, 5, 7, 11, 13, 17)]
    with pytest.raises(LimitError, match=r"^/properties/a/not/anyOf: needs a period"):
        wb.Grammar.from_json_schema({"properties": {"a": {"not": {"anyOf": several}}}})
