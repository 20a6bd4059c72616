"""Connectors of a lane, which draw edges as one line with labels.

``ordered`` puts the states of a lane into reading order; ``numbered`` numbers the states of a graph
in that order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from workbench.base.visible_text import columns, fitted, printable, shorten
from workbench.drawing.graph import Edge, Graph, Node, budgeted

#: Width of one column of the label font, and height of a label's box.
CHAR, BOX = 6.65, 19.0

#: The most letters of a label; the hover text has all of them.
MAX_LABEL_LETTERS = 28

#: The most labels of an edge that are drawn; the others are counted.
_MAX_LABELS = 7

Point = tuple[float, float]


@dataclass(slots=True)
class Label:
    """A text in a box: the label of an edge, or a call of another rule."""

    text: str
    #: ``read``, ``call``, ``leaf`` (a call of a rule that has no lane here).
    kind: str
    #: The stack effect after the text, such as ``▲27``.
    mark: str = ""
    #: The node that a box represents; empty for the label of an edge.
    node: str = ""
    #: The edges that read the text.
    edges: tuple[int, ...] = ()
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        shown = columns(self.text) + (columns(self.mark) + 1 if self.mark else 0)
        return shown * CHAR + (12 if self.kind != "read" else 8)


@dataclass(slots=True)
class Connector:
    """Edges with the same sources and the same target: one line with one label or several."""

    sources: tuple[str, ...]
    target: str
    labels: list[Label]
    #: For each source the edges that lead from it into the labels.
    entries: dict[str, list[int]]
    #: The edges that lead from boxes of calls to the target.
    exits: list[int]
    #: Offsets of the labels in the frame, and the size of the frame.
    offsets: list[Point] = field(default_factory=list)
    width: float = 0.0
    height: float = BOX

    def flow(self, most: float) -> None:
        """Arrange the labels in lines of at most width ``most``."""
        framed = len(self.labels) > 1
        pad = 4.0 if framed else 0.0
        x, y, widest = pad, pad, 0.0
        self.offsets = []
        for label in self.labels:
            if x > pad and x + label.width + pad > most:
                x, y = pad, y + BOX + 3
            self.offsets.append((x, y))
            x += label.width + 4
            widest = max(widest, x - 4 + pad)
        self.width = widest
        self.height = y + BOX + pad


def label_texts(edge: Edge) -> list[str]:
    """The labels of an edge in a lane: one line each, limited in length and number."""
    texts = list(dict.fromkeys(printable(label).replace("\n", " ") for label in edge.labels))
    shown = [fitted(text, MAX_LABEL_LETTERS) for text in texts]
    if len(shown) > _MAX_LABELS:
        shown = [*shown[: _MAX_LABELS - 1], f"and {len(shown) - _MAX_LABELS + 1:,} more"]
    return shown


def connectors_of(graph: Graph, name: str, lanes: Iterable[str]) -> list[Connector]:
    """The connectors of one lane; edges with the same labels and target have one."""
    inside, numbers = graph.members.get(name, ({}, []))
    calls = {node.id: node for node in inside.values() if "call" in node.kinds}
    into: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    out: dict[str, list[tuple[str, int]]] = defaultdict(list)
    reads: dict[tuple[str, tuple[str, ...], bool, tuple[str, ...]], dict[str, list[int]]] = {}
    for number in budgeted(numbers):
        edge = graph.edges[number]
        if edge.target in calls:
            into[edge.target][edge.source].append(number)
        elif edge.source in calls:
            out[edge.source].append((edge.target, number))
        else:
            texts = tuple(label_texts(edge))
            key = edge.target, texts, edge.source == edge.target, edge.kinds
            reads.setdefault(key, {}).setdefault(edge.source, []).append(number)
    candidates: list[tuple[dict[str, list[int]], str, list[Label], list[int]]] = []
    for (target, texts, *_), sources in budgeted(reads.items()):
        edges = tuple(number for numbers in sources.values() for number in numbers)
        labels = [Label(text, "read", edges=edges) for text in texts]
        candidates.append((sources, target, labels, []))
    drawn = set(lanes)
    for node in calls.values():
        kind = "call" if node.calls in drawn else "leaf"
        text = shorten(printable(node.label.removeprefix("→ ")), MAX_LABEL_LETTERS - 4)
        for target, number in out[node.id]:
            label = Label(text, kind, node.mark if kind == "call" else "", node.id)
            candidates.append((dict(into[node.id]), target, [label], [number]))
    return _join(candidates)


def _join(
    candidates: Iterable[tuple[dict[str, list[int]], str, list[Label], list[int]]],
) -> list[Connector]:
    """Connectors with the same sources and target as one."""
    grouped: dict[tuple[frozenset[str], str], Connector] = {}
    for entries, target, labels, exits in candidates:
        key = frozenset(entries), target
        connector = grouped.get(key)
        if connector is None:
            grouped[key] = Connector(
                tuple(entries), target, list(labels), {s: list(e) for s, e in entries.items()},
                list(exits),
            )  # fmt: skip
            continue
        connector.labels += labels
        connector.exits += exits
        for source, numbers in entries.items():
            connector.entries[source] += numbers
    return list(grouped.values())


def ordered(nodes: Mapping[str, Node], connectors: Sequence[Connector]) -> list[str]:
    """The states along the paths from the initial state, the longest path first.

    Reverse postorder of the graph without its back edges, so that a chain stays together.
    """
    after: dict[str, list[str]] = {state: [] for state in nodes}
    for connector in connectors:
        for source in connector.sources:
            if source != connector.target and connector.target not in after[source]:
                after[source].append(connector.target)
    first = [s for s, node in nodes.items() if {"initial", "rule"} & set(node.kinds)]
    roots = list(dict.fromkeys((*first, *nodes)))
    forward, _ = _depth_first(roots, after)
    depth: dict[str, int] = {}
    for state in _depth_first(roots, forward)[1]:
        depth[state] = 1 + max((depth[t] for t in forward[state]), default=0)
    ranked = {s: sorted(targets, key=lambda t: depth[t]) for s, targets in forward.items()}
    # states that the first state cannot reach come last
    done: dict[str, None] = {}
    for root in roots:
        if root not in done:
            part = _depth_first([root], ranked)[1]
            done.update(dict.fromkeys(reversed([s for s in part if s not in done])))
    return list(done)


def _depth_first(
    roots: Iterable[str], after: Mapping[str, Sequence[str]]
) -> tuple[dict[str, list[str]], list[str]]:
    """The edges that are no back edges, and the states in postorder."""
    forward: dict[str, list[str]] = {state: [] for state in after}
    postorder: list[str] = []
    entered: set[str] = set()
    finished: set[str] = set()
    for root in roots:
        if root in entered:
            continue
        entered.add(root)
        stack = [(root, iter(after[root]))]
        while stack:
            state, rest = stack[-1]
            for target in rest:
                if target not in entered:
                    forward[state].append(target)
                    entered.add(target)
                    stack.append((target, iter(after[target])))
                    break
                if target in finished:
                    forward[state].append(target)
            else:
                stack.pop()
                finished.add(state)
                postorder.append(state)
    return forward, postorder


def loop_states(
    order: Sequence[str], nodes: Mapping[str, Node], connectors: Sequence[Connector]
) -> dict[str, tuple[int, int]]:
    """States with one entering edge and one leaving edge back: ``,`` between the items of a list.

    Returns for each the numbers of the connector that enters it and of the one that leaves it.
    """
    position_of = {state: i for i, state in enumerate(order)}
    loops: dict[str, tuple[int, int]] = {}
    ends: set[str] = set()
    entering: dict[str, list[int]] = {}
    leaving: dict[str, list[int]] = {}
    for number, connector in enumerate(connectors):
        entering.setdefault(connector.target, []).append(number)
        for source in dict.fromkeys(connector.sources):
            leaving.setdefault(source, []).append(number)
    for state in order:
        entering_here, leaving_here = entering.get(state, []), leaving.get(state, [])
        if len(entering_here) != 1 or len(leaving_here) != 1 or state in ends:
            continue
        (entry,), (leave,) = entering_here, leaving_here
        sources, target = connectors[entry].sources, connectors[leave].target
        if len(sources) != 1 or state in (sources[0], target):
            continue
        if {"initial", "rule", "final"} & set(nodes[state].kinds):
            continue
        if {sources[0], target} & loops.keys() or position_of[target] > position_of[sources[0]]:
            continue
        loops[state] = entry, leave
        ends |= {sources[0], target}
    return loops


def numbered(graph: Graph, *, stack: bool = False) -> Graph:
    """The graph in reading order, its states numbered densely from 0.

    Clusters are in the order of their calls, states in the order of their lane. Ids are not
    changed; a state without a label gets no number. ``stack`` marks calls with the number of the
    state they push.
    """
    places: dict[str, None] = {}
    for name in _clusters_by_call(graph) or [""]:
        members = graph.members.get(name, ({}, []))[0]
        inside = {state: node for state, node in members.items() if "call" not in node.kinds}
        places.update(dict.fromkeys(ordered(inside, connectors_of(graph, name, ()))))
    states = {node.id: node for node in graph.nodes}
    labelled = [state for state in places if states[state].label]
    numbers = {state: str(i) for i, state in enumerate(labelled)}
    calls = sorted(
        (node for node in graph.nodes if "call" in node.kinds),
        key=lambda node: int(numbers.get(returns_to(node), 0)),
    )
    nodes = [relabelled(states[state], numbers) for state in places]
    for node in calls:
        back = numbers.get(returns_to(node), returns_to(node))
        title = f"calls {node.calls}, then continues in state {back}"
        nodes.append(replace(node, title=title, mark=f"▲{back}" if stack else ""))
    return replace(graph, nodes=tuple(nodes))


def returns_to(call: Node) -> str:
    """The id of the state in which the caller continues."""
    return call.id.rpartition("-")[2]


def relabelled(node: Node, numbers: Mapping[str, str]) -> Node:
    """A state with the number that pictures show for it."""
    number = numbers.get(node.id)
    if number is None or not node.label:
        return node
    title = node.title.replace(f"state {node.id}", f"state {number}", 1)
    return replace(node, label=number, title=title)


def _clusters_by_call(graph: Graph) -> list[str]:
    """The clusters in depth-first order of their calls, from the initial state on."""
    initial = next((node.cluster for node in graph.nodes if "initial" in node.kinds), "")
    calls: dict[str, dict[str, None]] = {name: {} for name in graph.clusters}
    for node in graph.nodes:
        if node.calls and node.calls in calls:
            calls[node.cluster][node.calls] = None
    names = [*filter(None, [initial]), *graph.clusters]
    done: dict[str, None] = {}
    waiting = list(reversed(names))
    while waiting:
        name = waiting.pop()
        if name in done or name not in calls:
            continue
        done[name] = None
        waiting += reversed(calls[name])
    return list(done)
