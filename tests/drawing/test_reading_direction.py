"""Pictures that Graphviz lays out: no more crossings than its plain layout, and edges from left to right."""

from __future__ import annotations

import re

import pytest

from tests.drawing.test_views import GALLERY, machines
from workbench.automata.graphs import reachable
from workbench.drawing.crossings import crossings
from workbench.drawing.drawable import Machine
from workbench.drawing.render import renderer
from workbench.drawing.views import Box, Drawing, draw_machine

BOX = Box(700, 420)
_NODE = re.compile(
    r'id="state-([\w-]+)".*?<(?:ellipse[^>]*? cx|polygon[^>]*? points)="(-?[\d.]+)', re.DOTALL
)

pytestmark = pytest.mark.slow


def laid_out(name: str) -> Drawing | None:
    """The character automaton of an example as Graphviz draws it; None where lanes are drawn."""
    drawn = machines(name).get(Machine.CHARACTERS)
    if drawn is None:
        return None
    drawing = draw_machine(drawn.parts, BOX, renderer())
    return None if "lanes" in drawing.svg[:400] else drawing


def test_most_automata_are_drawn_by_graphviz() -> None:
    automata = [name for name in GALLERY if Machine.CHARACTERS in machines(name)]
    assert sum(laid_out(name) is not None for name in automata) > 0.6 * len(automata)


@pytest.mark.parametrize("name", list(GALLERY))
def test_an_automaton_is_read_from_left_to_right(name: str) -> None:
    drawing = laid_out(name)
    if drawing is None:
        return
    graph = drawing.graph
    assert crossings(drawing.svg) <= crossings(renderer().draw(graph))
    column = {state: float(x) for state, x in _NODE.findall(drawing.svg)}
    assert len(column) == len(graph.nodes)
    onward: dict[str, list[str]] = {node.id: [] for node in graph.nodes}
    for edge in graph.edges:
        onward[edge.source].append(edge.target)
    for edge in graph.edges:
        if column[edge.target] < column[edge.source]:
            assert edge.source in reachable([edge.target], onward.__getitem__), edge
