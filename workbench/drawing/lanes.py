"""Lane layout: one lane for each rule, its states in rows that are read like lines of text.

Graphviz spaces a graph by the size of its labels and loses the reading order, so machines with many
labels are laid out here. A lane is a railroad diagram of its rule with states:

- states are ordered along the paths from the initial state, back edges left out;
- the widest edge that joins two neighbours lies on the *track* between them;
- every other edge runs on a *rail* above the row (forwards) or below it (backwards). Edges with one
  label and one target share the label: their rails end just before it. An edge has a head where it
  joins another one (``joints``);
- a row that is full wraps; edges between rows run through columns in the left margin.

Text has a fixed size and decides the positions, so no label overlaps another at any scale.
Coordinates are pixels at scale 1, x to the right and y downwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from workbench.base.limits import check_time_budget
from workbench.base.visible_text import columns, shorten
from workbench.drawing.connectors import (
    BOX,
    CHAR,
    Label,
    Point,
    connectors_of,
    loop_states,
    ordered,
)
from workbench.drawing.graph import Graph, Node
from workbench.drawing.joints import Head, joints
from workbench.drawing.rails import (
    DOWN,
    RADIUS,
    UP,
    Route,
    Row,
    Want,
    assign_columns,
    detour,
    direction,
    head_at,
)

#: Width of one column of the font of state numbers.
SMALL_CHAR = 6.1

#: Track before a label, after it (with the arrow), and between two states that no edge joins.
_BEFORE_LABELS, _AFTER_LABELS, _GAP = 15.0, 17.0, 14.0

#: The height of a rail without a label.
_PLAIN = 9.0

#: Distance between two columns of the left margin.
_COLUMN = 7.0

#: The least share of a lane's width that its rows have.
_LEAST_SHARE = 0.6

#: The most columns of a name to the left of its lane, and the least width of a picture with such
#: names; in narrower pictures the names are above the lanes.
MAX_NAME_COLUMNS, _MIN_WIDTH_NAMES_LEFT = 16, 520.0

#: Padding of a lane above and below its rows, and the channel between two lanes.
PADDING, CHANNEL = 7.0, 10.0


@dataclass(slots=True)
class Placed:
    """A state with the coordinates of its centre."""

    node: Node
    x: float
    y: float
    width: float


@dataclass(slots=True)
class Line:
    """The path of an edge, with the head at its end."""

    edge: int
    parts: list[list[Point]]
    arrow: Head | None = None
    #: The heads where it joins other lines.
    joints: list[Head] = field(default_factory=list)


@dataclass(slots=True)
class Frame:
    """The frame around several labels of one connector."""

    x: float
    y: float
    width: float
    height: float


@dataclass(slots=True)
class Lane:
    """One lane, with the coordinates of the whole picture."""

    name: str
    top: float
    height: float = 0.0
    states: list[Placed] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    #: The upper and lower end of each row, without the room for flags above it.
    rows: list[tuple[float, float]] = field(default_factory=list)
    #: The track of the first row, where the lane is entered, and the left end of the rows.
    track: float = 0.0
    left: float = 0.0


@dataclass(frozen=True, eq=False)
class LaneLayout:
    """Lanes one below the other."""

    graph: Graph
    lanes: tuple[Lane, ...]
    width: float
    height: float
    #: The left end of the lanes' backgrounds.
    left: float
    #: Whether the names are above their lanes instead of to the left of them.
    above: bool


def lay_out(
    graph: Graph,
    width: float,
    *,
    lanes: Sequence[str] | None = None,
    margin: float = 0.0,
    above_rows: float = 0.0,
) -> LaneLayout:
    """The lanes of a graph, in a picture of this width if its widest label permits.

    ``lanes`` are the clusters that are drawn, in this order; calls of the others are boxes of kind
    ``leaf``. ``margin`` is kept free on the left, for lines between lanes, and ``above_rows``
    above every row, for flags.

    Cost: a few milliseconds for 100 states.
    """
    clusters = list(graph.clusters) if lanes is None else list(lanes)
    if not graph.clusters:
        clusters = [""]
    named = any(clusters)
    above = named and width < _MIN_WIDTH_NAMES_LEFT
    names = 0.0
    if named and not above:
        names = max(columns(shorten(name, MAX_NAME_COLUMNS)) for name in clusters) * CHAR + 14
    placed_lanes: list[Lane] = []
    y = 2.0
    drawn = set(clusters)
    for name in clusters:
        check_time_budget()
        builder = _Builder(graph, name, drawn, width - margin - names - 10)
        lane = builder.lane(margin + names, y, PADDING + (17.0 if above else 0.0), above_rows)
        y += lane.height + CHANNEL
        placed_lanes.append(lane)
    widest = max((_right(lane) for lane in placed_lanes), default=0.0)
    return LaneLayout(
        graph, tuple(placed_lanes), max(width, widest + 8), y - CHANNEL + 2, margin, above
    )


def most_lanes(height: float) -> int:
    """The most lanes that can fit into a height: those with one row and no slot."""
    return max(1, int((height + CHANNEL) / (BOX + 2 * PADDING + CHANNEL)))


def _right(lane: Lane) -> float:
    """The right end of everything in a lane."""
    ends = [state.x + state.width / 2 for state in lane.states]
    ends += [label.x + label.width for label in lane.labels]
    ends += [x for line in lane.lines for part in line.parts for x, _ in part]
    return max(ends, default=0.0)


class _Builder:
    """Lays one lane out."""

    def __init__(self, graph: Graph, name: str, lanes: set[str], room: float) -> None:
        self._graph = graph
        nodes = graph.members.get(name, ({}, []))[0]
        self._nodes = {state: n for state, n in nodes.items() if "call" not in n.kinds}
        self._connectors = connectors_of(graph, name, lanes)
        self._into: dict[str, list[int]] = {}
        for number, connector in enumerate(self._connectors):
            self._into.setdefault(connector.target, []).append(number)
        self._room = room
        self._lane = Lane(name, 0.0)

    def lane(self, left: float, top: float, padding: float, above_rows: float) -> Lane:
        """The lane, with its left end and its top at these coordinates."""
        order = ordered(self._nodes, self._connectors)
        loops = loop_states(order, self._nodes, self._connectors)
        count = 0
        while True:
            pad = 30.0 + _COLUMN * count  # the left margin with its columns
            # a margin that takes most of the width makes the picture wider, not its rows shorter
            self._limit = max(self._room - pad, _LEAST_SHARE * self._room)
            kept = self._balance([s for s in order if s not in loops], loops, self._limit)
            if kept != loops:  # its neighbours are in two rows: it is placed in a row
                loops = kept
                continue
            routes = self._routes(loops)
            columns_used = self._reserve(routes)
            if columns_used <= count:
                break
            count = columns_used  # a wider margin changes the rows: lay them out again
        self._lane.top, self._lane.left = top, left
        self._left = left + pad
        self._measure(top + padding, above_rows)
        self._emit(routes, loops)
        lines = self._lane.lines
        for line, heads in zip(lines, joints([line.parts for line in lines]), strict=True):
            line.joints = heads
        return self._lane

    # -- states on rows ----------------------------------------------------------------------------
    def _balance(
        self, order: list[str], loops: dict[str, tuple[int, int]], room: float
    ) -> dict[str, tuple[int, int]]:
        """As many rows as the full width needs, of about equal length."""
        kept = self._place(order, loops, room)
        rows = len(self._rows)
        if rows == 1:
            return kept
        low, high = room / 2, room
        while high - low > 12:
            middle = (low + high) / 2
            self._place(order, loops, middle)
            low, high = (low, middle) if len(self._rows) == rows else (middle, high)
        return self._place(order, loops, high)

    def _place(
        self, order: list[str], loops: dict[str, tuple[int, int]], room: float
    ) -> dict[str, tuple[int, int]]:
        """Give every state a row and an x; returns the loop states that can stay on a rail."""
        self._rows = [Row()]
        self._x: dict[str, float] = {}
        self._row: dict[str, int] = {}
        #: The connectors between neighbours: row and left end of the labels.
        self._track: dict[int, tuple[int, float]] = {}
        self._wrapped: dict[int, str] = {}
        for connector in self._connectors:
            connector.flow(max(90.0, min(room - 80, 360.0)))
        before = ""
        for state in order:
            number = self._widest(before, state)
            wide = self._wide(state)
            gap = _GAP if before else 0.0
            if number is not None:
                gap = _BEFORE_LABELS + self._connectors[number].width + _AFTER_LABELS
            row = self._rows[-1]
            wraps = bool(row.states) and row.width + gap + wide > room
            if wraps:
                self._rows.append(row := Row())
                gap = gap if number is not None else 0.0
            if number is not None:
                self._track[number] = len(self._rows) - 1, row.width + _BEFORE_LABELS
                if wraps:
                    self._wrapped[number] = before
            self._x[state] = row.width + gap + wide / 2
            self._row[state] = len(self._rows) - 1
            row.states.append(state)
            row.width += gap + wide
            before = state
        return {s: ends for s, ends in loops.items() if self._on_rail(s, *ends)}

    def _on_rail(self, state: str, entry: int, leave: int) -> bool:
        """Whether a loop state's neighbours are in one row, and its edge back can be drawn."""
        source, back = self._connectors[entry].sources[0], self._connectors[leave]
        same = self._row[source] == self._row[back.target]
        alone = back.sources == (state,)
        if alone or not same:
            return same
        joins = leave in self._track and leave not in self._wrapped
        need = self._connectors[entry].width + self._wide(state) + 30
        return joins and self._track[leave][1] - 6 + need <= self._limit

    def _between(self, middle: float, half: float) -> float:
        """The middle, moved so that ``half`` on both sides is inside the row if possible."""
        return max(min(middle, self._limit - half), half)

    def _wide(self, state: str) -> float:
        """The width of a state: an ellipse, wider for a long number."""
        return state_width(self._nodes[state])

    def _widest(self, source: str, target: str) -> int | None:
        """The connector that is on the track between two neighbours."""
        numbers = [
            number
            for number in self._into.get(target, ())
            if source in self._connectors[number].sources and source != target
        ]
        return max(numbers, key=lambda n: self._connectors[n].width, default=None)

    # -- rails -------------------------------------------------------------------------------------
    def _routes(self, loops: Mapping[str, tuple[int, int]]) -> list[Route]:
        """The routes of all edges that are not on the track."""
        routes = [self._loop_route(state, *ends) for state, ends in loops.items()]
        used = {number for ends in loops.values() for number in ends}
        for number, connector in enumerate(self._connectors):
            on_track = self._track.get(number)
            if on_track is None and number in used:
                continue
            sources = [s for s in connector.sources if s not in loops]
            if on_track is not None:
                sources = [s for s in sources if not self._is_neighbour(s, number)]
            if on_track is not None and number in self._wrapped:
                routes.append(self._wrap_route(number))
            if connector.target in sources and on_track is None:
                routes.append(self._self_route(number))
                sources.remove(connector.target)
            for row in dict.fromkeys(self._row[s] for s in sources):
                row_sources = [s for s in sources if self._row[s] == row]
                routes += self._rail_routes(number, row, row_sources)
        return routes

    def _is_neighbour(self, source: str, number: int) -> bool:
        """Whether the edge from a source is on the track."""
        if self._wrapped.get(number) == source:
            return True
        row, x = self._track[number]
        right = self._x[source] + self._wide(source) / 2
        return self._row[source] == row and abs(right + _BEFORE_LABELS - x) < 0.5

    def _reserve(self, routes: list[Route]) -> int:
        """Give every rail its height and every route its column; returns the columns used."""
        for number, (row, x) in self._track.items():
            connector = self._connectors[number]
            for rails in self._rows[row].sides:
                rails.block(x, x + connector.width, connector.height / 2 + 3)
        for route in sorted(routes, key=lambda route: (route.last, route.length)):
            check_time_budget()
            for want in route.wants:
                rails = self._rows[want.row].sides[want.side]
                want.level = rails.place(want.left, want.right, want.high)
        return assign_columns([route for route in routes if route.span])

    def _rail_routes(self, number: int, row: int, sources: list[str]) -> list[Route]:
        """The routes of the sources in one row."""
        goal_row, goal = self._goal(number)
        if goal_row != row:
            return [self._cross_route(number, row, sources)]
        ahead = [s for s in sources if self._x[s] < goal]
        behind = [s for s in sources if self._x[s] >= goal]
        return [
            self._rail_route(number, side, group)
            for side, group in ((UP, ahead), (DOWN, behind))
            if group
        ]

    def _goal(self, number: int) -> tuple[int, float]:
        """The end of a connector's rails: its labels on the track, or its target."""
        if number in self._track:
            row, x = self._track[number]
            return row, x - 6
        target = self._connectors[number].target
        return self._row[target], self._x[target]

    def _high(self, number: int) -> float:
        """The height of a rail that carries the labels of a connector, or none."""
        connector = self._connectors[number]
        if number in self._track or not connector.labels:
            return _PLAIN
        return connector.height + 4

    def _rail_route(self, number: int, side: int, sources: list[str]) -> Route:
        """Sources of the same row: up or down, along, and back to the track."""
        connector, (row, goal) = self._connectors[number], self._goal(number)
        joins = number in self._track
        edge = goal if joins else goal + (-5 if side == UP else 5)
        xs = [self._x[s] + (4 if side == UP else -4) for s in sources]
        left, right = min(*xs, edge), max(*xs, edge)
        # the labels are between the last source and the end
        near = max(xs) if side == UP else min(xs)
        room = abs(edge - near) - 12
        need = 0.0 if joins else connector.width - room
        middle = (near + edge) / 2
        if need > 0:
            reach = connector.width / 2 + 6
            middle = self._between(middle, reach)  # keeps the margins free
            left, right = min(left, middle - reach), max(right, middle + reach)

        def draw(route: Route) -> None:
            track = self._rows[row].track
            want = route.wants[0]
            centre = want.level + (4 if joins or not connector.labels else want.high / 2)
            y = track - centre if side == UP else track + centre
            rim = -RADIUS if side == UP else RADIUS
            if joins or not connector.labels:
                ends = None if joins else (edge, track + rim)
                tail = [(edge, y), (edge, track if joins else track + rim)]
                for source, x in zip(sources, xs, strict=True):
                    start = [(x, track + rim), (x, y)]
                    self._lines(number, source, [*start, *tail], ends, side)
                return
            first, last = middle - connector.width / 2, middle + connector.width / 2
            self._labels(number, first, y)
            before, after = (first, last) if side == UP else (last, first)
            for source, x in zip(sources, xs, strict=True):
                bend_in = min(x, before) if side == UP else max(x, before)
                entry = detour(x, track + rim, bend_in, y, before)
                bend_out = max(edge, after + 6) if side == UP else min(edge, after - 6)
                leave = [(after, y), (edge, y), (edge, track + rim)]
                if abs(bend_out - edge) > 0.5:
                    leave = detour(edge, track + rim, bend_out, y, after)[::-1]
                self._lines(number, source, entry, (edge, track + rim), side, leave)

        wants = [Want(row, side, left, right, self._high(number) + (6 if need > 0 else 0))]
        return Route(wants, draw)

    def _self_route(self, number: int) -> Route:
        """A loop at one state: a rail above it with the labels."""
        connector = self._connectors[number]
        state = connector.target
        row, x = self._row[state], self._x[state]
        half = max(14.0, connector.width / 2 + 7)
        middle = self._between(x, half)

        def draw(route: Route) -> None:
            track, want = self._rows[row].track, route.wants[0]
            y = track - want.level - 6 - connector.height / 2
            low = track - want.level - 1
            first, last = middle - connector.width / 2, middle + connector.width / 2
            entry = [(x + 5, track - RADIUS), (x + 5, low), (middle + half, low)]
            entry += [(middle + half, y), (last, y)]
            leave = [(first, y), (middle - half, y), (middle - half, low)]
            leave += [(x - 5, low), (x - 5, track - RADIUS)]
            if connector.labels:
                self._labels(number, first, y)
            self._lines(number, state, entry, (x - 5, track - RADIUS), UP, leave)

        want = Want(row, UP, middle - half, middle + half, connector.height + 10)
        return Route([want], draw)

    def _cross_route(self, number: int, row: int, sources: list[str]) -> Route:
        """Sources of another row: below it, through a column of the margin, above the goal."""
        connector, (goal_row, goal) = self._connectors[number], self._goal(number)
        joins = number in self._track
        edge = goal if joins else goal - 5
        xs = [self._x[s] - 4 for s in sources]
        carries = not joins and bool(connector.labels)
        # to the left of the first states there is no room above: the labels are below their source
        early = carries and edge < connector.width + 26
        high = connector.height + 4 if carries and not early else _PLAIN
        low_high = connector.height + 4 if early else _PLAIN

        def draw(route: Route) -> None:
            low, up = route.wants
            y = self._rows[row].track + low.level + (low.high / 2 if early else 4)
            track = self._rows[goal_row].track
            above = track - up.level - (up.high / 2 if carries and not early else 4)
            column = self._column(route)
            end = (edge, track if joins else track - RADIUS)
            start = 14.0
            if carries:
                self._labels(number, start, y if early else above)
            for source, x in zip(sources, xs, strict=True):
                rim = self._rows[row].track + RADIUS
                bend = max(x, start + connector.width + 8) if early else x
                entry = detour(x, rim, bend, y, start + connector.width if early else column)
                if not carries:
                    path = [*entry, (column, above), (edge, above), end]
                    self._lines(number, source, path, None if joins else end, UP)
                elif early:
                    leave = [(start, y), (column, y), (column, above), (edge, above), end]
                    self._lines(number, source, entry, end, UP, leave)
                else:
                    leave = [(start + connector.width, above), (edge, above), end]
                    path = [*entry, (column, above), (start, above)]
                    self._lines(number, source, path, end, UP, leave)

        right = max(*xs, connector.width + 26) if early else max(xs)
        wants = [
            Want(row, DOWN, -30.0, right, low_high + (6 if right > max(xs) else 0)),
            Want(goal_row, UP, -30.0, edge, high),
        ]
        return Route(wants, draw, (min(row + 0.9, goal_row + 0.1), max(row + 0.9, goal_row + 0.1)))

    def _wrap_route(self, number: int) -> Route:
        """The track where it continues in the next row."""
        source = self._wrapped[number]
        row = self._row[source]
        x = self._x[source] + self._wide(source) / 2
        end = self._track[number][1]

        def draw(route: Route) -> None:
            track, below = self._rows[row].track, self._rows[row + 1].track
            y = track + route.wants[0].level + 4
            column = self._column(route)
            path = [(x, track), (x + 9, track), (x + 9, y), (column, y), (column, below)]
            self._lines(number, source, [*path, (end, below)], None, UP, self._track_out(number))

        want = Want(row, DOWN, -30.0, x + 9, _PLAIN)
        return Route([want], draw, (row + 0.9, row + 1.5), last=True)

    def _loop_route(self, state: str, entry: int, leave: int) -> Route:
        """A state on a rail below, with the edge that leads to it and the one that leads back."""
        connector, back = self._connectors[entry], self._connectors[leave]
        source, target = connector.sources[0], back.target
        row = self._row[source]
        joins = back.sources != (state,)
        begin = self._x[source] + (5 if source == target else -4)
        end = self._goal(leave)[1] if joins else self._x[target] - (5 if source == target else -4)
        need = connector.width + self._wide(state) + 30 + (0 if joins else back.width + 16)
        left, right = end, begin
        if right - left < need:
            middle = self._between((left + right) / 2, need / 2)
            left, right = middle - need / 2, middle + need / 2
        if joins and left < end:
            left, right = end, end + need
        widened = right > begin + 0.5 or left < end - 0.5
        high = (
            max(connector.height, 0 if joins else back.height, 2 * RADIUS)
            + 3
            + (8 if widened else 0)
        )

        def draw(route: Route) -> None:
            track, want = self._rows[row].track, route.wants[0]
            low = track + want.level + 3
            y = track + want.level + want.high - (want.high - (8 if widened else 0)) / 2
            rim = track + RADIUS
            # from right to left: label, state, label
            spare = (right - left - need) / 2
            label = right - 10 - spare - connector.width
            self._labels(entry, label, y)
            middle = label - 12 - self._wide(state) / 2
            self._x[state] = middle
            self._lane.states.append(
                Placed(self._nodes[state], self._left + middle, y, self._wide(state))
            )
            into = detour(begin, rim, right, y, label + connector.width, low)
            to_state = [(label, y), (middle + self._wide(state) / 2, y)]
            self._lines(entry, source, into, to_state[-1], DOWN, to_state, flat=True)
            start = (middle - self._wide(state) / 2, y)
            goal = (end, track if joins else rim)
            if joins:
                path = [start, (end, y), goal]
                self._lines(leave, state, path, None, DOWN, self._track_out(leave))
                return
            first = start[0] - 10 - back.width
            self._labels(leave, first, y)
            out = detour(end, rim, left, y, first, low)[::-1]
            self._lines(leave, state, [start, (first + back.width, y)], goal, DOWN, out)

        return Route([Want(row, DOWN, left, right, high)], draw)

    # -- coordinates -------------------------------------------------------------------------------
    def _column(self, route: Route) -> float:
        """The x of a route's column in the left margin."""
        return -10.0 - _COLUMN * route.column

    def _measure(self, y: float, above_rows: float) -> None:
        """Give every row its y."""
        lane = self._lane
        for row in self._rows:
            y += above_rows
            top = y
            row.track = y + row.sides[UP].top
            y = row.track + row.sides[DOWN].top
            lane.rows.append((top, y))
            y += 6
        lane.track = self._rows[0].track
        lane.height = y - 6 + PADDING - lane.top

    def _emit(self, routes: list[Route], loops: Mapping[str, tuple[int, int]]) -> None:
        """Add all states, labels and lines with their coordinates."""
        for state, x in list(self._x.items()):
            track = self._rows[self._row[state]].track
            placed = Placed(self._nodes[state], self._left + x, track, self._wide(state))
            self._lane.states.append(placed)
        for number, (row, x) in self._track.items():
            track = self._rows[row].track
            self._labels(number, x, track)
            for source in self._connectors[number].sources:
                if (
                    source in loops
                    or number in self._wrapped
                    or not self._is_neighbour(source, number)
                ):
                    continue
                right = self._x[source] + self._wide(source) / 2
                path = [(right, track), (x, track)]
                self._lines(number, source, path, None, UP, self._track_out(number))
        for route in routes:
            route.draw(route)

    def _track_out(self, number: int) -> list[Point]:
        """From the labels on the track to the target."""
        row, x = self._track[number]
        connector, track = self._connectors[number], self._rows[row].track
        end = self._x[connector.target] - self._wide(connector.target) / 2
        return [(x + connector.width, track), (end, track)]

    def _lines(
        self,
        number: int,
        source: str,
        entry: list[Point],
        end: Point | None,
        side: int,
        leave: list[Point] | None = None,
        *,
        flat: bool = False,
    ) -> None:
        """The lines of a source's edges: ``entry`` leads to the labels, ``leave`` to the target."""
        connector = self._connectors[number]
        if leave is None and number in self._track:
            leave = self._track_out(number)
        if leave is None:  # no labels: one line
            for edge in connector.entries[source]:
                self._line(edge, [entry], head_at(end, side) if end else None)
            return
        goal = leave[-1]
        head = (goal, direction(leave)) if not flat else (goal, (-1.0, 0.0))
        for edge in connector.entries[source]:
            if self._graph.edges[edge].target == connector.target:
                self._line(edge, [entry, leave], head)
            else:
                self._line(edge, [entry], None)
        for edge in connector.exits:
            self._line(edge, [leave], head)

    def _line(self, edge: int, parts: list[list[Point]], head: Head | None) -> None:
        """Add the line of an edge, given relative to the left end of the rows."""
        left = self._left
        moved = [[(x + left, y) for x, y in part] for part in parts]
        arrow = None if head is None else ((head[0][0] + left, head[0][1]), head[1])
        line = Line(edge, moved, arrow)
        if line not in self._lane.lines[-12:]:  # sources of one call share the line out of it
            self._lane.lines.append(line)

    def _labels(self, number: int, x: float, y: float) -> None:
        """Place the labels of a connector, their frame's left end at x and its middle at y."""
        connector = self._connectors[number]
        top = y - connector.height / 2
        if len(connector.labels) > 1:
            self._lane.frames.append(Frame(self._left + x, top, connector.width, connector.height))
        for label, (dx, dy) in zip(connector.labels, connector.offsets, strict=True):
            # sources in several rows have a copy each
            self._lane.labels.append(replace(label, x=self._left + x + dx, y=top + dy))


def state_width(node: Node) -> float:
    """The width of a state: an ellipse, wider for a long number."""
    shown = columns(node.label)
    return 2 * RADIUS if shown <= 3 else shown * SMALL_CHAR + 12
