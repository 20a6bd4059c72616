"""ProperConstraint: a grammar over the tokens its tokenizer would write, and no others.

In come a machine with or without a stack and a vocabulary with merges; out comes a ``Constraint``.
A token is in a mask if and only if some accepted text, encoded by the tokenizer, begins with the
tokens so far and then this one; the end token if and only if the tokens so far are the encoding of
an accepted text. (Where there is a stack, ``nested`` says what bounds this.) Not every beginning of
such an encoding is the encoding of its own text: where a pre-tokenizer cuts is known late, so a
state holds every guess that may still come true.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from workbench.automata import dfa as machines
from workbench.automata.dfa import Dfa
from workbench.constraint.compose import cannot_spell
from workbench.constraint.mask import TokenMask
from workbench.constraint.proper.edges import Live
from workbench.constraint.proper.forcing import forced
from workbench.constraint.proper.guesses import Guess
from workbench.constraint.proper.joining import after_prompt, nothing_follows
from workbench.constraint.proper.live import live_edges
from workbench.constraint.proper.nested import NestedRows
from workbench.constraint.proper.regular import RegularRows
from workbench.constraint.proper.searching import Searching
from workbench.constraint.proper.tables import ANEW, INSIDE, Words
from workbench.errors import TokenNotAllowed
from workbench.limits import LIMITS, Limits
from workbench.pushdown.network import Network
from workbench.vocabulary.bpe.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class Finder(Protocol):
    """Finds the live edges of an automaton, of texts that begin with one of some guesses."""

    def __call__(self, dfa: Dfa, bpe: Bpe, starts: Sequence[Guess], limits: Limits, /) -> Live: ...


class ProperState(NamedTuple):
    """Where a text stands."""

    state: machines.State
    #: How it may be cut so far, sorted; at least one.
    guesses: tuple[Guess, ...]
    #: The token before, −1 where there is none.
    last: TokenId


class ProperConstraint:
    """A language in proper tokens; safe to share between threads.

    ``joined``: the tokens of a prompt, which the text is to join properly; None: it stands alone.
    The space that SentencePiece writes before a text that stands alone has to be in the grammar.
    ``find``: what finds the live edges of an automaton (``live``, or ``library``).

    Raises: VocabularyError where no accepted text can be spelt, or can be after the prompt, or
            where the tokenizer's spelling cannot be said exactly; LimitError.
    Source: Tran-Thien 2024, CartesianMerge; without its states, as ``live`` tells.
    """

    def __init__(
        self,
        machine: Dfa | Network,
        vocabulary: Vocabulary,
        limits: Limits = LIMITS,
        joined: Sequence[TokenId] | None = None,
        find: Finder = live_edges,
    ) -> None:
        self.vocabulary, self.limits = vocabulary, limits
        bpe = Bpe.of(vocabulary)
        guesses, last = after_prompt(bpe, joined or ())
        #: What may follow each place, before the row of the last token.
        self.rows: Searching = (
            RegularRows(machine, find(machine, bpe, guesses, limits), limits)
            if isinstance(machine, Dfa)
            else NestedRows(machine, bpe, limits)
        )
        self._growing = threading.RLock()
        self._masks: dict[ProperState, TokenMask] = {}
        self._most = limits.rows_of(4 * self.rows.words)
        self.initial = ProperState(self.rows.initial, guesses, last)
        if not len(self.mask(self.initial)) and not self.is_final(self.initial):
            raise nothing_follows(vocabulary, last) if last >= 0 else cannot_spell(vocabulary)

    def mask(self, state: ProperState) -> TokenMask:
        """The tokens that may come next."""
        known = self._masks.get(state)
        if known is None:
            with self._growing:
                while len(self._masks) >= self._most:
                    del self._masks[next(iter(self._masks))]
                known = self._masks[state] = self.computed(state)
        return known

    def computed(self, state: ProperState) -> TokenMask:
        """A mask made anew; ``mask`` remembers it."""
        bits = np.zeros(self.rows.words, np.uint32)
        for guess in state.guesses:
            for row in self._rows(state, guess):
                bits |= row
        end = self.vocabulary.end
        if end is not None and self.is_final(state):
            bits[end >> 5] |= np.uint32(1 << (end & 31))
        return TokenMask(bits, len(self.vocabulary))

    def _rows(self, state: ProperState, guess: Guess) -> tuple[Words, Words]:
        """The tokens that may come next if a guess is right, inside the piece and as a new one."""
        inside, anew = self.rows.rows((state.state, guess))
        return self.rows.without_row(inside, state.last), anew

    def advance(self, state: ProperState, token_id: TokenId) -> ProperState:
        """The state after a token; the end token leads to the same state.

        Raises: TokenNotAllowed where the token is not in the mask.
        """
        if token_id not in self.mask(state):
            raise TokenNotAllowed(f"token {token_id} is not allowed here")
        if token_id == self.vocabulary.end:
            return state
        with self._growing:
            there = self.rows.after(state.state, self.vocabulary.tokens[token_id] or b"")
            found = {
                self.rows.guesses.take_one(guess, token_id, mark)
                for guess in state.guesses
                for mark, row in zip((INSIDE, ANEW), self._rows(state, guess), strict=True)
                if row[token_id >> 5] >> np.uint32(token_id & 31) & np.uint32(1)
            }
        return ProperState(there, tuple(sorted(found)), token_id)

    def is_final(self, state: ProperState) -> bool:
        """Whether the tokens read so far are the encoding of an accepted text."""
        return self.rows.is_final(state.state) and any(
            map(self.rows.guesses.may_end, state.guesses)
        )

    def forced(self, state: ProperState) -> bytes:
        """The bytes every accepted text goes on with; empty where it branches or may end."""
        return forced(self, state)
