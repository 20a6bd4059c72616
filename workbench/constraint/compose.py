"""The closed form of Algorithm 2: a whole DFA composed with a vocabulary, every edge at hand.

In come a ``Dfa`` and a ``Vocabulary``; out comes a ``TokenFsa`` whose states are the DFA's and
whose edges are tokens. Dead ends are trimmed on tokens: from every state kept, whole tokens lead
to an accepted text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD, Dfa, State
from workbench.constraint.closed import Closed
from workbench.constraint.layout import (
    Steps,
)
from workbench.constraint.trimming import trimmed
from workbench.constraint.wide import WideStates, wide_states
from workbench.constraint.writing import Writer, ready
from workbench.errors import VocabularyError
from workbench.limits import LIMITS, Limits
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


@dataclass(frozen=True, eq=False)
class TokenFsa:
    """A finite automaton over tokens, A ∘ T_V.

    Every edge can be read without the DFA and without a walk of the trie, a row at a
    time or, written out, all at once. What is stored is less: what stays in a circle is
    the vocabulary's and lies there, for all machines; rows borrow stretches of wide rows;
    rows that differ in the names of states share their edges. Where single bytes are
    missing, only the last. States that no token path reaches keep no edges.

    Shape: Q states, E edges. ``finals`` (Q,) bool; the edges of state q are
           ``first[q]:first[q + 1]`` of ``token_ids`` and ``targets``, (E,) int32, sorted
           by token id.
    Raises: LimitError where what is written out, ``first`` and the two others, would have
            more than ``limits.token_edges``.
    Source: Koo et al. 2024, Algorithm 2 and Figure 5.
    """

    vocabulary: Vocabulary
    initial: State
    finals: npt.NDArray[np.bool_]
    rows: Closed
    limits: Limits = LIMITS

    def __len__(self) -> int:
        """The number of states."""
        return len(self.finals)

    @property
    def edge_count(self) -> int:
        """E, the number of edges."""
        return int(self.rows.counts.sum(dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """The bytes stored, the vocabulary's own aside."""
        return self.rows.nbytes + self.finals.nbytes

    @property
    def first(self) -> npt.NDArray[np.int32]:
        """Where the edges of each state begin, (Q + 1,)."""
        return self._written_out[0]

    @property
    def token_ids(self) -> npt.NDArray[np.int32]:
        """The token of each edge, (E,)."""
        return self._written_out[1]

    @property
    def targets(self) -> npt.NDArray[np.int32]:
        """Where each edge leads, (E,)."""
        return self._written_out[2]

    @cached_property
    def _written_out(
        self,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        self.limits.check(
            "token_edges", self.edge_count, "draw a smaller vocabulary, or a smaller grammar"
        )
        return self.rows.all_rows()

    def row(self, state: State) -> npt.NDArray[np.int32]:
        """The tokens that may come next, sorted; the end token is not among them."""
        return self.rows.row(state)[0]

    def edges(self, state: State) -> list[tuple[TokenId, State]]:
        """Each token that may come next, with the state it leads to."""
        ids, targets = self.rows.row(state)
        return list(zip(ids.tolist(), targets.tolist(), strict=True))

    def step(self, state: State, token_id: TokenId) -> State:
        """The state after a token, or ``DEAD``."""
        return self.rows.step(state, token_id)

    def accepts(self, token_ids: list[TokenId]) -> bool:
        """Whether a sequence of tokens (without the end token) spells an accepted text."""
        state = self.initial
        for token_id in token_ids:
            if (state := self.step(state, token_id)) == DEAD:
                return False
        return bool(self.finals[state])


def compose(dfa: Dfa, vocabulary: Vocabulary, limits: Limits = LIMITS) -> TokenFsa:
    """Adapt a byte automaton to a vocabulary: the states stay, edges become tokens.

    Cost:   at most |Q| times |trie| byte steps; far fewer where states read in circles or
            differ in name alone.
    Raises: LimitError past ``limits.token_edges`` edges stored or ``limits.seconds``;
            VocabularyError if the vocabulary spells no accepted text at all.
    Source: Koo et al. 2024, Algorithm 2, §2.4.
    """
    ready()
    reads: npt.NDArray[np.bool_] = (dfa.table != DEAD).any(axis=0)[dfa.classes]
    if dfa.is_empty:
        raise cannot_spell(vocabulary)
    if vocabulary.single_bytes.issuperset(np.flatnonzero(reads).tolist()):
        rows = _rows(dfa, vocabulary.trie, limits)
        return TokenFsa(vocabulary, dfa.initial, dfa.finals, rows, limits)
    rows, alive = trimmed(_plain_rows(dfa, vocabulary.trie, limits), dfa.initial, dfa.finals)
    if not alive[dfa.initial]:
        raise cannot_spell(vocabulary)
    return TokenFsa(vocabulary, dfa.initial, dfa.finals & alive, rows, limits)


def cannot_spell(vocabulary: Vocabulary) -> VocabularyError:
    """The error of a vocabulary that spells nothing the grammar accepts."""
    return VocabularyError(
        f"no accepted text can be spelled with the tokens of {vocabulary.name}",
        "add the characters the grammar needs to the vocabulary, or choose another one",
    )


def _rows(dfa: Dfa, trie: Trie, limits: Limits) -> Closed:
    """The rows of all states, for a vocabulary that spells every byte: no dead ends threaten.

    Since every byte is a token, tokens reach every state.
    """
    steps, found = _steps(dfa), WideStates(trie)
    circling = wide_states(steps)
    for state in circling:
        found.add(steps, state)
    order = np.arange(len(dfa), dtype=np.int32)
    if circling:  # rows others borrow from come first
        order = np.concatenate([np.array(circling, np.int32), np.delete(order, circling)])
    wide, writer = found.arrays(len(dfa)), Writer(trie, len(dfa), limits)
    writer.write(steps, wide, order)
    return writer.closed(wide)


def _plain_rows(dfa: Dfa, trie: Trie, limits: Limits) -> Closed:
    """The rows of all states, each with exactly its targets in its map."""
    none, writer = WideStates(trie).arrays(len(dfa)), Writer(trie, len(dfa), limits)
    writer.write(_steps(dfa), none, np.arange(len(dfa), dtype=np.int32))
    return writer.closed(none)


def _steps(dfa: Dfa) -> Steps:
    """The machine as kernels like it: numba takes arrays that may be written for another type."""
    table = dfa.table.reshape(-1)
    table.flags.writeable = False
    return Steps(table, dfa.table.shape[1], dfa.classes)
