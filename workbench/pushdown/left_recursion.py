"""Left recursion removed: rules that call themselves first become rules that loop.

In come the automata of all rules; out come automata of the same languages in which no rule calls
itself before reading a byte, at once, through others or behind nullable parts.

A left-recursive rule is read from its left corner upwards: first the bytes some rule of the circle
begins with; whenever a rule of the circle is finished, whatever it can be the beginning of goes
on. All this happens inside one automaton, the goal's, so nothing is pushed; calls further right
stay calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from workbench.automata.build import smallest
from workbench.automata.dfa import DEAD, Dfa, State
from workbench.automata.nfa import Edge, Nfa, NfaBuilder, class_runs
from workbench.limits import Limits
from workbench.pushdown.circles import circles
from workbench.pushdown.network import CALLS


def without_left_recursion(rules: Mapping[int, Dfa], limits: Limits) -> dict[int, Dfa]:
    """The same rules, the left-recursive ones rewritten.

    Raises: LimitError where an automaton grows too large.
    Source: the left-corner transform (Rosenkrantz & Lewis 1970, "Deterministic left corner
            parsing"), on automata instead of rules, and for the circles alone.
    """
    first = {rule: _first_calls(machine) for rule, machine in rules.items()}
    rewritten = dict(rules)
    for circle in circles(first):
        for goal in circle:
            nfa = _left_corner(goal, {rule: rules[rule] for rule in sorted(circle)})
            rewritten[goal] = smallest(nfa, limits)
    return rewritten


def _first_calls(machine: Dfa) -> list[int]:
    """The rules an automaton can call before reading anything."""
    row = machine.table[machine.initial]
    called: list[int] = np.flatnonzero(row[machine.classes[CALLS:]] != DEAD).tolist()
    return called


def _left_corner(goal: int, circle: Mapping[int, Dfa]) -> Nfa:
    """The automaton of one rule of a circle, its calls at the left turned upside down.

    It holds a copy of every rule of the circle, to be entered after a left corner; a
    copy's own first state may be met again inside and keeps all its edges there.
    """
    symbols = len(circle[goal].classes)
    builder = NfaBuilder(symbols)
    start, end = builder.new_state(), builder.new_state()
    copies = {rule: builder.copy(machine) for rule, machine in circle.items()}
    #: For each rule the states reached when it is finished at somebody's left end.
    beginnings: dict[int, list[State]] = {rule: [] for rule in circle}
    for rule, machine in circle.items():
        for low, high, target in _edges(machine, machine.initial):
            if low - CALLS in circle:
                beginnings[low - CALLS].append(copies[rule] + target)
            else:
                builder.edge(start, low, high, copies[rule] + target)
    for rule, machine in circle.items():
        for state in np.flatnonzero(machine.finals).tolist():
            for beginning in beginnings[rule]:
                builder.epsilon(copies[rule] + state, beginning)
            if rule == goal:
                builder.epsilon(copies[rule] + state, end)
    nullable = circle[goal].finals[circle[goal].initial]
    return builder.build(start, {start, end} if nullable else {end})


def _edges(machine: Dfa, state: State) -> Iterator[Edge]:
    """The edges of a state: runs of bytes, and calls one by one."""
    runs = class_runs(machine)
    for its_class, target in enumerate(machine.table[state].tolist()):
        for low, high in runs[its_class] if target != DEAD else ():
            if low < CALLS:
                yield low, min(high, CALLS - 1), target
            for call in range(max(low, CALLS), high + 1):
                yield call, call, target
