"""Token edges over the lanes: the tokens that may be read in the current state, and their targets.

Composition keeps the states of the character machine, so the machine over tokens is drawn on the
same lanes. Only the edges of the current state are drawn: every state a token leads to has a *flag*
above its row, with one segment for each stack effect. A *bus* joins the current state to the flags;
it runs above the rows and through the left margin, never across a label.

If the lanes with their flags do not fit into the box, ``fan`` lists the flags in a column.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from xml.etree import ElementTree

from workbench.base.visible_text import columns, count_of, fitted, printable, shorten
from workbench.drawing.connectors import BOX, CHAR, MAX_LABEL_LETTERS, RADIUS, TOKEN, Point
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.lane_svg import add_rect, add_text, draw_line, draw_state, root_of, svg_of
from workbench.drawing.lanes import STREET, LaneLayout, Line, Placed, lay_out, most_lanes, right_end
from workbench.drawing.lanes import state_width as width_of
from workbench.drawing.reductions import only_rules
from workbench.drawing.token_edges import fitting

#: The most stack effects of one target that are drawn separately.
_MAX_EFFECTS = 4

#: The left margin for the bus and for the lines of calls on the stack; the heights of the bus, of a
#: line of flags and of the arrows below them.
_MARGIN, _BUS, _FLAG, _ARROW = 34.0, 9.0, BOX + 5, 11.0

#: The pixels that are kept free to the left and right of a centred picture: buttons are there.
CONTROLS = 100.0

#: A flag is in the lowest line that has room within this distance of its state.
_MAX_DISTANCE = 90.0

#: The least square pixels of a state in lanes: with its outgoing edge, in a row with a rail.
_STATE_AREA = 38 * 30

#: The height of the rows of a fan, and the x of their flags.
_FAN_ROW, _FAN_X = 27.0, 52.0


@dataclass(slots=True)
class _Segment:
    """The text of one edge on a flag."""

    edge: int
    text: str
    mark: str
    #: The numbers of the leaving edges it represents.
    parts: tuple[int, ...] = ()

    @property
    def width(self) -> float:
        return (columns(self.text) + (columns(self.mark) + 1 if self.mark else 0)) * CHAR + 10


@dataclass(slots=True)
class _Flag:
    """The flag of one target: all edges that lead to it."""

    #: The label in which a token ends if it ends inside a folded edge; else empty.
    inside: str
    #: The state at which the arrow ends, or the one from which the folded edge starts.
    anchor: str
    #: The folded edge, or the state again.
    place: str
    segments: list[_Segment]
    tokens: int
    x: float = 0.0
    #: The number of the line of flags, from the row upwards.
    line: int = 0

    @property
    def width(self) -> float:
        return sum(segment.width for segment in self.segments)


@dataclass(frozen=True, slots=True)
class TokenPicture:
    """A drawn token map: the graph behind it and its SVG."""

    graph: Graph
    svg: str
    width: float
    height: float
    note: str = ""
    #: For each token edge of the graph the numbers of the edges it represents.
    parts: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


def over_lanes(
    base: Graph, leaving: Sequence[Edge], centre: str, width: float, height: float
) -> TokenPicture | None:
    """The lanes with the token edges of one state; None if they do not fit into the box.

    ``base`` holds the lanes; ``leaving`` are the token edges of ``centre``.
    """
    if not base.clusters and len(base.states) * _STATE_AREA > width * height:
        return None
    centre = _shown(base, centre)
    graph, flags = _flags(base, leaving, centre)
    home = _cluster_of(graph)
    lane = home.get(centre)
    if lane is None:
        return None
    counts: defaultdict[str, int] = defaultdict(int)
    for flag in flags:
        counts[home[flag.anchor]] += flag.tokens
    names = list(graph.clusters) or [""]
    # the lanes that tokens lead to, those with the most tokens first; others if there is room
    ranked = sorted(names, key=lambda name: (name != lane, -counts.get(name, 0)))
    ranked = ranked[: 2 * most_lanes(height)]  # a lane too high leaves its room to a later one
    tried = [name for name in names if name in set(ranked)]
    total = len(flags)
    if len(tried) < len(names):
        graph, flags = _flags(only_rules(base, set(tried)), leaving, centre)
    layout, rows = _laid_out(graph, tried, flags, centre, width)
    high = {one.name: one.height + STREET for one in layout.lanes}
    room, chosen = height + STREET, set[str]()
    for name in ranked:
        if high[name] <= room:
            room -= high[name]
            chosen.add(name)
        elif name == lane:
            return None
    shown = [flag for flag in flags if home[flag.anchor] in chosen]
    if len(chosen) < len(tried):
        kept = [name for name in tried if name in chosen]
        layout, rows = _laid_out(graph, kept, shown, centre, width)
    wide = any(flag.x + flag.width > width - 3 for flag in shown)
    if wide or layout.height > height or layout.width > width + 1 or 2 * len(shown) < total:
        return None
    left_out = sorted(name for name in counts if name not in chosen)
    hidden = sum(edge.count for edge in leaving if "bytes" not in edge.kinds)
    hidden -= sum(flag.tokens for flag in shown)
    note = f"{count_of(hidden, 'token')} not drawn" if hidden else ""
    if left_out:
        note += f", leading to {', '.join(left_out)}"
    used = max([right_end(layout), *(flag.x + flag.width for flag in shown)]) + _MARGIN / 2
    if graph.clusters or used > width - CONTROLS:  # as wide as the box: it begins at the left
        used = layout.width
    svg = _drawn(layout, rows, centre)
    return TokenPicture(graph, svg, used, layout.height, note, _parts_of(shown))


def _cluster_of(graph: Graph) -> dict[str, str]:
    return {node.id: node.cluster for node in graph.nodes if "call" not in node.kinds}


def _flags(base: Graph, leaving: Sequence[Edge], centre: str) -> tuple[Graph, list[_Flag]]:
    """The graph with the token edges added, and a flag for each state they lead to."""
    states = {node.id for node in base.nodes}
    grouped: defaultdict[tuple[str, str, str], list[_Part]] = defaultdict(list)
    for number, edge in enumerate(leaving):
        if "bytes" in edge.kinds:
            continue
        anchor = place = edge.target
        inside = ""
        if anchor not in states:
            anchor, inside, place = _within(base, anchor)
        if anchor in states:
            grouped[anchor, inside, place].append((edge, (number,)))
    edges = list(base.edges)
    flags: list[_Flag] = []
    for (anchor, inside, place), group in grouped.items():
        segments = []
        for edge, parts in _few(group):
            segments.append(_segment(len(edges), edge, parts))
            kinds = tuple(dict.fromkeys((TOKEN, *edge.kinds)))
            edges.append(replace(edge, source=centre, target=anchor, kinds=kinds))
        count = sum(edge.count for edge, _ in group)
        flags.append(_Flag(inside, anchor, place, segments, count))
    landings = {flag.anchor for flag in flags if not flag.inside}
    nodes = [
        replace(node, kinds=(*node.kinds, "landing")) if node.id in landings else node
        for node in base.nodes
    ]
    return replace(base, nodes=tuple(nodes), edges=tuple(edges)), flags


def _shown(base: Graph, state: str) -> str:
    """The drawn state for a state: for one inside a counted repetition its first state."""
    if any(node.id == state for node in base.nodes):
        return state
    return _within(base, state)[0] or base.initial or base.nodes[0].id


def _within(base: Graph, state: str) -> tuple[str, str, str]:
    """The source of the edge a state is folded into, the label that is read there, and the edge."""
    element = base.where.get(state, "")
    if not element.startswith("edge-"):
        return "", "", ""
    edge = base.edges[int(element[5:])]
    if edge.source == edge.target:
        return edge.source, "", edge.source  # a rung of a counted loop, drawn as its first state
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
    merged = [_joined(same) for same in alike.values()]
    if len(merged) <= _MAX_EFFECTS:
        return merged
    counts = {
        "▼": [len(edge.pops) for edge, _ in merged],
        "▲": [len(edge.pushes) for edge, _ in merged],
    }
    marks = [
        f"{mark}{min(found)}–{max(found)}" if min(found) < max(found) else f"{mark}{max(found)}"
        for mark, found in counts.items()
        if max(found)
    ]
    edge, parts = _joined(merged)
    return [(replace(edge, mark=" ".join(marks), pops=(), pushes=()), parts)]


def _joined(group: Sequence[_Part]) -> _Part:
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


def _segment(number: int, edge: Edge, parts: tuple[int, ...]) -> _Segment:
    text = "  ".join(edge.labels)
    if len(edge.labels) > 1 and columns(text) > MAX_LABEL_LETTERS:
        text = f"{edge.count:,} tokens: {'  '.join(edge.labels)}"
    return _Segment(number, fitted(text.replace("\n", " "), MAX_LABEL_LETTERS), edge.mark, parts)


def _parts_of(flags: Sequence[_Flag]) -> dict[int, tuple[int, ...]]:
    return {segment.edge: segment.parts for flag in flags for segment in flag.segments}


# -- on the lanes ---------------------------------------------------------------------------------


@dataclass(slots=True)
class _Slot:
    """The free room above one row: the flags in it, and its lower end once it is known."""

    flags: list[_Flag]
    lines: int

    @property
    def height(self) -> float:
        return _BUS + self.lines * _FLAG + (_ARROW if self.lines else 2.0)


def _laid_out(
    graph: Graph,
    names: Sequence[str],
    flags: Sequence[_Flag],
    centre: str,
    width: float,
) -> tuple[LaneLayout, dict[tuple[str, int], _Slot]]:
    """The lanes with room for the flags above their rows."""
    slots: dict[tuple[str, int], _Slot] = {}

    def above(lane: str, rows: Sequence[Mapping[str, float]]) -> Sequence[float]:
        known = {place for xs in rows for place in xs}
        heights = []
        for row, xs in enumerate(rows):
            wanted = {
                i: xs[place]
                for i, flag in enumerate(flags)
                if (place := flag.place if flag.place in known else flag.anchor) in xs
            }
            if not wanted and centre not in xs:
                heights.append(0.0)
                continue
            lines = _arranged(
                [(flags[i], wanted[i]) for i in sorted(wanted, key=lambda i: wanted[i])],
                xs.get(centre),
                width,
            )
            slot = _Slot([flags[i] for i in wanted], lines)
            slots[lane, row] = slot
            heights.append(slot.height)
        return heights

    layout = lay_out(
        graph,
        width,
        lanes=names if any(names) else None,
        margin=_MARGIN,
        slots=above,
        in_rows={centre, *(flag.anchor for flag in flags)},
    )
    return layout, slots


def _arranged(flags: Sequence[tuple[_Flag, float]], riser: float | None, width: float) -> int:
    """Give the flags of a row their x and their line; returns the number of lines.

    Each is given with the x of its state. A flag is put into the lowest line in which it can be
    above its state, or near it.
    """
    left, right = _MARGIN + 8, width - 4
    lines: list[list[tuple[float, float]]] = []
    for flag, middle in flags:
        wanted = middle - flag.width / 2
        column = [] if riser is None else [(riser + 2, riser + 14)]
        for number, taken in enumerate(lines):  # noqa: B007
            x = _free(taken, flag.width, wanted, left, right)
            if x is not None and abs(x - wanted) < _MAX_DISTANCE:
                break
        else:
            number, taken = len(lines), column
            lines.append(taken)
            x = _free(taken, flag.width, wanted, left, right)
        flag.x, flag.line = left if x is None else x, number
        taken.append((flag.x, flag.x + flag.width))
    return len(lines)


def _free(
    taken: Sequence[tuple[float, float]], width: float, wanted: float, left: float, right: float
) -> float | None:
    """The free x nearest to the one wanted."""
    ends = [wanted, left, right - width]
    ends += [begin - width - 5 for begin, _ in taken] + [end + 5 for _, end in taken]
    fits = [
        x
        for x in ends
        if left - 0.1 <= x <= right - width + 0.1
        and all(x + width + 4.9 <= begin or end + 4.9 <= x for begin, end in taken)
    ]
    return min(fits, key=lambda x: abs(x - wanted), default=None)


def _drawn(layout: LaneLayout, slots: Mapping[tuple[str, int], _Slot], centre: str) -> str:
    """The SVG: lanes, bus and flags."""
    graph = layout.graph
    places = {
        state.node.id: (state, lane.rows[row][0], (lane.name, row))
        for lane in layout.lanes
        for row in range(len(lane.rows))
        for state in lane.states
        if lane.rows[row][0] <= state.y <= lane.rows[row][1]
    }
    here, home_top, home = places[centre]
    tops = {
        (lane.name, row): top for lane in layout.lanes for row, (top, _) in enumerate(lane.rows)
    }
    trunk = layout.left - _MARGIN + 4
    start: Point = (here.x + 8, here.y - RADIUS + 3.5)
    home_bus = home_top - slots[home].height + 4
    lines: list[Line] = []
    for key, slot in slots.items():
        for flag in slot.flags:
            state, top = places[flag.anchor][0], tops[key]
            bus = top - slot.height + 4
            flag_top = bus - 4 + _BUS + (slot.lines - 1 - flag.line) * _FLAG
            entry = [start, (start[0], home_bus)]
            if key != home:
                entry += [(trunk, home_bus), (trunk, bus)]
            tap = _uncovered(flag, slot.flags, upwards=True, wanted=flag.x + flag.width / 2)
            entry += [(tap, bus), (tap, flag_top)]
            end, foot_y = _foot(layout, flag, state, centre)
            x = _uncovered(flag, slot.flags, upwards=False, wanted=end)
            foot = (end, foot_y)
            leave = [(x, flag_top + BOX), (x, top - 4), (end, top - 4), foot]
            if abs(x - end) < 0.5:
                leave = [(end, flag_top + BOX), foot]
            head = foot, (0.0, 1.0)
            lines += [Line(segment.edge, [entry, leave], head) for segment in flag.segments]
    root = svg_of(layout, "tokenmap", over=lines)
    parent = root.find("g")
    assert parent is not None, "svg_of makes one group"
    for key, slot in slots.items():
        for flag in slot.flags:
            y = tops[key] - slot.height + _BUS + (slot.lines - 1 - flag.line) * _FLAG
            _draw_flag(parent, flag, flag.x, y, graph)
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def _foot(layout: LaneLayout, flag: _Flag, state: Placed, centre: str) -> Point:
    """The end of a flag's arrow: its state, or the label in which the token ends."""
    shown = fitted(printable(flag.inside).replace("\n", " "), MAX_LABEL_LETTERS)
    for lane in layout.lanes if flag.inside else ():
        for label in lane.labels:
            sources = {layout.graph.edges[number].source for number in label.edges}
            if label.text == shown and flag.anchor in sources:
                return label.x + label.width / 2, label.y + 1
    return state.x - (5 if flag.anchor == centre else 0), state.y - RADIUS


def _uncovered(flag: _Flag, others: Sequence[_Flag], *, upwards: bool, wanted: float) -> float:
    """An x on a flag from which a line leaves its slot without crossing another flag."""
    between = [
        (other.x - 3, other.x + other.width + 3)
        for other in others
        if other is not flag and (other.line > flag.line if upwards else other.line < flag.line)
    ]
    low, high = flag.x + 7, flag.x + flag.width - 7
    wanted = min(max(wanted, low), high)
    ends = [wanted, *(end for pair in between for end in pair)]
    free = [
        x for x in ends if low <= x <= high and not any(begin < x < end for begin, end in between)
    ]
    return min(free, key=lambda x: abs(x - wanted), default=wanted)


def _draw_flag(parent: ElementTree.Element, flag: _Flag, x: float, y: float, graph: Graph) -> float:
    """A flag with its segments; returns its right end."""
    for segment in flag.segments:
        kinds = "label flag bytes" if "bytes" in graph.edges[segment.edge].kinds else "label flag"
        group = ElementTree.SubElement(
            parent, "g", {"class": kinds, "data-edges": str(segment.edge)}
        )
        ElementTree.SubElement(group, "title").text = shorten(graph.edges[segment.edge].title, 400)
        add_rect(group, x, y, segment.width, BOX, "box", 4)
        add_text(group, segment.text, x + segment.width / 2, y + BOX / 2 + 4, "", segment.mark)
        x += segment.width
    return x


# -- as a list ------------------------------------------------------------------------------------


def fan(
    base: Graph, leaving: Sequence[Edge], centre: str, width: float, height: float
) -> TokenPicture:
    """The flags of the current state in a column, those with the most tokens first."""
    centre = _shown(base, centre)
    graph, flags = _flags(base, leaving, centre)
    flags.sort(key=lambda flag: -flag.tokens)
    nodes = {node.id: node for node in graph.nodes}
    room = max(1, int((height - 8) // _FAN_ROW))
    rows = _fan_rows(flags, width - _FAN_X - 100)
    hidden = rows[room - 1 :] if len(rows) > room else []
    rows = rows[: len(rows) - len(hidden)]
    used = {centre, *(flag.anchor for flag in rows)}
    graph = _only(graph, used, {s.edge for flag in rows for s in flag.segments})
    total = 8 + _FAN_ROW * (len(rows) + bool(hidden))
    root = root_of(graph.name, width, total, "tokenmap fan")
    parent = ElementTree.SubElement(root, "g", {"class": "graph"})
    # in the order of the graph, as ``_only`` keeps them
    number = {e: i for i, e in enumerate(sorted(s.edge for flag in rows for s in flag.segments))}
    for flag in rows:
        flag.segments = [replace(s, edge=number[s.edge]) for s in flag.segments]
    column = _FAN_X + max((flag.width for flag in rows), default=0.0) + 32
    here = Placed(nodes[centre], 18.0, 4 + _FAN_ROW / 2, width_of(nodes[centre]))
    known: set[int] = set()
    for i, flag in enumerate(rows):
        y = 4 + _FAN_ROW * (i + 0.5)
        entry = [(here.x + 10, here.y), (42.0, here.y), (42.0, y), (_FAN_X, y)]
        foot = column - width_of(nodes[flag.anchor]) / 2, y
        for segment in flag.segments:
            parts = [entry, [(_FAN_X + flag.width, y), foot]]
            line = Line(segment.edge, parts, (foot, (1.0, 0.0)))
            draw_line(parent, graph.edges[segment.edge], line, known)
    drawn: set[str] = set()
    draw_state(parent, here, drawn)
    for i, flag in enumerate(rows):
        y = 4 + _FAN_ROW * (i + 0.5)
        node = nodes[flag.anchor]
        _draw_flag(parent, flag, _FAN_X, y - BOX / 2, graph)
        draw_state(parent, Placed(node, column, y, width_of(node)), drawn)
        space = int((width - column - RADIUS - 12) // CHAR)
        name = f"{node.cluster} · in {flag.inside}" if flag.inside else node.cluster
        if name and space > 3:
            name = shorten(name, space)
            add_text(parent, name, column + RADIUS + 8, y + 4, "name", anchor="start")
    note = ""
    if hidden:
        places = count_of(len(hidden), "more state")
        note = f"{places} with {count_of(sum(flag.tokens for flag in hidden), 'token')}"
        y = 4 + _FAN_ROW * (len(rows) + 0.5)
        add_text(parent, f"and {note}", _FAN_X, y + 4, "quiet", anchor="start")
    text = ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)
    return TokenPicture(
        graph, text, width, total, f"not drawn: {note}" if note else "", _parts_of(rows)
    )


def _fan_rows(flags: Sequence[_Flag], room: float) -> list[_Flag]:
    """The flags; one that is too wide is split."""
    rows: list[_Flag] = []
    for flag in flags:
        line: list[_Segment] = []
        for segment in flag.segments:
            if line and sum(s.width for s in line) + segment.width > room:
                rows.append(replace(flag, segments=line))
                line = []
            line.append(segment)
        rows.append(replace(flag, segments=line))
    return rows


def _only(graph: Graph, states: set[str], edges: set[int]) -> Graph:
    """The nodes and edges a fan shows."""
    kept = [edge for number, edge in enumerate(graph.edges) if number in edges]
    nodes: tuple[Node, ...] = tuple(node for node in graph.nodes if node.id in states)
    return replace(graph, nodes=nodes, edges=tuple(kept))
