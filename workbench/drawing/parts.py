"""Parts of machines around a state, computed on demand.

Labels make a large machine slow to draw, so only the states that will be visible get labels: the
machine over tokens of a list of bullets took 9 s as a whole and takes 60 ms around a state.

A regex such as ``(a|b)*a(a|b){20}`` has two million states, of which a text visits one per
character. The part around one of them is computed on demand (``LazyParts``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from workbench.automata.code_points import character_edges
from workbench.automata.lazy_dfa import UNKNOWN, LazyDfa
from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits, time_budget
from workbench.base.locks import WorkLock
from workbench.constraint.engine.compose import TokenFsa
from workbench.constraint.engine.compose_pda import TokenPda
from workbench.constraint.masks import TokenMask
from workbench.constraint.token_automaton import TokenAutomaton
from workbench.drawing.edge_labels import CharacterEdges, joined
from workbench.drawing.graph import Edge, Graph, Node, budgeted
from workbench.drawing.machines import (
    STACK_NOTE,
    draw_network,
    reading_edges,
    state_node,
    token_pda_edges,
    token_pda_nodes,
)
from workbench.drawing.reductions import fold_tokens, foot_of
from workbench.drawing.token_edges import TokenRows, padded, plain_edges, token_edges
from workbench.grammar.label_encoding import LABEL_CODES, LEAD
from workbench.syntax.ranges import Ranges
from workbench.syntax.regex.extensions import LABELS, Label
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The most connected pairs of states in a part: per state, but at least the second number. Larger
#: parts are illegible, so labels are not computed for them. The third number is the fewest states.
_MAX_PAIRS_PER_STATE, _MIN_PAIRS, _MIN_STATES = 3, 48, 4


class Links:
    """The successors of each state, in drawing order, and its predecessors.

    Cost: one pass over the machine; then a part costs in proportion to its size.
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
        """The ``count`` states nearest to one, along edges in both directions."""
        start = centre if centre in self._beside else next(iter(self.out))
        nearest = {start}
        waiting = deque([start])
        while waiting and len(nearest) < count:
            for other in self._beside[waiting.popleft()]:
                if other not in nearest and len(nearest) < count:
                    nearest.add(other)
                    waiting.append(other)
        return nearest

    def calm_near(self, centre: str, count: int) -> set[str]:
        """The nearest states; fewer if they have too many connected pairs."""
        while True:
            kept = self.near(centre, count)
            pairs = sum(target in kept for state in kept for target in self.out.get(state, ()))
            if pairs <= max(_MAX_PAIRS_PER_STATE * count, _MIN_PAIRS) or count <= _MIN_STATES:
                return kept
            count = count * 4 // 5

    def cut_off(self, state: str, kept: set[str]) -> int:
        """The number of edges between a state and states that are not kept."""
        away = sum(target not in kept for target in self.out.get(state, ()))
        return away + sum(source not in kept for source in self._entering.get(state, ()))


class Parts(Protocol):
    """A machine that can be drawn whole or in part."""

    @property
    def states(self) -> int:
        """The number of states; 0 if unknown."""
        ...

    def whole(self) -> Graph:
        """The whole machine.

        Raises: LimitError if it is too large.
        """
        ...

    def around(self, centre: str, count: int) -> Graph:
        """About ``count`` states around one, by default the first; cut ones are marked."""
        ...


class Whole:
    """A complete graph; a picture selects its part."""

    def __init__(self, graph: Graph, states: int = 0) -> None:
        self._graph = graph
        self.states = states or len(graph.states)

    def whole(self) -> Graph:
        return self._graph

    def around(self, centre: str, count: int) -> Graph:
        return self._graph


class TokenFsaParts:
    """The machine over tokens of a character automaton, with folded ladders."""

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
        return self._draw(None)

    def around(self, centre: str, count: int) -> Graph:
        if self.states <= count:
            return self.whole()
        kept = self._links.calm_near(self.feet.get(centre, centre), count)
        return cut(self._draw(kept), kept, self._links)

    @cached_property
    def _links(self) -> Links:
        """The successors of each drawn state, also through states inside characters."""
        targets = [self._fsa.rows.targets(s).tolist() for s in range(len(self._fsa))]
        links, whole = {}, self._mask.tolist()
        for state in budgeted(np.flatnonzero(self._mask).tolist()):
            if str(state) not in self.feet:
                reached = _through(state, targets, whole)
                links[str(state)] = [self.feet.get(s, s) for s in map(str, reached)]
        return Links(links)

    def _draw(self, kept: set[str] | None) -> Graph:
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

    def leaving(self, state: str, mask: TokenMask | None = None) -> tuple[Edge, ...]:
        """The token edges of one state, of the tokens that a mask allows."""
        if not state.isdigit() or not int(state) < len(self._dfa):
            return ()
        rows = TokenRows.of(self._fsa, (int(state), *self._inside([int(state)])))
        edges = token_edges(rows.allowed(mask, int(state)), self._dfa, self._mask)
        return tuple(edge for edge in edges if edge.source == state)

    def tokens(self, source: str, target: str = "") -> list[TokenId]:
        ids, targets = self._fsa.rows.row(int(source))
        if target:
            drawn = np.array([self._shown_state(end) == target for end in range(len(self._dfa))])
            ids = ids[drawn[targets]]
        return [int(token_id) for token_id in ids]

    def _shown_state(self, state: int) -> str:
        """The state that represents a state in the picture."""
        return self.feet.get(str(state), str(state))

    def _inside(self, states: Iterable[int]) -> dict[int, None]:
        """The states inside characters that tokens from these states lead to."""
        inside: dict[int, None] = {}
        waiting = list(states)
        for state in budgeted(waiting):  # extended in the loop
            for target in self._fsa.rows.targets(state).tolist():
                if not self._mask[target] and target not in inside:
                    inside[target] = None
                    waiting.append(target)
        return inside


def _through(state: int, targets: list[list[int]], whole: list[bool]) -> dict[int, None]:
    """The character states that a state leads to, by one token or by pieces of a character."""
    reached: dict[int, None] = {}
    passed = {state}
    waiting = deque([state])
    while waiting:
        current = waiting.popleft()
        for target in targets[current]:
            if whole[target]:
                reached[target] = None
            elif target not in passed:
                passed.add(target)
                waiting.append(target)
    return reached


class TokenPdaParts:
    """The machine over tokens of a network of rules, with folded ladders."""

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
        return self._draw(range(self.states))

    def around(self, centre: str, count: int) -> Graph:
        if self.states <= count:
            return self.whole()
        kept = self._links.calm_near(self.feet.get(centre, centre), count)
        wanted = [s for s, node in enumerate(self._nodes) if node.id in kept]
        return cut(self._draw(wanted), kept, self._links)

    @cached_property
    def _links(self) -> Links:
        machine = self._machine
        links: dict[str, list[str]] = {}
        for state, node in budgeted(enumerate(self._nodes)):
            if node.id in self.feet:
                continue
            choices = machine.targets(state)
            ends = [move.target for choice in choices for move in machine.choices[choice]]
            ids = (self._nodes[end].id for end in dict.fromkeys(ends))
            links[node.id] = [self.feet.get(s, s) for s in ids]
        return Links(links)

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

    def _draw(self, states: Iterable[int]) -> Graph:
        edges = token_pda_edges(self._machine, states)
        graph = Graph("token push-down automaton", self._nodes, edges, self._note)
        return fold_tokens(graph, self.feet)


def cut(graph: Graph, kept: set[str], links: Links) -> Graph:
    """The kept states and the edges between them; states with more neighbours are marked."""
    edges = tuple(edge for edge in graph.edges if edge.source in kept and edge.target in kept)
    nodes = tuple(_mark_more(n, links.cut_off(n.id, kept)) for n in graph.nodes if n.id in kept)
    return replace(graph, nodes=nodes, edges=edges)


def _mark_more(node: Node, missing: int) -> Node:
    if not missing:
        return node
    note = f"{missing} more neighbour{'' if missing == 1 else 's'} not shown"
    return replace(node, kinds=(*node.kinds, "more"), title=f"{node.title} · {note}")


_NOTE = "too many states to {} them all: this is the part around one of them"

#: States of a machine that reads JSON for each state in its picture.
_STATES_OF_JSON = 6

#: The most visited states that are searched for predecessors of a part.
_MAX_REMEMBERED = 4_096


class LazyParts:
    """The character automaton of a regex that would explode, or another very large one."""

    def __init__(
        self, machine: LazyDfa | Dfa, limits: Limits = LIMITS, *, is_json: bool = False
    ) -> None:
        self.machine = machine
        self._is_json = is_json
        #: The seconds that one picture may take.
        self.seconds = limits.seconds
        #: 0: the number of states is unknown, since they are computed on demand.
        self.states = len(machine) if isinstance(machine, Dfa) else 0
        self._done = "draw" if self.states else "make"
        #: The characters read in each visited state between characters.
        self._onward: dict[State, list[tuple[Ranges, State]]] = {}
        self._into: dict[State, dict[State, None]] = {}
        self._lock = WorkLock()

    def whole(self) -> Graph:
        raise LimitError(
            f"too many states to {self._done} them all",
            "states",
            "the part around a state can be drawn",
        )

    def around(self, centre: str, count: int) -> Graph:
        with time_budget(self.seconds):
            return self._around(centre, count)

    def _around(self, centre: str, count: int) -> Graph:
        # most states that read JSON are inside escapes, which pictures fold
        kept = self.near(centre, count * _STATES_OF_JSON if self._is_json else count)
        characters: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for source in kept:
            for ranges, target in self.onward(source):
                characters.setdefault((source, target), []).extend(ranges)
        labels: dict[tuple[int, int], tuple[Label, ...]] = {}
        for source in kept:
            for label, target in self.labels(source):
                labels[source, target] = (*labels.get((source, target), ()), label)
        between: dict[tuple[int, int], tuple[int, ...]] = dict.fromkeys(labels, ())
        read = CharacterEdges(
            {e: joined(r) for e, r in characters.items()}, {}, (), between, labels
        )
        ends = sorted({end for edge in (*characters, *labels) for end in edge} | set(kept))
        return self.part("character automaton", reading_edges(read), ends, kept)

    def part(
        self, name: str, edges: tuple[Edge, ...], ends: list[State], kept: list[State]
    ) -> Graph:
        """The graph of some states; those with other successors are marked."""
        machine = self.machine
        nodes = tuple(state_node(s, machine.initial, machine.is_final(s)) for s in ends)
        links = {str(s): [str(t) for t in self._targets(s)] for s in kept}
        note = _NOTE.format(self._done)
        graph = Graph(name, nodes, edges, note, self._is_json)
        return cut(graph, {str(s) for s in kept}, Links(links))

    def near(self, centre: str, count: int) -> list[State]:
        """The states nearest to one, along edges in both directions, as far as visited."""
        number = int(centre) if centre.isdigit() else self.machine.initial
        start = number if number < len(self.machine) else self.machine.initial
        nearest = {start: None}
        waiting = deque([start])
        while waiting and len(nearest) < count:
            current = waiting.popleft()
            for other in (*self._targets(current), *self._into.get(current, ())):
                if len(nearest) < count and other not in nearest:
                    nearest[other] = None
                    waiting.append(other)
        return list(nearest)

    def onward(self, state: State) -> list[tuple[Ranges, State]]:
        """The characters read in a state with their targets; cached for a few thousand states."""
        with self._lock:
            edges = self._onward.get(state)
            if edges is None:
                machine = self.machine
                edges = list(character_edges(machine.step, state, machine.classes))
                if len(self._onward) < _MAX_REMEMBERED:
                    self._onward[state] = edges
                    for _, target in edges:
                        self._into.setdefault(target, {})[state] = None
            return edges

    def labels(self, state: State) -> list[tuple[Label, State]]:
        """The terminal labels read in a state with their targets."""
        inside = self.machine.step(state, LEAD)
        if inside == DEAD:
            return []
        ends = [(label, self.machine.step(inside, LABEL_CODES[label.name][1])) for label in LABELS]
        return [(label, end) for label, end in ends if end != DEAD]

    def _targets(self, state: State) -> list[State]:
        """The successors of a state."""
        onward = [target for _, target in self.onward(state)]
        return [*onward, *(target for _, target in self.labels(state))]


class LazyTokenParts:
    """The machine over tokens of a lazy automaton: only rows of drawn states are computed."""

    def __init__(self, characters: LazyParts, vocabulary: Vocabulary) -> None:
        self._characters = characters
        self.states = characters.states
        self._vocabulary = vocabulary
        self._rows: dict[State, tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]] = {}

    def whole(self) -> Graph:
        return self._characters.whole()

    def around(self, centre: str, count: int) -> Graph:
        with time_budget(self._characters.seconds):
            return self._around(centre, count)

    def _around(self, centre: str, count: int) -> Graph:
        kept = self._characters.near(centre, count)
        machine = self._characters.machine
        rows = TokenRows.joined(self._vocabulary, [(s, *self._row(s)) for s in kept])
        whole = np.zeros(len(machine), np.bool_)
        whole[kept] = True
        # incomplete characters are left out: their targets are not computed
        inside = np.isin(rows.targets, kept)
        rows = TokenRows(
            rows.vocabulary, rows.sources[inside], rows.token_ids[inside], rows.targets[inside]
        )
        return self._characters.part(
            "token automaton", token_edges(rows, machine, whole), sorted(kept), kept
        )

    @property
    def initial(self) -> str:
        """The initial state."""
        return str(self._characters.machine.initial)

    def leaving(self, state: str, mask: TokenMask | None = None) -> tuple[Edge, ...]:
        """The token edges of one state, of the tokens that a mask allows."""
        source = int(state) if state.isdigit() else self._characters.machine.initial
        ids, targets = self._row(source)
        rows = TokenRows.joined(self._vocabulary, [(source, ids, targets)])
        whole = np.zeros(len(self._characters.machine), np.bool_)
        whole[[source, *targets.tolist()]] = True
        return token_edges(rows.allowed(mask, source), self._characters.machine, whole)

    def tokens(self, source: str, target: str = "") -> list[TokenId]:
        ids, targets = self._row(int(source))
        return [int(i) for i in (ids[targets == int(target)] if target else ids)]

    def _row(self, state: State) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The tokens that can be read in a state with their targets.

        Cost: all tokens in parallel, one step for each byte of the longest.
        """
        cached = self._rows.get(state)
        if cached is not None:
            return cached
        token_bytes, lengths = padded(self._vocabulary)
        machine = self._characters.machine
        alive = self._spelt
        states = np.full(len(alive), state, np.int64)
        ends = np.full(len(lengths), DEAD, np.int32)
        for position in budgeted(range(token_bytes.shape[1])):
            states = self._step(machine, states, machine.classes[token_bytes[alive, position]])
            on = states != DEAD
            alive, states = alive[on], states[on]
            done = lengths[alive] == position + 1
            ends[alive[done]] = states[done]
            alive, states = alive[~done], states[~done]
            if not len(alive):
                break
        ids = np.flatnonzero(ends != DEAD).astype(np.int32)
        self._rows[state] = ids, ends[ids]
        return self._rows[state]

    @staticmethod
    def _step(
        machine: LazyDfa | Dfa, states: npt.NDArray[np.int64], classes: npt.NDArray[np.uint16]
    ) -> npt.NDArray[np.int64]:
        if isinstance(machine, LazyDfa):
            for state in np.unique(states[machine.table[states, classes] == UNKNOWN]).tolist():
                machine.successor(state, 0)  # computes the whole row
        return machine.table[states, classes].astype(np.int64)

    @cached_property
    def _spelt(self) -> npt.NDArray[np.int64]:
        """The tokens that have bytes."""
        return np.flatnonzero([bool(token) for token in self._vocabulary.tokens])


class ProperParts:
    """The automaton over canonical tokenizations, small enough to be drawn whole."""

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
