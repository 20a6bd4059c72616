"""Pictures of parse trees: what is shown, where it is, and that it can be read."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

import workbench as wb
from workbench.base.source import Span
from workbench.drawing.parse_tree import ShownNode, draw_tree, nodes_of, shown_tree
from workbench.grammar.gallery import load_gallery

JSON = load_gallery()["json"].text


def shown(
    text: str,
    grammar: str = JSON,
    *,
    every: bool = False,
    most: int = 70,
    unfolded: tuple[str, ...] = (),
) -> ShownNode:
    tree = wb.parse_trees(wb.Grammar.from_kbnf(grammar), text).first
    assert tree is not None
    return shown_tree(tree, every=every, most=most, unfolded=unfolded)


def outline(root: ShownNode) -> list[str]:
    return [f"{'  ' * node.path.count('.')}{node.shown}" for node in nodes_of(root)]


def test_chains_letters_and_empty_parts() -> None:
    assert outline(shown('{"abc": 12}')) == [
        "start › value › object",
        "  {",
        "  member",
        "    string",
        '      "',
        "      plain ×3",
        "        abc",
        '      "',
        "    :",
        "    ws",
        "      ·",
        "    value › number › integer",
        "      12",
        "  }",
    ]


def test_every_node_is_shown_on_request() -> None:
    tree = wb.parse_trees(wb.Grammar.from_kbnf(JSON), "[1]").first
    assert tree is not None
    assert len(list(nodes_of(shown_tree(tree, every=True)))) == len(list(tree.walk()))


def test_unfinished_tree_shows_what_comes_next() -> None:
    grammar = "start ::= 'x' list; list ::= '[' #'[0-9]' ',' #'[0-9]' ']';"
    assert outline(shown("x[1", grammar)) == [
        "start",
        "  x",
        "  list",
        "    [",
        "    1",
        "    … ','",
        "    … #'[0-9]'",
    ]


def test_large_trees_are_folded_far_from_the_end() -> None:
    text = "[" + ", ".join('{"a": 1}' for _ in range(60)) + "]"
    few = shown(text, most=40)
    leaves = [node for node in nodes_of(few) if node.is_leaf]
    folded = [node for node in leaves if node.is_folded]
    assert folded
    assert b"".join(leaf.text for leaf in leaves) == text.encode()
    again = shown(text, most=40, unfolded=(folded[-1].path,))
    assert not next(node for node in nodes_of(again) if node.path == folded[-1].path).is_folded


TEXTS = ['{"a": [1, {"bb": "ccc"}], "d": null}', "[[[[]]]]", '{"a": [1,', "7"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("every", [False, True])
def test_no_two_nodes_overlap(text: str, every: bool) -> None:
    root = shown(text, every=every)
    drawn = draw_tree(root, [Span(0, 1)], Span(0, 1))
    rows: dict[float, list[tuple[float, float]]] = {}
    for box in re.findall(
        r'<rect x="([\d.-]+)" y="([\d.]+)" width="([\d.]+)" height="20"', drawn.svg
    ):
        x, y, width = map(float, box)
        rows.setdefault(y, []).append((x, x + width))
        assert x >= 0
        assert x + width <= drawn.width
    for row in rows.values():
        row.sort()
        assert all(left[1] <= right[0] + 0.2 for left, right in pairwise(row))


def test_svg_is_deterministic_and_has_sizes() -> None:
    first, second = (draw_tree(shown('{"a": [1]}'), [Span(0, 3)], Span(0, 3)) for _ in range(2))
    assert first.svg == second.svg
    root = ElementTree.fromstring(first.svg)
    sizes = [
        float(text.get("font-size", "0")) for text in root.iter("{http://www.w3.org/2000/svg}text")
    ]
    assert min(sizes) >= 11
    assert len(root.findall(".//{*}path[@class='border now']")) == 1


def test_token_borders_are_under_what_they_read() -> None:
    root = shown("[12,345]")
    text = b"[12,345]"
    tokens = [Span(0, 2), Span(2, 5), Span(5, 8)]
    drawn = draw_tree(root, tokens, tokens[1])
    borders = [
        tuple(map(float, found))
        for found in re.findall(
            r'd="M([\d.]+) [\d.]+V[\d.]+H([\d.]+)V[\d.]+" class="border', drawn.svg
        )
    ]
    assert len(borders) == 3
    assert all(left[1] < right[0] for left, right in pairwise(borders))
    leaf = next(node for node in drawn.nodes if node.text == b"345" and node.is_leaf)
    assert borders[1][0] < leaf.x < borders[2][1]
    assert text[leaf.bytes.start : leaf.bytes.end] == b"345"
