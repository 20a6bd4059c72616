"""The method ``xgrammar``: masks cached by position, and tokens left for the stack to decide.

A position of a push-down automaton is its state without the stack. From a position most tokens are
*context-independent*: they are read inside the rule and the rules it calls, or they cannot be read
whatever the stack is. The others are *context-dependent*: they continue after the end of the rule,
where the return states below decide. For each position the cache keeps the first kind in the
smallest of three forms, and the ids of the second kind. A step unites the entries of the current
positions and reads only their context-dependent tokens with the whole stack.

A token that leaves the rule is also read with every return state that the rule can have, and again
below those. If none of them reads it, the token is forbidden in advance (xgrammar calls this
context expansion). So an entry keeps as dependent only what at least one caller may read.

xgrammar reads the tokens of a step in sorted order and goes back to a common prefix. Here
the runner caches the steps of its situations, so a common prefix is read once too. An entry is made
on the first visit; ``precompute`` makes all of them, as xgrammar does when it compiles.

Source: Dong et al. 2024 (XGrammar), §3.1 and §3.2.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import DEAD, State
from workbench.base.limits import LIMITS, Limits, check_time_budget, time_budget
from workbench.base.locks import WorkLock
from workbench.constraint.masks import TokenMask, pack, set_bits
from workbench.constraint.methods.lalr import refuse_empty_language
from workbench.constraint.methods.recogniser import forced
from workbench.constraint.token_by_token import Precomputed, TokenByToken
from workbench.constraint.token_machine import CachedMasks
from workbench.grammar.grammar import Grammar
from workbench.pushdown.build import network_of
from workbench.pushdown.network import Network
from workbench.pushdown.runner import RenewingRunner, Runner
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

Ids = npt.NDArray[np.int32]


class Storage(StrEnum):
    """What an entry stores of its context-independent tokens."""

    #: The rejected ids: most tokens are accepted, as inside a string.
    ACCEPT_HEAVY = "accept-heavy"
    #: The accepted ids: most tokens are rejected, as between values.
    REJECT_HEAVY = "reject-heavy"
    #: One bit for each token.
    BITSET = "bitset"


@dataclass(frozen=True, eq=False)
class CacheEntry:
    """The tokens of one position: accepted, rejected, and context-dependent."""

    accepted: Ids
    rejected: Ids
    dependent: Ids
    #: V, the vocabulary's size.
    size: int

    @property
    def storage(self) -> Storage:
        """The form with the fewest bytes."""
        return min(Storage, key=self._bytes_of)

    def _bytes_of(self, storage: Storage) -> int:
        match storage:
            case Storage.ACCEPT_HEAVY:
                return self.rejected.nbytes
            case Storage.REJECT_HEAVY:
                return self.accepted.nbytes
        return 4 * ((self.size + 31) // 32)

    @property
    def bytes(self) -> int:
        """The bytes of the stored form and of the context-dependent ids."""
        return self._bytes_of(self.storage) + self.dependent.nbytes


#: A state, the return states pushed since the position, the innermost last, and whether only these
#: are below it: False after a return that the position does not know.
Local = tuple[State, tuple[State, ...], bool]


class Positions:
    """Reads tokens from a position, without its stack."""

    def __init__(self, network: Network, vocabulary: Vocabulary, limits: Limits) -> None:
        self._network, self._vocabulary, self._limits = network, vocabulary, limits
        self._classes: list[int] = network.byte_classes.tolist()
        self._steps: dict[tuple[frozenset[Local], int], frozenset[Local]] = {}

    def step(self, configurations: frozenset[Local], byte: int) -> frozenset[Local]:
        """The local configurations after a byte.

        Raises: LimitError past ``limits.configurations``.
        """
        key = configurations, self._classes[byte]
        cached = self._steps.get(key)
        if cached is None:
            cached = self._steps[key] = frozenset(self._step_configurations(configurations, key[1]))
            self._limits.check(
                "configurations", len(cached), "the grammar is too ambiguous for a cache"
            )
        return cached

    def _step_configurations(
        self, configurations: frozenset[Local], byte_class: int
    ) -> Iterator[Local]:
        queue, seen, network = deque(configurations), set(configurations), self._network
        while queue:
            state, pushed, inside = queue.popleft()
            for target, calls in network.moves(state, byte_class):
                yield target, pushed + calls, inside
            if network.finals[state]:
                returned: list[Local] = (
                    [(pushed[-1], pushed[:-1], inside)]
                    if pushed
                    else [(back, (), False) for back in network.returns[network.owner[state]]]
                )
                queue.extend(local for local in returned if local not in seen)
                seen.update(returned)

    def entry(self, position: State) -> CacheEntry:
        """Classify every token by one walk of the trie."""
        trie, clock = self._vocabulary.trie, self._limits.clock()
        accepted, dependent = list[int](), list[int]()
        path = [frozenset({(position, (), True)})] + [frozenset[Local]()] * trie.height
        byte, depth, skip = trie.byte, trie.depth, trie.skip
        node = 0
        while node < len(trie):
            clock.check()
            level = int(depth[node])
            there = self.step(path[level], int(byte[node]))
            if not there:
                node = int(skip[node])
                continue
            path[level + 1] = there
            ids = trie.token_ids[trie.first[node] : trie.first[node + 1]].tolist()
            (accepted if any(inside for _, _, inside in there) else dependent).extend(ids)
            node += 1
        return self._entry_of(accepted, dependent)

    def _entry_of(self, accepted: list[int], dependent: list[int]) -> CacheEntry:
        rejected = np.array([t is not None for t in self._vocabulary.tokens], np.bool_)
        rejected[[*accepted, *dependent, *self._vocabulary.ends]] = False
        return CacheEntry(
            np.array(sorted(accepted), np.int32),
            np.flatnonzero(rejected).astype(np.int32),
            np.array(sorted(dependent), np.int32),
            len(self._vocabulary),
        )


class AdaptiveCacheConstraint(CachedMasks, TokenByToken[State]):
    """A grammar by its push-down automaton and a cache of tokens for each position.

    A state is a set of the automaton's configurations, as a number of a ``RenewingRunner``. The
    masks are those of the exact engine if every byte is a token; otherwise every text read can be
    completed by bytes.

    Raises: LimitError where the grammar is too ambiguous, or the stack too deep; VocabularyError
            for an empty language.
    """

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, limits: Limits = LIMITS) -> None:
        refuse_empty_language(grammar, vocabulary)
        self.vocabulary, self.limits = vocabulary, limits
        self.network = _network(grammar)
        self._runner = RenewingRunner(self.network, limits, lambda: None)
        self._positions = Positions(self.network, vocabulary, limits)
        self._entries: dict[State, CacheEntry] = {}
        self._lock = WorkLock()

    @property
    def initial(self) -> State:
        return self._runner.initial

    def entry(self, position: State) -> CacheEntry:
        """The cached tokens of a position."""
        with self._lock:
            cached = self._entries.get(position)
            if cached is None:
                cached = self._entries[position] = self._positions.entry(position)
        return cached

    def positions(self, state: State) -> tuple[State, ...]:
        """The positions of a state: the tops of its configurations."""
        with self._lock:
            configurations = self._runner.read(state, Runner.configurations)
        return tuple(sorted({top for top, _ in configurations}))

    def precompute(self) -> Precomputed:
        """Make the entries of all positions."""
        entries = [self.entry(position) for position in range(len(self.network))]
        return Precomputed(len(entries), sum(entry.bytes for entry in entries))

    def undecided(self, state: State) -> tuple[TokenId, ...]:
        """The tokens of a state that only the stack decides, sorted."""
        entries = [self.entry(position) for position in self.positions(state)]
        accepted = {i for entry in entries for i in entry.accepted.tolist()}
        dependent = {i for entry in entries for i in entry.dependent.tolist()}
        return tuple(sorted(dependent - accepted))

    def _mask(self, state: State) -> TokenMask:
        allowed = np.zeros(len(self.vocabulary), np.bool_)
        with time_budget(self.limits.seconds):
            for position in self.positions(state):
                allowed[self.entry(position).accepted] = True
            for token_id in self.undecided(state):
                check_time_budget()
                allowed[token_id] = self.target(state, token_id) is not None
        bits = pack(allowed)
        set_bits(bits, self.vocabulary.ends, allowed=self.is_final(state))
        return TokenMask(bits, len(self.vocabulary))

    def target(self, state: State, token_id: TokenId) -> State | None:
        token = self.bytes_of(token_id)
        if token is None:
            return None
        with self._lock:
            target = self._runner.run(token, state)
        return None if target == DEAD else target

    def step(self, state: State, byte: int) -> State | None:
        """The state after a byte, or None where no accepted text continues with it."""
        with self._lock:
            target = self._runner.run(bytes((byte,)), state)
        return None if target == DEAD else target

    def is_final(self, state: State) -> bool:
        with self._lock:
            return self._runner.read(state, Runner.is_final)

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        return forced(self, state, most, self.limits.clock())


def _network(grammar: Grammar) -> Network:
    """The push-down automaton of a grammar; of a regular one a network without calls."""
    if isinstance(grammar.reader, Network):
        return grammar.reader
    dfa = grammar.dfa
    assert dfa is not None, "a reader that is no network reads a regular language"
    return network_of(dfa)
