"""SmallTokens: a constraint whose tokens are single characters, over the whole vocabulary.

A large token may hold a whole nested text; in small tokens every step pushes or pops few symbols.
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
    continues it to an accepted text: the constraint that ``make`` builds over the small tokens
    alone is exact by itself, and its masks are used as they are.

    Raises: VocabularyError where small tokens spell no accepted text; what ``make`` raises.
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
    """Whether a token is one character, or one byte: bytes spell the characters without a token."""
    if len(token) == 1:
        return True
    try:
        return len(token.decode("utf-8")) == 1
    except UnicodeDecodeError:
        return False


def small_vocabulary(vocabulary: Vocabulary) -> Vocabulary:
    """The vocabulary in which every token that is not small is None, as special tokens are."""
    return replace(
        vocabulary,
        tokens=[token if token and is_small(token) else None for token in vocabulary.tokens],
        name=f"the small tokens of {vocabulary.name}",
        unpredictable="a tokenizer does not write text in single characters",
    )
