"""Writes graphs as DOT.

Every text in a graph may come from a stranger. The ``graphviz`` package quotes and escapes; this
module handles what the package leaves to its caller: entities, and characters that no picture can
show.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal

import graphviz

from workbench.base.visible_text import printable, shorten
from workbench.drawing.graph import Edge, Graph, Node

Direction = Literal["LR", "TB"]

#: Lines one edge label may have, and letters a line, before the rest is left to the hover text.
_LINES = 6
_WIDTH = 28

#: Letters that fit into a circle; longer labels get a box.
_IN_CIRCLE = 3

#: Courier has the width of every monospaced font (0.6 em), so the layout fits whichever the
#: browser has.
_FONT = {"fontname": "Courier", "fontsize": "11"}

#: Where a second loop at the same state goes, so that its label does not lie on the first one's.
_OTHER_SIDE: dict[Direction, str] = {"LR": "s", "TB": "w"}

#: What Graphviz would read as an entity even when its ampersand is escaped (2.43 does).
_ENTITY = re.compile(r"&(?=#?\w+;)")

#: Keeps an ampersand and the name after it apart; the renderer takes it out again.
WORD_JOINER = "\u2060"


def dot(graph: Graph, direction: Direction = "LR") -> str:
    """The graph as DOT text."""
    drawn = graphviz.Digraph(
        # not the graph's own name: Graphviz writes this one into a comment of the SVG
        name="machine",
        graph_attr={
            "rankdir": direction,
            "bgcolor": "transparent",
            "nodesep": "0.28",
            "ranksep": "0.42",
            "pad": "0.12",
            **_FONT,
        },
        node_attr={"shape": "circle", **_FONT},
        edge_attr={"arrowsize": "0.6", "arrowhead": "normal", **_FONT},
    )
    for node in graph.nodes:
        if not node.cluster:
            _draw_node(drawn, node)
    frames = list(enumerate(graph.clusters))
    # from left to right Graphviz stacks frames upwards; the first rule belongs on top
    for number, cluster in reversed(frames) if direction == "LR" else frames:
        with drawn.subgraph(name=f"cluster_{number}") as frame:
            frame.attr(
                label=_text(cluster),
                id=f"rule-{number}",
                **{"class": "rule", "labeljust": "l", "style": "rounded", "margin": "10"},
            )
            for node in graph.nodes:
                if node.cluster == cluster:
                    _draw_node(frame, node)
    loops: Counter[str] = Counter()
    for number, edge in enumerate(graph.edges):
        is_loop = edge.source == edge.target
        _draw_edge(drawn, number, edge, _OTHER_SIDE[direction] if loops[edge.source] % 2 else "")
        loops[edge.source] += is_loop
    return str(drawn.source)


def _draw_node(drawn: graphviz.Digraph, node: Node) -> None:
    label = shorten(printable(node.label), _WIDTH)
    attributes = {
        "id": node.element,
        "class": " ".join(("state", *node.kinds)),
        "tooltip": _text(node.title or f"state {node.id}"),
        **_shape(node, label),
    }
    if "final" in node.kinds:
        attributes["peripheries"] = "2"
    if "initial" in node.kinds:
        attributes["penwidth"] = "1.6" if "final" in node.kinds else "2.2"
    drawn.node(node.id, _text(label), **attributes)


def _shape(node: Node, label: str) -> dict[str, str]:
    if "call" in node.kinds:
        return {"shape": "box", "margin": "0.1,0.05", "height": "0.3"}
    if len(label) <= _IN_CIRCLE:
        return {"width": "0.42", "fixedsize": "true"}
    return {"shape": "box", "style": "rounded", "margin": "0.1,0.05", "height": "0.36"}


def _draw_edge(drawn: graphviz.Digraph, number: int, edge: Edge, side: str) -> None:
    title = edge.title or " · ".join(edge.labels)
    attributes = {
        "id": f"edge-{number}",
        "class": " ".join(("arc", *edge.kinds)),
        "tooltip": _text(shorten(title, 400)),
        "label": _text(_edge_label(edge)),
    }
    if side and edge.source == edge.target:
        attributes["headport"] = attributes["tailport"] = side
    if "skip" in edge.kinds:
        attributes["style"] = "dashed"
    elif "back" not in edge.kinds:
        attributes["weight"] = "4"  # the plain way runs straight, the rest goes around it
    if "bytes" in edge.kinds:
        attributes["style"] = "dotted"
    drawn.edge(edge.source, edge.target, **attributes)


def _edge_label(edge: Edge) -> str:
    """The labels under one another, no more than a reader takes in at once."""
    # a chain and a token may read the same: a reader needs it once
    labels = dict.fromkeys(edge.labels)
    lines = [line for label in labels for line in printable(label).split("\n")]
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], f"and {len(lines) - _LINES + 1:,} more"]
    if edge.mark:
        lines.append(edge.mark)
    # a margin on both sides, or the letters touch the line they stand at
    return "\n".join(f" {shorten(line, _WIDTH)} " for line in lines)


def _text(text: str) -> str:
    """The text so that Graphviz shows exactly it: no escapes, no HTML, no entities."""
    apart = _ENTITY.sub("&" + WORD_JOINER, printable(text))
    escaped: str = graphviz.escape(apart.replace("&", "&amp;"))
    return escaped
