"""The method ``composed``: decoding by the closed form, Algorithms 2 and 3 to the letter.

In come a machine and a vocabulary, composed once and for all; a state is a state of the token
machine, with a stack where there is one. Held equal to the rows on demand by the tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import TokenNotAllowed
from workbench.base.limits import Limits
from workbench.constraint.engine.automaton import DfaConstraint, StackConstraint
from workbench.constraint.engine.coaccessible import Coaccessibility
from workbench.constraint.engine.compose import compose
from workbench.constraint.engine.compose_pda import TokenPdaMove, compose_pda
from workbench.constraint.engine.mask_rows import used_bytes
from workbench.constraint.mask import TokenMask, pack
from workbench.constraint.protocol import Constraint
from workbench.grammar.grammar import Grammar
from workbench.pushdown.network import CALLS, Network
from workbench.pushdown.pda import BOTTOM
from workbench.pushdown.runner import Situation
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: A state of the token PDA and its stack, the initial stack symbol first.
Configuration = tuple[State, tuple[int, ...]]


def composed(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> Constraint:
    """The closed form of a grammar over a vocabulary."""
    machine = grammar.machine
    if isinstance(machine, Dfa):
        return ComposedFsa(machine, vocabulary, limits)
    return ComposedPda(machine, vocabulary, limits)


class ComposedFsa:
    """Algorithm 2 of Koo et al. 2024: the mask is the labels of the edges that leave a state."""

    def __init__(self, dfa: Dfa, vocabulary: Vocabulary, limits: Limits) -> None:
        self.fsa = compose(dfa, vocabulary, limits)
        self.vocabulary = vocabulary
        self.initial: State = dfa.initial
        self._bytewise = DfaConstraint(dfa, vocabulary, limits)
        self.mask = lru_cache(maxsize=4096)(self._mask)

    def _mask(self, state: State) -> TokenMask:
        ids = self.fsa.row(state).tolist()
        if self.vocabulary.end is not None and self.is_final(state):
            ids.append(self.vocabulary.end)
        return TokenMask.of(ids, len(self.vocabulary))

    def advance(self, state: State, token_id: TokenId) -> State:
        if token_id == self.vocabulary.end and self.is_final(state):
            return state
        there = self.fsa.step(state, token_id)
        if there == DEAD:
            raise TokenNotAllowed(f"token {token_id} is not allowed here")
        return there

    def is_final(self, state: State) -> bool:
        return bool(self.fsa.finals[state])

    def forced(self, state: State) -> bytes:
        return self._bytewise.forced(state)


class ComposedState(NamedTuple):
    """Where a composed PDA stands: its configurations, and the situation the bytes lead to."""

    configurations: frozenset[Configuration]
    situation: Situation


class ComposedPda:
    """Algorithm 3 of Koo et al. 2024, carrying a set of configurations where it branches.

    An edge can be taken where the stack ends with what it pops. The edges of the
    closed form are not trimmed of dead ends (that depends on the whole stack), so where
    single bytes are missing every configuration is asked whether tokens can finish it.
    """

    def __init__(self, network: Network, vocabulary: Vocabulary, limits: Limits) -> None:
        self.pda = compose_pda(network, vocabulary, limits)
        self.vocabulary = vocabulary
        self._bytewise = StackConstraint(network, vocabulary, limits)
        used = used_bytes(network.table, network.classes[:CALLS])
        complete = used <= vocabulary.single_bytes
        self._coaccessibility = None if complete else Coaccessibility(network, vocabulary, limits)
        self.initial = ComposedState(
            frozenset({(self.pda.initial, (BOTTOM,))}), self._bytewise.initial
        )
        self.mask = lru_cache(maxsize=4096)(self._mask)

    def _mask(self, state: ComposedState) -> TokenMask:
        allowed = np.zeros(len(self.vocabulary), np.bool_)
        for at, stack in state.configurations:
            ids, choices = self.pda.row(at)
            possible = [
                choice
                for choice in np.unique(choices).tolist()
                if any(self._taken(self.pda.choices[choice], stack))
            ]
            allowed[ids[np.isin(choices, possible)]] = True
        if self.vocabulary.end is not None and self.is_final(state):
            allowed[self.vocabulary.end] = True
        return TokenMask(pack(allowed), len(self.vocabulary))

    def _taken(
        self, moves: Iterable[TokenPdaMove], stack: tuple[int, ...]
    ) -> Iterator[Configuration]:
        """Where the moves that a stack allows lead."""
        for move in moves:
            kept = len(stack) - len(move.pops)
            if kept >= 0 and stack[kept:][::-1] == move.pops:
                there = move.target, (*stack[:kept], *move.pushes)
                if self._alive(there):
                    yield there

    def _alive(self, configuration: Configuration) -> bool:
        at, stack = configuration
        if self._coaccessibility is None or at in self.pda.finals:
            return True
        waiting = [self.pda.network_symbols[s] for s in reversed(stack) if s != BOTTOM]
        return self._coaccessibility.is_coaccessible(self.pda.network_states[at], waiting)

    def advance(self, state: ComposedState, token_id: TokenId) -> ComposedState:
        if token_id == self.vocabulary.end and self.is_final(state):
            return state
        there = frozenset(
            configuration
            for at, stack in state.configurations
            for configuration in self._taken(self.pda.moves(at, token_id), stack)
        )
        if not there:
            raise TokenNotAllowed(f"token {token_id} is not allowed here")
        return ComposedState(there, self._bytewise.advance(state.situation, token_id))

    def is_final(self, state: ComposedState) -> bool:
        if state == self.initial:  # nothing is read yet, so no edge has taken S off the stack
            return self._bytewise.is_final(state.situation)
        return any(at in self.pda.finals for at, _ in state.configurations)

    def forced(self, state: ComposedState) -> bytes:
        return self._bytewise.forced(state.situation)
