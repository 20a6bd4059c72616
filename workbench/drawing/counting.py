"""Folds the states of a counted repetition into one loop.

``[a-z]{1,20}`` is a ladder of twenty states with the same continuation. A ladder becomes its first
state with a loop that names the count; the other states are inside the loop, so a live state is
still found (``Graph.where``). The picture no longer shows on which rung the machine is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Mapping
from dataclasses import replace

from workbench.drawing.graph import Edge, Graph
from workbench.drawing.token_edges import EXAMPLES, WRITTEN_OUT, fitting

#: Rungs below this are drawn one by one.
FEWEST = 4

#: Source, target, kinds, and what is popped and pushed.
_Alike = tuple[str, str, tuple[str, ...], tuple[tuple[str, ...], tuple[str, ...]]]

_Ways = frozenset[tuple[str, tuple[str, ...], tuple[str, ...]]]


def fold_counts(graph: Graph) -> Graph:
    """The graph with every ladder of at least ``FEWEST`` rungs as one state with a loop.

    A ladder is a run of states, each entered only from the one before, by the same
    labels, whose other ways out are the same for all.

    Cost: every edge a few times.
    """
    out = _ways_out(graph)
    ladders = _ladders(graph, out)
    if not ladders:
        return graph
    loops = {first: _loop(first, rungs, out) for first, rungs in ladders.items()}
    gone = {rung for rungs in ladders.values() for rung in rungs}
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


def foot_of(graph: Graph, there: Container[str]) -> dict[str, str]:
    """For each rung of a ladder the state it is drawn as, of those that are ``there``.

    A machine over tokens may have no use for the foot itself: then the first rung it has is one.
    """
    ladders = _ladders(graph, _ways_out(graph))
    feet: dict[str, str] = {}
    for first, rungs in ladders.items():
        foot = next((state for state in (first, *rungs) if state in there), first)
        feet |= {state: foot for state in (first, *rungs) if state != foot}
    return feet


def fold_tokens(graph: Graph, feet: Mapping[str, str]) -> Graph:
    """A machine over tokens with the ladders of its character machine folded.

    From its foot a ladder can be climbed by every token that can climb it from a rung, so
    the edges of the feet are kept, and those that lead to states now drawn as one are put
    together: from one state a token leads to one state, so their tokens are added up.
    """
    if not feet:
        return graph
    groups: dict[_Alike, list[Edge]] = defaultdict(list)
    for edge in sorted(graph.edges, key=lambda edge: "skip" in edge.kinds):
        if edge.source in feet:
            continue
        target = feet.get(edge.target, edge.target)
        edits = edge.pops, edge.pushes
        kinds = tuple(kind for kind in edge.kinds if kind != "skip")
        if "skip" in edge.kinds and not _stays(
            edge, target, (edge.source, target, kinds, edits), groups
        ):
            kinds = edge.kinds
        groups[edge.source, target, kinds, edits].append(edge)
    edges = [
        _together(source, target, kinds, group)
        for (source, target, kinds, _), group in groups.items()
    ]
    used = {end for edge in edges for end in (edge.source, edge.target)}
    nodes = tuple(n for n in graph.nodes if n.id in used or "initial" in n.kinds)
    return replace(graph, nodes=nodes, edges=tuple(edges))


def _stays(edge: Edge, target: str, plain: object, groups: Container[object]) -> bool:
    """Whether all a token passes over is rungs: it climbs, where others do so one by one."""
    return target != edge.target and (target == edge.source or plain in groups)


def _together(source: str, target: str, kinds: tuple[str, ...], group: list[Edge]) -> Edge:
    if len(group) == 1:
        return replace(group[0], source=source, target=target, kinds=kinds)
    count = sum(edge.count for edge in group)
    examples = tuple(dict.fromkeys(text for edge in group for text in edge.examples))
    labels = tuple(dict.fromkeys(label for edge in group for label in edge.labels))
    if count > WRITTEN_OUT or any(len(edge.labels) < edge.count for edge in group):
        labels = (f"{count:,} tokens: {fitting(examples)}",)
    titles = [edge.title.partition("\n") for edge in group]
    return replace(
        group[0],
        source=source,
        target=target,
        labels=labels,
        kinds=kinds,
        count=count,
        examples=examples[:EXAMPLES],
        title="".join((f"{count:,} tokens: {'  '.join(examples[:12])}", *titles[0][1:])),
        detail="\n".join(edge.detail for edge in group if edge.detail),
        between=tuple(state for edge in group for state in edge.between),
    )


def _ways_out(graph: Graph) -> dict[str, list[Edge]]:
    out: dict[str, list[Edge]] = defaultdict(list)
    for edge in graph.edges:
        out[edge.source].append(edge)
    return out


def _ladders(graph: Graph, out: dict[str, list[Edge]]) -> dict[str, list[str]]:
    """The rungs above each state that is the foot of a ladder."""
    entered = Counter(edge.target for edge in graph.edges)
    kinds = {node.id: node.kinds for node in graph.nodes}
    ladders: dict[str, list[str]] = {}
    gone: set[str] = set()
    for node in graph.nodes:
        if node.id in gone:
            continue
        rungs = _ladder(node.id, out, entered, kinds)
        if len(rungs) >= FEWEST and not gone.intersection(rungs) and not ladders.keys() & rungs:
            ladders[node.id] = rungs
            gone.update(rungs)
    return ladders


def _ladder(
    first: str,
    out: dict[str, list[Edge]],
    entered: Counter[str],
    kinds: dict[str, tuple[str, ...]],
) -> list[str]:
    """The states above ``first`` with the same continuation; the last may have no way up."""
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
    """The loop that replaces the rungs, with the steps between them inside."""
    here, steps = first, []
    for rung in rungs:
        steps.append(next(edge for edge in out[here] if edge.target == rung))
        here = rung
    label = " ".join(steps[0].labels)
    back = Edge(here, first, steps[0].labels, steps[0].kinds)
    return Edge(
        first,
        first,
        (f"{label}\n≤ {len(rungs)} times",),
        (*steps[0].kinds, "repeat"),
        title=f"{label}, at most {len(rungs)} times: {len(rungs)} states stand inside",
        chains=((*steps, back),),
        between=tuple(state for rung in rungs for way in out[rung] for state in way.between),
    )
