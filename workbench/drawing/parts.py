"""Parts of a machine: the states around a given state, as a graph.

Labels are what makes a large machine slow to draw, so only the states that will be seen get any:
the machine over tokens of a list of bullets took 9 s whole and takes 60 ms around a state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Protocol

import numpy as np

from workbench.automata.dfa import Dfa
from workbench.constraint.compose import TokenFsa
from workbench.constraint.compose_pda import TokenPda
from workbench.drawing.counting import fold_tokens, foot_of
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.machines import state_node
from workbench.drawing.rule_machines import draw_network
from workbench.drawing.stack_machines import STACK_NOTE, token_pda_edges, token_pda_nodes
from workbench.drawing.token_edges import TokenRows, token_edges
from workbench.vocabulary.vocabulary import TokenId

#: Pairs of states with an edge that a part may have for each state, and in any case; past that no
#: reader could follow it, and its labels would be made in vain.
_PAIRS, _ALWAYS, _LEAST = 3, 48, 4


class Links:
    """Where each state leads, in drawing order, and which states lead to it.

    Cost: once over all of a machine; a part of it then takes as long as the part is large.
    """

    def __init__(self, out: Mapping[str, Iterable[str]]) -> None:
        self.out = {state: dict.fromkeys(targets) for state, targets in out.items()}
        self._beside: dict[str, dict[str, None]] = {state: {} for state in self.out}
        self._entering: dict[str, set[str]] = {}
        for state, targets in self.out.items():
            for target in targets:
                self._beside[state][target] = None
                self._beside.setdefault(target, {})[state] = None
                self._entering.setdefault(target, set()).add(state)

    def near(self, centre: str, count: int) -> set[str]:
        """The ``count`` states nearest to one, along edges either way."""
        start = centre if centre in self._beside else next(iter(self.out))
        found = {start}
        waiting = deque([start])
        while waiting and len(found) < count:
            for other in self._beside[waiting.popleft()]:
                if other not in found and len(found) < count:
                    found.add(other)
                    waiting.append(other)
        return found

    def calm_near(self, centre: str, count: int) -> set[str]:
        """The nearest states, fewer where they lead to each other so often that it is a tangle."""
        while True:
            kept = self.near(centre, count)
            pairs = sum(target in kept for state in kept for target in self.out.get(state, ()))
            if pairs <= max(_PAIRS * count, _ALWAYS) or count <= _LEAST:
                return kept
            count = count * 4 // 5

    def cut_off(self, state: str, kept: set[str]) -> int:
        """How many edges of a state lead to states that are not kept, or come from them."""
        away = sum(target not in kept for target in self.out.get(state, ()))
        return away + sum(source not in kept for source in self._entering.get(state, ()))


class Parts(Protocol):
    """A machine that can be drawn whole or in part."""

    @property
    def states(self) -> int:
        """How many states there are; 0 where it is unknown."""
        ...

    def whole(self) -> Graph:
        """All of it.

        Raises: LimitError where it is too large.
        """
        ...

    def around(self, centre: str, count: int) -> Graph:
        """About ``count`` states around one, or around the first; those cut off are marked."""
        ...


class Whole:
    """A graph that is there already: a picture takes what it wants of it."""

    def __init__(self, graph: Graph, states: int = 0) -> None:
        self._graph = graph
        self.states = states or len(graph.states)

    def whole(self) -> Graph:
        return self._graph

    def around(self, centre: str, count: int) -> Graph:
        return self._graph


class TokenFsaParts:
    """The machine over tokens of a character automaton, its ladders folded."""

    def __init__(self, fsa: TokenFsa, dfa: Dfa, characters: Graph) -> None:
        self._fsa = fsa
        self._dfa = dfa
        used = np.flatnonzero((fsa.rows.counts > 0) | fsa.finals)
        self.feet = foot_of(characters, {str(state) for state in (fsa.initial, *used.tolist())})
        self._mask = np.zeros(len(dfa), np.bool_)
        self._mask[[int(node.id) for node in characters.nodes]] = True

    @property
    def states(self) -> int:
        return int(self._mask.sum())

    def whole(self) -> Graph:
        return self._drawn(None)

    def around(self, centre: str, count: int) -> Graph:
        if self.states <= count:
            return self.whole()
        kept = self._links.calm_near(self.feet.get(centre, centre), count)
        return cut(self._drawn(kept), kept, self._links)

    @cached_property
    def _links(self) -> Links:
        """Where each state that is drawn leads, through the insides of characters too."""
        targets = [self._fsa.rows.targets(s).tolist() for s in range(len(self._fsa))]
        found, whole = {}, self._mask.tolist()
        for state in np.flatnonzero(self._mask).tolist():
            if str(state) not in self.feet:
                reached = _through(state, targets, whole)
                found[str(state)] = [self.feet.get(s, s) for s in map(str, reached)]
        return Links(found)

    def _drawn(self, kept: set[str] | None) -> Graph:
        fsa, initial = self._fsa, self._fsa.initial
        if kept is None:
            rows = TokenRows.of(fsa)
        else:
            wanted = sorted(map(int, kept))
            rows = TokenRows.of(fsa, (*wanted, *self._inside(wanted)))
        edges = token_edges(rows, self._dfa, self._mask)
        ends = {initial, *(int(end) for edge in edges for end in (edge.source, edge.target))}
        nodes = tuple(state_node(s, initial, bool(fsa.finals[s])) for s in sorted(ends))
        note = f"{fsa.edge_count:,} token edges"
        return fold_tokens(Graph("token automaton", nodes, edges, note), self.feet)

    @property
    def initial(self) -> str:
        """The initial state."""
        return str(self._fsa.initial)

    def leaving(self, state: str) -> tuple[Edge, ...]:
        """The token edges of one state."""
        if not state.isdigit() or not int(state) < len(self._dfa):
            return ()
        rows = TokenRows.of(self._fsa, (int(state), *self._inside([int(state)])))
        edges = token_edges(rows, self._dfa, self._mask)
        return tuple(edge for edge in edges if edge.source == state)

    def tokens(self, source: str, target: str = "") -> list[TokenId]:
        ids, targets = self._fsa.rows.row(int(source))
        if target:
            drawn = np.array([self._shown(end) == target for end in range(len(self._dfa))])
            ids = ids[drawn[targets]]
        return [int(token_id) for token_id in ids]

    def _shown(self, state: int) -> str:
        """The state a state is drawn as."""
        return self.feet.get(str(state), str(state))

    def _inside(self, states: Iterable[int]) -> dict[int, None]:
        """The states inside characters that tokens of these lead to."""
        found: dict[int, None] = {}
        waiting = list(states)
        for state in waiting:  # grows while it is read
            for target in self._fsa.rows.targets(state).tolist():
                if not self._mask[target] and target not in found:
                    found[target] = None
                    waiting.append(target)
        return found


def _through(state: int, targets: list[list[int]], whole: list[bool]) -> dict[int, None]:
    """The character states a state leads to, by one token or by pieces of a character."""
    found: dict[int, None] = {}
    passed = {state}
    waiting = [state]
    for here in waiting:  # grows while it is read
        for target in targets[here]:
            if whole[target]:
                found[target] = None
            elif target not in passed:
                passed.add(target)
                waiting.append(target)
    return found


class TokenPdaParts:
    """The machine over tokens of a network of rules, its ladders folded."""

    def __init__(self, machine: TokenPda, note: str = "") -> None:
        self._note = note or STACK_NOTE
        self._machine = machine
        self.network = machine.network
        self._nodes = token_pda_nodes(machine)
        self.feet = foot_of(draw_network(machine.network), {node.id for node in self._nodes})

    @property
    def states(self) -> int:
        return self._machine.states

    def whole(self) -> Graph:
        return self._drawn(range(self.states))

    def around(self, centre: str, count: int) -> Graph:
        if self.states <= count:
            return self.whole()
        kept = self._links.calm_near(self.feet.get(centre, centre), count)
        wanted = [s for s, node in enumerate(self._nodes) if node.id in kept]
        return cut(self._drawn(wanted), kept, self._links)

    @cached_property
    def _links(self) -> Links:
        machine = self._machine
        found: dict[str, list[str]] = {}
        for state, node in enumerate(self._nodes):
            if node.id in self.feet:
                continue
            choices = machine.targets(state)
            ends = [move.target for choice in choices for move in machine.choices[choice]]
            ids = (self._nodes[end].id for end in dict.fromkeys(ends))
            found[node.id] = [self.feet.get(s, s) for s in ids]
        return Links(found)

    def tokens(self, source: str, target: str = "") -> list[TokenId]:
        machine = self._machine
        state = next((s for s, node in enumerate(self._nodes) if node.id == source), None)
        if state is None:
            return []
        ids, choices = machine.row(state)
        if target:
            shown = [self.feet.get(node.id, node.id) == target for node in self._nodes]
            leading = [
                choice
                for choice in machine.targets(state)
                if any(shown[move.target] for move in machine.choices[choice])
            ]
            ids = ids[np.isin(choices, leading)]
        return [int(token_id) for token_id in ids]

    def _drawn(self, states: Iterable[int]) -> Graph:
        edges = token_pda_edges(self._machine, states)
        graph = Graph("token push-down automaton", self._nodes, edges, self._note)
        return fold_tokens(graph, self.feet)


def cut(graph: Graph, kept: set[str], links: Links) -> Graph:
    """The states kept and the edges between them; who has more neighbours is marked."""
    edges = tuple(edge for edge in graph.edges if edge.source in kept and edge.target in kept)
    nodes = tuple(_marked(n, links.cut_off(n.id, kept)) for n in graph.nodes if n.id in kept)
    return replace(graph, nodes=nodes, edges=edges)


def _marked(node: Node, missing: int) -> Node:
    if not missing:
        return node
    told = f"{missing} more neighbour{'' if missing == 1 else 's'} not shown"
    return replace(node, kinds=(*node.kinds, "more"), title=f"{node.title} · {told}")
