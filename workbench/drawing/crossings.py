"""Counts the crossings of edges in a picture that Graphviz laid out."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

#: The path of an edge in the SVG: a move, then curves of three points each.
_EDGE = re.compile(r'<g[^>]*id="edge-(\d+)".*?<path[^>]* d="(M[^"]+)"', re.DOTALL)
_NUMBER = re.compile(r"-?[\d.]+")

#: The points of a curve that are joined by straight lines.
_STEPS = np.linspace(0.0, 1.0, 8)
_WEIGHTS = np.stack(
    [
        (1 - _STEPS) ** 3,
        3 * _STEPS * (1 - _STEPS) ** 2,
        3 * _STEPS**2 * (1 - _STEPS),
        _STEPS**3,
    ],
    axis=1,
)


def crossings(svg: str) -> int:
    """The number of pairs of edges that cross.

    Cost: quadratic in the number of edges; 2 ms for 60.
    """
    lines = [_points(path) for _, path in _EDGE.findall(svg)]
    begins = np.concatenate([line[:-1] for line in lines] or [np.empty((0, 2))])
    ends = np.concatenate([line[1:] for line in lines] or [np.empty((0, 2))])
    owners = np.repeat(np.arange(len(lines)), [len(line) - 1 for line in lines])
    cross = _cross(begins, ends)
    first, second = np.nonzero(np.triu(cross & (owners[:, None] != owners[None, :])))
    return len(set(zip(owners[first].tolist(), owners[second].tolist(), strict=True)))


def _points(path: str) -> npt.NDArray[np.float64]:
    """Points of a path, (N, 2)."""
    points = np.array(_NUMBER.findall(path), float).reshape(-1, 2)
    curves = [_WEIGHTS @ points[i : i + 4] for i in range(0, len(points) - 3, 3)]
    return np.concatenate(curves) if curves else points


def _cross(begins: npt.NDArray[np.float64], ends: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Whether two lines cross, for all pairs of N lines, (N, N)."""
    along = ends - begins

    def side(points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """On which side of each line each point is, (lines, points)."""
        away = points[None, :, :] - begins[:, None, :]
        return along[:, None, 0] * away[..., 1] - along[:, None, 1] * away[..., 0]

    apart = side(begins) * side(ends) < 0
    result: npt.NDArray[np.bool_] = apart & apart.T
    return result
