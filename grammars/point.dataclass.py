"""A point of a drawing."""

from dataclasses import dataclass
from enum import Enum
from typing import Literal


class Colour(Enum):
    """What a point may be drawn in."""

    RED = "red"
    GREEN = "green"
    BLUE = "blue"


@dataclass(frozen=True)
class Point:
    """Where it is, and how it is drawn."""

    x: int
    y: int
    colour: Colour
    shape: Literal["dot", "cross"] = "dot"
    label: str | None = None
