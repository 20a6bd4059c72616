"""Positions of the states of a drawn machine, laid out by Graphviz."""

from __future__ import annotations

import graphviz

from workbench.base.errors import LimitError
from workbench.base.visible_text import columns
from workbench.drawing.render import renderer
from workbench.syntax.machine_text import DrawnMachine

#: Pixels of the drawing in an inch, and around the machine.
_PIXELS, _MARGIN = 72, 60
#: The largest machine that is laid out.
MAX_ARRANGED_STATES = 200
#: The most columns of a label for which edges become longer.
_MAX_LABEL = 16


def arranged(machine: DrawnMachine) -> dict[str, tuple[int, int]]:
    """The position of each state; initial states are on the left.

    Raises: LimitError for a machine that is too large; LayoutError without Graphviz.
    """
    if len(machine.states) > MAX_ARRANGED_STATES:
        raise LimitError(
            f"a drawing of more than {MAX_ARRANGED_STATES} states is not laid out",
            "states",
            "move its states, or edit its text",
        )
    if not machine.states:
        return {}
    numbers = {state.name: f"n{number}" for number, state in enumerate(machine.states)}
    graph = graphviz.Digraph(
        graph_attr={"rankdir": "LR", "nodesep": "0.7", "ranksep": "0.55"},
        node_attr={"shape": "circle", "fixedsize": "true", "width": "0.7", "label": ""},
        edge_attr={"fontname": "Courier", "fontsize": "12"},
    )
    # Graphviz breaks cycles in the order of the nodes
    for state in sorted(machine.states, key=lambda one: not one.is_initial):
        graph.node(numbers[state.name])
    for edge in machine.edges:
        label = machine.source.text[edge.label_span.start : edge.label_span.end]
        width = min(_MAX_LABEL, columns(label))
        graph.edge(numbers[edge.source], numbers[edge.target], label="x" * max(1, width))
    return _positions(renderer().plain(graph.source), numbers)


def _positions(plain: str, numbers: dict[str, str]) -> dict[str, tuple[int, int]]:
    """The positions in Graphviz's format ``plain``, whose y axis points up."""
    rows = [line.split() for line in plain.splitlines()]
    height = next(float(row[3]) for row in rows if row and row[0] == "graph")
    found = {row[1]: (float(row[2]), float(row[3])) for row in rows if row and row[0] == "node"}
    return {
        name: (
            round(_PIXELS * found[number][0]) + _MARGIN,
            round(_PIXELS * (height - found[number][1])) + _MARGIN,
        )
        for name, number in numbers.items()
    }
