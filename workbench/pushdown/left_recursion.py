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

from workbench.automata.determinize import determinize
from workbench.automata.dfa import DEAD, Dfa, State
from workbench.automata.minimize import minimize
from workbench.automata.nfa import Nfa, NfaBuilder
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
            rewritten[goal] = minimize(determinize(nfa, limits), limits)
    return rewritten


def _first_calls(machine: Dfa) -> list[int]:
    """The rules an automaton can call before reading anything."""
    row = machine.table[machine.initial]
    columns = machine.classes[CALLS:].tolist()
    return [rule for rule, column in enumerate(columns) if row[column] != DEAD]


def _left_corner(goal: int, circle: Mapping[int, Dfa]) -> Nfa:
    """The automaton of one rule of a circle, its calls at the left turned upside down.

    It holds a copy of every rule of the circle, to be entered after a left corner; a
    copy's own first state may be met again inside and keeps all its edges there.
    """
    symbols = len(circle[goal].classes)
    builder = NfaBuilder(symbols)
    start, end = builder.new_state(), builder.new_state()
    copies = {rule: _copied(builder, machine) for rule, machine in circle.items()}
    #: For each rule the states reached when it is finished at somebody's left end.
    beginnings: dict[int, list[State]] = {rule: [] for rule in circle}
    for rule, machine in circle.items():
        for symbol, target in _edges(machine, machine.initial):
            if symbol >= CALLS and symbol - CALLS in circle:
                beginnings[symbol - CALLS].append(copies[rule] + target)
            else:
                builder.edge(start, symbol, symbol, copies[rule] + target)
    for rule, machine in circle.items():
        for state in range(len(machine)):
            if machine.finals[state]:
                for beginning in beginnings[rule]:
                    builder.epsilon(copies[rule] + state, beginning)
                if rule == goal:
                    builder.epsilon(copies[rule] + state, end)
    nullable = circle[goal].finals[circle[goal].initial]
    return builder.build(start, {start, end} if nullable else {end})


def _copied(builder: NfaBuilder, machine: Dfa) -> int:
    """A copy of an automaton's states and edges; the number of its first state."""
    offset = len(builder)
    for _ in range(len(machine)):
        builder.new_state()
    for state in range(len(machine)):
        for symbol, target in _edges(machine, state):
            builder.edge(offset + state, symbol, symbol, offset + target)
    return offset


def _edges(machine: Dfa, state: State) -> Iterator[tuple[int, State]]:
    """Every symbol a state reads, with where it leads."""
    row = machine.table[state].tolist()
    for symbol, its_class in enumerate(machine.classes.tolist()):
        if row[its_class] != DEAD:
            yield symbol, row[its_class]
