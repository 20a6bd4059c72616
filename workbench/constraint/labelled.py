"""Labelled: a constraint over signs in, the one over a vocabulary's own tokens out.

A token that the signed constraint reads as text goes its way; any other goes the way of the first
label that has it (``LABELS`` is the order). That is Koo's heuristic, and no choice is lost by it
but one: where text and label could both read a token, what the label would have led to.
"""

from __future__ import annotations

import numpy as np

from workbench.constraint.labels import LabelMasks, labels_of_vocabulary
from workbench.constraint.mask import TokenMask
from workbench.constraint.protocol import Constraint, State
from workbench.constraint.signs import LEAD, labels_of
from workbench.errors import TokenNotAllowed, VocabularyError
from workbench.grammar import Grammar
from workbench.limits import LIMITS, Limits
from workbench.syntax.regex_labels import LABELS, Label
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

_HINTS = {
    "IMAGE": "take the vocabulary of a model that reads images: one with a special token such as "
    "[IMG] or <image> among its names",
}
_HINT = "take a vocabulary with such tokens, or leave the label out"


def label_masks(grammar: Grammar, vocabulary: Vocabulary) -> LabelMasks:
    """The labels of a vocabulary, which has tokens for all that a grammar has.

    Raises: VocabularyError where there is no token for one of them.
    """
    labels = labels_of_vocabulary(vocabulary)
    for label, _ in labels_of(grammar):
        if label.name not in labels.masks:
            raise VocabularyError(
                f"{vocabulary.name} has no token for {label.name}, {label.what}",
                _HINTS.get(label.name, _HINT),
            )
    return labels


class Labelled:
    """The constraint of a grammar with terminal labels, over any method's for its signs.

    Cost:   a mask costs the other's and a copy of it with the labels' laid over; it is remembered.
    Source: Koo et al. 2024, §2.5.1.
    """

    def __init__(self, signed: Constraint, vocabulary: Vocabulary, labels: LabelMasks) -> None:
        #: The same constraint, in which a label is a token of two bytes.
        self.signed = signed
        self.vocabulary = vocabulary
        self._labels = [
            (label, labels.signs[label.name], labels.masks[label.name])
            for label in LABELS
            if label.name in labels.masks
        ]
        self._limits: Limits = getattr(signed, "limits", LIMITS)
        self._most = self._limits.rows_of(4 * ((len(vocabulary) + 31) // 32))
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
                del self._masks[next(iter(self._masks))]
            known = self._masks[id(signed)] = signed, self._laid_over(signed)
        return known[1]

    def _laid_over(self, signed: TokenMask) -> TokenMask:
        size = len(self.vocabulary)
        bits = signed.bits[: (size + 31) // 32].copy()
        if size % 32:
            bits[-1] &= np.uint32((1 << size % 32) - 1)
        for _, sign, mask in self._labels:
            if sign in signed:
                bits |= mask.bits
        return TokenMask(bits, size)

    def label(self, state: State, token_id: TokenId) -> Label | None:
        """The label that reads a token; None where it is read as text, or not at all."""
        signed = self.signed.mask(state)
        if token_id not in signed:
            for label, sign, mask in self._labels:
                if sign in signed and token_id in mask:
                    return label
        return None

    def advance(self, state: State, token_id: TokenId) -> State:
        """The state after a token; the end token leads to the same state.

        Raises: TokenNotAllowed where the token is not in the mask.
        """
        if not 0 <= token_id < len(self.vocabulary):
            raise TokenNotAllowed(
                f"token {token_id} is not in a vocabulary of {len(self.vocabulary)}"
            )
        signed = self.signed.mask(state)
        if token_id not in signed:
            for _, sign, mask in self._labels:
                if sign in signed and token_id in mask:
                    return self.signed.advance(state, sign)
        return self.signed.advance(state, token_id)

    def is_final(self, state: State) -> bool:
        return self.signed.is_final(state)

    def forced(self, state: State) -> bytes:
        """The bytes every accepted text goes on with, up to a label."""
        return self.signed.forced(state).split(bytes((LEAD,)))[0]
