"""Plain recognisers of grammars: a DFA, and rules that call each other with stacks as tuples.

They step as the definitions say, and share nothing with the kernels but the tables. With
``workbench.constraint.plain_mask`` they are the exact masks without any optimisation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from workbench.base.dfa import DEAD, Dfa
from workbench.base.limits import Limits
from workbench.constraint.plain_mask import ByteReader, Recogniser
from workbench.constraint.protocol import State
from workbench.grammar.grammar import Grammar
from workbench.pushdown.network import Network
from workbench.vocabulary.vocabulary import Vocabulary

#: A state of a network, and the states to return to; the last is returned to first.
Configuration = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class DfaRecogniser:
    """A regular language: the state of a DFA."""

    dfa: Dfa

    @property
    def initial(self) -> int:
        return self.dfa.initial

    def step(self, state: int, byte: int) -> int | None:
        target = self.dfa.step(state, byte)
        return None if target == DEAD else target

    def is_final(self, state: int) -> bool:
        return bool(self.dfa.finals[state])

    def is_coaccessible(self, state: int) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class NetworkRecogniser:
    """A context-free language: all configurations that the text read can lead to."""

    network: Network

    @property
    def initial(self) -> frozenset[Configuration]:
        return self._closed([(self.network.initial, ())])

    def _closed(self, configurations: Iterable[Configuration]) -> frozenset[Configuration]:
        """The configurations, those after calls of rules, and those after rules that end."""
        rules, reached = self.network.entries, set(configurations)
        waiting = list(reached)
        while waiting:
            state, stack = waiting.pop()
            calls = rules.entered[rules.first[state] : rules.first[state + 1]].tolist()
            after = [(entry, stack if back == DEAD else (*stack, back)) for entry, back in calls]
            if self.network.finals[state] and stack:
                after.append((stack[-1], stack[:-1]))
            new = set(after) - reached
            reached |= new
            waiting += new
        return frozenset(reached)

    def step(self, state: frozenset[Configuration], byte: int) -> frozenset[Configuration] | None:
        column = self.network.classes[byte]
        targets = [(int(self.network.table[at, column]), stack) for at, stack in state]
        after = [(target, stack) for target, stack in targets if target != DEAD]
        return self._closed(after) if after else None

    def is_final(self, state: frozenset[Configuration]) -> bool:
        return any(not stack and self.network.finals[at] for at, stack in state)

    def is_coaccessible(self, state: frozenset[Configuration]) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class OverTokens:
    """A recogniser over a vocabulary that lacks bytes, so that some texts cannot be completed.

    Raises: LimitError where the search for an end visits more than ``limits.states`` states.
    """

    inner: ByteReader
    initial: State
    vocabulary: Vocabulary
    limits: Limits
    _known: dict[State, bool] = field(default_factory=dict)

    def step(self, state: State, byte: int) -> State | None:
        return self.inner.step(state, byte)

    def is_final(self, state: State) -> bool:
        return self.inner.is_final(state)

    def is_coaccessible(self, state: State) -> bool:
        """Whether whole tokens lead to an accepted text: a search, breadth first."""
        if state not in self._known:
            self._known[state] = self._search(state)
        return self._known[state]

    def _search(self, start: State) -> bool:
        seen, waiting = {start}, deque([start])
        while waiting:
            state = waiting.popleft()
            if self.is_final(state):
                return True
            self.limits.check("states", len(seen))
            after = {self._after(state, token) for token in self.vocabulary.ids_of} - {None} - seen
            seen |= after
            waiting += after
        return False

    def _after(self, state: State, token: bytes) -> State | None:
        for byte in token:
            if (state := self.step(state, byte)) is None:
                return None
        return state


def recogniser_of(grammar: Grammar, vocabulary: Vocabulary) -> Recogniser:
    """The grammar's machine, with a search for dead ends if the vocabulary lacks bytes."""
    machine = grammar.machine
    plain = DfaRecogniser(machine) if isinstance(machine, Dfa) else NetworkRecogniser(machine)
    if len(vocabulary.single_bytes) == 256:
        return plain
    return OverTokens(plain, plain.initial, vocabulary, Limits(states=300))
