"""Compiles rules to automata, inlines rules that call nothing, and links the rest to a network.

1. ``Writer.rule`` compiles one rule of a ``RuleProgram`` to an NFA; rules without a number are
   inlined (``automata.program_nfa``).
2. ``inlined`` takes the minimal automata, none of them left-recursive, and inlines every rule that
   calls nothing, repeatedly. So it also finds regular languages hidden behind left recursion and
   ambiguity: in the end the start rule may call nothing.
3. ``linked`` renumbers the states and symbol classes of the remaining automata into one table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from workbench.automata.graphs import reachable
from workbench.automata.nfa import Classes, Flags, Ints, Nfa, NfaBuilder, class_runs
from workbench.automata.program_nfa import rule_nfa
from workbench.automata.small_dfa import SMALL, small_dfa, smallest
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import LimitError
from workbench.base.kernels import njit
from workbench.base.limits import Limits
from workbench.pushdown.cfg import RuleProgram
from workbench.pushdown.network import CALLS, Network


class Writer:
    """Compiles rules to NFAs over bytes and calls.

    ``number`` gives the call symbols of rules that are not inlined; calls of ``jumps`` at the end
    of the compiled rule are inlined anyway.
    """

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
        """The automaton of a rule, with all rules inlined that have no number.

        Raises: LimitError above ``limits.states``.
        """
        program, most = self._program, self._limits.states
        nfa = rule_nfa(
            program.code, program.data, program.texts, self._rules, rule, self._symbols, most
        )
        if nfa is None:
            self._limits.check("states", most + 1)
            raise AssertionError("the limit of states is exceeded")
        return nfa


#: Makes the smallest Dfa of an Nfa; raises LimitError above a limit.
Determinization = Callable[[Nfa, Limits], Dfa]

#: The automaton of a rule with others inlined has at most ``_MAX_STATES + _STATES_PER_NFA_STATE *
#: len(nfa)`` states; otherwise these rules are called. Rules in use that exceed this limit, such as
#: items with high counts and statements of programming languages, exceed it a hundred times.
_MAX_STATES, _STATES_PER_NFA_STATE = 64, 4


def proportional_states(nfa: Nfa) -> int:
    """The most states of the Dfa of a rule with other rules inlined."""
    return min(SMALL, _MAX_STATES + _STATES_PER_NFA_STATE * len(nfa))


def proportional(nfa: Nfa, limits: Limits) -> Dfa:
    """The smallest Dfa of an Nfa if it is not much larger.

    Cost:   as ``small_dfa``.
    Raises: LimitError of ``states`` above ``proportional_states``.
    """
    most = min(limits.states, proportional_states(nfa))
    dfa = small_dfa(nfa, most)
    if dfa is None:
        raise LimitError(f"a rule needs more than {most:,} states", "states")
    return dfa


#: The most states of an automaton with an inlined rule.
_MAX_INLINED_STATES = 10_000

#: A rule is not inlined if all its copies together would have more states.
_MAX_COPIED_STATES = 4_000


def inlined(
    rules: Mapping[int, Dfa], limits: Limits, determinized: Determinization = smallest
) -> dict[int, Dfa]:
    """The rules, with calls of themselves at their end as jumps, and with leaves inlined.

    A leaf is a rule that calls nothing. It stays a call if inlining it needs too many states.

    Raises: LimitError above ``limits.seconds``.
    """
    remaining = {rule: _with_jumps(rule, machine, limits) for rule, machine in rules.items()}
    small = replace(limits, states=min(limits.states, _MAX_INLINED_STATES))
    kept = {0}
    while (leaf := _leaf(remaining, kept)) is not None:
        its = remaining[leaf]
        try:
            callers = {
                rule: _with_copies(machine, leaf, its, small, determinized)
                for rule, machine in remaining.items()
            }
        except LimitError as error:
            if error.budget != "states":
                raise
            kept.add(leaf)
        else:
            remaining = {rule: machine for rule, machine in callers.items() if rule != leaf}
    return remaining


def _leaf(rules: Mapping[int, Dfa], kept: Set[int]) -> int | None:
    """A rule that calls nothing and whose copies would have few states."""
    return next(
        (
            rule
            for rule, machine in rules.items()
            if rule not in kept
            and not called(machine)
            and _copied_states(rules, rule) <= _MAX_COPIED_STATES
        ),
        None,
    )


def called(rule: Dfa) -> list[int]:
    """The rules an automaton calls."""
    if len(rule.classes) == CALLS:  # only bytes
        return []
    found: list[int] = np.flatnonzero(_read(rule.table)[rule.classes[CALLS:]]).tolist()
    return found


@njit()
def _read(table: Ints) -> Flags:
    """Whether some state reads each class."""
    read = np.zeros(table.shape[1], np.bool_)
    for row in table:
        for its_class in range(len(row)):
            read[its_class] |= row[its_class] >= 0
    return read


def without_calls(rule: Dfa) -> Dfa:
    """An automaton that calls nothing, restricted to bytes."""
    used, classes = np.unique(rule.classes[:CALLS], return_inverse=True)
    return Dfa(classes.astype(np.uint16), rule.table[:, used], rule.finals, rule.initial)


def _copied_states(rules: Mapping[int, Dfa], leaf: int) -> int:
    """The number of states of all copies of a rule together."""
    uses = sum(
        int((machine.table[:, machine.classes[CALLS + leaf]] != DEAD).sum())
        for machine in rules.values()
    )
    return len(rules[leaf]) * uses


def _with_jumps(rule: int, machine: Dfa, limits: Limits) -> Dfa:
    """The automaton with jumps to its initial state instead of calls of itself at its end.

    Let r be the state after the call. The call may be a jump if L(rule)·L(r) = L(rule): if r has no
    edges, or if r is the only final state: then L(r) is closed under repetition.
    """
    targets = machine.table[:, machine.classes[CALLS + rule]]
    finals = np.flatnonzero(machine.finals).tolist()
    jumping = [
        state
        for state in np.flatnonzero(targets != DEAD).tolist()
        if machine.finals[after := int(targets[state])]
        and (finals == [after] or not (machine.table[after] != DEAD).any())
    ]
    if not jumping:
        return machine
    builder = NfaBuilder(len(machine.classes))
    builder.copy(_without(machine, CALLS + rule, jumping))
    for state in jumping:
        builder.epsilon(state, machine.initial)
    return smallest(builder.build(machine.initial, set(finals)), limits)


def _with_copies(
    machine: Dfa, leaf: int, its: Dfa, limits: Limits, determinized: Determinization
) -> Dfa:
    """The automaton with a copy of the leaf in place of every call of it.

    A call represents only the non-empty texts of a rule; the callers of a nullable rule have an
    ε-edge in parallel with the call.
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
    return determinized(builder.build(machine.initial, finals), limits)


def _without(machine: Dfa, symbol: int, states: list[State]) -> Dfa:
    """The machine without the edges of a symbol in some states."""
    classes, table = machine.classes.copy(), machine.table
    table = np.append(table, table[:, classes[symbol : symbol + 1]], axis=1)
    classes[symbol] = table.shape[1] - 1
    table[states, -1] = DEAD
    return Dfa(classes, table, machine.finals, machine.initial)


def linked(names: Sequence[str], rules: Mapping[int, Dfa], limits: Limits) -> Network:
    """The network of all automata; the rules that are still called are renumbered in order.

    Automata that call nothing may have the symbols of bytes only.

    Raises: LimitError if the table needs more than ``limits.megabytes``.
    """
    order = sorted(reachable([0], lambda rule: called(rules[rule])))
    machines = [rules[old] for old in order]
    symbols = np.array([*range(CALLS), *(CALLS + old for old in order)])
    # the classes of the network are the common refinement of the rules' classes
    classes, width = np.zeros(len(symbols), np.uint16), 1
    own = [_classes_of(machine, symbols) for machine in machines]
    for machine, its_classes in zip(machines, own, strict=True):
        width = _refine(classes, width, its_classes, machine.table.shape[1] + 1)
    sizes = [len(machine) for machine in machines]
    offsets = np.cumsum([0, *sizes]).tolist()
    limits.check("megabytes", 4 * offsets[-1] * width / 2**20)
    table = np.full((offsets[-1], width), DEAD, np.int32)
    for machine, its_classes, offset in zip(machines, own, offsets, strict=False):
        _write_rule(table, offset, classes, its_classes, machine.table)
    return Network(
        names=tuple(names[old] for old in order),
        initials=tuple(at + one.initial for one, at in zip(machines, offsets, strict=False)),
        start=0,
        classes=classes,
        table=table,
        finals=np.concatenate([machine.finals for machine in machines]),
        owner=np.repeat(np.arange(len(order), dtype=np.int32), sizes),
    )


def _classes_of(machine: Dfa, symbols: Ints) -> Classes:
    """The classes of some symbols; a new one for symbols that the machine does not have."""
    if len(machine.classes) > CALLS:
        return machine.classes[symbols]
    classes = np.full(len(symbols), machine.table.shape[1], np.uint16)
    classes[:CALLS] = machine.classes
    return classes


@njit()
def _refine(classes: Classes, count: int, own: Classes, width: int) -> int:
    """Split ``count`` classes of symbols by ``width`` others; return the new number of classes.

    Classes are numbered by their first symbol.
    """
    numbers, made = np.full((count, width), -1, np.int32), 0
    for symbol in range(len(classes)):
        one, other = classes[symbol], own[symbol]
        if numbers[one, other] < 0:
            numbers[one, other] = made
            made += 1
        classes[symbol] = numbers[one, other]
    return made


@njit()
def _write_rule(table: Ints, offset: int, classes: Classes, own: Classes, part: Ints) -> None:
    """Write the edges of one rule into its (still empty) rows of the network's table."""
    used, written = np.zeros(part.shape[1] + 1, np.bool_), 0
    for row in part:
        for source in range(len(row)):
            used[source] |= row[source] >= 0
    for symbol in range(len(classes)):
        column, source = classes[symbol], own[symbol]
        if column < written:
            continue
        written += 1
        if not used[source]:  # the calls of most other rules
            continue
        for state in range(len(part)):
            target = part[state, source]
            if target >= 0:
                table[offset + state, column] = target + offset
