"""Machines as the page shows them: in come a machine's graph and a centre, out come records."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from workbench.drawing.counting import fold_counts
from workbench.drawing.dot import Direction, dot
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.reductions import Shown, reduce
from workbench.drawing.render import renderer
from workbench.errors import WorkbenchError
from workbench.pipeline import OVER_TOKENS, Compiled, Drawn, Machine
from workbench.ui.records import Record

#: The tab that lists a machine instead of drawing it.
TABLE = "table"

#: Rows of a table sent to the page.
MOST_ROWS = 2_000

#: States drawn at once of a machine that is larger: token edges and stack edits have long labels.
SHOWN = {Machine.TOKENS: 20, Machine.STACK: 24, Machine.DETOKENIZER: 24}
_SHOWN_ELSE = 40


def picture(drawn: Drawn, machine: Machine, centre: str, *, narrow: bool, own: bool) -> Record:
    """A machine, or the part of it around a state, as SVG with what can be asked of it.

    ``narrow`` draws from top to bottom, for phones; ``own`` says that it is drawn over
    tokens which are not the model's.

    Raises: LimitError where no layout ends in time.
    """
    centre = drawn.names.get(centre, centre)
    shown = reduce(fold_counts(drawn.graph), SHOWN.get(machine, _SHOWN_ELSE), centre or None)
    graph = shown.graph
    direction: Direction = "TB" if narrow else "LR"
    return {
        "ok": True,
        "svg": renderer().draw(graph, direction),
        "dot": dot(graph, direction),
        "count": _told(shown, drawn.states or len(drawn.graph.nodes)),
        "centre": centre,
        "partial": shown.shown_nodes < shown.total_nodes,
        "note": f"over the figure's own tokens · {graph.note}".rstrip(" ·") if own else graph.note,
        "where": graph.where,
        "follow": None if own or drawn.followed is None else str(drawn.followed),
        "names": dict(drawn.names),
        "ends": machine in OVER_TOKENS,
        "states": [_state(node) for node in graph.nodes],
        "edges": [_edge(edge) for edge in graph.edges],
    }


def _told(shown: Shown, total: int) -> str:
    """How much of the machine is in the picture."""
    if shown.total_nodes == total:
        return shown.text
    _, around, centre = shown.text.partition(", those around ")
    rest = f"{around}{centre}" if around else "; the rest stands inside edges"
    return f"showing {shown.shown_nodes:,} of {total:,} states{rest}"


def _state(node: Node) -> Record:
    return {"id": node.id, "label": node.label, "title": node.title, "kinds": list(node.kinds)}


def _edge(edge: Edge) -> Record:
    return {
        "source": edge.source,
        "target": edge.target,
        "labels": list(edge.labels),
        "title": edge.title,
    }


def table(compiled: Compiled) -> Record:
    """The character automaton, or where there is none the rules, as rows.

    Raises: WorkbenchError where the grammar cannot be read.
    """
    machine = Machine.RULES if compiled.missing(Machine.CHARACTERS) else Machine.CHARACTERS
    drawn = compiled.drawn(machine)
    graph = drawn.graph
    rows = list(islice(_rows(graph), MOST_ROWS))
    count = f"{len(graph.nodes):,} states, {len(graph.edges):,} edges"
    if len(graph.edges) > MOST_ROWS:
        count = f"showing {MOST_ROWS:,} of {len(graph.edges):,} edges"
    return {
        "ok": True,
        "heads": ["state", "reads", "goes to"],
        "rows": rows,
        "count": count,
        "note": "",
        "where": {},
        "follow": None if drawn.followed is None else str(drawn.followed),
        "names": {},
        "ends": False,
        "states": [],
        "edges": [],
    }


def _rows(graph: Graph) -> Iterator[list[str]]:
    """State by state: its id, its name with marks, what it reads, where that leads."""
    nodes = {node.id: node for node in graph.nodes}
    leaving: dict[str, list[Edge]] = {node.id: [] for node in graph.nodes}
    for edge in graph.edges:
        leaving[edge.source].append(edge)
    for node in graph.nodes:
        name = f"{node.label or node.id} {_marks(node)}".strip()
        for edge in leaving[node.id]:
            target = nodes[edge.target]
            yield [node.id, name, "  ".join(edge.labels) or "ε", target.label or target.id]
        if not leaving[node.id]:
            yield [node.id, name, "nothing", ""]


def _marks(node: Node) -> str:
    return "→" * ("initial" in node.kinds) + "◎" * ("final" in node.kinds)


def sentence(error: WorkbenchError) -> str:
    """An error in one line, for where a picture would stand."""
    return f"{error.message} — {error.hint}" if error.hint else error.message
