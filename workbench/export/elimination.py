"""Computes the regex of a graph whose edges are regexes, by state elimination.

States are taken out one after the other, the one first whose going makes the regex longest least;
what went through it becomes edges from its neighbours to its neighbours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from workbench.export.regex_text import pattern
from workbench.export.terms import EMPTY, NOTHING, concat, factored, repeat
from workbench.limits import Clock
from workbench.syntax.regex.tree import Regex

State = TypeVar("State", bound=Hashable)

#: Edges that are made on the way, at most.
_EDGES = 6_000


class TooLongError(Exception):
    """The regex would be longer than it may be."""


class Paths(Generic[State]):
    """The paths between states that are left.

    Source: Brzozowski & McCluskey 1963 (state elimination); the order by weights is that of
            Delgado & Morais 2004, "Approximation to the smallest regular expression for a given
            regular language".
    """

    def __init__(self, edges: Iterable[tuple[State, Regex, State]], most: int) -> None:
        self._most = most
        #: What leads from a state to another, with the length of its pattern.
        self._out: dict[State, dict[State, tuple[Regex, int]]] = defaultdict(dict)
        self._into: dict[State, set[State]] = defaultdict(set)
        self._added = 0
        for source, regex, target in edges:
            self._add(source, regex, target)

    def between(self, first: State, last: State, clock: Clock) -> Regex:
        """The texts of all paths from ``first``, which nothing enters, to ``last``.

        Cost:   quadratic in the states, with a small factor, and the length of the patterns for
                each edge made.
        Raises: TooLongError where a pattern has more than ``most`` characters, or too many edges
                are made; LimitError past the clock's time.
        """
        weights = {state: 0 for state in (*self._out, *self._into) if state not in (first, last)}
        touched = set(weights)
        while weights:
            clock.check("the automaton is too large for a regex")
            weights.update((state, self._weight(state)) for state in touched if state in weights)
            state = min(weights, key=weights.__getitem__)
            del weights[state]
            touched = {*self._out[state], *self._into[state]}
            self._take_out(state)
        return self._out[first].get(last, (NOTHING, 0))[0]

    def _weight(self, state: State) -> int:
        """How much longer all edges together get when a state goes."""
        out, into = self._out[state], self._into[state]
        loop = out[state][1] if state in out else 0
        leaving = sum(length for target, (_, length) in out.items() if target != state)
        entering = sum(self._out[before][state][1] for before in into if before != state)
        exits, entries = len(out) - (state in out), len(into) - (state in into)
        return entering * (exits - 1) + leaving * (entries - 1) + loop * (exits * entries - 1)

    def _take_out(self, state: State) -> None:
        out = self._out.pop(state)
        into = self._into.pop(state)
        loop = repeat(out.pop(state)[0], 0, None) if state in out else EMPTY
        into.discard(state)
        for target in out:
            self._into[target].discard(state)
        for before in into:
            entering, _ = self._out[before].pop(state)
            for target, (leaving, _) in out.items():
                self._add(before, concat(entering, loop, leaving), target)

    def _add(self, source: State, regex: Regex, target: State) -> None:
        known = self._out[source].get(target)
        both = regex if known is None else factored(known[0], regex)
        length = len(pattern(both))
        self._added += 1
        if length > self._most or self._added > _EDGES:
            raise TooLongError
        self._out[source][target] = both, length
        self._into[target].add(source)
