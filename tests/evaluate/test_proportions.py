"""Intervals and spreads against known values."""

from __future__ import annotations

import math

import pytest

from lab.experiments.proportions import Proportion, Spread


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),  # Brown, Cai & DasGupta 2001: z² / (n + z²)
        (10, 10, 0.7225, 1.0),
        (1, 10, 0.0179, 0.4042),
        (15, 20, 0.5313, 0.8881),
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, table I
        (0, 0, 0.0, 1.0),
    ],
)
def test_intervals_are_wilsons(hits: int, of: int, low: float, high: float) -> None:
    assert Proportion(hits, of).interval == pytest.approx((low, high), abs=5e-5)


def test_proportions_differ_where_their_intervals_are_disjoint() -> None:
    assert Proportion(9, 10).differs(Proportion(0, 10)) == 1
    assert Proportion(0, 10).differs(Proportion(9, 10)) == -1
    assert Proportion(5, 10).differs(Proportion(3, 10)) == 0
    assert math.isnan(Proportion(0, 0).value)
    assert (str(Proportion(0, 0)), str(Proportion(1, 2))) == ("–", "0.500 [0.09, 0.91]")


def test_a_spread_is_mean_and_standard_deviation() -> None:
    assert Spread.of([1.0, 2.0, 3.0]) == Spread(2.0, 1.0, 3)
    assert Spread.of([4.0]) == Spread(4.0, 0.0, 1)
