"""Graph: invalid graphs are rejected, and folded states are found."""

from __future__ import annotations

import pytest

from tests.drawing.graphs import graph
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.reductions import collapse_chains


@pytest.mark.parametrize("name", ["", "a b", "a:b", 'a"', "ä", "<0>", "a\n"])
def test_error_when_an_id_is_not_a_name(name: str) -> None:
    with pytest.raises(ValueError, match="expected letters, digits"):
        Node(name)


def test_error_when_an_edge_ends_nowhere() -> None:
    with pytest.raises(ValueError, match="edge 0 → 1 has no node at its end"):
        Graph("g", (Node("0"),), (Edge("0", "1"),))


def test_error_when_two_nodes_are_one() -> None:
    with pytest.raises(ValueError, match="same id"):
        Graph("g", (Node("0"), Node("0")), ())


def test_error_when_chains_and_labels_differ_in_number() -> None:
    step = Edge("0", "1", ("a",))
    with pytest.raises(ValueError, match="1 chains for 2 labels"):
        Edge("0", "1", ("a", "b"), chains=((step,),))


def test_where_every_state_is_shown() -> None:
    folded = collapse_chains(graph(4, [(0, 1, "a"), (1, 2, "b"), (2, 3, "c")], [3]))
    assert folded.where == {"0": "state-0", "3": "state-3", "1": "edge-0", "2": "edge-0"}


def test_the_initial_state_of_a_graph() -> None:
    assert graph(2, [(0, 1, "a")], [1]).initial == "0"
    assert Graph("empty", (), ()).initial is None
