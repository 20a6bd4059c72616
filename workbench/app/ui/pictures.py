"""Records of pictures: a machine, and the part and level that are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice

from workbench.analysis.run_tracing import PicturedMachine
from workbench.app.pipeline import Compiled
from workbench.app.ui.records import Record
from workbench.app.ui.requests import bytes_in, number_in, text_in
from workbench.base.errors import LimitError, WorkbenchError
from workbench.drawing.connectors import relabelled
from workbench.drawing.drawable import OVER_TOKENS, Drawn, Machine
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.parts import LazyTokenParts, TokenFsaParts
from workbench.drawing.reductions import collapse_chains, fold_counts, merge_parallel, nearest
from workbench.drawing.render import renderer
from workbench.drawing.rule_tokens import Leaving, RuleTokens
from workbench.drawing.token_map import fan, over_lanes
from workbench.drawing.views import (
    Box,
    Drawing,
    Level,
    Opening,
    by_graphviz,
    draw_machine,
    draw_rules,
    lanes_of,
    shown_at,
)
from workbench.drawing.visible_text import count_of

#: The tab that lists a machine instead of drawing it.
TABLE = "table"

#: Rows of a table sent to the page, and states of a machine of which only a part is made.
MOST_ROWS = 2_000
_LISTED_STATES = 120

#: The tab on which the tokens of the current state lie over its machine.
TOGETHER = "together"

#: States up to which the machine over tokens is drawn whole, where that is legible.
_WHOLE = 14

#: The most states a reader can ask for, and the sizes a box can have, in pixels.
_MOST_SHOWN = 120
_SMALLEST_BOX, _LARGEST_BOX = 120.0, 4000.0

#: The box of a reader who does not say how large it is.
_USUAL = Box(760.0, 460.0)


@dataclass(frozen=True, slots=True)
class View:
    """How a reader looks at a machine."""

    #: The current state, empty for the initial one.
    centre: str = ""
    #: The text that has been read, as far as it is known.
    so_far: bytes | None = None
    box: Box = _USUAL
    #: About how many states are shown; 0 for as many as suit the machine.
    size: int = 0
    #: Whether chains are folded; None where that depends on what fits.
    chains: bool | None = None
    level: Level = Level.STATES
    #: Whether the tokens of the current state are drawn over a whole machine.
    over: bool = False

    @staticmethod
    def of(sent: Record) -> View:
        """What a browser asks for.

        Raises: WorkbenchError where a field is none of these.
        """
        chains = sent.get("chains")
        wanted = text_in(sent, "level", 12)
        so_far = sent.get("so_far")
        return View(
            text_in(sent, "centre", 40),
            bytes_in(so_far) if isinstance(so_far, str) else None,
            box_of(sent),
            int(number_in(sent, "size", 0, 0, _MOST_SHOWN)),
            chains if isinstance(chains, bool) else None,
            Level(wanted) if wanted in list(Level) else Level.STATES,
            text_in(sent, "tab", 40) == TOGETHER,
        )


def box_of(sent: Record) -> Box:
    """The room the browser has for a picture.

    Raises: WorkbenchError where it is no number.
    """
    sides = (
        number_in(sent, name, usual, 0, 10_000)
        for name, usual in zip(("width", "height"), _USUAL, strict=True)
    )
    return Box(*(min(max(side, _SMALLEST_BOX), _LARGEST_BOX) for side in sides))


def picture(drawn: Drawn, under: Drawn, machine: Machine, view: View, *, own: bool) -> Record:
    """A machine, or the part of it around a state, as SVG with what can be asked of it.

    ``under`` is the machine over characters, or the rules, below a machine over tokens. ``own``
    says that it is drawn over tokens which are not the model's.

    Raises: LimitError where no layout ends in time.
    """
    centre = drawn.names.get(view.centre, view.centre)
    parts: Record = {}
    if machine is Machine.TOKENS:
        drawing, parts = _tokens(drawn, under, view)
    elif machine in (Machine.RULES, Machine.STACK):
        drawing = draw_rules(
            drawn.graph, view.box, renderer(), centre, level=view.level, folded=view.chains
        )
    else:
        drawing = draw_machine(
            drawn.parts, view.box, renderer(), centre, folded=view.chains, size=view.size
        )
    graph = drawing.graph
    note = " · ".join(filter(None, (drawing.note, graph.note)))
    where = {**graph.where, **drawing.where}
    return {
        "ok": True,
        "svg": drawing.svg,
        "count": _shown(graph, drawn.parts.states),
        "centre": centre,
        "partial": len(graph.where) < drawn.parts.states or not drawn.parts.states,
        "opening": asdict(drawing.opening),
        "whole": drawing.whole,
        "legible": drawing.legible,
        "note": f"over the figure's own tokens · {note}".rstrip(" ·") if own else note,
        "where": where,
        "folded": _folded(graph),
        "rules": _first_states(drawn, machine),
        "follow": None if own or drawn.followed is None else str(drawn.followed),
        "names": dict(drawn.names),
        "ends": machine in OVER_TOKENS,
        "states": [_state(node) for node in graph.nodes],
        "edges": [_edge(edge) for edge in graph.edges],
        **parts,
    }


def _tokens(drawn: Drawn, under: Drawn, view: View) -> tuple[Drawing, Record]:
    """The machine over tokens: whole where that is legible, else the edges of one state."""
    if not view.over and 0 < drawn.parts.states <= _WHOLE:
        whole = _whole(drawn, view)
        if whole is not None:
            return whole, {}
    leaving = leaving_edges(drawn, view.centre, view.so_far)
    state, edges = leaving.state, list(leaving.edges)
    if under.followed is PicturedMachine.RULES:
        state = under.names.get(state, state)
        edges = [replace(edge, target=under.names.get(edge.target, edge.target)) for edge in edges]
    width, height = view.box.width - 16, view.box.height - 12
    made = None
    for graph in _base(under, state, {edge.target for edge in edges}):
        here = shown_at(graph, state) or state
        made = over_lanes(graph, edges, here, width, height)
        if made is not None:
            break
    else:
        made = fan(graph, edges, here, width, height)
    opening = Opening(
        -(view.box.width - made.width) / 2, -(view.box.height - made.height) / 2, 1.0, made.height
    )
    count = sum(edge.count for edge in edges)
    told = f"{count_of(count, 'token')} may follow"
    if not edges and not any(n.id == here and "final" in n.kinds for n in made.graph.nodes):
        told = "no token ends in this state"
    drawing = Drawing(made.graph, made.svg, opening, note=made.note)
    return drawing, {
        "count": told,
        "centre": state,
        "partial": True,
        "current": state,
        "names": dict(under.names),
        "parts": {str(edge): list(numbers) for edge, numbers in made.parts.items()},
        "landings": {
            str(edge): [under.names.get(end, end) for end in _ends(leaving, numbers)]
            for edge, numbers in made.parts.items()
        },
    }


def _ends(leaving: Leaving, numbers: Sequence[int]) -> list[str]:
    """The states in which the tokens of some edges end, each once."""
    return list(dict.fromkeys(leaving.edges[number].target for number in numbers))


def _first_states(drawn: Drawn, machine: Machine) -> dict[str, str]:
    """The first state of each rule, in a picture of rules."""
    if machine not in (Machine.RULES, Machine.STACK):
        return {}
    return {node.cluster: node.id for node in drawn.graph.nodes if "rule" in node.kinds}


def _folded(graph: Graph) -> list[str]:
    """The states inside chains; where the run is in one of them, the chain is drawn apart."""
    return [
        step.target
        for edge in graph.edges
        if edge.source != edge.target
        for chain in edge.chains
        for step in chain[:-1]
    ]


def _whole(drawn: Drawn, view: View) -> Drawing | None:
    """The whole machine over tokens, where that is legible."""
    try:
        graph = merge_parallel(drawn.graph)
    except LimitError:
        return None
    if isinstance(drawn.parts, RuleTokens) and not drawn.parts.as_written:
        return None
    nodes = tuple(relabelled(node, drawn.numbers) for node in graph.nodes)
    return by_graphviz(replace(graph, nodes=nodes), view.box, renderer())


def _base(under: Drawn, state: str, landings: set[str]) -> Iterator[Graph]:
    """The machines that may lie below the token edges, the fullest first."""
    if under.followed is PicturedMachine.RULES:
        yield lanes_of(under.graph, state)
        return
    part = under.parts.around(state, _MOST_SHOWN)
    plain = merge_parallel(part)
    keep = {state, *landings}
    if len(plain.nodes) <= 2 * _WHOLE:
        yield plain
    small = collapse_chains(fold_counts(part), keep=keep)
    if len(small.nodes) < len(plain.nodes) or len(plain.nodes) > 2 * _WHOLE:
        yield small
    near = keep & {node.id for node in small.nodes} | {state}
    yield nearest(small, state, max(8, len(near) + 2)) if state in small.where else small


def leaving_edges(drawn: Drawn, centre: str, so_far: bytes | None) -> Leaving:
    """The token edges of the current state.

    Raises: WorkbenchError where no accepted text begins so.
    """
    if isinstance(drawn.parts, RuleTokens):
        found = drawn.parts.after(so_far or b"", centre)
        if found is None:
            raise WorkbenchError(
                "the text has left the language of the grammar", "no token may follow"
            )
        return found
    parts = drawn.parts
    assert isinstance(parts, TokenFsaParts | LazyTokenParts), "the other machines over tokens"
    state = centre or parts.initial
    edges = parts.leaving(state)
    return Leaving(state, (), edges, tuple(() for _ in edges))


def _shown(graph: Graph, total: int) -> str:
    """How much of the machine is in the picture."""
    shown = len(graph.states)
    if not total:
        return f"{shown:,} states of too many to make them all"
    if shown >= total:
        return count_of(total, "state")
    folded = len(graph.where) - len(graph.nodes)
    if shown + folded >= total:
        return f"{shown:,} of {total:,} states drawn, chains folded"
    return f"{shown:,} of {total:,} states"


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
        "pops": list(edge.pops),
        "pushes": list(edge.pushes),
        "mark": edge.mark,
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
