"""Strongly connected components of a graph (Tarjan 1972)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")


def circles(calls: Mapping[T, Iterable[T]]) -> list[frozenset[T]]:
    """The strongly connected components that hold a circle (a node that calls itself is one).

    Whatever is called and calls nobody need not be a key.

    Source: Tarjan 1972, "Depth-first search and linear graph algorithms", without recursion.
    """
    index: dict[T, int] = {}
    low: dict[T, int] = {}
    open_nodes: dict[T, None] = {}
    found: list[frozenset[T]] = []
    for root in calls:
        work = [] if root in index else [(root, iter(calls[root]))]
        while work:
            node, called = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                open_nodes[node] = None
            following = next(called, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    members = _closed(open_nodes, node)
                    if len(members) > 1 or node in calls.get(node, ()):
                        found.append(members)
            elif following not in index:
                work.append((following, iter(calls.get(following, ()))))
            elif following in open_nodes:
                low[node] = min(low[node], index[following])
    return found


def _closed(open_nodes: dict[T, None], root: T) -> frozenset[T]:
    """Take the component of ``root`` off the open nodes."""
    members = []
    while root in open_nodes:
        members.append(open_nodes.popitem()[0])
    return frozenset(members)
