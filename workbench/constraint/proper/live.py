"""Live edges of the permissive automaton, without the states of the product (reference, section 7).

In come a byte automaton and a tokenizer; out come, for each place between two characters, the
tokens that lead on to a proper spelling of an accepted text, before the row of the token that
stands before them is taken out. Places are walked from the ends backwards, so nearly every edge
finds a live one to go on with at its first look; what does not is kept aside until nothing changes.
The search over states of the product that Tran-Thien 2024 describes took 27 s a regex.

Edges into the middle of a character are left *open*: there are thousands of places inside
characters, of which decoding sees a few. ``searching`` decides them when they are asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import Dfa, State
from workbench.constraint.proper import judging
from workbench.constraint.proper.edges import Edges, Live
from workbench.constraint.proper.guesses import Guess
from workbench.constraint.proper.judging import WITNESSES, Known, Row
from workbench.constraint.proper.tables import (
    ANEW,
    INSIDE,
    WITHIN,
    Ints,
)
from workbench.constraint.proper.walker import Walker
from workbench.limits import LIMITS, Limits
from workbench.vocabulary.bpe import rows as rows_of_bpe
from workbench.vocabulary.bpe.bpe import Bpe

#: Where rows are long, one edge in so many is asked which places there are.
_SAMPLED = 16


def live_edges(
    dfa: Dfa,
    bpe: Bpe,
    starts: Iterable[Guess],
    limits: Limits = LIMITS,
) -> Live:
    """The live edges of every place that is reached from the initial state.

    Cost:   two walks of the trie a place, and about one pair test an edge.
    Raises: LimitError past ``limits.states`` places, ``limits.megabytes`` or ``limits.seconds``.
    """
    return _Settling(dfa, bpe, limits).run(starts)


class _Settling:
    """The places of one machine, and what is known of their edges so far."""

    def __init__(self, dfa: Dfa, bpe: Bpe, limits: Limits) -> None:
        self._dfa, self._bpe, self._limits = dfa, bpe, limits
        self._clock = limits.clock()
        self._walker = Walker(dfa, bpe, limits)
        self._words = (len(bpe.vocabulary) + 31) // 32
        self._bits = np.zeros(self._words, np.uint32)
        self._room = rows_of_bpe.room_for(bpe.tables)
        self._bytes = 0
        self._known = Known.nothing(len(bpe.vocabulary))
        self._slots = 0
        self._looked_at = 0
        self._edges: tuple[dict[int, Edges], dict[int, Edges]] = {}, {}

    def run(self, starts: Iterable[Guess]) -> Live:
        """Everything, in the order it has to be done."""
        for place in _nearest_first(self._spread(starts), self._ends, self._walker):
            self._clock.check()
            self._write(place)
        self._settle()
        self._open()
        count = len(self._walker)
        ways = tuple([way[place] for place in range(count)] for way in self._edges)
        places = {self._walker.place(number): number for number in range(count)}
        return Live(
            self._bpe, self._walker, places, (ways[0], ways[1]), self._known.free, self._words
        )

    def _ends(self, number: int) -> bool:
        """Whether a token may end at a place, whatever follows."""
        state, guess = self._walker.place(number)
        return bool(self._dfa.finals[state]) and self._walker.guesses.may_end(guess)

    def _spread(self, starts: Iterable[Guess]) -> dict[int, list[int]]:
        """Number every place that is reached; for each those that lead to it."""
        for guess in starts:
            self._walker.meet(self._dfa.initial, guess)
        before: dict[int, list[int]] = defaultdict(list)
        met, waiting = 0, dict[State, list[int]]()
        while met < len(self._walker) or waiting:
            for place in range(met, len(self._walker)):
                waiting.setdefault(self._walker.place(place)[0], []).append(place)
            met = len(self._walker)
            for place in waiting.pop(next(iter(waiting))):  # of one state together: one walk
                self._clock.check()
                for mark in (INSIDE, ANEW):
                    _, targets, _ = self._walker.edges(*self._walker.place(place), mark, _SAMPLED)
                    for target in distinct(targets):
                        if target != WITHIN:
                            before[target].append(place)
        return before

    def _write(self, place: int) -> None:
        """The edges of a place, as far as what they lead to is known."""
        for mark in (ANEW, INSIDE):
            state, guess = self._walker.place(place)
            tokens, targets, ends = self._walker.edges(state, guess, mark)
            self._meet()
            live = judging.judge(self._bpe.tables, self._known, tokens, targets, ends)
            rest = np.stack((tokens[live:], targets[live:], ends[live:]))
            inner = rest[1] == WITHIN
            opened = _columns(rest, inner)
            opened[1], opened[2] = opened[2], self._walker.guesses.after(guess, mark)[opened[0]]
            row = self._row(tokens[:live])
            self._edges[mark][place] = Edges(row, opened, _columns(rest, ~inner), len(tokens))
            self._learn(place, mark, tokens[:live])
        for mark in (ANEW, INSIDE):
            self._look_again(place, mark)

    def _meet(self) -> None:
        """Make room for places that were met since."""
        count, have = len(self._walker), len(self._known.free)
        if count > have:
            self._known = self._known.longer(max(count, 2 * have) - have)
        for place in range(self._looked_at, count):
            self._known.free[place] = self._ends(place)
        self._looked_at = count

    def _row(self, tokens: Ints) -> Row:
        self._bytes += 4 * min(len(tokens), self._words)
        self._limits.check("megabytes", self._bytes / 1e6)
        if len(tokens) <= self._words:
            return tokens.copy()
        return judging.as_bits(tokens, self._words)

    def _learn(self, place: int, mark: int, tokens: Ints) -> None:
        """Remember that some edges of a place are live."""
        if not len(tokens):
            return
        if mark == ANEW:
            self._known.free[place] = 1
            return
        have = int(self._known.counts[place])
        taken = min(WITNESSES - have, len(tokens))
        spread = tokens[np.linspace(0, len(tokens) - 1, taken).astype(np.int64)]
        self._known.witnesses[place, have : have + taken] = spread
        self._known.counts[place] = have + taken
        for witness in spread.tolist():
            if self._known.slots[witness] < 0 and self._slots < len(self._known.tested):
                self._known.slots[witness] = self._slots
                self._slots += 1

    def _add(self, place: int, mark: int, tokens: Ints) -> None:
        """Add live edges to a row."""
        edges = self._edges[mark][place]
        row = edges.row
        if row.dtype == np.uint32:
            judging.to_bits(tokens, row)  # type: ignore[arg-type]
        else:
            edges.row = self._row(np.concatenate([row, tokens]))
        self._learn(place, mark, tokens)

    def _look_again(self, place: int, mark: int) -> bool:
        """Whether witnesses show more edges of a place to be live."""
        edges = self._edges[mark][place]
        if not edges.waiting.size:
            return False
        live = judging.judge(self._bpe.tables, self._known, *edges.waiting)
        if live:
            self._add(place, mark, edges.waiting[0, :live])
            edges.waiting = edges.waiting[:, live:].copy()
        return live > 0

    def _settle(self) -> None:
        """Until nothing changes: witnesses first, then whole rows."""
        changed = True
        while changed:
            self._clock.check()
            unsettled = [
                (place, mark)
                for mark, way in enumerate(self._edges)
                for place, edges in way.items()
                if edges.waiting.size
            ]
            looked = [self._look_again(place, mark) for place, mark in unsettled]
            if not any(looked):
                looked = [self._look_closely(place, mark) for place, mark in unsettled]
            changed = any(looked)

    def _look_closely(self, place: int, mark: int) -> bool:
        """Whether the rows of what edges lead to show more of them to be live."""
        edges = self._edges[mark][place]
        tokens, targets, _ = edges.waiting
        live = np.zeros(len(tokens), np.uint8)
        for target in np.unique(targets).tolist():
            here = targets == target
            row = judging.as_bits(self._edges[INSIDE][target].row, self._words)
            found = np.zeros(int(here.sum()), np.uint8)
            judging.follow(self._bpe.tables, tokens[here], row, self._room, self._bits, found)
            live[here] = found | self._known.free[target]
        if live.any():
            self._add(place, mark, tokens[live == 1])
            edges.waiting = _columns(edges.waiting, live == 0)
        return bool(live.any())

    def _open(self) -> None:
        """What nothing is known of is dead, unless it leads to where something is open."""
        changed = True
        while changed:
            changed = False
            opened = [
                any(way[place].open.size for way in self._edges)
                for place in range(len(self._walker))
            ]
            for way in self._edges:
                for edges in way.values():
                    hanging = np.array([opened[to] for to in edges.waiting[1]], np.bool_)
                    if hanging.any():
                        found = _columns(edges.waiting, hanging)
                        places = [self._walker.place(to) for to in found[1].tolist()]
                        found[1:] = np.array(places, np.int32).T
                        edges.open = np.concatenate([edges.open, found], axis=1)
                        edges.waiting = _columns(edges.waiting, ~hanging)
                        changed = True


def _nearest_first(
    before: dict[int, list[int]], ends: Callable[[int], bool], walker: Walker
) -> Iterator[int]:
    """The places by how many tokens their state is from an end, those of one state together.

    A place that is met only while these are looked at comes after them.
    """
    met = len(walker)
    far: dict[int, int] = {}
    nearest: dict[State, int] = {}
    level, distance = [place for place in range(met) if ends(place)], 0
    while level:
        for place in level:
            far[place] = distance
            nearest.setdefault(walker.place(place)[0], distance)
        level = [p for p in dict.fromkeys(p for at in level for p in before[at]) if p not in far]
        distance += 1

    def rank(place: int) -> tuple[int, State, int]:
        state, _ = walker.place(place)
        return nearest.get(state, distance), state, far.get(place, distance)

    yield from sorted(range(met), key=rank)
    while met < len(walker):
        yield met
        met += 1


def _columns(table: Ints, chosen: npt.NDArray[np.bool_]) -> Ints:
    """Some columns of a table, rows whole in memory: kernels are compiled for such."""
    return np.ascontiguousarray(table[:, chosen])


def distinct(numbers: Ints) -> list[int]:
    """The numbers that occur, the few there are; sorting a row of 100,000 took 5 ms."""
    if not len(numbers):
        return []
    low = int(numbers.min())
    return (np.flatnonzero(np.bincount(numbers - low)) + low).tolist()  # type: ignore[no-any-return]
