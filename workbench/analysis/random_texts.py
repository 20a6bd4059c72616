"""Draws accepted texts at random, and texts that just miss a grammar.

Every step is one after which the text can still be finished within the length that is left, so
that a walk always ends, however the rules call each other.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from random import Random

import numpy as np

from workbench.automata.code_points import character_edges
from workbench.automata.draw_texts import PathCounts, character, is_readable
from workbench.automata.lazy_dfa import LazyDfa
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.grammar.grammar import Grammar
from workbench.pushdown.build import network_of
from workbench.pushdown.network import CALLS, Network
from workbench.syntax.ranges import Ranges

#: How often a walk stops where it might also go on: a whole text, and a rule inside it.
_STOPS, _RETURNS = 0.2, 0.35
#: After so many calls and returns without a character whatever may end does: rules that read
#: nothing could call each other for ever.
_IDLE = 40
#: How often a rule is called beside characters that could be read: there is more to see in it.
_CALLS = 2.0
#: How often a character of no keyboard is chosen beside others.
_EXOTIC = 0.1
#: More than any text has.
_ENDLESS = 1 << 40


@dataclass(frozen=True, slots=True)
class _Way:
    """A way on from a place: characters to read, or a rule to call, and the state after it."""

    ranges: Ranges
    entry: State
    target: State
    #: The fewest bytes from here to the end of the rule.
    cost: int
    weight: float
    #: The sets are bytes, for what is no whole character.
    raw: bool = False


class Wander:
    """Random walks through a machine.

    Raises: LimitError where the way to the end of each state is not found in time.
    """

    def __init__(self, machine: Dfa | LazyDfa | Network, limits: Limits = LIMITS) -> None:
        self._clock = limits.clock()
        self._ground: _OfNetwork | _OfSets
        if isinstance(machine, LazyDfa):
            self._ground = _OfSets(machine)
        else:
            network = machine if isinstance(machine, Network) else network_of(machine)
            self._ground = _OfNetwork(network, limits)
        self._ways: dict[State, list[_Way]] = {}
        nearest = self._ground.rest(self._ground.initial)
        #: The bytes of a shortest text; None where there is no text.
        self.shortest = nearest if nearest < _ENDLESS else None

    def draw(self, random: Random, longest: int) -> bytes:
        """A text of at most ``longest`` bytes, or as few as there must be.

        Among the ways a state has each set of characters is taken with equal chance and each call
        with twice that; characters outside ASCII are rare where there are others.
        """
        ground = self._ground
        assert self.shortest is not None, "there is a text to draw"
        most = max(self.shortest, longest)
        text, due = bytearray(), 0
        waiting: list[State] = []
        state, idle = ground.initial, 0
        while True:
            self._clock.check()
            idle += 1
            left = most - len(text) - due
            ways = [way for way in self._ways_of(state) if way.cost <= left]
            chance = (_RETURNS if waiting else _STOPS) if ways and idle < _IDLE else 1.0
            if ground.is_final(state) and random.random() < chance:
                if not waiting:
                    return bytes(text)
                state = waiting.pop()
                due -= ground.rest(state)
                continue
            way = random.choices(ways, [way.weight for way in ways])[0]
            if way.entry >= 0:
                waiting.append(way.target)
                due += ground.rest(way.target)
                state = way.entry
            else:
                text += self._read(way, random, left - ground.rest(way.target))
                state, idle = way.target, 0

    def _read(self, way: _Way, random: Random, room: int) -> bytes:
        if way.raw:
            return bytes([random.randint(*random.choice(way.ranges))])
        read = character(way.ranges, random).encode()
        if len(read) > room:  # a shorter one is there: its cost was looked at
            read = chr(way.ranges[0][0]).encode()
        return read

    def _ways_of(self, state: State) -> list[_Way]:
        known = self._ways.get(state)
        if known is None:
            known = self._ways[state] = self._found(state)
        return known

    def _found(self, state: State) -> list[_Way]:
        ground = self._ground
        ways = [
            _Way((), entry, target, ground.rest(entry) + ground.rest(target), _CALLS)
            for entry, target in ground.calls(state)
        ]
        for ranges, target in character_edges(ground.step, state, ground.classes):
            cost = len(chr(ranges[0][0]).encode()) + ground.rest(target)
            ways.append(_Way(ranges, -1, target, cost, 1.0 if is_readable(ranges) else _EXOTIC))
        if all(way.cost > ground.rest(state) for way in ways):
            # the shortest way leads through bytes that are no character
            ways += [
                _Way(((byte, byte),), -1, target, 1 + ground.rest(target), _EXOTIC, raw=True)
                for byte in range(CALLS)
                if (target := ground.step(state, byte)) != DEAD
            ]
        return [way for way in ways if way.cost < _ENDLESS]


class _OfNetwork:
    """The states of a network, and how far each is from the end of its rule.

    Source: Knuth 1977, "A generalization of Dijkstra's algorithm", backwards from the ends.
    """

    def __init__(self, network: Network, limits: Limits) -> None:
        self._network = network
        self.initial = network.initial
        self.classes = network.classes[:CALLS]
        self._rest = rests(network, limits)

    def step(self, state: State, byte: int) -> State:
        return int(self._network.table[state, self._network.classes[byte]])

    def is_final(self, state: State) -> bool:
        return bool(self._network.finals[state])

    def rest(self, state: State) -> int:
        return self._rest[state]

    def calls(self, state: State) -> list[tuple[State, State]]:
        initials = self._network.initials
        return [(initials[rule], target) for rule, target in self._network.calling[state]]


def rests(network: Network, limits: Limits) -> list[int]:
    """For each state the fewest bytes to the end of its rule."""
    clock = limits.clock()
    before: defaultdict[State, set[State]] = defaultdict(set)
    reading = np.unique(network.classes[:CALLS])
    for column in reading.tolist():
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
    rest = [_ENDLESS] * len(network)
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
                if rest[target] < _ENDLESS:
                    heappush(heap, (cost + rest[target], source))
    return rest


class _OfSets:
    """The sets of a machine made as it is read; each is as near to an end as its nearest state."""

    def __init__(self, machine: LazyDfa) -> None:
        self._machine = machine
        self.initial = machine.initial
        self.classes = machine.classes
        self._nearest = _distances(machine)
        self._rest: dict[State, int] = {}

    def step(self, state: State, byte: int) -> State:
        return self._machine.step(state, byte)

    def is_final(self, state: State) -> bool:
        return self._machine.is_final(state)

    def rest(self, state: State) -> int:
        known = self._rest.get(state)
        if known is None:
            members = self._machine.subsets.sets[state]
            bits = np.unpackbits(members.view(np.uint8), bitorder="little")
            inside = np.flatnonzero(bits[: len(self._nearest)])
            known = self._rest[state] = int(self._nearest[inside].min(initial=_ENDLESS))
        return known

    def calls(self, state: State) -> list[tuple[State, State]]:
        return []


def _distances(machine: LazyDfa) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each state of the Nfa the fewest bytes to a final one: backwards from those, once."""
    flat, size = machine.nfa.flat, len(machine.nfa)
    before: list[list[tuple[State, int]]] = [[] for _ in range(size)]
    for first, targets, length in (
        (flat.first, flat.edges[:, 2], 1),
        (flat.first_epsilon, flat.epsilons, 0),
    ):
        owners = np.repeat(np.arange(size), np.diff(first))
        for owner, target in zip(owners.tolist(), targets.tolist(), strict=True):
            before[target].append((owner, length))
    found = np.full(size, _ENDLESS, np.int64)
    waiting = deque((state, 0) for state in np.flatnonzero(flat.finals).tolist())
    while waiting:
        state, rest = waiting.popleft()
        if rest >= found[state]:
            continue
        found[state] = rest
        for owner, length in before[state]:
            # what costs nothing comes before all that is one byte further away
            (waiting.append if length else waiting.appendleft)((owner, rest + length))
    return found


#: The most states of an automaton whose paths are counted; larger ones are walked.
_COUNTED = 600
#: Draws for each text asked for; languages with fewer texts run out of new ones.
_DRAWS = 12
#: Seconds all of it may take; what is found until then is the answer.
_SECONDS = 1.0
#: Characters a text may have beyond the shortest, where that one is long.
_MORE = 60
#: Edits tried of a sample until one is outside the language.
_EDITS = 24


def samples(grammar: Grammar, count: int = 5, seed: int = 0, longest: int = 40) -> tuple[str, ...]:
    """Different texts of the language, at most ``count``; fewer where there are fewer.

    Each is accepted. They are about ``longest`` characters or fewer where there are such.
    A small automaton is sampled by counting (``Paths.draw``): short lengths more often, then every
    path of that length with equal chance. Other machines are walked (``Wander.draw``), the
    rules as they are written. In both the letters, digits and signs of ASCII are drawn first.

    Cost: some milliseconds; a second at most.
    """
    found: dict[str, None] = {}
    try:
        draws = _draws(grammar, Random(seed), longest)
        for _ in range(_DRAWS * count):
            if len(found) == count:
                break
            text = next(draws, None)
            if text is not None and text not in found and grammar.accepts(text):
                found[text] = None
    except LimitError:
        pass  # what was found in time
    return tuple(found)


def told(grammar: Grammar) -> str:
    """How the samples of a grammar are drawn, in a sentence."""
    if isinstance(grammar.reader, Dfa) and len(grammar.reader) <= _COUNTED:
        return "a random length, short ones more often; then each path through the automaton alike"
    return "a random walk through the rules that prefers calls and always ends"


def near_misses(
    grammar: Grammar, count: int = 3, seed: int = 0, longest: int = 40
) -> tuple[tuple[str, str], ...]:
    """Texts outside the language that one edit brings in, each with what was done to a sample."""
    random = Random(seed)
    found: dict[str, str] = {}
    for text in samples(grammar, 3 * count, seed, longest):
        if len(found) == count:
            break
        for _ in range(_EDITS):
            edited, what = _edited(text, random)
            if edited not in found and not _accepts(grammar, edited):
                found[edited] = what
                break
    return tuple(found.items())


def _accepts(grammar: Grammar, text: str) -> bool:
    try:
        return grammar.accepts(text)
    except LimitError:
        return True  # nobody knows: no example then


def _draws(grammar: Grammar, random: Random, longest: int) -> Iterator[str | None]:
    """Texts without end, accepted ones; None where a walk came to bytes that are no text.

    Raises: LimitError
    """
    machine = _machine(grammar)  # it has a budget of its own
    limits = replace(grammar.limits, seconds=min(_SECONDS, grammar.limits.seconds), began=None)
    wander = Wander(machine, limits.begun())
    if wander.shortest is None:
        return  # a language without texts
    # where the shortest text is long already, there has to be room to differ from it
    shortest = wander.shortest
    most = max(longest, shortest + min(shortest, _MORE))
    draw = _by_counting(grammar, most) or _by_walking(wander, shortest, most)
    while True:
        yield draw(random)


_Draw = Callable[[Random], str | None]


def _by_counting(grammar: Grammar, longest: int) -> _Draw | None:
    if not isinstance(grammar.reader, Dfa) or len(grammar.reader) > _COUNTED:
        return None
    paths = PathCounts(grammar.reader, longest)
    return paths.draw if paths.lengths else None


def _by_walking(wander: Wander, shortest: int, longest: int) -> _Draw:
    def draw(random: Random) -> str | None:
        # a length for each text, so that long ones are not all as long as they may be
        most = random.randint((shortest + longest) // 2, longest)
        try:
            return wander.draw(random, most).decode()
        except UnicodeDecodeError:
            return None

    return draw


def _machine(grammar: Grammar) -> Dfa | LazyDfa | Network:
    """The rules as they are written, or the automaton of a language that needs no stack."""
    if not isinstance(grammar.reader, Network):
        return grammar.reader
    try:
        return grammar.rules
    except LimitError:
        return grammar.reader


#: What can be done to a text at a place: how it is told, and what becomes of the text.
_WAYS: tuple[tuple[str, Callable[[str, int], str]], ...] = (
    ("left out {0!r}", lambda text, at: text[:at] + text[at + 1 :]),
    ("doubled {0!r}", lambda text, at: text[: at + 1] + text[at:]),
    (
        "swapped {0!r} with what follows",
        lambda text, at: text[:at] + text[at + 1 : at + 2] + text[at] + text[at + 2 :],
    ),
    ("ended before {0!r}", lambda text, at: text[:at]),
)


def _edited(text: str, random: Random) -> tuple[str, str]:
    """A text with one thing done to it, and what that was."""
    if not text:
        return "?", "put in '?'"
    at = random.randrange(len(text))
    told, way = random.choice(_WAYS)
    return way(text, at), told.format(text[at])
