"""``SmallTokens``: a constraint that allows only tokens of a single character.

A large token may contain a whole nested text; with small tokens every step pushes or pops few stack
symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from workbench.constraint.mask import TokenMask
from workbench.constraint.protocol import Constraint, State
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class SmallTokens:
    """A constraint over the small tokens of a vocabulary, with the ids of the whole vocabulary.

    A token is allowed if and only if it is small (``is_small``) and a sequence of small tokens
    continues it to an accepted text. The constraint that ``make`` builds over the small tokens
    is exact, and its masks are used unchanged.

    Raises: VocabularyError where no accepted text can be tokenized with small tokens; errors of
            ``make``.
    """

    def __init__(self, vocabulary: Vocabulary, make: Callable[[Vocabulary], Constraint]) -> None:
        self.vocabulary = vocabulary
        self._small = make(small_vocabulary(vocabulary))

    @property
    def initial(self) -> State:
        return self._small.initial

    def mask(self, state: State) -> TokenMask:
        return self._small.mask(state)

    def advance(self, state: State, token_id: TokenId) -> State:
        """The state after a token. Raises: TokenNotAllowed where the token is not in the mask."""
        return self._small.advance(state, token_id)

    def is_final(self, state: State) -> bool:
        return self._small.is_final(state)

    def forced(self, state: State) -> bytes:
        return self._small.forced(state)


def is_small(token: bytes) -> bool:
    """Whether a token is one character, or one byte (of a character without a token)."""
    if len(token) == 1:
        return True
    try:
        return len(token.decode("utf-8")) == 1
    except UnicodeDecodeError:
        return False


def small_vocabulary(vocabulary: Vocabulary) -> Vocabulary:
    """The vocabulary in which all other tokens are None, like special tokens."""
    return replace(
        vocabulary,
        tokens=[token if token and is_small(token) else None for token in vocabulary.tokens],
        name=f"the small tokens of {vocabulary.name}",
        unpredictable="a tokenizer does not write text in single characters",
    )
