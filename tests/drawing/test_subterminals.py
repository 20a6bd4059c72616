"""Pictures of scanners and subterminal trees: DOMINO's Figures 3 and 4."""

from __future__ import annotations

import pytest

from workbench.base.limits import LIMITS
from workbench.constraint.methods.domino.domino import domino
from workbench.drawing.graph import Edge, Graph
from workbench.drawing.subterminals import (
    FIGURES,
    draw_pruned,
    draw_scanner,
    draw_tree,
    figure_3_constraint,
    figure_3b,
    figure_3d,
    figure_3e,
    figure_4,
)
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import toy


def ways(graph: Graph) -> dict[tuple[str, ...], str]:
    """Every path from the root by its labels, with the tokens at its end."""
    found: dict[str, tuple[str, ...]] = {}
    labels = {node.id: node.label for node in graph.nodes}
    for edge in graph.edges:  # drawn from the root on
        found[edge.target] = (*found.get(edge.source, ()), *edge.labels)
    return {path: labels[node] for node, path in found.items()}


def test_figure_3b_has_a_box_for_every_terminal_and_an_edge_back() -> None:
    graph = figure_3b()
    boxes = {node.label: node.id for node in graph.nodes if "call" in node.kinds}
    assert set(boxes) == {"int", "'('", "')'", "'+'"}
    edges = {(edge.source, edge.target) for edge in graph.edges}
    assert edges == {
        *(("begin", box) for box in boxes.values()),
        *((box, "end") for box in boxes.values()),
        ("end", "begin"),
    }


def test_figure_4_is_the_automaton_of_int() -> None:
    graph = figure_4()
    labels = {node.id: node.label for node in graph.nodes}
    edges = {(labels[e.source], e.labels[0], e.source == e.target) for e in graph.edges}
    ends = {node.label for node in graph.nodes if "final" in node.kinds}
    assert graph.initial is not None
    assert labels[graph.initial] == "int"
    assert len(ends) == 2
    assert {("int", "0", False), ("int", "[1-9]", False)} <= edges
    assert {label for _, label, loop in edges if loop} == {"0", "[0-9]"}


def test_figure_3d_has_all_that_can_be_scanned_after_a_number() -> None:
    assert ways(figure_3d()) == {
        ("…int]",): "0 1 12 2",
        ("…int]", "[int]"): "12",
        ("['(']",): "(",
        ("[')']",): ")",
        ("[')']", "['+']"): "",
        ("[')']", "['+']", "[int]"): ")+1",
        ("['+']",): "+",
        ("['+']", "[int]"): "+1",
        ("[int]",): "0 1 12 2",
        ("[int]", "[int]"): "12",
        ("[$]",): "EOS",
    }


def test_no_digit_follows_a_zero() -> None:
    found = ways(figure_3d(b"0"))
    assert found["…int]",] == "0"
    assert found["[int]",] == "0 1 12 2", "as a separate number, which the parser refuses"


#   k      drawn as left out             refused
PRUNED = [
    (0,    {"+1", ")+1", ""},            {"(", "0 1 12 2", "EOS"}),
    (1,    {")+1"},                      {"(", "0 1 12 2", "EOS"}),
    (2,    set(),                        {"(", "0 1 12 2", "EOS"}),
    (None, set(),                        {"(", "0 1 12 2", "EOS"}),
]  # fmt: skip


@pytest.mark.parametrize(("k", "deeper", "refused"), PRUNED)
def test_figure_3e(k: int | None, deeper: set[str], refused: set[str]) -> None:
    graph = figure_3e(k)
    marked = {
        mark: {n.label for n in graph.nodes if mark in n.kinds} for mark in ("deeper", "refused")
    }
    assert marked == {"deeper": deeper, "refused": refused}
    assert {node.label for node in graph.nodes if not {"deeper", "refused"} & set(node.kinds)} >= {
        "0 1 12 2",
        ")",
        "+",
    }
    for edge in graph.edges:
        assert ("refused" in edge.kinds) == edge.labels[0].startswith("✗")


def test_a_tree_distinguishes_partial_and_full_terminals() -> None:
    constraint = domino(
        Grammar.from_kbnf("start ::= 'while' start 'x' | 'x';"),
        toy(("w", "hi", "while", "whilex", "le", "x")),
        LIMITS,
    )
    drawn = draw_tree(constraint.scanner, constraint.trees, constraint.vocabulary, 0)
    assert ways(drawn) == {
        ("['while'…",): "w",
        ("['while']",): "while",
        ("['while']", "['x']"): "whilex",
        ("['x']",): "x",
        ("[$]",): "EOS",
    }


def test_separate_readings_have_separate_roots() -> None:
    """After 'a' it may be the keyword, or a longer name."""
    constraint = domino(
        Grammar.from_kbnf("start ::= 'ab' start ';' | #'[a-c]+' '.';"),
        toy(("a", "b", "c", ";", ".", "ab")),
        LIMITS,
    )
    state = constraint.advance(constraint.initial, 0)
    graph = draw_pruned(constraint, state)
    assert len([node for node in graph.nodes if "initial" in node.kinds]) == 2
    assert {edge.labels[0] for edge in graph.edges if "refused" not in edge.kinds} >= {
        "…'ab']",
        "['.']",
    }


def test_a_scanner_has_the_automaton_of_each_box_in_a_frame() -> None:
    graph = draw_scanner(figure_3_constraint().scanner)
    assert set(graph.clusters) == {"int", "'('", "')'", "'+'"}
    inside = [edge for edge in graph.edges if edge.kinds != ("epsilon",)]
    assert len([edge for edge in inside if own(graph, edge) == {"int"}]) == 4


def own(graph: Graph, edge: Edge) -> set[str]:
    return {node.cluster for node in graph.nodes if node.id in (edge.source, edge.target)}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_drawn_once_and_all_nodes_are_reachable(name: str) -> None:
    graph = FIGURES[name]()
    reached = {edge.target for edge in graph.edges} | {graph.initial}
    assert {node.id for node in graph.nodes} <= reached
