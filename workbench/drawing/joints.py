"""Where lines of a picture join: an edge that ends on another one, or turns into it."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate, pairwise

from workbench.base.limits import check_time_budget
from workbench.drawing.connectors import Point
from workbench.drawing.rails import direction

#: The tip of an arrow's head, and its direction (dx, dy).
Head = tuple[Point, Point]
#: A line: its parts without gaps, whose pieces are horizontal or vertical.
Parts = Sequence[Sequence[Point]]

#: How far a line continues on both sides of a point that another one joins, at the least.
_REACH = 1.0


def joints(lines: Sequence[Parts]) -> list[list[Head]]:
    """For each line the heads of its joints: where another line goes straight on in its place.

    Cost: lines × log lines.
    """
    straight = _Pieces(lines)
    return [
        [
            (point, heading)
            for part in line
            for before, point, after in _turns(part)
            if (heading := direction([before, point]))
            and straight.passes(point, heading, after and direction([point, after]))
        ]
        for line in lines
    ]


def _turns(part: Sequence[Point]) -> list[tuple[Point, Point, Point | None]]:
    """The points of a part but its first one, with those before and after; None after the last."""
    points = [part[0], *(point for before, point in pairwise(part) if point != before)]
    return list(zip(points, points[1:], [*points[2:], None], strict=False))


class _Pieces:
    """The pieces of lines by direction and position, to find those that pass through a point."""

    def __init__(self, lines: Sequence[Parts]) -> None:
        pieces: dict[tuple[Point, float], list[tuple[float, float]]] = defaultdict(list)
        for line in lines:
            check_time_budget()
            for part in line:
                for start, end in pairwise(part):
                    heading = direction([start, end])
                    key, position = _place(start, heading)
                    other = _place(end, heading)[1]
                    pieces[key].append((min(position, other), max(position, other)))
        #: The lower ends of pieces in order, and the highest upper end of those up to each.
        self._pieces = {
            key: (
                [low for low, _ in intervals],
                list(accumulate((high for _, high in intervals), max)),
            )
            for key, intervals in ((key, sorted(intervals)) for key, intervals in pieces.items())
        }

    def passes(self, point: Point, heading: Point, onward: Point | None) -> bool:
        """Whether a piece that is across ``heading`` passes through a point.

        Its direction is ``onward``, or any if a line ends there.
        """
        across = (heading[1], heading[0])
        ways = [across, (-across[0], -across[1])] if onward is None else [onward]
        return any(
            self._passes(point, way) for way in ways if way[0] * heading[0] == way[1] * heading[1]
        )

    def _passes(self, point: Point, way: Point) -> bool:
        key, position = _place(point, way)
        lows, highs = self._pieces.get(key, ([], []))
        count = bisect_left(lows, position - _REACH)
        return count > 0 and highs[count - 1] > position + _REACH


def _place(point: Point, way: Point) -> tuple[tuple[Point, float], float]:
    """The line through a point in a direction, and the position of the point on it."""
    x, y = point
    return ((way, round(y, 1)), x) if way[0] else ((way, round(x, 1)), y)
