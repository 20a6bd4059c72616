"""Machines over tokens: their interface, and the base of constraints that step token by token."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import State as DfaState
from workbench.base.errors import TokenNotAllowed
from workbench.base.limits import Limits
from workbench.constraint.protocol import ProcessLocal, constraint_repr
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class TokenAutomaton(Protocol):
    """A deterministic automaton over tokens, with numbered states."""

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def initial(self) -> DfaState: ...

    @property
    def finals(self) -> npt.NDArray[np.bool_]:
        """Which states accept, (Q,)."""
        ...

    @property
    def edge_count(self) -> int: ...

    def __len__(self) -> int:
        """The number of states."""
        ...

    def edges(self, state: DfaState) -> Sequence[tuple[TokenId, DfaState]]:
        """Each token that may come next, with its target state."""
        ...


@dataclass(frozen=True, slots=True)
class Precomputed:
    """The tables that a method computes before the first mask: their entries, and their size."""

    entries: int
    bytes: int


#: The states of a constraint.
S = TypeVar("S")

#: What to do where the bytes of ``forced`` take too long.
ASK_FOR_LESS = "the text may be very long; pass the most bytes that you need"


class TokenByToken(ProcessLocal, ABC, Generic[S]):
    """Base of constraints that can step by one token without computing a mask."""

    __repr__ = constraint_repr

    vocabulary: Vocabulary

    @abstractmethod
    def is_final(self, state: S) -> bool:
        """Whether the text read is accepted."""

    @abstractmethod
    def target(self, state: S, token_id: TokenId) -> S | None:
        """The state after a token other than an end token; None if it is not allowed."""

    def allows(self, state: S, token_id: TokenId) -> bool:
        """Whether one token is in the mask of a state, without computing the mask."""
        if token_id in self.vocabulary.ends:
            return self.is_final(state)
        return self.target(state, token_id) is not None

    def advance(self, state: S, token_id: TokenId) -> S:
        """The state after a token; an end token leads to the same state.

        Raises: TokenNotAllowed where the token is not in the mask.
        """
        if token_id in self.vocabulary.ends and self.is_final(state):
            return state
        there = self.target(state, token_id)
        if there is None:
            raise TokenNotAllowed(f"token {token_id} is not allowed here")
        return there

    def bytes_of(self, token_id: TokenId) -> bytes | None:
        """The bytes of a token; None for a special token and for an invalid id."""
        is_valid = 0 <= token_id < len(self.vocabulary)
        return self.vocabulary.tokens[token_id] if is_valid else None
