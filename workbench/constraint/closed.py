"""Closed: the rows a closing wrote, and how they are read: without the machine, without a walk.

In comes a state; out come its tokens and where each leads. What is stored is less than what is
told: wide rows share what stays in their circle, with each other and with the vocabulary, and rows
that differ in the names of states share their edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD, State
from workbench.constraint import reading
from workbench.constraint.layout import (
    COUNT,
    Edges,
    Ints,
    Tokens,
    Written,
)
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import TokenId


@dataclass(frozen=True, slots=True, eq=False)
class Closed:
    """Rows of token edges, by state."""

    trie: Trie
    written: Written
    #: How many tokens of each row lead to each place in its map, as ``written.maps``.
    tallies: Ints

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.written.rows)

    @property
    def counts(self) -> Ints:
        """How many edges each row has, (Q,)."""
        return self.written.rows[:, COUNT]

    @property
    def nbytes(self) -> int:
        """The bytes of what is stored; what is the vocabulary's is not among them."""
        written = self.written
        own = (written.rows, written.maps, written.edges, written.borrowed, self.tallies)
        return sum(array.nbytes for array in own)

    def row(self, state: State) -> tuple[Ints, Ints]:
        """The tokens of a row, sorted, and where each leads."""
        return self._told(np.array([state], np.int32))[1:]

    def all_rows(self) -> tuple[Ints, Ints, Ints]:
        """Every row written out: where each begins, (Q + 1,); tokens, sorted by row; targets."""
        return self._told(np.arange(len(self), dtype=np.int32))

    def _told(self, rows: Ints) -> tuple[Ints, Ints, Ints]:
        first = np.zeros(len(rows) + 1, np.int32)
        np.cumsum(self.counts[rows], out=first[1:])
        # one place more, which the kernel fills in vain
        edges = Edges(np.empty(first[-1] + 1, np.int32), np.empty(first[-1] + 1, np.int32))
        by_token = np.full(int(self.trie.token_ids.max(initial=-1)) + 1, DEAD, np.int32)
        reading.tell_sorted(self.written, self._tokens, rows, first, edges, by_token)
        return first, edges.ids[:-1], edges.targets[:-1]

    def step(self, state: State, token_id: TokenId) -> State:
        """Where a token leads, or ``DEAD``."""
        node = self.trie.shared(_Ends).of(self.trie, token_id)
        return DEAD if node < 0 else int(reading.target(self.written, state, node))

    def targets(self, state: State) -> npt.NDArray[np.int32]:
        """The states a row leads to, those whose tokens come first in the trie first."""
        earliest = np.full(len(self), len(self.trie), np.int32)
        reading.meet(self.written, self._tokens, state, earliest)
        met = np.flatnonzero(earliest < len(self.trie))
        return met[np.argsort(earliest[met], kind="stable")].astype(np.int32)

    @property
    def _tokens(self) -> Tokens:
        return Tokens(self.trie.records, self.trie.first, self.trie.token_ids)


class _Ends:
    """At which node of a vocabulary's trie each token ends."""

    def __init__(self) -> None:
        self._nodes: Ints | None = None

    def of(self, trie: Trie, token_id: TokenId) -> int:
        """The node of a token, or −1 for one that spells nothing."""
        if self._nodes is None:
            nodes = np.full(int(trie.token_ids.max(initial=-1)) + 1, -1, np.int32)
            nodes[trie.token_ids] = np.repeat(
                np.arange(len(trie), dtype=np.int32), np.diff(trie.first)
            )
            self._nodes = nodes
        return int(self._nodes[token_id]) if 0 <= token_id < len(self._nodes) else -1
