"""The method ``template``: forced text is inserted as the tokenizer would tokenize it.

Inside forced text the mask allows a single token, so that no pass of the model is needed there
(``decoding.speculative``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable

from workbench.base.errors import TokenNotAllowed, VocabularyError
from workbench.constraint.masks import TokenMask
from workbench.constraint.protocol import State
from workbench.constraint.token_machine import Capability, TokenMachine
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The most bytes of forced text tokenized in one step, so that long text costs only what is used.
_MAX_INSERTED_BYTES = 1024

#: The state of the exact constraint; the tokens to insert next; and whether the forced bytes after
#: these are left to the model, which may tokenize them together with the text that follows.
_State = tuple[State, tuple[TokenId, ...], bool]


class ForcedText(TokenMachine):
    """A constraint that inserts forced text: the bytes that every accepted text continues with.

    With ``healing`` the last token before a choice is not inserted: the model chooses among all
    tokens that agree with its bytes. So one token may contain the end of the forced text and the
    beginning of the text that fills the hole. At the end of a hole the model may always take such
    a token; the rest of the forced text is then inserted. (GUIDANCE truncates to the
    second-to-last token boundary and forces the rest as a prefix, which is equivalent.)

    Each stretch of forced text is tokenized separately, as in a template program. If the tokenizer
    of a vocabulary is unknown, the longest token at each position is taken.

    Source: GUIDANCE as in Beurer-Kellner et al. 2024 (DOMINO), §2 and appendix A.
    """

    def __init__(self, exact: TokenMachine, healing: bool = True) -> None:
        exact.require(Capability.BYTES)
        self.exact = exact
        self.vocabulary, self.limits = exact.vocabulary, exact.limits
        self.healing = healing
        self._encode = _tokenizer_of(exact.vocabulary)
        self._states: dict[State, _State] = {}
        self._single_masks: dict[TokenId, TokenMask] = {}

    @property
    def initial(self) -> State:
        return self._enter(self.exact.initial)

    def mask(self, state: State) -> TokenMask:
        """The token to insert, or the tokens that may come next."""
        inner, inserted, _ = state
        if not inserted:
            return self.exact.mask(inner)
        cached = self._single_masks.get(inserted[0])
        if cached is None:
            cached = TokenMask.of(inserted[:1], len(self.vocabulary))
            self._single_masks[inserted[0]] = cached
        return cached

    def advance(self, state: State, token_id: TokenId) -> State:
        """The state after a token.

        Raises: TokenNotAllowed.
        """
        inner, inserted, is_open = state
        if not inserted:
            target = self.exact.advance(inner, token_id)
            return state if token_id in self.vocabulary.ends else self._enter(target)
        if token_id != inserted[0]:
            raise TokenNotAllowed(
                f"token {token_id} is not allowed here: {inserted[0]} is inserted"
            )
        target = self.exact.advance(inner, token_id)
        if len(inserted) == 1 and not is_open:
            return self._enter(target)
        return target, inserted[1:], is_open

    def is_final(self, state: State) -> bool:
        return self.exact.is_final(state[0])

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        return self.exact.forced(state[0], most)

    def state_key(self, state: State) -> Hashable:
        """The exact constraint's key, with the tokens that are still to be inserted."""
        return (self.exact.state_key(state[0]), *state[1:])

    def _enter(self, inner: State) -> _State:
        """The state after a token chosen by the model, or at the beginning."""
        cached = self._states.get(inner)
        if cached is None:
            if len(self._states) >= self.exact.limits.rows:
                self._states.clear()
            cached = self._states[inner] = (inner, *self._forced_tokens(inner))
        return cached

    def _forced_tokens(self, inner: State) -> tuple[tuple[TokenId, ...], bool]:
        """The tokens to insert from a state, and whether the model chooses the bytes after them."""
        forced = self.exact.forced(inner, _MAX_INSERTED_BYTES)
        ids = self._encode(_whole_characters(forced))
        if not ids or not self._allows(inner, ids):
            return (), False
        if len(forced) == _MAX_INSERTED_BYTES:
            return tuple(ids[:-1]), False  # more forced text may join with the last token
        target = self.exact.step_bytes(inner, forced)
        if target is not None and self.exact.is_final(target) and not self.exact.next_bytes(target):
            return tuple(ids), False  # no hole follows
        return (tuple(ids[:-1]), True) if self.healing else (tuple(ids), False)

    def _allows(self, inner: State, ids: list[TokenId]) -> bool:
        """Whether the tokens are allowed; without single-byte tokens some may be dead ends."""
        try:
            for token_id in ids:
                inner = self.exact.advance(inner, token_id)
        except TokenNotAllowed:
            return False
        return True


def _whole_characters(data: bytes) -> bytes:
    """The longest prefix that is valid UTF-8, because tokenizers read text."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return data[: error.start]
    return data


def _tokenizer_of(vocabulary: Vocabulary) -> Callable[[bytes], list[TokenId]]:
    """The vocabulary's tokenizer for a separate text; longest tokens if it is unknown."""
    try:
        bpe = Bpe.of(vocabulary)
    except VocabularyError:
        return lambda data: _longest_tokens(vocabulary, data)

    def encode_or_longest(data: bytes) -> list[TokenId]:
        try:
            ids = bpe.encode(data)
        except VocabularyError:  # a character without a token
            ids = []
        # text that looks like a special token is not tokenized as text
        return ids if vocabulary.decode(ids) == data else _longest_tokens(vocabulary, data)

    return encode_or_longest


def _longest_tokens(vocabulary: Vocabulary, data: bytes) -> list[TokenId]:
    """The longest token at each position, up to one where no token matches."""
    tokens: list[TokenId] = []
    position = 0
    while (token_id := vocabulary.longest_at(data, position)) is not None:
        tokens.append(token_id)
        position += len(vocabulary.tokens[token_id] or b"")
    return tokens
