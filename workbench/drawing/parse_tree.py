"""A parse tree as a picture: what is shown of it, where it is placed, and its SVG.

The leaves are in one row, so that they spell the text; under them is the row of the model's tokens.
A node is above the middle of its parts and never overlaps another one. Real grammars derive a short
text with hundreds of nodes, so ``shown_tree`` leaves out what says little: repetitions, parts that
read nothing, chains of nodes with one child. Letters in a row become one node. What still is too
wide is folded, farthest from the end of the text first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from xml.etree.ElementTree import Element, SubElement, tostring

from workbench.analysis.parse_trees import NodeKind, ParseNode
from workbench.base.limits import check_time_budget
from workbench.base.source import Span
from workbench.base.visible_text import columns, count_of, fitted, printable, shorten, visible
from workbench.drawing.render import MONOSPACED, NAMESPACE
from workbench.grammar.label_encoding import show_labels

#: Pixels: a letter of a label, the space around it, its height, and the distance of two rows.
_LETTER, _PAD, _HIGH, _ROW = 6.7, 6.0, 20.0, 34.0
#: Between two leaves, around the picture, and the height of the row of tokens.
_GAP, _MARGIN, _TOKENS = 7.0, 10.0, 22.0
#: The widest label of a node and of a leaf, in letters.
_MAX_NAME, _MAX_TEXT = 30, 26
#: The parts not read yet that are drawn below one node, and the names of a chain.
_MAX_PENDING, _MAX_CHAIN = 2, 3
#: Leaves that are drawn before large nodes are folded.
MAX_LEAVES = 70

_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


@dataclass(slots=True, eq=False)
class ShownNode:
    """A node of the picture: a node of the tree, a chain of them, or several letters."""

    kind: NodeKind
    label: str
    text: bytes
    characters: Span
    bytes: Span
    source: Span
    children: list[ShownNode] = field(default_factory=list)
    is_open: bool = False
    differs: bool = False
    #: The number of nodes in a row that it represents.
    count: int = 1
    #: Whether its parts are not drawn.
    is_folded: bool = False
    #: Its place among its siblings, after those of the nodes above it: ``0.2.1``.
    path: str = "0"
    x: float = 0.0
    y: float = 0.0
    left: float = 0.0
    width: float = 0.0

    @property
    def is_leaf(self) -> bool:
        """Whether nothing is drawn below it."""
        return self.is_folded or not self.children

    @property
    def shown(self) -> str:
        """What its box says."""
        if self.kind is NodeKind.TEXT:
            return fitted(_visible(self.text), _MAX_TEXT) if self.text else "nothing"
        name = fitted(printable(self.label), _MAX_NAME)
        if self.kind is NodeKind.PENDING:
            return f"… {name}"
        many = f" ×{self.count}" if self.count > 1 else ""
        if self.is_folded:
            return f"{name}{many} ▸ {fitted(_visible(self.text), _MAX_TEXT)}"
        return f"{name}{many}"

    @property
    def title(self) -> str:
        """The node in a sentence, for its hover text and for screen readers."""
        text = shorten(_visible(self.text), 120)
        if self.kind is NodeKind.PENDING:
            return f"{self.label}, not read yet"
        what = f"the text {text!r}" if self.kind is NodeKind.TEXT else f"{self.label}: {text!r}"
        return f"{what}, unfinished" if self.is_open else what


def _visible(text: bytes) -> str:
    return visible(show_labels(text))


def shown_tree(
    tree: ParseNode, *, every: bool, unfolded: Collection[str] = (), most: int = MAX_LEAVES
) -> ShownNode:
    """The nodes to draw; ``every`` keeps all of them, ``unfolded`` are paths of nodes to open."""
    shown: dict[int, list[ShownNode]] = {}
    for _, node in reversed(list(tree.walk())):
        children = [part for child in node.children for part in shown.pop(id(child))]
        shown[id(node)] = _all_nodes(node, children) if every else _main_nodes(node, children)
    roots = shown[id(tree)]
    root = roots[0] if len(roots) == 1 else _shown_node(tree, roots)
    _number_paths(root)
    _fold(root, unfolded, most)
    return root


def _shown_node(node: ParseNode, children: list[ShownNode]) -> ShownNode:
    return ShownNode(
        node.kind,
        node.label,
        node.text,
        node.characters,
        node.bytes,
        node.source,
        children,
        node.is_open,
        node.differs,
    )


def _all_nodes(node: ParseNode, children: list[ShownNode]) -> list[ShownNode]:
    return [_shown_node(node, children)]


def _main_nodes(node: ParseNode, children: list[ShownNode]) -> list[ShownNode]:
    """A node without parts that say little; its children where the node itself says little."""
    children = list(_together(_without_waste(node, children)))
    if node.kind in (NodeKind.REPETITION, NodeKind.COPY):
        for child in children:
            child.differs = child.differs or node.differs
        return children
    shown = _shown_node(node, children)
    if len(children) == 1 and node.kind is not NodeKind.REGEX:
        (child,) = children
        if child.kind in (NodeKind.RULE, NodeKind.GROUP) and child.count == 1:
            child.label = _chain(node.label, child.label)
            child.differs = child.differs or node.differs
            child.is_open = child.is_open or node.is_open
            return [child]
    return [shown]


def _chain(above: str, below: str) -> str:
    """The names of a chain of nodes, without those in the middle of a long one."""
    names = [above, *below.split(" › ")]
    return " › ".join(names if len(names) <= _MAX_CHAIN else [names[0], "…", names[-1]])


def _without_waste(node: ParseNode, children: list[ShownNode]) -> Iterator[ShownNode]:
    """The children without those that read nothing, and of those not read yet the first ones."""
    pending = 0
    for child in children:
        if child.kind is NodeKind.PENDING:
            pending += 1
            if pending <= _MAX_PENDING:
                yield child
        elif child.text or child.is_open or (not node.text and child.kind is NodeKind.RULE):
            yield child


def _together(children: Iterator[ShownNode]) -> Iterator[ShownNode]:
    """Children with neighbours of the same name that are only one character each as one node."""
    last: ShownNode | None = None
    for child in children:
        if last is not None and _are_alike(last, child):
            last.text += child.text
            last.characters = Span(last.characters.start, child.characters.end)
            last.bytes = Span(last.bytes.start, child.bytes.end)
            last.count += 1
            if last.children:
                last.children = [*_together(iter((*last.children, *child.children)))]
            continue
        if last is not None:
            yield last
        last = child
    if last is not None:
        yield last


def _are_alike(first: ShownNode, other: ShownNode) -> bool:
    """Whether two neighbours are letters of the same rule or of the same piece of the grammar."""
    if (first.kind, first.label, first.source) != (other.kind, other.label, other.source):
        return False
    if first.differs or other.differs or other.is_open or not other.text:
        return False
    if first.kind is NodeKind.TEXT:
        return _is_short(other)
    return (
        first.kind is NodeKind.RULE
        and _is_short(other)
        and all(child.kind is NodeKind.TEXT for child in (*first.children, *other.children))
    )


def _is_short(node: ShownNode) -> bool:
    return node.characters.end - node.characters.start <= 1


def _number_paths(root: ShownNode) -> None:
    """Give each node its path; all nodes are folded then."""
    stack = [root]
    while stack:
        node = stack.pop()
        node.is_folded = bool(node.children)
        for number, child in enumerate(node.children):
            child.path = f"{node.path}.{number}"
        stack.extend(node.children)


def nodes_of(root: ShownNode) -> Iterator[ShownNode]:
    """The nodes that are drawn, each before its children."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if not node.is_folded:
            stack.extend(reversed(node.children))


def _fold(root: ShownNode, unfolded: Collection[str], most: int) -> None:
    """Fold the nodes that are farthest from the end of the text until few leaves are left."""
    leaves = 1
    waiting: list[tuple[bool, int, int, int, ShownNode]] = []

    def wait(node: ShownNode) -> None:
        # what a reader opened comes first, then the end of the text, where a run continues
        if node.children:
            order = node.path not in unfolded, -node.bytes.end, node.path.count(".")
            heappush(waiting, (*order, next(numbers), node))

    numbers = count()
    wait(root)
    while waiting:
        check_time_budget()
        node = heappop(waiting)[-1]
        added = len(node.children) - 1
        if leaves + added > most and node.path not in unfolded and leaves > 1:
            continue
        leaves += added
        node.is_folded = False
        for child in node.children:
            wait(child)


# -- layout ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class TreePicture:
    """A drawn parse tree."""

    svg: str
    width: float
    height: float
    #: The nodes in the order of drawing; their numbers are in the ids of the SVG.
    nodes: tuple[ShownNode, ...]


def draw_tree(
    root: ShownNode, tokens: Sequence[Span] = (), current: Span | None = None
) -> TreePicture:
    """The picture of a tree; ``tokens`` are the byte spans of the tokens, one of them current."""
    nodes = tuple(nodes_of(root))
    leaves = [node for node in nodes if node.is_leaf]
    deepest = max(node.path.count(".") for node in nodes)
    _place_across(nodes)
    for node in nodes:
        depth = deepest if node.is_leaf and node.text else node.path.count(".")
        node.y = _MARGIN + _HIGH / 2 + depth * _ROW
    width = max(node.left + node.width for node in nodes) + _MARGIN
    bottom = _MARGIN + _HIGH + deepest * _ROW
    height = bottom + _MARGIN + (_TOKENS if tokens else 0)
    svg = _root(width, height)
    group = SubElement(svg, "g", {"class": "graph"})
    if current is not None:
        _highlight(group, leaves, current, bottom)
    numbers = {id(node): number for number, node in enumerate(nodes)}
    for node in nodes:
        check_time_budget()
        for child in () if node.is_folded else node.children:
            _line(group, node, child)
    for node in nodes:
        check_time_budget()
        _box(group, node, numbers[id(node)], current)
    for token in tokens:
        _token(group, leaves, token, bottom, token == current)
    drawn = tostring(svg, encoding="unicode", short_empty_elements=True)
    return TreePicture(drawn, width, height, nodes)


def _place_across(nodes: Sequence[ShownNode]) -> None:
    """Set the horizontal positions: parts next to each other, a node above their middle."""
    for node in reversed(nodes):
        own_width = columns(node.shown) * _LETTER + 2 * _PAD + 2
        inner = [] if node.is_folded else node.children
        below = sum(child.width for child in inner) + _GAP * max(0, len(inner) - 1)
        node.width = max(own_width, below)
    nodes[0].left = _MARGIN
    for node in nodes:
        node.x = node.left + node.width / 2
        inner = [] if node.is_folded else node.children
        if not inner:
            continue
        below = sum(child.width for child in inner) + _GAP * (len(inner) - 1)
        left = node.left + (node.width - below) / 2
        for child in inner:
            child.left = left
            left += child.width + _GAP


def _at(leaves: Sequence[ShownNode], position: int, *, after: bool) -> float:
    """The horizontal position of a byte of the text: inside a leaf, or at its border."""
    nearest = None
    for leaf in leaves:
        low, high = leaf.bytes.start, leaf.bytes.end
        if low == high:
            continue
        is_inside = low < position <= high if after else low <= position < high
        if is_inside:
            nearest = leaf
            break
    if nearest is None:
        texts = [leaf for leaf in leaves if leaf.text]
        return (texts[-1].x + _own(texts[-1]) / 2) if texts else 0.0
    low, high = nearest.bytes.start, nearest.bytes.end
    return nearest.x + _own(nearest) * ((position - low) / (high - low) - 0.5)


def _own(node: ShownNode) -> float:
    return columns(node.shown) * _LETTER + 2 * _PAD


# -- SVG -------------------------------------------------------------------------------------------


def _root(width: float, height: float) -> Element:
    return Element(
        "svg",
        {
            "xmlns": NAMESPACE,
            "class": "parsetree",
            "role": "group",
            "aria-label": "parse tree",
            "width": _number(width),
            "height": _number(height),
            "viewBox": f"0 0 {_number(width)} {_number(height)}",
            "font-family": MONOSPACED,
        },
    )


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _line(group: Element, above: ShownNode, below: ShownNode) -> None:
    start, end = above.y + _HIGH / 2, below.y - _HIGH / 2
    bend = min(start + _ROW - _HIGH, end)
    kinds = "branch pending" if below.kind is NodeKind.PENDING else "branch"
    path = f"M{_number(above.x)} {_number(start)}L{_number(below.x)} {_number(bend)}"
    if bend < end:
        path += f"V{_number(end)}"
    SubElement(group, "path", {"d": path, "class": kinds})


def _box(group: Element, node: ShownNode, number: int, current: Span | None) -> None:
    kinds = ["node", str(node.kind)]
    kinds += [name for name, has in (("open", node.is_open), ("differs", node.differs)) if has]
    kinds += ["folded"] if node.is_folded else []
    if current is not None and node.is_leaf and _overlaps(node.bytes, current):
        kinds.append("read")
    identity = {"id": f"state-{number}", "class": " ".join(kinds)}
    box = SubElement(group, "g", identity)
    SubElement(box, "title").text = printable(node.title)
    width = _own(node)
    size = {"x": node.x - width / 2, "y": node.y - _HIGH / 2, "width": width, "height": _HIGH}
    SubElement(box, "rect", {**{k: _number(v) for k, v in size.items()}, "rx": "4"})
    attributes = {"x": _number(node.x), "y": _number(node.y + 4), "text-anchor": "middle"}
    text = SubElement(box, "text", {**attributes, "font-size": "11", _SPACE: "preserve"})
    text.text = node.shown


def _overlaps(first: Span, other: Span) -> bool:
    return first.start < other.end and other.start < first.end


def _highlight(group: Element, leaves: Sequence[ShownNode], current: Span, bottom: float) -> None:
    left = _at(leaves, current.start, after=False)
    right = _at(leaves, current.end, after=True)
    size = {"x": left, "y": bottom - _HIGH - 3, "width": max(2.0, right - left), "height": 38.0}
    SubElement(group, "rect", {**{k: _number(v) for k, v in size.items()}, "class": "current"})


def _token(
    group: Element, leaves: Sequence[ShownNode], token: Span, bottom: float, is_current: bool
) -> None:
    """The extent of a token under the leaves it reads."""
    left = _at(leaves, token.start, after=False) + 1
    right = max(left + 2, _at(leaves, token.end, after=True) - 1)
    y = bottom + 8
    path = f"M{_number(left)} {_number(y - 4)}V{_number(y)}H{_number(right)}V{_number(y - 4)}"
    kinds = "border now" if is_current else "border"
    SubElement(group, "path", {"d": path, "class": kinds})


def counted(root: ShownNode, total: int) -> str:
    """How much of the tree is drawn, in words."""
    shown = sum(1 for _ in nodes_of(root))
    return count_of(total, "node") if shown >= total else f"{shown:,} of {total:,} nodes"
