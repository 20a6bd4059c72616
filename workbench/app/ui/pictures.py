"""Records of pictures and tables: a machine, and the part and level of it that are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice

from workbench.analysis.run_tracing import PicturedMachine
from workbench.app.pipeline import Compiled
from workbench.app.ui.requests import bytes_in, number_in, text_in
from workbench.app.ui.streams import Record
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.visible_text import count_of
from workbench.constraint.protocol import TokenMask
from workbench.drawing.connectors import relabelled
from workbench.drawing.drawable import OVER_TOKENS, Drawn, Leaving, Machine, RuleTokens
from workbench.drawing.edge_labels import ESCAPES_NOTE, fold_escapes, shows_escapes
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.parts import LazyTokenParts, TokenFsaParts
from workbench.drawing.reductions import collapse_chains, fold_counts, merge_parallel, nearest
from workbench.drawing.render import renderer
from workbench.drawing.token_map import CONTROLS, fan, over_lanes
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

#: The tab that lists a machine instead of drawing it.
TABLE = "table"

#: Rows of a table sent to the page, and states listed of a machine that is built in part.
MAX_ROWS = 2_000
_MAX_LISTED_STATES = 120

#: The tab that shows the tokens of the current state over the machine.
TOGETHER = "together"

#: The most states of a machine over tokens that is drawn whole, if that is legible.
_MAX_WHOLE_STATES = 14

#: How much tokens over a small machine are enlarged; few steps, so that it seldom changes in a run.
_SCALES = (1.4, 1.2)

#: The nodes of a rule that is drawn in part below the token edges: the most that fit.
_PART_SIZES = (60, 40, 26, 18, 12, 8, 6)

#: The most states a reader can request, and the bounds of a box, in pixels.
_MAX_SHOWN_STATES = 120
_SMALLEST_BOX, _LARGEST_BOX = 120.0, 4000.0

#: The box of a request without a size.
_DEFAULT_BOX = Box(760.0, 460.0)


@dataclass(frozen=True, slots=True)
class View:
    """The settings of a picture that a reader can change."""

    #: The current state, empty for the initial one.
    centre: str = ""
    #: The text read so far; None if unknown.
    so_far: bytes | None = None
    box: Box = _DEFAULT_BOX
    #: The approximate number of states shown; 0 lets the layout choose.
    size: int = 0
    #: Whether chains are folded; None lets the layout choose.
    chains: bool | None = None
    level: Level = Level.STATES
    #: Whether the tokens of the current state are drawn over a whole machine.
    over: bool = False

    @staticmethod
    def of(sent: Record) -> View:
        """The view in a request.

        Raises: WorkbenchError where a field has the wrong type.
        """
        chains = sent.get("chains")
        wanted = text_in(sent, "level", 12)
        so_far = sent.get("so_far")
        return View(
            text_in(sent, "centre", 40),
            bytes_in(so_far) if isinstance(so_far, str) else None,
            box_of(sent),
            int(number_in(sent, "size", 0, 0, _MAX_SHOWN_STATES)),
            chains if isinstance(chains, bool) else None,
            Level(wanted) if wanted in list(Level) else Level.STATES,
            text_in(sent, "tab", 40) == TOGETHER,
        )


def box_of(sent: Record) -> Box:
    """The size of the browser's box for a picture.

    Raises: WorkbenchError where it is not a number.
    """
    sides = (
        number_in(sent, name, usual, 0, 10_000)
        for name, usual in zip(("width", "height"), _DEFAULT_BOX, strict=True)
    )
    return Box(*(min(max(side, _SMALLEST_BOX), _LARGEST_BOX) for side in sides))


def picture(
    drawn: Drawn,
    under: Drawn,
    machine: Machine,
    view: View,
    *,
    own: bool,
    mask: TokenMask | None = None,
) -> Record:
    """A machine, or the part of it around a state, as SVG with the data of states and edges.

    ``under`` is the machine over characters, or the rules, below a machine over tokens. ``own`` is
    true if its tokens are not the model's. ``mask`` is that of a run that allows fewer tokens than
    the grammar in the current state.

    Raises: LimitError where no layout ends in time.
    """
    centre = drawn.names.get(view.centre, view.centre)
    parts: Record = {}
    if machine is Machine.TOKENS:
        drawing, parts = _tokens(drawn, under, view, None if own else mask)
    elif machine in (Machine.RULES, Machine.STACK):
        drawing = draw_rules(
            drawn.graph, view.box, renderer(), centre, level=view.level, folded=view.chains
        )
    else:
        drawing = draw_machine(
            drawn.parts, view.box, renderer(), centre, folded=view.chains, size=view.size
        )
    graph = drawing.graph
    count = _shown(graph, drawn.parts.states)
    if machine in (Machine.RULES, Machine.STACK) and view.level is Level.CALLS:
        shown, rules = len(graph.nodes), len(drawn.graph.clusters)
        count = count_of(rules, "rule") if shown == rules else f"{shown:,} of {rules:,} rules"
    escapes = ESCAPES_NOTE if shows_escapes(graph) else ""
    note = " · ".join(filter(None, (drawing.note, graph.note, escapes)))
    where = {**graph.where, **drawing.where}
    return {
        "ok": True,
        "svg": drawing.svg,
        "count": count,
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


def _tokens(
    drawn: Drawn, under: Drawn, view: View, mask: TokenMask | None
) -> tuple[Drawing, Record]:
    """The machine over tokens: whole if that is legible, else the edges of one state."""
    if not view.over and 0 < drawn.parts.states <= _MAX_WHOLE_STATES:
        whole = _whole(drawn, view)
        if whole is not None:
            return whole, {}
    leaving = leaving_edges(drawn, view.centre, view.so_far, mask)
    state, edges = leaving.state, list(leaving.edges)
    if under.followed is PicturedMachine.RULES:
        state = under.names.get(state, state)
        edges = [replace(edge, target=under.names.get(edge.target, edge.target)) for edge in edges]
    width, height = view.box.width - 16, view.box.height - 12
    drawn_tokens = None
    tried = []
    for graph in _base(under, state, {edge.target for edge in edges}):
        tried.append(graph)
        here = shown_at(graph, state) or state
        drawn_tokens = over_lanes(graph, edges, here, width, height)
        if drawn_tokens is not None:
            break
    else:
        graph = tried[0 if graph.clusters else -1]  # of rules, a part may lack states
        here = shown_at(graph, state) or state
        drawn_tokens = fan(graph, edges, here, width, height)
    fits = min((width - CONTROLS) / drawn_tokens.width, height / drawn_tokens.height)
    scale = next((one for one in _SCALES if one <= fits), 1.0)
    opening = Opening(
        -(view.box.width / scale - drawn_tokens.width) / 2,
        -(view.box.height / scale - drawn_tokens.height) / 2,
        scale,
        drawn_tokens.height,
    )
    count = sum(edge.count for edge in edges)
    note = f"{count_of(count, 'token')} may follow"
    if mask is not None:
        every = leaving_edges(drawn, view.centre, view.so_far).edges
        total = sum(edge.count for edge in every)
        if count < total:
            words = count_of(total, "token")
            note = f"this run allows {count:,} of the grammar's {words}"
    elif not edges and not any(
        n.id == here and "final" in n.kinds for n in drawn_tokens.graph.nodes
    ):
        note = "no token ends in this state"
    drawing = Drawing(drawn_tokens.graph, drawn_tokens.svg, opening, note=drawn_tokens.note)
    return drawing, {
        "count": note,
        "centre": state,
        "partial": True,
        "current": state,
        "names": dict(under.names),
        "parts": {str(edge): list(numbers) for edge, numbers in drawn_tokens.parts.items()},
        "landings": {
            str(edge): [under.names.get(end, end) for end in _ends(leaving, numbers)]
            for edge, numbers in drawn_tokens.parts.items()
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
    """The states inside folded chains; the page requests the chain unfolded if a run is in it."""
    return [
        step.target
        for edge in graph.edges
        if edge.source != edge.target
        for chain in edge.chains
        for step in chain[:-1]
    ]


def _whole(drawn: Drawn, view: View) -> Drawing | None:
    """The whole machine over tokens; None if it is not legible."""
    try:
        graph = merge_parallel(drawn.graph)
    except LimitError:
        return None
    if isinstance(drawn.parts, RuleTokens) and not drawn.parts.as_written:
        return None
    nodes = tuple(relabelled(node, drawn.numbers) for node in graph.nodes)
    return by_graphviz(replace(graph, nodes=nodes), view.box, renderer())


def _base(under: Drawn, state: str, landings: set[str]) -> Iterator[Graph]:
    """The graphs that may be drawn below the token edges, the most detailed first."""
    if under.followed is PicturedMachine.RULES:
        rules = lanes_of(under.graph, state)
        yield rules
        for count in _PART_SIZES:  # the rule is higher than the box: its part around the state
            part = nearest(rules, shown_at(rules, state), count)
            if all(end in part.where for end in landings):
                yield part
        return
    part = fold_escapes(under.parts.around(state, _MAX_SHOWN_STATES), {state})
    plain = merge_parallel(part)
    keep = {state, *landings}
    if len(plain.nodes) <= 2 * _MAX_WHOLE_STATES:
        yield plain
    small = collapse_chains(fold_counts(part), keep=keep)
    if len(small.nodes) < len(plain.nodes) or len(plain.nodes) > 2 * _MAX_WHOLE_STATES:
        yield small
    near = keep & {node.id for node in small.nodes} | {state}
    yield nearest(small, state, max(8, len(near) + 2)) if state in small.where else small


def leaving_edges(
    drawn: Drawn, centre: str, so_far: bytes | None, mask: TokenMask | None = None
) -> Leaving:
    """The token edges of the current state, of the tokens that a mask allows.

    Raises: WorkbenchError where no accepted text begins with ``so_far``, and for a machine without
            tokens.
    """
    if isinstance(drawn.parts, RuleTokens):
        found = drawn.parts.after(so_far or b"", centre, mask)
        if found is None:
            raise WorkbenchError(
                "the text has left the language of the grammar", "no token may follow"
            )
        return found
    parts = drawn.parts
    if not isinstance(parts, TokenFsaParts | LazyTokenParts):
        raise WorkbenchError("the edges of this machine read no tokens")
    state = centre or parts.initial
    edges = parts.leaving(state, mask)
    return Leaving(state, (), edges, tuple(() for _ in edges))


def _shown(graph: Graph, total: int) -> str:
    """The note on how much of the machine is in the picture."""
    shown = len(graph.states)
    if not total:
        return f"{shown:,} states of too many to build them all"
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
        #: States folded into the edge, in their order.
        "inside": list(edge.inside) if edge.chains else [],
    }


def table(drawn: Drawn, centre: str = "") -> Record:
    """A machine as rows; of a machine built in part, the part around a state."""
    graph = drawn.parts.around(drawn.names.get(centre, centre), _MAX_LISTED_STATES)
    rows = list(islice(_rows(graph), MAX_ROWS))
    states = max(drawn.parts.states, len(graph.states))
    count = f"{states:,} states, {len(graph.edges):,} edges"
    if len(graph.states) < states or not drawn.parts.states:
        total = f"{drawn.parts.states:,}" if drawn.parts.states else "too many"
        count = f"showing {len(graph.states):,} of {total} states"
    elif len(graph.edges) > MAX_ROWS:
        count = f"showing {MAX_ROWS:,} of {len(graph.edges):,} edges"
    ruled = bool(graph.clusters)
    return {
        "ok": True,
        "heads": ["state", *(["rule"] if ruled else []), "reads", "goes to"],
        "rows": rows,
        "count": count,
        "partial": len(graph.states) < states or not drawn.parts.states,
        "note": graph.note,
        "where": {},
        "follow": None if drawn.followed is None else str(drawn.followed),
        "names": dict(drawn.names),
        "ends": False,
        "states": [],
        "edges": [],
    }


def table_of(compiled: Compiled) -> Machine:
    """The machine that is listed by default."""
    return Machine.RULES if compiled.missing(Machine.CHARACTERS) else Machine.CHARACTERS


def _rows(graph: Graph) -> Iterator[list[str]]:
    """One row for each edge: ids of source and target, source, rule if any, label, target."""
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
            reads = "  ".join(edge.labels).replace("\n", " ") or _unlabelled(edge)
            yield [node.id, target.id, name, *rule, reads, target.label or target.id]
        if not leaving[node.id]:
            reads = "not in this part" if "more" in node.kinds else "nothing"
            yield [node.id, "", name, *rule, reads, ""]


def _unlabelled(edge: Edge) -> str:
    return "calls" if edge.target.startswith("call-") else "ε"


def _marks(node: Node) -> str:
    return "→" * ("initial" in node.kinds) + "◎" * ("final" in node.kinds)


def sentence(error: WorkbenchError) -> str:
    """An error in one line, shown in the place of a picture."""
    return f"{error.message} — {error.hint}" if error.hint else error.message
