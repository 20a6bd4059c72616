"""Small constraints and models with given logits, for the tests of the loop."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.base.errors import TokenNotAllowed
from workbench.constraint.masks import TokenMask
from workbench.decoding.model import Logits, one_by_one
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class FiniteConstraint:
    """A finite set of texts, by trying every token; a state is the text read."""

    def __init__(self, vocabulary: Vocabulary, texts: Iterable[bytes]) -> None:
        self.vocabulary = vocabulary
        self.texts = frozenset(texts)

    @property
    def initial(self) -> bytes:
        return b""

    def mask(self, state: object) -> TokenMask:
        assert isinstance(state, bytes)
        allowed = [
            i
            for i, token in enumerate(self.vocabulary.tokens)
            if token is not None and any(text.startswith(state + token) for text in self.texts)
        ]
        if state in self.texts:
            allowed.extend(self.vocabulary.ends)
        return TokenMask.of(allowed, len(self.vocabulary))

    def advance(self, state: object, token_id: TokenId) -> bytes:
        assert isinstance(state, bytes)
        if token_id not in self.mask(state):
            raise TokenNotAllowed(f"token {token_id} is not in the mask")
        return state + (self.vocabulary.tokens[token_id] or b"")

    def is_final(self, state: object) -> bool:
        return state in self.texts

    def forced(self, state: object, most: int = sys.maxsize) -> bytes:
        return b""


@dataclass(eq=False)
class TableModel:
    """A model that answers the same logits for every context, or those written for a context."""

    vocabulary: Vocabulary
    usual: Sequence[float]
    after: Mapping[tuple[TokenId, ...], Sequence[float]] = field(default_factory=dict)
    name: str = "table"
    asked: list[list[TokenId]] = field(default_factory=list)

    def encode(self, text: str) -> list[TokenId]:
        return self.vocabulary.ids(*text) or [0]

    def session(self) -> TableModel:
        return self

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        self.asked.append(list(token_ids))
        return np.array(self.after.get(tuple(token_ids), self.usual), np.float32)

    def score(self, token_ids: Sequence[TokenId], last: int) -> Logits:
        return one_by_one(self.logits, token_ids, last)
