"""Parts of machines whose states are computed on demand, around a given state.

A regex such as ``(a|b)*a(a|b){20}`` has two million states, of which a text visits as many as it
has characters. The part that is drawn is reached from one of them and computed on demand.
"""

from __future__ import annotations

import threading
from collections import deque
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD, Dfa, State
from workbench.automata.fold import character_edges
from workbench.automata.lazy import UNKNOWN, LazyDfa
from workbench.drawing.characters import CharacterEdges, joined
from workbench.drawing.graph import Edge, Graph
from workbench.drawing.machines import reading_edges, state_node
from workbench.drawing.parts import Links, cut
from workbench.drawing.token_edges import TokenRows, padded, token_edges
from workbench.errors import LimitError
from workbench.signs import LEAD, SIGNS
from workbench.syntax.regex.labels import LABELS, Label
from workbench.syntax.regex.tree import Ranges
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

_NOTE = "too many states to {} them all: this is the part around one"

#: States met on the way that are looked at for ways into a part.
_REMEMBERED = 4_096


class LazyParts:
    """The character automaton of a regex that would explode, or one with very many states."""

    def __init__(self, machine: LazyDfa | Dfa) -> None:
        self.machine = machine
        #: 0: the number of states is unknown, since they are computed on demand.
        self.states = len(machine) if isinstance(machine, Dfa) else 0
        self._done = "draw" if self.states else "make"
        #: What each visited state between characters reads.
        self._onward: dict[State, list[tuple[Ranges, State]]] = {}
        self._into: dict[State, dict[State, None]] = {}
        self._lock = threading.Lock()

    def whole(self) -> Graph:
        raise LimitError(
            f"too many states to {self._done} them all",
            "states",
            "the part around a state can be drawn",
        )

    def around(self, centre: str, count: int) -> Graph:
        kept = self.near(centre, count)
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
        """The graph of some states, those marked that lead further."""
        machine = self.machine
        nodes = tuple(state_node(s, machine.initial, machine.is_final(s)) for s in ends)
        links = {str(s): [str(t) for t in self._targets(s)] for s in kept}
        note = _NOTE.format(self._done)
        return cut(Graph(name, nodes, edges, note), {str(s) for s in kept}, Links(links))

    def near(self, centre: str, count: int) -> list[State]:
        """The states nearest to one, along edges either way; of ways into it those visited."""
        number = int(centre) if centre.isdigit() else self.machine.initial
        start = number if number < len(self.machine) else self.machine.initial
        found = {start: None}
        waiting = deque([start])
        while waiting and len(found) < count:
            here = waiting.popleft()
            for other in (*self._targets(here), *self._into.get(here, ())):
                if len(found) < count and other not in found:
                    found[other] = None
                    waiting.append(other)
        return list(found)

    def onward(self, state: State) -> list[tuple[Ranges, State]]:
        """The characters read in a state, and where each leads; kept, for a few thousand states."""
        with self._lock:
            known = self._onward.get(state)
            if known is None:
                machine = self.machine
                known = list(character_edges(machine.step, state, machine.classes))
                if len(self._onward) < _REMEMBERED:
                    self._onward[state] = known
                    for _, target in known:
                        self._into.setdefault(target, {})[state] = None
            return known

    def labels(self, state: State) -> list[tuple[Label, State]]:
        """The terminal labels read in a state, and where each leads."""
        inside = self.machine.step(state, LEAD)
        if inside == DEAD:
            return []
        ends = [(label, self.machine.step(inside, SIGNS[label.name][1])) for label in LABELS]
        return [(label, end) for label, end in ends if end != DEAD]

    def _targets(self, state: State) -> list[State]:
        """Where a state leads."""
        onward = [target for _, target in self.onward(state)]
        return [*onward, *(target for _, target in self.labels(state))]


class LazyTokenParts:
    """The machine over tokens of the same: the rows of the states that are drawn are walked."""

    def __init__(self, characters: LazyParts, vocabulary: Vocabulary) -> None:
        self._characters = characters
        self.states = characters.states
        self._vocabulary = vocabulary
        self._rows: dict[State, tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]] = {}

    def whole(self) -> Graph:
        return self._characters.whole()

    def around(self, centre: str, count: int) -> Graph:
        kept = self._characters.near(centre, count)
        machine = self._characters.machine
        rows = TokenRows.joined(self._vocabulary, [(s, *self._row(s)) for s in kept])
        whole = np.zeros(len(machine), np.bool_)
        whole[kept] = True
        # half characters are left out: what they lead to is not made
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

    def leaving(self, state: str) -> tuple[Edge, ...]:
        """The token edges of one state."""
        here = int(state) if state.isdigit() else self._characters.machine.initial
        ids, targets = self._row(here)
        rows = TokenRows.joined(self._vocabulary, [(here, ids, targets)])
        whole = np.zeros(len(self._characters.machine), np.bool_)
        whole[[here, *targets.tolist()]] = True
        return token_edges(rows, self._characters.machine, whole)

    def tokens(self, source: str, target: str = "") -> list[TokenId]:
        ids, targets = self._row(int(source))
        return [int(i) for i in (ids[targets == int(target)] if target else ids)]

    def _row(self, state: State) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The tokens that can be read in a state, and where each leads.

        Cost: all tokens together, one step for each byte of the longest.
        """
        known = self._rows.get(state)
        if known is not None:
            return known
        spelt, lengths = padded(self._vocabulary)
        machine = self._characters.machine
        alive = self._spelt
        here = np.full(len(alive), state, np.int64)
        ends = np.full(len(lengths), DEAD, np.int32)
        for position in range(spelt.shape[1]):
            here = self._stepped(machine, here, machine.classes[spelt[alive, position]])
            on = here != DEAD
            alive, here = alive[on], here[on]
            done = lengths[alive] == position + 1
            ends[alive[done]] = here[done]
            alive, here = alive[~done], here[~done]
            if not len(alive):
                break
        ids = np.flatnonzero(ends != DEAD).astype(np.int32)
        self._rows[state] = ids, ends[ids]
        return self._rows[state]

    @staticmethod
    def _stepped(
        machine: LazyDfa | Dfa, states: npt.NDArray[np.int64], classes: npt.NDArray[np.uint16]
    ) -> npt.NDArray[np.int64]:
        if isinstance(machine, LazyDfa):
            for state in np.unique(states[machine.table[states, classes] == UNKNOWN]).tolist():
                machine.successor(state, 0)  # makes the whole row
        return machine.table[states, classes].astype(np.int64)

    @cached_property
    def _spelt(self) -> npt.NDArray[np.int64]:
        """The tokens that spell something."""
        return np.flatnonzero([bool(token) for token in self._vocabulary.tokens])
