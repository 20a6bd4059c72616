"""The method ``composed``: decoding by the closed form, as Algorithms 2 and 3 describe it.

The machine and the vocabulary are composed once. A state is a state of the token machine, with a
stack for a token PDA. The tests compare the masks with the rows on demand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from workbench.base.dfa import DEAD, Dfa, State, used_bytes
from workbench.base.errors import TokenNotAllowed
from workbench.base.limits import Limits
from workbench.constraint.engine.automaton import DfaConstraint, StackConstraint
from workbench.constraint.engine.coaccessibility import Coaccessibility
from workbench.constraint.engine.compose import TokenFsa, compose
from workbench.constraint.engine.compose_pda import TokenPdaMove, compose_pda
from workbench.constraint.masks import TokenMask, pack
from workbench.constraint.token_machine import CachedMasks, TokenMachine
from workbench.grammar.grammar import Grammar
from workbench.pushdown.network import CALLS, Network
from workbench.pushdown.runner import Situation
from workbench.pushdown.textbook_pda import BOTTOM
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: A state of the token PDA and its stack, the initial stack symbol first.
Configuration = tuple[State, tuple[int, ...]]


def composed(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> TokenMachine:
    """The closed form of a grammar over a vocabulary."""
    machine = grammar.machine
    if isinstance(machine, Dfa):
        return ComposedFsa(machine, vocabulary, limits)
    return ComposedPda(machine, vocabulary, limits)


class ComposedFsa(CachedMasks):
    """Algorithm 2 of Koo et al. 2024: the mask has the tokens of the edges that leave a state."""

    def __init__(self, dfa: Dfa, vocabulary: Vocabulary, limits: Limits) -> None:
        self.fsa = compose(dfa, vocabulary, limits)
        self.vocabulary, self.limits = vocabulary, limits
        self._byte_constraint = DfaConstraint(dfa, vocabulary, limits)

    @property
    def initial(self) -> State:
        return self.fsa.initial

    def _mask(self, state: State) -> TokenMask:
        ids = self.fsa.row(state).tolist()
        if self.is_final(state):
            ids.extend(self.vocabulary.ends)
        return TokenMask.of(ids, len(self.vocabulary))

    def advance(self, state: State, token_id: TokenId) -> State:
        if token_id in self.vocabulary.ends and self.is_final(state):
            return state
        target = self.fsa.step(state, token_id)
        if target == DEAD:
            raise TokenNotAllowed(f"token {token_id} is not allowed here")
        return target

    def is_final(self, state: State) -> bool:
        return bool(self.fsa.finals[state])

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        return self._byte_constraint.forced(state, most)

    def engine(self) -> DfaConstraint:
        """The same states over bytes."""
        return self._byte_constraint

    def closed_form(self, limits: Limits) -> TokenFsa:
        return self.fsa


class ComposedState(NamedTuple):
    """The configurations of the token PDA, and the situation of the byte machine."""

    configurations: frozenset[Configuration]
    situation: Situation


class ComposedPda(CachedMasks):
    """Algorithm 3 of Koo et al. 2024, with a set of configurations for nondeterminism.

    An edge can be taken if the top of the stack equals its pop string. The closed form may have
    edges into dead ends, because these depend on the whole stack. So if the vocabulary lacks
    single-byte tokens, each configuration is tested for co-accessibility.
    """

    def __init__(self, network: Network, vocabulary: Vocabulary, limits: Limits) -> None:
        self.pda = compose_pda(network, vocabulary, limits)
        self.vocabulary, self.limits = vocabulary, limits
        self._byte_constraint = StackConstraint(network, vocabulary, limits)
        used = used_bytes(network.table, network.classes[:CALLS])
        #: Whether all bytes used are tokens, so that no edge leads into a dead end.
        self.is_complete = used <= vocabulary.single_bytes
        self._coaccessibility = (
            None if self.is_complete else Coaccessibility(network, vocabulary, limits)
        )
        self._initial = ComposedState(
            frozenset({(self.pda.initial, (BOTTOM,))}), self._byte_constraint.initial
        )

    @property
    def initial(self) -> ComposedState:
        return self._initial

    def _mask(self, state: ComposedState) -> TokenMask:
        allowed = np.zeros(len(self.vocabulary), np.bool_)
        for pda_state, stack in state.configurations:
            ids, choices = self.pda.row(pda_state)
            possible = [
                choice
                for choice in np.unique(choices).tolist()
                if any(self._targets(self.pda.choices[choice], stack))
            ]
            allowed[ids[np.isin(choices, possible)]] = True
        allowed[list(self.vocabulary.ends)] = self.is_final(state)
        return TokenMask(pack(allowed), len(self.vocabulary))

    def _targets(
        self, moves: Iterable[TokenPdaMove], stack: tuple[int, ...]
    ) -> Iterator[Configuration]:
        """The configurations after the moves that a stack allows."""
        for move in moves:
            rest = len(stack) - len(move.pops)
            if rest >= 0 and stack[rest:][::-1] == move.pops:
                configuration = move.target, (*stack[:rest], *move.pushes)
                if self._is_coaccessible(configuration):
                    yield configuration

    def _is_coaccessible(self, configuration: Configuration) -> bool:
        pda_state, stack = configuration
        if self._coaccessibility is None or pda_state in self.pda.finals:
            return True
        return_states = [self.pda.network_symbols[s] for s in reversed(stack) if s != BOTTOM]
        return self._coaccessibility.is_coaccessible(
            self.pda.network_states[pda_state], return_states
        )

    def advance(self, state: ComposedState, token_id: TokenId) -> ComposedState:
        if token_id in self.vocabulary.ends and self.is_final(state):
            return state
        targets = frozenset(
            configuration
            for pda_state, stack in state.configurations
            for configuration in self._targets(self.pda.moves(pda_state, token_id), stack)
        )
        if not targets:
            raise TokenNotAllowed(f"token {token_id} is not allowed here")
        return ComposedState(targets, self._byte_constraint.advance(state.situation, token_id))

    def is_final(self, state: ComposedState) -> bool:
        if state == self.initial:  # nothing is read, so no edge has popped S
            return self._byte_constraint.is_final(state.situation)
        return any(pda_state in self.pda.finals for pda_state, _ in state.configurations)

    def forced(self, state: ComposedState, most: int = sys.maxsize) -> bytes:
        return self._byte_constraint.forced(state.situation, most)

    def engine(self) -> StackConstraint:
        """The machine over bytes, with situations for states."""
        return self._byte_constraint
