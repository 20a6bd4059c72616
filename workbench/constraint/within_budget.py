"""``WithinBudget``: masks under which every text ends within a number of tokens.

A mask keeps a text inside its grammar, but a budget of tokens may end it in the middle: the result
is a prefix of an accepted text and no text of the grammar. Here a token is allowed only if the text
can still end, end token included, with the tokens that are left after it.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from workbench.base.errors import TokenNotAllowed, WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.engine.automaton import DfaConstraint, LazyConstraint, StackConstraint
from workbench.constraint.engine.compose import compose
from workbench.constraint.engine.token_distances import (
    FsaDistances,
    StackDistances,
    TokenDistances,
)
from workbench.constraint.mask import TokenMask, pack
from workbench.constraint.protocol import Constraint, State, constraint_repr, state_key
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class BudgetState(NamedTuple):
    """A state of ``WithinBudget``."""

    #: The tokens left, the end token included.
    left: int
    #: The state of the constraint.
    inner: State


def token_distances(constraint: Constraint, limits: Limits = LIMITS) -> TokenDistances:
    """The fewest tokens from each state of an exact constraint to an accepted text.

    Raises: WorkbenchError for a constraint of another method than ``automaton``; LimitError.
    """
    match constraint:
        case DfaConstraint(dfa=dfa):
            return FsaDistances(compose(dfa, constraint.vocabulary, limits))
        case StackConstraint():
            return StackDistances(constraint, limits)
        case LazyConstraint():
            raise WorkbenchError(
                "the automaton of this regex is too large to count the tokens to its end",
                "bound its repetitions, or generate without finishing in the budget",
            )
    raise WorkbenchError(
        "finishing in the budget needs the distances of the exact engine",
        "compile with the method 'automaton', without small tokens",
    )


class WithinBudget:
    """A constraint whose texts have at most ``budget`` tokens, the end token included.

    A token is in the mask if and only if the constraint allows it and some accepted text follows
    it within the tokens left. So a generation of ``budget`` tokens always ends with an end token.

    Cost:   the distances of all states (``token_distances``) once; then a mask costs the bound of
            the distances after it, and where that is above the tokens left, a look at each token.
    Raises: WorkbenchError if every text is longer than the budget, and for a constraint of another
            method than ``automaton``; LimitError.
    Source: exact for automata and for stacks. TruncProof (2026) approximates it for LL(1).
    """

    __repr__ = constraint_repr

    def __init__(self, constraint: Constraint, budget: int, limits: Limits = LIMITS) -> None:
        self.constraint = constraint
        self.vocabulary: Vocabulary = constraint.vocabulary
        self.budget = budget
        #: The fewest tokens from a state to an accepted text.
        self.distances = token_distances(constraint, limits)
        self._restricted = lru_cache(maxsize=limits.rows_of(len(self.vocabulary) // 8 + 1))(
            self._restrict
        )
        fewest = self.distances.distance(constraint.initial) + 1
        if fewest > budget:
            raise WorkbenchError(
                f"every text needs at least {fewest} tokens with the end token, and the budget is"
                f" {budget}",
                f"allow {fewest} tokens or more",
            )

    @property
    def initial(self) -> BudgetState:
        return BudgetState(self.budget, self.constraint.initial)

    def mask(self, state: BudgetState) -> TokenMask:
        """The tokens after which the text can still end within the tokens left."""
        left, inner = state
        if self.distances.farthest(inner) <= left - 2:
            return self.constraint.mask(inner)
        return self._restricted(left, inner)

    def _restrict(self, left: int, inner: State) -> TokenMask:
        ids, distances = self.distances.after(inner)
        allowed = np.zeros(len(self.vocabulary), np.bool_)
        allowed[ids[distances <= left - 2]] = True
        if left > 0 and self.constraint.is_final(inner):
            allowed[list(self.vocabulary.ends)] = True
        return TokenMask(pack(allowed), len(self.vocabulary))

    def advance(self, state: BudgetState, token_id: TokenId) -> BudgetState:
        """The state after a token. Raises: TokenNotAllowed where the token is not in the mask."""
        left, inner = state
        there = BudgetState(left - 1, self.constraint.advance(inner, token_id))
        if token_id in self.vocabulary.ends:
            fits = left > 0
        else:
            fits = self.distances.distance(there.inner) < there.left
        if not fits:
            raise TokenNotAllowed(f"after token {token_id} no text ends within the {left} left")
        return there

    def is_final(self, state: BudgetState) -> bool:
        """Whether the text read is accepted."""
        return self.constraint.is_final(state.inner)

    def fewest(self, state: BudgetState) -> int:
        """The fewest tokens that end the text, the end token included."""
        return self.distances.distance(state.inner) + 1

    def forced(self, state: BudgetState, most: int = sys.maxsize) -> bytes:
        """The bytes that every accepted text continues with."""
        return self.constraint.forced(state.inner, most)

    def state_key(self, state: BudgetState) -> Hashable:
        """Implements ``HasStateKeys``: that of the constraint."""
        return state_key(self.constraint)(state.inner)
