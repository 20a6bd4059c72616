"""Unconstrained: a constraint that allows every token, for comparison and for plain sampling."""

from __future__ import annotations

import numpy as np

from workbench.constraint.mask import TokenMask, pack
from workbench.constraint.protocol import State
from workbench.errors import TokenNotAllowed
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


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
