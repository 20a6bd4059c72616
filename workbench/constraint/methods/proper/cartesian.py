"""CartesianMerge with all its states: a regular language and a tokenizer in, a TokenDfa out.

The states are pairs of a state of the machine and what the tokenizer may still join: the class of
the last token, which is the set of tokens that may not follow it, and the guesses of the guide. For
pictures and tests; ``live`` gives the same masks without these states.

Source: Tran-Thien 2024, "CartesianMerge"; pruned both ways, which the notebook leaves undone
(its walk over predecessors has no effect, so an empty language is not noticed).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from workbench.automata.explore import explore
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.methods.proper.direct_merge import Label, TokenDfa, over_labels
from workbench.constraint.methods.proper.guide_guesses import ANEW, INSIDE, Guess, Guesses
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId


class Pair(NamedTuple):
    """A state of the product."""

    state: State
    #: Each way the text may be cut.
    guesses: tuple[Guess, ...]
    #: A token with the same row as the last one, −1 before the first.
    like: TokenId


@dataclass(frozen=True, eq=False)
class Product:
    """The states that are reached, and how they are left; not yet trimmed.

    Raises: LimitError past ``limits.states``.
    """

    dfa: Dfa
    bpe: Bpe
    limits: Limits = LIMITS

    @cached_property
    def tokens(self) -> tuple[TokenId, ...]:
        """One token for each text that the tokenizer can write."""
        spelt: dict[bytes, TokenId] = {}
        for token_id, text in enumerate(self.bpe.vocabulary.tokens):
            if text is not None and (self.bpe.is_canonical(token_id) or self._is_word(token_id)):
                spelt.setdefault(text, token_id)
        return tuple(spelt.values())

    @property
    def labels(self) -> tuple[Label, ...]:
        """The texts of the tokens."""
        return tuple(self.bpe.vocabulary.tokens[token] or b"" for token in self.tokens)

    def automaton(self) -> TokenDfa:
        """The proper sequences of the language: every state is reached and reaches an end.

        Cost: a step for each state of the product and each token.
        """
        start = Pair(self.dfa.initial, (Guesses.of(self.bpe).start,), -1)
        classes = np.arange(len(self.tokens), dtype=np.uint16)
        machine = explore(start, self._step, self._is_final, classes, self.limits)
        return over_labels(self.labels, machine)

    def _is_word(self, token: TokenId) -> bool:
        """Whether a token is taken whole although merges do not make it."""
        guesses = Guesses.of(self.bpe)
        return guesses.take_one(guesses.start, token, ANEW) >= 0

    @cached_property
    def _like(self) -> dict[TokenId, TokenId]:
        """For each token the first with the same row."""
        first: dict[bytes, TokenId] = {}
        return {t: first.setdefault(self.bpe.row_mask(t).tobytes(), t) for t in self.tokens}

    def _is_final(self, pair: Pair) -> bool:
        guesses = Guesses.of(self.bpe)
        return bool(self.dfa.finals[pair.state]) and any(map(guesses.may_end, pair.guesses))

    def _step(self, pair: Pair) -> Sequence[Pair | None]:
        """Where each token leads."""
        tokens, guesses = np.array(self.tokens, np.int32), Guesses.of(self.bpe)
        anew = [guesses.take(guess, tokens, ANEW).tolist() for guess in pair.guesses]
        inside = [guesses.take(guess, tokens, INSIDE).tolist() for guess in pair.guesses]
        found: list[Pair | None] = []
        for i, (token, text) in enumerate(zip(self.tokens, self.labels, strict=True)):
            there = self.dfa.run(text, pair.state)
            met = {row[i] for row in anew}
            if pair.like < 0 or self.bpe.pair_ok(pair.like, token):
                met |= {row[i] for row in inside}
            met.discard(-1)
            dead = there == DEAD or not met
            found.append(None if dead else Pair(there, tuple(sorted(met)), self._like[token]))
        return found


def cartesian_merge(dfa: Dfa, bpe: Bpe, limits: Limits = LIMITS) -> TokenDfa:
    """The proper sequences of a language as an explicit automaton.

    Raises: LimitError past ``limits.states`` or ``limits.seconds``.
    """
    return Product(dfa, bpe, limits).automaton()
