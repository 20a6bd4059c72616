"""Random accepted texts of a grammar, and rejected texts that are one edit away.

Small automata are sampled by counting their paths of each length (``PathCounts``), so every path of
one length is drawn with equal probability. Other machines are sampled by
``RandomWalk``: each step keeps the end within the remaining length, so a walk always ends,
however the rules call each other.
"""

from __future__ import annotations

import unicodedata
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

import numpy as np
import numpy.typing as npt

from workbench.automata.code_points import CharacterFsa, character_edges, fold
from workbench.automata.lazy_dfa import LazyDfa
from workbench.base.arguments import Count, checked
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Clock, Limits, check_time_budget, time_budget
from workbench.grammar.grammar import Grammar
from workbench.pushdown.build import network_of
from workbench.pushdown.network import CALLS, Network
from workbench.pushdown.shortest_texts import UNREACHABLE, distances_to_end
from workbench.syntax.ranges import Ranges

#: Kinds of characters and the weight with which one of each kind is drawn: letters, digits and
#: spaces before the rest of ASCII, and that before other scripts and control characters.
_KINDS: tuple[tuple[Ranges, float], ...] = (
    (((0x61, 0x7A),), 6.0),
    (((0x41, 0x5A),), 2.0),
    (((0x30, 0x39),), 3.0),
    (((0x20, 0x20),), 1.5),
    (((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)), 0.5),
    (((0x80, 0xFFFF),), 0.2),
    (((0x10000, 0x10FFFF),), 0.05),
    (((0x00, 0x1F), (0x7F, 0x7F)), 0.1),
)
#: Categories of invisible characters, and how often such a character is drawn again.
_INVISIBLE, _MAX_DRAWS = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Mn", "Me"}), 12


def character(ranges: Ranges, random: Random) -> str:
    """A random character of a set; readable ones are more frequent.

    Raises: LimitError past the ``time_budget``.
    """
    check_time_budget()
    parts, weights = _kinds_of(ranges)
    part = random.choices(parts, weights)[0]
    letter = "\0"
    for _ in range(_MAX_DRAWS):
        low, high = random.choice(part)
        letter = chr(random.randint(low, high))
        if unicodedata.category(letter) not in _INVISIBLE:
            break
    return letter


@lru_cache(maxsize=64)
def _kinds_of(ranges: Ranges) -> tuple[list[Ranges], list[float]]:
    """The characters of each kind in a set, and the weights of the kinds."""
    kinds = [(part, weight) for kind, weight in _KINDS if (part := _common(ranges, kind))]
    return [part for part, _ in kinds], [weight for _, weight in kinds]


def is_readable(ranges: Ranges) -> bool:
    """Whether a set contains a printable ASCII character."""
    return any(low <= 0x7E and high >= 0x20 for low, high in ranges)


def _common(ranges: Ranges, kind: Ranges) -> Ranges:
    # not ``ranges.intersection``: it took most of the time of a sample
    return tuple(
        (max(low, first), min(high, last))
        for low, high in ranges
        for first, last in kind
        if low <= last and first <= high
    )


class PathCounts:
    """The accepting paths of an automaton over characters, counted by length up to ``longest``.

    Cost: lengths × edges additions of integers.

    Raises: LimitError if they exceed the current time budget.
    """

    def __init__(self, dfa: Dfa, longest: int) -> None:
        machine: CharacterFsa = fold(dfa)
        self._initial = machine.initial
        self._edges: dict[State, list[tuple[Ranges, State]]] = {s: [] for s in machine.states}
        for source, ranges, target in machine.edges:
            self._edges[source].append((ranges, target))
        #: For each length and state, how many paths of that length lead to a final state.
        self._counts = [dict.fromkeys(machine.finals, 1)]
        for _ in range(longest):
            check_time_budget()
            before = self._counts[-1]
            row = {
                state: count
                for state, edges in self._edges.items()
                if (count := sum(before.get(target, 0) for _, target in edges))
            }
            self._counts.append(row)
        self.lengths = [n for n, row in enumerate(self._counts) if row.get(self._initial)]

    def count(self, length: int) -> int:
        """The number of accepting paths of a length."""
        return self._counts[length].get(self._initial, 0)

    def draw(self, random: Random) -> str:
        """A random text: the i-th possible length has weight 1/i, its paths are equally likely.

        The character of each edge is drawn by ``character``.
        """
        weights = [1 / i for i in range(1, len(self.lengths) + 1)]
        length = random.choices(self.lengths, weights)[0]
        return "".join(self._walk(length, random))

    def _walk(self, length: int, random: Random) -> Iterator[str]:
        state = self._initial
        for remaining in range(length, 0, -1):
            edges, row = self._edges[state], self._counts[remaining - 1]
            chosen = random.randrange(self._counts[remaining][state])
            for ranges, target in edges:
                chosen -= row.get(target, 0)
                if chosen < 0:
                    yield character(ranges, random)
                    state = target
                    break


#: The chance to end although the walk could continue: of the whole text, and of a called rule.
_STOP_CHANCE, _RETURN_CHANCE = 0.2, 0.35
#: After this many calls and returns without a character the walk ends wherever it can: rules that
#: read nothing could call each other forever.
_MAX_IDLE_STEPS = 40
#: The weight of a call relative to reading a character: called rules make samples more varied.
_CALL_WEIGHT = 2.0
#: The weight of characters that are not on a keyboard, if others are possible.
_RARE_WEIGHT = 0.1


@dataclass(frozen=True, slots=True)
class _Move:
    """A move from a state: characters to read, or a rule to call, and the state after it."""

    ranges: Ranges
    entry: State
    target: State
    #: The fewest bytes from here to the end of the rule.
    cost: int
    weight: float
    #: The ranges are bytes that are no whole character.
    raw: bool = False


class RandomWalk:
    """Random walks through a machine.

    Raises: LimitError if the distances to the end are not found in time.
    """

    def __init__(self, machine: Dfa | LazyDfa | Network, limits: Limits = LIMITS) -> None:
        self._clock = limits.clock()
        self._graph: _NetworkGraph | _LazyDfaGraph
        if isinstance(machine, LazyDfa):
            self._graph = _LazyDfaGraph(machine, self._clock)
        else:
            network = machine if isinstance(machine, Network) else network_of(machine)
            self._graph = _NetworkGraph(network, limits)
        self._moves: dict[State, list[_Move]] = {}
        nearest = self._graph.rest(self._graph.initial)
        #: The bytes of a shortest text; None for the empty language.
        self.shortest = nearest if nearest < UNREACHABLE else None

    def draw(self, random: Random, longest: int) -> bytes:
        """A text of at most ``longest`` bytes, or of the fewest possible.

        At each state, all sets of characters have equal chances and each call has twice that;
        characters outside ASCII are rare if there are others.
        """
        graph = self._graph
        assert self.shortest is not None, "the language is not empty"
        most = max(self.shortest, longest)
        text, due = bytearray(), 0
        waiting: list[State] = []
        state, idle = graph.initial, 0
        while True:
            self._clock.check()
            idle += 1
            remaining = most - len(text) - due
            moves = [move for move in self._moves_from(state) if move.cost <= remaining]
            chance = (
                (_RETURN_CHANCE if waiting else _STOP_CHANCE)
                if moves and idle < _MAX_IDLE_STEPS
                else 1.0
            )
            if graph.is_final(state) and random.random() < chance:
                if not waiting:
                    return bytes(text)
                state = waiting.pop()
                due -= graph.rest(state)
                continue
            move = random.choices(moves, [move.weight for move in moves])[0]
            if move.entry >= 0:
                waiting.append(move.target)
                due += graph.rest(move.target)
                state = move.entry
            else:
                text += self._read(move, random, remaining - graph.rest(move.target))
                state, idle = move.target, 0

    def _read(self, move: _Move, random: Random, room: int) -> bytes:
        if move.raw:
            return bytes([random.randint(*random.choice(move.ranges))])
        read = character(move.ranges, random).encode()
        if len(read) > room:  # the cost of the move guarantees a shorter one
            read = chr(move.ranges[0][0]).encode()
        return read

    def _moves_from(self, state: State) -> list[_Move]:
        moves = self._moves.get(state)
        if moves is None:
            moves = self._moves[state] = self._find_moves(state)
        return moves

    def _find_moves(self, state: State) -> list[_Move]:
        graph = self._graph
        moves = [
            _Move((), entry, target, graph.rest(entry) + graph.rest(target), _CALL_WEIGHT)
            for entry, target in graph.calls(state)
        ]
        for ranges, target in character_edges(graph.step, state, graph.classes):
            cost = len(chr(ranges[0][0]).encode()) + graph.rest(target)
            moves.append(
                _Move(ranges, -1, target, cost, 1.0 if is_readable(ranges) else _RARE_WEIGHT)
            )
        if all(move.cost > graph.rest(state) for move in moves):
            # the shortest path leads through bytes that are no whole character
            moves += [
                _Move(((byte, byte),), -1, target, 1 + graph.rest(target), _RARE_WEIGHT, raw=True)
                for byte in range(CALLS)
                if (target := graph.step(state, byte)) != DEAD
            ]
        return [move for move in moves if move.cost < UNREACHABLE]


class _NetworkGraph:
    """A network, with the distance of each state to the end of its rule."""

    def __init__(self, network: Network, limits: Limits) -> None:
        self._network = network
        self.initial = network.initial
        self.classes = network.classes[:CALLS]
        self._rest = distances_to_end(network, limits)

    def step(self, state: State, byte: int) -> State:
        return int(self._network.table[state, self._network.classes[byte]])

    def is_final(self, state: State) -> bool:
        return bool(self._network.finals[state])

    def rest(self, state: State) -> int:
        return self._rest[state]

    def calls(self, state: State) -> list[tuple[State, State]]:
        initials = self._network.initials
        return [(initials[rule], target) for rule, target in self._network.calling[state]]


class _LazyDfaGraph:
    """A lazy DFA; a subset is as near to an end as its nearest NFA state."""

    def __init__(self, machine: LazyDfa, clock: Clock) -> None:
        self._machine = machine
        self.initial = machine.initial
        self.classes = machine.classes
        self._nearest = _distances(machine, clock)
        self._rest: dict[State, int] = {}

    def step(self, state: State, byte: int) -> State:
        return self._machine.step(state, byte)

    def is_final(self, state: State) -> bool:
        return self._machine.is_final(state)

    def rest(self, state: State) -> int:
        distance = self._rest.get(state)
        if distance is None:
            members = self._machine.subsets.sets[state]
            bits = np.unpackbits(members.view(np.uint8), bitorder="little")
            inside = np.flatnonzero(bits[: len(self._nearest)])
            distance = self._rest[state] = int(self._nearest[inside].min(initial=UNREACHABLE))
        return distance

    def calls(self, state: State) -> list[tuple[State, State]]:
        return []


def _distances(machine: LazyDfa, clock: Clock) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each state of the NFA the fewest bytes to a final one, by one backward search."""
    flat, size = machine.nfa.flat, len(machine.nfa)
    readers = _sources(flat.first, flat.edges[:, 2])
    jumpers = _sources(flat.first_epsilon, flat.epsilons)
    distances = np.full(size, UNREACHABLE, np.int64)
    waiting = deque((state, 0) for state in np.flatnonzero(flat.finals).tolist())
    while waiting:
        clock.check()
        state, rest = waiting.popleft()
        if rest >= distances[state]:
            continue
        distances[state] = rest
        # 0-1 breadth-first search: epsilon edges go to the front
        waiting.extendleft((owner, rest) for owner in jumpers(state))
        waiting.extend((owner, rest + 1) for owner in readers(state))
    return distances


def _sources(
    first: npt.NDArray[np.int32], targets: npt.NDArray[np.int32]
) -> Callable[[State], list[State]]:
    """The sources of the edges into a state; those of state q are ``first[q]:first[q + 1]``."""
    owners = np.repeat(np.arange(len(first) - 1), np.diff(first))
    order = np.argsort(targets, kind="stable")
    owners, begins = owners[order], np.searchsorted(targets[order], np.arange(len(first)))
    return lambda state: owners[begins[state] : begins[state + 1]].tolist()


#: The most states of an automaton whose paths are counted; larger ones are sampled by walks.
_MAX_COUNTED_STATES = 600
#: The most draws for each requested text; a finite language runs out of new ones.
_MAX_DRAWS_PER_TEXT = 12
#: The part of ``Limits.seconds`` for all samples together; those found until then are returned.
_PART_OF_SECONDS = 0.5
#: The most characters beyond the shortest text, if that one is long.
_MAX_EXTRA_CHARACTERS = 60
#: The most edits of a sample that are tried until one is outside the language.
_MAX_EDITS = 24


@checked
def samples(
    grammar: Grammar, count: Count = 5, *, seed: int = 0, longest: Count = 40
) -> tuple[str, ...]:
    """Different accepted texts, at most ``count``; fewer if the language has fewer.

    A small automaton is sampled by counting: short lengths more often, then every path of that
    length with equal probability. Other machines are sampled by random walks through the rules as
    they are written. Both prefer printable ASCII.

    ``seed``     the same seed gives the same texts.
    ``longest``  about the most characters of a text, if such texts exist.

    Cost: a few milliseconds; the walks take at most half of the seconds of the grammar's limits (a
          second, if it has the default ones), and the texts found until then are returned.
    """
    texts: dict[str, None] = {}
    # the samples found in time are returned
    with suppress(LimitError), time_budget(grammar.limits.seconds):
        draws = _draws(grammar, Random(seed), longest)
        for _ in range(_MAX_DRAWS_PER_TEXT * count):
            if len(texts) == count:
                break
            text = next(draws, None)
            if text is not None and text not in texts and grammar.accepts(text):
                texts[text] = None
    return tuple(texts)


def sampling_method(grammar: Grammar) -> str:
    """How the samples of a grammar are drawn, as a message for the page."""
    if isinstance(grammar.reader, Dfa) and len(grammar.reader) <= _MAX_COUNTED_STATES:
        return (
            "a random length, shorter ones more often; "
            "then each path of that length with equal probability"
        )
    return "a random walk through the rules that prefers calls and always ends"


def near_misses(
    grammar: Grammar, count: int = 3, *, seed: int = 0, longest: int = 40
) -> tuple[tuple[str, str], ...]:
    """Rejected texts that are one edit away from a sample, each with a description of the edit."""
    random = Random(seed)
    misses: dict[str, str] = {}
    with time_budget(grammar.limits.seconds):
        for text in samples(grammar, 3 * count, seed=seed, longest=longest):
            if len(misses) == count:
                break
            for _ in range(_MAX_EDITS):
                edited, what = _edit(text, random)
                if edited not in misses and not _accepts(grammar, edited):
                    misses[edited] = what
                    break
    return tuple(misses.items())


def _accepts(grammar: Grammar, text: str) -> bool:
    try:
        return grammar.accepts(text)
    except LimitError:
        return True  # unknown, so it is no example


def _draws(grammar: Grammar, random: Random, longest: int) -> Iterator[str | None]:
    """An infinite sequence of accepted texts; None for a walk whose bytes are not UTF-8.

    Raises: LimitError
    """
    machine = _machine(grammar)  # its limits are separate
    seconds = _PART_OF_SECONDS * grammar.limits.seconds
    limits = replace(grammar.limits, seconds=seconds).begun()
    wander, clock = RandomWalk(machine, limits), limits.clock()
    if wander.shortest is None:
        return  # the empty language
    # if the shortest text is long, other texts need room to differ from it
    shortest = wander.shortest
    most = max(longest, shortest + min(shortest, _MAX_EXTRA_CHARACTERS))
    draw = _by_counting(grammar, most, seconds / 2) or _by_walking(wander, shortest, most)
    while True:
        clock.check()
        yield draw(random)


_Draw = Callable[[Random], str | None]


def _by_counting(grammar: Grammar, longest: int, seconds: float) -> _Draw | None:
    """None for a machine that is too large, or has too many paths to count in these seconds."""
    if not isinstance(grammar.reader, Dfa) or len(grammar.reader) > _MAX_COUNTED_STATES:
        return None
    with suppress(LimitError), time_budget(seconds):
        paths = PathCounts(grammar.reader, longest)
        return paths.draw if paths.lengths else None
    return None


def _by_walking(wander: RandomWalk, shortest: int, longest: int) -> _Draw:
    def draw(random: Random) -> str | None:
        # a random length for each text, so that not all are as long as possible
        most = random.randint((shortest + longest) // 2, longest)
        try:
            return wander.draw(random, most).decode()
        except UnicodeDecodeError:
            return None

    return draw


def _machine(grammar: Grammar) -> Dfa | LazyDfa | Network:
    """The network of the written rules, or the automaton of a regular language."""
    grammar = grammar.without_phrases
    if not isinstance(grammar.reader, Network):
        return grammar.reader
    try:
        return grammar.rules
    except LimitError:
        return grammar.reader


#: The edits of a text at a position: a description, and the function.
_EDITS: tuple[tuple[str, Callable[[str, int], str]], ...] = (
    ("left out {0!r}", lambda text, index: text[:index] + text[index + 1 :]),
    ("doubled {0!r}", lambda text, index: text[: index + 1] + text[index:]),
    (
        "swapped {0!r} with what follows",
        lambda text, index: (
            text[:index] + text[index + 1 : index + 2] + text[index] + text[index + 2 :]
        ),
    ),
    ("ended before {0!r}", lambda text, index: text[:index]),
)


def _edit(text: str, random: Random) -> tuple[str, str]:
    """A text after one random edit, and the description of the edit."""
    if not text:
        return "?", "put in '?'"
    index = random.randrange(len(text))
    description, edit = random.choice(_EDITS)
    return edit(text, index), description.format(text[index])
