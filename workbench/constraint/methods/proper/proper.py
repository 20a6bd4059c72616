"""The method ``proper``: a grammar over canonical token sequences.

A token is in a mask if and only if the encoding of some accepted text begins with the previous
tokens and this token; end tokens are in it if and only if the previous tokens are the encoding of
an accepted text. A prefix of an encoding is not always the encoding of the text it spells: a
pre-tokenizer may decide later where a piece ends. So a state holds all guesses that are still
possible.

Without a stack (``RegularRows``) the edges at positions between characters are decided in advance
(``live_edges``), those inside a character when decoding needs them.

With a stack (``NestedRows``) there are infinitely many positions, and nothing is decided in
advance: from each token that can be read, a search looks for an accepted text with a canonical
tokenization, nearest end first. If one exists, the search finds it quickly. If none exists,
nearly always all paths end immediately (after ``tru`` every text continues with ``e``, which would
have been joined). But a search could also be infinite; it stops after ``patience`` positions, and
the token is forbidden although it may be live. So there are no dead ends, and the masks are exact
while ``given_up`` is 0. It was 0 for all grammars of the tests, and for those of the gallery with
the embedded vocabulary and the first one of Mistral.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from workbench.base import dfa as machines
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import TokenNotAllowed
from workbench.base.limits import LIMITS, Limits
from workbench.base.locks import WorkLock
from workbench.constraint.engine.compose import cannot_spell
from workbench.constraint.masks import TokenMask, set_bits
from workbench.constraint.methods.proper.boundaries import (
    PartialCharacters,
    after_prompt,
    forced,
    missing_bytes,
    nothing_follows,
)
from workbench.constraint.methods.proper.guide_states import (
    NEW_PIECE,
    SAME_PIECE,
    Guess,
    Guesses,
    Ints,
    Words,
)
from workbench.constraint.methods.proper.live_edges import Live, as_bits, live_edges
from workbench.constraint.methods.proper.spelling_search import Node, Position, ProperRows
from workbench.constraint.methods.proper.walker import PermissiveReader, RunnerMachine
from workbench.constraint.token_machine import TokenMachine
from workbench.grammar.grammar import Grammar
from workbench.pushdown.network import Network
from workbench.pushdown.runner import RenewingRunner, Situation
from workbench.pushdown.shortest_texts import distances_to_end
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: For results that depend on the vocabulary alone, not on the limits of a grammar.
_VOCABULARY_LIMITS = Limits(seconds=60.0)

T = TypeVar("T")


class RegularRows(ProperRows):
    """The rows of a DFA whose edges between characters have been decided."""

    def __init__(self, dfa: Dfa, live: Live, limits: Limits) -> None:
        super().__init__(live.bpe, limits)
        self.dfa, self.live = dfa, live
        self._partial_characters = PartialCharacters(
            dfa, live, lambda position: self._undecided_edges(position, SAME_PIECE)
        )

    @property
    def initial(self) -> State:
        return self.dfa.initial

    def is_final(self, state: State) -> bool:
        return bool(self.dfa.finals[state])

    def after(self, state: State, data: bytes) -> State:
        return self.dfa.run(data, state)

    def _known_live(self, position: Position, mark: int) -> Words:
        number = self.live.positions.get(position)
        if number is None:
            return np.zeros(self.words, np.uint32)
        return self.live.bits(number, mark)

    def _has_live_edge(self, node: Node) -> bool:
        position, last = node
        number = self.live.positions.get(self._base(position))
        if number is None:
            return self._ends(position)
        if self.live.free[number]:
            return True
        row = as_bits(self.live.edges[SAME_PIECE][number].live_tokens, self.words)
        return bool(self.without_row(row, last).any())

    def _filter_live(self, tokens: Ints, guesses: Ints, target: Position) -> Ints:
        state, guess = target
        if not self.guesses.is_within(guess):
            return super()._filter_live(tokens, guesses, target)
        lack = missing_bytes(self.bpe.vocabulary)[tokens]
        rows, rest = [tokens[:0]], [tokens[lack == 0]]
        for missing in set(lack.tolist()) - {0}:
            group = tokens[lack == missing]
            completed = self._partial_characters.completable(state, guess, group, missing)
            rows.append(completed)
            if len(completed) < len(group):
                rest.append(group[~np.isin(group, completed)])
        others = [t for t in np.concatenate(rest).tolist() if is_completable(self.bpe, t, guess)]
        if others:
            rest_tokens = np.array(others, np.int32)
            rows.append(super()._filter_live(rest_tokens, np.full_like(rest_tokens, guess), target))
        return np.concatenate(rows)

    def _undecided_edges(self, position: Position, mark: int) -> tuple[Ints, Ints, Ints, Ints]:
        state, guess = position
        number = self.live.positions.get(position)
        if number is not None:
            tokens, states, after = self.live.edges[mark][number].undecided
        elif mark == NEW_PIECE and self.guesses.is_within(guess):
            return (np.empty(0, np.int32),) * 4
        else:
            tokens, states = self.live.walker.reader.permissive(state)
            after = self.guesses.take(guess, tokens, mark)
        kept = np.flatnonzero(after >= 0)
        # whole characters first: there rows are known
        far = self.guesses.within[after[kept]].astype(np.int32)
        return tokens[kept], states[kept], after[kept], far


def is_completable(bpe: Bpe, token: TokenId, guess: Guess) -> bool:
    """Whether any text continues after a token that ends inside a character.

    Cached with the merges. True if the token also begins inside a character, because the token
    alone does not determine that character.
    """
    any_text, results = bpe.derived(_completable)
    if (token, guess) not in results:
        target = any_text.after(any_text.initial, bpe.vocabulary.tokens[token] or b"")
        result = target == DEAD or any_text.is_coaccessible((target, guess), token)
        results[token, guess] = result
    return results[token, guess]


def _completable(bpe: Bpe) -> tuple[RegularRows, dict[tuple[TokenId, Guess], bool]]:
    """The rows of all texts, and the results of ``is_completable`` so far."""
    texts = Grammar.from_regex("(?s:.*)", limits=_VOCABULARY_LIMITS).dfa
    assert texts is not None
    live = live_edges(texts, bpe, (Guesses.of(bpe).start,), _VOCABULARY_LIMITS)
    return RegularRows(texts, live, _VOCABULARY_LIMITS), {}


#: More bytes than distances distinguish: a rule may need 2⁴⁰ of them.
_FAR = 2**31 - 1


class NestedRows(ProperRows):
    """The rows of a network; its states are those of a ``RenewingRunner``.

    Cost:   for each position a walk of the trie, and one or two searches for each target position.
    Raises: LimitError, as ``RenewingRunner``.
    """

    patience = 2_000

    def __init__(self, network: Network, bpe: Bpe, limits: Limits) -> None:
        super().__init__(bpe, limits)
        self._rest_lengths = distances_to_end(network, limits)
        self._runner = RenewingRunner(network, limits, self._begin_anew)
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Drop what refers to the situations of an earlier runner."""
        self.forget()
        self._situations = self._runner.runner
        self._reader = PermissiveReader(RunnerMachine(self._situations), self.bpe.vocabulary)
        #: ``_bytes_left`` of each situation, or −1.
        self._distances = np.full(1024, -1, np.int32)

    def read(self, state: State, reading: Callable[[State], T]) -> T:
        return self._runner.read(state, lambda _, situation: reading(situation))

    @property
    def initial(self) -> State:
        return self._runner.initial

    def is_final(self, state: State) -> bool:
        return self._situations.is_final(state)

    def after(self, state: State, data: bytes) -> State:
        return self._runner.run(data, state)

    def _known_live(self, position: Position, mark: int) -> Words:
        return np.zeros(self.words, np.uint32)

    def _has_live_edge(self, node: Node) -> bool:
        position, last = node
        if self._ends(position):
            return True
        cached = self._rows.get(position)
        return cached is not None and bool(
            cached[NEW_PIECE].any() or self.without_row(cached[0], last).any()
        )

    def _filter_live(self, tokens: Ints, guesses: Ints, target: Position) -> Ints:
        _, guess = target
        if self.guesses.is_within(guess):
            group = [token for token in tokens.tolist() if is_completable(self.bpe, token, guess)]
            tokens = np.array(group, np.int32)
            guesses = np.full_like(tokens, guess)
        return super()._filter_live(tokens, guesses, target) if len(tokens) else tokens

    def _undecided_edges(self, position: Position, mark: int) -> tuple[Ints, Ints, Ints, Ints]:
        state, guess = position
        if mark == NEW_PIECE and self.guesses.is_within(guess):
            return (np.empty(0, np.int32),) * 4
        tokens, states = self._reader.permissive(state)
        after = self.guesses.take(guess, tokens, mark)
        kept = np.flatnonzero(after >= 0)
        tokens, states, after = tokens[kept], states[kept], after[kept]
        return tokens, states, after, self._distances_of(states)

    def _distances_of(self, states: Ints) -> Ints:
        """``_bytes_left`` of each state, (n,)."""
        while len(self._distances) < len(self._situations):
            self._distances = np.append(self._distances, np.full_like(self._distances, -1))
        distances = self._distances[states]
        if (missing := distances < 0).any():
            for state in np.unique(states[missing]).tolist():
                self._distances[state] = self._bytes_left(state)
            distances = self._distances[states]
        return distances

    def _bytes_left(self, situation: Situation) -> int:
        """The fewest bytes to the end of an accepted text; of more than ``_FAR`` this number."""
        return min(
            _FAR,
            *(
                self._rest_lengths[inner]
                + sum(self._rest_lengths[waiting] for waiting in self._situations.unstack(node))
                for inner, node in self._situations.configurations(situation)
            ),
        )


class Finder(Protocol):
    """Finds the live edges of a DFA, for texts that begin with one of the given guesses."""

    def __call__(self, dfa: Dfa, bpe: Bpe, starts: Sequence[Guess], limits: Limits, /) -> Live: ...


class ProperState(NamedTuple):
    """The state of a constraint over canonical tokens."""

    state: machines.State
    #: The possible divisions of the text into pieces, sorted; at least one.
    guesses: tuple[Guess, ...]
    #: The last token, or −1.
    last: TokenId


class ProperConstraint(TokenMachine):
    """A language in canonical token sequences; safe to share between threads.

    A sequence is proper if encoding its text gives the sequence, where the space that SentencePiece
    puts before a text, or before the parts after added tokens, belongs to the text. So a text that
    the tokenizer would normalise has no proper sequence.

    ``joined``: the tokens of a prompt; then prompt and sequence together are proper. Nothing is put
    before the continuation: the space is in the prompt's first token. Without a prompt the grammar
    has to begin with it, if the text is to be tokenized like a whole text.
    ``find``: finds the live edges of a DFA (``live_edges`` or ``vegas.RegionCache.find``).

    Raises: VocabularyError where no accepted text can be tokenized, or none after the prompt, or
            where the tokenizer is not supported exactly; LimitError.
    Source: Tran-Thien 2024, CartesianMerge, without its states (``live_edges``).
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
        bpe = Bpe.of(vocabulary, limits)
        guesses, last = after_prompt(bpe, joined or ())
        #: The tokens that may follow each position, before those the last token excludes.
        self.rows: ProperRows = (
            RegularRows(machine, find(machine, bpe, guesses, limits), limits)
            if isinstance(machine, Dfa)
            else NestedRows(machine, bpe, limits)
        )
        self._lock = WorkLock()
        self._masks: dict[ProperState, TokenMask] = {}
        self._max_masks = limits.rows_of(4 * self.rows.words)
        self._initial = ProperState(self.rows.initial, guesses, last)
        if not len(self.mask(self.initial)) and not self.is_final(self.initial):
            raise nothing_follows(vocabulary, last) if last >= 0 else cannot_spell(vocabulary)

    @property
    def initial(self) -> ProperState:
        return self._initial

    def mask(self, state: ProperState) -> TokenMask:
        """The tokens that may come next."""
        cached = self._masks.get(state)
        if cached is None:
            with self._lock:
                while len(self._masks) >= self._max_masks:
                    del self._masks[next(iter(self._masks))]
                cached = self._masks[state] = self.compute_mask(state)
        return cached

    def compute_mask(self, state: ProperState) -> TokenMask:
        """Compute a mask; ``mask`` caches it."""
        bits = np.zeros(self.rows.words, np.uint32)
        for guess in state.guesses:
            for row in self._rows(state, guess):
                bits |= row
        set_bits(bits, self.vocabulary.ends, allowed=self.is_final(state))
        return TokenMask(bits, len(self.vocabulary))

    def _rows(self, state: ProperState, guess: Guess) -> tuple[Words, Words]:
        """The tokens that may come next for a guess, in the same piece and in a new one."""
        same_piece, new_piece = self.rows.read(
            state.state, lambda position: self.rows.rows((position, guess))
        )
        return self.rows.without_row(same_piece, state.last), new_piece

    def advance(self, state: ProperState, token_id: TokenId) -> ProperState:
        """The state after a token; an end token leads to the same state.

        Raises: TokenNotAllowed where the token is not in the mask.
        """
        if token_id not in self.mask(state):
            raise TokenNotAllowed(f"token {token_id} is not allowed here")
        if token_id in self.vocabulary.ends:
            return state
        with self._lock:
            target = self.rows.after(state.state, self.vocabulary.tokens[token_id] or b"")
            guesses = {
                self.rows.guesses.take_one(guess, token_id, mark)
                for guess in state.guesses
                for mark, row in zip((SAME_PIECE, NEW_PIECE), self._rows(state, guess), strict=True)
                if row[token_id >> 5] >> np.uint32(token_id & 31) & np.uint32(1)
            }
        return ProperState(target, tuple(sorted(guesses)), token_id)

    def is_final(self, state: ProperState) -> bool:
        """Whether the tokens read are the encoding of an accepted text."""
        with self._lock:
            return self.rows.read(state.state, self.rows.is_final) and any(
                map(self.rows.guesses.may_end, state.guesses)
            )

    def forced(self, state: ProperState, most: int = sys.maxsize) -> bytes:
        return forced(self, state, most, self.limits.seconds)
