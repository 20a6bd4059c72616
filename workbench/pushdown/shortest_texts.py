"""Shortest texts that reach each state of a network, and the returns possible at the end of a rule.

Also the fewest bytes from each state to the end of its rule. Computed by Dijkstra's algorithm over
the states and rules, not by enumerating texts, so distant states cost no more than near ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush

import numpy as np

from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, State
from workbench.base.limits import LIMITS, Limits
from workbench.pushdown.network import CALLS, Network

#: The sort key of a text, and the text.
_Ranked = tuple[tuple[int, bytes], bytes]

#: The most chains of returns that end in one state: two show whether a chain is the only one.
_MAX_CHAINS = 2


@dataclass(frozen=True, slots=True)
class WayBack:
    """A chain of returns: the states popped, the innermost first, if rules end at one position."""

    chain: tuple[State, ...]
    #: The text between the start of the outermost of these rules and the start of the innermost.
    text: bytes


class Shortest:
    """The shortest texts of a network.

    Raises: LimitError above ``limits.seconds``.
    Source: Knuth 1977, "A generalization of Dijkstra's algorithm", over the rules.
    """

    def __init__(self, network: Network, limits: Limits = LIMITS) -> None:
        self.network = network
        self.clock = limits.clock()
        self._edges: dict[State, tuple[tuple[int, State], ...]] = {}
        self._waits = [network.all_wait or bool(on) for on in network.goes_on]
        #: The shortest non-empty text of each rule.
        self.words: dict[int, bytes] = {}
        #: For each state the shortest text from the start of its rule.
        self.inside: dict[State, bytes] = {}
        #: The same, but non-empty: an initial state may be reached again.
        self.arrived: dict[State, bytes] = {}
        self._read()
        #: For each rule the shortest text before it can begin.
        self.before: dict[int, bytes] = self._spread(network.start, waiting=True)
        self._chains: dict[int, list[WayBack]] = {}

    @cached_property
    def columns(self) -> dict[int, tuple[int, ...]]:
        """The bytes of each column of the table, without those of calls, most readable first."""
        bytes_of: dict[int, list[int]] = {}
        for byte in sorted(range(CALLS), key=_readable):
            bytes_of.setdefault(int(self.network.classes[byte]), []).append(byte)
        return {column: tuple(members) for column, members in bytes_of.items()}

    def edges(self, state: State) -> tuple[tuple[int, State], ...]:
        """The byte columns in which a state has an edge, with the targets, most readable first."""
        cached = self._edges.get(state)
        if cached is None:
            row = self.network.table[state].tolist()
            cached = tuple((column, row[column]) for column in self.columns if row[column] != DEAD)
            self._edges[state] = cached
        return cached

    def to(self, state: State) -> bytes | None:
        """The shortest text that leads to a state, or None.

        None also for an initial state that is only entered by calls: after the text the current
        state is that of the caller.
        """
        inside = b"" if state == self.network.initial else self.arrived.get(state)
        before = self.before.get(int(self.network.owner[state]))
        return None if inside is None or before is None else before + inside

    def _read(self) -> None:
        """Fill ``inside`` and ``words``, shortest texts first."""
        network = self.network
        heap: list[tuple[_Ranked, bool, int]] = []
        callers: dict[int, list[tuple[State, State]]] = {}

        def arrive(text: bytes, state: State) -> None:
            heappush(heap, (_rank_key(text), False, state))
            if network.finals[state]:
                heappush(heap, (_rank_key(text), True, int(network.owner[state])))

        for initial in network.initials:
            heappush(heap, (_rank_key(b""), False, initial))
        while heap:
            self.clock.check()
            (_, text), is_word, item = heappop(heap)  # the item is a rule or a state
            texts = self.words if is_word else self.inside
            if text and not is_word:
                self.arrived.setdefault(item, text)
            if item in texts:
                continue
            texts[item] = text
            if is_word:
                for state, target in callers.get(item, ()):
                    arrive(self.inside[state] + text, target)
                continue
            for column, target in self.edges(item):
                arrive(text + bytes(self.columns[column][:1]), target)
            for rule, target in network.calling[item]:
                callers.setdefault(rule, []).append((item, target))
                if rule in self.words:
                    arrive(text + self.words[rule], target)

    def _spread(self, first: int, *, waiting: bool) -> dict[int, bytes]:
        """The shortest texts from the start of a rule to the start of the rules it calls.

        Without ``waiting`` only through tail calls, which push no return state.
        """
        texts: dict[int, bytes] = {}
        heap: list[tuple[_Ranked, int]] = [(_rank_key(b""), first)]
        while heap:
            self.clock.check()
            (_, text), rule = heappop(heap)
            if rule in texts:
                continue
            texts[rule] = text
            for state, called, target in self._calls[rule]:
                if waiting or not self._waits[target]:
                    longer = text + self.inside[state]
                    heappush(heap, (_rank_key(longer), called))
        return texts

    @cached_property
    def _calls(self) -> list[list[tuple[State, int, State]]]:
        """For each rule its calls: the calling state, the called rule, the state to return to."""
        calls: list[list[tuple[State, int, State]]] = [[] for _ in self.network.names]
        for state, edges in enumerate(self.network.calling):
            if state in self.inside:
                for rule, target in edges:
                    calls[self.network.owner[state]].append((state, rule, target))
        return calls

    @cached_property
    def _rules_above(self) -> dict[State, dict[int, bytes]]:
        """For each return state the rules that can end directly above it on the stack.

        With the shortest text from the start of the rule of the return state to their start.
        """

        @cache
        def by_tail_calls(rule: int) -> dict[int, bytes]:
            return self._spread(rule, waiting=False)

        rules_above: dict[State, dict[int, bytes]] = {}
        for calls in self._calls:
            for state, called, target in calls:
                if self._waits[target]:
                    for rule, text in by_tail_calls(called).items():
                        longer = self.inside[state] + text
                        shorter = rules_above.setdefault(target, {}).get(rule)
                        if shorter is None or rank(longer) < rank(shorter):
                            rules_above[target][rule] = longer
        return rules_above

    def ways_back(self, rule: int) -> list[WayBack]:
        """The chains of returns possible at the end of a rule, shortest texts first.

        The last state of a chain is the current state after these returns; at most two chains end
        in the same state.
        """
        if rule not in self._chains:
            self._chains[rule] = list(self._return_chains(rule))
        return self._chains[rule]

    def _return_chains(self, rule: int) -> Iterator[WayBack]:
        network = self.network
        times: dict[State, int] = {}
        heap: list[tuple[_Ranked, tuple[State, ...], int]] = [(_rank_key(b""), (), rule)]
        while heap:
            self.clock.check()
            (_, text), chain, ended = heappop(heap)
            if chain:
                times[chain[-1]] = times.get(chain[-1], 0) + 1
                if times[chain[-1]] > _MAX_CHAINS:
                    continue
                yield WayBack(chain, text)
                if not network.finals[chain[-1]]:
                    continue
            for state in network.returns[ended]:
                repeated = chain and state == chain[-1] and network.stars[state]
                between = self._rules_above.get(state, {}).get(ended)
                if between is not None and not repeated:
                    longer = between + text
                    owner = int(network.owner[state])
                    heappush(heap, (_rank_key(longer), (*chain, state), owner))


#: A distance for states that cannot reach an end.
UNREACHABLE = 1 << 40


def distances_to_end(network: Network, limits: Limits) -> list[int]:
    """For each state the fewest bytes to the end of its rule.

    Source: Knuth 1977, "A generalization of Dijkstra's algorithm", backwards from the ends.
    """
    clock = limits.clock()
    before: defaultdict[State, set[State]] = defaultdict(set)
    reading = np.unique(network.classes[:CALLS])
    for column in reading.tolist():
        clock.check()
        targets = network.table[:, column]
        for state in np.flatnonzero(targets != DEAD).tolist():
            before[int(targets[state])].add(state)
    calls_to: defaultdict[State, list[tuple[State, int]]] = defaultdict(list)
    calls_of: defaultdict[int, list[tuple[State, State]]] = defaultdict(list)
    for state, calls in enumerate(network.calling):
        for rule, target in calls:
            calls_to[target].append((state, rule))
            calls_of[rule].append((state, target))
    rule_of = {initial: rule for rule, initial in enumerate(network.initials)}
    rest = [UNREACHABLE] * len(network)
    heap: list[tuple[int, State]] = [(0, s) for s in np.flatnonzero(network.finals).tolist()]
    least: dict[int, int] = {}
    while heap:
        clock.check()
        cost, state = heappop(heap)
        if rest[state] <= cost:
            continue
        rest[state] = cost
        for source in before[state]:
            heappush(heap, (cost + 1, source))
        for source, rule in calls_to[state]:
            if rule in least:
                heappush(heap, (cost + least[rule], source))
        if state in rule_of:
            least[rule_of[state]] = cost
            for source, target in calls_of[rule_of[state]]:
                if rest[target] < UNREACHABLE:
                    heappush(heap, (cost + rest[target], source))
    return rest


def _readable(byte: int) -> tuple[int, int]:
    """Small letters, digits, capitals, punctuation, the space, control characters, other bytes."""
    character = chr(byte)
    if byte >= 0x80:
        return 6, byte
    ranks = (character.islower(), character.isdigit(), character.isupper(), 0x20 < byte < 0x7F)
    return ranks.index(True) if True in ranks else 4 + (byte != 0x20), byte


#: All bytes, the most readable first, and the index of each byte in this order.
_ORDER: list[int] = sorted(range(CALLS), key=_readable)
_BYTES = bytes(_ORDER)
_INDICES = bytes(_BYTES.index(byte) for byte in range(CALLS))


def rank(text: bytes) -> tuple[int, bytes]:
    """The sort key of a text: shorter texts first, then more readable ones."""
    return len(text), text.translate(_INDICES)


def unranked(order: tuple[int, bytes]) -> bytes:
    """The text of a rank."""
    return order[1].translate(_BYTES)


def _rank_key(text: bytes) -> _Ranked:
    return rank(text), text
