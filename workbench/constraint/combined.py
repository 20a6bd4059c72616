"""Constraints made from others: intersections, without long tokens, with a monitor.

``Intersection`` accepts a text if both constraints accept it, token by token. A token that both
allow may still lead to a dead end, where no continuation is accepted by both; a search finds and
removes these. ``SmallTokens`` is for teaching: a long token may contain a whole nested text, and
with small tokens every step pushes or pops few stack symbols.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from functools import lru_cache
from heapq import heappop, heappush
from itertools import islice

import numpy as np

from workbench.base.errors import TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS, Clock, Limits
from workbench.constraint.engine.automaton import StackConstraint
from workbench.constraint.engine.compose import cannot_spell
from workbench.constraint.protocol import (
    Constraint,
    State,
    StepsByBytes,
    TokenMask,
    constraint_repr,
    state_key,
)
from workbench.grammar.monitors.monitor import Monitor
from workbench.grammar.notations import without_gc
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The state of the intersection: one state of each constraint.
PairState = tuple[State, State]

#: The number of tokens of a state tried before the search turns to another one: states with many
#: tokens need not be expanded completely if a final state is near.
_TOKENS_PER_TURN = 64


class Intersection:
    """The constraint that allows what two constraints both allow.

    Dead ends are found by a search over pairs of states, token by token; each pair is visited
    once. The result is exact if a search visits at most ``limits.states`` pairs and
    ``limits.token_edges`` steps, and the searches for one mask take at most ``limits.seconds``. A
    search that passes a limit stops, sets ``is_exact`` to False, and its tokens are allowed. So a
    mask never lacks a token, but may become empty before the end.

    Cost:   for a mask, two steps for every token that both allow, and the search; cached.
    Raises: VocabularyError where the vocabularies differ, or no text is accepted by both.
    """

    __repr__ = constraint_repr

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
        #: The state before the first token: one state of each constraint.
        self.initial: PairState = a.initial, b.initial
        self._coaccessible: dict[PairState, bool] = {}
        #: ``mask(state)``: the tokens that may come next; cached.
        self.mask = lru_cache(maxsize=limits.rows_of(len(self.vocabulary) // 8 + 1))(self._mask)
        if not self.is_coaccessible(self.initial):
            raise cannot_spell(self.vocabulary)

    def _mask(self, state: PairState) -> TokenMask:
        clock = self.limits.clock()
        allowed = [i for i, there in self._steps(state) if self._is_coaccessible(there, clock)]
        if self.is_final(state):
            allowed.extend(self.vocabulary.ends)
        return TokenMask.of(allowed, len(self.vocabulary))

    def _steps(self, state: PairState) -> Iterator[tuple[TokenId, PairState]]:
        """The tokens that both allow, without end tokens, and the state after each."""
        here, there = state
        bits = self.a.mask(here).bits & self.b.mask(there).bits
        for token_id in TokenMask(bits, len(self.vocabulary)):
            if token_id not in self.vocabulary.ends:
                yield token_id, (self.a.advance(here, token_id), self.b.advance(there, token_id))

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


class SmallTokens:
    """A constraint over the small tokens of a vocabulary, with the ids of the whole vocabulary.

    A token is allowed if and only if it is small (``is_small``) and a sequence of small tokens
    continues it to an accepted text. The constraint that ``make`` builds over the small tokens
    is exact, and its masks are used unchanged.

    Raises: VocabularyError where no accepted text can be tokenized with small tokens; errors of
            ``make``.
    """

    __repr__ = constraint_repr

    def __init__(self, vocabulary: Vocabulary, make: Callable[[Vocabulary], Constraint]) -> None:
        self.vocabulary = vocabulary
        #: The constraint over the small tokens, with the same states.
        self.small = make(small_vocabulary(vocabulary))

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


# -- monitors -------------------------------------------------------------------------------------
# ``Monitored``: a constraint joined to a monitor, so that its texts also have a meaning.
#
# Each mask is the intersection of two: the tokens of the grammar's mask, and those that the monitor
# reads, byte by byte over the trie: a token that ends one name and begins another is decided too. A
# token that both allow can still lead to a dead end: a text that both can continue, in different
# ways only. So a token needs a *witness*, a text after it that both accept.
#
# * The monitor proposes one (``Monitor.finish``), and the grammar's machine reads it. This decides
#   every token if the monitor's texts are all texts of the grammar, and its bytes are tokens.
# * An end that was found after the same state of the grammar is tried.
# * Else a search over pairs of states looks for one: byte by byte if every byte is a token, where
#   the grammar's end is near first; otherwise over tokens (``Intersection``). It is exact within
#   its limits; a token that it cannot decide is allowed, and ``is_exact`` becomes False.


#: Nodes of the trie between two looks at the clock.
_CLOCK_INTERVAL = 512


class _MonitorReader:
    """A monitor as a recogniser of tokens."""

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor

    @property
    def initial(self) -> State:
        return self.monitor.initial

    def step(self, state: State, byte: int) -> State | None:
        return self.monitor.step(state, byte)

    def is_final(self, state: State) -> bool:
        return self.monitor.is_final(state)

    def is_coaccessible(self, state: State) -> bool:
        return True


class Monitored(Intersection):
    """A constraint whose texts a monitor accepts too; a state is a pair of their states.

    Cost:   a mask walks the trie where both can read it, 1 to 5 µs a node, and reads one witness
            for each pair of states after a token; cached.
    Raises: WorkbenchError where no text is accepted by both.
    """

    def __init__(self, constraint: Constraint, monitor: Monitor, limits: Limits = LIMITS) -> None:
        from workbench.constraint.methods.online import Online, by_trie  # lazy: needs lark

        self.monitor = monitor
        #: The texts tried as witnesses: the grammar's state and the text → whether it accepts.
        self._witnesses: dict[tuple[State, bytes], bool] = {}
        #: For states of the grammar a text that ended an accepted text after them.
        self._ends: dict[State, bytes] = {}
        reader = Online(_MonitorReader(monitor), constraint.vocabulary, by_trie, limits)
        try:
            super().__init__(constraint, reader, limits)
        except VocabularyError as error:
            raise WorkbenchError(
                "no text is accepted by the grammar and the monitor, in tokens of"
                f" {constraint.vocabulary.name}",
                "choose a monitor that fits the grammar",
            ) from error

    def _mask(self, state: PairState) -> TokenMask:
        clock = self.limits.clock()
        with without_gc():  # names of thousands of tokens are thousands of new states
            allowed = [i for i, there in self._steps(state) if self._is_coaccessible(there, clock)]
        if self.is_final(state):
            allowed.extend(self.vocabulary.ends)
        return TokenMask.of(allowed, len(self.vocabulary))

    def _steps(self, state: PairState) -> Iterator[tuple[TokenId, PairState]]:
        """The tokens that both read, and the state after each: one walk over the trie."""
        clock = self.limits.clock()
        trie, step = self.vocabulary.trie, self.monitor.step
        nodes, allowed = trie.nodes, self.a.mask(state[0]).bools
        # the tokens of the mask that end before each node: a subtree without any is skipped
        counted = np.cumsum(allowed[trie.token_ids])
        before = np.concatenate(([0], counted))[trie.first].tolist()
        path, node, visited = [state[1]], 0, 0
        while node < len(nodes):
            visited += 1
            if visited % _CLOCK_INTERVAL == 0:
                clock.check("a mask of the monitor takes too long; choose no monitor")
            byte, depth, after, ending = nodes[node]
            target = step(path[depth], byte) if before[after] > before[node] else None
            if target is None:
                node = after
                continue
            for token_id in ending:
                if allowed[token_id]:
                    yield token_id, (self.a.advance(state[0], token_id), target)
            del path[depth + 1 :]
            path.append(target)
            node += 1

    def _search(self, start: PairState, clock: Clock) -> bool:
        """Whether a text after a pair of states is accepted: a known end, or a search for one."""
        if self._has_witness(start) or self._reads(start[1], self._ends.get(start[0])):
            self._mark_path({start: None}, start)
            return True
        if isinstance(self.a, StackConstraint) and len(self.vocabulary.single_bytes) == 256:
            return self._search_bytes(self.a, start, clock)
        return super()._search(start, clock)

    def _has_witness(self, state: PairState) -> bool:
        witness = self.monitor.finish(state[1])
        if witness is None:
            return False
        key = state[0], witness
        known = self._witnesses.get(key)
        if known is None:
            if len(self._witnesses) > self.limits.rows:
                self._witnesses.clear()
            known = self._witnesses[key] = self._accepts(state[0], witness)
        return known

    def _reads(self, state: State, text: bytes | None) -> bool:
        """Whether the monitor accepts a text after a state."""
        if text is None:
            return False
        for byte in text:
            if (state := self.monitor.step(state, byte)) is None:
                return False
        return self.monitor.is_final(state)

    def _search_bytes(self, grammar: StackConstraint, start: PairState, clock: Clock) -> bool:
        """Search byte by byte, where the grammar's end is nearest first, and cache the end found.

        Source: best-first search; the fewest bytes to the grammar's end are the estimate.
        """
        parent: dict[PairState, tuple[PairState, int] | None] = {start: None}
        heap = [(0, 0, start)]
        while heap:
            _, _, state = heappop(heap)
            if self.is_final(state) or self._coaccessible.get(state):
                self._mark_end(parent, state)
                return True
            for byte in grammar.next_bytes(state[0]):
                target = self.monitor.step(state[1], byte)
                there = grammar.step(state[0], byte), target
                is_known_dead = self._coaccessible.get(there) is False
                if target is not None and there not in parent and not is_known_dead:
                    parent[there] = state, byte
                    heappush(heap, (grammar.bytes_left(there[0]), -len(parent), there))
            if self._is_too_much(len(parent), len(parent), clock):
                self.is_exact = False
                self._coaccessible[start] = True  # do not search again
                return True
        self._coaccessible.update(dict.fromkeys(parent, False))
        return False

    def _mark_end(
        self, parent: dict[PairState, tuple[PairState, int] | None], state: PairState
    ) -> None:
        """Mark the states on the way to an end as co-accessible, and keep the ends of each."""
        if len(self._coaccessible) > self.limits.states:
            self._coaccessible.clear()
        if len(self._ends) > self.limits.rows:
            self._ends.clear()
        end = self._ends.get(state[0], b"") if not self.is_final(state) else b""
        while True:
            self._coaccessible[state], self._ends[state[0]] = True, end
            step = parent[state]
            if step is None:
                return
            state, end = step[0], bytes((step[1],)) + end

    def _accepts(self, state: State, witness: bytes) -> bool:
        """Whether the grammar's constraint accepts a text after a state, in tokens of one byte."""
        if not self.vocabulary.single_bytes.issuperset(witness):
            return False
        if isinstance(self.a, StepsByBytes):
            target = self.a.step_bytes(state, witness)
            return target is not None and self.a.is_final(target)
        try:
            for byte in witness:
                state = self.a.advance(state, self.vocabulary.ids_of[bytes((byte,))][0])
        except TokenNotAllowed:
            return False
        return self.a.is_final(state)

    def step_bytes(self, state: PairState, data: bytes) -> PairState | None:
        """The state after bytes, or None where no accepted text continues with them."""
        inner = self.a.step_bytes(state[0], data) if isinstance(self.a, StepsByBytes) else None
        target: State | None = state[1]
        for byte in data if inner is not None else b"":
            if target is not None:
                target = self.monitor.step(target, byte)
        if inner is None or target is None:
            return None
        return (inner, target) if self.is_coaccessible((inner, target)) else None

    def state_key(self, state: PairState) -> Hashable:
        """Implements ``HasStateKeys``: that of the grammar; names make the monitor's states new."""
        return state_key(self.a)(state[0])
