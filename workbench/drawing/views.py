"""Chooses the layout of a machine, and the part of it that is visible when it opens.

A machine has one layout, which a run never changes: Graphviz's ``dot`` from left to right, or lanes
where a machine has rules or is too tangled for ``dot``. A picture is *legible* when, as it opens,
every label is at least 9 pixels high, no label overlaps another, and enough of the drawn states are
in view. Only of machines with too many states to be laid out a part around a state is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from workbench.automata.graphs import cyclic_components
from workbench.base.errors import LimitError
from workbench.base.visible_text import columns, count_of
from workbench.drawing.connectors import BOX, CHAR
from workbench.drawing.crossings import crossings
from workbench.drawing.dot import Direction
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.json_escapes import fold_escapes
from workbench.drawing.lane_svg import svg as lanes_svg
from workbench.drawing.lanes import CHANNEL, LaneLayout, lay_out, most_lanes
from workbench.drawing.parts import Parts
from workbench.drawing.reductions import (
    collapse_chains,
    fold_counts,
    merge_parallel,
    nearest,
    only_rules,
    shown_at,
)
from workbench.drawing.render import Renderer

#: The scales of pictures: at the least, state numbers have 9.1 pixels, at the most, labels 16.5.
_MIN_SCALE, _MAX_SCALE = 0.91, 1.5

#: How many states in view are enough of a large machine, and which share of a small one.
_ENOUGH_STATES, _ENOUGH_SHARE = 3, 0.6

#: The pixels kept free around a picture.
_PADDING = 8.0

#: The most states of a layout by Graphviz, the most edges per state, and how many pairs of edges
#: may cross, for each edge.
_MAX_GRAPHVIZ_STATES, _MAX_GRAPHVIZ_EDGES_PER_STATE, _MAX_CROSSINGS = 60, 3, 0.6

#: A machine without rules that has at most this number of states is laid out whole.
_MAX_WHOLE_STATES = 1_000

#: Up to this number of states, chains are not folded.
_FEW_STATES = 10

#: The number of states of a computed part of a machine, and the sizes that are tried for it.
_PART_STATES, _SIZES = 90, (60, 40, 26, 18, 12, 8, 5)

#: The height above the rows of lanes that is kept free for flags.
_FLAG_ROOM = BOX + 9

#: The most edges into a state that is folded, so that words with a common ending stay whole.
_MAX_SHARED = 12

#: The pixels before the first state of a row that are in view.
_BEFORE_ROW = 160.0

#: The left margin of lanes, for the lines of calls on the stack.
_MARGIN = 26.0

#: The name of the frame around rules that call each other.
_RECURSIVE = "these rules call each other: here the stack grows"

#: The most names that a note lists.
_MAX_LISTED = 4

#: The most nodes of rules that are laid out; of a larger grammar, those nearest to a state are.
_MAX_LAID_OUT = 2_000

#: Whole rules with less than this part of the states are replaced by a part of a larger rule.
_MIN_SHARE = 20

#: With at most this many rules, those that call nothing also have a lane.
_MAX_ALL_LANES = 8


class Box(NamedTuple):
    """The space of a picture on the screen, in pixels."""

    width: float
    height: float


class Level(StrEnum):
    """How much of the rules of a grammar is drawn."""

    #: The rules and their calls.
    CALLS = "calls"
    #: The states inside their rules.
    STATES = "states"
    #: The rule being read, and the rules it calls.
    AROUND = "around"


@dataclass(frozen=True, slots=True)
class Opening:
    """The part of a picture that is visible when it opens."""

    x: float = 0.0
    y: float = 0.0
    scale: float = 1.0
    #: The height of the part; the rest below it is visible after scrolling.
    height: float = 0.0


@dataclass(frozen=True, eq=False)
class Drawing:
    """A picture with the part that is visible first."""

    graph: Graph
    svg: str
    opening: Opening
    #: Whether all of the picture is in view.
    whole: bool = True
    legible: bool = True
    note: str = ""
    #: For states that are folded into other elements, the element that shows them.
    where: Mapping[str, str] = field(default_factory=dict)


# -- machines without rules -----------------------------------------------------------------------


def draw_machine(
    parts: Parts,
    box: Box,
    renderer: Renderer,
    centre: str = "",
    *,
    folded: bool | None = None,
    unfolded: Collection[str] = (),
    size: int = 0,
    flags: bool = False,
) -> Drawing:
    """A machine without rules, opened at a state.

    ``folded`` decides whether chains are folded, all but those of the states in ``unfolded``;
    ``size`` how many states are shown. With ``flags`` there is room for them.

    Raises: LimitError if no layout ends in time.
    """
    graph = machine_graph(parts, centre, folded=folded, unfolded=unfolded)
    if not graph.nodes:
        raise LimitError("the machine has no state", "states")
    above = _FLAG_ROOM if flags else 0.0
    last: Drawing | None = None
    if not size and _is_whole(parts, graph):
        last = _by_dot(graph, box, renderer) or by_lanes(graph, box, centre, above)
        if last.legible or flags:
            return last
    for count in [size] if size else _SIZES:
        part = nearest(graph, shown_at(graph, centre), count)
        drawing = _by_dot(part, box, renderer) or by_lanes(part, box, centre, above)
        if drawing.legible:
            return drawing
        last = last or drawing
    assert last is not None, "there are sizes"
    return last


def machine_graph(
    parts: Parts,
    centre: str = "",
    *,
    folded: bool | None = None,
    unfolded: Collection[str] = (),
) -> Graph:
    """The graph of a machine without rules, with folded chains if it has more than a few states.

    It is the same for all states of a machine that can be laid out whole; of a larger one it is
    the part around a state.
    """
    is_small = 0 < parts.states <= _MAX_WHOLE_STATES
    part = parts.around("" if is_small else centre, parts.states if is_small else 2 * _PART_STATES)
    keep = {centre, *unfolded} if centre and not _is_whole(parts, part) else {*unfolded}
    if folded is not False:
        part = fold_escapes(part, keep)
    plain = merge_parallel(part)
    if folded is False or (folded is None and len(plain.nodes) <= _FEW_STATES):
        return plain
    return collapse_chains(fold_counts(part, keep), keep=keep)


def _is_whole(parts: Parts, graph: Graph) -> bool:
    return 0 < parts.states <= len(graph.where)


def _by_dot(graph: Graph, box: Box, renderer: Renderer) -> Drawing | None:
    """The layout of Graphviz; None for a machine that it cannot show without many crossings."""
    edges = len(graph.edges)
    if (
        len(graph.nodes) > _MAX_GRAPHVIZ_STATES
        or edges > _MAX_GRAPHVIZ_EDGES_PER_STATE * len(graph.nodes) + 6
    ):
        return None
    whole = by_graphviz(graph, box, renderer)
    if whole is None and box.height > box.width:
        whole = by_graphviz(graph, box, renderer, "TB")
    drawing = whole or by_graphviz(graph, box, renderer, fits=False)
    if drawing is None or crossings(drawing.svg) > max(2, _MAX_CROSSINGS * edges):
        return None
    return drawing if drawing.whole or _has_enough_in_view(drawing, box) else None


def by_graphviz(
    graph: Graph,
    box: Box,
    renderer: Renderer,
    direction: Direction = "LR",
    *,
    fits: bool = True,
) -> Drawing | None:
    """The layout of Graphviz if all of it is legible, else None.

    Without ``fits`` it may be larger than the box.
    """
    try:
        svg = renderer.draw(graph, direction)
    except LimitError:
        return None
    size = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', svg)
    if size is None:
        return None
    width, height = float(size[1]), float(size[2])
    # space for the arrow into the initial state, which the page draws
    width += 26
    scale = min(
        (box.width - 2 * _PADDING) / width, (box.height - 2 * _PADDING) / height, _MAX_SCALE
    )
    is_whole = scale >= _MIN_SCALE
    if (fits and not is_whole) or _overlaps(_texts(svg)):
        return None
    return Drawing(graph, svg, Opening(scale=scale if is_whole else 0.0), whole=is_whole)


#: A state in the SVG of Graphviz: the centre of its circle.
_CIRCLE = re.compile(
    r'<g[^>]*class="[^"]*state[^"]*".*?<ellipse[^>]* cx="(-?[\d.]+)" cy="(-?[\d.]+)"', re.DOTALL
)


def _has_enough_in_view(drawing: Drawing, box: Box) -> bool:
    """Whether a picture that is larger than the box opens with enough of its states."""
    centres = [(float(x), float(y)) for x, y in _CIRCLE.findall(drawing.svg)]
    width, height = box.width / _MIN_SCALE, box.height / _MIN_SCALE
    left, middle = min(centres, default=(0.0, 0.0))
    seen = sum(x < left + 0.85 * width and abs(y - middle) < height / 2 for x, y in centres)
    return seen >= _ENOUGH_STATES


#: A text in the SVG of Graphviz: x, y, anchor and content.
_TEXT = re.compile(r"<text([^>]*)>(.*?)</text>", re.DOTALL)
_PLACE = re.compile(r'\b(x|y)="(-?[\d.]+)"')
_TAG = re.compile(r"<[^>]+>")


def _texts(svg: str) -> list[tuple[float, float, float, float]]:
    """The boxes of all texts: left, top, right, bottom."""
    boxes = []
    for attributes, content in _TEXT.findall(svg):
        coordinates = dict(_PLACE.findall(attributes))
        if len(coordinates) < 2:
            continue
        text = _TAG.sub("", content).replace("&lt;", "<").replace("&gt;", ">")
        wide = columns(text.replace("&amp;", "&").replace("&#160;", " ")) * CHAR
        x, y = float(coordinates["x"]), float(coordinates["y"])
        if 'text-anchor="middle"' in attributes:
            x -= wide / 2
        boxes.append((x, y - 8.5, x + wide, y + 2.5))
    return boxes


def _overlaps(boxes: Sequence[tuple[float, float, float, float]]) -> bool:
    """Whether two boxes have a point in common."""
    ordered = sorted(boxes)
    for i, (_, top, right, bottom) in enumerate(ordered):
        for other in ordered[i + 1 :]:
            if other[0] >= right - 0.5:
                break
            if other[1] < bottom - 0.5 and top < other[3] - 0.5:
                return True
    return False


def by_lanes(graph: Graph, box: Box, centre: str = "", above_rows: float = 0.0) -> Drawing:
    """The lane layout, opened at the rows around a state."""
    margin = _MARGIN if graph.clusters else 0.0
    layout = lay_out(graph, box.width - 2 * _PADDING, margin=margin, above_rows=above_rows)
    return opened(layout, box, centre)


def opened(layout: LaneLayout, box: Box, centre: str) -> Drawing:
    """A lane layout with the rows that are visible first: as many whole rows as are legible."""
    width, height = box.width - 2 * _PADDING, box.height - 2 * _PADDING
    fits = min(width / layout.width, 1.0)
    whole = min(fits, height / layout.height)
    svg = lanes_svg(layout)
    if whole >= _MIN_SCALE:
        scale = min(whole if whole < 1 else 1.0, 1.0)
        x = -(box.width / scale - layout.width) / 2
        y = -(box.height / scale - layout.height) / 2
        return Drawing(layout.graph, svg, Opening(x, y, scale, layout.height))
    rows = _rows(layout)
    centre_row = next((i for i, row in enumerate(rows) if centre in row.states), 0)
    # a lane that is wider than the box is not seen whole
    first, last, scale = _window(rows, centre_row, height, max(fits, _MIN_SCALE))
    begin, end = rows[first].top, rows[last].bottom
    seen = sum(len(row.states) for row in rows[first : last + 1])
    total = sum(len(row.states) for row in rows)
    row = [s for lane in layout.lanes for s in lane.states if s.node.id in rows[centre_row].states]
    is_too_high = (end - begin) * scale > height + 1
    if is_too_high:  # a row with many rails: its states are in the middle
        begin = max(begin, row[0].y - height / scale / 2)
        end = begin + height / scale
    is_enough = seen >= _ENOUGH_STATES or seen >= _ENOUGH_SHARE * total
    is_legible = scale >= _MIN_SCALE and is_enough and not is_too_high
    x = -(box.width / scale - layout.width) / 2
    if x > -_PADDING:  # it is wider than the box, and opens at the left end or where its row begins
        x = max(-_PADDING, min(state.x for state in row) - _BEFORE_ROW)
    opening = Opening(x, begin - _PADDING, scale, end - begin + 2 * _PADDING)
    return Drawing(layout.graph, svg, opening, whole=False, legible=is_legible)


class _Row(NamedTuple):
    """A row of a lane with its states; the first and the last of a lane have its padding."""

    top: float
    bottom: float
    states: frozenset[str]


def _rows(layout: LaneLayout) -> list[_Row]:
    rows = []
    for lane in layout.lanes:
        for number, (top, bottom) in enumerate(lane.rows):
            inside = frozenset(s.node.id for s in lane.states if top <= s.y <= bottom)
            begin = lane.top if number == 0 else lane.rows[number - 1][1]
            end = lane.top + lane.height if number == len(lane.rows) - 1 else bottom
            rows.append(_Row(begin, end, inside))
    return rows


def _window(
    rows: Sequence[_Row], centre_row: int, height: float, fits: float
) -> tuple[int, int, float]:
    """The first and last visible row, and the scale: the most rows around one that fit."""
    best = (
        centre_row,
        centre_row,
        min(fits, max(_MIN_SCALE, height / (rows[centre_row].bottom - rows[centre_row].top))),
    )
    most = 1
    for first in range(centre_row, -1, -1):
        last = first
        while last + 1 < len(rows) and rows[last + 1].bottom - rows[first].top <= height / (
            _MIN_SCALE
        ):
            last += 1
        if last < centre_row:
            break
        if last - first + 1 > most:
            most = last - first + 1
            best = first, last, min(fits, height / (rows[last].bottom - rows[first].top))
    return best[0], best[1], min(best[2], fits)


# -- rules ----------------------------------------------------------------------------------------


def draw_rules(
    graph: Graph,
    box: Box,
    renderer: Renderer,
    centre: str = "",
    *,
    level: Level = Level.STATES,
    folded: bool | None = None,
    unfolded: Collection[str] = (),
    flags: bool = False,
) -> Drawing:
    """The rules of a grammar, one lane each, or at another level; ``flags`` as in ``draw_machine``.

    Raises: LimitError if no layout ends in time.
    """
    if level is Level.CALLS:
        return draw_calls(graph, box, renderer, centre)
    small = rules_graph(graph, folded=folded, unfolded=unfolded)
    above = _FLAG_ROOM if flags else 0.0
    part = nearest(small, shown_at(small, centre), _MAX_LAID_OUT)
    if level is Level.AROUND or part is not small:
        return _nearby(small, part, box, centre)
    drawing = by_lanes(small, box, centre, above)
    leaves = _leaves(small, "" if flags else centre)
    if not drawing.whole and len(small.clusters) > _MAX_ALL_LANES and leaves and not flags:
        note = "rules that call nothing are grey boxes"
        callers = only_rules(small, set(small.clusters) - leaves)
        drawing = replace(by_lanes(callers, box, centre), note=note)
    return drawing


def rules_graph(
    graph: Graph, *, folded: bool | None = None, unfolded: Collection[str] = ()
) -> Graph:
    """The rules as drawn in lanes: counted repetitions and words folded."""
    if folded is False:
        return merge_parallel(graph)
    keep = {*unfolded}
    return collapse_chains(fold_counts(fold_escapes(graph, keep), keep), _MAX_SHARED, keep)


def _nearby(whole: Graph, near: Graph, box: Box, centre: str) -> Drawing:
    """The rules near a state that fit; of a rule too high for the box, the states nearest to it.

    ``near`` is the part of ``whole`` that is considered.
    """
    fitting = _fitting(near, box, centre)
    if fitting.legible and len(fitting.graph.states) * _MIN_SHARE >= len(near.states):
        return replace(fitting, note=_hidden_note(whole, fitting.graph))
    for count in _SIZES:
        part = by_lanes(nearest(near, shown_at(near, centre), count), box, centre)
        if part.legible:
            return replace(part, note=_hidden_note(whole, part.graph))
    return fitting


def _hidden_note(whole: Graph, part: Graph) -> str:
    """The note on the rules that are not in a part."""
    shown = set(part.clusters)
    hidden = [name for name in whole.clusters if name not in shown]
    return f"not drawn: {_list_text(hidden)}" if hidden else ""


def _fitting(graph: Graph, box: Box, centre: str) -> Drawing:
    """The rule of a state and the rules nearest in calls, as many as fit into the box."""
    height = (box.height - 2 * _PADDING) / _MIN_SCALE
    names = _nearest_rules(graph, centre)[: most_lanes(height)]
    layout = lay_out(graph, box.width - 2 * _PADDING, lanes=names, margin=_MARGIN)
    room = height + CHANNEL
    kept: set[str] = set()
    for lane in layout.lanes:
        if lane.height + CHANNEL > room:
            break
        room -= lane.height + CHANNEL
        kept.add(lane.name)
    kept = kept or {names[0]}
    return by_lanes(only_rules(graph, kept), box, centre)


def _list_text(names: Sequence[str]) -> str:
    """The first names, and the number of the others."""
    more = len(names) - _MAX_LISTED
    return ", ".join(names[:_MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


def _nearest_rules(graph: Graph, centre: str) -> list[str]:
    """The rules by their distance in calls from the rule being read."""
    home = {node.id: node.cluster for node in graph.nodes}
    beside: dict[str, dict[str, None]] = {name: {} for name in graph.clusters}
    for node in graph.nodes:
        if node.calls in beside:
            beside[node.cluster][node.calls] = None
            beside[node.calls][node.cluster] = None
    order = dict.fromkeys([home.get(shown_at(graph, centre) or "", graph.clusters[0])])
    waiting = list(order)
    for name in waiting:
        waiting += [other for other in beside[name] if other not in order]
        order.update(dict.fromkeys(beside[name]))
    return list(order)


def _leaves(graph: Graph, centre: str) -> set[str]:
    """The rules that call nothing, without the rule being read."""
    calling = {node.cluster for node in graph.nodes if "call" in node.kinds}
    home = {node.id: node.cluster for node in graph.nodes}
    first = graph.clusters[0] if graph.clusters else ""
    shown = shown_at(graph, centre)
    return set(graph.clusters) - calling - {first, home.get(shown or "", "")}


def draw_calls(graph: Graph, box: Box, renderer: Renderer, centre: str = "") -> Drawing:
    """The rules as boxes, with an edge for each rule that calls another.

    Rules that call each other have a frame around them: there the stack can grow.

    Raises: LimitError if no layout ends in time.
    """
    home = {node.id: node.cluster for node in graph.nodes if node.cluster}
    here = home.get(shown_at(graph, centre) or "", "")
    calls: dict[tuple[str, str], None] = {}
    for node in graph.nodes:
        if node.calls:
            calls[node.cluster, node.calls] = None
    names = list(graph.clusters)
    sizes: dict[str, int] = dict.fromkeys(names, 0)
    for node in graph.states:
        sizes[node.cluster] += 1
    leaves = set(names) - {caller for caller, _ in calls} - {here, *names[:1]}
    for kept in _call_variants(names, leaves, _nearest_rules(graph, centre)):
        boxes = _call_graph(graph.name, kept, calls, sizes)
        drawing = _calls_fitting(boxes, box, renderer)
        if drawing is not None:
            break
    else:
        drawing = by_lanes(boxes, box)
    number = {name: f"state-rule-{names.index(name)}" for name in kept}
    where = {state: number[name] for state, name in home.items() if name in number}
    hidden = len(names) - len(kept)
    note = f"{count_of(hidden, 'rule')} not drawn" if hidden else ""
    return replace(drawing, where=where, note=note)


def _calls_fitting(boxes: Graph, box: Box, renderer: Renderer) -> Drawing | None:
    """The layout of Graphviz if it is legible.

    Not tried if the nodes alone need more area: for hundreds of rules Graphviz takes many seconds.
    """
    areas = ((columns(node.label) * CHAR + 2 * CHANNEL) * (BOX + CHANNEL) for node in boxes.nodes)
    if sum(areas) * _MIN_SCALE**2 > box.width * box.height:
        return None
    drawings = (by_graphviz(boxes, box, renderer, direction) for direction in ("TB", "LR"))
    return next(filter(None, drawings), None)


def _call_variants(
    names: Sequence[str],
    leaves: set[str],
    order: Sequence[str],
) -> Iterator[list[str]]:
    """The sets of rules to try: all, those that call others, fewer and fewer around one."""
    yield list(names)
    callers = [name for name in names if name not in leaves]
    if leaves:
        yield callers
    for count in (12, 9, 7, 5, 3, 2, 1):
        if count < len(order):
            near = set(order[:count])
            yield [name for name in names if name in near]


def _call_graph(
    title: str,
    names: Sequence[str],
    calls: Mapping[tuple[str, str], None],
    sizes: Mapping[str, int],
) -> Graph:
    ids = {name: f"rule-{i}" for i, name in enumerate(names)}
    drawn = [(caller, called) for caller, called in calls if caller in ids and called in ids]
    after: dict[str, list[str]] = {name: [] for name in names}
    for caller, called in drawn:
        after[caller].append(called)
    frames: dict[str, str] = {}
    for number, group in enumerate(group for group in cyclic_components(after) if len(group) > 1):
        # frames with the same name would be merged
        frames |= dict.fromkeys(group, _RECURSIVE + " " * number)
    nodes = tuple(
        Node(
            ids[name],
            name,
            ("call", "calls"),
            f"{name}: {count_of(sizes[name], 'state')}",
            frames.get(name, ""),
        )
        for name in names
    )
    edges = tuple(Edge(ids[a], ids[b], kinds=("call",), title=f"{a} calls {b}") for a, b in drawn)
    return Graph(f"{title}: calls", nodes, edges)
