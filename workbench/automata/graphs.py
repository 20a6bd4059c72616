"""Reachability and strongly connected components of directed graphs.

Nodes are any hashable values. Kernels that work on arrays have their own traversals
(``nfa.coaccessible``).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

from workbench.base.limits import check_time_budget

Node = TypeVar("Node", bound=Hashable)


def reachable(
    starts: Iterable[Node], successors: Callable[[Node], Iterable[Node]]
) -> dict[Node, None]:
    """The nodes that can be reached from ``starts``, themselves included, breadth first.

    The result is a dict used as an ordered set. ``successors`` is called once for each node.
    """
    reached = dict.fromkeys(starts)
    order = deque(reached)
    while order:
        node = order.popleft()
        check_time_budget()
        for target in successors(node):
            if target not in reached:
                reached[target] = None
                order.append(target)
    return reached


def coreachable(ends: Iterable[Node], edges: Iterable[tuple[Node, Node]]) -> dict[Node, None]:
    """The nodes from which one of ``ends`` can be reached, by edges ``(source, target)``.

    For the states of an automaton and its final states: the co-accessible states.
    """
    sources: defaultdict[Node, list[Node]] = defaultdict(list)
    for source, target in edges:
        sources[target].append(source)
    return reachable(ends, lambda node: sources.get(node, ()))


def cyclic_components(successors: Mapping[Node, Iterable[Node]]) -> list[frozenset[Node]]:
    """The strongly connected components that contain a cycle, in the order of ``components``.

    A single node counts if it is its own successor. A node without successors need not be a key.
    """

    def is_cyclic(members: frozenset[Node]) -> bool:
        (node, *others) = members
        return bool(others) or node in successors.get(node, ())

    return list(filter(is_cyclic, components(successors)))


def components(successors: Mapping[Node, Iterable[Node]]) -> Iterator[frozenset[Node]]:
    """The strongly connected components, each after those that it leads to.

    A node without successors need not be a key.

    Source: Tarjan 1972, "Depth-first search and linear graph algorithms", without recursion.
    """
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    open_nodes: dict[Node, None] = {}
    for root in successors:
        work = [] if root in index else [(root, iter(successors[root]))]
        while work:
            check_time_budget()
            node, remaining = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                open_nodes[node] = None
            following = next(remaining, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    yield _pop_component(open_nodes, node)
            elif following not in index:
                work.append((following, iter(successors.get(following, ()))))
            elif following in open_nodes:
                low[node] = min(low[node], index[following])


def _pop_component(open_nodes: dict[Node, None], root: Node) -> frozenset[Node]:
    """Remove the component of ``root`` from the open nodes."""
    members = []
    while root in open_nodes:
        members.append(open_nodes.popitem()[0])
    return frozenset(members)
