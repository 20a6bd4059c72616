"""Reductions keep the language, the position of every state, and the centre."""

from __future__ import annotations

from itertools import pairwise
from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.drawing.graphs import Arc, arcs, graph, states, texts
from workbench.drawing.drawable import draw
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.reductions import (
    collapse_chains,
    merge_parallel,
    nearest,
    reduce,
)
from workbench.grammar.grammar import Grammar

COUNT = 7
GRAPHS = st.builds(
    lambda found, finals: graph(COUNT, dict.fromkeys(found), finals),
    st.lists(
        st.tuples(st.integers(0, COUNT - 1), st.integers(0, COUNT - 1), st.sampled_from("abc")),
        max_size=12,
    ),
    st.sets(st.integers(0, COUNT - 1), max_size=3),
)


@given(GRAPHS)
def test_collapse_keeps_the_language(whole: Graph) -> None:
    assert texts(collapse_chains(whole), 6) == texts(whole, 6)


@given(GRAPHS)
def test_collapse_keeps_a_place_for_every_state(whole: Graph) -> None:
    folded = collapse_chains(whole)
    assert set(folded.where) == states(whole)
    for state, element in folded.where.items():
        if element.startswith("edge-"):
            assert state in folded.edges[int(element.removeprefix("edge-"))].inside


@given(GRAPHS)
def test_collapse_keeps_the_steps(whole: Graph) -> None:
    steps = [
        (step.source, step.target, step.labels)
        for edge in collapse_chains(whole).edges
        for way in (edge.chains or [[Edge(edge.source, edge.target, (x,)) for x in edge.labels]])
        for step in way
    ]
    drawn = {(source, target, label) for source, target, labels in steps for label in labels}
    assert drawn == arcs(whole)


@given(GRAPHS)
def test_merge_keeps_the_labels(whole: Graph) -> None:
    merged = merge_parallel(whole)
    assert arcs(merged) == arcs(whole)
    ends = [(edge.source, edge.target) for edge in merged.edges]
    assert len(ends) == len(set(ends))


#   arcs                                            finals  folded                       because
CHAINS: list[tuple[list[Arc], list[int], set[tuple[str, str, str]], str]] = [
    ([(0, 1, "a"), (1, 2, "b")], [2],               {("0", "2", "ab")},
     "one way in, one way out"),
    ([(0, 1, "a"), (1, 2, "b")], [1, 2],            {("0", "1", "a"), ("1", "2", "b")},
     "a final state is seen"),
    ([(0, 1, "a"), (1, 0, "b")], [0],               {("0", "0", "ab")},
     "back to where it began"),
    ([(0, 1, "a"), (1, 1, "x"), (1, 2, "b")], [2],  {("0", "1", "a"), ("1", "1", "x"),
                                                     ("1", "2", "b")},
     "a loop is seen"),
    ([(0, 1, "a"), (1, 3, "b"), (0, 2, "c"), (2, 3, "d")], [3],  {("0", "3", "ab"),
                                                                  ("0", "3", "cd")},
     "two chains side by side become one edge with two labels"),
    ([(0, 1, "a"), (1, 3, "b"), (0, 2, "a"), (2, 3, "b")], [3],  {("0", "3", "ab")},
     "two chains may read the same"),
    ([(0, 3, "e"), (1, 2, "a"), (2, 1, "b")], [3],  {("0", "3", "e"), ("1", "1", "ab")},
     "an isolated cycle does not vanish"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("found", "finals", "folded", "because"), CHAINS, ids=[row[3] for row in CHAINS]
)
def test_chains_collapse_to_one_edge(
    found: list[Arc], finals: list[int], folded: set[tuple[str, str, str]], because: str
) -> None:
    assert arcs(collapse_chains(graph(4, found, finals))) == folded, because


def test_collapse_counts_a_class_read_several_times() -> None:
    digits = [Edge(str(s), str(s + 1), ("[0-9]",), ("class",)) for s in range(4)]
    dash = Edge("4", "5", ("-",))
    nodes = (Node("0", kinds=("initial",)), *map(Node, "1234"), Node("5", kinds=("final",)))
    (edge,) = collapse_chains(Graph("year", nodes, (*digits, dash))).edges
    assert edge.labels == ("[0-9]{4}-",)
    assert edge.inside == ("1", "2", "3", "4")


def test_collapse_writes_letters_in_any_case_as_a_word() -> None:
    """The label, read as a regex, has the same texts; ASCII's cases alone are another class."""
    regex = "(?i:ask)_(?i:by)[sS][eE][kK]t"
    (edge,) = collapse_chains(draw(Grammar.from_regex(regex)).graph).edges
    assert edge.labels == (regex,)
    for letter in ascii_lowercase:
        (edge,) = collapse_chains(draw(Grammar.from_regex(f"(?i:{letter}x)")).graph).edges
        assert edge.labels == (f"(?i:{letter}x)",)
    letters = [Edge("0", "1", ("[xX]",)), Edge("1", "2", ("[yY]",))]  # texts, not classes
    nodes = (Node("0", kinds=("initial",)), Node("1"), Node("2", kinds=("final",)))
    (edge,) = collapse_chains(Graph("text", nodes, tuple(letters))).edges
    assert edge.labels == ("[xX][yY]",)


@pytest.mark.parametrize("kind", ["epsilon", "push", "pop", "skip", "bytes"])
def test_collapse_leaves_edges_that_do_more_than_read(kind: str) -> None:
    nodes = (Node("0", kinds=("initial",)), Node("1"), Node("2", kinds=("final",)))
    edges = (Edge("0", "1", ("a",)), Edge("1", "2", ("b",), (kind,)))
    assert len(collapse_chains(Graph("g", nodes, edges)).nodes) == 3


def test_collapse_stays_inside_a_frame() -> None:
    nodes = (Node("0", kinds=("initial",), cluster="x"), Node("1", cluster="y"), Node("2"))
    edges = (Edge("0", "1", ("a",)), Edge("1", "2", ("b",)))
    assert len(collapse_chains(Graph("g", nodes, edges)).nodes) == 3


def test_merge_keeps_edges_with_different_effects_separate() -> None:
    nodes = (Node("0"), Node("1"))
    edges = (
        Edge("0", "1", ("a",), count=1, examples=("a",)),
        Edge("0", "1", ("foo",), ("skip",), 1, ("foo",)),
        Edge("0", "1", ("bar",), ("skip",), 1, ("bar",)),
    )
    plain, skips = merge_parallel(Graph("g", nodes, edges)).edges
    assert plain == edges[0]
    assert (skips.labels, skips.count, skips.examples) == (("foo", "bar"), 2, ("foo", "bar"))


LINE = graph(10, [(s, s + 1, "a") for s in range(9)], [9])


def test_nearest_adds_other_nodes_if_few_are_connected() -> None:
    apart = graph(5, [(0, 1, "a"), (2, 3, "b")], [1])
    assert states(nearest(apart, "0", 3)) == {"0", "1", "2"}


@pytest.mark.parametrize(
    ("count", "limit", "text"),
    [
        (1, 60, "1 state"),
        (10, 60, "10 states"),
        (40, 60, "showing 2 of 40 states; 38 stand inside edges"),
    ],
)
def test_reduce_reports_how_much_is_shown(count: int, limit: int, text: str) -> None:
    line = graph(count, [(s, s + 1, "a") for s in range(count - 1)], [count - 1])
    shown = reduce(line, limit)
    assert shown.text == text
    assert (shown.total_nodes, shown.shown_nodes) == (count, len(shown.graph.nodes))


def _ladder(count: int) -> Graph:
    """Nothing to fold: two letters lead from each state to two others."""
    steps = [(s, min(s + hop, count - 1), "ab"[hop - 1]) for s in range(count) for hop in (1, 2)]
    return graph(count, steps, [count - 1])


@pytest.mark.slow
@pytest.mark.parametrize("centre", [None, "0", "1000", "1999", "no such state"])
def test_reduce_keeps_the_centre_of_a_large_graph(centre: str | None) -> None:
    shown = reduce(_ladder(2000), 41, centre)
    assert shown.shown_nodes == 41
    assert (centre if centre in shown.graph.where else "0") in shown.graph.where
    assert shown.text.startswith("showing 41 of 2,000 states, those around ")


def test_reduce_shows_the_edge_a_folded_centre_is_in() -> None:
    shown = reduce(graph(100, [(s, s + 1, "a") for s in range(99)], [99]), 60, "50")
    assert shown.graph.where["50"] == "edge-0"


def test_reduce_takes_fewer_states_if_there_are_many_edges() -> None:
    full = graph(40, [(s, t, "a") for s in range(40) for t in range(40)], [39])
    shown = reduce(full, 60)
    assert len(shown.graph.edges) <= 48
    assert "0" in shown.graph.where


def _rules(count: int, size: int) -> Graph:
    """Rules r0, r1, … with these numbers of states; each calls the one after the next."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    for rule in range(count):
        ids = [f"{rule}-{s}" for s in range(size)]
        marks = [(*("initial",) * (rule + s == 0), *("rule",) * (s == 0)) for s in range(size)]
        nodes += [Node(i, kinds=m, cluster=f"r{rule}") for i, m in zip(ids, marks, strict=True)]
        edges += [Edge(a, b, ("x", "y")) for a, b in pairwise(ids)]
        called = f"r{(rule + 2) % count}"
        nodes.append(Node(f"call-{rule}", "→", ("call",), cluster=f"r{rule}", calls=called))
        edges += [Edge(ids[0], f"call-{rule}"), Edge(f"call-{rule}", ids[-1])]
    return Graph("rules", tuple(nodes), tuple(edges))


def test_rules_are_shown_whole_the_called_ones_first() -> None:
    shown = reduce(_rules(9, 5), 20)
    assert shown.graph.clusters == ("r0", "r2", "r4")
    assert shown.text == "showing 3 of 9 rules"
    assert (shown.shown_nodes, shown.total_nodes) == (15, 45)
    assert {"call-0", "call-2", "call-4"} <= states(shown.graph)
    assert not states(shown.graph, "more")


def test_the_rule_of_the_centre_comes_first() -> None:
    assert reduce(_rules(9, 5), 12, "5-3").graph.clusters == ("r5", "r7")


def test_a_rule_too_large_is_shown_in_part() -> None:
    shown = reduce(_rules(3, 50), 10)
    assert shown.graph.clusters == ("r0",)
    assert len(shown.graph.nodes) == 10
