"""``Reasoning``: free text between two markers, then a text of another constraint."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from workbench.base.arguments import Count, checked
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import ArgumentValueError, TokenNotAllowed, WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.compile import generable
from workbench.constraint.engine.automaton import DfaConstraint
from workbench.constraint.masks import TokenMask, pack
from workbench.constraint.protocol import Constraint, State
from workbench.constraint.token_distances import FAR, AfterTokens, Ints, TokenDistances
from workbench.constraint.token_machine import Capability, TokenMachine, machine_of
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


class Reasoning(TokenMachine):
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
        self.answer = machine_of(answer)
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
        whole = Grammar.from_regex(re.escape(self._before) + until)
        dfa = generable(whole, self.vocabulary).dfa
        assert dfa is not None, "a regex has a DFA"
        #: The automaton of the free part.
        self.free = DfaConstraint(dfa, self.vocabulary, limits)
        self._distance = _distances(dfa)
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
        if not self.answer.can(Capability.BYTES):
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
                return self._begin_answer(token[index + 1 :])
        return ReasoningState(0, thought, self.answer.initial)

    def _begin_answer(self, rest: bytes) -> ReasoningState | None:
        """The state after the closing marker and the first bytes of the answer."""
        there = self.answer.initial
        if rest:
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
        """The label of the answer that reads a token, or None."""
        return None if self.is_free(state) else self.answer.label(state.answer, token_id)

    def is_free(self, state: ReasoningState) -> bool:
        """Whether the text is before its closing marker."""
        return state.thought is not None

    def read_as(self, state: ReasoningState, token_id: TokenId) -> bytes:
        """The bytes that the answer's machine reads for a token: those after the closing marker."""
        if state.thought is None:
            return self.answer.read_as(state.answer, token_id)
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
        text = bytearray()
        thought = state.thought
        while len(text) < most and not self.free.is_final(thought):
            steps = {byte: self.free.step(thought, byte) for byte in self.free.next_bytes(thought)}
            if state.spent >= self.budget:
                nearest = min(self._distance[there] for there in steps.values())
                steps = {b: there for b, there in steps.items() if self._distance[there] == nearest}
            if len(steps) != 1:
                return bytes(text)
            ((byte, thought),) = steps.items()
            text.append(byte)
        if self._closing is None and self.free.is_final(thought):
            text += self.answer.forced(self.answer.initial, most - len(text))
        return bytes(text)

    def _count(self, limits: Limits) -> TokenDistances:
        return _ReasoningDistances(self, limits)

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


class _ReasoningDistances:
    """The distances with a free part: the tokens to its closing marker, then those of the answer.

    It keeps no reference to the constraint, with which it is cached.

    Until its budget is spent the free part may take any way to the marker, afterwards the nearest
    one. So the distances are computed for each number of tokens to the budget, from 0 up, until
    another token makes no difference.
    """

    def __init__(self, reasoning: Reasoning, limits: Limits) -> None:
        if reasoning.answer.engine() is not reasoning.answer:
            raise WorkbenchError(
                "the tokens to the end of a text after reasoning are counted for the exact engine",
                "compile the answer with the method 'automaton'",
            )
        self._budget = reasoning.budget
        self._opening = reasoning.opening
        self._answer = reasoning.answer.token_distances(limits)
        rows = reasoning.free.closed_form(limits).rows
        states = range(len(reasoning.free.dfa))
        row_of = [rows.row(state) for state in states]
        over = [self._row(reasoning, state, True, row_of[state]) for state in states]
        before = [self._row(reasoning, state, False, row_of[state]) for state in states]
        self._rows = over, before
        least = np.full(len(states), FAR, np.int32)
        while not np.array_equal(nearer := self._least(over, least), least):
            least = nearer
        #: For each number of tokens to the budget, the distance of each state of the free part.
        self._levels = [least]
        while not np.array_equal(level := self._least(before, self._levels[-1]), self._levels[-1]):
            self._levels.append(level)

    def _row(
        self, reasoning: Reasoning, thought: int, over: bool, row: tuple[Ints, Ints]
    ) -> _FreeRow:
        """The tokens of a state of the free part."""
        allowed = reasoning.free_mask(thought, over=over).bools.copy()
        inside = allowed[row[0]]
        ids, targets = row[0][inside], row[1][inside]
        allowed[ids] = False
        # a token in which the marker ends, or the marker itself, begins the answer
        closes = np.array([reasoning.closes_at(target) for target in targets.tolist()], np.bool_)
        others = np.concatenate([ids[closes], np.flatnonzero(allowed)]).astype(np.int32)
        answers = [
            self._answer.distance(reasoning.after_token(thought, token_id).answer)
            for token_id in others.tolist()
        ]
        return _FreeRow(ids[~closes], targets[~closes], others, np.array(answers, np.int32))

    def _least(self, rows: list[_FreeRow], after: Ints) -> Ints:
        """The distances of the states before a token, from those after it."""
        return np.array(
            [min(FAR, 1 + int(row.distances(after).min(initial=FAR))) for row in rows], np.int32
        )

    def _until_budget(self, spent: int) -> int:
        return max(0, self._budget - spent)

    def _opens(self, state: ReasoningState) -> bool:
        return self._opening is not None and state.thought is not None and state.spent == 0

    def _level(self, until_budget: int) -> Ints:
        return self._levels[min(until_budget, len(self._levels) - 1)]

    def distance(self, state: ReasoningState) -> int:
        if state.thought is None:
            return self._answer.distance(state.answer)
        if self._opens(state):
            return min(FAR, 1 + int(self._level(self._until_budget(1))[state.thought]))
        return int(self._level(self._until_budget(state.spent))[state.thought])

    def farthest(self, state: ReasoningState) -> int:
        if state.thought is None:
            return self._answer.farthest(state.answer)
        distances = self.after(state).distances
        return int(distances[distances < FAR].max(initial=0))

    def after(self, state: ReasoningState) -> AfterTokens:
        if state.thought is None:
            return self._answer.after(state.answer)
        after = self._level(self._until_budget(state.spent + 1))
        if self._opens(state):
            ids = np.array([self._opening], np.int32)
            return AfterTokens(ids, after[[state.thought]])
        row = self._rows[self._until_budget(state.spent) > 0][state.thought]
        return AfterTokens(np.concatenate([row.ids, row.others]), row.distances(after))


class _FreeRow(NamedTuple):
    """The tokens of a state of the free part: those that stay in it, and the others."""

    ids: Ints
    targets: Ints
    others: Ints
    #: The distance of the answer after each of the others.
    answers: Ints

    def distances(self, after: Ints) -> Ints:
        """The distance after each token, from those of the states."""
        return np.concatenate([after[self.targets], self.answers])
