"""CartesianMerge with all its states: a ``TokenDfa`` of a regular language and a tokenizer.

A state consists of a state of the machine, the class of the last token (the set of tokens that
may not follow it), and the guesses of the guide. For pictures and tests; ``live_edges`` gives the
same masks without these states.

Source: Tran-Thien 2024, "CartesianMerge". Here the automaton is trimmed in both directions, which
the notebook does not do (its walk over predecessors has no effect, so it does not notice an empty
language).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from workbench.automata.determinize import explore
from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.methods.proper.direct_merge import Label, TokenDfa, over_labels
from workbench.constraint.methods.proper.guide_states import NEW_PIECE, SAME_PIECE, Guess, Guesses
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId


class Pair(NamedTuple):
    """A state of the product."""

    state: State
    #: The possible divisions of the text into pieces.
    guesses: tuple[Guess, ...]
    #: A token with the same row as the last one, −1 before the first.
    same_row: TokenId


@dataclass(frozen=True, eq=False)
class Product:
    """The accessible states and their edges, not trimmed.

    Raises: LimitError past ``limits.states``.
    """

    dfa: Dfa
    bpe: Bpe
    limits: Limits = LIMITS

    @cached_property
    def tokens(self) -> tuple[TokenId, ...]:
        """One canonical token for each text."""
        by_text: dict[bytes, TokenId] = {}
        for token_id, text in enumerate(self.bpe.vocabulary.tokens):
            if text is not None and (self.bpe.is_canonical(token_id) or self._is_word(token_id)):
                by_text.setdefault(text, token_id)
        return tuple(by_text.values())

    @property
    def labels(self) -> tuple[Label, ...]:
        """The texts of the tokens."""
        return tuple(self.bpe.vocabulary.tokens[token] or b"" for token in self.tokens)

    def automaton(self) -> TokenDfa:
        """The automaton of the canonical sequences of the language, trimmed.

        Cost: a step for each state of the product and each token.
        """
        start = Pair(self.dfa.initial, (Guesses.of(self.bpe).start,), -1)
        classes = np.arange(len(self.tokens), dtype=np.uint16)
        machine = explore(start, self._step, self._is_final, classes, self.limits)
        return over_labels(self.labels, machine)

    def _is_word(self, token: TokenId) -> bool:
        """Whether a token is written although merges do not produce it."""
        guesses = Guesses.of(self.bpe)
        return guesses.take_one(guesses.start, token, NEW_PIECE) >= 0

    @cached_property
    def _same_row(self) -> dict[TokenId, TokenId]:
        """For each token the first with the same row."""
        first: dict[bytes, TokenId] = {}
        return {t: first.setdefault(self.bpe.row_mask(t).tobytes(), t) for t in self.tokens}

    def _is_final(self, pair: Pair) -> bool:
        guesses = Guesses.of(self.bpe)
        return bool(self.dfa.finals[pair.state]) and any(map(guesses.may_end, pair.guesses))

    def _step(self, pair: Pair) -> Sequence[Pair | None]:
        """The target of each token."""
        tokens, guesses = np.array(self.tokens, np.int32), Guesses.of(self.bpe)
        new_piece = [guesses.take(guess, tokens, NEW_PIECE).tolist() for guess in pair.guesses]
        same_piece = [guesses.take(guess, tokens, SAME_PIECE).tolist() for guess in pair.guesses]
        targets: list[Pair | None] = []
        for i, (token, text) in enumerate(zip(self.tokens, self.labels, strict=True)):
            target = self.dfa.run(text, pair.state)
            guesses_after = {row[i] for row in new_piece}
            if pair.same_row < 0 or self.bpe.pair_ok(pair.same_row, token):
                guesses_after |= {row[i] for row in same_piece}
            guesses_after.discard(-1)
            is_dead = target == DEAD or not guesses_after
            targets.append(
                None
                if is_dead
                else Pair(target, tuple(sorted(guesses_after)), self._same_row[token])
            )
        return targets


def cartesian_merge(dfa: Dfa, bpe: Bpe, limits: Limits = LIMITS) -> TokenDfa:
    """The canonical token sequences of a language as an explicit automaton.

    Raises: LimitError past ``limits.states`` or ``limits.seconds``.
    """
    return Product(dfa, bpe, limits).automaton()
