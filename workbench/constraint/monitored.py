"""``Monitored``: a constraint joined to a monitor, so that its texts also have a meaning.

Each mask is the intersection of two: the tokens of the grammar's mask, and those that the monitor
reads, byte by byte over the trie: a token that ends one name and begins another is decided too.
Tokens that lead to one pair of states are decided together (``_Walk``). A token that both allow
can still lead to a dead end: a text that both can continue, in different ways only. So a token
needs a *witness*, a text after it that both accept.

* The monitor proposes one (``Monitor.finish``), and the grammar's machine reads it. This decides
  every token if the monitor's texts are all texts of the grammar, and its bytes are tokens.
* An end that was found after the same state of the grammar is tried.
* Else a search over pairs of states looks for one: byte by byte if every byte is a token, where
  the grammar's end is near first; otherwise over tokens (``Intersection``). It is exact within
  its limits; a token that it cannot decide is allowed, and ``is_exact`` becomes False.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Hashable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from workbench.base.arguments import checked
from workbench.base.dfa import DEAD
from workbench.base.errors import TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS, Clock, Limits
from workbench.constraint.combined import Intersection, PairState
from workbench.constraint.masks import TokenMask, pack
from workbench.constraint.plain_mask import readable_tokens
from workbench.constraint.protocol import Constraint, State
from workbench.constraint.token_machine import Capability, Lack, machine_of
from workbench.grammar.monitors.monitor import Monitor, ReadsNames
from workbench.grammar.notations import without_gc
from workbench.vocabulary.vocabulary import TokenId

_TOO_SLOW = "a mask of the monitor takes too long; choose no monitor"

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


#: What is not known under a monitor.
_UNCOUNTED = {
    Capability.BYTES_LEFT: Lack(
        "the bytes to the end of a text are not counted under a monitor: each name makes other"
        " states",
        "leave the monitor out",
    ),
    Capability.TOKEN_DISTANCES: Lack(
        "the tokens to the end of a text are not counted under a monitor: each name makes other"
        " states",
        "leave the monitor out, or do not ask that the text ends in its budget",
    ),
}


class Monitored(Intersection):
    """A constraint whose texts a monitor accepts too; a state is a pair of their states.

    Cost:   a mask walks the trie where both can read it, and looks for an end once for each pair of
            states after a token: mostly 5 to 50 ms over 131,072 tokens (``_Walk``). Masks of
            methods other than the exact engine's advance token by token, 10 µs each. Cached.
    Raises: WorkbenchError where no text is accepted by both.
    """

    @checked
    def __init__(self, constraint: Constraint, monitor: Monitor, limits: Limits = LIMITS) -> None:
        from workbench.constraint.methods.online import Online  # lazy: needs lark

        self.grammar, self.monitor = machine_of(constraint), monitor
        #: The texts tried as witnesses: the grammar's state and the text → whether it accepts.
        self._witnesses: dict[tuple[State, bytes], bool] = {}
        #: For states of the grammar a text that ended an accepted text after them.
        self._ends: dict[State, bytes] = {}
        reader = Online(_MonitorReader(monitor), constraint.vocabulary, readable_tokens, limits)
        try:
            super().__init__(self.grammar, reader, limits)
        except VocabularyError as error:
            raise WorkbenchError(
                "no text is accepted by the grammar and the monitor, in tokens of"
                f" {constraint.vocabulary.name}",
                "choose a monitor that fits the grammar",
            ) from error

    def _mask(self, state: PairState) -> TokenMask:
        clock, allowed = self.limits.clock(), None
        with without_gc():  # names of thousands of tokens are thousands of new states
            if self.grammar.can(Capability.BYTES):
                allowed = _Walk(self, state, clock).allowed()
            if allowed is None:
                steps = self._steps(state)
                ids = [i for i, there in steps if self._is_coaccessible(there, clock)]
                allowed = np.isin(np.arange(len(self.vocabulary)), ids)
        allowed[list(self.vocabulary.ends)] = self.is_final(state)
        return TokenMask(pack(allowed), len(self.vocabulary))

    def _steps(self, state: PairState) -> Iterator[tuple[TokenId, PairState]]:
        """The tokens that both read, and the state after each: one walk over the trie."""
        clock = self.limits.clock()
        trie, step = self.vocabulary.trie, self.monitor.step
        nodes, allowed = trie.nodes, self.grammar.mask(state[0]).bools
        # the tokens of the mask that end before each node: a subtree without any is skipped
        counted = np.cumsum(allowed[trie.token_ids])
        before = np.concatenate(([0], counted))[trie.first].tolist()
        path, node, visited = [state[1]], 0, 0
        while node < len(nodes):
            visited += 1
            if visited % _CLOCK_INTERVAL == 0:
                clock.check(_TOO_SLOW)
            byte, depth, after, ending = nodes[node]
            target = step(path[depth], byte) if before[after] > before[node] else None
            if target is None:
                node = after
                continue
            for token_id in ending:
                if allowed[token_id]:
                    yield token_id, (self.grammar.advance(state[0], token_id), target)
            del path[depth + 1 :]
            path.append(target)
            node += 1

    def _search(self, start: PairState, clock: Clock) -> bool:
        """Whether a text after a pair of states is accepted: a known end, or a search for one."""
        if (end := self._known_end(start)) is not None:
            self._mark_end({start: None}, start, end)
            return True
        is_spelled = len(self.vocabulary.single_bytes) == 256
        if is_spelled and self.grammar.can(Capability.BYTES_LEFT):
            return self._search_bytes(start, clock)
        return super()._search(start, clock)

    def _known_end(self, state: PairState) -> bytes | None:
        """A text known to complete the text read, without a search."""
        for end in self._known_ends(state):
            target = self._read(state[1], end)
            if target is not None and self.monitor.is_final(target):
                return end
        return None

    def _known_ends(self, state: PairState) -> Iterator[bytes]:
        """Texts that the grammar accepts after a state, and the monitor perhaps."""
        end = self.monitor.finish(state[1])
        if end is not None and self._accepts(state[0], end):
            yield end
        if (end := self._ends.get(state[0])) is not None:
            yield end

    def _read(self, state: State, text: bytes) -> State | None:
        """The monitor's state after a state and a text; None where it cannot be read."""
        for byte in text:
            if (state := self.monitor.step(state, byte)) is None:
                return None
        return state

    def _search_bytes(self, start: PairState, clock: Clock) -> bool:
        """Search byte by byte, where the grammar's end is nearest first, and cache the end found.

        Source: best-first search; the fewest bytes to the grammar's end are the estimate.
        """
        grammar = self.grammar
        parent: dict[PairState, tuple[PairState, int] | None] = {start: None}
        heap = [(0, 0, start)]
        while heap:
            _, _, state = heappop(heap)
            end = b"" if self.is_final(state) else self._known_end(state)
            if end is not None:
                self._mark_end(parent, state, end)
                return True
            if self._coaccessible.get(state):  # found before, by an end that is no longer known
                self._coaccessible[start] = True
                return True
            for byte in grammar.next_bytes(state[0]):
                target = self.monitor.step(state[1], byte)
                there = grammar.step_bytes(state[0], bytes((byte,))), target
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
        self, parent: dict[PairState, tuple[PairState, int] | None], state: PairState, end: bytes
    ) -> None:
        """Mark the states on the way to an end as co-accessible, and keep the ends of each."""
        if len(self._coaccessible) > self.limits.states:
            self._coaccessible.clear()
        if len(self._ends) > self.limits.rows:
            self._ends.clear()
        while True:
            self._coaccessible[state], self._ends[state[0]] = True, end
            step = parent[state]
            if step is None:
                return
            state, end = step[0], bytes((step[1],)) + end

    def _accepts(self, state: State, witness: bytes) -> bool:
        """Whether the grammar accepts a text after a state, in tokens of one byte; cached."""
        cached = self._witnesses.get((state, witness))
        if cached is None:
            if len(self._witnesses) > self.limits.rows:
                self._witnesses.clear()
            cached = self._witnesses[state, witness] = self._reads_bytes(state, witness)
        return cached

    def _reads_bytes(self, state: State, witness: bytes) -> bool:
        if not self.vocabulary.single_bytes.issuperset(witness):
            return False
        if self.grammar.can(Capability.BYTES):
            target = self.grammar.step_bytes(state, witness)
            return target is not None and self.grammar.is_final(target)
        try:
            for byte in witness:
                state = self.grammar.advance(state, self.vocabulary.ids_of[bytes((byte,))][0])
        except TokenNotAllowed:
            return False
        return self.grammar.is_final(state)

    def step_bytes(self, state: PairState, data: bytes) -> PairState | None:
        """The state after bytes, or None where no accepted text continues with them."""
        self.require(Capability.BYTES)
        inner = self.grammar.step_bytes(state[0], data)
        target = None if inner is None else self._read(state[1], data)
        if inner is None or target is None:
            return None
        return (inner, target) if self.is_coaccessible((inner, target)) else None

    def state_key(self, state: PairState) -> Hashable:
        """That of the grammar: names make the monitor's states new."""
        return self.grammar.state_key(state[0])

    @property
    def lacks(self) -> Mapping[Capability, Lack]:
        """Those of the grammar's machine, and what depends on the names in a text."""
        return {**self.grammar.lacks, **_UNCOUNTED}

    def why(self, text: bytes) -> str:
        return self.monitor.why(b"", text)


#: The pairs of one walk at most: a row of the table is 1 kB.
_MAX_PAIRS = 1 << 14
#: In the table of a walk: not computed yet; depends on the whole text.
_UNKNOWN, _ALONE = -2, -3


class _Walk:
    """The tokens that a grammar and a monitor read after a pair of states, by the pair after each.

    The walk visits the trie level by level. Pairs are numbered, and a step of a pair by a byte is
    computed once; a table gives it for all nodes with that pair. While a name is read
    (``ReadsNames``), the state of the monitor in a pair is that at the beginning of the name. Where
    a name begins or ends, nodes are visited one by one, and the monitor reads the whole text.

    So thousands of tokens lead to a few pairs, and one end of a text decides all tokens of a pair.

    Cost: a few array operations for each level of the trie, 3 to 5 µs for each step of a pair.
    """

    def __init__(self, joined: Monitored, start: PairState, clock: Clock) -> None:
        self.joined, self.grammar, self.monitor = joined, joined.grammar, joined.monitor
        self.start, self.clock = start, clock
        self.names = joined.monitor if isinstance(joined.monitor, ReadsNames) else None
        self.trie, self.tokens = joined.vocabulary.trie, joined.vocabulary.tokens
        self.pairs: list[PairState] = []
        self._numbers: dict[PairState, int] = {}
        #: For each state of the monitor the letters of a name, and the texts before the name.
        self._letters: dict[State, frozenset[int]] = {}
        self._before: dict[State, list[bytes]] = {}
        #: For a state of the monitor in a name and an end, the tokens that it may not complete.
        self._clashing: dict[tuple[State, bytes], set[TokenId] | None] = {}
        #: The pair after each pair and byte, or a negative number.
        self._table = np.full(256 * 16, _UNKNOWN, np.int32)

    def allowed(self) -> npt.NDArray[np.bool_] | None:
        """The tokens of the mask, without end tokens; None if there are too many pairs."""
        allowed, trie = self.grammar.mask(self.start[0]).bools.copy(), self.trie
        reached = self._visit(allowed)
        if len(self.pairs) > _MAX_PAIRS:
            return None
        ids = trie.token_ids[trie.first[0] :]
        ids = ids[allowed[ids]]
        after = reached[trie.end_nodes[ids]]
        allowed[:] = False
        decided = np.zeros(len(self.pairs) + 1, np.bool_)  # the last one is DEAD
        for number in np.flatnonzero(np.bincount(after[after >= 0])).tolist():
            pair = self.pairs[number]
            if self._letters[pair[1]]:
                self._decide_names(pair, ids[after == number], allowed)
            else:
                decided[number] = self.joined._is_coaccessible(pair, self.clock)
        allowed[ids[decided[after]]] = True
        return allowed

    def _visit(self, allowed: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
        """The pair after each node on the way to an allowed token, or ``DEAD``."""
        trie = self.trie
        reached = np.full(len(trie) + 1, DEAD, np.int32)
        reached[-1] = self._begin(self.start, b"")
        counted = np.zeros(len(trie.token_ids) + 1, np.int32)
        np.cumsum(allowed[trie.token_ids], out=counted[1:])
        counted = counted[trie.first]
        nodes, parents, begins = trie.by_level
        needed = np.flatnonzero((counted[trie.skip] > counted[:-1])[nodes])
        for begin, end in pairwise(np.searchsorted(needed, begins).tolist()):
            self.clock.check(_TOO_SLOW)
            level = needed[begin:end]
            level = level[reached[parents[level]] >= 0]
            if not len(level) or len(self.pairs) > _MAX_PAIRS:
                break
            self._visit_level(nodes[level], reached[parents[level]], reached)
        return reached

    def _visit_level(
        self,
        nodes: npt.NDArray[np.int32],
        before: npt.NDArray[np.int32],
        reached: npt.NDArray[np.int32],
    ) -> None:
        """Visit nodes of one depth, with the pairs before them."""
        targets = self._after(before, nodes)
        for index in np.flatnonzero(targets == _ALONE).tolist():
            targets[index] = self._alone(int(before[index]), int(nodes[index]))
        reached[nodes] = targets

    def _after(
        self, before: npt.NDArray[np.int32], nodes: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.int32]:
        """The pairs after pairs and the bytes of nodes."""
        keys = before.astype(np.int64) * 256 + self.trie.byte[nodes]
        unknown = keys[self._table[keys] == _UNKNOWN]
        for key in np.unique(unknown).tolist():
            target = self._step(*divmod(key, 256))
            self._table[key] = target
            if len(self.pairs) > _MAX_PAIRS:
                break
        pairs: npt.NDArray[np.int32] = self._table[keys]
        return pairs

    def _step(self, number: int, byte: int) -> int:
        """The pair after a pair and a byte, ``DEAD`` or ``_ALONE``."""
        grammar_state, state = self.pairs[number]
        inner = self.grammar.step_bytes(grammar_state, bytes((byte,)))
        if inner is None:
            return DEAD
        if letters := self._letters[state]:
            return self._number((inner, state)) if byte in letters else _ALONE
        target = self.monitor.step(state, byte)
        if target is None:
            return DEAD
        return _ALONE if self._letters_of(target) else self._number((inner, target))

    def _alone(self, number: int, node: int) -> int:
        """The pair after a node at which a name begins or ends, or ``DEAD``."""
        text = self._text(self.trie.token_ids[self.trie.first[node]])[: self.trie.depth[node] + 1]
        target = self.joined._read(self.start[1], text)
        if target is None:
            return DEAD
        inner = self.grammar.step_bytes(self.pairs[number][0], text[-1:])
        return self._begin((inner, target), text)

    def _begin(self, pair: PairState, text: bytes) -> int:
        """The number of a pair after a text, which may be that before a name."""
        if self._letters_of(pair[1]):
            self._before.setdefault(pair[1], []).append(text)
        return self._number(pair)

    def _number(self, pair: PairState) -> int:
        number = self._numbers.setdefault(pair, len(self.pairs))
        if number == len(self.pairs):
            self.pairs.append(pair)
            self._letters_of(pair[1])
            if 256 * len(self.pairs) > len(self._table):
                more = np.full(len(self._table), _UNKNOWN, np.int32)
                self._table = np.append(self._table, more)
        return number

    def _letters_of(self, state: State) -> frozenset[int]:
        letters = self._letters.get(state)
        if letters is None:
            letters = self.names.letters(state) if self.names else frozenset()
            self._letters[state] = letters
        return letters

    def _text(self, token_id: TokenId) -> bytes:
        return self.tokens[token_id] or b""

    def _decide_names(
        self, pair: PairState, ids: npt.NDArray[np.int32], allowed: npt.NDArray[np.bool_]
    ) -> None:
        """Decide the tokens that end in a name, with the grammar's state after them in ``pair``.

        One by one until an end is known that completes all names but some.
        """
        tried: set[bytes] = set()
        for index, token_id in enumerate(map(int, ids)):
            exceptions = self._exceptions(pair, tried)
            if exceptions is None:
                allowed[token_id] = self._is_allowed(token_id)
                continue
            allowed[ids[index:]] = True
            for exception in exceptions:
                if allowed[exception]:
                    allowed[exception] = self._is_allowed(exception)
            return

    def _exceptions(self, pair: PairState, tried: set[bytes]) -> set[TokenId] | None:
        """The tokens after which a known end may not complete a name; None without such an end."""
        for end in self.joined._known_ends(pair):
            if end in tried:
                continue
            tried.add(end)
            key = pair[1], end
            if key not in self._clashing:
                assert self.names is not None, "the pair has letters"
                rests = self.names.clashes(*key)
                self._clashing[key] = None if rests is None else self._tokens(pair[1], rests)
            if (cached := self._clashing[key]) is not None:
                return cached
        return None

    def _tokens(self, state: State, rests: Collection[bytes]) -> set[TokenId]:
        """The tokens that continue names, begun in a state of the monitor, with some texts."""
        token_ids, sorted_ids = set(), self.trie.token_ids
        for text in (before + rest for before in self._before[state] for rest in rests):
            index = bisect_left(sorted_ids, text, key=self._text)
            while index < len(sorted_ids) and self._text(sorted_ids[index]) == text:
                token_ids.add(int(sorted_ids[index]))
                index += 1
        return token_ids

    def _is_allowed(self, token_id: TokenId) -> bool:
        """Whether one token that ends in a name is allowed."""
        text = self._text(token_id)
        there = self.grammar.step_bytes(self.start[0], text), self.joined._read(self.start[1], text)
        return self.joined._is_coaccessible(there, self.clock)
