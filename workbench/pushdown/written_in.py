"""Written in: rules whose automata call nothing become part of their callers.

In come the automata of all rules, none left-recursive; out come those that still need a stack.
This is what finds languages that are regular in disguise behind left recursion and ambiguity.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace

import numpy as np

from workbench.automata.build import smallest
from workbench.automata.dfa import DEAD, Dfa, State
from workbench.automata.nfa import NfaBuilder, class_runs
from workbench.errors import LimitError
from workbench.limits import Limits
from workbench.pushdown.network import CALLS, is_star

#: The most states an automaton may come to by copies of a leaf.
_SMALL = 10_000

#: The most states that copies of one rule may add to its callers.
_COPIED = 4_000


def written_in(rules: Mapping[int, Dfa], limits: Limits) -> dict[int, Dfa]:
    """The rules with jumps for calls of themselves at their end, and leaves written in.

    Where copies of a leaf would make an automaton explode, the leaf stays a call.

    Raises: LimitError past ``limits.seconds``.
    """
    left = {rule: _with_jumps(rule, machine, limits) for rule, machine in rules.items()}
    small = replace(limits, states=min(limits.states, _SMALL))
    staying = {0}
    while (leaf := _leaf(left, staying)) is not None:
        try:
            callers = {r: _with_copies(m, leaf, left[leaf], small) for r, m in left.items()}
        except LimitError as error:
            if error.budget != "states":
                raise
            staying.add(leaf)
        else:
            left = {rule: machine for rule, machine in callers.items() if rule != leaf}
    return left


def _leaf(rules: Mapping[int, Dfa], staying: Set[int]) -> int | None:
    """A rule that calls nothing and has few copies."""
    return next(
        (
            rule
            for rule, machine in rules.items()
            if rule not in staying and not called(machine) and _copies(rules, rule) <= _COPIED
        ),
        None,
    )


def called(rule: Dfa) -> list[int]:
    """The rules an automaton calls."""
    used = (rule.table != DEAD).any(axis=0)
    return [int(other) for other in np.flatnonzero(used[rule.classes[CALLS:]])]


def without_calls(rule: Dfa) -> Dfa:
    """An automaton that calls nothing, over bytes alone."""
    used, classes = np.unique(rule.classes[:CALLS], return_inverse=True)
    return Dfa(classes.astype(np.uint16), rule.table[:, used], rule.finals, rule.initial)


def _copies(rules: Mapping[int, Dfa], leaf: int) -> int:
    """How many states all copies of a rule come to."""
    uses = sum(
        int((machine.table[:, machine.classes[CALLS + leaf]] != DEAD).sum())
        for machine in rules.values()
    )
    return len(rules[leaf]) * uses


def _with_jumps(rule: int, machine: Dfa, limits: Limits) -> Dfa:
    """The automaton with jumps to its beginning for calls of itself that end it.

    A call of the rule after which only r remains may be a jump where L(rule)·L(r) is
    L(rule): r ends at once, or every text of the rule ends in r and L(r) is closed under
    being repeated.
    """
    targets = machine.table[:, machine.classes[CALLS + rule]]
    finals = np.flatnonzero(machine.finals).tolist()
    jumping = [
        state
        for state in np.flatnonzero(targets != DEAD).tolist()
        if machine.finals[after := int(targets[state])]
        and (
            not (machine.table[after] != DEAD).any()
            or (finals == [after] and is_star(machine.table, machine.finals, after))
        )
    ]
    if not jumping:
        return machine
    builder = NfaBuilder(len(machine.classes))
    builder.copy(_without(machine, CALLS + rule, jumping))
    for state in jumping:
        builder.epsilon(state, machine.initial)
    return smallest(builder.build(machine.initial, set(finals)), limits)


def _with_copies(machine: Dfa, leaf: int, its: Dfa, limits: Limits) -> Dfa:
    """The automaton with a copy of the leaf in place of every call of it.

    A call stands for the texts of a rule that are not empty: the way around it is there
    already, and at the beginning it may have been left recursion that is gone by now.
    """
    if leaf not in called(machine):
        return machine
    builder = NfaBuilder(len(machine.classes))
    targets = machine.table[:, machine.classes[CALLS + leaf]]
    calling = np.flatnonzero(targets != DEAD).tolist()
    builder.copy(_without(machine, CALLS + leaf, calling))
    runs, ends = class_runs(its), np.flatnonzero(its.finals).tolist()
    for state in calling:
        offset = builder.copy(its)
        for its_class, target in enumerate(its.table[its.initial].tolist()):
            for low, high in runs[its_class] if target != DEAD else ():
                builder.edge(state, low, high, target + offset)
        for end in ends:
            builder.epsilon(end + offset, int(targets[state]))
    finals = set(np.flatnonzero(machine.finals).tolist())
    return smallest(builder.build(machine.initial, finals), limits)


def _without(machine: Dfa, symbol: int, states: list[State]) -> Dfa:
    """The same states and edges, but for those of a symbol in some states."""
    classes, table = machine.classes.copy(), machine.table
    table = np.append(table, table[:, classes[symbol : symbol + 1]], axis=1)
    classes[symbol] = table.shape[1] - 1
    table[states, -1] = DEAD
    return Dfa(classes, table, machine.finals, machine.initial)
