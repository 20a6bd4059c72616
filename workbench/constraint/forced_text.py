"""A constraint that writes forced text in the tokenizer's own tokens.

In comes an exact constraint; out comes one whose mask holds a single token inside of fixed text, so
that no pass of a model is needed there (``Skipping``).
"""

from __future__ import annotations

from collections.abc import Callable

from workbench.base.errors import TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.constraint.engine.automaton import AutomatonConstraint
from workbench.constraint.mask import TokenMask
from workbench.constraint.protocol import State
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: So many bytes are inserted at once, so that long fixed text costs no more than is taken of it.
_PIECE = 1024

#: Where the exact constraint stands, the tokens that come next in any case, and whether the bytes
#: forced after them are left to the model, which may spell them together with what follows.
_Standing = tuple[State, tuple[TokenId, ...], bool]


class Inserting:
    """Bytes that every accepted text goes on with are inserted in the tokenizer's own tokens.

    With ``healing`` the last token before a choice is not inserted: the model chooses among all
    tokens that agree with its bytes, so that one token may spell the end of the fixed text and the
    beginning of what fills the hole. Where a hole ends the model may always take such a token; what
    it leaves of the fixed text is inserted. (GUIDANCE truncates to the second-to-last token
    boundary and forces the rest as a prefix: the same.)

    The tokenizer sees each piece of fixed text alone, as a template program's does. Where a
    vocabulary's tokenizer is not known the longest token at each place is taken.

    Source: GUIDANCE as in Beurer-Kellner et al. 2024 (DOMINO), §2 and appendix A.
    """

    def __init__(self, exact: AutomatonConstraint, healing: bool = True) -> None:
        if not isinstance(healing, bool):
            raise WorkbenchError(f"expected healing to be true or false, not {healing!r}")
        self.exact = exact
        self.vocabulary = exact.vocabulary
        self.healing = healing
        self._encode = _speller(exact.vocabulary)
        self._entered: dict[State, _Standing] = {}
        self._single: dict[TokenId, TokenMask] = {}

    @property
    def initial(self) -> State:
        return self._enter(self.exact.initial)

    def mask(self, state: State) -> TokenMask:
        """The token that is inserted, or those that may come next."""
        here, inserted, _ = state
        if not inserted:
            return self.exact.mask(here)
        known = self._single.get(inserted[0])
        if known is None:
            known = TokenMask.of(inserted[:1], len(self.vocabulary))
            self._single[inserted[0]] = known
        return known

    def advance(self, state: State, token_id: TokenId) -> State:
        """The state after a token.

        Raises: TokenNotAllowed.
        """
        here, inserted, left = state
        if not inserted:
            there = self.exact.advance(here, token_id)
            return state if token_id == self.vocabulary.end else self._enter(there)
        if token_id != inserted[0]:
            raise TokenNotAllowed(
                f"token {token_id} is not allowed here: {inserted[0]} is inserted"
            )
        there = self.exact.advance(here, token_id)
        if len(inserted) == 1 and not left:
            return self._enter(there)
        return there, inserted[1:], left

    def is_final(self, state: State) -> bool:
        return self.exact.is_final(state[0])

    def forced(self, state: State) -> bytes:
        """The bytes every accepted text goes on with; empty where it branches or may end."""
        return self.exact.forced(state[0])

    def _enter(self, here: State) -> _Standing:
        """A state that is met after a token the model chose, or at the beginning."""
        known = self._entered.get(here)
        if known is None:
            if len(self._entered) >= self.exact.limits.rows:
                self._entered.clear()
            known = self._entered[here] = (here, *self._inserted(here))
        return known

    def _inserted(self, here: State) -> tuple[tuple[TokenId, ...], bool]:
        """What is inserted from a state on, and whether the bytes after it are the model's."""
        forced = self.exact.forced(here, _PIECE)
        ids = self._encode(_whole_characters(forced))
        if not ids or not self._allows(here, ids):
            return (), False
        if len(forced) == _PIECE:
            return tuple(ids[:-1]), False  # the next piece may join with its last token
        there = self.exact.step_bytes(here, forced)
        if there is not None and self.exact.is_final(there) and not self.exact.next_bytes(there):
            return tuple(ids), False  # no hole comes after it
        return (tuple(ids[:-1]), True) if self.healing else (tuple(ids), False)

    def _allows(self, here: State, ids: list[TokenId]) -> bool:
        """Whether the tokens can be taken; where bytes cannot be spelt some lead to dead ends."""
        try:
            for token_id in ids:
                here = self.exact.advance(here, token_id)
        except TokenNotAllowed:
            return False
        return True


def _whole_characters(data: bytes) -> bytes:
    """The beginning of some bytes that is UTF-8; a tokenizer can read no other."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return data[: error.start]
    return data


def _speller(vocabulary: Vocabulary) -> Callable[[bytes], list[TokenId]]:
    """How the vocabulary's tokenizer spells a text, standing alone."""
    try:
        bpe = Bpe.of(vocabulary)
    except VocabularyError:
        return lambda data: _longest_tokens(vocabulary, data)

    def spell(data: bytes) -> list[TokenId]:
        try:
            ids = bpe.encode(data)
        except VocabularyError:  # a character of it has no token
            ids = []
        # text that reads like a special token is spelt otherwise
        return ids if vocabulary.decode(ids) == data else _longest_tokens(vocabulary, data)

    return spell


def _longest_tokens(vocabulary: Vocabulary, data: bytes) -> list[TokenId]:
    """The longest token at each place, as far as there are any."""
    found: list[TokenId] = []
    place = 0
    while (token_id := vocabulary.longest_at(data, place)) is not None:
        found.append(token_id)
        place += len(vocabulary.tokens[token_id] or b"")
    return found
