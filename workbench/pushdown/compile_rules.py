"""Compiles rules to automata, inlines those that call nothing, and links them to a network.

In comes a ``RuleProgram`` and which rules stay calls; out comes the automaton of a rule. A call at
the end of a rule is a jump, so right recursion needs no stack.

In come the automata of all rules, none left-recursive; out come those that still need a stack.
This is what finds languages that are regular in disguise behind left recursion and ambiguity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from workbench.automata.build import smallest
from workbench.automata.nfa import Classes, Ints, Nfa, NfaBuilder, class_runs
from workbench.automata.program_nfa import rule_nfa
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import LimitError
from workbench.base.kernels import njit
from workbench.base.limits import Limits
from workbench.pushdown.cfg import RuleProgram
from workbench.pushdown.network import CALLS, Network, is_star


class Writer:
    """Writes rules as NFAs over bytes and calls."""

    def __init__(
        self, program: RuleProgram, number: Mapping[int, int], jumps: Set[int], limits: Limits
    ) -> None:
        self._program = program
        self._symbols = CALLS + max(number.values(), default=0) + 1
        self._limits = limits
        rules = np.empty((len(program.names), 4), np.int32)
        rules[:, 0] = program.first[:-1]
        rules[:, 1] = program.texts[program.first[:-1]]
        rules[:, 2] = -1
        rules[:, 3] = 0
        for rule, its_number in number.items():
            rules[rule, 2] = CALLS + its_number
        rules[list(jumps), 3] = 1
        self._rules = rules

    def rule(self, rule: int) -> Nfa:
        """The automaton of a rule, everything that needs no stack written in.

        Raises: LimitError past ``limits.states``.
        """
        program, most = self._program, self._limits.states
        nfa = rule_nfa(
            program.code, program.data, program.texts, self._rules, rule, self._symbols, most
        )
        if nfa is None:
            self._limits.check("states", most + 1)
            raise AssertionError("the budget is overdrawn")
        return nfa


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


def assembled(names: Sequence[str], rules: Mapping[int, Dfa], limits: Limits) -> Network:
    """All automata in one numbering; the rules that are still called are renumbered in order.

    Raises: LimitError where the table takes more than ``limits.megabytes``.
    """
    reached = [0]
    for rule in reached:  # grows while it is read
        reached.extend(other for other in called(rules[rule]) if other not in reached)
    order = sorted(reached)
    machines = [rules[old] for old in order]
    symbols = np.array([*range(CALLS), *(CALLS + old for old in order)])
    # a class of the whole is a class in every rule: told apart by the rules' own classes alone
    classes, width = np.zeros(len(symbols), np.uint16), 1
    for machine in machines:
        width = _tell_apart(classes, width, machine.classes[symbols], machine.table.shape[1])
    sizes = [len(machine) for machine in machines]
    offsets = np.cumsum([0, *sizes]).tolist()
    limits.check("megabytes", 4 * offsets[-1] * width / 2**20)
    table = np.full((offsets[-1], width), DEAD, np.int32)
    for machine, offset in zip(machines, offsets, strict=False):
        _place(table, offset, classes, machine.classes[symbols], machine.table)
    return Network(
        names=tuple(names[old] for old in order),
        initials=tuple(at + one.initial for one, at in zip(machines, offsets, strict=False)),
        start=0,
        classes=classes,
        table=table,
        finals=np.concatenate([machine.finals for machine in machines]),
        owner=np.repeat(np.arange(len(order), dtype=np.int32), sizes),
    )


@njit(cache=True, nogil=True)
def _tell_apart(classes: Classes, count: int, own: Classes, width: int) -> int:
    """Split ``count`` classes of symbols by ``width`` others; how many there are, in order."""
    numbers, made = np.full((count, width), -1, np.int32), 0
    for symbol in range(len(classes)):
        one, other = classes[symbol], own[symbol]
        if numbers[one, other] < 0:
            numbers[one, other] = made
            made += 1
        classes[symbol] = numbers[one, other]
    return made


@njit(cache=True, nogil=True)
def _place(table: Ints, offset: int, classes: Classes, own: Classes, part: Ints) -> None:
    """Write the edges of one rule into the table of all, which is empty there."""
    lives = np.zeros(part.shape[1], np.bool_)
    for row in part:
        for source in range(len(row)):
            lives[source] |= row[source] >= 0
    written = 0
    for symbol in range(len(classes)):
        column, source = classes[symbol], own[symbol]
        if column < written:
            continue
        written += 1
        if not lives[source]:  # the calls of most other rules
            continue
        for state in range(len(part)):
            target = part[state, source]
            if target >= 0:
                table[offset + state, column] = target + offset
