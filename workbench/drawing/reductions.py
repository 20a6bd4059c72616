"""Makes graphs smaller: parallel edges, chains, counted repetitions, neighbourhoods.

``[a-z]{1,20}`` is a ladder of twenty states with the same continuation. A ladder is replaced by its
first state with a loop that has the count as its label; the other states are inside the loop, so
the current state is still found (``Graph.where``). The picture no longer shows the current rung.

Source: layouts measured for this project: with more than 60 states a picture is illegible, with
        more
than 200 the layout does not end; so the graph is reduced before Graphviz runs.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from string import ascii_lowercase

from workbench.drawing.graph import Edge, Graph, Node, budgeted
from workbench.drawing.json_escapes import fold_escapes
from workbench.drawing.token_edges import MAX_EXAMPLES, MAX_WRITTEN_OUT, fitting

#: Ladders with fewer rungs are drawn state by state.
MIN_RUNGS = 4

#: Source, target, kinds, and the popped and pushed symbols.
_Alike = tuple[str, str, tuple[str, ...], tuple[tuple[str, ...], tuple[str, ...]]]

_Ways = frozenset[tuple[str, tuple[str, ...], tuple[str, ...]]]


def fold_counts(graph: Graph, keep: Container[str] = ()) -> Graph:
    """The graph with every ladder of at least ``MIN_RUNGS`` rungs as one state with a loop.

    A ladder with a state in ``keep`` is not folded.

    A ladder is a run of states, each entered only from the one before, by the same
    labels, whose other outgoing edges are equal.

    Cost: a few passes over the edges.
    """
    out = _ways_out(graph)
    ladders = {
        first: rungs
        for first, rungs in _ladders(graph, out).items()
        if not any(state in keep for state in (first, *rungs))
    }
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
    """For each rung of a ladder among the states ``there``, the state that represents it.

    A machine over tokens may lack the foot; then its first rung represents the ladder.
    """
    ladders = _ladders(graph, _ways_out(graph))
    feet: dict[str, str] = {}
    for first, rungs in ladders.items():
        foot = next((state for state in (first, *rungs) if state in there), first)
        feet |= {state: foot for state in (first, *rungs) if state != foot}
    return feet


def fold_tokens(graph: Graph, feet: Mapping[str, str]) -> Graph:
    """A machine over tokens, with the ladders of its character machine folded.

    Every token that climbs from a rung also climbs from the foot, so only the edges of the feet
    are kept. Edges to states with one representative are merged: from one state a token leads
    to one state, so their counts are added.
    """
    if not feet:
        return graph
    groups: dict[_Alike, list[Edge]] = defaultdict(list)
    for edge in budgeted(sorted(graph.edges, key=lambda edge: "skip" in edge.kinds)):
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
        for (source, target, kinds, _), group in budgeted(groups.items())
    ]
    used = {end for edge in edges for end in (edge.source, edge.target)}
    nodes = tuple(n for n in graph.nodes if n.id in used or "initial" in n.kinds)
    return replace(graph, nodes=nodes, edges=tuple(edges))


def _stays(edge: Edge, target: str, plain: object, groups: Container[object]) -> bool:
    """Whether a token passes only over rungs, so that its edge is part of the loop."""
    return target != edge.target and (target == edge.source or plain in groups)


def _together(source: str, target: str, kinds: tuple[str, ...], group: list[Edge]) -> Edge:
    if len(group) == 1:
        return replace(group[0], source=source, target=target, kinds=kinds)
    count = sum(edge.count for edge in group)
    examples = tuple(dict.fromkeys(text for edge in group for text in edge.examples))
    labels = tuple(dict.fromkeys(label for edge in group for label in edge.labels))
    if count > MAX_WRITTEN_OUT or any(len(edge.labels) < edge.count for edge in group):
        labels = (f"{count:,} tokens: {fitting(examples)}",)
    titles = [edge.title.partition("\n") for edge in group]
    return replace(
        group[0],
        source=source,
        target=target,
        labels=labels,
        kinds=kinds,
        count=count,
        examples=examples[:MAX_EXAMPLES],
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
        if len(rungs) >= MIN_RUNGS and not gone.intersection(rungs) and not ladders.keys() & rungs:
            ladders[node.id] = rungs
            gone.update(rungs)
    return ladders


def _ladder(
    first: str,
    out: dict[str, list[Edge]],
    entered: Counter[str],
    kinds: dict[str, tuple[str, ...]],
) -> list[str]:
    """The states above ``first`` with the same continuation; the last may have no edge upwards."""
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
    exits = _exit_ways(out[first], step)
    plain = _plain(kinds[first])
    if not exits and "final" not in plain:
        return []  # an exact count, without other outgoing edges, is a chain
    rungs: list[str] = []
    current = step
    while True:
        there = current.target
        if there == first or entered[there] != 1 or current.chains or "initial" in kinds[there]:
            return rungs
        if _plain(kinds[there]) != plain:
            return rungs
        onward = next((e for e in out[there] if (e.labels, e.kinds) == (step.labels, step.kinds)
                       and _exit_ways(out[there], e) == exits), None)  # fmt: skip
        if onward is None:
            # the last rung may have no edge upwards, if its other edges equal those of the others
            return [*rungs, there] if _exit_ways(out[there], None) == exits else rungs
        rungs.append(there)
        current = onward


def _plain(kinds: tuple[str, ...]) -> frozenset[str]:
    """What has to be equal for two states to be merged: whether the text may end."""
    return frozenset(kinds) - {"initial", "rule"}


def _exit_ways(edges: list[Edge], without: Edge | None) -> _Ways:
    return frozenset((e.target, e.labels, e.kinds) for e in edges if e is not without)


def _loop(first: str, rungs: list[str], out: dict[str, list[Edge]]) -> Edge:
    """The loop that replaces the rungs, with the steps between them inside."""
    current, steps = first, []
    for rung in rungs:
        steps.append(next(edge for edge in out[current] if edge.target == rung))
        current = rung
    label = " ".join(steps[0].labels)
    back = Edge(current, first, steps[0].labels, steps[0].kinds)
    return Edge(
        first,
        first,
        (f"{label}\n≤ {len(rungs)} times",),
        (*steps[0].kinds, "repeat"),
        title=f"{label}, at most {len(rungs)} times: {len(rungs)} states stand inside",
        chains=((*steps, back),),
        between=tuple(state for rung in rungs for chain in out[rung] for state in chain.between),
    )


#: Up to this many nodes every state is drawn.
MAX_UNFOLDED = 16

#: The most nodes of a legible picture.
MAX_NODES = 60

#: The most edges per node of a legible picture, and the number of edges that is always allowed.
_MAX_EDGES_PER_NODE = 3
_ALLOWED_EDGES = 48

#: Kinds that describe a label, not the effect of an edge; edges that differ in them are merged.
_LABEL_KINDS = frozenset({"class", "chain"})


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A graph to be drawn, and its share of the whole; boxes of calls are not counted."""

    graph: Graph
    total_nodes: int
    shown_nodes: int
    text: str


def reduce(
    graph: Graph,
    limit: int = MAX_NODES,
    centre: str | None = None,
    smaller: Callable[[Graph], Graph] | None = None,
) -> Shown:
    """A legible graph: whole, folded, or the part around ``centre``.

    ``smaller`` is the first reduction, by default ``calm``. If more than ``limit`` nodes or
    ``_MAX_EDGES_PER_NODE`` edges per node remain, the nodes nearest to ``centre`` (or to the
    initial state) are kept.
    """
    small = (smaller or calm)(graph)
    kept = min(limit, len(small.nodes))
    visible = shown_at(small, centre)
    part = nearest(small, visible, kept)
    while len(part.edges) > max(_MAX_EDGES_PER_NODE * kept, _ALLOWED_EDGES):
        kept = kept * 4 // 5
        part = nearest(small, visible, kept)
    total, shown = len(graph.states), len(part.states)
    return Shown(part, total, shown, _extent_note(part, small, total, visible))


def calm(graph: Graph) -> Graph:
    """Merges parallel edges, and folds chains of graphs with more than ``MAX_UNFOLDED`` nodes."""
    merged = merge_parallel(fold_escapes(graph))
    return collapse_chains(merged) if len(graph.nodes) > MAX_UNFOLDED else merged


def spread(graph: Graph) -> Graph:
    """One edge per label: undoes the merging of parallel edges."""
    edges = (
        replace(edge, labels=(label,), chains=(chain,) if edge.chains else ())
        for edge in graph.edges
        for label, chain in (_labelled_chains(edge) if edge.labels else [("", ())])
    )
    return replace(graph, edges=tuple(edges))


def _extent_note(part: Graph, small: Graph, total: int, centre: str | None) -> str:
    shown = len(part.states)
    if shown == total:
        return f"{total:,} state{'' if total == 1 else 's'}"
    text = f"showing {shown:,} of {total:,} states"
    if len(part.clusters) < len(small.clusters):
        return f"showing {len(part.clusters):,} of {len(small.clusters):,} rules"
    if len(part.nodes) < len(small.nodes):
        return f"{text}, those around {centre}"
    return f"{text}; {total - shown:,} stand inside edges"


def shown_at(graph: Graph, state: str | None) -> str | None:
    """The state, or the source of the edge it is folded into, or the initial state."""
    if any(node.id == state for node in graph.nodes):
        return state
    for edge in graph.edges:
        if state in edge.inside:
            return edge.source
    return graph.initial or (graph.nodes[0].id if graph.nodes else None)


def merge_parallel(graph: Graph) -> Graph:
    """Merges edges between the same two nodes with the same effect; the labels are collected."""
    groups: dict[tuple[str, str, frozenset[str]], list[Edge]] = {}
    for edge in graph.edges:
        key = (edge.source, edge.target, frozenset(edge.kinds) - _LABEL_KINDS)
        groups.setdefault(key, []).append(edge)
    return replace(graph, edges=tuple(_merge(group) for group in budgeted(groups.values())))


def _merge(group: list[Edge]) -> Edge:
    if len(group) == 1:
        return group[0]
    # two folded paths may read the same (in an NFA); both are kept, so that their states are found
    folded = any(edge.chains for edge in group)
    chains_of_labels = [(label, chain) for edge in group for label, chain in _labelled_chains(edge)]
    labels = [label for label, _ in chains_of_labels]
    return Edge(
        group[0].source,
        group[0].target,
        tuple(labels if folded else dict.fromkeys(labels)),
        tuple(dict.fromkeys(kind for edge in group for kind in edge.kinds)),
        sum(edge.count for edge in group),
        tuple(dict.fromkeys(text for edge in group for text in edge.examples))[:3],
        "\n".join(dict.fromkeys(edge.title for edge in group if edge.title)),
        "\n".join(dict.fromkeys(edge.detail for edge in group if edge.detail)),
        tuple(chain for _, chain in chains_of_labels) if folded else (),
        tuple(dict.fromkeys(state for edge in group for state in edge.between)),
    )


def _labelled_chains(edge: Edge) -> Iterator[tuple[str, tuple[Edge, ...]]]:
    """Each label of an edge with the edges it represents."""
    if edge.chains:
        yield from zip(edge.labels, edge.chains, strict=True)
    else:
        for label in edge.labels:
            yield label, (replace(edge, labels=(label,)),)


def collapse_chains(graph: Graph, shared: int = 1, keep: Container[str] = ()) -> Graph:
    """Linear runs of plain states become one edge labelled with what the run reads.

    A state is folded into an edge if it is plain (no kinds), has one outgoing edge and at most
    ``shared`` incoming edges, and all of them only read. Folded states are still found by
    ``Graph.where``. With ``shared`` above 1, words with a common ending are whole words again:
    ``true`` and ``false``. States in ``keep`` are not folded.
    """
    into: dict[str, list[Edge]] = defaultdict(list)
    out: dict[str, list[Edge]] = defaultdict(list)
    for edge in graph.edges:
        into[edge.target].append(edge)
        out[edge.source].append(edge)
    frame = {node.id: node.cluster for node in graph.nodes}
    inner = {
        node.id
        for node in budgeted(graph.nodes)
        if not node.kinds
        and node.id not in keep
        and len(out[node.id]) == 1
        and 1 <= len(into[node.id]) <= shared
        and all(_foldable(entry, out[node.id][0]) for entry in into[node.id])
        and {frame[edge.source] for edge in into[node.id]} == {node.cluster}
        and frame[out[node.id][0].target] == node.cluster
    }
    inner -= _rings(inner, out)
    remaining = (edge for edge in budgeted(graph.edges) if edge.source not in inner)
    edges = [_extend(edge, out, inner) for edge in remaining]
    nodes = tuple(node for node in graph.nodes if node.id not in inner)
    return merge_parallel(replace(graph, nodes=nodes, edges=tuple(edges)))


def _foldable(entry: Edge, leave: Edge) -> bool:
    return entry.source != entry.target and all(
        len(edge.labels) == 1 and edge.count <= 1 and _LABEL_KINDS.issuperset(edge.kinds)
        for edge in (entry, leave)
    )


def _rings(inner: set[str], out: dict[str, list[Edge]]) -> set[str]:
    """One state of each isolated cycle, which would vanish if all its states were folded."""
    kept: set[str] = set()
    done: set[str] = set()
    for start in sorted(inner):
        current, path = start, []
        while current in inner and current not in done:
            done.add(current)
            path.append(current)
            current = out[current][0].target
        if current in path:
            kept.add(current)
    return kept


def _extend(edge: Edge, out: dict[str, list[Edge]], inner: set[str]) -> Edge:
    """The edge, extended through every state that is to be folded."""
    steps = [edge]
    while steps[-1].target in inner:
        steps.append(out[steps[-1].target][0])
    if len(steps) == 1:
        return edge
    label = _chain_label([step.labels[0] for step in steps], [step.kinds for step in steps])
    chain = tuple(part for step in steps for part in (step.chains[0] if step.chains else (step,)))
    return Edge(
        edge.source,
        steps[-1].target,
        (label,),
        ("chain",),
        title=f"{label} · through {len(chain) - 1} more state{'' if len(chain) == 2 else 's'}",
        chains=(chain,),
    )


#: The cases beyond ASCII: long s, the Kelvin sign, I with and without a dot.
_OTHER_CASES = {"s": "\u017f", "k": "\u212a", "i": "\u0130\u0131"}

#: The letters of ASCII with all their cases, as labels of classes.
_ANY_CASE = {
    f"[{''.join(order)}]": letter
    for letter in ascii_lowercase
    for order in permutations(letter + letter.upper() + _OTHER_CASES.get(letter, ""))
}


def _chain_label(labels: list[str], kinds: list[tuple[str, ...]]) -> str:
    """The labels of a chain as one; a class read several times in a row is counted.

    Letters in any case are one word: ``(?i:select)``.
    """
    pairs = zip(labels, kinds, strict=True)
    letters = [_ANY_CASE.get(label, "") if "class" in kind else "" for label, kind in pairs]
    written: list[str] = []
    i = 0
    while i < len(labels):
        end = i
        while end < len(letters) and letters[end]:
            end += 1
        if end > i + 1:
            written.append(f"(?i:{''.join(letters[i:end])})")
            i = end
            continue
        same = i + 1
        while "class" in kinds[i] and same < len(labels) and labels[same] == labels[i]:
            same += 1
        written.append(labels[i] if same == i + 1 else f"{labels[i]}{{{same - i}}}")
        i = same
    return "".join(written)


def only_rules(graph: Graph, names: Container[str]) -> Graph:
    """The graph with some of its rules; calls of the others are boxes."""
    nodes = tuple(node for node in graph.nodes if node.cluster in names)
    ids = {node.id for node in nodes}
    edges = tuple(edge for edge in graph.edges if edge.source in ids and edge.target in ids)
    return replace(graph, nodes=nodes, edges=edges)


def nearest(graph: Graph, centre: str | None, count: int) -> Graph:
    """The ``count`` nodes nearest to ``centre``; the whole graph if it is not larger.

    Frames are kept whole, the nearest in calls first: half a rule is useless.
    """
    if count >= len(graph.nodes) or centre is None:
        return graph
    # first the nodes connected with the centre, then the rest in its order
    order = list(dict.fromkeys((*_distances(graph, centre), *(node.id for node in graph.nodes))))
    return _part(
        graph, set(_whole_frames(graph, order, count) if graph.clusters else order[:count])
    )


def _whole_frames(graph: Graph, order: list[str], count: int) -> list[str]:
    """As many whole frames as fit, in this order.

    Of a frame that is too large, a part, if those before it take less than half of the nodes.
    """
    frame = {node.id: node.cluster for node in graph.nodes}
    members: dict[str, list[str]] = defaultdict(list)
    for node in order:
        members[frame[node]].append(node)
    kept: list[str] = []
    for nodes in members.values():
        if len(kept) + len(nodes) <= count or 2 * len(kept) < count:
            kept += nodes[: count - len(kept)]
    return kept


def _distances(graph: Graph, centre: str) -> dict[str, int]:
    """Every node connected with ``centre``, nearest first; calls are followed."""
    beside: dict[str, list[str]] = defaultdict(list)
    for edge in graph.edges:
        beside[edge.source].append(edge.target)
        beside[edge.target].append(edge.source)
    first = {node.cluster: node.id for node in reversed(graph.nodes)}
    first |= {node.cluster: node.id for node in graph.nodes if "rule" in node.kinds}
    for node in graph.nodes:
        if node.calls and node.calls in first:
            beside[node.id].append(first[node.calls])
    distance = {centre: 0}
    waiting = deque([centre])
    while waiting:
        current = waiting.popleft()
        for other in beside[current]:
            if other not in distance:
                distance[other] = distance[current] + 1
                waiting.append(other)
    return distance


def _part(graph: Graph, kept: set[str]) -> Graph:
    edges = tuple(edge for edge in graph.edges if edge.source in kept and edge.target in kept)
    cut = Counter(_border(graph.edges, kept))
    nodes = tuple(_mark_more(node, cut[node.id]) for node in graph.nodes if node.id in kept)
    return replace(graph, nodes=nodes, edges=edges)


def _border(edges: Iterable[Edge], kept: set[str]) -> Iterable[str]:
    """The kept end of every cut edge."""
    for edge in edges:
        if (edge.source in kept) != (edge.target in kept):
            yield edge.source if edge.source in kept else edge.target


def _mark_more(node: Node, cut: int) -> Node:
    if not cut:
        return node
    note = f"{cut} more edge{'' if cut == 1 else 's'} not shown"
    title = f"{node.title} · {note}" if node.title else note
    return replace(node, kinds=tuple(dict.fromkeys((*node.kinds, "more"))), title=title)
