"""Lane layout: nothing overlaps, everything is inside the picture, every edge has a line."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import pytest

from tests.drawing.boxes import Box, boxes_of, outside, overlaps
from tests.drawing.graphs import graph
from workbench.drawing.connectors import (
    BOX,
    MAX_LABEL_LETTERS,
    Point,
    connectors_of,
    numbered,
    ordered,
)
from workbench.drawing.drawable import Drawn, Machine, draw, missing
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.joints import Head
from workbench.drawing.lane_svg import svg
from workbench.drawing.lanes import LaneLayout, Line, lay_out
from workbench.drawing.machines import draw_network
from workbench.drawing.reductions import merge_parallel
from workbench.drawing.views import rules_graph
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation

GALLERY = load_gallery()
WIDTHS = (320, 560, 760, 1000)

#: States of which a part of a machine is made, as on the page.
_PART_STATES = 90


@cache
def drawings(name: str) -> dict[Machine, Drawn]:
    """The machines of a gallery grammar that have lanes."""
    example = GALLERY[name]
    grammar = Grammar.from_text(example.text, example.notation, example.start)
    return {
        machine: draw(grammar, machine)
        for machine in (Machine.CHARACTERS, Machine.RULES, Machine.STACK)
        if not missing(grammar, machine)
    }


def random_graph(seed: int) -> Graph:
    """A few states in one to three lanes with loops, calls, long labels and many labels."""
    chance = random.Random(seed)
    count = chance.randint(1, 9)
    lanes = ["", "a", "a b"][: chance.randint(1, 3)] if seed % 2 else [""]
    if len(lanes) > 1:
        lanes = ["start", *lanes[1:]]
    home = {str(i): chance.choice(lanes) for i in range(count)}
    first: dict[str, str] = {}
    for state, lane in home.items():
        first.setdefault(lane, state)
    nodes = [
        Node(
            state,
            str(10 ** chance.choice((1, 1, 7)) + int(state)),
            ("initial",) * (state == "0")
            + ("rule",) * bool(lane and first[lane] == state)
            + ("final",) * (chance.random() < 0.3),
            cluster=lane,
        )
        for state, lane in home.items()
    ]
    edges: dict[tuple[str, str], Edge] = {}
    for _ in range(chance.randint(0, 3 * count)):
        source = chance.choice(list(home))
        target = chance.choice([state for state in home if home[state] == home[source]])
        sizes = [chance.randint(1, 40) for _ in range(chance.choice((0, 1, 1, 1, 2, 9)))]
        edges[source, target] = Edge(source, target, tuple("x" * size for size in sizes))
        if home[source] and chance.random() < 0.4:
            called = chance.choice(list(first))
            box = f"call-{lanes.index(called)}-{target}"
            if (box, target) not in edges:
                nodes.append(Node(box, called, ("call",), "", home[source], called, f"▲{target}"))
            edges[box, target] = Edge(box, target)
            edges[source, box] = Edge(source, box)
    return Graph(f"random {seed}", tuple(nodes), tuple(edges.values()))


HAND_WRITTEN = {
    "one state": graph(1, [], {0}),
    "a loop with a wide label at the first state": graph(1, [(0, 0, "x" * 28)], {0}),
    "ways that skip": graph(6, [(i, j, f"{i}{j}") for i in range(6) for j in range(i)], {0}),
    "ways back": graph(6, [(j, i, "x" * i) for i in range(6) for j in range(i)], {5}),
    "complete": graph(5, [(i, j, f"{i} to {j}") for i in range(5) for j in range(5)], {4}),
    "a star": graph(9, [(0, i, "x" * 3 * i) for i in range(1, 9)], range(1, 9)),
    "a cycle in two rows": graph(20, [(i, (i + 1) % 20, "x" * 12) for i in range(20)], {0}),
    "a list": graph(4, [(0, 1, "["), (1, 2, "item"), (2, 1, ","), (2, 3, "]")], {3}),
    "a separator state": graph(4, [(0, 1, "item"), (1, 2, ","), (2, 1, "item"), (1, 3, "!")], {3}),
    "two columns for one letter": graph(2, [(0, 1, "漢" * 40), (1, 0, "字" * 20)], {1}),
    "many labels": Graph(
        "many labels",
        (Node("0", "0", ("initial",)), Node("1", "1", ("final",))),
        (Edge("0", "1", tuple(map(str, range(30)))), Edge("1", "0", tuple("abcdefghij"))),
    ),
}


def check(layout: LaneLayout) -> None:
    """What holds for every layout of a whole graph."""
    drawn = layout.graph
    boxes = boxes_of(layout)
    assert list(overlaps(boxes)) == []
    assert outside(boxes, layout.width, layout.height) == []
    shown = [state.node.id for lane in layout.lanes for state in lane.states]
    assert sorted(shown) == sorted(node.id for node in drawn.states), "each state once"
    lines = {line.edge for lane in layout.lanes for line in lane.lines}
    assert lines == set(range(len(drawn.edges))), "a line for each edge"
    labels = [label for lane in layout.lanes for label in lane.labels]
    assert max((len(label.text) for label in labels), default=0) <= MAX_LABEL_LETTERS
    read = {edge for label in labels for edge in label.edges}
    assert read == {number for number, edge in enumerate(drawn.edges) if edge.labels}
    calls = {node.id for node in drawn.nodes if "call" in node.kinds}
    assert {label.node for label in labels} - {""} == calls
    for lane in layout.lanes:
        low, high = lane.top - 0.1, lane.top + lane.height + 0.1
        points = [point for line in lane.lines for part in line.parts for point in part]
        assert all(-0.1 <= x <= layout.width + 0.1 and low <= y <= high for x, y in points)


def check_heads(layout: LaneLayout) -> None:
    """Each part of a line ends at its target, at a label, or with a head on another line."""
    for lane in layout.lanes:
        sides = [(one.x, one.y, one.x + one.width, one.y + BOX) for one in lane.labels]
        sides += [(f.x, f.y, f.x + f.width, f.y + f.height) for f in lane.frames]
        for line in lane.lines:
            ends = {line.arrow[0]} if line.arrow else set()
            ends |= {tip for tip, _ in line.joints}
            ends |= {part[0] for part in line.parts}  # without a label they meet
            for part in line.parts:
                x, y = part[-1]
                at_label = any(
                    left - 0.1 <= x <= right + 0.1 and top <= y <= bottom
                    for left, top, right, bottom in sides
                )
                assert part[-1] in ends or at_label
            assert line.joints == heads_by_definition(line, lane.lines)
    heads = [
        Box(
            min(x, x - 5 * dx) - 2 * abs(dy), min(y, y - 5 * dy) - 2 * abs(dx),
            max(x, x - 5 * dx) + 2 * abs(dy), max(y, y - 5 * dy) + 2 * abs(dx), "head",
        )
        for lane in layout.lanes
        for line in lane.lines
        for (x, y), (dx, dy) in line.joints
    ]  # fmt: skip
    # a label has a margin of 4 pixels above and below its text
    boxes = [
        one._replace(top=one.top + 4, bottom=one.bottom - 4) if "label" in one.what else one
        for one in boxes_of(layout)
    ]
    for head in dict.fromkeys(heads):
        assert list(overlaps([head, *boxes])) == []


def heads_by_definition(line: Line, lines: list[Line]) -> list[Head]:
    """A head where a line turns into a piece of another one, or ends on it, between its ends."""
    pieces = [piece for one in lines for part in one.parts for piece in pairwise(part)]
    heads = []
    for part in line.parts:
        points = [point for i, point in enumerate(part) if not i or point != part[i - 1]]
        for i, (x, y) in list(enumerate(points))[1:]:
            dx, dy = _step(points[i - 1], points[i])
            onward = _step(points[i], points[i + 1]) if i + 1 < len(points) else None
            for start, end in pieces:
                way = _step(start, end)
                across = way in ((dy, dx), (-dy, -dx)) and onward in (None, way)
                (low_x, high_x), (low_y, high_y) = (
                    sorted((start[0], end[0])),
                    sorted((start[1], end[1])),
                )
                inside = (
                    low_x + 1 < x < high_x - 1 and abs(y - start[1]) < 0.1
                    if way[0]
                    else low_y + 1 < y < high_y - 1 and abs(x - start[0]) < 0.1
                )
                if across and inside:
                    heads.append(((x, y), (dx, dy)))
                    break
    return heads


def _step(start: Point, end: Point) -> Point:
    dx, dy = end[0] - start[0], end[1] - start[1]
    return (
        ((dx > 0) - (dx < 0) + 0.0, 0.0) if abs(dx) >= abs(dy) else (0.0, (dy > 0) - (dy < 0) + 0.0)
    )


def graphs_of(name: str) -> Iterator[Graph]:
    for drawn in drawings(name).values():
        part = drawn.parts.around("", _PART_STATES)
        plain, folded = merge_parallel(part), rules_graph(part)
        if len(plain.nodes) <= 2 * _PART_STATES:
            yield plain
        if folded.nodes != plain.nodes:
            yield folded


@pytest.mark.slow
@pytest.mark.parametrize("name", list(GALLERY))
@pytest.mark.parametrize("width", WIDTHS)
def test_lanes_of_the_gallery(name: str, width: int) -> None:
    for drawn in graphs_of(name):
        check(lay_out(drawn, width, margin=26.0 if drawn.clusters else 0.0))


@pytest.mark.parametrize("name", list(HAND_WRITTEN))
@pytest.mark.parametrize("width", WIDTHS)
def test_lanes_of_hand_written_graphs(name: str, width: int) -> None:
    check(layout := lay_out(HAND_WRITTEN[name], width))
    check_heads(layout)


@pytest.mark.parametrize("seed", range(60))
def test_lanes_of_random_graphs(seed: int) -> None:
    for width in WIDTHS:
        check(layout := lay_out(random_graph(seed), width))
        check_heads(layout)


@pytest.mark.parametrize("name", ["json", "date", "domino_c"])
def test_a_layout_depends_on_graph_and_width_alone(name: str) -> None:
    for drawn in graphs_of(name):
        assert svg(lay_out(drawn, 560)) == svg(lay_out(drawn, 560))
        assert svg(lay_out(drawn, 560)) != svg(lay_out(drawn, 760))


def test_a_picture_has_the_requested_width_unless_a_label_is_wider() -> None:
    small = HAND_WRITTEN["a list"]
    assert [lay_out(small, width).width for width in WIDTHS] == list(WIDTHS)
    wide = lay_out(HAND_WRITTEN["a loop with a wide label at the first state"], 100)
    assert wide.width > 100
    assert outside(boxes_of(wide), wide.width, wide.height) == []


def test_an_edge_has_a_head_where_it_joins_another_one() -> None:
    """From 0, 1 and 2 to 3 with one label: the edge of 0 is the rail, and those of 1 joins it."""
    ways = [(0, 1, "a"), (1, 2, "b"), (2, 3, "!"), (0, 3, "!"), (1, 3, "!")]
    layout = lay_out(graph(4, ways, {3}), 560)
    (lane,) = layout.lanes
    place = {state.node.id: (state.x, state.y) for state in lane.states}
    joints = {line.edge: line.joints for line in lane.lines}
    assert [len(joints[edge]) for edge in range(5)] == [0, 0, 0, 1, 2]
    up, down = joints[4]
    assert (up[0][0], up[1]) == (place["1"][0] + 4, (0, -1)), "onto the rail of the edge from 0"
    assert (down[0][1], down[1]) == (place["3"][1], (0, 1)), "onto the edge from 2"
    assert joints[3] == [down]
    assert svg(layout).count('class="joint"') == 3


def test_a_full_row_wraps() -> None:
    cycle = HAND_WRITTEN["a cycle in two rows"]
    rows = [len(lay_out(cycle, width).lanes[0].rows) for width in WIDTHS]
    assert rows == sorted(rows, reverse=True)
    assert rows[0] > rows[-1] > 1


def test_rules_without_a_lane_are_leaves() -> None:
    drawn = drawings("json")[Machine.STACK].graph
    (name, *others) = drawn.clusters
    layout = lay_out(drawn, 760, lanes=[name])
    assert [lane.name for lane in layout.lanes] == [name]
    calls = [label for label in layout.lanes[0].labels if label.node]
    assert calls
    called = {node.id: node.calls for node in drawn.nodes}
    for label in calls:
        assert label.kind == ("leaf" if called[label.node] in others else "call")
        assert bool(label.mark) == (label.kind == "call"), "only a call of a lane has a mark"


def test_room_is_kept_above_the_rows() -> None:
    drawn = HAND_WRITTEN["a cycle in two rows"]
    plain, roomy = lay_out(drawn, 560), lay_out(drawn, 560, above_rows=10.0)
    moved = [b[0] - a[0] for a, b in zip(plain.lanes[0].rows, roomy.lanes[0].rows, strict=True)]
    assert moved == pytest.approx([10.0 * (i + 1) for i in range(len(moved))])
    assert roomy.height - plain.height == pytest.approx(moved[-1])


# -- order and numbers ----------------------------------------------------------------------------


def reading_order(drawn: Graph) -> list[str]:
    return ordered({node.id: node for node in drawn.states}, connectors_of(drawn, "", ()))


def test_a_chain_keeps_its_order() -> None:
    shuffled = [3, 0, 4, 1, 2]
    arcs = [(a, b, "x") for a, b in pairwise(shuffled)]
    nodes = tuple(Node(str(i), str(i), ("initial",) * (i == 3)) for i in range(5))
    chain = Graph("chain", nodes, graph(5, arcs, ()).edges)
    assert reading_order(chain) == ["3", "0", "4", "1", "2"]
    assert [node.label for node in numbered(chain).nodes] == ["0", "1", "2", "3", "4"]
    assert [node.id for node in numbered(chain).nodes] == ["3", "0", "4", "1", "2"]


def test_back_edges_do_not_change_the_order() -> None:
    chain = [(0, 1, "a"), (1, 2, "b"), (2, 3, "c")]
    assert reading_order(graph(4, [*chain, (3, 0, "d"), (2, 1, "e"), (1, 1, "f")], {3})) == list(
        "0123"
    )


def test_every_state_comes_before_those_it_leads_to() -> None:
    """Without cycles."""
    for seed in range(20):
        chance = random.Random(seed)
        ways = [(i, j, "x") for j in range(1, 8) for i in range(j) if chance.random() < 0.4]
        place = {state: i for i, state in enumerate(reading_order(graph(8, ways, {7})))}
        reached = {0}
        for source, target, _ in sorted(ways):
            if source in reached:
                reached.add(target)
                assert place[str(source)] < place[str(target)]
        assert len(place) == 8


@pytest.mark.parametrize("name", list(GALLERY))
def test_numbers_are_dense_and_begin_at_the_initial_state(name: str) -> None:
    for drawn in drawings(name).values():
        # the end of a rule that is drawn as one edge has no number
        states = [node for node in drawn.graph.states if not node.id.endswith("-end")]
        if GALLERY[name].notation is not Notation.MACHINE:  # its states have names
            assert [node.label for node in states] == [str(i) for i in range(len(states))]
        assert drawn.graph.initial == states[0].id
        shown = {node.id: node.label for node in states}
        assert shown.items() <= drawn.numbers.items()
        # the others are in rules drawn as one edge, and say so
        others = {state: drawn.numbers[state] for state in drawn.numbers.keys() - shown.keys()}
        assert all(state in drawn.names and " of " in others[state] for state in others)


def test_calls_are_marked_with_the_state_they_push() -> None:
    text = "start ::= '(' item ')' | item; item ::= 'x' | '[' start ']' item;"
    network = Grammar.from_kbnf(text).rules
    plain = draw_network(network)
    stack = numbered(plain, stack=True)
    labels = {node.id: node.label for node in stack.states}
    calls = [node for node in stack.nodes if "call" in node.kinds]
    assert calls
    for call in calls:
        (back,) = [edge.target for edge in stack.edges if edge.source == call.id]
        assert call.mark == f"▲{labels[back]}"
        assert call.title == f"calls {call.calls}, then continues in state {labels[back]}"
    assert not any(node.mark for node in numbered(plain).nodes)
    assert {node.id for node in stack.nodes} == {node.id for node in plain.nodes}
    assert stack.edges == plain.edges
