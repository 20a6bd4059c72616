"""The method ``proper``: a grammar over canonical token sequences.

Inside a character it knows none; those are looked at when decoding comes near them.

In come a ``Network`` and a tokenizer; out come the tokens after which some accepted text is still
spelt properly: the automaton intersected with the tokenizer's own language. Stacks are without
number, so nothing is decided beforehand: each token that can be read is searched from, nearest end
first, until a text is found that is spelt so.

Where a token leads on, the search finds it soon; where none does, nearly always all ways end at
once (after ``tru`` every text goes on with ``e``, which would have been joined). A grammar could
make a search go down for ever; it gives up after ``patience`` places, and the token is forbidden
although it may lead on. So there are no dead ends, and where ``given_up`` is 0 the masks are exact.
It was 0 in everything that was tried: the grammars of the tests, and those of the gallery with the
embedded vocabulary and the first of Mistral.

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

from workbench.analysis.random_texts import distances_to_end
from workbench.base import dfa as machines
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import TokenNotAllowed
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.engine.compose import cannot_spell
from workbench.constraint.mask import TokenMask
from workbench.constraint.methods.proper import live_edges as judging
from workbench.constraint.methods.proper.boundaries import (
    Halves,
    after_prompt,
    forced,
    lacking,
    nothing_follows,
)
from workbench.constraint.methods.proper.guide_guesses import (
    ANEW,
    INSIDE,
    Guess,
    Guesses,
    Ints,
    Words,
)
from workbench.constraint.methods.proper.live_edges import Live, live_edges
from workbench.constraint.methods.proper.spelling_search import Node, Place, Searching
from workbench.constraint.methods.proper.walker import OfRunner, Reader
from workbench.grammar.grammar import Grammar
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: What belongs to the vocabulary alone is nobody's grammar's doing.
_PATIENT = Limits(seconds=60.0)


class RegularRows(Searching):
    """The rows of a Dfa whose edges between characters are decided."""

    def __init__(self, dfa: Dfa, live: Live, limits: Limits) -> None:
        super().__init__(live.bpe, limits)
        self.dfa, self.live = dfa, live
        self._halves = Halves(dfa, live, lambda place: self._looked_up(place, INSIDE))

    @property
    def initial(self) -> State:
        return self.dfa.initial

    def is_final(self, state: State) -> bool:
        return bool(self.dfa.finals[state])

    def after(self, state: State, data: bytes) -> State:
        return self.dfa.run(data, state)

    def _decided_before(self, place: Place, mark: int) -> Words:
        number = self.live.places.get(place)
        if number is None:
            return np.zeros(self.words, np.uint32)
        return self.live.bits(number, mark)

    def _is_settled(self, node: Node) -> bool:
        (state, guess), last = node
        number = self.live.places.get((state, guess))
        if number is None:
            return self._ends((state, guess))
        if self.live.free[number]:
            return True
        row = judging.as_bits(self.live.edges[INSIDE][number].row, self.words)
        return bool(self.without_row(row, last).any())

    def _decided(self, tokens: Ints, target: Place) -> Ints:
        state, guess = target
        if not self.guesses.is_within(guess):
            return super()._decided(tokens, target)
        lack = lacking(self.bpe.vocabulary)[tokens]
        found, rest = [tokens[:0]], [tokens[lack == 0]]
        for left in set(lack.tolist()) - {0}:
            some = tokens[lack == left]
            done = self._halves.finished(state, guess, some, left)
            found.append(done)
            if len(done) < len(some):
                rest.append(some[~np.isin(some, done)])
        others = [t for t in np.concatenate(rest).tolist() if anywhere(self.bpe, t, guess)]
        if others:
            found.append(super()._decided(np.array(others, np.int32), target))
        return np.concatenate(found)

    def _looked_up(self, place: Place, mark: int) -> tuple[Ints, Ints, Ints, Ints]:
        state, guess = place
        number = self.live.places.get(place)
        if number is not None:
            tokens, states, after = self.live.edges[mark][number].open
        elif mark == ANEW and self.guesses.is_within(guess):
            return (np.empty(0, np.int32),) * 4
        else:
            tokens, states = self.live.walker.reader.permissive(state)
            after = self.guesses.take(guess, tokens, mark)
        taken = np.flatnonzero(after >= 0)
        # whole characters first: there rows are known
        far = self.guesses.within[after[taken]].astype(np.int32)
        return tokens[taken], states[taken], after[taken], far


def anywhere(bpe: Bpe, token: TokenId, guess: Guess) -> bool:
    """Whether any text at all goes on after a token that ends in a character; kept with the merges.

    Yes where it begins in one, which would have to be known.
    """
    known = vars(bpe).get("_anywhere")
    if known is None:
        texts = Grammar.from_regex("(?s:.*)", limits=_PATIENT).dfa
        assert texts is not None
        live = live_edges(texts, bpe, (Guesses.of(bpe).start,), _PATIENT)
        known = vars(bpe)["_anywhere"] = RegularRows(texts, live, _PATIENT), {}
    every: RegularRows = known[0]
    answers: dict[tuple[TokenId, Guess], bool] = known[1]
    if (token, guess) not in answers:
        there = every.after(every.initial, bpe.vocabulary.tokens[token] or b"")
        yes = there == DEAD or every.leads_on((there, guess), token)
        answers[token, guess] = yes
    return answers[token, guess]


#: How far the end of a text is, from situations that were asked for.
_MOST = 100_000


class NestedRows(Searching):
    """The rows of a network; its states are situations of a ``Runner``.

    Cost:   every place is a walk of the trie and a search or two for each place it leads to.
    Raises: LimitError, as ``Runner``.
    """

    patience = 2_000

    def __init__(self, network: Network, bpe: Bpe, limits: Limits) -> None:
        super().__init__(bpe, limits)
        self.runner = Runner(network, limits)
        self._reader = Reader(OfRunner(self.runner), bpe.vocabulary)
        self._rests = distances_to_end(network, limits)
        self._left: dict[State, int] = {}

    @property
    def initial(self) -> State:
        return self.runner.initial

    def is_final(self, state: State) -> bool:
        return self.runner.is_final(state)

    def after(self, state: State, data: bytes) -> State:
        return self.runner.run(data, state)

    def _decided_before(self, place: Place, mark: int) -> Words:
        return np.zeros(self.words, np.uint32)

    def _is_settled(self, node: Node) -> bool:
        place, last = node
        if self._ends(place):
            return True
        known = self._rows.get(place)
        return known is not None and bool(
            known[ANEW].any() or self.without_row(known[0], last).any()
        )

    def _decided(self, tokens: Ints, target: Place) -> Ints:
        _, guess = target
        if self.guesses.is_within(guess):
            some = [token for token in tokens.tolist() if anywhere(self.bpe, token, guess)]
            tokens = np.array(some, np.int32)
        return super()._decided(tokens, target) if len(tokens) else tokens

    def _looked_up(self, place: Place, mark: int) -> tuple[Ints, Ints, Ints, Ints]:
        state, guess = place
        if mark == ANEW and self.guesses.is_within(guess):
            return (np.empty(0, np.int32),) * 4
        tokens, states = self._reader.permissive(state)
        after = self.guesses.take(guess, tokens, mark)
        taken = np.flatnonzero(after >= 0)
        tokens, states, after = tokens[taken], states[taken], after[taken]
        met, which = np.unique(states, return_inverse=True)
        left = np.array([self._bytes_left(there) for there in met.tolist()], np.int32)
        return tokens, states, after, left[which]

    def _bytes_left(self, state: State) -> int:
        """The fewest bytes to the end of an accepted text."""
        known = self._left.get(state)
        if known is None:
            if len(self._left) > _MOST:
                self._left.clear()
            known = self._left[state] = min(
                self._rests[at] + sum(self._rests[waiting] for waiting in self.runner.unstack(node))
                for at, node in self.runner.configurations(state)
            )
        return known


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
