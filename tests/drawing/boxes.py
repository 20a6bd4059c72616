"""The boxes of a lane layout, and checks for overlaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from workbench.drawing.connectors import BOX
from workbench.drawing.lanes import LaneLayout
from workbench.drawing.rails import RADIUS

#: Pixels by which boxes may differ without a fault: rounding.
_ROUNDING = 0.1


class Box(NamedTuple):
    """What is drawn, from its left end and its top to its right end and its bottom."""

    left: float
    top: float
    right: float
    bottom: float
    what: str


def boxes_of(layout: LaneLayout) -> list[Box]:
    """The boxes of all labels, calls and states."""
    found = []
    for lane in layout.lanes:
        for label in lane.labels:
            right, bottom = label.x + label.width, label.y + BOX
            found.append(Box(label.x, label.y, right, bottom, f"label {label.text}"))
        for state in lane.states:
            left, right = state.x - state.width / 2, state.x + state.width / 2
            top, bottom = state.y - RADIUS, state.y + RADIUS
            found.append(Box(left, top, right, bottom, f"state {state.node.id}"))
    return found


def overlaps(boxes: Iterable[Box]) -> Iterator[tuple[Box, Box]]:
    """Every two boxes that have more than their rims in common."""
    ordered = sorted(boxes)
    for i, one in enumerate(ordered):
        for other in ordered[i + 1 :]:
            if other.left > one.right - _ROUNDING:
                break
            if other.top < one.bottom - _ROUNDING and one.top < other.bottom - _ROUNDING:
                yield one, other


def outside(boxes: Iterable[Box], width: float, height: float) -> list[Box]:
    """The boxes that are not all inside a picture of this size."""
    return [
        box
        for box in boxes
        if min(box.left, box.top) < -_ROUNDING
        or box.right > width + _ROUNDING
        or box.bottom > height + _ROUNDING
    ]
