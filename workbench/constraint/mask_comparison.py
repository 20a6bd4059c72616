"""Compares the masks of a method with the exact ones, over all short texts of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from workbench.base.errors import TokenNotAllowed
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.compile import compile
from workbench.constraint.protocol import State
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


@dataclass(frozen=True, slots=True)
class MaskComparison:
    """How many masks were compared, and the tokens in which they differ.

    A method is *sound* if it allows only tokens after which some accepted text exists, and
    *complete* if it allows all of them. Here both are claims about the compared masks.
    """

    masks: int
    #: Tokens of exact masks, in all of them together.
    exact: int
    allowed_wrongly: int
    forbidden_wrongly: int
    #: The first text with a difference, as tokens, and the token; None without a difference.
    first: tuple[tuple[TokenId, ...], TokenId] | None

    @property
    def is_sound(self) -> bool:
        return self.allowed_wrongly == 0

    @property
    def is_complete(self) -> bool:
        return self.forbidden_wrongly == 0


def compare_masks(
    grammar: Grammar,
    vocabulary: Vocabulary,
    method: str,
    *,
    length: int,
    most: int = 1000,
    limits: Limits = LIMITS,
) -> MaskComparison:
    """Compare the masks after all texts of up to ``length`` tokens that both allow, short first.

    Raises: WorkbenchError where the method refuses the grammar.
    """
    exact, other = (
        compile(grammar, vocabulary, limits=limits),
        compile(grammar, vocabulary, method, limits),
    )
    texts: list[tuple[State, State, tuple[TokenId, ...]]] = [(exact.initial, other.initial, ())]
    masks = total = allowed = forbidden = 0
    first: tuple[tuple[TokenId, ...], TokenId] | None = None
    ends = set(vocabulary.ends)
    for right, state, text in islice(texts, most):  # the list grows during the loop
        wanted, mask = set(exact.mask(right)), set(other.mask(state))
        masks, total = masks + 1, total + len(wanted)
        allowed, forbidden = allowed + len(mask - wanted), forbidden + len(wanted - mask)
        if first is None and mask != wanted:
            first = text, min(mask ^ wanted)
        if len(text) < length:
            for token_id in sorted((wanted & mask) - ends):
                try:
                    steps = exact.advance(right, token_id), other.advance(state, token_id)
                except TokenNotAllowed:  # a mask that the method cannot follow
                    continue
                texts.append((*steps, (*text, token_id)))
    return MaskComparison(masks, total, allowed, forbidden, first)
