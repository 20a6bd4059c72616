"""The base of constraints that step token by token, without computing a mask."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

from workbench.base.errors import TokenNotAllowed
from workbench.constraint.token_machine import TokenMachine
from workbench.vocabulary.vocabulary import TokenId


@dataclass(frozen=True, slots=True)
class Precomputed:
    """The tables that a method computes before the first mask: their entries, and their size."""

    entries: int
    bytes: int


#: The states of a constraint.
S = TypeVar("S")


class TokenByToken(TokenMachine, Generic[S]):
    """Base of constraints that can step by one token without computing a mask."""

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
