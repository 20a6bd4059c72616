"""Parse trees of the page: of a run up to a token, or of a test."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Annotated

from workbench.analysis.parse_trees import ParseTrees, parse_trees
from workbench.app.pipeline import Compiled
from workbench.app.ui import wire, wire_parts
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.pictures import BoxRequest
from workbench.app.ui.question import question
from workbench.app.ui.request_fields import bytes_in, checked_switch, field, integer
from workbench.app.ui.shares import HEAVY
from workbench.base.errors import WorkbenchError
from workbench.base.limits import Limits
from workbench.base.source import Span
from workbench.base.visible_text import shorten, visible
from workbench.drawing.parse_tree import ShownNode, TreePicture, counted, draw_tree, shown_tree
from workbench.drawing.views import Box
from workbench.grammar.label_encoding import show_labels, written_text

#: The most tokens under a tree, and the most nodes a reader may have opened.
_MAX_RUN_TOKENS, _MAX_UNFOLDED = 3_000, 200
#: The longest path of such a node.
_MAX_PATH = 2_000

#: The smallest scale at which the labels of a tree are legible.
_LEAST_SCALE = 0.84


def _checked_paths(paths: object, _: str) -> frozenset[str]:
    if not isinstance(paths, list) or len(paths) > _MAX_UNFOLDED:
        raise WorkbenchError(f"expected at most {_MAX_UNFOLDED} paths of nodes")
    if not all(isinstance(path, str) and len(path) <= _MAX_PATH for path in paths):
        raise WorkbenchError("expected paths of nodes as texts")
    return frozenset(paths)


def _checked_lengths(lengths: object, _: str) -> list[int]:
    if not isinstance(lengths, list) or len(lengths) > _MAX_RUN_TOKENS:
        raise WorkbenchError(f"expected the lengths of at most {_MAX_RUN_TOKENS:,} tokens")
    if not all(type(length) is int and length >= 0 for length in lengths):
        raise WorkbenchError("expected the lengths of tokens in bytes")
    return lengths


class TreeRequest(BoxRequest):
    """A grammar, and a text whose parse tree is drawn."""

    so_far: Annotated[bytes, field(bytes_in, sent=str)] = b""
    #: The number of bytes of each token of the text, and the index of the one that is read last.
    tokens: Annotated[Sequence[int], field(_checked_lengths, sent=list[int])] = ()
    current: Annotated[int, integer(-1, _MAX_RUN_TOKENS)] = -1
    #: 2 for the second tree of an ambiguous text.
    which: Annotated[int, integer(1, 2)] = 1
    #: Whether every node is shown.
    every: Annotated[bool, field(checked_switch, sent=bool | None)] = False
    #: The paths of the nodes that a reader opened.
    unfolded: Annotated[frozenset[str], field(_checked_paths, sent=list[str])] = frozenset()


@question(HEAVY)
def draw_parse_tree(handlers: Handlers, request: TreeRequest) -> wire_parts.Picture | wire.Refusal:
    """A parse tree of a text as a picture, with the spans of its nodes."""
    trees = _trees(handlers.compiled(request), request.so_far, handlers.pipeline.limits)
    if trees.first is None:
        raise WorkbenchError("the language has no texts, so there is no tree")
    is_second = request.which == 2 and trees.second is not None
    tree = trees.second if is_second and trees.second is not None else trees.first
    shown = shown_tree(tree, every=request.every, unfolded=request.unfolded)
    tokens, current = _token_spans(request, trees.read)
    drawn = draw_tree(shown, tokens, current)
    total = sum(1 for _ in tree.walk())
    return {
        "ok": True,
        "svg": drawn.svg,
        "count": f"{trees.counted} · {counted(shown, total)}",
        "centre": "",
        "partial": False,
        "note": _note(trees),
        "opening": _opening(drawn, request.box, current),
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


def _token_spans(request: TreeRequest, read: int) -> tuple[list[Span], Span | None]:
    """The spans of the tokens within the part of the text that was read, and the current one."""
    borders = [min(read, border) for border in accumulate(request.tokens, initial=0)]
    spans = [Span(low, high) for low, high in pairwise(borders)]
    index = request.current
    current = (
        spans[index] if 0 <= index < len(spans) and spans[index].end > spans[index].start else None
    )
    return [span for span in spans if span.end > span.start], current


def _opening(drawn: TreePicture, box: Box, current: Span | None) -> wire_parts.Opening:
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


def _state(number: int, node: ShownNode) -> wire_parts.State:
    return {
        "id": str(number),
        "label": node.shown,
        "title": node.title,
        "kinds": [str(node.kind)],
        "rule": "",
    }


def _node(node: ShownNode) -> wire_parts.TreeNode:
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
