"""dot(): the DOT text has exactly the labels of the graph, also untrusted ones."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from workbench.base.visible_text import printable, shorten, visible
from workbench.drawing.dot import dot
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.render import renderer

NASTY = [
    '"]; evil [label="x',
    "\\",
    "a\\",
    '\\"',
    "\\N \\G \\E \\T \\H \\L",
    "\\n\\l\\r",
    "<b>bold</b>",
    "<<table></table>>",
    "&lt;script&gt;",
    "&amp;amp;",
    "&#65; &#x41; &eacute; & &;",
    "${alert(1)} {{value}} `x`",
    "]]> --> <!-- <![CDATA[",
    "{a|<p> b}",
    "a:b:c",
    "%s %d %%",
    "/* */ // #",
    "漢字 😀 עברית é",
]


def one_edge(label: str, node: str = "") -> Graph:
    return Graph(
        label, (Node("0", node, ("initial",), label), Node("1")), (Edge("0", "1", (label,)),)
    )


def spoken(svg: str, group: str) -> list[str]:
    """The lines of text in a group of the picture."""
    root = ElementTree.fromstring(svg)
    found = next(g for g in root.iterfind(".//{*}g") if g.get("id") == group)
    return [(text.text or "").strip() for text in found.iterfind(".//{*}text")]


def lines(label: str) -> list[str]:
    return [line.strip() for line in printable(label).split("\n") if line.strip()]


@pytest.mark.parametrize("label", NASTY)
def test_labels_reach_the_picture_unchanged(label: str) -> None:
    svg = renderer().draw(one_edge(label, label))
    assert spoken(svg, "edge-0") == lines(label)
    assert spoken(svg, "state-0") == lines(label)
    root = ElementTree.fromstring(svg)
    assert root.get("aria-label") == label
    titles = [t.text for g in root.iterfind(".//{*}g") if g.get("id") == "state-0" for t in g]
    assert label in titles


@pytest.mark.exhaustive
@settings(max_examples=150, deadline=None)
@given(st.text(max_size=24))
def test_any_text_reaches_the_picture(label: str) -> None:
    assume(label.count("\n") < 6)
    cut = [shorten(line, 28).strip() for line in printable(label).split("\n")]
    shown = spoken(renderer().draw(one_edge(label)), "edge-0")
    assert [line for line in shown if line] == [line for line in cut if line]


@pytest.mark.exhaustive
@settings(max_examples=150, deadline=None)
@given(st.binary(min_size=1, max_size=12))
def test_any_token_reaches_the_picture(token: bytes) -> None:
    label = visible(token)
    svg = renderer().draw(one_edge(label[:28]))
    assert "".join(spoken(svg, "edge-0")) == label[:28]


def test_long_labels_are_cut_and_shown_on_hover() -> None:
    words = tuple(f"word{i}" for i in range(9))
    graph = Graph("g", (Node("0"), Node("1")), (Edge("0", "1", ("x" * 99,)), Edge("1", "0", words)))
    svg = renderer().draw(graph)
    assert spoken(svg, "edge-0") == ["x" * 18 + "…" + "x" * 9]
    assert spoken(svg, "edge-1") == ["word0", "word1", "word2", "word3", "word4", "and 4 more"]
    assert "x" * 99 in svg
    assert "word8" in svg


def test_classes_and_ids() -> None:
    nodes = (
        Node("a", "1", ("initial", "final")),
        Node("b", "a long label"),
        Node("c", "→ rule", ("call",), cluster="rule"),
    )
    text = dot(Graph("g", nodes, (Edge("a", "b", ("x",), ("skip", "back")),)))
    assert 'class="state initial final"' in text
    assert 'class="state call"' in text
    assert 'class="arc skip back"' in text
    for identity in ("state-a", "state-b", "state-c", "edge-0", "rule-0"):
        assert f'id="{identity}"' in text
    assert "subgraph cluster_0" in text


@pytest.mark.slow
def test_an_arrow_leads_into_each_initial_state() -> None:
    nodes = (Node("a", "1", ("initial",)), Node("b", "2", ("final",)))
    graph = Graph("g", nodes, (Edge("a", "b", ("x",)),))

    def edges(text: str) -> list[str]:
        lines = renderer().plain(text).splitlines()
        return [line.partition(" ")[2] for line in lines if line.startswith("edge")]

    (only,) = edges(dot(graph))
    assert only.startswith("a b ")
    assert sorted(each[:11] for each in edges(dot(graph, start_arrow=True)))[0] == '"start a" a'


def test_no_colours_and_no_links() -> None:
    text = dot(one_edge("x", "a long label"))
    assert not re.search(r"\b(color|fillcolor|fontcolor|URL|href|target|image)=", text)
    assert "bgcolor=transparent" in text


@pytest.mark.parametrize("direction", ["LR", "TB"])
def test_the_direction_is_written(direction: str) -> None:
    assert f"rankdir={direction}" in dot(one_edge("x"), "LR" if direction == "LR" else "TB")
