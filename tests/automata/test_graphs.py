"""Reachability and strongly connected components of small graphs."""

from __future__ import annotations

import pytest

from workbench.automata.graphs import components, coreachable, cyclic_components, reachable

#: 0 → 1 → 2 → 1, 2 → 3, and 4 → 0 from outside.
GRAPH = {0: (1,), 1: (2,), 2: (1, 3), 3: (), 4: (0,)}
EDGES = [(source, target) for source, targets in GRAPH.items() for target in targets]


@pytest.mark.parametrize(
    ("starts", "found"),
    [([0], [0, 1, 2, 3]), ([3], [3]), ([4, 2], [4, 2, 0, 1, 3]), ([], [])],
)
def test_nodes_reachable_from_the_starts(starts: list[int], found: list[int]) -> None:
    assert list(reachable(starts, GRAPH.__getitem__)) == found


@pytest.mark.parametrize(
    ("ends", "found"), [([3], {0, 1, 2, 3, 4}), ([0], {0, 4}), ([4], {4}), ([], set())]
)
def test_nodes_from_which_the_ends_are_reached(ends: list[int], found: set[int]) -> None:
    assert coreachable(ends, EDGES).keys() == found


def test_successors_are_computed_once_for_each_node() -> None:
    calls: list[int] = []

    def successors(node: int) -> tuple[int, ...]:
        calls.append(node)
        return GRAPH[node]

    assert list(reachable([0], successors)) == calls


#   graph                               components                  because
COMPONENTS = [
    (GRAPH,                             [{1, 2}],                   "one cycle"),
    ({"a": ["a"], "b": ["a"]},          [{"a"}],                    "a node that is its own successor"),
    ({"a": ["b"], "b": ["c"]},          [],                         "no cycle, and a node without a key"),
    ({0: [1], 1: [0, 2], 2: [3], 3: [2]}, [{2, 3}, {0, 1}],         "two components, one after the other"),
]  # fmt: skip


@pytest.mark.parametrize(("graph", "cyclic", "because"), COMPONENTS)
def test_cyclic_components(
    graph: dict[object, list[object]], cyclic: list[set[object]], because: str
) -> None:
    assert cyclic_components(graph) == cyclic, because


def test_a_component_comes_after_those_that_it_leads_to() -> None:
    assert list(components(GRAPH)) == [{3}, {1, 2}, {0}, {4}]
