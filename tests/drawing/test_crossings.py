"""The crossings of edges in a picture."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from random import Random

import pytest

from workbench.drawing.crossings import crossings

Point = tuple[int, int]


def picture(*paths: str) -> str:
    groups = (
        f'<g id="edge-{i}" class="edge"><title>t</title><path fill="none" d="{path}"/></g>'
        for i, path in enumerate(paths)
    )
    return f'<svg><g class="graph">{"".join(groups)}</g></svg>'


def straight(begin: Point, end: Point) -> str:
    """A straight line as Graphviz writes it: a curve whose inner points divide it in thirds."""
    inner = [[Fraction(b - a, 3) * k + a for a, b in zip(begin, end, strict=True)] for k in (1, 2)]
    points = " ".join(f"{float(x):.4f},{float(y):.4f}" for x, y in inner)
    return f"M{begin[0]},{begin[1]}C{points} {end[0]},{end[1]}"


@pytest.mark.parametrize(
    ("paths", "count"),
    [
        ((), 0),
        ((straight((0, 0), (10, 10)),), 0),
        ((straight((0, 0), (10, 10)), straight((0, 10), (10, 0))), 1),
        ((straight((0, 0), (10, 0)), straight((0, 5), (10, 5))), 0),
        (("M0,0C0,20 10,20 10,0", straight((0, 5), (10, 5))), 1),  # twice, but one pair
        (("M0,0C0,20 10,20 10,0C10,-20 20,-20 20,0", straight((-5, 1), (25, 1))), 1),
        ((straight((0, 0), (9, 9)), straight((0, 9), (9, 0)), straight((4, 0), (4, 9))), 3),
    ],
    ids=["none", "one", "cross", "parallel", "arch", "wave", "three"],
)
def test_pairs_of_edges_that_cross(paths: tuple[str, ...], count: int) -> None:
    assert crossings(picture(*paths)) == count


@pytest.mark.parametrize("seed", range(20))
def test_of_straight_lines_it_is_the_exact_number(seed: int) -> None:
    random = Random(seed)
    lines = [
        ((random.randrange(1000), random.randrange(1000)), (random.randrange(1000), random.randrange(1000)))
        for _ in range(12)
    ]  # fmt: skip
    exact = sum(cross(*one, *other) for one, other in combinations(lines, 2))
    assert crossings(picture(*(straight(*line) for line in lines))) == exact


def cross(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Whether two lines cross, in integers."""

    def side(p: Point, q: Point, r: Point) -> int:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0
