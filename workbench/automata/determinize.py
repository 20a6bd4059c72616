"""Determinize: in comes an Nfa, out comes a Dfa of the same language."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD, Dfa
from workbench.automata.explore import nothing
from workbench.automata.nfa import Edge, Nfa
from workbench.limits import LIMITS, Clock, Limits

#: A set of symbols, as the sorted ``(low, high)`` ranges an Nfa's edges name it by.
_Label = tuple[tuple[int, int], ...]

_HINT = "a repetition or a choice makes too many cases; bound it"


def determinize(nfa: Nfa, limits: Limits = LIMITS, clock: Clock | None = None) -> Dfa:
    """The Dfa whose states are the sets of Nfa states a text can lead to.

    Symbols no edge tells apart share a column. States of the Nfa from which no final state
    is reached are left out first, so every set that is not empty is alive and nothing has
    to be trimmed afterwards. ``clock`` is that of the work this is part of.

    Cost:   2^Q sets at worst; stopped inside the loop.
    Raises: LimitError past ``limits.states`` sets or ``limits.seconds``.
    Source: Rabin & Scott 1959, "Finite automata and their decision problems", theorem 11.
    """
    clock = clock or limits.clock()
    alive = _alive(nfa)
    if nfa.initial not in alive:
        return nothing(nfa.symbols)
    labels = [_labels(edges, alive) for edges in nfa.edges]
    classes, columns = symbol_classes({s for of in labels for _, s in of}, nfa.symbols)
    sets = _Sets(nfa, alive, clock)
    sets.number_of_target(nfa.initial)
    table = np.full((64, int(classes.max()) + 1), DEAD, np.int32)
    for row, here in enumerate(sets.members):  # grows while it is read
        if row == len(table):
            limits.check("megabytes", table.nbytes * 2 >> 20)
            table = np.vstack([table, np.full_like(table, DEAD)])
        edges = [edge for state in here for edge in labels[state]]
        _fill(table[row], edges, columns, sets)
        clock.check()
        limits.check("states", len(sets.members), _HINT)
    finals = np.array([not nfa.finals.isdisjoint(s) for s in sets.members], np.bool_)
    return Dfa(classes, np.ascontiguousarray(table[: len(finals)]), finals)


def _fill(
    row: npt.NDArray[np.int32],
    edges: list[tuple[int, _Label]],
    columns: dict[_Label, _Columns],
    sets: _Sets,
) -> None:
    """Write where a set leads to, by symbol class."""
    taken = 0
    for _, label in edges:
        mask = columns[label].mask
        if taken & mask:
            _fill_overlapping(row, edges, columns, sets)
            return
        taken |= mask
    for target, label in edges:
        row[columns[label].index] = sets.number_of_target(target)


def _fill_overlapping(
    row: npt.NDArray[np.int32],
    edges: list[tuple[int, _Label]],
    columns: dict[_Label, _Columns],
    sets: _Sets,
) -> None:
    """The same where one symbol leads to several states at once."""
    targets: dict[int, list[int]] = defaultdict(list)
    for target, label in edges:
        for column in columns[label].numbers:
            targets[column].append(target)
    known: dict[tuple[int, ...], int] = {}
    for column, together in targets.items():
        key = tuple(together)
        if key not in known:
            known[key] = sets.number_of_targets(together)
        row[column] = known[key]


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """The classes a label is made of: as a list, as bits, and as numpy likes to index by it."""

    numbers: list[int]
    mask: int
    index: int | npt.NDArray[np.intp]

    @staticmethod
    def of(columns: list[int]) -> _Columns:
        index = columns[0] if len(columns) == 1 else np.array(columns, np.intp)
        return _Columns(columns, sum(1 << column for column in columns), index)


def symbol_classes(
    labels: set[_Label], symbols: int
) -> tuple[npt.NDArray[np.uint16], dict[_Label, _Columns]]:
    """The coarsest partition in which every label is a union of classes.

    Classes are numbered by their first symbol. Returns the class of each symbol, and the
    classes of each label.
    """
    known = list(labels)
    member = np.zeros((len(known) + 1, symbols), np.bool_)
    for row, label in enumerate(known):
        for low, high in label:
            member[row, low : high + 1] = True
    columns = np.ascontiguousarray(np.packbits(member, axis=0).T)  # (S, bytes)
    numbers: dict[bytes, int] = {}
    classes = np.array(
        [numbers.setdefault(column.tobytes(), len(numbers)) for column in columns], np.uint16
    )
    by_class = member[:, np.unique(classes, return_index=True)[1]]  # (L, C)
    columns_of = {
        label: _Columns.of(np.flatnonzero(by_class[row]).tolist())
        for row, label in enumerate(known)
    }
    return classes, columns_of


def _labels(edges: tuple[Edge, ...], alive: set[int]) -> list[tuple[int, _Label]]:
    """The edges of a state by target, each with the set of symbols that leads there."""
    if len(edges) == 1:
        low, high, target = edges[0]
        return [(target, ((low, high),))] if target in alive else []
    by_target: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for low, high, target in edges:
        if target in alive:
            by_target[target].append((low, high))
    return [(target, tuple(sorted(ranges))) for target, ranges in by_target.items()]


def _alive(nfa: Nfa) -> set[int]:
    """The states from which a final state is reached."""
    before: list[list[int]] = [[] for _ in range(len(nfa))]
    for state in range(len(nfa)):
        for _, _, target in nfa.edges[state]:
            before[target].append(state)
        for target in nfa.epsilons[state]:
            before[target].append(state)
    alive = set(nfa.finals)
    waiting = list(nfa.finals)
    while waiting:
        for state in before[waiting.pop()]:
            if state not in alive:
                alive.add(state)
                waiting.append(state)
    return alive


class _Sets:
    """The sets of Nfa states met so far, numbered; each is closed under ε.

    Kept are states that read something, and final ones: sets that differ in others only
    are the same state of the Dfa.
    """

    def __init__(self, nfa: Nfa, alive: set[int], clock: Clock) -> None:
        #: The sets in the order they were met.
        self.members: list[frozenset[int]] = []
        self._nfa = nfa
        self._alive = alive
        self._clock = clock
        self._numbers: dict[frozenset[int], int] = {}
        self._closures: dict[int, frozenset[int]] = {}
        self._number_of_target: dict[int, int] = {}

    def number_of_target(self, state: int) -> int:
        """The number of the set reached with one Nfa state."""
        number = self._number_of_target.get(state)
        if number is None:
            number = self._number_of_target[state] = self._number(self._closure(state))
        return number

    def number_of_targets(self, states: list[int]) -> int:
        """The number of the set reached with several."""
        reached: set[int] = set()
        for state in states:
            if state not in reached:  # else all that is reached from it is there too
                reached |= self._closure(state)
        return self._number(frozenset(reached))

    def _number(self, members: frozenset[int]) -> int:
        number = self._numbers.setdefault(members, len(self.members))
        if number == len(self.members):
            self.members.append(members)
        return number

    def _closure(self, state: int) -> frozenset[int]:
        known = self._closures.get(state)
        if known is None:
            known = self._closures[state] = self._walk(state)
        return known

    def _walk(self, state: int) -> frozenset[int]:
        nfa = self._nfa
        if not nfa.epsilons[state]:
            return frozenset((state,))
        self._clock.check()
        seen = {state}
        waiting = [state]
        while waiting:
            for target in nfa.epsilons[waiting.pop()]:
                if target not in seen and target in self._alive:
                    seen.add(target)
                    waiting.append(target)
        return frozenset(s for s in seen if nfa.edges[s] or s in nfa.finals)
