"""Writes graphs as DOT.

Every text in a graph may come from a stranger. The ``graphviz`` package quotes and escapes; this
module handles what the package leaves to its caller: entities, and characters that no picture can
show.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Literal

from workbench.base.extras import imported
from workbench.base.visible_text import columns, printable, shorten
from workbench.drawing.graph import Edge, Graph, Node

if TYPE_CHECKING:
    import graphviz

Direction = Literal["LR", "TB"]

#: The most lines of an edge label and letters of a line; the hover text has the rest.
_MAX_LINES = 6
_MAX_WIDTH = 28

#: The most letters of a round state, and the most columns of one in an ellipse; longer labels get
#: a box.
_MAX_IN_CIRCLE, _MAX_IN_ELLIPSE = 3, 16

#: The width of a column in an ellipse, in inches: 0.6 em, and room for the rings at both ends.
_COLUMN = 11 * 0.6 / 72 * 1.1

#: Courier has the width of every monospaced font (0.6 em), so the layout fits the browser's font.
_FONT = {"fontname": "Courier", "fontsize": "11"}

#: The side of a second loop at the same state, so that its label does not overlap the first one's.
_OTHER_SIDE: dict[Direction, str] = {"LR": "s", "TB": "w"}

#: Text that Graphviz reads as an entity even if its ampersand is escaped (2.43 does).
_ENTITY = re.compile(r"&(?=#?\w+;)")

#: Separates an ampersand from the name after it; the renderer removes it.
WORD_JOINER = "\u2060"


def dot(graph: Graph, direction: Direction = "LR", *, start_arrow: bool = False) -> str:
    """The graph as DOT text; with an arrow into each initial state if it is wanted.

    The page draws these arrows itself: in a layout they would take a column.
    """
    drawn = imported("graphviz").Digraph(
        # not the graph's name: Graphviz writes this one into a comment of the SVG
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
    if start_arrow:
        _draw_start_arrows(drawn, graph)
    return str(drawn.source)


def _draw_start_arrows(drawn: graphviz.Digraph, graph: Graph) -> None:
    """An arrow without a source into each initial state; names of states have no space."""
    for node in graph.nodes:
        if "initial" in node.kinds:
            source = f"start {node.id}"
            drawn.node(source, "", shape="none", width="0", height="0", **{"class": "start"})
            drawn.edge(source, node.id, weight="4", **{"class": "start"})


def _draw_node(drawn: graphviz.Digraph, node: Node) -> None:
    label = shorten(printable(node.label), _MAX_WIDTH)
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
    if len(label) <= _MAX_IN_CIRCLE:
        return {"width": "0.42", "fixedsize": "true"}
    if columns(label) <= _MAX_IN_ELLIPSE and "\n" not in label:
        width = f"{columns(label) * _COLUMN + 0.24:.2f}"
        return {"shape": "ellipse", "width": width, "height": "0.42", "fixedsize": "true"}
    # Graphviz draws no second ring around a rounded box
    style = {} if "final" in node.kinds else {"style": "rounded"}
    return {"shape": "box", **style, "margin": "0.1,0.05", "height": "0.36"}


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
        attributes["weight"] = "4"  # plain edges run straight, the others around them
    if "bytes" in edge.kinds:
        attributes["style"] = "dotted"
    drawn.edge(edge.source, edge.target, **attributes)


def _edge_label(edge: Edge) -> str:
    """The labels one below the other, at most ``_MAX_LINES``."""
    # a chain and a token may read the same: it is shown once
    labels = dict.fromkeys(edge.labels)
    lines = [line for label in labels for line in printable(label).split("\n")]
    if len(lines) > _MAX_LINES:
        lines = [*lines[: _MAX_LINES - 1], f"and {len(lines) - _MAX_LINES + 1:,} more"]
    if edge.mark:
        lines.append(edge.mark)
    # a margin on both sides, so that the letters do not touch the line
    return "\n".join(f" {shorten(line, _MAX_WIDTH)} " for line in lines)


def _text(text: str) -> str:
    """The text, escaped so that Graphviz shows it unchanged: no escapes, no HTML, no entities."""
    apart = _ENTITY.sub("&" + WORD_JOINER, printable(text))
    escaped: str = imported("graphviz").escape(apart.replace("&", "&amp;"))
    return escaped
