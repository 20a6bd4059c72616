"""Determinize: in comes an Nfa, out comes a Dfa of the same language."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD, Dfa
from workbench.automata.explore import nothing
from workbench.automata.nfa import Edge, Nfa
from workbench.limits import LIMITS, Clock, Limits

#: A set of symbols, as the sorted ``(low, high)`` ranges an Nfa's edges name it by.
_Label = tuple[tuple[int, int], ...]


def determinize(nfa: Nfa, limits: Limits = LIMITS) -> Dfa:
    """The Dfa whose states are the sets of Nfa states a text can lead to.

    Symbols no edge tells apart share a column. States of the Nfa from which no final state
    is reached are left out first, so every set that is not empty is alive and nothing has
    to be trimmed afterwards.

    Cost:   2^Q sets at worst; stopped inside the loop.
    Raises: LimitError past ``limits.states`` sets or ``limits.seconds``.
    Source: Rabin & Scott 1959, "Finite automata and their decision problems", theorem 11.
    """
    clock = limits.clock()
    alive = _alive(nfa)
    if nfa.initial not in alive:
        return nothing(nfa.symbols)
    labels = [_labels(edges, alive) for edges in nfa.edges]
    classes, classes_of = symbol_classes({s for of in labels for _, s in of}, nfa.symbols)
    closures = _Closures(nfa, alive, clock)
    moves = _Moves(labels, classes_of, closures)
    first = closures.of(nfa.initial)
    numbers: dict[frozenset[int], int] = {first: 0}
    waiting = [first]
    rows: list[list[int]] = []
    width = int(classes.max()) + 1
    for here in waiting:  # grows while it is read
        row = [DEAD] * width
        for its_class, there in moves.of(here):
            number = numbers.setdefault(there, len(waiting))
            if number == len(waiting):
                waiting.append(there)
            row[its_class] = number
        rows.append(row)
        if not len(rows) & 31:
            _check(limits, clock, len(waiting), width)
    _check(limits, clock, len(waiting), width)
    finals = np.array([not nfa.finals.isdisjoint(s) for s in waiting], np.bool_)
    return Dfa(classes, np.array(rows, np.int32), finals)


def _check(limits: Limits, clock: Clock, states: int, width: int) -> None:
    limits.check("states", states, "a repetition or a choice makes too many cases; bound it")
    limits.check("megabytes", states * width * 4 >> 20)
    clock.check()


def symbol_classes(
    labels: set[_Label], symbols: int
) -> tuple[npt.NDArray[np.uint16], dict[_Label, list[int]]]:
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
    classes_of = {
        label: list(dict.fromkeys(classes[member[row]].tolist())) for row, label in enumerate(known)
    }
    return classes, classes_of


def _labels(edges: tuple[Edge, ...], alive: set[int]) -> list[tuple[int, _Label]]:
    """The edges of a state by target, each with the set of symbols that leads there."""
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


class _Closures:
    """For each state what is reached from it without reading, kept to what matters.

    What matters are states that read something, and final ones: two sets that differ
    in others only are the same state of the Dfa.
    """

    def __init__(self, nfa: Nfa, alive: set[int], clock: Clock) -> None:
        self._nfa = nfa
        self._alive = alive
        self._clock = clock
        self._known: dict[int, frozenset[int]] = {}

    def of(self, state: int) -> frozenset[int]:
        known = self._known.get(state)
        if known is None:
            known = self._known[state] = self._walk(state)
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


class _Moves:
    """What each set of Nfa states leads to, by symbol class."""

    def __init__(
        self,
        labels: list[list[tuple[int, _Label]]],
        classes_of: dict[_Label, list[int]],
        closures: _Closures,
    ) -> None:
        self._labels = labels
        self._classes_of = classes_of
        self._closures = closures
        self._known: dict[int, list[tuple[int, frozenset[int]]]] = {}

    def of(self, states: frozenset[int]) -> list[tuple[int, frozenset[int]]]:
        """Pairs of a class and the set it leads to; each class at most once, sorted."""
        if len(states) == 1:
            (state,) = states
            known = self._known.get(state)
            if known is None:
                known = self._known[state] = self._merged(states)
            return known
        return self._merged(states)

    def _merged(self, states: frozenset[int]) -> list[tuple[int, frozenset[int]]]:
        there: dict[int, list[frozenset[int]]] = {}
        for state in states:
            for target, label in self._labels[state]:
                closure = self._closures.of(target)
                for its_class in self._classes_of[label]:
                    if its_class in there:
                        there[its_class].append(closure)
                    else:
                        there[its_class] = [closure]
        return [
            (its_class, sets[0] if len(sets) == 1 else sets[0].union(*sets[1:]))
            for its_class, sets in sorted(there.items())
        ]
