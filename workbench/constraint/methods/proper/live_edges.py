"""Live edges of the permissive automaton (reference, section 7).

An edge (p, t, q) is *live* if q accepts, or some live edge (q, t′, …) has t′ fine after t
(reference, section 7). Nearly every edge succeeds with one of a few *witnesses*, live edges of q
that are spread over the vocabulary; what fails there is held against the row of t.

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
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import Dfa, State
from workbench.base.kernels import inner, njit
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.methods.proper.guide_guesses import (
    ANEW,
    INSIDE,
    WITHIN,
    Bytes,
    Guess,
    Ints,
    Words,
)
from workbench.constraint.methods.proper.walker import Walker
from workbench.vocabulary.tokenization import pair_test as rows_of_bpe
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenization.merge_kernels import Tables
from workbench.vocabulary.tokenization.pair_test import forbid, may_follow

#: The tokens of a row: their ids, or one bit for each token where those are fewer bytes.
Row = Ints | Words

#: Witnesses kept of each place.
WITNESSES = 16
#: Tokens whose answers as witnesses are kept.
_SLOTS = 64


class Known(NamedTuple):
    """What is known of the places so far.

    Shape: ``free`` (P,) whether any token may end here: the text may end, or go on with a new
           piece; ``witnesses`` (P, 16) tokens of live edges that leave it inside the piece, and
           ``counts`` (P,) how many. ``slots`` (V,) the row of ``tested`` and ``fine`` (S, words)
           where a token that is a witness often has what is known of the tokens before it, or −1:
           states that are alike ask the same pairs again and again.
    """

    free: Bytes
    witnesses: Ints
    counts: Bytes
    slots: npt.NDArray[np.int16]
    tested: Words
    fine: Words

    @staticmethod
    def nothing(tokens: int) -> Known:
        """Of no place, for so many tokens."""
        words = (tokens + 31) // 32
        return Known(
            np.zeros(0, np.uint8),
            np.zeros((0, WITNESSES), np.int32),
            np.zeros(0, np.uint8),
            np.full(tokens, -1, np.int16),
            np.zeros((_SLOTS, words), np.uint32),
            np.zeros((_SLOTS, words), np.uint32),
        )

    def longer(self, places: int) -> Known:
        """The same with room for more places."""
        free, witnesses, counts = (
            np.concatenate([array, np.zeros((places, *array.shape[1:]), array.dtype)])
            for array in self[:3]
        )
        return self._replace(free=free, witnesses=witnesses, counts=counts)


@njit(cache=True, nogil=True, _nrt=False)
def judge(tables: Tables, known: Known, tokens: Ints, targets: Ints, ends: Ints) -> int:
    """Bring the edges that are seen to be live to the front, and tell how many they are.

    The order of those is kept; the others stand behind them.
    """
    live = 0
    for i in range(len(tokens)):
        token, target = tokens[i], targets[i]
        if target >= 0 and _is_seen(tables, known, token, target):
            tokens[i], targets[i] = tokens[live], targets[live]
            tokens[live], targets[live] = token, target
            ends[i], ends[live] = ends[live], ends[i]
            live += 1
    return live


@njit(cache=True, nogil=True, inline="always", _nrt=False)
def _is_seen(tables: Tables, known: Known, token: int, target: int) -> bool:
    if known.free[target]:
        return True
    for i in range(known.counts[target]):
        if _follows(tables, known, token, known.witnesses[target, i]):
            return True
    return False


@inner
def _follows(tables: Tables, known: Known, token: int, witness: int) -> bool:
    """``may_follow``, looked up where it was asked before."""
    slot = known.slots[witness]
    if slot < 0:
        return may_follow(tables, token, witness)
    word, bit = token >> 5, np.uint32(1) << np.uint32(token & 31)
    if known.tested[slot, word] & bit:
        return bool(known.fine[slot, word] & bit)
    fine = may_follow(tables, token, witness)
    known.tested[slot, word] |= bit
    if fine:
        known.fine[slot, word] |= bit
    return fine


@njit(cache=True, nogil=True, _nrt=False)
def follow(tables: Tables, tokens: Ints, row: Words, room: Ints, bits: Words, found: Bytes) -> None:
    """For each token whether one of a row may follow it.

    Shape: ``row`` and ``bits`` (words,), the latter room; ``found`` (n,).
    Cost:  one row of forbidden tokens each, 8 µs on average with 131k tokens.
    """
    for i in range(len(tokens)):
        for k in range(len(row)):
            bits[k] = row[k]
        forbid(tables, tokens[i], room, bits)
        some = np.uint32(0)
        for word in bits:
            some |= word
        found[i] = some != 0


@njit(cache=True, nogil=True, _nrt=False)
def precede(tables: Tables, tokens: Ints, after: int, found: Bytes) -> None:
    """For each token whether another may follow it; ``found`` (n,) is written."""
    for i in range(len(tokens)):
        found[i] = may_follow(tables, tokens[i], after)


@njit(cache=True, nogil=True, _nrt=False)
def succeed(tables: Tables, before: int, tokens: Ints, found: Bytes) -> None:
    """For each token whether it may follow another; ``found`` (n,) is written."""
    for i in range(len(tokens)):
        found[i] = may_follow(tables, before, tokens[i])


@njit(cache=True, nogil=True, _nrt=False)
def to_bits(tokens: Ints, bits: Words) -> None:
    """Set the bits of some tokens."""
    for token in tokens:
        bits[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


def as_bits(row: Row, words: int) -> Words:
    """A row as bits; the row itself where it is some already."""
    if row.dtype == np.uint32:
        return row  # type: ignore[return-value]
    bits = np.zeros(words, np.uint32)
    to_bits(row, bits)  # type: ignore[arg-type]
    return bits


@dataclass(slots=True)
class Edges:
    """What is known of the edges that leave a place in one way."""

    #: Live ones.
    row: Row
    #: Tokens whose end is in the middle of a character, or hangs on such: (3, n), the token, the
    #: state and the guess it leads to.
    open: Ints
    #: Nothing is known of these; in the end they are dead: (3, n), the token, the number of the
    #: place and the state it leads to.
    waiting: Ints
    #: How many edges there are.
    count: int


@dataclass(frozen=True, eq=False)
class Live:
    """The edges of a machine that lead on to proper spellings.

    Shape: P places; ``edges[mark][p]``; ``number`` of a state and a guess is a place.
    """

    bpe: Bpe
    walker: Walker
    places: dict[tuple[State, Guess], int]
    edges: tuple[list[Edges], list[Edges]]
    #: Whether any token may end at a place: the text may end there, or a new piece begin.
    free: Bytes
    words: int

    @property
    def edge_count(self) -> int:
        """All edges between places, dead and open ones among them."""
        return sum(edge.count for way in self.edges for edge in way)

    @property
    def dead(self) -> list[tuple[int, int, int]]:
        """Place, mark and token of every edge that leads nowhere."""
        return [
            (place, mark, token)
            for mark, way in enumerate(self.edges)
            for place, edges in enumerate(way)
            for token in edges.waiting[0].tolist()
        ]

    def bits(self, place: int, mark: int) -> Words:
        """The live tokens that leave a place in one way; a new array."""
        return as_bits(self.edges[mark][place].row, self.words).copy()


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
        self._room = rows_of_bpe.row_buffer(bpe.tables)
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
            live = judge(self._bpe.tables, self._known, tokens, targets, ends)
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
        return as_bits(tokens, self._words)

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
            to_bits(tokens, row)  # type: ignore[arg-type]
        else:
            edges.row = self._row(np.concatenate([row, tokens]))
        self._learn(place, mark, tokens)

    def _look_again(self, place: int, mark: int) -> bool:
        """Whether witnesses show more edges of a place to be live."""
        edges = self._edges[mark][place]
        if not edges.waiting.size:
            return False
        live = judge(self._bpe.tables, self._known, *edges.waiting)
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
            row = as_bits(self._edges[INSIDE][target].row, self._words)
            found = np.zeros(int(here.sum()), np.uint8)
            follow(self._bpe.tables, tokens[here], row, self._room, self._bits, found)
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
