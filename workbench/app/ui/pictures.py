"""Records of pictures and tables: a machine, and the part and level of it that are shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Annotated, cast

from pydantic import Field

from workbench.analysis.run_tracing import PicturedMachine
from workbench.app.pipeline import Compiled
from workbench.app.ui import wire_parts
from workbench.app.ui.request_fields import (
    Checked,
    bytes_in,
    checked_text,
    field,
    integer,
    number,
    texts_in,
    up_to,
)
from workbench.app.ui.requests import RunRequest, TextRequest, checked_run
from workbench.base.errors import WorkbenchError
from workbench.base.visible_text import count_of
from workbench.constraint.masks import TokenMask
from workbench.drawing.connectors import relabelled
from workbench.drawing.drawable import OVER_TOKENS, Drawn, Machine
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.json_escapes import ESCAPES_NOTE, shows_escapes
from workbench.drawing.next_tokens import Leaving, RuleTokens
from workbench.drawing.parts import LazyTokenParts, TokenFsaParts
from workbench.drawing.reductions import merge_parallel
from workbench.drawing.render import renderer
from workbench.drawing.token_map import flags_of
from workbench.drawing.views import (
    Box,
    Drawing,
    Level,
    by_graphviz,
    by_lanes,
    draw_machine,
    draw_rules,
    machine_graph,
    rules_graph,
)

#: The tab that lists a machine instead of drawing it.
TABLE = "table"

#: Rows of a table sent to the page, and states listed of a machine that is built in part.
MAX_ROWS = 2_000
_MAX_LISTED_STATES = 120

#: The tab that shows the tokens of the current state over the machine.
TOGETHER = "together"

#: The most states of a machine over tokens that is drawn.
_MAX_WHOLE_STATES = 40

#: What shows the tokens of a machine that is too large to be drawn.
_OVER = "the tab Together shows the tokens of each state over the machine"

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
    #: States of chains that are not folded.
    unfolded: frozenset[str] = frozenset()
    level: Level = Level.STATES
    #: Whether there is room for flags with the tokens of the current state.
    flags: bool = False


class BoxRequest(TextRequest):
    """A grammar, and the size of the browser's box for its picture."""

    width: Annotated[float, number(0, 10_000)] = _DEFAULT_BOX.width
    height: Annotated[float, number(0, 10_000)] = _DEFAULT_BOX.height

    @property
    def box(self) -> Box:
        """The box, not smaller and not larger than pictures are laid out for."""
        sides = (self.width, self.height)
        return Box(*(min(max(side, _SMALLEST_BOX), _LARGEST_BOX) for side in sides))


def _checked_read(value: object, _: str) -> bytes | None:
    return bytes_in(value) if isinstance(value, str) else None


def _checked_chains(value: object, _: str) -> bool | None:
    return value if isinstance(value, bool) else None


def _checked_level(value: object, name: str) -> Level:
    text = checked_text(value, name, 12)
    return Level(text) if text in list(Level) else Level.STATES


def _checked_states(value: object, _: str) -> frozenset[str]:
    return frozenset(texts_in(value, "state", _MAX_SHOWN_STATES, 40))


class PictureRequest(BoxRequest):
    """A machine of a grammar, and the settings of its picture."""

    #: A machine, ``together`` or ``table``; of that, ``of`` is the machine.
    tab: Annotated[str, up_to(40)] = ""
    of_machine: Annotated[str, up_to(40)] = Field("", alias="of")
    #: The example whose own tokens are used, if it has some.
    example: Annotated[str, up_to(80)] = ""
    centre: Annotated[str, up_to(40)] = ""
    so_far: Annotated[bytes | None, field(_checked_read, sent=str | None)] = None
    size: Annotated[int, integer(0, _MAX_SHOWN_STATES)] = 0
    chains: Annotated[bool | None, field(_checked_chains, sent=bool | None)] = None
    unfolded_states: Annotated[frozenset[str], field(_checked_states, sent=list[str])] = frozenset()
    level: Annotated[Level, field(_checked_level, sent=str)] = Level.STATES
    #: A run whose mask may be another than the grammar's.
    masked: Annotated[RunRequest | None, Checked(checked_run, RunRequest | None)] = None

    @property
    def view(self) -> View:
        """The settings of the picture."""
        return View(
            self.centre,
            self.so_far,
            self.box,
            self.size,
            self.chains,
            self.unfolded_states,
            self.level,
            self.tab == TOGETHER,
        )


def picture(drawn: Drawn, machine: Machine, view: View, *, is_own: bool) -> wire_parts.Picture:
    """A machine, or the part of it around a state, as SVG with the data of states and edges.

    ``is_own`` is true if it has tokens that are not the model's.

    Raises: LimitError where no layout ends in time; WorkbenchError for a machine over tokens that
            is too large to be drawn.
    """
    centre = drawn.names.get(view.centre, view.centre)
    drawing = _drawing(drawn, machine, view, centre)
    graph = drawing.graph
    count = _extent_note(graph, drawn.parts.states)
    if machine in (Machine.RULES, Machine.STACK) and view.level is Level.CALLS:
        shown, rules = len(graph.nodes), len(drawn.graph.clusters)
        count = count_of(rules, "rule") if shown == rules else f"{shown:,} of {rules:,} rules"
    escapes = ESCAPES_NOTE if shows_escapes(graph) else ""
    note = " · ".join(filter(None, (drawing.note, graph.note, escapes)))
    where = {**graph.where, **drawing.where}
    record = {
        "ok": True,
        "svg": drawing.svg,
        "count": count,
        "centre": centre,
        "partial": len(graph.where) < drawn.parts.states or not drawn.parts.states,
        "opening": asdict(drawing.opening),
        "whole": drawing.whole,
        "legible": drawing.legible,
        "note": f"over the figure's own tokens · {note}".rstrip(" ·") if is_own else note,
        "where": where,
        "rules": _first_states(drawn, machine),
        "follow": None if is_own or drawn.followed is None else str(drawn.followed),
        "names": dict(drawn.names),
        **({"numbers": numbers} if (numbers := _folded_numbers(graph, drawn.numbers)) else {}),
        "ends": machine in OVER_TOKENS,
        "states": [_state(node) for node in graph.nodes],
        "edges": [_edge(edge) for edge in graph.edges],
    }
    return cast("wire_parts.Picture", record)


def _drawing(drawn: Drawn, machine: Machine, view: View, centre: str) -> Drawing:
    if machine is Machine.TOKENS:
        return _whole(drawn, view)
    if machine in (Machine.RULES, Machine.STACK):
        return draw_rules(
            drawn.graph,
            view.box,
            renderer(),
            centre,
            level=view.level,
            folded=view.chains,
            unfolded=view.unfolded,
            flags=view.flags,
        )
    return draw_machine(
        drawn.parts,
        view.box,
        renderer(),
        centre,
        folded=view.chains,
        unfolded=view.unfolded,
        size=view.size,
        flags=view.flags,
    )


def flags(drawn: Drawn, under: Drawn, view: View, mask: TokenMask | None) -> wire_parts.Flags:
    """The tokens that may follow in a state, as flags over the picture of ``under``.

    ``drawn`` is the machine over tokens. ``mask`` is that of a run that allows fewer tokens than
    the grammar in the current state.

    Raises: LimitError; WorkbenchError where no accepted text begins with ``view.so_far``.
    """
    names = under.names if under.followed is PicturedMachine.RULES else {}
    leaving = leaving_edges(drawn, view.centre, view.so_far, mask)
    edges = [replace(edge, target=names.get(edge.target, edge.target)) for edge in leaving.edges]
    count = _tokens_of(leaving)
    note = f"{count_of(count, 'token')} may follow"
    if mask is not None:
        total = _tokens_of(leaving_edges(drawn, view.centre, view.so_far))
        if count < total:
            note = f"this run allows {count:,} of {count_of(total, 'token')}"
    return {
        "ok": True,
        "count": note,
        "state": names.get(leaving.state, leaving.state),
        "flags": [
            {
                "anchor": flag.anchor,
                "place": flag.place,
                "inside": flag.inside,
                "tokens": flag.tokens,
                "segments": [
                    {
                        "text": segment.text,
                        "parts": list(segment.parts),
                        "ends": list(dict.fromkeys(edges[each].target for each in segment.parts)),
                        "edge": _edge(segment.edge),
                    }
                    for segment in flag.segments
                ],
            }
            for flag in flags_of(_base(under, view), edges)
        ],
    }


def _tokens_of(leaving: Leaving) -> int:
    """The number of tokens of a state's edges."""
    if any(leaving.tokens):
        return sum(map(len, leaving.tokens))
    # without a stack, each edge for pieces of characters has all pieces that the state reads
    pieces = max((edge.count for edge in leaving.edges if "bytes" in edge.kinds), default=0)
    return pieces + sum(edge.count for edge in leaving.edges if "bytes" not in edge.kinds)


def _base(under: Drawn, view: View) -> Graph:
    """The graph of the picture over which flags are drawn."""
    if under.followed is PicturedMachine.RULES:
        return rules_graph(under.graph, folded=view.chains, unfolded=view.unfolded)
    return machine_graph(under.parts, view.centre, folded=view.chains, unfolded=view.unfolded)


def _folded_numbers(graph: Graph, numbers: Mapping[str, str]) -> dict[str, str]:
    """The numbers that pictures show for the states folded into edges, where they have others."""
    folded = (state for edge in graph.edges if edge.chains for state in edge.inside)
    return {state: numbers[state] for state in folded if numbers.get(state, state) != state}


def _first_states(drawn: Drawn, machine: Machine) -> dict[str, str]:
    """The first state of each rule, in a picture of rules."""
    if machine not in (Machine.RULES, Machine.STACK):
        return {}
    return {node.cluster: node.id for node in drawn.graph.nodes if "rule" in node.kinds}


def _whole(drawn: Drawn, view: View) -> Drawing:
    """The whole machine over tokens, the tokens between two states as one edge.

    Raises: LimitError; WorkbenchError if it is too large to be drawn.
    """
    if not 0 < drawn.parts.states <= _MAX_WHOLE_STATES:
        count = f"{drawn.parts.states:,}" if drawn.parts.states else "too many"
        raise WorkbenchError(f"the machine over tokens has {count} states", _OVER)
    if isinstance(drawn.parts, RuleTokens) and not drawn.parts.as_written:
        raise WorkbenchError("the machine over tokens has other states than the rules", _OVER)
    graph = merge_parallel(drawn.graph)
    nodes = tuple(relabelled(node, drawn.numbers) for node in graph.nodes)
    graph = replace(graph, nodes=nodes)
    drawing = by_graphviz(graph, view.box, renderer()) or by_lanes(graph, view.box, view.centre)
    if not drawing.legible:
        raise WorkbenchError("the labels of the machine over tokens are too wide", _OVER)
    return drawing


def leaving_edges(
    drawn: Drawn, centre: str, so_far: bytes | None, mask: TokenMask | None = None
) -> Leaving:
    """The token edges of the current state, of the tokens that a mask allows.

    Raises: WorkbenchError where no accepted text begins with ``so_far``, and for a machine without
            tokens.
    """
    if isinstance(drawn.parts, RuleTokens):
        leaving = drawn.parts.after(so_far or b"", centre, mask)
        if leaving is None:
            raise WorkbenchError(
                "the text has left the language of the grammar", "no token may follow"
            )
        return leaving
    parts = drawn.parts
    if not isinstance(parts, TokenFsaParts | LazyTokenParts):
        raise WorkbenchError("the edges of this machine read no tokens")
    state = centre or parts.initial
    edges = parts.leaving(state, mask)
    return Leaving(state, (), edges, tuple(() for _ in edges))


def _extent_note(graph: Graph, total: int) -> str:
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


def _state(node: Node) -> wire_parts.State:
    return {
        "id": node.id,
        "label": node.label,
        "title": node.title,
        "kinds": list(node.kinds),
        "rule": node.cluster,
    }


def _edge(edge: Edge) -> wire_parts.Edge:
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


def table(drawn: Drawn, centre: str = "") -> wire_parts.Picture:
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
    signs = {"initial": "→", "final": "◎"}
    return "".join(sign for kind, sign in signs.items() if kind in node.kinds)


def sentence(error: WorkbenchError) -> str:
    """An error in one line, shown in the place of a picture."""
    return f"{error.message} — {error.hint}" if error.hint else error.message
