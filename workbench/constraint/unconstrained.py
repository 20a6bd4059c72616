"""``Unconstrained``: the model alone, as a constraint."""

from __future__ import annotations

import sys

import numpy as np

from workbench.base.errors import TokenNotAllowed
from workbench.base.limits import Limits
from workbench.constraint.masks import TokenMask, pack
from workbench.constraint.protocol import State
from workbench.constraint.token_distances import AfterTokens
from workbench.constraint.token_machine import TokenMachine
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class Unconstrained(TokenMachine):
    """Allows every token that has bytes, and the end tokens at any time."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        allowed = np.array([token is not None for token in vocabulary.tokens], np.bool_)
        allowed[list(vocabulary.ends)] = True
        self._mask = TokenMask(pack(allowed), len(vocabulary))

    def __reduce_ex__(  # type: ignore[override]  # nothing of it is of this process
        self, _: object
    ) -> tuple[type[Unconstrained], tuple[Vocabulary]]:
        """A copy for another process: its only state is no number of this one."""
        return Unconstrained, (self.vocabulary,)

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

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        return b""

    def _count(self, limits: Limits) -> _AlwaysFinal:
        return _AlwaysFinal(self._mask.without(self.vocabulary.ends))


class _AlwaysFinal:
    """The distances where every text is accepted, from the tokens that have bytes."""

    def __init__(self, tokens: TokenMask) -> None:
        ids = tokens.ids
        self._after = AfterTokens(ids.astype(np.int32), np.zeros(len(ids), np.int32))

    def distance(self, state: State) -> int:
        return 0

    def farthest(self, state: State) -> int:
        return 0

    def after(self, state: State) -> AfterTokens:
        return self._after
