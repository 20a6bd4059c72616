"""Constraints made from others: intersections, without long tokens.

``Intersection`` accepts a text if both constraints accept it, token by token. A token that both
allow may still lead to a dead end, where no continuation is accepted by both; a search finds and
removes these. ``SmallTokens`` is for teaching: a long token may contain a whole nested text, and
with small tokens every step pushes or pops few stack symbols.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

from workbench.base.arguments import checked
from workbench.base.errors import TokenNotAllowed, VocabularyError
from workbench.base.limits import LIMITS, Clock, Limits, check_time_budget, time_budget
from workbench.constraint.engine.compose import cannot_spell
from workbench.constraint.masks import TokenMask
from workbench.constraint.protocol import Constraint, State
from workbench.constraint.token_distances import TokenDistances
from workbench.constraint.token_machine import CachedMasks, Capability, Lack, TokenMachine
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The state of the intersection: one state of each constraint.
PairState = tuple[State, State]

#: The number of tokens of a state tried before the search turns to another one: states with many
#: tokens need not be expanded completely if a final state is near.
_TOKENS_PER_TURN = 64

_TOO_MANY_STEPS = "every token that both allow is tried; let one of the two allow fewer tokens"


class Intersection(CachedMasks):
    """The constraint that allows what two constraints both allow.

    Dead ends are found by a search over pairs of states, token by token; each pair is visited
    once. The result is exact if a search visits at most ``limits.states`` pairs and
    ``limits.token_edges`` steps, and the searches for one mask take at most ``limits.seconds``. A
    search that passes a limit stops, sets ``is_exact`` to False, and its tokens are allowed. So a
    mask never lacks a token, but may become empty before the end.

    Cost:   for a mask, two steps for every token that both allow, and the search; cached.
    Raises: VocabularyError where the vocabularies differ, or no text is accepted by both;
            LimitError from a mask of which the steps take more than twice ``limits.seconds``.
    """

    @checked
    def __init__(self, a: Constraint, b: Constraint, limits: Limits = LIMITS) -> None:
        if a.vocabulary is not b.vocabulary and (
            a.vocabulary.tokens != b.vocabulary.tokens or a.vocabulary.ends != b.vocabulary.ends
        ):
            raise VocabularyError(
                f"expected two constraints over one vocabulary, not over {a.vocabulary.name} and"
                f" {b.vocabulary.name}",
                "compile both grammars with the same vocabulary",
            )
        self.a, self.b = a, b
        #: The vocabulary of both.
        self.vocabulary = a.vocabulary
        self.limits = limits
        #: Whether no search has passed a limit.
        self.is_exact = True
        self._coaccessible: dict[PairState, bool] = {}
        if not self.is_coaccessible(self.initial):
            raise cannot_spell(self.vocabulary)

    @property
    def initial(self) -> PairState:
        """The state before the first token: one state of each constraint."""
        return self.a.initial, self.b.initial

    def _mask(self, state: PairState) -> TokenMask:
        clock = self.limits.clock()
        with time_budget(2 * self.limits.seconds):  # the searches, and the steps of all tokens
            allowed = [i for i, there in self._steps(state) if self._is_coaccessible(there, clock)]
        if self.is_final(state):
            allowed.extend(self.vocabulary.ends)
        return TokenMask.of(allowed, len(self.vocabulary))

    def _steps(self, state: PairState) -> Iterator[tuple[TokenId, PairState]]:
        """The tokens that both allow, without end tokens, and the state after each."""
        left_state, right_state = state
        bits = self.a.mask(left_state).bits & self.b.mask(right_state).bits
        for token_id in TokenMask(bits, len(self.vocabulary)):
            check_time_budget(_TOO_MANY_STEPS)
            if token_id not in self.vocabulary.ends:
                yield (
                    token_id,
                    (self.a.advance(left_state, token_id), self.b.advance(right_state, token_id)),
                )

    def advance(self, state: PairState, token_id: TokenId) -> PairState:
        """The state after a token. Raises: TokenNotAllowed where the token is not in the mask."""
        if token_id not in self.vocabulary.ends:
            there = self.a.advance(state[0], token_id), self.b.advance(state[1], token_id)
            if self.is_coaccessible(there):
                return there
        elif self.is_final(state):
            return state
        raise TokenNotAllowed(f"token {token_id} is not allowed here")

    def is_final(self, state: PairState) -> bool:
        """Whether both accept the text read."""
        return self.a.is_final(state[0]) and self.b.is_final(state[1])

    def forced(self, state: PairState, most: int = sys.maxsize) -> bytes:
        """The longer of the two forced texts; each is a prefix of every continuation."""
        return max(self.a.forced(state[0], most), self.b.forced(state[1], most), key=len)

    def is_coaccessible(self, state: PairState) -> bool:
        """Whether tokens lead to a text that both accept; True if the search passes a limit."""
        return self._is_coaccessible(state, self.limits.clock())

    def _is_coaccessible(self, state: PairState, clock: Clock) -> bool:
        if self.is_final(state):
            return True
        cached = self._coaccessible.get(state)
        return self._search(state, clock) if cached is None else cached

    def _search(self, start: PairState, clock: Clock) -> bool:
        """Search breadth first, a batch of tokens of each state at a time, and cache the result."""
        parent: dict[PairState, PairState | None] = {start: None}
        queue = deque([(start, self._steps(start))])
        tried = 0
        while queue:
            state, steps = queue.popleft()
            batch = list(islice(steps, _TOKENS_PER_TURN))
            tried += len(batch)
            for _, there in batch:
                if self.is_final(there) or self._coaccessible.get(there):
                    self._mark_path(parent, state)
                    return True
                if there not in parent and there not in self._coaccessible:
                    parent[there] = state
                    queue.append((there, self._steps(there)))
            if batch:
                queue.append((state, steps))
            if self._is_too_much(len(parent), tried, clock):
                self.is_exact = False
                self._coaccessible.update(dict.fromkeys(parent, True))  # do not search again
                return True
        # all accessible states were visited, and none of them is final
        self._coaccessible.update(dict.fromkeys(parent, False))
        return False

    def _mark_path(
        self, parent: dict[PairState, PairState | None], state: PairState | None
    ) -> None:
        """Mark the states on the path to a co-accessible one; the others remain unknown."""
        if len(self._coaccessible) > self.limits.states:
            self._coaccessible.clear()
        while state is not None:
            self._coaccessible[state] = True
            state = parent[state]

    def _is_too_much(self, states: int, tried: int, clock: Clock) -> bool:
        limits = self.limits
        return (
            states > limits.states or tried > limits.token_edges or clock.seconds > limits.seconds
        )


class SmallTokens(TokenMachine):
    """A constraint over the small tokens of a vocabulary, with the ids of the whole vocabulary.

    A token is allowed if and only if it is small (``is_small``) and a sequence of small tokens
    continues it to an accepted text. The constraint that ``make`` builds over the small tokens
    is exact, and its masks are used unchanged.

    Raises: VocabularyError where no accepted text can be tokenized with small tokens; errors of
            ``make``.
    """

    def __init__(self, vocabulary: Vocabulary, make: Callable[[Vocabulary], TokenMachine]) -> None:
        self.vocabulary = vocabulary
        #: The constraint over the small tokens, with the same states.
        self.small = make(small_vocabulary(vocabulary))
        self.limits = self.small.limits

    @property
    def lacks(self) -> Mapping[Capability, Lack]:
        """A text whose tokens are not known may need long ones."""
        return {**super().lacks, **self.small.lacks}

    def engine(self) -> TokenMachine:
        engine = self.small.engine()
        return self if engine is self.small else engine

    def _count(self, limits: Limits) -> TokenDistances:
        return self.small._count(limits)

    @property
    def initial(self) -> State:
        return self.small.initial

    def mask(self, state: State) -> TokenMask:
        return self.small.mask(state)

    def advance(self, state: State, token_id: TokenId) -> State:
        """The state after a token. Raises: TokenNotAllowed where the token is not in the mask."""
        return self.small.advance(state, token_id)

    def is_final(self, state: State) -> bool:
        return self.small.is_final(state)

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        return self.small.forced(state, most)


def is_small(token: bytes) -> bool:
    """Whether a token is one character, or one byte (of a character without a token)."""
    if len(token) == 1:
        return True
    try:
        return len(token.decode("utf-8")) == 1
    except UnicodeDecodeError:
        return False


def small_vocabulary(vocabulary: Vocabulary) -> Vocabulary:
    """The vocabulary in which all other tokens are None, like special tokens."""
    why = "a tokenizer does not write text in single characters"
    return Vocabulary(
        [token if token and is_small(token) else None for token in vocabulary.tokens],
        end=vocabulary.ends,
        special=vocabulary.special,
        name=f"the small tokens of {vocabulary.name}",
        names=vocabulary.names,
        tokenizer=replace(vocabulary.tokenizer, unpredictable=why),
    )
