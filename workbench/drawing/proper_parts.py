"""The graph of the automaton of a tokenizer's own spellings."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from workbench.constraint.token_automaton import TokenAutomaton
from workbench.drawing.graph import Graph
from workbench.drawing.machines import state_node
from workbench.drawing.token_edges import TokenRows, plain_edges
from workbench.vocabulary.vocabulary import TokenId


class ProperParts:
    """An automaton small enough to be drawn whole."""

    def __init__(self, automaton: TokenAutomaton) -> None:
        self._automaton = automaton
        self.states = len(automaton)

    @cached_property
    def _graph(self) -> Graph:
        automaton = self._automaton
        rows = []
        for state in range(len(automaton)):
            ids, targets = np.array(automaton.edges(state), np.int32).reshape(-1, 2).T
            rows.append((state, ids, targets))
        nodes = tuple(
            state_node(state, automaton.initial, bool(final))
            for state, final in enumerate(automaton.finals)
        )
        edges = plain_edges(TokenRows.joined(automaton.vocabulary, rows))
        note = f"{automaton.edge_count:,} token edges"
        return Graph("proper token automaton", nodes, edges, note)

    def whole(self) -> Graph:
        return self._graph

    def around(self, centre: str, count: int) -> Graph:
        return self._graph

    def tokens(self, source: str, target: str = "") -> list[TokenId]:
        """The tokens of a state, or those that lead to another."""
        edges = self._automaton.edges(int(source))
        return [token_id for token_id, end in edges if not target or str(end) == target]
