"""Flags: the tokens that may be read in the current state, by the drawn state they lead to.

A picture of a machine has one layout. The tokens of the current state are drawn over it as flags,
one for each drawn state they lead to, or for each folded edge inside which they end; a flag has a
segment for each stack effect. The page places the flags.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from workbench.base.visible_text import columns, fitted
from workbench.drawing.connectors import MAX_LABEL_LETTERS
from workbench.drawing.graph import Edge, Graph
from workbench.drawing.token_edges import fitting

#: The most stack effects of one target that are drawn separately.
_MAX_EFFECTS = 2


@dataclass(frozen=True, slots=True)
class Segment:
    """The tokens of a flag with one stack effect."""

    text: str
    #: The joined edges; their ``mark`` is the stack effect.
    edge: Edge
    #: The numbers of the leaving edges it represents.
    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Flag:
    """All tokens that lead to one place of a picture."""

    #: The drawn state at which it stands: the one that the tokens lead to, or in which the folded
    #: edge begins.
    anchor: str
    #: The element of the picture: ``state-…``, or the folded edge as ``edge-…``.
    place: str
    #: The label in which the tokens end if they end inside a folded edge; else empty.
    inside: str
    segments: tuple[Segment, ...]
    tokens: int


def flags_of(base: Graph, leaving: Sequence[Edge]) -> list[Flag]:
    """The flags of some token edges over a picture of ``base``, those with most tokens first.

    Edges to states that are not drawn have no flag.
    """
    states = {node.id for node in base.nodes}
    grouped: defaultdict[tuple[str, str, str], list[_Part]] = defaultdict(list)
    for number, edge in enumerate(leaving):
        if "bytes" in edge.kinds:
            continue
        anchor, inside, element_id = edge.target, "", f"state-{edge.target}"
        if anchor not in states:
            anchor, inside, element_id = _within(base, anchor)
        if anchor in states:
            grouped[anchor, inside, element_id].append((edge, (number,)))
    flags = [
        Flag(
            anchor,
            element_id,
            inside,
            tuple(Segment(_text_of(edge), edge, parts) for edge, parts in _few(group)),
            sum(edge.count for edge, _ in group),
        )
        for (anchor, inside, element_id), group in grouped.items()
    ]
    return sorted(flags, key=lambda flag: -flag.tokens)


def _within(base: Graph, state: str) -> tuple[str, str, str]:
    """The source of the edge a state is folded into, the label that is read there, and the edge."""
    element = base.where.get(state, "")
    if not element.startswith("edge-"):
        return "", "", ""
    edge = base.edges[int(element[5:])]
    if edge.source == edge.target:  # a rung of a counted loop, drawn as its first state
        return edge.source, "", f"state-{edge.source}"
    for label, chain in zip(edge.labels, edge.chains, strict=False):
        if any(state == step.target or state in step.between for step in chain):
            return edge.source, label, element
    return edge.source, edge.labels[0] if edge.labels else "", element


#: An edge, and the numbers of the leaving edges it represents.
_Part = tuple[Edge, tuple[int, ...]]


def _few(group: Sequence[_Part]) -> list[_Part]:
    """The edges to one target: one for each stack effect, or a single one if there are too many."""
    alike: defaultdict[tuple[str, tuple[str, ...]], list[_Part]] = defaultdict(list)
    for edge, parts in group:
        alike[edge.mark, edge.kinds].append((edge, parts))
    merged = [_merge_edges(same) for same in alike.values()]
    if len(merged) <= _MAX_EFFECTS:
        return merged
    counts = {
        "▼": [len(edge.pops) for edge, _ in merged],
        "▲": [len(edge.pushes) for edge, _ in merged],
    }
    marks = [
        f"{mark}{min(numbers)}–{max(numbers)}"
        if min(numbers) < max(numbers)
        else f"{mark}{max(numbers)}"
        for mark, numbers in counts.items()
        if max(numbers)
    ]
    edge, parts = _merge_edges(merged)
    return [(replace(edge, mark=" ".join(marks), pops=(), pushes=()), parts)]


def _merge_edges(group: Sequence[_Part]) -> _Part:
    """Merge edges with the same ends."""
    if len(group) == 1:
        return group[0]
    edges = [edge for edge, _ in group]
    count = sum(edge.count for edge in edges)
    labels = tuple(dict.fromkeys(label for edge in edges for label in edge.labels))
    examples = tuple(dict.fromkeys(text for edge in edges for text in edge.examples))
    if (
        any(len(edge.labels) < edge.count for edge in edges)
        or columns("  ".join(labels)) > MAX_LABEL_LETTERS
    ):
        labels = (f"{count:,} tokens: {fitting(examples)}",)
    joined = replace(
        edges[0],
        labels=labels,
        count=count,
        examples=examples,
        title="\n".join(edge.title for edge in edges),
        detail="\n".join(edge.detail for edge in edges if edge.detail),
    )
    return joined, tuple(number for _, parts in group for number in parts)


def _text_of(edge: Edge) -> str:
    text = "  ".join(edge.labels)
    if len(edge.labels) > 1 and columns(text) > MAX_LABEL_LETTERS:
        text = f"{edge.count:,} tokens: {text}"
    return fitted(text.replace("\n", " "), MAX_LABEL_LETTERS)
