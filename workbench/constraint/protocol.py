"""Constraint: what every decoding method of this project answers to."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from workbench.constraint.mask import TokenMask
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: A constraint's state: an immutable value, cheap to hash, equal where the constraint stands
#: at the same place. Rewinding is keeping an old one. Each constraint has its own type of them.
State = Any


@runtime_checkable
class Constraint(Protocol):
    """Which tokens may come next, and where each leads.

    The rule all exact members keep: a token is in the mask of a state if and only if
    some accepted text begins with the bytes read so far followed by the token's bytes;
    the end token is in it if and only if the text so far is accepted. Special tokens
    never are. (Terminal labels read whole tokens: ``labelled`` says what holds beside them.)
    """

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def initial(self) -> State: ...

    def mask(self, state: State) -> TokenMask:
        """The tokens that may come next; remembered, so the second call costs nothing."""
        ...

    def advance(self, state: State, token_id: TokenId) -> State:
        """The state after a token.

        The end token, where the mask allows it, leads to the same state.
        Raises: TokenNotAllowed where the token is not in the mask.
        """
        ...

    def is_final(self, state: State) -> bool:
        """Whether the text read so far is accepted."""
        ...

    def forced(self, state: State) -> bytes:
        """The bytes every accepted text goes on with; empty where it branches or may end."""
        ...
