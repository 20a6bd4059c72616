"""The closed form of Algorithm 2: a whole DFA composed with a vocabulary, every edge written out.

In come a ``Dfa`` and a ``Vocabulary``; out comes a ``TokenFsa`` whose states are the DFA's and
whose edges are tokens. Dead ends are trimmed on tokens: from every state kept, whole tokens lead
to an accepted text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD, Dfa, State
from workbench.constraint.rows import count_edges, fill_edges
from workbench.errors import VocabularyError
from workbench.limits import LIMITS, Limits
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class TokenFsa:
    """A finite automaton over tokens, A ∘ T_V.

    Shape: Q states, E edges. ``finals`` (Q,) bool; the edges of state q are
           ``first[q]:first[q + 1]`` of ``token_ids`` and ``targets``, (E,) int32, sorted
           by token id. States that no token path reaches keep no edges.
    Source: Koo et al. 2024, Algorithm 2 and Figure 5.
    """

    vocabulary: Vocabulary
    initial: State
    finals: npt.NDArray[np.bool_]
    first: npt.NDArray[np.int32]
    token_ids: npt.NDArray[np.int32]
    targets: npt.NDArray[np.int32]

    def __len__(self) -> int:
        """The number of states."""
        return len(self.finals)

    def row(self, state: State) -> npt.NDArray[np.int32]:
        """The tokens that may come next, sorted; the end token is not among them."""
        return self.token_ids[self.first[state] : self.first[state + 1]]

    def edges(self, state: State) -> list[tuple[TokenId, State]]:
        """Each token that may come next, with the state it leads to."""
        ends = slice(self.first[state], self.first[state + 1])
        return list(zip(self.token_ids[ends].tolist(), self.targets[ends].tolist(), strict=True))

    def step(self, state: State, token_id: TokenId) -> State:
        """The state after a token, or ``DEAD``."""
        row = self.row(state)
        at = int(np.searchsorted(row, token_id))
        if at == len(row) or row[at] != token_id:
            return DEAD
        return int(self.targets[self.first[state] + at])

    def accepts(self, token_ids: list[TokenId]) -> bool:
        """Whether a sequence of tokens (without the end token) spells an accepted text."""
        state = self.initial
        for token_id in token_ids:
            if (state := self.step(state, token_id)) == DEAD:
                return False
        return bool(self.finals[state])


def compose(dfa: Dfa, vocabulary: Vocabulary, limits: Limits = LIMITS) -> TokenFsa:
    """Adapt a byte automaton to a vocabulary: the states stay, edges become tokens.

    Cost:   at most |Q| times |trie| byte steps.
    Raises: LimitError past ``limits.token_edges`` edges or ``limits.seconds``;
            VocabularyError if the vocabulary spells no accepted text at all.
    Source: Koo et al. 2024, Algorithm 2, §2.4.
    """
    rows = _rows(dfa, vocabulary, limits)
    alive = _alive(dfa, rows)
    if not alive[dfa.initial]:
        raise cannot_spell(vocabulary)
    first = np.zeros(len(dfa) + 1, np.int32)
    kept: list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]] = []
    for state in range(len(dfa)):
        ids, targets = rows.get(state, (_NONE, _NONE))
        keep = alive[targets] if alive[state] else np.zeros(len(targets), np.bool_)
        ids, targets = ids[keep], targets[keep]
        order = np.argsort(ids, kind="stable")
        kept.append((ids[order], targets[order]))
        first[state + 1] = first[state] + len(ids)
    return TokenFsa(
        vocabulary=vocabulary,
        initial=dfa.initial,
        finals=dfa.finals & alive,
        first=first,
        token_ids=np.concatenate([ids for ids, _ in kept]),
        targets=np.concatenate([targets for _, targets in kept]),
    )


_NONE = np.empty(0, np.int32)

_Rows = dict[State, tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]]


def cannot_spell(vocabulary: Vocabulary) -> VocabularyError:
    """The error of a vocabulary that spells nothing the grammar accepts."""
    return VocabularyError(
        f"no accepted text can be spelt with the tokens of {vocabulary.name}",
        "add the characters the grammar needs to the vocabulary, or choose another one",
    )


def _rows(dfa: Dfa, vocabulary: Vocabulary, limits: Limits) -> _Rows:
    """The token edges of every state that tokens reach, dead ends still among them."""
    trie = vocabulary.trie
    path = np.empty(trie.height + 1, np.int32)  # the state after each byte of a token
    clock = limits.clock()
    rows: _Rows = {}
    waiting = [dfa.initial]
    total = 0
    while waiting:
        state = waiting.pop()
        if state in rows:
            continue
        shape = (dfa.table, dfa.classes, trie.byte, trie.depth, trie.skip, trie.first)
        path[0] = state
        count = count_edges(*shape, path)
        total += count
        limits.check("token_edges", total, "draw a smaller vocabulary, or a smaller grammar")
        clock.check()
        ids, targets = np.empty(count, np.int32), np.empty(count, np.int32)
        fill_edges(*shape, trie.token_ids, path, ids, targets)
        rows[state] = ids, targets
        waiting.extend(int(target) for target in np.unique(targets))
    return rows


def _alive(dfa: Dfa, rows: _Rows) -> npt.NDArray[np.bool_]:
    """The states from which whole tokens lead to a final state, (Q,)."""
    sources: dict[State, list[State]] = {}
    for state, (_, targets) in rows.items():
        for target in np.unique(targets):
            sources.setdefault(int(target), []).append(state)
    alive = np.zeros(len(dfa), np.bool_)
    waiting = [state for state in rows if dfa.finals[state]]
    while waiting:
        state = waiting.pop()
        if not alive[state]:
            alive[state] = True
            waiting.extend(sources.get(state, ()))
    return alive
