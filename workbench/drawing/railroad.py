"""Railroad diagrams of rules or of a regex, as one SVG.

Laid out by ``railroad-diagrams``; what it lays out is written anew here, so that the picture holds
nothing but shapes, text and names, and gets its colours from our style sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

import railroad

from workbench.drawing.text import columns, printable, shorten
from workbench.drawing.tracks import WIDE, Item, Tracks, extent
from workbench.pushdown.cfg import gathered
from workbench.syntax.grammar_tree import Expression, GrammarTree
from workbench.syntax.regex.tree import Regex

#: Boxes and branches drawn of one rule and of all, and rules; more would be wallpaper.
MOST_PARTS, MOST_DEEP, MOST_IN_ALL, MOST_RULES = 240, 24, 1_200, 150

_NAMESPACE = "http://www.w3.org/2000/svg"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_TAGS = frozenset({"g", "path", "rect", "text", "title"})
_ATTRIBUTES = frozenset(
    {"class", "d", "x", "y", "width", "height", "rx", "ry", "transform"}
    | {"data-rule", "data-start", "data-end"}
)

#: Width of a letter in the name of a rule.
_LETTER = 9.0

#: Pixels around the picture, above a rule for its name, and between two rules.
_MARGIN, _NAME, _BETWEEN = 14, 26, 20


@dataclass(frozen=True, slots=True)
class Railroad:
    """The diagrams of all rules, one below the other.

    ``svg`` has a group for each rule, ``g.rule`` with ``data-rule`` its name, ``data-start`` and
    ``data-end`` the place of its definition; boxes of calls, ``g.non-terminal``, have the same of
    the rule they call, so that a click on them can lead there.
    """

    svg: str
    rules: int
    #: How many of them are drawn; the others are told about in the picture.
    drawn: int
    #: The width of the picture, in pixels.
    width: float


@dataclass(frozen=True, slots=True)
class _Titled:
    """One rule to be drawn, and where it is defined."""

    name: str
    body: Expression | Regex
    start: int
    end: int


def draw_railroad(grammar: GrammarTree | Regex, *, width: float = WIDE) -> Railroad:
    """The diagrams of all rules, in the order of the text; of a regex its only one.

    Rules that are too large are named and said to be so.
    """
    titled = _titled(grammar)
    places = {rule.name: (rule.start, rule.end) for rule in titled}
    svg = ElementTree.Element("svg", {"xmlns": _NAMESPACE})
    top, right, left, drawn = float(_MARGIN), 0.0, MOST_IN_ALL, 0
    for number, rule in enumerate(titled):
        parts, deep = extent(rule.body)
        if number == MOST_RULES or (parts <= MOST_PARTS and deep <= MOST_DEEP and parts > left):
            told = f"{len(titled) - number:,} more rules are not drawn"
            _say(svg, told, _MARGIN, top)
            top, right = top + 2 * _BETWEEN, max(right, 8.0 * len(told))
            break
        group = _group(svg, rule, number, top, width)
        if parts <= MOST_PARTS and deep <= MOST_DEEP:
            left, drawn = left - parts, drawn + 1
            diagram = _diagram(Tracks(places, width).of(rule.body))
            _copy(diagram.children[-1], group)
            across, down = float(diagram.attrs["width"]), float(diagram.attrs["height"])
        else:
            told = _too_large(parts, deep)
            _say(group, told, 0, 0)
            across, down = 8.0 * len(told), 26.0
        right, top = (
            max(right, across, _LETTER * min(columns(rule.name), int(width / _LETTER))),
            top + _NAME + down + _BETWEEN,
        )
    wide = right + 2 * _MARGIN
    return Railroad(_framed(svg, wide, top), len(titled), drawn, wide)


def _titled(grammar: GrammarTree | Regex) -> list[_Titled]:
    if not isinstance(grammar, GrammarTree):
        return [_Titled("regex", grammar, grammar.span.start, grammar.span.end)]
    first = {rule.name: rule.name_span for rule in reversed(grammar.rules)}
    return [
        _Titled(name, body, first[name].start, first[name].end)
        for name, body in gathered(grammar).items()
    ]


def _too_large(parts: int, deep: int) -> str:
    if deep > MOST_DEEP:
        return f"brackets {deep:,} deep: too deep to draw"
    return f"{parts:,} parts: too large to draw"


def _say(group: ElementTree.Element, told: str, x: float, top: float) -> None:
    """A sentence where a diagram would stand."""
    attributes = {"class": "toolarge", "x": f"{x:g}", "y": f"{top + 18:g}"}
    ElementTree.SubElement(group, "text", attributes).text = told


def _diagram(tracks: Item) -> Item:
    diagram = railroad.Diagram(railroad.Start("simple"), tracks, railroad.End("simple"))
    return diagram.format(4, 4, 4, 0)


def _group(
    svg: ElementTree.Element, rule: _Titled, number: int, top: float, width: float
) -> ElementTree.Element:
    """The group a rule is drawn in, with its name above it."""
    outer = ElementTree.SubElement(
        svg,
        "g",
        {
            "class": "rule",
            "id": f"rule-{number}",
            "data-rule": printable(rule.name),
            "data-start": str(rule.start),
            "data-end": str(rule.end),
            "transform": f"translate({_MARGIN} {top:g})",
        },
    )
    name = ElementTree.SubElement(outer, "text", {"class": "rulename", "y": "14"})
    name.text = shorten(printable(rule.name), int(width / _LETTER))
    return ElementTree.SubElement(outer, "g", {"transform": f"translate(0 {_NAME})"})


def _framed(svg: ElementTree.Element, width: float, height: float) -> str:
    size = f"{width:g}", f"{height:g}"
    svg.attrib |= {
        "class": "machine railroad",
        "role": "group",
        "aria-label": "Railroad diagrams of the rules",
        "width": size[0],
        "height": size[1],
        "viewBox": f"0 0 {size[0]} {size[1]}",
    }
    return ElementTree.tostring(svg, encoding="unicode")


def _copy(item: Item, into: ElementTree.Element) -> None:
    """What was laid out, as elements of ours: nothing but the kinds and attributes listed."""
    name = getattr(item, "name", "path")  # the package's paths have no name of their own
    if name not in _TAGS:
        return
    attributes = {key: _number(value) for key, value in item.attrs.items() if key in _ATTRIBUTES}
    copied = ElementTree.SubElement(into, name, attributes)
    children: Sequence[Item | str] = getattr(item, "children", ())
    if name in ("text", "title"):
        copied.text = printable("".join(child for child in children if isinstance(child, str)))
        if name == "text":
            copied.set(_SPACE, "preserve")
        return
    for child in children:
        _copy(child, copied)


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).strip()
