"""TokenDfa: a small automaton whose labels are the texts of tokens, and how it is made and judged.

In come a byte automaton and the symbols merging begins with; out come explicit edges that
DirectMerge rewrites, lessons draw and tests count. For masks of real vocabularies see ``live``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from workbench.automata.dfa import DEAD, Dfa, State
from workbench.automata.minimize import minimize
from workbench.limits import LIMITS, Limits

#: The text of a token.
Label = bytes


@dataclass(frozen=True, eq=False)
class TokenDfa:
    """A deterministic automaton over tokens; ``edges[state][token]`` is where a token leads.

    Every state is a key of ``edges``. Trimmed, but for the initial state of the empty language.
    """

    initial: State
    finals: frozenset[State]
    edges: Mapping[State, Mapping[Label, State]]

    def __len__(self) -> int:
        """The number of states."""
        return len(self.edges)

    @cached_property
    def edge_count(self) -> int:
        """The number of edges."""
        return sum(map(len, self.edges.values()))

    @cached_property
    def alphabet(self) -> tuple[Label, ...]:
        """The tokens some edge reads, sorted."""
        return tuple(sorted({label for row in self.edges.values() for label in row}))

    def run(self, tokens: Iterable[Label]) -> State:
        """The state after some tokens, or ``DEAD``."""
        here = self.initial
        for token in tokens:
            here = self.edges[here].get(token, DEAD)
            if here == DEAD:
                return DEAD
        return here

    def accepts(self, tokens: Iterable[Label]) -> bool:
        """Whether a whole sequence of tokens is in the language."""
        return self.run(tokens) in self.finals

    def sequences(self, longest: int) -> list[tuple[Label, ...]]:
        """The accepted sequences whose text has at most ``longest`` bytes.

        Cost: one step for each sequence that can be read, accepted or not.
        """
        found: list[tuple[Label, ...]] = []
        waiting: list[tuple[State, int, tuple[Label, ...]]] = [(self.initial, 0, ())]
        while waiting:
            state, length, tokens = waiting.pop()
            if state in self.finals:
                found.append(tokens)
            waiting += [
                (target, length + len(label), (*tokens, label))
                for label, target in self.edges[state].items()
                if length + len(label) <= longest
            ]
        return sorted(found, key=lambda tokens: (sum(map(len, tokens)), tokens))


def permissive(dfa: Dfa, tokens: Iterable[Label], limits: Limits = LIMITS) -> TokenDfa:
    """Every way to spell the language with some tokens: the states stay, edges become tokens.

    With the symbols merging begins with, this is what DirectMerge starts from.

    Raises: LimitError past ``limits.token_edges``.
    Source: Outlines' automaton, as Tran-Thien 2024 calls it, figure 1b.
    """
    spelt, edges, count = tuple(dict.fromkeys(tokens)), {}, 0
    waiting = [dfa.initial]
    for state in waiting:  # grows while it is read
        if state in edges:
            continue
        row = {token: there for token in spelt if (there := dfa.run(token, state)) != DEAD}
        edges[state], count = row, count + len(row)
        waiting += row.values()
        limits.check("token_edges", count)
    return trimmed(dfa.initial, {state for state in edges if dfa.finals[state]}, edges)


def trimmed(
    initial: State, finals: Collection[State], edges: Mapping[State, Mapping[Label, State]]
) -> TokenDfa:
    """The part that is reached from the initial state and reaches a final one."""
    reached, waiting = {initial}, [initial]
    while waiting:
        for target in edges[waiting.pop()].values():
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    before: dict[State, set[State]] = defaultdict(set)
    for state in reached:
        for target in edges[state].values():
            before[target].add(state)
    useful = {state for state in finals if state in reached}
    waiting = list(useful)
    while waiting:
        for earlier in before[waiting.pop()]:
            if earlier not in useful:
                useful.add(earlier)
                waiting.append(earlier)
    kept = {
        state: {label: target for label, target in row.items() if target in useful}
        for state, row in edges.items()
        if state in useful
    }
    return TokenDfa(initial, frozenset(useful.intersection(finals)), kept or {initial: {}})


def over_labels(labels: Sequence[Label], machine: Dfa) -> TokenDfa:
    """A ``Dfa`` whose symbols are numbers of labels, as a TokenDfa; its states keep their names."""
    columns = machine.classes.tolist()
    rows = machine.table.tolist()
    edges = {
        state: {
            label: row[column]
            for label, column in zip(labels, columns, strict=True)
            if row[column] != DEAD
        }
        for state, row in enumerate(rows)
    }
    return TokenDfa(machine.initial, frozenset(np.flatnonzero(machine.finals).tolist()), edges)


def smallest(fsa: TokenDfa, limits: Limits = LIMITS) -> TokenDfa:
    """The least automaton of the same language, states numbered breadth first by token.

    Two automata of one language give the same one: how the case files' counts are compared.
    """
    labels = fsa.alphabet
    column = {label: i for i, label in enumerate(labels)}
    number = {state: i for i, state in enumerate(fsa.edges)}
    table = np.full((len(fsa), max(1, len(labels))), DEAD, np.int32)
    for state, row in fsa.edges.items():
        for label, target in row.items():
            table[number[state], column[label]] = number[target]
    finals = np.array([state in fsa.finals for state in fsa.edges], np.bool_)
    classes = np.arange(len(labels), dtype=np.uint16)
    if not labels:
        return TokenDfa(0, frozenset(np.flatnonzero(finals).tolist()), {0: {}})
    return over_labels(labels, minimize(Dfa(classes, table, finals, number[fsa.initial]), limits))
