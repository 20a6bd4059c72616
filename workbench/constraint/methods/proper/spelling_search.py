"""Decides on demand whether a canonical tokenization continues from a position.

This is a search through nodes (position, last token), nearest end first, which stops at the first
node that has a known live edge. (Depth first it got lost among the letters of an identifier.)
Nearly all searches succeed immediately, and a continuation after one token is possible after most
other tokens that lead to the same position.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from heapq import heappop, heappush, merge
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from workbench.base.cached_property import cached_property
from workbench.base.dfa import State
from workbench.base.limits import Clock, Limits
from workbench.constraint.masks import pack
from workbench.constraint.methods.proper.guide_states import (
    NEW_PIECE,
    SAME_PIECE,
    Guess,
    Guesses,
    Ints,
    Words,
)
from workbench.constraint.methods.proper.live_edges import as_bits
from workbench.vocabulary.tokenization import pair_test as rows_of_bpe
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId

#: The state of a text between two tokens: the machine's state and a guess.
Position = tuple[State, Guess]
#: A position with the last token.
Node = tuple[Position, TokenId]

#: The distance of a position from an end, the position, and the token that leads there.
_Target = tuple[int, Position, TokenId]
#: An entry of the search's queue: the distance, the age, the node, its parent, and the parent's
#: other targets.
_QueueEntry = tuple[int, int, Node, Node, Iterator[_Target]]

#: The most nodes whose result is cached; then the cache is cleared.
_MAX_CACHED = 200_000
#: The edges cached take at most about this part of ``Limits.megabytes``.
_PART_FOR_EDGES = 0.25
#: The most edges of a position that are tested against all tokens that lead there.
_WITNESSES = 24
#: The number of edges tested together.
_BATCH = 128
#: Distances above this one are equal.
_FAR = 2**16 - 1

Indices = npt.NDArray[np.intp]
T = TypeVar("T")


class ProperRows(ABC):
    """The rows of live tokens of all positions of one machine, computed on demand."""

    #: The most nodes that one search may visit.
    patience = 1_000_000
    #: The number of searches that reached the maximum: live tokens may have been forbidden.
    given_up = 0

    def __init__(self, bpe: Bpe, limits: Limits) -> None:
        self.bpe, self.guesses = bpe, Guesses.of(bpe)
        #: The number of words of a row.
        self.words = (len(bpe.vocabulary) + 31) // 32
        self._limits = limits.per_stage()  # the time limit applies to each mask
        #: The clock of the current row; a search outside of ``rows`` has its own.
        self._clock: Clock | None = None
        self._max_rows = limits.rows_of(8 * self.words)
        self._buffer = bpe.row_buffer()
        self._rows: dict[Position, tuple[Words, Words]] = {}
        self._coaccessible_nodes: dict[Node, bool] = {}
        self._edges: dict[tuple[Position, int], tuple[Ints, Ints, Ints, Ints]] = {}
        self._edge_bytes = 0

    def forget(self) -> None:
        """Drop all results."""
        self._rows.clear()
        self._coaccessible_nodes.clear()
        self._forget_edges()

    def _forget_edges(self) -> None:
        self._edges.clear()
        self._edge_bytes = 0

    def read(self, state: State, reading: Callable[[State], T]) -> T:
        """The result of a reading, given the number that the rows know a state by."""
        return reading(state)

    @property
    @abstractmethod
    def initial(self) -> State:
        """The state of the machine before a text."""

    @abstractmethod
    def is_final(self, state: State) -> bool:
        """Whether a state of the machine is final."""

    @abstractmethod
    def after(self, state: State, data: bytes) -> State:
        """The state after bytes, or ``DEAD``."""

    @abstractmethod
    def _known_live(self, position: Position, mark: int) -> Words:
        """The tokens at a position that are known to be live; a new array."""

    @abstractmethod
    def _has_live_edge(self, node: Node) -> bool:
        """Whether a node is known to be final or to have a live edge."""

    @abstractmethod
    def _undecided_edges(self, position: Position, mark: int) -> tuple[Ints, Ints, Ints, Ints]:
        """The other edges of a base: tokens, target states and guesses, distances from an end.

        The distances may be wrong: only speed depends on them.
        """

    def rows(self, position: Position) -> tuple[Words, Words]:
        """The live tokens at a position in the same piece, and those that begin a new one.

        The former still include the tokens that the last token excludes. Read-only.
        """
        cached = self._rows.get(position)
        if cached is None:
            base = self._base(position)
            # what a separate token leads to does not depend on more than the base
            base_rows = None if base == position else self.rows(base)
            if len(self._rows) >= self._max_rows:
                self._rows.clear()
            self._clock = self._limits.clock()
            try:
                cached = self._rows[position] = self._compute(position, base_rows)
            finally:
                self._clock = None
        return cached

    def _base(self, position: Position) -> Position:
        return position[0], self.guesses.base(position[1])

    def _compute(
        self, position: Position, base_rows: tuple[Words, Words] | None
    ) -> tuple[Words, Words]:
        separate = self.guesses.separate
        if base_rows is None:
            rows_by_mark = [self._known_live(position, mark) for mark in (SAME_PIECE, NEW_PIECE)]
        else:
            rows_by_mark = [row & self._separate_bits for row in base_rows]
        for mark in (SAME_PIECE, NEW_PIECE):
            tokens, states, guesses, _ = self._undecided(position, mark)
            if base_rows is not None:
                kept = np.flatnonzero(~separate[tokens])
                tokens, states, guesses = tokens[kept], states[kept], guesses[kept]
            live = [
                self._filter_live(tokens[group], guesses[group], target)
                for target, group in self._by_target(states, guesses)
            ]
            if live:
                rows_by_mark[mark] |= as_bits(np.concatenate(live), self.words)
        return rows_by_mark[SAME_PIECE], rows_by_mark[NEW_PIECE]

    def _by_target(self, states: Ints, guesses: Ints) -> list[tuple[Position, Indices]]:
        """The edges that lead to each base, nearest base first; ``guesses`` are in order."""
        if not len(states):
            return []
        bases = self.guesses.base_of[guesses]
        targets = states.astype(np.int64) << 32 | bases
        order = np.argsort(targets, kind="stable")
        groups = np.split(order, 1 + np.flatnonzero(np.diff(targets[order])))
        groups.sort(key=lambda group: int(group[0]))
        return [((int(states[group[0]]), int(bases[group[0]])), group) for group in groups]

    @cached_property
    def _separate_bits(self) -> Words:
        return pack(self.guesses.separate)

    def _filter_live(self, tokens: Ints, guesses: Ints, target: Position) -> Ints:
        """Of tokens that lead to one position, those that are live.

        An edge that may follow one of them may follow most: it is tested against all together.

        Shape: ``guesses`` (n,), the guess after each token, whose base is that of ``target``.
        """
        if self._ends(target):
            return tokens
        for witness, next_position in self._separate_edges_from(target, NEW_PIECE):
            if self.is_coaccessible(next_position, witness):
                return tokens
        result = [tokens[:0]]
        for witness, next_position in self._separate_edges_from(target, SAME_PIECE):
            if len(tokens) < 2:
                break
            if self.is_coaccessible(next_position, witness):
                pair_ok = rows_of_bpe.may_precede(self.bpe.tables, tokens, witness)
                result.append(tokens[pair_ok])
                tokens, guesses = tokens[~pair_ok], guesses[~pair_ok]
        rest = [
            token
            for token, guess in zip(tokens.tolist(), guesses.tolist(), strict=True)
            if self.is_coaccessible((target[0], guess), token)
        ]
        return np.concatenate([*result, np.array(rest, np.int32)])

    def _separate_edges_from(
        self, position: Position, mark: int
    ) -> Iterator[tuple[TokenId, Position]]:
        """The nearest edges that follow every guess of a base; all of them inside a character."""
        separate, within = self.guesses.separate, self.guesses.is_within(position[1])
        for token, target in self._edges_from(position, mark, _WITNESSES):
            if within or separate[token]:
                yield token, target

    def without_row(self, row: Words, last: TokenId) -> Words:
        """A row without the tokens that may not follow ``last`` (−1: none); a new array."""
        bits = row.copy()
        if last >= 0:
            rows_of_bpe.forbid(self.bpe.tables, last, self._buffer, bits)
        return bits

    def is_coaccessible(self, position: Position, last: TokenId) -> bool:
        """Whether the canonical tokenization of some accepted text continues after a token.

        Cost: usually one or two nodes; all accessible nodes if no text continues. A search that
              visits more than ``patience`` nodes gives up and returns False.
        """
        root, clock = (position, last), self._clock or self._limits.clock()
        if len(self._coaccessible_nodes) > _MAX_CACHED:
            self._coaccessible_nodes.clear()
        parents: dict[Node, Node | None] = {}
        # nearest end first; of equals the newest
        queue: list[_QueueEntry] = [(0, 0, root, root, iter(()))]
        while queue:
            clock.check("a mask takes too long; simplify the grammar")
            _, age, node, parent, more_targets = heappop(queue)
            self._push_next(queue, more_targets, parent, age)
            cached = self._coaccessible_nodes.get(node)
            if cached or (cached is None and self._has_live_edge(node)):
                self._coaccessible_nodes[node] = True
                ancestor: Node | None = parent
                while ancestor is not None and ancestor != node:
                    self._coaccessible_nodes[ancestor] = True
                    ancestor = parents.get(ancestor)
                return True
            if cached is None and node not in parents:
                if len(parents) == self.patience:
                    self.given_up += 1
                    self._coaccessible_nodes[root] = False
                    return False
                parents[node] = None if node == root else parent
                self._push_next(queue, self._next_targets(node), node, -len(parents))
        self._coaccessible_nodes.update(dict.fromkeys(parents, False))
        return False

    def _push_next(
        self, queue: list[_QueueEntry], more_targets: Iterator[_Target], parent: Node, age: int
    ) -> None:
        """Push the next of a node's targets to the queue."""
        next_target = next(more_targets, None)
        if next_target is not None:
            distance, position, token = next_target
            heappush(queue, (distance, age, (position, token), parent, more_targets))

    def _next_targets(self, node: Node) -> Iterator[_Target]:
        """The targets of undecided edges, nearest end first."""
        position, last = node
        return merge(
            *(self._targets_with_mark(position, mark, last) for mark in (NEW_PIECE, SAME_PIECE))
        )

    def _targets_with_mark(self, position: Position, mark: int, last: TokenId) -> Iterator[_Target]:
        tokens, states, guesses, distance = self._undecided(position, mark)
        for begin in range(0, len(tokens), _BATCH):  # the first batch is nearly always enough
            batch = tokens[begin : begin + _BATCH]
            pair_ok = np.ones(len(batch), np.bool_)
            if mark == SAME_PIECE and last >= 0:
                pair_ok = rows_of_bpe.which_follow(self.bpe.tables, last, batch)
            for i in (begin + np.flatnonzero(pair_ok)).tolist():
                yield int(distance[i]), (int(states[i]), int(guesses[i])), int(tokens[i])

    def _edges_from(
        self, position: Position, mark: int, most: int | None = None
    ) -> Iterator[tuple[TokenId, Position]]:
        tokens, states, guesses, _ = (
            part[:most].tolist() for part in self._undecided(position, mark)
        )
        return zip(tokens, zip(states, guesses, strict=True), strict=True)

    def _ends(self, position: Position) -> bool:
        """Whether the text may end at a position."""
        return self.is_final(position[0]) and self.guesses.may_end(position[1])

    def _undecided(self, position: Position, mark: int) -> tuple[Ints, Ints, Ints, Ints]:
        """The undecided edges of a position, nearest first, as ``_undecided_edges``."""
        cached = self._edges.get((position, mark))
        if cached is None:
            if self._edge_bytes > _PART_FOR_EDGES * self._limits.megabytes * 2**20:
                self._forget_edges()
            base = self._base(position)
            tokens, states, after, distance = self._undecided_edges(base, mark)
            if base != position:
                separate = self.guesses.separate[tokens]
                retaken = self.guesses.take(position[1], tokens, mark)
                after = np.where(separate, after, retaken)
                kept = np.flatnonzero(after >= 0)
                tokens, states, after, distance = (
                    array[kept] for array in (tokens, states, after, distance)
                )
            # of 16 bits, which numpy sorts in linear time
            order = np.argsort(np.minimum(distance, _FAR).astype(np.uint16), kind="stable")
            cached = tokens[order], states[order], after[order], distance[order]
            self._edges[position, mark] = cached
            self._edge_bytes += sum(array.nbytes for array in cached)
        return cached
