"""Machines over tokens: the shared interface, and walks token by token.

What the older methods share: they keep no steps, and answer for one token without its mask.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import State
from workbench.base.errors import TokenNotAllowed
from workbench.base.limits import Limits
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class TokenAutomaton(Protocol):
    """Numbered states, and tokens that lead from one to another; deterministic."""

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def initial(self) -> State: ...

    @property
    def finals(self) -> npt.NDArray[np.bool_]:
        """Which states accept, (Q,)."""
        ...

    @property
    def edge_count(self) -> int: ...

    def __len__(self) -> int:
        """The number of states."""
        ...

    def edges(self, state: State) -> Sequence[tuple[TokenId, State]]:
        """Each token that may come next, with the state it leads to."""
        ...


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
