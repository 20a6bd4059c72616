"""The method ``syncode``: masks stored by the state of a terminal's DFA and the terminal after it.

An *accept sequence* has the terminal being read and at most one more that the parser accepts
after it. The *DFA mask store* has a row for each state of each terminal's DFA, and for each
second terminal: the tokens that can be read from that state through the sequence. A step unites
the rows of the current accept sequences, which the parser lists.

A token may be longer than the sequence. Then its rest is not read at all, and the token is
allowed. So no token that an accepted text needs is forbidden. But a token that covers more than
two terminals may be allowed although no accepted text continues with it. Then the next mask is
empty.

Where the text may end, a sequence has the end in the place of the second terminal, and its row
has only tokens that stay inside the first.

The paper's lexer takes the longest match; here every segmentation of the text into terminals is
kept. The paper calls a mask that forbids no valid token *sound*; here that is *complete*, as in
the table of ``docs/engines.md``.

Source: Ugare et al. 2024 (SynCode).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import DEAD, State
from workbench.base.limits import LIMITS, Limits, check_time_budget
from workbench.constraint.masks import TokenMask, pack
from workbench.constraint.methods.lalr import NO_TERMINAL, Reading
from workbench.constraint.methods.lexer_tables import TerminalConstraint
from workbench.constraint.token_by_token import Precomputed
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: A state of the scanner, and the second terminal of an accept sequence; None for the end.
Key = tuple[State, int | None]


class MaskStore:
    """The rows of all states of the scanner and all second terminals, made on first use."""

    def __init__(self, owner: SynCodeConstraint) -> None:
        self._scanner, self._trie = owner.scanner, owner.vocabulary.trie
        self._size = len(owner.vocabulary)
        self._classes: list[int] = self._scanner.classes.tolist()
        self.rows: dict[Key, npt.NDArray[np.uint32]] = {}
        self._reads: dict[State, tuple[npt.NDArray[np.bool_], list[int]]] = {}
        self._below: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def row(self, state: State, second: int | None) -> npt.NDArray[np.uint32]:
        """The tokens that a sequence matches from a state of its first terminal, packed."""
        cached = self.rows.get((state, second))
        if cached is None:
            allowed, ends = self._read(state)
            allowed = allowed.copy()
            if second is not None:
                for low, high in (
                    node_range for node in ends for node_range in self._rest(node, second)
                ):
                    check_time_budget()
                    allowed[self._tokens(low, high)] = True
            cached = self.rows[state, second] = pack(allowed)
        return cached

    def allows(self, state: State, second: int | None, token_id: TokenId) -> bool:
        """Whether one token is in a row."""
        return token_id in TokenMask(self.row(state, second), self._size)

    def _tokens(self, low: int, high: int) -> npt.NDArray[np.int32]:
        trie = self._trie
        return trie.token_ids[trie.first[low] : trie.first[high]]

    def _read(self, state: State) -> tuple[npt.NDArray[np.bool_], list[int]]:
        """The tokens that stay inside the terminal, and the trie nodes at which it can end."""
        cached = self._reads.get(state)
        if cached is None:
            allowed = np.zeros(self._size, np.bool_)
            ends = [-1] if self._scanner.accepting[state] else []
            for node, target in self._walk(state, -1):
                allowed[self._tokens(node, node + 1)] = True
                if self._scanner.accepting[target]:
                    ends.append(node)
            cached = self._reads[state] = allowed, ends
        return cached

    def _rest(self, node: int, second: int) -> list[tuple[int, int]]:
        """Ranges of trie nodes below a node: what the second terminal reads, and all after it."""
        key = node, second
        if key not in self._below:
            ranges, passed = list[tuple[int, int]](), -1
            for inner, target in self._walk(int(self._scanner.initials[second]), node):
                if inner < passed:
                    continue
                if self._scanner.accepting[target]:
                    passed = int(self._trie.skip[inner])
                ranges.append((inner, max(passed, inner + 1)))
            self._below[key] = ranges
        return self._below[key]

    def _walk(self, state: State, root: int) -> Iterator[tuple[int, State]]:
        """The trie nodes below a node that a terminal reads from a state, with its states."""
        trie, table = self._trie, self._scanner.table
        node, stop, base = 0, len(trie), 0
        if root >= 0:
            node, stop, base = root + 1, int(trie.skip[root]), int(trie.depth[root]) + 1
        path = [state] * (trie.height + 1)
        while node < stop:
            check_time_budget()
            level = int(trie.depth[node]) - base
            target = int(table[path[level], self._classes[int(trie.byte[node])]])
            if target == DEAD:
                node = int(trie.skip[node])
                continue
            path[level + 1] = target
            yield node, target
            node += 1


class SynCodeConstraint(TerminalConstraint):
    """Masks from the store: every token that some accepted text needs, and others.

    Raises: WorkbenchError where the rules over terminals are not LALR(1); LimitError;
            VocabularyError for an empty language.
    """

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, limits: Limits = LIMITS) -> None:
        super().__init__(grammar, vocabulary, limits)
        self.store = MaskStore(self)

    def sequences(self, reading: Reading) -> list[Key]:
        """The accept sequences, sorted: a state of the first terminal, and the second terminal."""
        sequences = set(self._sequences(reading))
        return sorted(sequences, key=lambda pair: (pair[0], -1 if pair[1] is None else pair[1]))

    def _sequences(self, reading: Reading) -> Iterator[Key]:
        for stack, terminal, state in reading:
            if terminal == NO_TERMINAL:
                first_terminals = self.reader.parser.accepts(stack)[0]
                begun = [(t, int(self.scanner.initials[t])) for t in first_terminals]
            else:
                begun = [(terminal, self.scanner_state(terminal, state))]
            for first, lexer_state in begun:
                after = self.reader.parser.shifted(stack, first)
                assert after is not None, "a terminal that is not accepted has begun"
                seconds, may_end = self.reader.parser.accepts(after)
                yield from ((lexer_state, second) for second in seconds)
                if may_end:
                    yield lexer_state, None

    def allowed(self, reading: Reading) -> npt.NDArray[np.uint32]:
        bits = np.zeros((len(self.vocabulary) + 31) // 32, np.uint32)
        for lexer_state, second in self.sequences(reading):
            bits |= self.store.row(lexer_state, second)
        return bits

    def target(self, state: Reading, token_id: TokenId) -> Reading | None:
        """The readings after a token: none, where the store allows a token wrongly."""
        target = super().target(state, token_id)
        if target is None and token_id in self.mask(state):
            return frozenset()
        return target

    def precompute(self) -> Precomputed:
        """Make the rows of all states and all terminals."""
        terminals = range(len(self.scanner.terminals))
        for lexer_state in range(1, len(self.scanner)):
            for second in (None, *terminals):
                self.store.row(lexer_state, second)
        return Precomputed(len(self.store.rows), sum(r.nbytes for r in self.store.rows.values()))
