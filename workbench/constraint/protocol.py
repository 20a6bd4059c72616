"""The ``Constraint`` protocol: the least that a run needs to know of what restricts it."""

from __future__ import annotations

import sys
from typing import Any, Protocol, runtime_checkable

from workbench.constraint.masks import TokenMask
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: A constraint's state: an immutable value, cheap to hash; equal states allow the same
#: continuations. To rewind, keep an earlier state. Each constraint has its own type of state.
State = Any


@runtime_checkable
class Constraint(Protocol):
    """Which tokens may come next, and the state after each.

    All exact constraints keep this rule: a token is in the mask of a state if and only if
    some accepted text begins with the bytes read followed by the token's bytes;
    every end token is in the mask if and only if the text read is accepted. Other special
    tokens never are. (Terminal labels match whole tokens; ``labels`` has the rule for them.)
    """

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def initial(self) -> State: ...

    def mask(self, state: State) -> TokenMask:
        """The tokens that may come next; cached, so a second call costs nothing."""
        ...

    def advance(self, state: State, token_id: TokenId) -> State:
        """The state after a token.

        An end token, where the mask allows it, leads to the same state.
        Raises: TokenNotAllowed where the token is not in the mask.
        """
        ...

    def is_final(self, state: State) -> bool:
        """Whether the text read is accepted."""
        ...

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        """The bytes that every accepted text continues with, at most ``most`` of them.

        Empty at a branch or a final state.
        Raises: LimitError where they take longer than the constraint's limits allow.
        """
        ...
