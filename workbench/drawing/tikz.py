r"""Pictures as TikZ, for LaTeX: the nodes and lines of an SVG picture at the same positions.

States are nodes of TikZ's ``automata`` library (``state``, ``initial``, ``accepting``) named by
their ids, and edges run from node to node along the curves of the layout, so both can be edited by
hand. A point of the SVG is a point of TeX; the y axis goes down, as in the SVG.

The text of labels may come from a stranger: every character with a meaning in TeX is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from workbench.base.errors import WorkbenchError
from workbench.base.visible_text import printable

Point = tuple[float, float]

#: Characters that TeX reads as commands, and symbols that its text fonts lack.
_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "ε": r"$\varepsilon$",
    "∅": r"$\emptyset$",
    "∘": r"$\circ$",
    "→": r"$\rightarrow$",
    "▲": r"$\blacktriangle$",
    "▼": r"$\blacktriangledown$",
    "·": r"\textperiodcentered{}",
    "•": r"\textbullet{}",
    "…": r"\ldots{}",
    "–": r"\textendash{}",
    "⏎": r"$\hookleftarrow$",
    "⇥": r"$\rightarrowtail$",
    "⟨": r"$\langle$",
    "⟩": r"$\rangle$",
    " ": r"\ ",
}

_HEAD = r"""% \usepackage[T1]{fontenc} \usepackage{textcomp, amssymb, tikz}
% \usetikzlibrary{automata, arrows.meta}
\begin{tikzpicture}[
  x=1pt, y=-1pt, >={Stealth[length=5pt]},
  every state/.style={inner sep=0pt, font=\ttfamily\fontsize{10}{11}\selectfont},
  initial text={}, initial distance=14pt,
  call/.style={draw, rounded corners=2pt, inner sep=0pt,
    font=\ttfamily\fontsize{10}{11}\selectfont},
  label/.style={anchor=base, inner sep=1pt, font=\ttfamily\fontsize{10}{11}\selectfont},
  lane/.style={draw=black!25, rounded corners=4pt},
  now/.style={fill=yellow!50, line width=1.2pt},
  taken/.style={line width=1.4pt},
  dead/.style={opacity=0.3}]
"""

#: The distance within which the end of a line is joined to its state: an arrow head and a margin.
_NEAR = 16.0

_NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
_COMMAND = re.compile(rf"([MLCQ])|({_NUMBER})")
_TRANSLATE = re.compile(rf"translate\(({_NUMBER})[ ,]+({_NUMBER})\)")


@dataclass(frozen=True, slots=True)
class Marks:
    """What a frame of a film shows of a picture, by the ids of its elements."""

    #: None for all.
    shown: frozenset[str] | None = None
    lit: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()
    dead: frozenset[str] = frozenset()

    def shows(self, identity: str) -> bool:
        return self.shown is None or identity in self.shown

    def styles(self, identity: str) -> list[str]:
        """The styles of an element: ``now``, ``taken``, ``dead``."""
        named = (("now", self.lit), ("taken", self.taken), ("dead", self.dead))
        return [name for name, ids in named if identity in ids]


def tikz(svg: str, marks: Marks | None = None) -> str:
    r"""A picture of this package as a ``tikzpicture``, to be put into a LaTeX document.

    Raises: WorkbenchError for a picture that is no machine, such as a railroad diagram.
    """
    root = ElementTree.fromstring(svg)
    if "machine" not in root.get("class", "").split():
        raise WorkbenchError("expected a picture of a machine")
    picture = _Picture(marks or Marks())
    picture.read(root, (0.0, 0.0))
    lines = (*picture.grounds, *picture.nodes, *picture.edges(), *picture.labels)
    return _HEAD + "".join(f"  {line}\n" for line in lines) + "\\end{tikzpicture}\n"


def tex(text: str) -> str:
    """A text for TeX."""
    return "".join(_TEX.get(c, c) for c in printable(text).replace("\n", " "))


@dataclass(frozen=True, slots=True)
class _Shape:
    """The middle and the size of a node."""

    x: float
    y: float
    width: float
    height: float

    def is_near(self, point: Point) -> bool:
        wide, high = self.width / 2 + _NEAR, self.height / 2 + _NEAR
        return abs(point[0] - self.x) <= wide and abs(point[1] - self.y) <= high


@dataclass(slots=True)
class _Picture:
    """The statements of a picture; nodes are placed before edges name them."""

    marks: Marks
    grounds: list[str] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    shapes: dict[str, _Shape] = field(default_factory=dict)
    lines: list[tuple[Element, Point]] = field(default_factory=list)

    def read(self, element: Element, origin: Point) -> None:
        """Read the groups below an element; ``origin`` is where its coordinates begin."""
        for child in element:
            kinds = child.get("class", "").split()
            if _tag(child) != "g":
                self._loose(child, origin)
                continue
            child_origin = _translate(child, origin)
            if "node" in kinds:
                self._node(child, kinds, child_origin)
            elif "edge" in kinds:
                self.lines.append((child, child_origin))
            elif "label" in kinds:
                edges = child.get("data-edges", "").split()
                if any(self.marks.shows(f"edge-{edge}") for edge in edges):
                    self._texts(child, child_origin, ["fill=white"])
            else:
                self.read(child, child_origin)

    def _loose(self, shape: Element, origin: Point) -> None:
        """A shape outside nodes and edges: the ground and the name of a lane."""
        if _tag(shape) == "rect":
            x, y = _point(shape, "x", "y", origin)
            width, height = float(shape.get("width", 0)), float(shape.get("height", 0))
            corner = _pair((x + width, y + height))
            self.grounds.append(rf"\draw[lane] {_pair((x, y))} rectangle {corner};")
        elif _tag(shape) == "text":
            self._text(shape, origin, [])
        elif _tag(shape) in ("path", "polygon"):
            self.grounds += self._line(_outline(shape), origin, ("", ""), ["black!25"], arrow=False)

    def _node(self, group: Element, kinds: list[str], origin: Point) -> None:
        identity = group.get("id", "")
        shape = _shape(group, origin)
        if shape is None or not self.marks.shows(identity):
            return
        options = self.marks.styles(identity)
        text = " ".join(
            "".join(child.itertext()) for child in group if _tag(child) == "text"
        ).strip()
        size = f"minimum width={_number(shape.width)}pt, minimum height={_number(shape.height)}pt"
        if "call" in kinds:
            options = ["call", size, *options]
        else:
            is_round = abs(shape.width - shape.height) < 1
            form = f"minimum size={_number(shape.width)}pt"
            if not is_round:
                form = f"rectangle, rounded corners={_number(shape.height / 2)}pt, {size}"
            named = (("initial", "initial"), ("final", "accepting"))
            more = [style for kind, style in named if kind in kinds]
            options = ["state", form, *more, *options]
        name = f"({identity}) " if identity and identity not in self.shapes else ""
        if name:
            self.shapes[identity] = shape
        position = _pair((shape.x, shape.y))
        self.nodes.append(rf"\node[{', '.join(options)}] {name}at {position} {{{tex(text)}}};")

    def edges(self) -> Iterator[str]:
        """The lines of all edges; their labels are added to ``labels``."""
        for group, origin in self.lines:
            identity = group.get("id", "")
            if identity and not self.marks.shows(identity):
                continue
            styles = self.marks.styles(identity)
            kinds = group.get("class", "").split()
            styles += [
                style for kind, style in (("skip", "dashed"), ("bytes", "dotted")) if kind in kinds
            ]
            polygons = [child for child in group if _tag(child) == "polygon"]
            has_arrow = any(child.get("class") != "joint" for child in polygons)
            ends = (group.get("data-source", ""), group.get("data-target", ""))
            for child in group:
                if _tag(child) == "path":
                    yield from self._line(child.get("d", ""), origin, ends, styles, arrow=has_arrow)
            for child in polygons:
                if child.get("class") == "joint":
                    yield _joint(child, origin, styles)
            self._texts(group, origin, [])

    def _line(
        self, path: str, origin: Point, ends: tuple[str, str], styles: list[str], *, arrow: bool
    ) -> Iterator[str]:
        parts = list(_parts(path, origin))
        for number, part in enumerate(parts):
            start, target = _pair(part[0][1][-1]), ""
            source, end = (self.shapes.get(f"state-{name}") for name in ends)
            if number == 0 and source is not None and source.is_near(part[0][1][-1]):
                start = f"(state-{ends[0]})"
            is_last = number == len(parts) - 1
            if is_last and end is not None and end.is_near(part[-1][1][-1]):
                target = f"(state-{ends[1]})"
            drawn = [start]
            for index, (command, points) in enumerate(part[1:], start=2):
                stop = target if target and index == len(part) else _pair(points[-1])
                drawn.append(_segment(command, points, stop))
            options = ", ".join(["->" if arrow and is_last else "-", *styles])
            yield rf"\draw[{options}] {' '.join(drawn)};"

    def _texts(self, group: Element, origin: Point, options: list[str]) -> None:
        for child in group:
            if _tag(child) == "text":
                self._text(child, origin, options)

    def _text(self, text: Element, origin: Point, options: list[str]) -> None:
        shown = "".join(text.itertext()).strip()
        if not shown:
            return
        side = {"start": "anchor=base west", "end": "anchor=base east"}
        anchor = [side[name] for name in (text.get("text-anchor", ""),) if name in side]
        position = _pair(_point(text, "x", "y", origin))
        styles = ", ".join(("label", *anchor, *options))
        self.labels.append(rf"\node[{styles}] at {position} {{{tex(shown)}}};")


def _joint(head: Element, origin: Point, styles: list[str]) -> str:
    """The head of an edge where it joins another one."""
    corners = [_pair(points[-1]) for part in _parts(_outline(head), origin) for _, points in part]
    return rf"\fill[{', '.join(['solid', *styles])}] {' -- '.join(corners)} -- cycle;"


def _outline(shape: Element) -> str:
    """The path of a shape."""
    if _tag(shape) == "path":
        return shape.get("d", "")
    first, *rest = shape.get("points", "0,0").split()
    return " ".join((f"M{first}", *(f"L{point}" for point in rest)))


def _tag(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _translate(group: Element, origin: Point) -> Point:
    match = _TRANSLATE.search(group.get("transform", ""))
    return origin if match is None else (origin[0] + float(match[1]), origin[1] + float(match[2]))


def _point(element: Element, x: str, y: str, origin: Point) -> Point:
    return float(element.get(x, 0)) + origin[0], float(element.get(y, 0)) + origin[1]


def _shape(group: Element, origin: Point) -> _Shape | None:
    """The box around the shapes of a node."""
    corners: list[Point] = []
    for child in group:
        if _tag(child) == "ellipse":
            x, y = _point(child, "cx", "cy", origin)
            rx, ry = float(child.get("rx", 0)), float(child.get("ry", 0))
            corners += [(x - rx, y - ry), (x + rx, y + ry)]
        elif _tag(child) == "rect":
            x, y = _point(child, "x", "y", origin)
            corners += [(x, y)]
            corners += [(x + float(child.get("width", 0)), y + float(child.get("height", 0)))]
        elif _tag(child) in ("polygon", "polyline"):
            numbers = [float(n) for n in re.findall(_NUMBER, child.get("points", ""))]
            pairs = zip(numbers[::2], numbers[1::2], strict=True)
            corners += [(x + origin[0], y + origin[1]) for x, y in pairs]
        elif _tag(child) == "path":
            parts = _parts(child.get("d", ""), origin)
            corners += [points[-1] for part in parts for _, points in part]
    if not corners:
        return None
    left, right = min(x for x, _ in corners), max(x for x, _ in corners)
    top, bottom = min(y for _, y in corners), max(y for _, y in corners)
    return _Shape((left + right) / 2, (top + bottom) / 2, right - left, bottom - top)


#: A letter of a path, and its points.
_Step = tuple[str, list[Point]]

#: The points each letter of a path takes.
_TAKES = {"M": 1, "L": 1, "Q": 2, "C": 3}


def _parts(path: str, origin: Point) -> Iterator[list[_Step]]:
    """The parts of a path without gaps; each begins with its first point."""
    part: list[_Step] = []
    command, numbers = "M", list[float]()
    for letter, number in _COMMAND.findall(path):
        if letter:
            command = letter
            if letter == "M" and part:
                yield part
                part = []
            continue
        numbers.append(float(number))
        if len(numbers) == 2 * _TAKES[command]:
            pairs = zip(numbers[::2], numbers[1::2], strict=True)
            part.append((command, [(x + origin[0], y + origin[1]) for x, y in pairs]))
            numbers = []
    if part:
        yield part


def _segment(command: str, points: list[Point], stop: str) -> str:
    if command == "C":
        return f".. controls {_pair(points[0])} and {_pair(points[1])} .. {stop}"
    if command == "Q":
        return f".. controls {_pair(points[0])} .. {stop}"
    return f"-- {stop}"


def _pair(point: Point) -> str:
    return f"({_number(point[0])},{_number(point[1])})"


def _number(value: float) -> str:
    return f"{value + 0.0:.2f}".rstrip("0").removesuffix(".")
