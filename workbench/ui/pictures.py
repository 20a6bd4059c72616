"""Machines as the page shows them: in come a machine and how it is looked at, out come records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from workbench.drawing.counting import fold_counts
from workbench.drawing.dot import Direction, dot
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.reductions import (
    Shown,
    calm,
    collapse_chains,
    merge_parallel,
    reduce,
    spread,
)
from workbench.drawing.render import renderer
from workbench.errors import WorkbenchError
from workbench.pipeline import OVER_TOKENS, Compiled, Drawn, Machine
from workbench.ui.records import Record
from workbench.ui.requests import number_in, text_in

#: The tab that lists a machine instead of drawing it.
TABLE = "table"

#: Rows of a table sent to the page, and states of a machine of which only a part is made.
MOST_ROWS = 2_000
_LISTED_STATES = 120

#: States drawn at once of a machine that is larger: token edges and stack edits have long labels.
SHOWN = {Machine.TOKENS: 20, Machine.STACK: 24, Machine.RULES: 80, Machine.DETOKENIZER: 24}
_SHOWN_ELSE = 40

#: More cannot be read, however large the screen.
_MOST_SHOWN = 120

#: Of how many states a part is made before chains are folded in it.
_BEFORE_FOLDING = 2


@dataclass(frozen=True, slots=True)
class View:
    """How somebody looks at a machine."""

    #: The state in the middle of the part that is shown, empty for the first.
    centre: str = ""
    direction: Direction = "LR"
    #: About how many states are shown; 0 for as many as suit the machine.
    size: int = 0
    #: Whether chains are folded; None where that depends on how many states there are.
    chains: bool | None = None
    #: Whether parallel edges are one.
    merged: bool = True

    @staticmethod
    def of(sent: Record) -> View:
        """What a browser asks for.

        Raises: WorkbenchError where a field is none of these.
        """
        asked = text_in(sent, "direction", 2)
        narrow = asked == "TB" or (not asked and bool(sent.get("narrow")))
        chains = sent.get("chains")
        return View(
            text_in(sent, "centre", 40),
            "TB" if narrow else "LR",
            int(number_in(sent, "size", 0, 0, _MOST_SHOWN)),
            chains if isinstance(chains, bool) else None,
            sent.get("merged") is not False,
        )

    def smaller(self, graph: Graph) -> Graph:
        """What is folded before anything is left out."""
        if self.chains is None:
            small = calm(graph)
        else:
            small = collapse_chains(graph) if self.chains else merge_parallel(graph)
        return small if self.merged else spread(small)


def picture(drawn: Drawn, machine: Machine, view: View, *, own: bool) -> Record:
    """A machine, or the part of it around a state, as SVG with what can be asked of it.

    ``own`` says that it is drawn over tokens which are not the model's.

    Raises: LimitError where no layout ends in time.
    """
    centre = drawn.names.get(view.centre, view.centre)
    size = view.size or SHOWN.get(machine, _SHOWN_ELSE)
    part = drawn.parts.around(centre, _BEFORE_FOLDING * size)
    # every rung of a ladder is a state to follow where somebody wants no chain folded
    folded = part if view.chains is False else fold_counts(part)
    shown = reduce(folded, size, centre or None, view.smaller)
    graph = shown.graph
    return {
        "ok": True,
        "svg": renderer().draw(graph, view.direction),
        "dot": dot(graph, view.direction),
        "count": _told(shown, drawn.parts.states, centre),
        "centre": centre,
        "partial": shown.shown_nodes < max(shown.total_nodes, drawn.parts.states)
        or not drawn.parts.states,
        "note": f"over the figure's own tokens · {graph.note}".rstrip(" ·") if own else graph.note,
        "where": graph.where,
        "follow": None if own or drawn.followed is None else str(drawn.followed),
        "names": dict(drawn.names),
        "ends": machine in OVER_TOKENS,
        "states": [_state(node) for node in graph.nodes],
        "edges": [_edge(edge) for edge in graph.edges],
    }


def _told(shown: Shown, total: int, centre: str) -> str:
    """How much of the machine is in the picture; of one nobody has made, only how much that is."""
    if not total:
        return f"showing {shown.shown_nodes:,} states of too many to make them all"
    if shown.total_nodes == total:
        return shown.text
    some = f"showing {shown.shown_nodes:,} of {total:,} states"
    if not any("more" in node.kinds for node in shown.graph.nodes):
        return f"{some}; the rest stands inside edges"
    return f"{some}, those around {centre or shown.graph.initial or 'one'}"


def _state(node: Node) -> Record:
    return {
        "id": node.id,
        "label": node.label,
        "title": node.title,
        "kinds": list(node.kinds),
        "rule": node.cluster,
    }


def _edge(edge: Edge) -> Record:
    return {
        "source": edge.source,
        "target": edge.target,
        "labels": list(edge.labels),
        "title": edge.title,
        "kinds": list(edge.kinds),
        "count": edge.count,
        "detail": edge.detail,
        #: States folded into it, in the order they are passed.
        "inside": list(edge.inside) if edge.chains else [],
    }


def table(drawn: Drawn, centre: str = "") -> Record:
    """A machine as rows; of one that is only made in part, the part around a state."""
    graph = drawn.parts.around(drawn.names.get(centre, centre), _LISTED_STATES)
    rows = list(islice(_rows(graph), MOST_ROWS))
    told = max(drawn.parts.states, len(graph.states))
    count = f"{told:,} states, {len(graph.edges):,} edges"
    if len(graph.states) < told or not drawn.parts.states:
        total = f"{drawn.parts.states:,}" if drawn.parts.states else "too many"
        count = f"showing {len(graph.states):,} of {total} states"
    elif len(graph.edges) > MOST_ROWS:
        count = f"showing {MOST_ROWS:,} of {len(graph.edges):,} edges"
    ruled = bool(graph.clusters)
    return {
        "ok": True,
        "heads": ["state", *(["rule"] if ruled else []), "reads", "goes to"],
        "rows": rows,
        "count": count,
        "partial": len(graph.states) < told or not drawn.parts.states,
        "note": graph.note,
        "where": {},
        "follow": None if drawn.followed is None else str(drawn.followed),
        "names": dict(drawn.names),
        "ends": False,
        "states": [],
        "edges": [],
    }


def table_of(compiled: Compiled) -> Machine:
    """The machine that is listed where nobody says which."""
    return Machine.RULES if compiled.missing(Machine.CHARACTERS) else Machine.CHARACTERS


def _rows(graph: Graph) -> Iterator[list[str]]:
    """State by state: its id and that of the next, its name with marks, what it reads, where to."""
    nodes = {node.id: node for node in graph.nodes}
    leaving: dict[str, list[Edge]] = {node.id: [] for node in graph.nodes}
    for edge in graph.edges:
        leaving[edge.source].append(edge)
    ruled = bool(graph.clusters)
    for node in graph.nodes:
        name = f"{node.label or node.id} {_marks(node)}".strip()
        rule = [node.cluster] if ruled else []
        for edge in leaving[node.id]:
            target = nodes[edge.target]
            reads = "  ".join(edge.labels).replace("\n", " ") or _silent(edge)
            yield [node.id, target.id, name, *rule, reads, target.label or target.id]
        if not leaving[node.id]:
            reads = "not in this part" if "more" in node.kinds else "nothing"
            yield [node.id, "", name, *rule, reads, ""]


def _silent(edge: Edge) -> str:
    return "calls" if edge.target.startswith("call-") else "ε"


def _marks(node: Node) -> str:
    return "→" * ("initial" in node.kinds) + "◎" * ("final" in node.kinds)


def sentence(error: WorkbenchError) -> str:
    """An error in one line, for where a picture would stand."""
    return f"{error.message} — {error.hint}" if error.hint else error.message
