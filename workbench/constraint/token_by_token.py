"""Token by token: where a token leads comes in, out come ``allows`` and ``advance``.

What the older methods share: they keep no steps, and answer for one token without its mask.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from workbench.errors import TokenNotAllowed
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The states of a constraint.
Kept = TypeVar("Kept")


class TokenByToken(ABC, Generic[Kept]):
    """A constraint that says of one token where it leads."""

    vocabulary: Vocabulary

    @abstractmethod
    def is_final(self, state: Kept) -> bool:
        """Whether the text read so far is accepted."""

    @abstractmethod
    def target(self, state: Kept, token_id: TokenId) -> Kept | None:
        """The state after a token other than the end; None where the mask does not have it."""

    def allows(self, state: Kept, token_id: TokenId) -> bool:
        """Whether one token is in the mask of a state; the others are not looked at."""
        if token_id == self.vocabulary.end:
            return self.is_final(state)
        return self.target(state, token_id) is not None

    def advance(self, state: Kept, token_id: TokenId) -> Kept:
        """The state after a token; the end token leads to the same state.

        Raises: TokenNotAllowed where the token is not in the mask.
        """
        if token_id == self.vocabulary.end and self.is_final(state):
            return state
        there = self.target(state, token_id)
        if there is None:
            raise TokenNotAllowed(f"token {token_id} is not allowed here")
        return there

    def spelt(self, token_id: TokenId) -> bytes | None:
        """The bytes of a token; None of one that is special, and of what is no token."""
        known = 0 <= token_id < len(self.vocabulary)
        return self.vocabulary.tokens[token_id] if known else None
