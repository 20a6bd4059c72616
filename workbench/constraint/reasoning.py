"""``Reasoning``: free text between two markers, then a text of another constraint."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from workbench.base.arguments import Count, checked
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import ArgumentValueError, TokenNotAllowed
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.compile import compile
from workbench.constraint.engine.automaton import DfaConstraint
from workbench.constraint.labels import read_as
from workbench.constraint.masks import TokenMask, pack
from workbench.constraint.protocol import (
    Constraint,
    ProcessLocal,
    ReadsLabels,
    State,
    StepsByBytes,
    constraint_repr,
)
from workbench.grammar.grammar import Grammar
from workbench.syntax.regex.extensions import Label
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class ReasoningState(NamedTuple):
    """A state of ``Reasoning``."""

    #: The number of tokens of the free part; 0 in the answer, where it has no effect.
    spent: int
    #: The state of the automaton of the free part, None in the answer.
    thought: int | None
    #: The state of the answer's constraint.
    answer: State


class Reasoning(ProcessLocal):
    """Free text between two markers, then a text that another constraint allows.

    A reasoning model writes its thoughts before its answer: ``<think>…</think>{"sum": 7}``. The
    free part is any text without the closing marker, and the answer begins after the first one. A
    marker that is a special token of the vocabulary is that token; any other marker is text, in
    any tokens. A token may contain the end of the closing marker and the beginning of the answer
    if the answer's constraint can step by bytes.

    ``budget`` is a number of tokens, those of the opening marker included. After that many tokens
    the closing marker follows immediately (half a character is completed before it), unless tokens
    cannot spell it there.

    ``opening``  empty if the prompt already ends with it, as after many chat templates.

    Cost:   the masks of a DFA of one state for each byte of a marker; each is computed once.
    Raises: WorkbenchError for an empty closing marker or a budget below 0; VocabularyError if the
            vocabulary cannot spell a marker.
    """

    __repr__ = constraint_repr

    @checked
    def __init__(
        self,
        answer: Constraint,
        opening: str = "<think>",
        closing: str = "</think>",
        budget: Count = 512,
        limits: Limits = LIMITS,
    ) -> None:
        if not closing:
            raise ArgumentValueError("expected a closing marker, not an empty text as 'closing'")
        #: The constraint of what follows the closing marker.
        self.answer = answer
        self.vocabulary: Vocabulary = answer.vocabulary
        self.budget = budget
        named = {name: token_id for token_id, name in self.vocabulary.names.items()}
        size = len(self.vocabulary)
        self._marker = closing.encode()
        self._closing = named.get(closing)
        #: The opening marker if it is a special token, and the mask before the free part then.
        self.opening = named.get(opening)
        self._opening = None if self.opening is None else TokenMask.of([self.opening], size)
        #: The opening marker as text.
        self._before = "" if opening in named else opening
        until = r"[\s\S]*" if closing in named else f"(?P<TEXT_UNTIL>{re.escape(closing)})"
        free = compile(
            Grammar.from_regex(re.escape(self._before) + until), self.vocabulary, limits=limits
        )
        assert isinstance(free, DfaConstraint), "a DFA of this size is not built lazily"
        #: The automaton of the free part.
        self.free = free
        self._distance = _distances(free.dfa)
        self._masks: dict[tuple[bool, int], TokenMask] = {}

    @property
    def initial(self) -> ReasoningState:
        return ReasoningState(0, self.free.initial, self.answer.initial)

    def mask(self, state: ReasoningState) -> TokenMask:
        """The tokens of the free part, or of the answer."""
        if state.thought is None:
            return self.answer.mask(state.answer)
        if self._opening is not None and self.opens(state):
            return self._opening
        return self.free_mask(state.thought, over=state.spent >= self.budget)

    def opens(self, state: ReasoningState) -> bool:
        """Whether the opening marker, a special token, comes next."""
        return self._opening is not None and state.thought is not None and state.spent == 0

    def free_mask(self, thought: int, *, over: bool) -> TokenMask:
        """The tokens of a state of the free part, before its budget is spent or after."""
        cached = self._masks.get((over, thought))
        if cached is None:
            cached = self._masks[over, thought] = self._mask(over, thought)
        return cached

    def closes_at(self, thought: int) -> bool:
        """Whether the closing marker, as text, is complete in a state of the free part."""
        return self._closing is None and self.free.is_final(thought)

    def _mask(self, over: bool, thought: int) -> TokenMask:
        allowed = self.free.mask(thought).bools.copy()
        allowed[list(self.vocabulary.special)] = False
        if self._closing is None:
            allowed[list(self._crossing(thought))] = True
        elif self.free.is_final(thought):
            allowed[self._closing] = True
        mask = TokenMask(pack(allowed), len(self.vocabulary))
        ending = [i for i in mask if self._is_on_shortest_way(thought, i)] if over else []
        # tokens may be unable to spell the shortest way
        return TokenMask.of(ending, len(self.vocabulary)) if ending else mask

    def _is_on_shortest_way(self, thought: int, token_id: TokenId) -> bool:
        """Whether each byte of a token leads nearer to the closing marker, until it is complete."""
        if token_id == self._closing:
            return True
        for byte in self.vocabulary.tokens[token_id] or b"":
            if self._distance[thought] == 0:
                return self._closing is None
            there = self.free.step(thought, byte)
            if self._distance[there] >= self._distance[thought]:
                return False
            thought = there
        return True

    def _crossing(self, thought: int) -> Iterable[TokenId]:
        """The tokens that contain the end of the closing marker and a beginning of the answer."""
        if not isinstance(self.answer, StepsByBytes):
            return
        last = self._marker[-1:]
        for token, ids in self.vocabulary.ids_of.items():
            there = self._after(thought, token) if last in token[:-1] else None
            if there is None or there.thought is not None:
                continue
            # where tokens lack single bytes, a state may have no continuation
            if self.is_final(there) or len(self.mask(there)):
                yield from ids

    def _after(self, thought: int, token: bytes) -> ReasoningState | None:
        """The state after the bytes of a token, without the number of tokens."""
        for index, byte in enumerate(token):
            if (thought := self.free.step(thought, byte)) == DEAD:
                return None
            if self._closing is None and self.free.is_final(thought):
                return self._answered(token[index + 1 :])
        return ReasoningState(0, thought, self.answer.initial)

    def _answered(self, rest: bytes) -> ReasoningState | None:
        """The state after the closing marker and the first bytes of the answer."""
        there = self.answer.initial
        if rest:
            assert isinstance(self.answer, StepsByBytes), "no other constraint gets such a token"
            there = self.answer.step_bytes(there, rest)
        return None if there is None else ReasoningState(0, None, there)

    def advance(self, state: ReasoningState, token_id: TokenId) -> ReasoningState:
        """The state after a token. Raises: TokenNotAllowed where the token is not in the mask."""
        if state.thought is None:
            return state._replace(answer=self.answer.advance(state.answer, token_id))
        if token_id not in self.mask(state):
            raise TokenNotAllowed(f"token {token_id} is not allowed here")
        if self.opens(state):
            return state._replace(spent=1)
        there = self.after_token(state.thought, token_id)
        return there if there.thought is None else there._replace(spent=state.spent + 1)

    def after_token(self, thought: int, token_id: TokenId) -> ReasoningState:
        """The state after a token of the mask, without the number of tokens."""
        if token_id == self._closing:
            return ReasoningState(0, None, self.answer.initial)
        there = self._after(thought, self.vocabulary.tokens[token_id] or b"")
        assert there is not None, "the mask allows the token"
        return there

    def is_final(self, state: ReasoningState) -> bool:
        """Whether the answer read is accepted."""
        return state.thought is None and self.answer.is_final(state.answer)

    def label(self, state: ReasoningState, token_id: TokenId) -> Label | None:
        """Implements ``ReadsLabels``."""
        if state.thought is not None or not isinstance(self.answer, ReadsLabels):
            return None
        return self.answer.label(state.answer, token_id)

    def read_as(self, state: ReasoningState, token_id: TokenId) -> bytes:
        """The bytes that the answer's machine reads for a token: those after the closing marker."""
        if state.thought is None:
            return read_as(self.answer, state.answer, token_id)
        token, thought = self.vocabulary.tokens[token_id] or b"", state.thought
        for end, byte in enumerate(token, 1):
            thought = self.free.step(thought, byte)
            if self._closing is None and self.free.is_final(thought):
                return token[end:]
        return b""

    def forced(self, state: ReasoningState, most: int = sys.maxsize) -> bytes:
        """The bytes that every accepted text continues with; a special token ends them."""
        if state.thought is None:
            return self.answer.forced(state.answer, most)
        if self._opening is not None and state.spent == 0:
            return b""
        found = bytearray()
        thought = state.thought
        while len(found) < most and not self.free.is_final(thought):
            steps = {byte: self.free.step(thought, byte) for byte in self.free.next_bytes(thought)}
            if state.spent >= self.budget:
                nearest = min(self._distance[there] for there in steps.values())
                steps = {b: there for b, there in steps.items() if self._distance[there] == nearest}
            if len(steps) != 1:
                return bytes(found)
            ((byte, thought),) = steps.items()
            found.append(byte)
        if self._closing is None and self.free.is_final(thought):
            found += self.answer.forced(self.answer.initial, most - len(found))
        return bytes(found)

    def answer_in(self, token_ids: Iterable[TokenId]) -> bytes:
        """The answer within the tokens of a text: what follows the closing marker, or nothing."""
        listed = list(token_ids)[self._opening is not None :]
        if self._closing is None:
            text = self.vocabulary.decode(listed)[len(self._before.encode()) :]
            return text.partition(self._marker)[2]
        closed = self._closing in listed
        return self.vocabulary.decode(listed[listed.index(self._closing) :]) if closed else b""


def _distances(machine: Dfa) -> list[int]:
    """The bytes from each state to the nearest final one."""
    far = len(machine)
    distance = np.where(machine.finals, 0, far)
    while True:
        over = np.where(machine.table == DEAD, far, distance[machine.table] + 1)
        nearer = np.minimum(distance, over.min(axis=1))
        if np.array_equal(nearer, distance):
            return [int(each) for each in distance]
        distance = nearer
