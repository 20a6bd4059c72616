"""``WithinBudget``: masks under which every text ends within a number of tokens.

A mask keeps a text inside its grammar, but a budget of tokens may end it in the middle: the result
is a prefix of an accepted text and no text of the grammar. Here a token is allowed only if the text
can still end, end token included, with the tokens that are left after it.

A machine counts its own tokens (``TokenMachine.token_distances``). The exact engine counts from its
automata. A method with the engine's masks is followed by the engine (``TokenMachine.engine``). Of
any other method all states are explored, which succeeds where they are few.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from workbench.base.arguments import checked
from workbench.base.errors import TokenNotAllowed, WorkbenchError
from workbench.base.limits import Limits
from workbench.base.visible_text import count_of
from workbench.constraint.masks import TokenMask, pack
from workbench.constraint.protocol import Constraint, State
from workbench.constraint.token_distances import FAR
from workbench.constraint.token_machine import BudgetLeft, TokenMachine, machine_of
from workbench.syntax.regex.extensions import Label
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class BudgetState(NamedTuple):
    """A state of ``WithinBudget``."""

    #: The tokens left, the end token included.
    left: int
    #: The state of the constraint.
    inner: State
    #: The state whose distance is counted: often the same.
    counted: State


class WithinBudget(TokenMachine):
    """A constraint whose texts have at most ``budget`` tokens, the end token included.

    A token is in the mask if and only if the constraint allows it and some accepted text follows it
    within the tokens left. So a generation that may take ``budget`` tokens always ends with an
    accepted text.

    ``limits``  of the distances; default: those of the constraint.

    Cost:   the distances of all states (``token_distances``) once; then a mask compares the largest
            distance after the state with the tokens left; only if it is larger, tokens are tested.
    Raises: WorkbenchError if every text is longer than the budget, and for a method whose states
            are too many to explore; LimitError.
    Source: exact for automata and for stacks. TruncProof (2026) approximates it for LL(1).
    """

    @checked
    def __init__(self, constraint: Constraint, budget: int, limits: Limits | None = None) -> None:
        machine = machine_of(constraint)
        before = machine.budget_left(machine.initial)
        self.constraint = machine.without_budget()
        self.vocabulary: Vocabulary = machine.vocabulary
        self.budget: int = budget if before is None else min(budget, before.tokens)
        self._engine = self.constraint.engine()
        self.limits = limits = self._engine.limits if limits is None else limits
        self._same = self._engine is self.constraint
        #: The fewest tokens from a state to an accepted text.
        self.distances = self._engine.token_distances(limits)
        #: The tokens that end a text: vocabularies may have no end token.
        self._end = min(1, len(self.vocabulary.ends))
        self._restricted = lru_cache(maxsize=limits.rows_of(len(self.vocabulary) // 8 + 1))(
            self._restrict
        )
        self._farthest = lru_cache(maxsize=limits.rows)(self.distances.farthest)
        self._distance = lru_cache(maxsize=limits.rows)(self.distances.distance)
        fewest = self.fewest(self.initial)
        if fewest >= FAR:
            raise WorkbenchError(
                "no text of the grammar ends, however many tokens it may have",
                "a terminal label at its end may be read as text at every token",
            )
        if fewest > self.budget:
            end, tokens = " with the end token" if self._end else "", count_of(fewest, "token")
            raise WorkbenchError(
                f"the shortest text needs {tokens}{end}; at most is {self.budget}",
                f"allow {tokens} or more",
            )

    def __eq__(self, other: object) -> bool:
        """Whether both allow the same tokens; a strategy that learns may see several equal ones."""
        if type(other) is not WithinBudget:
            return NotImplemented
        return self.constraint is other.constraint and self.budget == other.budget

    def __hash__(self) -> int:
        return hash((id(self.constraint), self.budget))

    @property
    def initial(self) -> BudgetState:
        return BudgetState(self.budget, self.constraint.initial, self._engine.initial)

    def mask(self, state: BudgetState) -> TokenMask:
        """The tokens after which the text can still end within the tokens left."""
        tokens_left, inner, counted = state
        if tokens_left > 0 and self._farthest(counted) <= tokens_left - 1 - self._end:
            return self.constraint.mask(inner)
        return self._restricted(tokens_left, inner, counted)

    def _restrict(self, tokens_left: int, inner: State, counted: State) -> TokenMask:
        ids, distances = self.distances.after(counted)
        allowed = np.zeros(len(self.vocabulary), np.bool_)
        allowed[ids[distances <= tokens_left - 1 - self._end]] = True
        if tokens_left > 0 and self.constraint.is_final(inner):
            allowed[list(self.vocabulary.ends)] = True
        return TokenMask(pack(allowed), len(self.vocabulary))

    def advance(self, state: BudgetState, token_id: TokenId) -> BudgetState:
        """The state after a token. Raises: TokenNotAllowed where the token is not in the mask."""
        tokens_left, inner, counted = state
        there = self.constraint.advance(inner, token_id)
        if token_id in self.vocabulary.ends:
            fits = tokens_left > 0
        else:
            counted = there if self._same else self._engine.advance(counted, token_id)
            fits = self._distance(counted) <= tokens_left - 1 - self._end
        if not fits:
            needed = self._distance(counted) + self._end
            raise TokenNotAllowed(
                f"after token {token_id} the shortest text needs {count_of(needed, 'token')} more;"
                f" at most {max(0, tokens_left - 1)} may follow",
                f"allow {count_of(self.budget - tokens_left + 1 + needed, 'token')} or more",
            )
        return BudgetState(tokens_left - 1, there, counted)

    def is_final(self, state: BudgetState) -> bool:
        """Whether the text read is accepted."""
        return self.constraint.is_final(state.inner)

    def fewest(self, state: BudgetState) -> int:
        """The fewest tokens that end the text, the end token included."""
        return self._distance(state.counted) + self._end

    def forced(self, state: BudgetState, most: int = sys.maxsize) -> bytes:
        """The bytes that every accepted text continues with."""
        return self.constraint.forced(state.inner, most)

    def state_key(self, state: BudgetState) -> Hashable:
        """That of the constraint: drafts learnt under one budget serve under another."""
        return self.constraint.state_key(state.inner)

    def label(self, state: BudgetState, token_id: TokenId) -> Label | None:
        """The label that reads a token, or None."""
        return self.constraint.label(state.inner, token_id)

    def read_as(self, state: BudgetState, token_id: TokenId) -> bytes:
        """The bytes that the constraint's machine reads for a token."""
        return self.constraint.read_as(state.inner, token_id)

    def is_free(self, state: BudgetState) -> bool:
        """Whether the text is in a part that the grammar does not read."""
        return self.constraint.is_free(state.inner)

    def answer_in(self, token_ids: Iterable[TokenId]) -> bytes:
        """The part of a text that the grammar describes."""
        return self.constraint.answer_in(token_ids)

    def why(self, text: bytes) -> str:
        return self.constraint.why(text)

    def budget_left(self, state: BudgetState) -> BudgetLeft:
        """The tokens left, and the fewest that end the text."""
        return BudgetLeft(state.left, self.fewest(state))

    def without_budget(self) -> TokenMachine:
        return self.constraint
