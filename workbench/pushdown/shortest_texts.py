"""Shortest texts that reach each state of a network.

For every state the shortest text after which the machine can stand there, and for every rule
the ways its end can lead back into callers. Nothing is searched text by text, so deep places
cost no more than near ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from heapq import heappop, heappush

from workbench.base.dfa import DEAD, State
from workbench.base.limits import LIMITS, Limits
from workbench.pushdown.network import CALLS, Network

#: What a text is sorted by, and the text.
_Ranked = tuple[tuple[int, bytes], bytes]

#: So many ways back to one state are told apart: two show whether the way is the only one.
_WAYS = 2


@dataclass(frozen=True, slots=True)
class WayBack:
    """Return states taken off the stack, the innermost first, when rules end one after another."""

    chain: tuple[State, ...]
    #: What was read since the outermost of these rules began, before the innermost one began.
    text: bytes


class Shortest:
    """The shortest texts of a network.

    Raises: LimitError past ``limits.seconds``.
    Source: Knuth 1977, "A generalization of Dijkstra's algorithm", over the rules.
    """

    def __init__(self, network: Network, limits: Limits = LIMITS) -> None:
        self.network = network
        self.clock = limits.clock()
        self._edges: dict[State, tuple[tuple[int, State], ...]] = {}
        self._waits = [network.all_wait or bool(on) for on in network.goes_on]
        #: The shortest text of each rule that is not empty.
        self.words: dict[int, bytes] = {}
        #: For each state the shortest text from the beginning of its rule.
        self.inside: dict[State, bytes] = {}
        #: The same where something has been read: also first states can be met again.
        self.arrived: dict[State, bytes] = {}
        self._read()
        #: For each rule the shortest text before it can begin.
        self.before: dict[int, bytes] = self._entered()
        self._ways: dict[int, list[WayBack]] = {}

    @cached_property
    def columns(self) -> dict[int, tuple[int, ...]]:
        """The bytes of each column of the table that stands for bytes, the most readable first."""
        found: dict[int, list[int]] = {}
        for byte in sorted(range(CALLS), key=_readable):
            found.setdefault(int(self.network.classes[byte]), []).append(byte)
        return {column: tuple(members) for column, members in found.items()}

    def edges(self, state: State) -> tuple[tuple[int, State], ...]:
        """The columns a state reads bytes by, with where they lead, the most readable first."""
        known = self._edges.get(state)
        if known is None:
            row = self.network.table[state].tolist()
            known = tuple((column, row[column]) for column in self.columns if row[column] != DEAD)
            self._edges[state] = known
        return known

    def to(self, state: State) -> bytes | None:
        """The shortest text after which the machine can stand in a state; None: there is none.

        A first state that is only ever a beginning is no place: its caller is.
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
            heappush(heap, (_ranked(text), False, state))
            if network.finals[state]:
                heappush(heap, (_ranked(text), True, int(network.owner[state])))

        for initial in network.initials:
            heappush(heap, (_ranked(b""), False, initial))
        while heap:
            self.clock.check()
            (_, text), is_word, place = heappop(heap)
            known = self.words if is_word else self.inside
            if text and not is_word:
                self.arrived.setdefault(place, text)
            if place in known:
                continue
            known[place] = text
            if is_word:
                for state, target in callers.get(place, ()):
                    arrive(self.inside[state] + text, target)
                continue
            for column, target in self.edges(place):
                arrive(text + bytes(self.columns[column][:1]), target)
            for rule, target in network.calling[place]:
                callers.setdefault(rule, []).append((place, target))
                if rule in self.words:
                    arrive(text + self.words[rule], target)

    def _entered(self) -> dict[int, bytes]:
        return self._spread(self.network.start, waiting=True)

    def _spread(self, first: int, *, waiting: bool) -> dict[int, bytes]:
        """The shortest texts from the beginning of a rule to the beginning of others it calls.

        Without ``waiting`` only through calls after which the caller has nothing left.
        """
        found: dict[int, bytes] = {}
        heap: list[tuple[_Ranked, int]] = [(_ranked(b""), first)]
        while heap:
            self.clock.check()
            (_, text), rule = heappop(heap)
            if rule in found:
                continue
            found[rule] = text
            for state, called, target in self._calls[rule]:
                if waiting or not self._waits[target]:
                    longer = text + self.inside[state]
                    heappush(heap, (_ranked(longer), called))
        return found

    @cached_property
    def _calls(self) -> list[list[tuple[State, int, State]]]:
        """For each rule its calls: where, of what, returning to."""
        found: list[list[tuple[State, int, State]]] = [[] for _ in self.network.names]
        for state, edges in enumerate(self.network.calling):
            if state in self.inside:
                for rule, target in edges:
                    found[self.network.owner[state]].append((state, rule, target))
        return found

    @cached_property
    def _handed_on(self) -> dict[State, dict[int, bytes]]:
        """For each return state the rules that can end right above it.

        With the shortest text from the beginning of its own rule to their beginning.
        """

        @cache
        def in_place(rule: int) -> dict[int, bytes]:
            return self._spread(rule, waiting=False)

        found: dict[State, dict[int, bytes]] = {}
        for calls in self._calls:
            for state, called, target in calls:
                if self._waits[target]:
                    for rule, text in in_place(called).items():
                        longer = self.inside[state] + text
                        shorter = found.setdefault(target, {}).get(rule)
                        if shorter is None or rank(longer) < rank(shorter):
                            found[target][rule] = longer
        return found

    def ways_back(self, rule: int) -> list[WayBack]:
        """Where the end of a rule can lead, ends of its callers included, shortest first.

        The last state of a chain is where the machine stands then; each comes at most twice.
        """
        if rule not in self._ways:
            self._ways[rule] = list(self._found_back(rule))
        return self._ways[rule]

    def _found_back(self, rule: int) -> Iterator[WayBack]:
        network = self.network
        times: dict[State, int] = {}
        heap: list[tuple[_Ranked, tuple[State, ...], int]] = [(_ranked(b""), (), rule)]
        while heap:
            self.clock.check()
            (_, text), chain, ended = heappop(heap)
            if chain:
                times[chain[-1]] = times.get(chain[-1], 0) + 1
                if times[chain[-1]] > _WAYS:
                    continue
                yield WayBack(chain, text)
                if not network.finals[chain[-1]]:
                    continue
            for state in network.returns[ended]:
                repeated = chain and state == chain[-1] and network.stars[state]
                between = self._handed_on.get(state, {}).get(ended)
                if between is not None and not repeated:
                    longer = between + text
                    owner = int(network.owner[state])
                    heappush(heap, (_ranked(longer), (*chain, state), owner))


def _readable(byte: int) -> tuple[int, int]:
    """Small letters, digits, capitals, signs, the space, then what has no sign of its own."""
    character = chr(byte)
    if byte >= 0x80:
        return 6, byte
    ranks = (character.islower(), character.isdigit(), character.isupper(), 0x20 < byte < 0x7F)
    return ranks.index(True) if True in ranks else 4 + (byte != 0x20), byte


#: All bytes, the most readable first, and the place of each among them.
_ORDER: list[int] = sorted(range(CALLS), key=_readable)
_BYTES = bytes(_ORDER)
_PLACES = bytes(_BYTES.index(byte) for byte in range(CALLS))


def rank(text: bytes) -> tuple[int, bytes]:
    """What texts are sorted by: shorter ones first, of the same length the more readable."""
    return len(text), text.translate(_PLACES)


def unranked(order: tuple[int, bytes]) -> bytes:
    """The text of a rank."""
    return order[1].translate(_BYTES)


def _ranked(text: bytes) -> _Ranked:
    return rank(text), text
