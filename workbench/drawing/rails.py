"""Rails of lanes: their free heights, the rows they belong to, and the columns of the margin.

A rail is a horizontal piece of an edge above a row (``UP``) or below it (``DOWN``). Coordinates
are pixels at scale 1, x to the right and y downwards.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from workbench.drawing.connectors import Point

#: The radius of a state.
RADIUS = 12.0

#: The side of a row a rail lies on.
UP, DOWN = 0, 1


class Rails:
    """Free heights on one side of a row: intervals of x with the heights they take."""

    def __init__(self) -> None:
        self._taken: list[tuple[float, float, float, float]] = []

    def block(self, left: float, right: float, high: float) -> None:
        """Mark an interval as occupied by something on the track."""
        self._taken.append((left, right, 0.0, high))

    def place(self, left: float, right: float, high: float) -> float:
        """The lowest free height for something as high as this: its lower end."""
        height = RADIUS + 3
        near = [
            (begin, end)
            for start, other, begin, end in self._taken
            if start < right + 3 and left - 3 < other
        ]
        while hit := [end for begin, end in near if begin < height + high and height < end]:
            height = max(hit)
        self._taken.append((left, right, height, height + high))
        return height

    @property
    def top(self) -> float:
        """The upper end of everything placed."""
        return max((end for *_, end in self._taken), default=RADIUS + 3)


@dataclass(slots=True)
class Row:
    """A row; its track gets a y when all rails are placed."""

    states: list[str] = field(default_factory=list)
    width: float = 0.0
    sides: tuple[Rails, Rails] = field(default_factory=lambda: (Rails(), Rails()))
    track: float = 0.0


@dataclass(slots=True)
class Want:
    """A rail that is needed: its row and side, its interval of x, its height."""

    row: int
    side: int
    left: float
    right: float
    high: float
    level: float = 0.0


@dataclass(slots=True)
class Route:
    """The rails that one group of edges needs, and a function that draws it at known heights."""

    wants: list[Want]
    draw: Callable[[Route], None]
    #: The rows between which a column of the margin is needed, as an interval.
    span: tuple[float, float] | None = None
    column: int = 0
    #: Drawn below everything else in its row.
    last: bool = False

    @property
    def length(self) -> float:
        """The length of the longest rail."""
        return max(want.right - want.left for want in self.wants)


def detour(
    x: float, rim: float, bend: float, y: float, end: float, low: float | None = None
) -> list[Point]:
    """From a state's rim to a rail that begins next to it, and along the rail to ``end``."""
    if abs(bend - x) < 0.5:
        return [(x, rim), (x, y), (end, y)]
    if low is None:
        low = rim + (5 if y > rim else -5)
    return [(x, rim), (x, low), (bend, low), (bend, y), (end, y)]


def direction(path: Sequence[Point]) -> Point:
    """The direction of the last piece of a path."""
    (x0, y0), (x1, y1) = path[-2:]
    if abs(x1 - x0) >= abs(y1 - y0):
        return (1.0 if x1 >= x0 else -1.0), 0.0
    return 0.0, (1.0 if y1 >= y0 else -1.0)


def head_at(end: Point, side: int) -> tuple[Point, Point]:
    """The end of an edge that comes from a rail, and its direction."""
    return end, (0.0, 1.0 if side == UP else -1.0)


def assign_columns(routes: Sequence[Route]) -> int:
    """Assign columns of the margin so that routes do not overlap; returns the number of columns."""
    # the intervals of each column, sorted
    taken: list[list[tuple[float, float]]] = []
    for route in sorted(routes, key=lambda r: r.span[1] - r.span[0] if r.span else 0.0):
        assert route.span is not None, "routes within a row need no column"
        low, high = route.span
        for number, column in enumerate(taken):  # noqa: B007
            after = bisect_left(column, (low, high))
            free = not after or column[after - 1][1] < low
            if free and (after == len(column) or high < column[after][0]):
                break
        else:
            number = len(taken)
            taken.append([])
        insort(taken[number], (low, high))
        route.column = number
    return len(taken)
