"""The methods ``composed`` and ``pre3``: all edges over tokens are computed before a run.

The method ``composed``: decoding by the closed form, as Algorithms 2 and 3 describe it.

The machine and the vocabulary are composed once. A state is a state of the token machine, with a
stack for a token PDA. The tests compare the masks with the rows on demand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, Dfa, State, used_bytes
from workbench.base.errors import TokenNotAllowed
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.engine.automaton import Coaccessibility, DfaConstraint, StackConstraint
from workbench.constraint.engine.compose import compose
from workbench.constraint.engine.compose_pda import TokenPdaMove, compose_pda
from workbench.constraint.methods.lalr import END_OF_TEXT, LrTable, Reduction, Stack
from workbench.constraint.methods.lexer_tables import SpannerConstraint, reached
from workbench.constraint.protocol import (
    Constraint,
    Precomputed,
    ProcessLocal,
    TokenMask,
    constraint_repr,
    pack,
)
from workbench.grammar.grammar import Grammar
from workbench.pushdown.network import BOTTOM, CALLS, Network
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


class ComposedFsa(ProcessLocal):
    """Algorithm 2 of Koo et al. 2024: the mask has the tokens of the edges that leave a state."""

    __repr__ = constraint_repr

    def __init__(self, dfa: Dfa, vocabulary: Vocabulary, limits: Limits) -> None:
        self.fsa = compose(dfa, vocabulary, limits)
        self.vocabulary = vocabulary
        self.initial: State = dfa.initial
        self._byte_constraint = DfaConstraint(dfa, vocabulary, limits)
        self.mask = lru_cache(maxsize=4096)(self._mask)

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
        """Implements ``HasEngine``."""
        return self._byte_constraint


class ComposedState(NamedTuple):
    """The configurations of the token PDA, and the situation of the byte machine."""

    configurations: frozenset[Configuration]
    situation: Situation


class ComposedPda(ProcessLocal):
    """Algorithm 3 of Koo et al. 2024, with a set of configurations for nondeterminism.

    An edge can be taken if the top of the stack equals its pop string. The closed form may have
    edges into dead ends, because these depend on the whole stack. So if the vocabulary lacks
    single-byte tokens, each configuration is tested for co-accessibility.
    """

    __repr__ = constraint_repr

    def __init__(self, network: Network, vocabulary: Vocabulary, limits: Limits) -> None:
        self.pda = compose_pda(network, vocabulary, limits)
        self.vocabulary = vocabulary
        self._byte_constraint = StackConstraint(network, vocabulary, limits)
        used = used_bytes(network.table, network.classes[:CALLS])
        #: Whether all bytes used are tokens, so that no edge leads into a dead end.
        self.is_complete = used <= vocabulary.single_bytes
        self._coaccessibility = (
            None if self.is_complete else Coaccessibility(network, vocabulary, limits)
        )
        self.initial = ComposedState(
            frozenset({(self.pda.initial, (BOTTOM,))}), self._byte_constraint.initial
        )
        self.mask = lru_cache(maxsize=4096)(self._mask)

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
        """Implements ``HasEngine``."""
        return self._byte_constraint


# -- Pre³ -----------------------------------------------------------------------------------------
# The method ``pre3``: a deterministic push-down automaton with edges that look down the stack.
#
# An LR parser reads a terminal after any number of reductions, each of which pops states and looks
# up the state below: a loop at every step. Here the loop runs in advance. From a state at the top
# of the stack the reductions before a terminal are followed symbolically; where one pops more than
# is known, every state that can be below is tried. The result is a *prefix-conditioned edge*: if
# the top of the stack equals this sequence, replace it by that one. For one terminal no condition
# is a part of another, so at most one edge fits a stack: the automaton is deterministic, and
# reading a terminal is one lookup.
#
# A right-recursive rule is reduced once for each time it was entered: its edges would have no end.
# A reduction that leads to the same known states again becomes an edge that reads nothing, and the
# lookup is repeated (a cycle in the paper's terms).
#
# The paper builds LR(1) tables; those here are LALR(1), over terminals, and the tokens of the model
# are read as the sequences of terminals of the token spanner table.
#
# Source: Chen et al. 2025 (Pre³).


@dataclass(frozen=True, slots=True)
class PrefixEdge:
    """An edge of the automaton, for one terminal.

    ``condition`` are the states at the top of the stack, the top last; ``replacement`` is what
    takes their place.
    """

    condition: tuple[int, ...]
    replacement: tuple[int, ...]
    #: Whether the terminal is read; otherwise the edge only reduces.
    reads: bool


#: By the length of a condition, then by the condition: the edges of one state and terminal.
Conditions = Mapping[int, Mapping[tuple[int, ...], PrefixEdge]]


class PrefixMachine:
    """The deterministic automaton of an LR table.

    Raises: LimitError past ``limits.states`` edges of one state and terminal.
    """

    def __init__(self, table: LrTable, limits: Limits = LIMITS) -> None:
        self.table, self._limits = table, limits
        self._edges: dict[tuple[int, int], Conditions] = {}

    def edges(self, top: int, terminal: int) -> list[PrefixEdge]:
        """The edges of a state for a terminal, short conditions first."""
        conditions = self._conditions(top, terminal)
        return [edge for length in conditions for edge in conditions[length].values()]

    def _conditions(self, top: int, terminal: int) -> Conditions:
        cached = self._edges.get((top, terminal))
        if cached is None:
            found: dict[int, dict[tuple[int, ...], PrefixEdge]] = {}
            for count, edge in enumerate(self._followed(top, terminal), 1):
                self._limits.check("states", count, "the parser's reductions branch too much")
                found.setdefault(len(edge.condition), {})[edge.condition] = edge
            cached = self._edges[top, terminal] = dict(sorted(found.items()))
        return cached

    def _followed(self, top: int, terminal: int) -> Iterator[PrefixEdge]:
        """Follow the reductions before a terminal, with a branch for each state below."""
        table = self.table
        begin: tuple[int, ...] = (top,)
        waiting = [(begin, begin, frozenset[tuple[int, ...]]())]
        while waiting:
            condition, known, seen = waiting.pop()
            action = table.actions[known[-1]].get(terminal)
            if terminal == END_OF_TEXT and known[-1] == table.end:
                yield PrefixEdge(condition, known, reads=True)
            elif isinstance(action, int):
                yield PrefixEdge(condition, (*known, action), reads=True)
            elif action is not None and len(known) > action.size:
                reduced = _reduced(table, known, action)
                if reduced in seen:
                    yield PrefixEdge(condition, reduced, reads=False)
                else:
                    waiting.append((condition, reduced, seen | {reduced}))
            elif action is not None:
                for below in table.predecessors[known[0]]:
                    waiting.append(((below, *condition), (below, *known), seen))

    def fitting(self, stack: Stack, terminal: int) -> PrefixEdge | None:
        """The only edge whose condition is the top of the stack; None if no edge fits."""
        for length, conditions in self._conditions(stack[-1], terminal).items():
            if length <= len(stack):
                edge = conditions.get(stack[len(stack) - length :])
                if edge is not None:
                    return edge
        return None

    def step(self, stack: Stack, terminal: int) -> Stack | None:
        """The stack after a terminal; None if it is refused."""
        while (edge := self.fitting(stack, terminal)) is not None:
            stack = (*stack[: len(stack) - len(edge.condition)], *edge.replacement)
            if edge.reads:
                return stack
        return None

    @cached_property
    def every(self) -> tuple[tuple[int, int, PrefixEdge], ...]:
        """All edges, each with the top of its condition and its terminal."""
        return tuple(
            (top, terminal, edge)
            for top, row in self.table.actions.items()
            for terminal in row
            for edge in self.edges(top, terminal)
        )


def _reduced(table: LrTable, known: tuple[int, ...], by: Reduction) -> tuple[int, ...]:
    below = known[: len(known) - by.size]
    return (*below, table.gotos[below[-1]][by.nonterminal])


class Pre3Constraint(SpannerConstraint):
    """The sequences of terminals of tokens, read by the deterministic automaton."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, limits: Limits = LIMITS) -> None:
        super().__init__(grammar, vocabulary, limits)
        self.machine = PrefixMachine(self.table, limits)

    def nodes(self, at: State, stack: Stack) -> list[int]:
        tree = self.trees.get(at)
        if tree is None:
            return []
        return [node for node, _ in reached(tree, self.machine.step, stack)]

    def precompute(self) -> Precomputed:
        """Make all edges."""
        edges = [edge for _, _, edge in self.machine.every]
        states = sum(len(edge.condition) + len(edge.replacement) for edge in edges)
        trees = sum(4 * len(tree.tokens) for tree in self.trees.each.values())
        return Precomputed(len(edges), 4 * states + trees)
