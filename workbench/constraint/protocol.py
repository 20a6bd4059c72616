"""The Constraint protocol, and the constraint that allows everything."""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol, runtime_checkable

import numpy as np

from workbench.base.errors import TokenNotAllowed
from workbench.constraint.engine.mask_rows import loop_kernel
from workbench.constraint.mask import TokenMask, pack
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


class Unconstrained:
    """Every token that spells something may come next, and the end token at any time."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        allowed = np.array([token is not None for token in vocabulary.tokens], np.bool_)
        if vocabulary.end is not None:
            allowed[vocabulary.end] = True
        self._mask = TokenMask(pack(allowed), len(vocabulary))

    @property
    def initial(self) -> State:
        return 0

    def mask(self, state: State) -> TokenMask:
        return self._mask

    def advance(self, state: State, token_id: TokenId) -> State:
        if token_id not in self._mask:
            raise TokenNotAllowed(f"token {token_id} is special or not in the vocabulary")
        return state

    def is_final(self, state: State) -> bool:
        return True

    def forced(self, state: State) -> bytes:
        return b""


@cache
def ready_for_loops() -> None:
    """The kernel of wide states too, which most grammars need only later on."""
    loop_kernel()
