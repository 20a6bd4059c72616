"""``Monitored``: a constraint joined to a monitor, so that its texts also have a meaning.

Each mask is the intersection of two: the tokens of the grammar's mask, and those that the monitor
reads, byte by byte over the trie: a token that ends one name and begins another is decided too.
A token that both allow can still lead to a dead end: a text that both can continue, in
different ways only. So a token needs a *witness*, a text after it that both accept.

* The monitor proposes one (``Monitor.finish``), and the grammar's machine reads it. This decides
  every token if the monitor's texts are all texts of the grammar, and its bytes are tokens.
* Else a search over pairs of states looks for one (``Intersection``). It is exact within its
  limits; a token that it cannot decide is allowed, and ``is_exact`` becomes False.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np

from workbench.base.errors import TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS, Clock, Limits
from workbench.constraint.combined import Intersection, PairState
from workbench.constraint.mask import TokenMask
from workbench.constraint.protocol import Constraint, State, StepsByBytes, state_key
from workbench.grammar.monitors.monitor import Monitor
from workbench.vocabulary.vocabulary import TokenId

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
        clock, allowed = self.limits.clock(), list[TokenId]()
        for token_id, target in self._read(state, clock):
            there = self.a.advance(state[0], token_id), target
            if self._is_coaccessible(there, clock):
                allowed.append(token_id)
        if self.is_final(state):
            allowed.extend(self.vocabulary.ends)
        return TokenMask.of(allowed, len(self.vocabulary))

    def _read(self, state: PairState, clock: Clock) -> Iterator[tuple[TokenId, State]]:
        """The tokens of the grammar's mask that the monitor reads, with its state after each."""
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
            yield from ((token_id, target) for token_id in ending if allowed[token_id])
            del path[depth + 1 :]
            path.append(target)
            node += 1

    def _search(self, start: PairState, clock: Clock) -> bool:
        """Whether a text after a pair of states is accepted: the monitor's witness, or a search."""
        if not self._has_witness(start):
            return super()._search(start, clock)
        self._mark_path({start: None}, start)
        return True

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
