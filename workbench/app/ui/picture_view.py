"""Answers about pictures: edges, a search for states, the drawing of a machine, parse trees.

The answer for an edge has all its tokens. A search finds states by number, rule or label, also
outside the part that is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from workbench.analysis.parse_trees import ParseTrees, parse_trees
from workbench.analysis.run_tracing import PicturedMachine
from workbench.app.pipeline import Compiled
from workbench.app.ui.handlers import Handlers, or_refusal
from workbench.app.ui.pictures import View, box_of, leaving_edges, sentence
from workbench.app.ui.requests import (
    MAX_TRIED_CHARACTERS,
    TextRequest,
    bytes_in,
    number_in,
    switch_in,
    text_in,
)
from workbench.app.ui.streams import Record
from workbench.automata.drawn_machine import state_sets
from workbench.base.errors import WorkbenchError
from workbench.base.limits import Limits
from workbench.base.source import Source, Span
from workbench.base.visible_text import shorten, visible
from workbench.constraint.labels import label_vocabulary
from workbench.drawing.drawable import OVER_TOKENS, Drawn, Machine
from workbench.drawing.graph import Graph
from workbench.drawing.parse_tree import ShownNode, TreePicture, counted, draw_tree, shown_tree
from workbench.drawing.reductions import calm, fold_counts
from workbench.drawing.render import arranged
from workbench.drawing.views import Box
from workbench.grammar.label_encoding import show_labels, written_text
from workbench.syntax.machine_text import DrawnMachine, from_jflap, read_machine
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: States that a search returns.
_MAX_FOUND = 12

#: Tokens of one edge that are sent.
_MAX_TOKENS = 2_000


def find_states(handlers: Handlers, sent: Record) -> Record:
    """States by number or name, by the name of their rule, by the labels of their edges."""
    try:
        machine, drawn, _ = handlers.drawn(sent)
        query = text_in(sent, "query", 80).strip()
        if not query:
            return {"ok": True, "found": []}
        seen: dict[str, Record] = {}
        for state, why in _matches(_searched(handlers, sent, machine, drawn), query, drawn):
            number = drawn.numbers.get(state, state)
            seen.setdefault(state, {"id": state, "number": number, "why": why})
            if len(seen) == _MAX_FOUND:
                break
        return {"ok": True, "found": list(seen.values())}
    except WorkbenchError as error:
        return {"ok": False, "found": [], "why": sentence(error)}


def _searched(handlers: Handlers, sent: Record, machine: Machine, drawn: Drawn) -> Graph:
    """The graph that is searched: for a machine over tokens the one over characters."""
    if machine is Machine.TOKENS:
        under = (
            Machine.RULES
            if drawn.followed is not PicturedMachine.CHARACTERS
            else Machine.CHARACTERS
        )
        try:
            _, drawn, _ = handlers.drawn({**sent, "tab": str(under)})
        except WorkbenchError:
            return drawn.searched
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


def about_edge(handlers: Handlers, sent: Record) -> Record:
    """All tokens of an edge of a machine over tokens."""
    try:
        if "parts" in sent:
            tokens = _leaving(handlers, sent)
        else:
            machine, drawn, _ = handlers.drawn(sent)
            source, target = text_in(sent, "source", 40), text_in(sent, "target", 40)
            tokens = tokens_between(handlers, sent, machine, drawn, source, target)
        return {"ok": True, "count": len(tokens), "tokens": tokens[:_MAX_TOKENS]}
    except (WorkbenchError, ValueError, IndexError) as error:
        why = sentence(error) if isinstance(error, WorkbenchError) else "there is no such edge"
        return {"ok": False, "count": 0, "tokens": [], "why": why}


def _leaving(handlers: Handlers, sent: Record) -> list[str]:
    """The tokens of some of the edges that leave the current state."""
    view, vocabulary = View.of(sent), handlers.vocabulary_of(sent)
    drawn, is_own = handlers.over_tokens(sent)
    mask = None if is_own else handlers.run_mask(sent)
    leaving = leaving_edges(drawn, view.centre, view.so_far, mask)
    wanted = sent["parts"]
    if not isinstance(wanted, list) or not all(type(number) is int for number in wanted):
        raise WorkbenchError("expected the numbers of edges")
    ids: list[TokenId] = []
    for number in wanted:
        edge = leaving.edges[number]
        ids += leaving.tokens[number] or drawn.parts.tokens(leaving.state, edge.target)  # type: ignore[attr-defined]
    kept = [i for i in ids if mask is None or i in mask or i >= len(vocabulary)]
    return [_token(vocabulary, token_id) for token_id in dict.fromkeys(kept)]


def tokens_between(
    handlers: Handlers, sent: Record, machine: Machine, drawn: Drawn, source: str, target: str
) -> list[str]:
    """The tokens of the edges between two states, or with an empty target of all that leave one."""
    tokens = getattr(drawn.parts, "tokens", None)
    if machine not in OVER_TOKENS or tokens is None:
        return []
    vocabulary = handlers.vocabulary_of(sent)
    return [_token(vocabulary, token_id) for token_id in tokens(source, target)]


def _token(vocabulary: Vocabulary, token_id: TokenId) -> str:
    if token_id < len(vocabulary):
        return visible(vocabulary.tokens[token_id] or b"")
    read = label_vocabulary(vocabulary).label_of(token_id)
    assert read is not None, "ids after the last token are label codes"
    return f"⟨{read.label.name}: {len(read.mask):,} tokens⟩"


# -- drawn machines -------------------------------------------------------------------------------
# Answers for the drawing of a machine: its layout, files of JFLAP, its states along a text.


def _machine_in(handlers: Handlers, sent: Record) -> DrawnMachine:
    source = Source(text_in(sent, "text"), "machine")
    return read_machine(source, handlers.pipeline.limits.clock())


@or_refusal
def arrange_machine(handlers: Handlers, sent: Record) -> Record:
    """Positions for all states of the machine."""
    places = arranged(_machine_in(handlers, sent))
    return {
        "ok": True,
        "places": [{"name": name, "x": x, "y": y} for name, (x, y) in places.items()],
    }


@or_refusal
def machine_from_file(_: Handlers, sent: Record) -> Record:
    """The text of a machine in a file of JFLAP."""
    return {"ok": True, "text": from_jflap(Source(text_in(sent, "text"), "file"))}


@or_refusal
def machine_path(handlers: Handlers, sent: Record) -> Record:
    """The author's own states and edges after each beginning of the text ``read``."""
    machine = _machine_in(handlers, sent)
    text = text_in(sent, "read", MAX_TRIED_CHARACTERS)
    sets = state_sets(machine, text, handlers.pipeline.limits)
    return {
        "ok": True,
        "sets": [
            {
                "states": list(one.states),
                "edges": list(one.edges),
                "inside": list(one.inside),
                "final": one.is_final,
            }
            for one in sets
        ],
    }


# -- parse trees ----------------------------------------------------------------------------------
# Parse trees of the page: of a run up to a token, or of a test.


#: The most tokens under a tree, and the most nodes a reader may have opened.
_MAX_RUN_TOKENS, _MAX_UNFOLDED = 3_000, 200
#: The longest path of such a node.
_MAX_PATH = 2_000

#: The smallest scale at which the labels of a tree are legible.
_LEAST_SCALE = 0.84


@or_refusal
def draw_parse_tree(handlers: Handlers, sent: Record) -> Record:
    """A parse tree of a text as a picture, with the spans of its nodes.

    ``so_far`` is the text; ``tokens`` are the numbers of bytes of its tokens, of which ``current``
    is read last; ``which`` is 2 for the second tree of an ambiguous text.
    """
    text = bytes_in(sent.get("so_far", ""))
    trees = _trees(handlers.compiled(TextRequest.of(sent)), text, handlers.pipeline.limits)
    if trees.first is None:
        raise WorkbenchError("the language has no texts, so there is no tree")
    is_second = number_in(sent, "which", 1, 1, 2) == 2 and trees.second is not None
    tree = trees.second if is_second and trees.second is not None else trees.first
    shown = shown_tree(tree, every=switch_in(sent, "every"), unfolded=_unfolded_in(sent))
    tokens, current = _tokens_in(sent, trees.read)
    drawn = draw_tree(shown, tokens, current)
    total = sum(1 for _ in tree.walk())
    return {
        "ok": True,
        "svg": drawn.svg,
        "count": f"{trees.counted} · {counted(shown, total)}",
        "centre": "",
        "partial": False,
        "note": _note(trees),
        "opening": _opening(drawn, box_of(sent), current),
        "where": {str(number): f"state-{number}" for number in range(len(drawn.nodes))},
        "follow": None,
        "names": {},
        "ends": False,
        "states": [_state(number, node) for number, node in enumerate(drawn.nodes)],
        "edges": [],
        "tree": {
            "trees": 0 if not trees.accepted else 2 if trees.second is not None else 1,
            "counted": trees.counted,
            "which": 2 if is_second else 1,
            "accepted": trees.accepted,
            "expected": trees.expected,
            "failing": shorten(visible(show_labels(trees.text[trees.read :])), 40),
            "nodes": [_node(node) for node in drawn.nodes],
        },
    }


def _trees(compiled: Compiled, text: bytes, limits: Limits) -> ParseTrees:
    """The trees in the grammar of runs; in that of tests if only it can read all of the text."""
    trees = parse_trees(compiled.readable(), text, limits)
    if trees.read < len(text) and compiled.read_accepting is not None:
        return parse_trees(compiled.accepting, text, limits)
    return trees


def _note(trees: ParseTrees) -> str:
    if trees.accepted:
        return ""
    rest = shorten(visible(show_labels(trees.text[trees.read :])), 24)
    return f"cannot read {rest!r}" if rest else "the text is not finished"


def _unfolded_in(sent: Record) -> frozenset[str]:
    """The paths of the nodes that a reader opened.

    Raises: WorkbenchError where they are not a list of texts.
    """
    paths = sent.get("unfolded", [])
    if not isinstance(paths, list) or len(paths) > _MAX_UNFOLDED:
        raise WorkbenchError(f"expected at most {_MAX_UNFOLDED} paths of nodes")
    if not all(isinstance(path, str) and len(path) <= _MAX_PATH for path in paths):
        raise WorkbenchError("expected paths of nodes as texts")
    return frozenset(paths)


def _tokens_in(sent: Record, read: int) -> tuple[list[Span], Span | None]:
    """The spans of the tokens within the part of the text that was read, and the current one.

    Raises: WorkbenchError where the lengths are not a list of numbers.
    """
    lengths = sent.get("tokens", [])
    if not isinstance(lengths, list) or len(lengths) > _MAX_RUN_TOKENS:
        raise WorkbenchError(f"expected the lengths of at most {_MAX_RUN_TOKENS:,} tokens")
    if not all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in lengths):
        raise WorkbenchError("expected the lengths of tokens in bytes")
    borders = [min(read, border) for border in accumulate(lengths, initial=0)]
    spans = [Span(low, high) for low, high in pairwise(borders)]
    at = int(number_in(sent, "current", -1, -1, _MAX_RUN_TOKENS))
    current = spans[at] if 0 <= at < len(spans) and spans[at].end > spans[at].start else None
    return [span for span in spans if span.end > span.start], current


def _opening(drawn: TreePicture, box: Box, current: Span | None) -> Record:
    """The part that is seen first: all of a small tree, else the leaves of the current token."""
    fits = min(box.width / drawn.width, box.height / drawn.height)
    scale = min(1.0, max(_LEAST_SCALE, fits))
    width, height = box.width / scale, box.height / scale
    x, y = (drawn.width - width) / 2, (drawn.height - height) / 2
    if drawn.width > width:
        x = min(max(0.0, _middle(drawn.nodes, current) - width * 0.6), drawn.width - width)
    if drawn.height > height:
        y = drawn.height - height
    return {"x": x, "y": y, "scale": scale, "height": max(drawn.height, height)}


def _middle(nodes: Sequence[ShownNode], current: Span | None) -> float:
    """The horizontal position of the current token, or of the end of the text."""
    leaves = [node for node in nodes if node.is_leaf and node.text]
    if current is not None:
        read = [leaf for leaf in leaves if leaf.bytes.end > current.start]
        return read[0].x if read else 0.0
    return leaves[-1].x if leaves else 0.0


def _state(number: int, node: ShownNode) -> Record:
    return {
        "id": str(number),
        "label": node.shown,
        "title": node.title,
        "kinds": [str(node.kind)],
        "rule": "",
    }


def _node(node: ShownNode) -> Record:
    return {
        "path": node.path,
        "kind": str(node.kind),
        "label": node.label,
        "text": shorten(written_text(node.text), 200),
        "characters": [node.characters.start, node.characters.end],
        "bytes": [node.bytes.start, node.bytes.end],
        "source": [node.source.start, node.source.end],
        "open": node.is_open,
        "folded": node.is_folded,
        "differs": node.differs,
    }
