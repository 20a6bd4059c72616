"""Live edges of the permissive automaton (reference, section 7).

An edge (p, t, q) is *live* if q accepts, or if q has a live edge whose token t′ may follow t (the
pair test of the merge rules). The live edges of a position are the tokens after which a canonical
tokenization of an accepted text exists, before the tokens that its last token excludes are removed.

Nearly every edge is proved live by one of a few *witnesses* of its target q: live edges of q,
spread over the vocabulary. Edges that no witness proves are tested against all live edges of q.
Positions are visited from the ends backwards, so nearly every edge finds a witness at the first
attempt; the others (*unproven*) are tested again until nothing changes, and are then dead. The
search over states of the product that Tran-Thien 2024 describes took 27 s for a regex.

Edges into the middle of a character remain *undecided*: there are thousands of positions inside
characters, of which decoding visits a few. So do edges whose target depends on more than the base
of a guess (``walker``). ``spelling_search`` decides them on demand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import Dfa, State
from workbench.base.kernels import inlined, inner, njit
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.masks import pack
from workbench.constraint.methods.proper.guide_states import (
    NEW_PIECE,
    SAME_PIECE,
    UNDECIDED,
    Bytes,
    Guess,
    Ints,
    Words,
)
from workbench.constraint.methods.proper.walker import Walker
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenization.merge_kernels import Tables
from workbench.vocabulary.tokenization.pair_test import forbid, may_follow

#: The tokens of a row: their ids, or one bit for each token if that is smaller.
Row = Ints | Words

#: The most witnesses of a position.
WITNESSES = 16
#: The number of witness tokens whose pair tests are cached.
_MAX_SLOTS = 64


class Evidence(NamedTuple):
    """The evidence, by position.

    Shape: ``free`` (P,), whether any token may end here, because the text may end or continue with
           a new piece; ``witnesses`` (P, 16), tokens of live edges in the same piece, ``counts``
           (P,) of them. ``tested`` and ``pair_ok`` (S, words) cache pair tests: which tokens were
           tested before a witness, and which of them it may follow; ``slots`` (V,) is the row of a
           witness token, or −1. Similar states test the same pairs repeatedly.
    """

    free: Bytes
    witnesses: Ints
    counts: Bytes
    slots: npt.NDArray[np.int16]
    tested: Words
    pair_ok: Words

    @staticmethod
    def empty(tokens: int) -> Evidence:
        """No evidence, for a vocabulary of ``tokens`` tokens."""
        words = (tokens + 31) // 32
        return Evidence(
            np.zeros(0, np.uint8),
            np.zeros((0, WITNESSES), np.int32),
            np.zeros(0, np.uint8),
            np.full(tokens, -1, np.int16),
            np.zeros((_MAX_SLOTS, words), np.uint32),
            np.zeros((_MAX_SLOTS, words), np.uint32),
        )

    def extended(self, positions: int) -> Evidence:
        """The same evidence with ``positions`` more positions."""
        free, witnesses, counts = (
            np.concatenate([array, np.zeros((positions, *array.shape[1:]), array.dtype)])
            for array in self[:3]
        )
        return self._replace(free=free, witnesses=witnesses, counts=counts)


@njit(_nrt=False)
def move_live_first(
    tables: Tables, evidence: Evidence, tokens: Ints, targets: Ints, ends: Ints
) -> int:
    """Move the edges that are proved live to the front, in their order. Returns their number."""
    live = 0
    for i in range(len(tokens)):
        token, target = tokens[i], targets[i]
        if target >= 0 and _has_witness(tables, evidence, token, target):
            tokens[i], targets[i] = tokens[live], targets[live]
            tokens[live], targets[live] = token, target
            ends[i], ends[live] = ends[live], ends[i]
            live += 1
    return live


@inlined
def _has_witness(tables: Tables, evidence: Evidence, token: int, target: int) -> bool:
    if evidence.free[target]:
        return True
    for i in range(evidence.counts[target]):
        if _pair_ok(tables, evidence, token, evidence.witnesses[target, i]):
            return True
    return False


@inner
def _pair_ok(tables: Tables, evidence: Evidence, token: int, witness: int) -> bool:
    """The pair test ``may_follow``, cached for frequent witnesses."""
    slot = evidence.slots[witness]
    if slot < 0:
        return may_follow(tables, token, witness)
    word, bit = token >> 5, np.uint32(1) << np.uint32(token & 31)
    if evidence.tested[slot, word] & bit:
        return bool(evidence.pair_ok[slot, word] & bit)
    pair_ok = may_follow(tables, token, witness)
    evidence.tested[slot, word] |= bit
    if pair_ok:
        evidence.pair_ok[slot, word] |= bit
    return pair_ok


@njit(_nrt=False)
def may_be_followed(
    tables: Tables, tokens: Ints, row: Words, buffer: Ints, bits: Words, result: Bytes
) -> None:
    """Write for each token whether any token of a row may follow it, (n,).

    Shape: ``row`` and ``bits`` (words,), the latter scratch.
    Cost:  one row of excluded tokens for each token, 8 µs on average with 131k tokens.
    """
    for i in range(len(tokens)):
        for k in range(len(row)):
            bits[k] = row[k]
        forbid(tables, tokens[i], buffer, bits)
        any_bit = np.uint32(0)
        for word in bits:
            any_bit |= word
        result[i] = any_bit != 0


def as_bits(row: Row, words: int) -> Words:
    """A row as bits; the same array if it has this form."""
    if row.dtype == np.uint32:
        return row  # type: ignore[return-value]
    flags = np.zeros(32 * words, np.bool_)
    flags[row] = True
    return pack(flags)


@dataclass(slots=True)
class Edges:
    """The edges of a position with one mark, grouped by what is proved."""

    #: The tokens of live edges.
    live_tokens: Row
    #: Edges that end inside a character, of tokens that are not ``separate``, or that depend on
    #: such edges: (3, n), the token, the target state and the target guess after the base.
    undecided: Ints
    #: Edges not proved live, dead in the end: (3, n), the token, the number of the target position
    #: and the target state.
    unproven: Ints
    #: The number of all edges.
    count: int


@dataclass(frozen=True, eq=False)
class Live:
    """The edges of a machine, with the live ones decided.

    Shape: P positions; ``edges[mark][p]``, the edges of position number p; ``positions``, the
           number of each position.
    """

    bpe: Bpe
    walker: Walker
    positions: dict[tuple[State, Guess], int]
    edges: tuple[list[Edges], list[Edges]]
    #: Whether any token may end at a position: the text may end there, or a new piece may begin.
    free: Bytes
    words: int

    @property
    def edge_count(self) -> int:
        """The number of all edges, dead and undecided ones included."""
        return sum(edge.count for by_position in self.edges for edge in by_position)

    @property
    def dead(self) -> list[tuple[int, int, int]]:
        """Position, mark and token of every dead edge."""
        return [
            (position, mark, token)
            for mark, by_position in enumerate(self.edges)
            for position, edges in enumerate(by_position)
            for token in edges.unproven[0].tolist()
        ]

    def bits(self, position: int, mark: int) -> Words:
        """The live tokens of a position with a mark; a new array."""
        return as_bits(self.edges[mark][position].live_tokens, self.words).copy()


#: Of long rows only every 16th edge is used to find positions.
_SAMPLING = 16


def live_edges(
    dfa: Dfa,
    bpe: Bpe,
    starts: Iterable[Guess],
    limits: Limits = LIMITS,
) -> Live:
    """The live edges of every position that is accessible from the initial state.

    Cost:   two walks of the trie for each position, and about one pair test for each edge.
    Raises: LimitError past ``limits.states`` positions, ``limits.megabytes`` or
            ``limits.seconds``.
    """
    return _LiveEdgeFinder(dfa, bpe, limits).run(starts)


class _LiveEdgeFinder:
    """Finds the live edges of one machine."""

    def __init__(self, dfa: Dfa, bpe: Bpe, limits: Limits) -> None:
        self._dfa, self._bpe, self._limits = dfa, bpe, limits
        self._clock = limits.clock()
        self._walker = Walker(dfa, bpe, limits)
        self._words = (len(bpe.vocabulary) + 31) // 32
        self._bits = np.zeros(self._words, np.uint32)
        self._buffer = bpe.row_buffer()
        self._bytes = 0
        self._evidence = Evidence.empty(len(bpe.vocabulary))
        self._slots = 0
        self._judged_count = 0
        self._edges: tuple[dict[int, Edges], dict[int, Edges]] = {}, {}

    def run(self, starts: Iterable[Guess]) -> Live:
        """All steps, in order."""
        for position in _nearest_first(self._number_positions(starts), self._ends, self._walker):
            self._clock.check()
            self._add_position(position)
        self._reach_fixed_point()
        self._mark_undecided()
        count = len(self._walker)
        all_edges = tuple(
            [by_position[position] for position in range(count)] for by_position in self._edges
        )
        positions = {self._walker.position(number): number for number in range(count)}
        return Live(
            self._bpe,
            self._walker,
            positions,
            (all_edges[0], all_edges[1]),
            self._evidence.free,
            self._words,
        )

    def _ends(self, number: int) -> bool:
        """Whether the text may end at a position."""
        state, guess = self._walker.position(number)
        return bool(self._dfa.finals[state]) and self._walker.guesses.may_end(guess)

    def _number_positions(self, starts: Iterable[Guess]) -> dict[int, list[int]]:
        """Number the accessible positions (from samples). Returns the predecessors of each."""
        for guess in starts:
            self._walker.number_position(self._dfa.initial, guess)
        predecessors: dict[int, list[int]] = defaultdict(list)
        visited_count, by_state = 0, dict[State, list[int]]()
        while visited_count < len(self._walker) or by_state:
            for position in range(visited_count, len(self._walker)):
                by_state.setdefault(self._walker.position(position)[0], []).append(position)
            visited_count = len(self._walker)
            # the positions of one state together, in one walk
            for position in by_state.pop(next(iter(by_state))):
                self._clock.check()
                for mark in (SAME_PIECE, NEW_PIECE):
                    _, targets, _ = self._walker.edges(
                        *self._walker.position(position), mark, _SAMPLING
                    )
                    for target in distinct(targets):
                        if target != UNDECIDED:
                            predecessors[target].append(position)
        return predecessors

    def _add_position(self, position: int) -> None:
        """Add the edges of a position, and decide those that the evidence decides."""
        for mark in (NEW_PIECE, SAME_PIECE):
            state, guess = self._walker.position(position)
            tokens, targets, ends = self._walker.edges(state, guess, mark)
            self._enlarge_evidence()
            live = move_live_first(self._bpe.tables, self._evidence, tokens, targets, ends)
            rest = np.stack((tokens[live:], targets[live:], ends[live:]))
            is_undecided = rest[1] == UNDECIDED
            undecided_edges = _columns(rest, is_undecided)
            after = self._walker.guesses.after(guess, mark)
            undecided_edges[1], undecided_edges[2] = undecided_edges[2], after[undecided_edges[0]]
            live_tokens = self._as_row(tokens[:live])
            self._edges[mark][position] = Edges(
                live_tokens, undecided_edges, _columns(rest, ~is_undecided), len(tokens)
            )
            self._record_live(position, mark, tokens[:live])
        for mark in (NEW_PIECE, SAME_PIECE):
            self._judge_again(position, mark)

    def _enlarge_evidence(self) -> None:
        """Extend the evidence to positions that were added."""
        count, old_count = len(self._walker), len(self._evidence.free)
        if count > old_count:
            self._evidence = self._evidence.extended(max(count, 2 * old_count) - old_count)
        for position in range(self._judged_count, count):
            self._evidence.free[position] = self._ends(position)
        self._judged_count = count

    def _as_row(self, tokens: Ints) -> Row:
        self._bytes += 4 * min(len(tokens), self._words)
        self._limits.check("megabytes", self._bytes / 1e6)
        if len(tokens) <= self._words:
            return tokens.copy()
        return as_bits(tokens, self._words)

    def _record_live(self, position: int, mark: int, tokens: Ints) -> None:
        """Add live edges of a position to the evidence."""
        if not len(tokens):
            return
        if mark == NEW_PIECE:
            self._evidence.free[position] = 1
            return
        old_count = int(self._evidence.counts[position])
        added = min(WITNESSES - old_count, len(tokens))
        spread = tokens[np.linspace(0, len(tokens) - 1, added).astype(np.int64)]
        self._evidence.witnesses[position, old_count : old_count + added] = spread
        self._evidence.counts[position] = old_count + added
        for witness in spread.tolist():
            if self._evidence.slots[witness] < 0 and self._slots < len(self._evidence.tested):
                self._evidence.slots[witness] = self._slots
                self._slots += 1

    def _add(self, position: int, mark: int, tokens: Ints) -> None:
        """Add live edges to a row."""
        edges = self._edges[mark][position]
        row = edges.live_tokens
        if row.dtype == np.uint32:
            edges.live_tokens = row | as_bits(tokens, self._words)
        else:
            edges.live_tokens = self._as_row(np.concatenate([row, tokens]))
        self._record_live(position, mark, tokens)

    def _judge_again(self, position: int, mark: int) -> bool:
        """Test the unproven edges of a position again; whether more are proved live."""
        edges = self._edges[mark][position]
        if not edges.unproven.size:
            return False
        live = move_live_first(self._bpe.tables, self._evidence, *edges.unproven)
        if live:
            self._add(position, mark, edges.unproven[0, :live])
            edges.unproven = edges.unproven[:, live:].copy()
        return live > 0

    def _reach_fixed_point(self) -> None:
        """Test unproven edges until nothing changes: first by witnesses, then by all live edges."""
        changed = True
        while changed:
            self._clock.check()
            unsettled = [
                (position, mark)
                for mark, by_position in enumerate(self._edges)
                for position, edges in by_position.items()
                if edges.unproven.size
            ]
            proved = [self._judge_again(position, mark) for position, mark in unsettled]
            if not any(proved):
                proved = [self._test_all_live(position, mark) for position, mark in unsettled]
            changed = any(proved)

    def _test_all_live(self, position: int, mark: int) -> bool:
        """Test unproven edges against all live edges of their targets; whether any is live."""
        edges = self._edges[mark][position]
        tokens, targets, _ = edges.unproven
        live = np.zeros(len(tokens), np.uint8)
        for target in np.unique(targets).tolist():
            is_target = targets == target
            live_tokens = as_bits(self._edges[SAME_PIECE][target].live_tokens, self._words)
            result = np.zeros(int(is_target.sum()), np.uint8)
            may_be_followed(
                self._bpe.tables, tokens[is_target], live_tokens, self._buffer, self._bits, result
            )
            live[is_target] = result | self._evidence.free[target]
        if live.any():
            self._add(position, mark, tokens[live == 1])
            edges.unproven = _columns(edges.unproven, live == 0)
        return bool(live.any())

    def _mark_undecided(self) -> None:
        """Unproven edges are dead, unless a target has undecided edges: then they are undecided."""
        changed = True
        while changed:
            changed = False
            has_undecided = [
                any(by_position[position].undecided.size for by_position in self._edges)
                for position in range(len(self._walker))
            ]
            for mark, by_position in enumerate(self._edges):
                for position, edges in by_position.items():
                    depends = np.array([has_undecided[to] for to in edges.unproven[1]], np.bool_)
                    if depends.any():
                        result = _columns(edges.unproven, depends)
                        _, guess = self._walker.position(position)
                        result[1] = result[2]
                        result[2] = self._walker.guesses.after(guess, mark)[result[0]]
                        edges.undecided = np.concatenate([edges.undecided, result], axis=1)
                        edges.unproven = _columns(edges.unproven, ~depends)
                        changed = True


def _nearest_first(
    predecessors: dict[int, list[int]], ends: Callable[[int], bool], walker: Walker
) -> Iterator[int]:
    """The positions by the distance of their state from an end, in tokens, grouped by state.

    Positions that are added during the iteration come last.
    """
    visited_count = len(walker)
    distances: dict[int, int] = {}
    state_distances: dict[State, int] = {}
    level, distance = [position for position in range(visited_count) if ends(position)], 0
    while level:
        for position in level:
            distances[position] = distance
            state_distances.setdefault(walker.position(position)[0], distance)
        level = [
            p
            for p in dict.fromkeys(p for target in level for p in predecessors[target])
            if p not in distances
        ]
        distance += 1

    def rank(position: int) -> tuple[int, State, int]:
        state, _ = walker.position(position)
        return state_distances.get(state, distance), state, distances.get(position, distance)

    yield from sorted(range(visited_count), key=rank)
    while visited_count < len(walker):
        yield visited_count
        visited_count += 1


def _columns(table: Ints, selected: npt.NDArray[np.bool_]) -> Ints:
    """The selected columns of a table, C-contiguous, as the kernels require."""
    return np.ascontiguousarray(table[:, selected])


def distinct(numbers: Ints) -> list[int]:
    """The distinct numbers, for few of them; sorting a row of 100,000 took 5 ms."""
    if not len(numbers):
        return []
    low = int(numbers.min())
    result: list[int] = (np.flatnonzero(np.bincount(numbers - low)) + low).tolist()
    return result
