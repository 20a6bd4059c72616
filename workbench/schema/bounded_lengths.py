"""The strings of a set that have a bounded number of characters.

The automaton is a product of the set's automaton with a counter. Only pairs that lie on the way to
a final state are built, and pairs for which the count no longer matters are one state: every string
that may still follow is within the bounds. In an email address with at most 254 characters these
are the states of an IP address, except near the end: 5,900 states instead of 43,000.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from workbench.automata.determinize import nothing
from workbench.base.dfa import DEAD, Dfa
from workbench.base.limits import LIMITS, Clock, Limits
from workbench.schema.json_literals import ARRAY_STATES
from workbench.schema.string_machines import Content, has_member, is_finite

_Flags = npt.NDArray[np.bool_]
_Numbers = npt.NDArray[np.int64]

_HINT = "lower the bounds of the string's length"
#: The length of the longest string from a state with infinitely many; no count reaches it.
_NO_END = 1 << 40


def with_lengths(content: Content, low: int, high: int | None, limits: Limits = LIMITS) -> Content:
    """The members of ``low`` to ``high`` characters.

    A state is a pair of a state of the set's automaton and the number of characters read, or a
    state of the set's automaton alone, where the number no longer matters.

    Cost:   states × lengths, by numpy; the sets of states at each length are computed until they
            repeat.
    Raises: LimitError past ``ARRAY_STATES`` times ``limits.states`` states, or ``limits.seconds``.
    """
    machine, states = content.machine, len(content.machine)
    if is_finite(content) and (high is None or not has_member(content, high + 1, None, limits)):
        high, low = None, min(low, states)  # all members are shorter
    last = low if high is None else high
    limits.check("states", last, _HINT)
    ways = _Ways(machine, limits.clock())
    kept = ways.on_the_way(low, high, last)
    if not kept[0, machine.initial]:
        return replace(content, machine=nothing(len(machine.classes)))
    length = np.arange(last + 1)[:, None]
    shortest, longest = ways.remaining_lengths()
    free = kept & (length + shortest >= low)
    if high is not None:
        free &= length + longest <= high
    if free[0, machine.initial]:
        return content
    counted = kept & ~free
    count, alone = int(counted.sum()), np.flatnonzero(free.any(axis=0))
    limits.check("states", (count + len(alone)) / ARRAY_STATES, _HINT)
    # DEAD is the last column
    number_alone = np.full(states + 1, DEAD, np.int32)
    number_alone[alone] = np.arange(count, count + len(alone))
    numbers = np.full((last + 2, states + 1), DEAD, np.int32)
    numbers[:-1, :-1] = np.where(free, number_alone[:-1], DEAD)
    numbers[:-1, :-1][counted] = np.arange(count)
    position, state = np.nonzero(counted)
    table = np.concatenate(
        [numbers[position[:, None] + 1, machine.table[state]], number_alone[machine.table[alone]]]
    )
    finals = np.concatenate([machine.finals[state] & (position >= low), machine.finals[alone]])
    return replace(content, machine=Dfa(machine.classes, table, finals))


class _Ways:
    """The pairs of states of an automaton with an edge between them."""

    def __init__(self, machine: Dfa, clock: Clock) -> None:
        self._machine, self._clock, states = machine, clock, len(machine)
        sources, columns = np.nonzero(machine.table != DEAD)
        pairs = np.unique(sources * states + machine.table[sources, columns])
        self._sources, self._targets = pairs // states, pairs % states

    def on_the_way(self, low: int, high: int | None, last: int) -> _Flags:
        """For each length up to ``last``, the states on the way to a member; (last + 1, states).

        Without ``high``, the states of the last row are those after that many characters or more.
        """
        finals, states = self._machine.finals, len(self._machine)
        first = np.arange(states) == self._machine.initial
        forward = self._iterated(first, self._after, last)
        if high is None:
            forward[last] = self._closure(forward[last], self._after)
            within = self._closure(finals, self._before)[None]
        else:
            within = self._iterated(finals, lambda ends: self._before(ends) | finals, high - low)
        backward = self._iterated(within[-1], self._before, low)
        kept: _Flags = forward & np.concatenate([backward[:0:-1], within[::-1]])
        return kept

    def remaining_lengths(self) -> tuple[_Numbers, _Numbers]:
        """For each state, the lengths of the shortest and of the longest string to a final state.

        They are ``_NO_END`` for states without a string, and for those with infinitely many.
        """
        finals = self._machine.finals
        shortest = np.where(finals, 0, _NO_END)
        longest = shortest.copy()
        ends, length = finals, 0
        for length in range(1, len(finals) + 1):
            self._clock.check()
            ends = self._before(ends)
            if not ends.any():
                return shortest, longest
            shortest[ends & (shortest == _NO_END)] = length
            longest[ends] = length
        # a string of as many characters as there are states passes through a cycle
        longest[self._closure(ends, self._before)] = _NO_END
        return shortest, longest

    def _after(self, states: _Flags) -> _Flags:
        """The states one character after some states."""
        after = np.zeros(len(states), np.bool_)
        after[self._targets[states[self._sources]]] = True
        return after

    def _before(self, states: _Flags) -> _Flags:
        """The states one character before some states."""
        before = np.zeros(len(states), np.bool_)
        before[self._sources[states[self._targets]]] = True
        return before

    def _closure(self, states: _Flags, step: Callable[[_Flags], _Flags]) -> _Flags:
        """The states after any number of steps."""
        while (more := step(states) & ~states).any():
            self._clock.check()
            states = states | more
        return states

    def _iterated(self, states: _Flags, step: Callable[[_Flags], _Flags], count: int) -> _Flags:
        """The sets of states after 0 to ``count`` steps; computed until one repeats."""
        sets: list[_Flags] = []
        seen: dict[bytes, int] = {}
        while len(sets) <= count and (key := states.tobytes()) not in seen:
            self._clock.check()
            seen[key] = len(sets)
            sets.append(states)
            states = step(states)
        index = np.arange(count + 1)
        if len(sets) <= count:
            first = seen[states.tobytes()]
            index[first:] = first + (index[first:] - first) % (len(sets) - first)
        whole: _Flags = np.array(sets)[index]
        return whole
