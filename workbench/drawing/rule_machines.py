"""The graph of a network of rules: a small machine for each rule, calls as boxes.

States have the numbers they have in the network, so one live state is found in every picture.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from workbench.drawing.characters import byte_edges, read_back
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.machines import reading_edges, state_node
from workbench.drawing.text import printable
from workbench.pushdown.network import Network
from workbench.syntax.regex.tree import Ranges


def draw_network(
    network: Network,
    name: str = "rules",
    leaves: Mapping[str, str] | None = None,
    written: Mapping[Ranges, str] | None = None,
) -> Graph:
    """The rules of a grammar, a small machine each; a call is a box on the way.

    Boxes have the id ``call-<rule>-<state to return to>``: what lies on the stack is
    that state, so a live stack can be shown on them. Rules of ``leaves`` are one edge with that
    label; ``leaf_states`` says where their states are found. ``written`` are the labels of
    character classes as their author wrote them.
    """
    rows = byte_edges(network.classes, network.table)
    labels = _labels(network, leaves or {})
    for state in _states_of(network, labels):
        rows[state] = []
    calls = [(s, rule, back) for s in range(len(network)) for rule, back in network.calling[s]]
    finals = set(np.flatnonzero(network.finals).tolist())
    solid = finals | {s for s, _, _ in calls}
    entries = [*network.initials, *(back for _, _, back in calls)]
    read = read_back(rows, entries, solid)
    nodes = [_rule_state(network, s) for s in sorted(read.states)]
    edges = list(reading_edges(read, written))
    for rule, back in dict.fromkeys((rule, back) for _, rule, back in calls):
        box = f"call-{rule}-{back}"
        called = printable(network.names[rule])
        title = f"calls {called}, then continues in state {back}"
        home = network.names[network.owner[back]]
        entered = network.names[rule]
        nodes.append(Node(box, f"→ {called}", ("call",), title, home, entered))
        edges.append(Edge(box, str(back), kinds=("call",)))
        edges += [Edge(str(s), box, kinds=("call",)) for s, r, b in calls if (r, b) == (rule, back)]
    for rule, label in labels.items():
        here = network.initials[rule]
        end = f"{here}-end"
        nodes.append(Node(end, "", ("final",), f"the end of {label}", network.names[rule]))
        edges.append(Edge(str(here), end, (printable(label),), ("terminal",), title=label))
    return Graph(name, tuple(nodes), tuple(edges))


def _labels(network: Network, leaves: Mapping[str, str]) -> dict[int, str]:
    """The label of every rule that is drawn as one edge."""
    return {rule: leaves[name] for rule, name in enumerate(network.names) if name in leaves}


def _states_of(network: Network, rules: Collection[int]) -> list[int]:
    found: list[int] = np.flatnonzero(np.isin(network.owner, list(rules))).tolist()
    return found


def leaf_states(network: Network, leaves: Mapping[str, str]) -> dict[str, str]:
    """For the states of rules that are drawn as one edge, the one that is drawn."""
    states = _states_of(network, _labels(network, leaves))
    return {str(state): str(network.initials[network.owner[state]]) for state in states}


def _rule_state(network: Network, state: int) -> Node:
    rule = int(network.owner[state])
    plain = state_node(
        state, network.initial, bool(network.finals[state]), cluster=network.names[rule]
    )
    if state != network.initials[rule]:
        return plain
    return Node(plain.id, plain.label, (*plain.kinds, "rule"), plain.title, plain.cluster)
