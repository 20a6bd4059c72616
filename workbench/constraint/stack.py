"""StackConstraint: the exact engine over a grammar network, rows shared by what they looked at.

In come a ``Network`` and a ``Vocabulary``. A row is one walk of the trie from a situation; the walk
notes the lowest place of the stack it looked at, and the row is remembered under the states and
exactly those symbols. So one row serves every depth of nesting. This is Koo's composed machine
𝒫 ∘ T_V one row at a time: a row is the set of its edges whose pop string is that piece of stack
(Koo et al. 2024, Algorithm 3).
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import islice

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import State
from workbench.constraint.automaton import AutomatonConstraint
from workbench.constraint.compose import cannot_spell
from workbench.constraint.dead_ends import Spelling
from workbench.constraint.marking import used_bytes
from workbench.constraint.mask import TokenMask
from workbench.limits import LIMITS, Limits
from workbench.pushdown.network import CALLS, Network
from workbench.pushdown.runner import EMPTY, Runner, StackNode
from workbench.vocabulary.vocabulary import Vocabulary

#: Rows by the stack symbols they looked at below a base, the innermost first.
_Rows = dict[tuple[State, ...], npt.NDArray[np.uint32]]


class StackConstraint(AutomatonConstraint):
    """A context-free language over tokens; its states are situations of a ``Runner``.

    Raises: VocabularyError where the vocabulary spells no accepted text.
    """

    def __init__(self, network: Network, vocabulary: Vocabulary, limits: Limits = LIMITS) -> None:
        super().__init__(vocabulary, limits)
        self.runner = Runner(network, limits)
        self._rows: dict[Hashable, dict[int, _Rows]] = {}
        used = used_bytes(network.table, network.classes[:CALLS])
        complete = used <= vocabulary.single_bytes
        self._spelling = None if complete else Spelling(network, vocabulary, limits)
        if not self._leads_on(self.initial):
            raise cannot_spell(vocabulary)

    @property
    def initial(self) -> State:
        return self.runner.initial

    def is_final(self, state: State) -> bool:
        return self.runner.is_final(state)

    def step(self, state: State, byte: int) -> State:
        return self.runner.step(state, byte)

    def _leads_on(self, state: State) -> bool:
        return self._spelling is None or any(
            self._spelling.finishes(at, self.runner.unstack(node))
            for at, node in self.runner.configurations(state)
        )

    def _row(self, state: State) -> npt.NDArray[np.uint32]:
        if self._spelling is None:
            return self._shared_row(state).copy()
        # dead ends depend on the whole stack, so these rows are not shared
        readable = TokenMask(self._walked(state)[0], len(self.vocabulary))
        return TokenMask.of(
            (i for i in readable if self._reaches(state, i)), len(self.vocabulary)
        ).bits.copy()

    def _reaches(self, state: State, token_id: int) -> bool:
        token = self.vocabulary.tokens[token_id]
        there = self.step_bytes(state, token) if token is not None else None
        return there is not None and self._leads_on(there)

    def _walked(self, state: State) -> tuple[npt.NDArray[np.uint32], int]:
        return self._marker.row(self.runner, state)

    def _shared_row(self, state: State) -> npt.NDArray[np.uint32]:
        """The row of a situation, from one that looked at the same symbols or by a walk."""
        shape, base = self._shape(state)
        if len(self._rows) >= self.limits.rows:
            self._rows.clear()  # very ambiguous grammars make a new shape at every step
        known = self._rows.setdefault(shape, {})
        for looked, rows in known.items():
            row = rows.get(self._below(base, looked))
            if row is not None:
                return row
        bits, floor = self._walked(state)
        looked = max(0, self.runner.depth(base) - floor)
        if sum(map(len, known.values())) >= self.limits.rows:
            known.clear()
        known.setdefault(looked, {})[self._below(base, looked)] = bits
        return bits

    def _below(self, base: StackNode, count: int) -> tuple[State, ...]:
        """The ``count`` innermost symbols of a stack (fewer where it ends)."""
        return tuple(islice(self.runner.unstack(base), count))

    def _shape(self, state: State) -> tuple[Hashable, StackNode]:
        """What a situation is above the stack all its configurations share, and that stack."""
        runner = self.runner
        configurations = runner.configurations(state)
        base = configurations[0][1]
        for _, node in configurations[1:]:
            base = self._common(base, node)
        depth = runner.depth(base)
        above = tuple(
            (at, tuple(islice(runner.unstack(node), runner.depth(node) - depth)))
            for at, node in configurations
        )
        return (frozenset(above), base == EMPTY), base

    def _common(self, left: StackNode, right: StackNode) -> StackNode:
        """The largest stack two stacks have in common at their bottoms."""
        runner = self.runner
        while left != right:
            if runner.depth(left) >= runner.depth(right):
                left = runner.parent(left)
            else:
                right = runner.parent(right)
        return left
