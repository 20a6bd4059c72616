"""Answers about pictures: the tokens of an edge, a search for states.

The answer for an edge has all its tokens. A search finds states by number, rule or label, also
outside the part that is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Annotated

from workbench.analysis.run_tracing import PicturedMachine
from workbench.app.ui import wire, wire_cards, wire_parts
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.pictures import (
    TABLE,
    TOGETHER,
    PictureRequest,
    flags,
    leaving_edges,
    picture,
    sentence,
    table,
)
from workbench.app.ui.question import question
from workbench.app.ui.request_fields import field, up_to
from workbench.app.ui.shares import HEAVY, LIGHT
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.visible_text import visible
from workbench.constraint.labels import label_vocabulary
from workbench.constraint.masks import TokenMask
from workbench.drawing.drawable import OVER_TOKENS, Drawn, Machine
from workbench.drawing.graph import Graph
from workbench.drawing.reductions import calm, fold_counts
from workbench.drawing.tikz import tikz
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: States that a search returns.
_MAX_FOUND = 12

#: Tokens of one edge that are sent.
_MAX_TOKENS = 2_000


#: The hint where a machine of rules is too large to be drawn.
_RAILROAD = "Railroad draws the rules without their machine"


@question(HEAVY)
def draw_machine(handlers: Handlers, request: PictureRequest) -> wire_parts.Picture | wire.Refusal:
    """A machine as SVG with the data of its parts, or the reason why there is no picture."""
    return _picture(handlers, request)


def _picture(handlers: Handlers, request: PictureRequest) -> wire_parts.Picture:
    """A machine as SVG with the data of its parts.

    Raises: WorkbenchError where there is no picture.
    """
    try:
        machine, drawn, is_own = handlers.drawn(request)
        view = request.view
        if request.tab == TABLE:
            return table(drawn, view.centre)
        return picture(drawn, machine, view, is_own=is_own)
    except LimitError as error:
        grammar = handlers.compiled(request).grammar
        if grammar is None or grammar.tree is None:
            raise
        raise LimitError(error.message, error.budget, _RAILROAD) from None


@question(HEAVY)
def draw_tikz(handlers: Handlers, request: PictureRequest) -> wire_cards.TikzAnswer | wire.Refusal:
    """The picture of ``draw_machine`` for LaTeX, or the reason for its absence."""
    return {"ok": True, "tikz": tikz(_picture(handlers, request)["svg"])}


@question(HEAVY)
def draw_flags(handlers: Handlers, request: PictureRequest) -> wire_parts.Flags | wire.Refusal:
    """The tokens that may follow a text, as flags over the picture of the tab Together."""
    return flags_with(handlers, request, None)


def flags_with(
    handlers: Handlers, request: PictureRequest, mask: TokenMask | None
) -> wire_parts.Flags:
    """The answer of ``draw_flags`` with the mask of a run; None computes it from the request.

    Raises: WorkbenchError where there is no picture.
    """
    drawn, is_own = handlers.over_tokens(request)
    under = handlers.drawn(request.with_fields(tab=TOGETHER))[1]
    if mask is None and not is_own:
        mask = _run_mask(handlers, request)
    answer = flags(drawn, under, request.view, mask)
    if is_own:
        answer["count"] += ", of the figure's own tokens"
    return answer


def _run_mask(handlers: Handlers, request: PictureRequest) -> TokenMask | None:
    """The mask of the run over which a picture is shown; None without one."""
    run = request.masked
    return None if run is None else handlers.run_mask(run, run.prefix)


class StateSearchRequest(PictureRequest):
    """A picture, and the number, the name or the label of the states that are searched."""

    query: Annotated[str, up_to(80)] = ""


@question(LIGHT, refused=lambda error: {"ok": False, "found": [], "why": sentence(error)})
def find_states(handlers: Handlers, request: StateSearchRequest) -> wire_parts.FoundStates:
    """States by number or name, by the name of their rule, by the labels of their edges."""
    machine, drawn, _ = handlers.drawn(request)
    query = request.query.strip()
    if not query:
        return {"ok": True, "found": []}
    seen: dict[str, wire_parts.FoundState] = {}
    for state, why in _matches(_graph_to_search(handlers, request, machine, drawn), query, drawn):
        number = drawn.numbers.get(state, state)
        seen.setdefault(state, {"id": state, "number": number, "why": why})
        if len(seen) == _MAX_FOUND:
            break
    return {"ok": True, "found": list(seen.values())}


def _graph_to_search(
    handlers: Handlers, request: PictureRequest, machine: Machine, drawn: Drawn
) -> Graph:
    """The graph that is searched: for a machine over tokens the one over characters."""
    if machine is Machine.TOKENS:
        under = (
            Machine.RULES
            if drawn.followed is not PicturedMachine.CHARACTERS
            else Machine.CHARACTERS
        )
        with suppress(WorkbenchError):
            _, drawn, _ = handlers.drawn(request.with_fields(tab=str(under)))
    return drawn.searched


def _matches(graph: Graph, query: str, drawn: Drawn) -> Iterator[tuple[str, str]]:
    """States that match a query, exact matches first, each with the reason."""
    small = calm(fold_counts(graph))
    states = {number: state for state, number in drawn.numbers.items()}
    if query in states or (query.isdigit() and not states):
        yield states.get(query, query), "its number" if query.isdigit() else "its name"
    wanted = query.casefold()
    for node in graph.nodes:
        if node.cluster.casefold() == wanted and "rule" in node.kinds:
            yield node.id, f"the first of {node.cluster}"
    label_query = visible(query)
    lines = [
        (edge, line) for edge in small.edges for label in edge.labels for line in label.split("\n")
    ]
    for edge, line in lines:
        if line == label_query:
            yield edge.source, f"reads {line}"
    for node in graph.nodes:
        if wanted in node.cluster.casefold() and "rule" in node.kinds:
            yield node.id, f"the first of {node.cluster}"
    for node in graph.nodes:  # without frames for rules, a state's title names its rule
        if f" · {wanted} · " in f"{node.title.casefold()} ":
            yield node.id, f"in {query}"
    for edge, line in lines:
        if label_query.casefold() in line.casefold():
            yield edge.source, f"reads {line}"
    for node in graph.nodes:
        if node.label == query or "call" in node.kinds:
            continue
        if not node.label.isdigit() and wanted in node.label.casefold():
            yield node.id, "its name"
        elif node.label.startswith(query):
            yield node.id, "its number"


def _checked_parts(value: object, _: str) -> list[int]:
    if not isinstance(value, list) or not all(type(number) is int for number in value):
        raise WorkbenchError("expected the numbers of edges")
    return value


class EdgeRequest(PictureRequest):
    """A picture, and an edge of it, or ``parts`` of the edges that leave the current state."""

    source: Annotated[str, up_to(40)] = ""
    target: Annotated[str, up_to(40)] = ""
    parts: Annotated[list[int] | None, field(_checked_parts, sent=list[int])] = None


def _no_edge(error: WorkbenchError) -> wire_parts.AboutEdge:
    return {"ok": False, "count": 0, "tokens": [], "why": sentence(error)}


@question(LIGHT, refused=_no_edge)
def about_edge(handlers: Handlers, request: EdgeRequest) -> wire_parts.AboutEdge:
    """All tokens of an edge of a machine over tokens."""
    try:
        if request.parts is not None:
            tokens = _leaving(handlers, request, request.parts)
        else:
            machine, drawn, _ = handlers.drawn(request)
            vocabulary = handlers.vocabulary_of(request.example)
            tokens = tokens_between(vocabulary, machine, drawn, request.source, request.target)
    except (ValueError, IndexError):
        raise WorkbenchError("there is no such edge") from None
    return {"ok": True, "count": len(tokens), "tokens": tokens[:_MAX_TOKENS]}


def _leaving(handlers: Handlers, request: PictureRequest, wanted: Sequence[int]) -> list[str]:
    """The tokens of some of the edges that leave the current state."""
    view, vocabulary = request.view, handlers.vocabulary_of(request.example)
    drawn, is_own = handlers.over_tokens(request)
    mask = None if is_own else _run_mask(handlers, request)
    leaving = leaving_edges(drawn, view.centre, view.so_far, mask)
    ids: list[TokenId] = []
    for number in wanted:
        edge = leaving.edges[number]
        ids += leaving.tokens[number] or drawn.parts.tokens(leaving.state, edge.target)  # type: ignore[attr-defined]
    kept = [i for i in ids if mask is None or i in mask or i >= len(vocabulary)]
    return [_token(vocabulary, token_id) for token_id in dict.fromkeys(kept)]


def tokens_between(
    vocabulary: Vocabulary, machine: Machine, drawn: Drawn, source: str, target: str
) -> list[str]:
    """The tokens of the edges between two states, or with an empty target of all that leave one."""
    tokens = getattr(drawn.parts, "tokens", None)
    if machine not in OVER_TOKENS or tokens is None:
        return []
    return [_token(vocabulary, token_id) for token_id in tokens(source, target)]


def _token(vocabulary: Vocabulary, token_id: TokenId) -> str:
    if token_id < len(vocabulary):
        return visible(vocabulary.tokens[token_id] or b"")
    read = label_vocabulary(vocabulary).label_of(token_id)
    assert read is not None, "ids after the last token are label codes"
    return f"⟨{read.label.name}: {len(read.mask):,} tokens⟩"
