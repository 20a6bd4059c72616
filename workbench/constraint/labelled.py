"""Labelled: a constraint over signs in, the one over a vocabulary's own tokens out.

A token that the signed constraint reads as text goes its way; any other goes the way of the first
label that has it (``LABELS`` is the order). That is Koo's heuristic, and no choice is lost by it
but one: where text and label could both read a token, what the label would have led to. A mask is
never empty for it; but where text reads every token of a label and leads back before it, as
``[a-z]*(?P<TEXT_TOKEN>)`` does over words, the label is never read and the text never ends.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import numpy as np

from workbench.constraint.automaton import AutomatonConstraint
from workbench.constraint.labels import LabelTokens, signed_vocabulary
from workbench.constraint.mask import TokenMask
from workbench.constraint.protocol import Constraint, State
from workbench.errors import TokenNotAllowed, VocabularyError
from workbench.grammar import Grammar
from workbench.limits import LIMITS, Limits
from workbench.signs import LEAD, SIGNS, labels_of, signed
from workbench.syntax.regex.labels import Label
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

_HINTS = {
    "IMAGE": "take the vocabulary of a model that reads images: one with a special token such as "
    "[IMG] or <image> among its names",
}
_HINT = "take a vocabulary with such tokens, or leave the label out"


def labelled(
    grammar: Grammar,
    vocabulary: Vocabulary,
    limits: Limits,
    make: Callable[[Grammar, Vocabulary], Constraint],
) -> Labelled:
    """The constraint of a grammar with labels, over the one that ``make`` makes for its signs.

    Raises: VocabularyError where there is no token for one of its labels; what ``make`` raises.
    """
    tokens = signed_vocabulary(vocabulary)
    known = {one.label for one in tokens.labels}
    for label, _ in labels_of(grammar):
        if label not in known:
            raise VocabularyError(
                f"{vocabulary.name} has no token for {label.name}, {label.what}",
                _HINTS.get(label.name, _HINT),
            )
    return Labelled(make(signed(grammar), tokens), vocabulary, tokens.labels, limits)


def read_by(constraint: Constraint, token_ids: Iterable[TokenId]) -> Iterator[bytes]:
    """What the machine of a constraint reads for tokens taken one after the other.

    Raises: TokenNotAllowed.
    """
    state = constraint.initial
    for token_id in token_ids:
        yield read_as(constraint, state, token_id)
        if isinstance(constraint, Labelled):
            state = constraint.advance(state, token_id)


def read_as(constraint: Constraint, state: State, token_id: TokenId) -> bytes:
    """What the machine of a constraint reads where a token is taken."""
    if isinstance(constraint, Labelled):
        return constraint.read_as(state, token_id)
    return constraint.vocabulary.tokens[token_id] or b""


def longest_tokens(constraint: Constraint, data: bytes) -> list[TokenId] | None:
    """Tokens that spell a text as the masks allow, the longest first; None where none do.

    With labels it counts how a text is cut: this is one way of it.
    Cost: a mask for each place; more where a long token leads nowhere and shorter ones are tried.
    """
    vocabulary = constraint.vocabulary
    found: list[TokenId] = []
    waiting = [(0, 0, constraint.initial, -1)]
    seen = set()
    while waiting:
        place, depth, state, taken = waiting.pop()
        found[depth - 1 :] = [taken] * (depth > 0)
        if place == len(data):
            return found
        if (place, state) in seen:
            continue
        seen.add((place, state))
        mask = constraint.mask(state)
        for length in range(1, min(vocabulary.longest, len(data) - place) + 1):
            ids = vocabulary.ids_of.get(data[place : place + length], ())
            for token_id in (i for i in ids[:1] if i in mask):
                there = constraint.advance(state, token_id)
                waiting.append((place + length, depth + 1, there, token_id))
    return None


class Labelled:
    """The constraint of a grammar with terminal labels, over any method's for its signs.

    Cost:   a mask costs the other's and a copy of it with the labels' laid over; it is remembered.
    Source: Koo et al. 2024, §2.5.1.
    """

    def __init__(
        self,
        signed: Constraint,
        vocabulary: Vocabulary,
        labels: tuple[LabelTokens, ...],
        limits: Limits = LIMITS,
    ) -> None:
        #: The same constraint, in which a label is a token of two bytes.
        self.signed = signed
        self.vocabulary = vocabulary
        self._labels = labels
        self._most = limits.rows_of(8 * ((len(vocabulary) + 31) // 32))  # two masks a row
        #: By the identity of the other's mask, which is kept so that no other takes its place.
        self._masks: dict[int, tuple[TokenMask, TokenMask]] = {}

    @property
    def initial(self) -> State:
        return self.signed.initial

    def mask(self, state: State) -> TokenMask:
        """The tokens that may come next, as text or through a label."""
        signed = self.signed.mask(state)
        known = self._masks.get(id(signed))
        if known is None:
            while len(self._masks) >= self._most:
                self._masks.pop(next(iter(self._masks)), None)  # another thread may be faster
            known = self._masks[id(signed)] = signed, self._laid_over(signed)
        return known[1]

    def _laid_over(self, signed: TokenMask) -> TokenMask:
        size = len(self.vocabulary)
        bits = signed.bits[: (size + 31) // 32].copy()
        if size % 32:
            bits[-1] &= np.uint32((1 << size % 32) - 1)
        for one in self._labels:
            if one.sign in signed:
                bits |= one.mask.bits
        return TokenMask(bits, size)

    def label(self, state: State, token_id: TokenId) -> Label | None:
        """The label that reads a token; None where it is read as text, or not at all."""
        found = self._read_by(state, token_id)
        return None if found is None else found.label

    def _read_by(self, state: State, token_id: TokenId) -> LabelTokens | None:
        signed = self.signed.mask(state)
        if token_id not in signed:
            for one in self._labels:
                if one.sign in signed and token_id in one.mask:
                    return one
        return None

    def advance(self, state: State, token_id: TokenId) -> State:
        """The state after a token; the end token leads to the same state.

        Raises: TokenNotAllowed where the token is not in the mask.
        """
        if not 0 <= token_id < len(self.vocabulary):
            raise TokenNotAllowed(
                f"token {token_id} is not in a vocabulary of {len(self.vocabulary)}"
            )
        try:  # no mask is asked for: some strategies make none
            return self.signed.advance(state, token_id)
        except TokenNotAllowed:
            for one in self._labels:
                if token_id in one.mask:
                    with suppress(TokenNotAllowed):
                        return self.signed.advance(state, one.sign)
            raise

    def read_as(self, state: State, token_id: TokenId) -> bytes:
        """What the signed machine reads where a token is taken: its bytes, or a label's sign."""
        found = self._read_by(state, token_id)
        if found is not None:
            return SIGNS[found.label.name]
        return self.vocabulary.tokens[token_id] or b""

    def is_final(self, state: State) -> bool:
        return self.signed.is_final(state)

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        """The bytes every accepted text goes on with, up to a label; no more than ``most``."""
        if isinstance(self.signed, AutomatonConstraint):  # it makes no more than are asked for
            forced = self.signed.forced(state, most)
        else:
            forced = self.signed.forced(state)[:most]
        return forced.split(bytes((LEAD,)))[0]
