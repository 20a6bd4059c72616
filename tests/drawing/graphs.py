"""Small graphs for the tests of this package, and their languages."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.drawing.graph import Edge, Graph, Node

Arc = tuple[int, int, str]


def graph(count: int, arcs: Iterable[Arc], finals: Iterable[int], name: str = "test") -> Graph:
    """States 0 to ``count`` − 1, 0 initial, an edge for each arc (source, target, letter)."""
    last = set(finals)
    nodes = tuple(
        Node(str(s), str(s), ("initial",) * (s == 0) + ("final",) * (s in last))
        for s in range(count)
    )
    return Graph(name, nodes, tuple(Edge(str(s), str(t), (label,)) for s, t, label in arcs))


def texts(graph: Graph, longest: int) -> set[str]:
    """Every accepted text up to a length, read off the labels as they are drawn."""
    finals = {node.id for node in graph.nodes if "final" in node.kinds}
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    waiting = [(node.id, "") for node in graph.nodes if "initial" in node.kinds]
    while waiting:
        here = waiting.pop()
        if here in seen or len(here[1]) > longest:
            continue
        seen.add(here)
        if here[0] in finals:
            found.add(here[1])
        for edge in graph.edges:
            if edge.source == here[0]:
                waiting.extend((edge.target, here[1] + label) for label in edge.labels)
    return found


def arcs(graph: Graph) -> set[tuple[str, str, str]]:
    """Every edge and label: (source, target, label)."""
    return {(edge.source, edge.target, label) for edge in graph.edges for label in edge.labels}


def states(graph: Graph, kind: str = "") -> set[str]:
    """The ids of the nodes, or of those of a kind."""
    return {node.id for node in graph.nodes if not kind or kind in node.kinds}
