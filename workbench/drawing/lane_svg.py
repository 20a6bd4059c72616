"""SVG of a lane layout, with the same classes and ids as pictures laid out by Graphviz."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from workbench.base.limits import check_time_budget
from workbench.base.visible_text import printable, shorten
from workbench.drawing.connectors import BOX, Label, Point
from workbench.drawing.graph import Edge, Node
from workbench.drawing.joints import Head
from workbench.drawing.lanes import MAX_NAME_COLUMNS, Lane, LaneLayout, Line, Placed
from workbench.drawing.rails import RADIUS
from workbench.drawing.render import MONOSPACED, NAMESPACE

#: Size of labels and of state numbers, in pixels.
LABEL_SIZE, NUMBER_SIZE = "11", "10"

_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


def svg(layout: LaneLayout, description: str = "") -> str:
    """The layout as SVG text with one group; the page's style sheet has the colours."""
    root = root_of(layout.graph.name, layout.width, layout.height, description)
    parent = SubElement(root, "g", {"class": "graph"})
    for number, lane in enumerate(layout.lanes):
        if lane.name:
            _ground(parent, layout, lane, number)
    drawn: set[int] = set()
    for lane in layout.lanes:
        for line in lane.lines:
            draw_line(parent, layout.graph.edges[line.edge], line, drawn)
    calls = {node.id: node for node in layout.graph.nodes if "call" in node.kinds}
    for lane in layout.lanes:
        check_time_budget()
        _draw(parent, lane, calls)
    return tostring(root, encoding="unicode", short_empty_elements=True)


def root_of(name: str, width: float, height: float, description: str = "") -> Element:
    """An empty picture of this size."""
    root = Element(
        "svg",
        {
            "xmlns": NAMESPACE,
            "class": "machine lanes",
            "role": "group",
            "aria-label": printable(name),
            "width": _number(width),
            "height": _number(height),
            "viewBox": f"0 0 {_number(width)} {_number(height)}",
            "font-family": MONOSPACED,
        },
    )
    if description:
        SubElement(root, "desc").text = printable(description)
    return root


def _ground(parent: Element, layout: LaneLayout, lane: Lane, number: int) -> None:
    """The lane's background and its name."""
    group = _group(parent, f"rule-{number}", "cluster rule", lane.name)
    group.set("data-rule", lane.name)
    add_rect(group, layout.left, lane.top, layout.width - layout.left - 2, lane.height, "ground", 6)
    name = shorten(printable(lane.name), MAX_NAME_COLUMNS if not layout.above else 40)
    if layout.above:
        add_text(group, name, layout.left + 10, lane.top + 15, "name", anchor="start")
    else:
        add_text(group, name, lane.left + 4, lane.track + 4, "name", anchor="end")


def _draw(parent: Element, lane: Lane, calls: Mapping[str, Node]) -> None:
    for frame in lane.frames:
        add_rect(parent, frame.x, frame.y, frame.width, frame.height, "frame", 5)
    # labels are in front of all lines
    for label in lane.labels:
        if label.kind == "read":
            edges = " ".join(map(str, label.edges))
            group = SubElement(parent, "g", {"class": "label", "data-edges": edges})
            _label(group, label)
    drawn: set[str] = set()
    for label in lane.labels:
        if label.node:
            group = _node(parent, calls[label.node], label.kind)
            if label.node in drawn:  # ids are unique
                del group.attrib["id"]
            drawn.add(label.node)
            _box(group, label)
    for state in lane.states:
        draw_state(parent, state)


def draw_line(parent: Element, edge: Edge, line: Line, drawn: set[int]) -> None:
    """The path of an edge with its heads; ``drawn`` are the edges that already have an element."""
    title = edge.title or " · ".join(edge.labels)
    group = _group(parent, f"edge-{line.edge}", " ".join(("edge arc", *edge.kinds)), title)
    if line.edge in drawn:  # ids are unique
        del group.attrib["id"]
    drawn.add(line.edge)
    group.set("data-source", edge.source)
    group.set("data-target", edge.target)
    SubElement(group, "path", {"d": " ".join(map(_path, line.parts))})
    if line.arrow:
        SubElement(group, "polygon", {"points": _corners(line.arrow, 7, 2.6)})
    for head in line.joints:
        SubElement(group, "polygon", {"class": "joint", "points": _corners(head, 5, 2)})


def _corners(head: Head, length: float, half: float) -> str:
    """The corners of an arrow's head."""
    (x, y), (dx, dy) = head
    back_x, back_y = x - length * dx, y - length * dy
    points = [(x, y), (back_x - half * dy, back_y - half * dx)]
    points.append((back_x + half * dy, back_y + half * dx))
    return " ".join(f"{_number(a)},{_number(b)}" for a, b in points)


def _path(points: Sequence[Point]) -> str:
    """A path along the points with rounded corners."""
    kept = [points[0]]
    for point in points[1:]:
        if abs(point[0] - kept[-1][0]) + abs(point[1] - kept[-1][1]) > 0.1:
            kept.append(point)
    drawn = [f"M{_pair(kept[0])}"]
    for before, corner, after in zip(kept, kept[1:], kept[2:], strict=False):
        radius = min(6.0, _distance(before, corner) / 2, _distance(corner, after) / 2)
        drawn.append(f"L{_pair(_towards(corner, before, radius))}")
        drawn.append(f"Q{_pair(corner)} {_pair(_towards(corner, after, radius))}")
    drawn.append(f"L{_pair(kept[-1])}")
    return "".join(drawn)


def _distance(first: Point, other: Point) -> float:
    return abs(first[0] - other[0]) + abs(first[1] - other[1])


def _towards(start: Point, end: Point, length: float) -> Point:
    whole = _distance(start, end) or 1.0
    share = length / whole
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share


def _label(group: Element, label: Label) -> None:
    """The label of an edge, on a background that hides the lines behind it."""
    add_rect(group, label.x + 1, label.y + 2, label.width - 2, BOX - 4, "paper", 3)
    add_text(group, label.text, label.x + label.width / 2, label.y + BOX / 2 + 4, "", label.mark)


def _box(group: Element, label: Label) -> None:
    add_rect(group, label.x, label.y, label.width, BOX, "box", 4)
    add_text(group, label.text, label.x + label.width / 2, label.y + BOX / 2 + 4, "", label.mark)


def draw_state(parent: Element, state: Placed) -> None:
    """A state as an ellipse with its number."""
    group = _node(parent, state.node)
    wide = state.width / 2
    _ellipse(group, state, wide, RADIUS)
    if "final" in state.node.kinds:
        _ellipse(group, state, wide - 3, RADIUS - 3)
    add_text(group, printable(state.node.label), state.x, state.y + 3.6, "", size=NUMBER_SIZE)


def _ellipse(group: Element, state: Placed, rx: float, ry: float) -> None:
    size = {"cx": state.x, "cy": state.y, "rx": rx, "ry": ry}
    SubElement(group, "ellipse", {k: _number(v) for k, v in size.items()})


def _node(parent: Element, node: Node, *more: str) -> Element:
    kinds = " ".join(dict.fromkeys(("node state", *node.kinds, *more)))
    return _group(parent, node.element, kinds, node.title or f"state {node.id}")


def _group(parent: Element, identity: str, kinds: str, title: str) -> Element:
    group = SubElement(parent, "g", {"id": identity, "class": kinds})
    if title:
        SubElement(group, "title").text = shorten(printable(title), 400)
    return group


def add_rect(
    group: Element,
    x: float,
    y: float,
    width: float,
    height: float,
    kind: str,
    radius: float,
) -> None:
    """A rectangle."""
    size = {"x": x, "y": y, "width": max(0.0, width), "height": height, "rx": radius}
    attributes = {name: _number(value) for name, value in size.items()}
    SubElement(group, "rect", {**attributes, "class": kind})


def add_text(
    group: Element,
    text: str,
    x: float,
    y: float,
    kind: str,
    mark: str = "",
    *,
    anchor: str = "middle",
    size: str = LABEL_SIZE,
) -> None:
    """A line of text; ``mark`` is the stack effect after it."""
    attributes = {"x": _number(x), "y": _number(y), "text-anchor": anchor, "font-size": size}
    if kind:
        attributes["class"] = kind
    drawn = SubElement(group, "text", {**attributes, _SPACE: "preserve"})
    drawn.text = f"{text} " if mark else text
    if mark:
        effect = "push" if mark.startswith("▲") else "pop"
        SubElement(drawn, "tspan", {"class": effect}).text = mark


def _pair(point: Point) -> str:
    return f"{_number(point[0])} {_number(point[1])}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
