"""Counted repetitions become loops: in comes a graph, out comes one with ladders folded.

``[a-z]{1,20}`` is a ladder of twenty states that all go on alike: a reader sees twenty times the
same. A ladder becomes its first state with a loop that says how often; the rest stands inside the
loop, so a live state is still found (``Graph.where``). What the picture no longer says is on which
rung the machine stands.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

from workbench.drawing.graph import Edge, Graph

#: Rungs below this are drawn one by one.
FEWEST = 4

_Ways = frozenset[tuple[str, tuple[str, ...], tuple[str, ...]]]


def fold_counts(graph: Graph) -> Graph:
    """The graph with every ladder of at least ``FEWEST`` rungs as one state with a loop.

    A ladder is a run of states, each entered only from the one before, by the same
    labels, whose other ways out are the same for all.

    Cost: every edge a few times.
    """
    out: dict[str, list[Edge]] = defaultdict(list)
    entered: Counter[str] = Counter()
    for edge in graph.edges:
        out[edge.source].append(edge)
        entered[edge.target] += 1
    kinds = {node.id: node.kinds for node in graph.nodes}
    loops: dict[str, Edge] = {}
    gone: set[str] = set()
    for node in graph.nodes:
        if node.id in gone:
            continue
        rungs = _ladder(node.id, out, entered, kinds)
        if len(rungs) >= FEWEST and not gone.intersection(rungs) and not loops.keys() & set(rungs):
            loops[node.id] = _loop(node.id, rungs, out)
            gone.update(rungs)
    if not loops:
        return graph
    edges = [
        loops[edge.source] if edge.source in loops and edge.target in gone else edge
        for edge in graph.edges
        if edge.source not in gone
    ]
    return replace(
        graph,
        nodes=tuple(node for node in graph.nodes if node.id not in gone),
        edges=tuple(edges),
    )


def _ladder(
    first: str,
    out: dict[str, list[Edge]],
    entered: Counter[str],
    kinds: dict[str, tuple[str, ...]],
) -> list[str]:
    """The states above ``first`` that go on as it does, the last one perhaps with no way up."""
    for step in out[first]:
        rungs = _climb(first, step, out, entered, kinds)
        if rungs:
            return rungs
    return []


def _climb(
    first: str,
    step: Edge,
    out: dict[str, list[Edge]],
    entered: Counter[str],
    kinds: dict[str, tuple[str, ...]],
) -> list[str]:
    exits = _ways(out[first], step)
    plain = _plain(kinds[first])
    if not exits and "final" not in plain:
        return []  # an exact count, which has no way out on the way: a chain
    rungs: list[str] = []
    here = step
    while True:
        there = here.target
        if there == first or entered[there] != 1 or here.chains or "initial" in kinds[there]:
            return rungs
        if _plain(kinds[there]) != plain:
            return rungs
        onward = next((e for e in out[there] if (e.labels, e.kinds) == (step.labels, step.kinds)
                       and _ways(out[there], e) == exits), None)  # fmt: skip
        if onward is None:
            # the last rung may have no way up, if it goes on like the others otherwise
            return [*rungs, there] if _ways(out[there], None) == exits else rungs
        rungs.append(there)
        here = onward


def _plain(kinds: tuple[str, ...]) -> frozenset[str]:
    """What has to be alike for two states to be one: whether the text may end."""
    return frozenset(kinds) - {"initial", "rule"}


def _ways(edges: list[Edge], without: Edge | None) -> _Ways:
    return frozenset((e.target, e.labels, e.kinds) for e in edges if e is not without)


def _loop(first: str, rungs: list[str], out: dict[str, list[Edge]]) -> Edge:
    """The loop that stands for the rungs, with the steps between them inside."""
    here, steps = first, []
    for rung in rungs:
        steps.append(next(edge for edge in out[here] if edge.target == rung))
        here = rung
    label = " ".join(steps[0].labels)
    back = Edge(here, first, steps[0].labels, steps[0].kinds)
    return Edge(
        first,
        first,
        (f"{label}\nat most {len(rungs)} times",),
        (*steps[0].kinds, "repeat"),
        title=f"{label}, at most {len(rungs)} times: {len(rungs)} states stand inside",
        chains=((*steps, back),),
        between=tuple(state for rung in rungs for way in out[rung] for state in way.between),
    )
