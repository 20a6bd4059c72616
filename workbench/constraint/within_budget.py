"""``WithinBudget``: masks under which every text ends within a number of tokens.

A mask keeps a text inside its grammar, but a budget of tokens may end it in the middle: the result
is a prefix of an accepted text and no text of the grammar. Here a token is allowed only if the text
can still end, end token included, with the tokens that are left after it.

``token_distances`` chooses how a constraint's tokens are counted. The exact engine counts from its
machines. A method with the engine's masks is followed by the engine (``HasEngine``). Of any other
method all states are explored, which succeeds where they are few.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from workbench.base.arguments import checked
from workbench.base.errors import LimitError, TokenNotAllowed, WorkbenchError
from workbench.base.limits import LIMITS, Limits, time_budget
from workbench.constraint.combined import SmallTokens
from workbench.constraint.engine.automaton import (
    DfaConstraint,
    LazyConstraint,
    StackConstraint,
)
from workbench.constraint.engine.compose import TokenFsa, compose
from workbench.constraint.engine.token_distances import (
    FAR,
    TOO_LONG,
    AfterTokens,
    GraphDistances,
    StackDistances,
    TokenDistances,
)
from workbench.constraint.engine.trie_walk import Ints
from workbench.constraint.labels import Labelled
from workbench.constraint.labels import read_as as read_as_by
from workbench.constraint.masks import TokenMask, pack
from workbench.constraint.monitored import Monitored
from workbench.constraint.protocol import (
    Constraint,
    HasEngine,
    ProcessLocal,
    State,
    Unconstrained,
    constraint_repr,
    reads_labels,
    state_key,
)
from workbench.constraint.reasoning import Reasoning, ReasoningState
from workbench.syntax.regex.extensions import Label
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class BudgetState(NamedTuple):
    """A state of ``WithinBudget``."""

    #: The tokens left, the end token included.
    left: int
    #: The state of the constraint.
    inner: State
    #: The state whose distance is counted: often the same.
    counted: State


#: Distances by their constraint; they do not refer to it.
_CACHE: WeakKeyDictionary[Constraint, TokenDistances] = WeakKeyDictionary()


def engine_of(constraint: Constraint) -> Constraint:
    """The constraint whose tokens are counted: one with the same masks, or the constraint."""
    if isinstance(constraint, HasEngine):
        return constraint.engine() or constraint
    if isinstance(constraint, SmallTokens):
        return engine_of(constraint.small)
    return constraint


def _has_states_of_engine(constraint: Constraint) -> bool:
    """Whether the engine that counts a constraint's tokens has its states."""
    inner = constraint.small if isinstance(constraint, SmallTokens) else constraint
    return engine_of(constraint) is inner


def token_distances(constraint: Constraint, limits: Limits = LIMITS) -> TokenDistances:
    """The fewest tokens from each state of a constraint to an accepted text; cached with it.

    Cost: twice ``limits.seconds`` at most.
    Raises: WorkbenchError for a constraint with too many states to explore; LimitError.
    """
    known = _CACHE.get(constraint)
    if known is None:
        # the distances are computed once, and spare the run all texts that are cut
        limits = replace(limits, seconds=2 * limits.seconds)
        with time_budget(limits.seconds):
            known = _CACHE[constraint] = _distances(constraint, limits)
    return known


def _distances(constraint: Constraint, limits: Limits) -> TokenDistances:
    match constraint:
        case DfaConstraint(dfa=dfa):
            return GraphDistances.of(compose(dfa, constraint.vocabulary, limits))
        case StackConstraint():
            return StackDistances(constraint, limits)
        case LazyConstraint():
            raise WorkbenchError(
                "the automaton of this regex is too large to count the tokens to its end",
                f"bound its repetitions, or {TOO_LONG}",
            )
        case Reasoning():
            return _ReasoningDistances(constraint, limits)
        case Monitored():
            raise WorkbenchError(
                "the tokens to the end of a text are not counted under a monitor: each name makes"
                " other states",
                "leave the monitor out, or do not ask that the text ends in its budget",
            )
        case Unconstrained():
            return _AlwaysFinal(constraint)
        case Labelled(encoded=DfaConstraint(dfa=dfa) as encoded):
            return _labelled(constraint, compose(dfa, encoded.vocabulary, limits))
    return _explored(constraint, limits)


class _AlwaysFinal:
    """The distances where every text is accepted."""

    def __init__(self, constraint: Constraint) -> None:
        ids = constraint.mask(constraint.initial).without(constraint.vocabulary.ends).ids
        self._after = AfterTokens(ids.astype(np.int32), np.zeros(len(ids), np.int32))

    def distance(self, state: State) -> int:
        return 0

    def farthest(self, state: State) -> int:
        return 0

    def after(self, state: State) -> AfterTokens:
        return self._after


def _labelled(constraint: Labelled, fsa: TokenFsa) -> TokenDistances:
    """The distances with terminal labels: a label reads the tokens that are not read as text."""

    def row(state: int) -> tuple[Ints, Ints]:
        ids, targets = fsa.rows.row(state)
        target_of = np.full(len(constraint.vocabulary), -1, np.int32)
        is_text = ids < len(target_of)
        target_of[ids[is_text]] = targets[is_text]
        by_code = dict(zip(ids[~is_text].tolist(), targets[~is_text].tolist(), strict=True))
        for label in constraint.labels:
            if label.code_id in by_code:
                target_of[label.mask.bools & (target_of < 0)] = by_code[label.code_id]
        read = np.flatnonzero(target_of >= 0)
        return read.astype(np.int32), target_of[read]

    targets = [np.unique(row(state)[1]) for state in range(len(fsa))]
    return GraphDistances(fsa.finals, targets, row)


def _explored(constraint: Constraint, limits: Limits) -> TokenDistances:
    """The distances of a constraint of which only masks and steps are known.

    Raises: WorkbenchError past a limit.
    """
    clock, ends = limits.clock(), constraint.vocabulary.ends
    numbers: dict[Hashable, int] = {constraint.initial: 0}
    queue, rows, edges = [constraint.initial], list[tuple[Ints, Ints]](), 0
    try:
        for state in queue:  # the list grows during the loop
            ids = constraint.mask(state).without(ends).ids.astype(np.int32)
            edges += len(ids)
            limits.check("token_edges", edges)
            targets = []
            for token_id in ids.tolist():
                clock.check()
                target = constraint.advance(state, token_id)
                number = numbers.setdefault(target, len(numbers))
                if number == len(queue):
                    limits.check("states", number)
                    queue.append(target)
                targets.append(number)
            rows.append((ids, np.array(targets, np.int32)))
    except LimitError:
        raise WorkbenchError(
            "this method has too many states to count the tokens to the end of a text",
            "choose the method 'automaton', or a grammar without recursion and long repetitions",
        ) from None
    finals = np.array([constraint.is_final(state) for state in queue], np.bool_)
    distinct = [np.unique(targets) for _, targets in rows]
    return GraphDistances(finals, distinct, rows.__getitem__, numbers.__getitem__)


class _ReasoningDistances:
    """The distances with a free part: the tokens to its closing marker, then those of the answer.

    It keeps no reference to the constraint, with which it is cached.

    Until its budget is spent the free part may take any way to the marker, afterwards the nearest
    one. So the distances are computed for each number of tokens to the budget, from 0 up, until
    another token makes no difference.
    """

    def __init__(self, reasoning: Reasoning, limits: Limits) -> None:
        if not _has_states_of_engine(reasoning.answer):
            raise WorkbenchError(
                "the tokens to the end of a text after reasoning are counted for the exact engine",
                "compile the answer with the method 'automaton'",
            )
        self._budget = reasoning.budget
        self._opening = reasoning.opening
        self._answer = token_distances(engine_of(reasoning.answer), limits)
        rows = compose(reasoning.free.dfa, reasoning.vocabulary, limits).rows
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
        left = reasoning.free_mask(thought, over=over).bools.copy()
        inside = left[row[0]]
        ids, targets = row[0][inside], row[1][inside]
        left[ids] = False
        # a token in which the marker ends, or the marker itself, begins the answer
        closes = np.array([reasoning.closes_at(target) for target in targets.tolist()], np.bool_)
        others = np.concatenate([ids[closes], np.flatnonzero(left)]).astype(np.int32)
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


class WithinBudget(ProcessLocal):
    """A constraint whose texts have at most ``budget`` tokens, the end token included.

    A token is in the mask if and only if the constraint allows it and some accepted text follows it
    within the tokens left. So a generation that may take ``budget`` tokens always ends with an
    accepted text.

    ``limits``  of the distances; default: those of the constraint.

    Cost:   the distances of all states (``token_distances``) once; then a mask compares the largest
            distance after the state with the tokens left; only if it is larger, tokens are tested.
    Raises: WorkbenchError if every text is longer than the budget, and for a method whose states
            are too many to explore; LimitError.
    Source: exact for automata and for stacks. TruncProof (2026) approximates it for LL(1).
    """

    __repr__ = constraint_repr

    @checked
    def __init__(self, constraint: Constraint, budget: int, limits: Limits | None = None) -> None:
        if isinstance(constraint, WithinBudget):
            budget = min(budget, constraint.budget)
        self.constraint: Constraint = without_budget(constraint)
        constraint = self.constraint
        self.vocabulary: Vocabulary = constraint.vocabulary
        self.budget: int = budget
        self._engine = engine_of(constraint)
        if limits is None:
            limits = getattr(self._engine, "limits", LIMITS)
        self._same = _has_states_of_engine(constraint)
        #: The fewest tokens from a state to an accepted text.
        self.distances = token_distances(self._engine, limits)
        #: The tokens that end a text: vocabularies may have no end token.
        self._end = min(1, len(self.vocabulary.ends))
        self._restricted = lru_cache(maxsize=limits.rows_of(len(self.vocabulary) // 8 + 1))(
            self._restrict
        )
        self._farthest = lru_cache(maxsize=limits.rows)(self.distances.farthest)
        self._distance = lru_cache(maxsize=limits.rows)(self.distances.distance)
        fewest = self.fewest(self.initial)
        if fewest >= FAR:
            raise WorkbenchError(
                "no text of the grammar ends, however many tokens it may have",
                "a terminal label at its end may be read as text at every token",
            )
        if fewest > budget:
            end = " with the end token" * self._end
            raise WorkbenchError(
                f"the shortest text needs {_tokens(fewest)}{end}; at most is {budget}",
                f"allow {_tokens(fewest)} or more",
            )

    def __eq__(self, other: object) -> bool:
        """Whether both allow the same tokens; a strategy that learns may see several equal ones."""
        if not isinstance(other, WithinBudget):
            return NotImplemented
        return self.constraint is other.constraint and self.budget == other.budget

    def __hash__(self) -> int:
        return hash((id(self.constraint), self.budget))

    @property
    def initial(self) -> BudgetState:
        return BudgetState(self.budget, self.constraint.initial, self._engine.initial)

    def mask(self, state: BudgetState) -> TokenMask:
        """The tokens after which the text can still end within the tokens left."""
        left, inner, counted = state
        if left > 0 and self._farthest(counted) <= left - 1 - self._end:
            return self.constraint.mask(inner)
        return self._restricted(left, inner, counted)

    def _restrict(self, left: int, inner: State, counted: State) -> TokenMask:
        ids, distances = self.distances.after(counted)
        allowed = np.zeros(len(self.vocabulary), np.bool_)
        allowed[ids[distances <= left - 1 - self._end]] = True
        if left > 0 and self.constraint.is_final(inner):
            allowed[list(self.vocabulary.ends)] = True
        return TokenMask(pack(allowed), len(self.vocabulary))

    def advance(self, state: BudgetState, token_id: TokenId) -> BudgetState:
        """The state after a token. Raises: TokenNotAllowed where the token is not in the mask."""
        left, inner, counted = state
        there = self.constraint.advance(inner, token_id)
        if token_id in self.vocabulary.ends:
            fits = left > 0
        else:
            counted = there if self._same else self._engine.advance(counted, token_id)
            fits = self._distance(counted) <= left - 1 - self._end
        if not fits:
            needed = self._distance(counted) + self._end
            raise TokenNotAllowed(
                f"after token {token_id} the shortest text needs {_tokens(needed)} more; at most"
                f" {max(0, left - 1)} may follow",
                f"allow {_tokens(self.budget - left + 1 + needed)} or more",
            )
        return BudgetState(left - 1, there, counted)

    def is_final(self, state: BudgetState) -> bool:
        """Whether the text read is accepted."""
        return self.constraint.is_final(state.inner)

    def fewest(self, state: BudgetState) -> int:
        """The fewest tokens that end the text, the end token included."""
        return self._distance(state.counted) + self._end

    def forced(self, state: BudgetState, most: int = sys.maxsize) -> bytes:
        """The bytes that every accepted text continues with."""
        return self.constraint.forced(state.inner, most)

    def state_key(self, state: BudgetState) -> Hashable:
        """Implements ``HasStateKeys``: that of the constraint."""
        return state_key(self.constraint)(state.inner)

    def label(self, state: BudgetState, token_id: TokenId) -> Label | None:
        """Implements ``ReadsLabels``."""
        inner = self.constraint
        return inner.label(state.inner, token_id) if reads_labels(inner) else None

    def read_as(self, state: BudgetState, token_id: TokenId) -> bytes:
        """Implements ``ReadsLabels``: the bytes that the constraint's machine reads."""
        return read_as_by(self.constraint, state.inner, token_id)


def _tokens(count: int) -> str:
    return f"{count} token{'s' * (count != 1)}"


def without_budget(constraint: Constraint) -> Constraint:
    """The constraint inside one with a budget; any other unchanged."""
    return constraint.constraint if isinstance(constraint, WithinBudget) else constraint


def state_without_budget(state: State) -> State:
    """The state of the constraint inside one with a budget; any other unchanged."""
    return state.inner if isinstance(state, BudgetState) else state
