"""Reduces Graphviz's SVG to shapes, text, classes and names that are safe in a page.

What is kept is listed; whatever else (links, scripts, handlers, styles, foreign content) goes.
Colours go too, except that black becomes ``currentColor``: the style sheet knows light and dark.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from workbench.drawing.dot import WORD_JOINER
from workbench.drawing.text import printable

NAMESPACE = "http://www.w3.org/2000/svg"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_TITLE_OF_LINK = "{http://www.w3.org/1999/xlink}title"

_SHAPES = frozenset({"path", "polygon", "polyline", "ellipse", "circle", "rect", "text", "title"})
_ATTRIBUTES = frozenset(
    {"id", "class", "transform", "d", "points", "cx", "cy", "rx", "ry", "r", "x", "y"}
    | {"width", "height", "text-anchor", "font-size", "stroke-width", "stroke-dasharray"}
)

#: Only these two are allowed in the picture; any other value would be a fixed colour.
_PAINT = {"none": "none", "black": "currentColor"}

MONOSPACED = "ui-monospace,SF Mono,Cascadia Mono,Menlo,Consolas,DejaVu Sans Mono,monospace"

#: A stack effect in a label: how many symbols are pushed or popped, or which state is.
_MARK = re.compile(r"(?:(?<=\s)|^)([▲▼][\w·]+)(?=\s|$)")

_ARROW = re.compile(r"([A-Za-z0-9_-]+)->([A-Za-z0-9_-]+)")


def sanitised(picture: bytes, name: str, description: str = "") -> str:
    """The picture with nothing in it that could act, named for screen readers.

    Raises: ValueError for what is no SVG.
    """
    text = picture.decode("utf-8")
    start = text.find("<svg")
    if start < 0 or "<!ENTITY" in text:
        raise ValueError("expected an SVG document without entities")
    # the prolog and the document type stay behind, and with them any way to name a file
    root = ElementTree.fromstring(text[start:])
    drawn = ElementTree.Element("svg", _frame(root, name))
    if description:
        ElementTree.SubElement(drawn, "desc").text = printable(description)
    for child in root:
        _copy(child, drawn)
    return ElementTree.tostring(drawn, encoding="unicode", short_empty_elements=True)


def _frame(root: ElementTree.Element, name: str) -> dict[str, str]:
    """The outermost attributes; a label, since a title here would pop up everywhere."""
    return {
        "xmlns": NAMESPACE,
        "class": "machine",
        "role": "group",
        "aria-label": printable(name),
        "width": root.get("width", ""),
        "height": root.get("height", ""),
        "viewBox": root.get("viewBox", ""),
        "font-family": MONOSPACED,
    }


def _copy(element: ElementTree.Element, into: ElementTree.Element) -> None:
    tag = _local(element.tag)
    if tag == "g":
        _copy_group(element, into)
    elif tag == "a":  # a hover text; its link, had it one, stays behind
        for child in element:
            _copy(child, into)
    elif tag in _SHAPES and tag != "title":
        copied = ElementTree.SubElement(into, tag, _attributes(element))
        if tag == "text":
            _fill(copied, _shown("".join(element.itertext())))


def _fill(text: ElementTree.Element, shown: str) -> None:
    """The text of an element; the stack effects in it are pieces with a class."""
    text.text, *marks = _MARK.split(shown)
    for mark, rest in zip(marks[::2], marks[1::2], strict=True):
        effect = "push" if mark.startswith("▲") else "pop"
        piece = ElementTree.SubElement(text, "tspan", {"class": effect})
        piece.text, piece.tail = mark, rest


def _copy_group(element: ElementTree.Element, into: ElementTree.Element) -> None:
    """A graph, frame, node or edge; the group around a link adds nothing and goes."""
    link = next((child for child in element if _local(child.tag) == "a"), None)
    if element.get("class") is None and link is not None:
        _copy(link, into)
        return
    copied = ElementTree.SubElement(into, "g", _attributes(element))
    kinds = copied.get("class", "").split()
    title = element.findtext(f"{{{NAMESPACE}}}title", "")
    if "edge" in kinds and (ends := _ARROW.fullmatch(title)):
        copied.set("data-source", ends[1])
        copied.set("data-target", ends[2])
    hover = _hover(element)
    if hover and "graph" not in kinds:
        ElementTree.SubElement(copied, "title").text = hover
    for child in element:
        _copy(child, copied)


def _hover(group: ElementTree.Element) -> str:
    """The tooltip Graphviz wrote, as a link's title somewhere in the group's own marks."""
    for child in group:
        if _local(child.tag) == "a":
            return _shown(child.get(_TITLE_OF_LINK, ""))
        if _local(child.tag) == "g" and child.get("class") is None:
            return _hover(child)
    return ""


def _attributes(element: ElementTree.Element) -> dict[str, str]:
    kept = {name: value for name, value in element.items() if name in _ATTRIBUTES}
    for name in ("fill", "stroke"):
        if name in element.attrib:
            kept[name] = _PAINT.get(element.attrib[name], "none")
    if _local(element.tag) == "text":
        kept["fill"] = "currentColor"
        kept[_SPACE] = "preserve"
    return kept


def _shown(text: str) -> str:
    """Graphviz writes two spaces as a space and a hard one; the joiner was ours."""
    return text.replace("\u00a0", " ").replace(WORD_JOINER, "")


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
