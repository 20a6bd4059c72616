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
from heapq import heappop, heappush
from itertools import accumulate
from math import ceil, sqrt
from typing import NamedTuple

import numpy as np

from workbench.automata.nfa import Classes, Flags, Ints, Nfa, NfaBuilder, class_runs
from workbench.automata.program_nfa import rule_nfa
from workbench.automata.regex_program import LITERAL
from workbench.automata.small_dfa import SMALL, small_dfa, smallest
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import LimitError
from workbench.base.kernels import inner, int64, njit
from workbench.base.limits import Limits
from workbench.pushdown.cfg import RuleProgram
from workbench.pushdown.network import CALLS, Longs, Network, PhraseRule
from workbench.syntax.permutation_phrases import PermutationPhrase


class Digits(NamedTuple):
    """The symbols of marks: a mark is a high and a low digit, which have different symbols."""

    #: The symbol of the high digit 0.
    first: int
    #: The number of digits of each kind; 0 without marks.
    base: int

    @staticmethod
    def of(program: RuleProgram, first: int) -> Digits:
        """The digits for the largest phrase of a program."""
        most = max((phrase.marks for phrase in program.phrases.values()), default=0)
        return Digits(first, ceil(sqrt(most)))

    @property
    def end(self) -> int:
        """The number of all symbols."""
        return self.first + 2 * self.base

    def symbols(self, marks: Ints) -> tuple[Ints, Ints]:
        """The symbols of the two digits of each mark."""
        high, low = np.divmod(marks, self.base)
        return self.first + high, self.first + self.base + low

    def marks(self, rule: Dfa) -> Ints:
        """The marks of an automaton, (n, 3): a state, the mark's number, the state after it."""
        if not self.base or len(rule.classes) == CALLS:
            return np.empty((0, 3), np.int32)
        columns = rule.classes[self.first : self.end]
        highs, lows = rule.table[:, columns[: self.base]], rule.table[:, columns[self.base :]]
        states, digits = (highs != DEAD).nonzero()
        marks = [
            (state, digit * self.base + low, int(lows[middle, low]))
            for state, digit, middle in zip(
                states.tolist(), digits.tolist(), highs[states, digits].tolist(), strict=True
            )
            for low in (lows[middle] != DEAD).nonzero()[0].tolist()
        ]
        return np.array(marks, np.int32).reshape(-1, 3)


class Writer:
    """Compiles rules to NFAs over bytes and calls.

    ``number`` gives the call symbols of rules that are not inlined; calls of ``jumps`` at the end
    of the compiled rule are inlined anyway. The symbols after those of calls are digits: two of
    them are a mark of a permutation phrase. With a symbol for each mark, the automata would be
    wide. Without ``marks``, the automata read each element any number of times.
    """

    def __init__(
        self,
        program: RuleProgram,
        number: Mapping[int, int],
        jumps: Set[int],
        limits: Limits,
        *,
        marks: bool = True,
    ) -> None:
        self._program = program
        self.digits = Digits.of(program, CALLS + max(number.values(), default=0) + 1)
        self._symbols = self.digits.end
        self._limits = limits
        self._code = program.code
        if len(program.marks):
            self._code = program.code.copy()
            instructions, numbers = program.marks.T
            for position, symbols in enumerate(self.digits.symbols(numbers)):
                self._code[instructions + position, 1:] = symbols[:, None]
                if not marks:
                    self._code[instructions + position] = LITERAL, 0, 0
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
            self._code, program.data, program.after, program.texts, self._rules, rule,
            self._symbols, most,
        )  # fmt: skip
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

    A leaf is a rule that calls nothing, the first one before the others. It stays a call if
    inlining it needs too many states.

    Cost:   each rule is visited again only after a rule that it calls was inlined in it.
    Raises: LimitError above ``limits.seconds``.
    """
    remaining = {rule: _with_jumps(rule, machine, limits) for rule, machine in rules.items()}
    small = replace(limits, states=min(limits.states, _MAX_INLINED_STATES))
    number_of = {rule: number for number, rule in enumerate(remaining)}
    calls = {rule: _calling_states(machine) for rule, machine in remaining.items()}
    #: For each rule its callers, with the number of states that call it.
    callers: dict[int, dict[int, int]] = {rule: {} for rule in remaining}
    for rule, called_rules in calls.items():
        for other, states in called_rules.items():
            callers[other][rule] = states
    kept, waiting = {0}, [(number_of[rule], rule) for rule in remaining if not calls[rule]]
    clock = limits.clock()
    while waiting:
        _, leaf = heappop(waiting)
        its = remaining.get(leaf)
        if its is None or leaf in kept:
            continue
        if len(its) * sum(callers[leaf].values()) > _MAX_COPIED_STATES:
            continue  # it comes again if one of its callers changes
        try:
            changed_machines = {}
            for rule in callers[leaf]:
                clock.check()
                changed_machines[rule] = _with_copies(
                    remaining[rule], leaf, its, small, determinized
                )
        except LimitError as error:
            if error.budget != "states":
                raise
            kept.add(leaf)
            continue
        del remaining[leaf]
        changed = set(changed_machines)
        for rule, machine in changed_machines.items():
            changed.update(calls[rule])
            for other in calls[rule]:
                del callers[other][rule]
            remaining[rule], calls[rule] = machine, _calling_states(machine)
            for other, states in calls[rule].items():
                callers[other][rule] = states
        for rule in changed:
            if not calls[rule]:
                heappush(waiting, (number_of[rule], rule))
    return remaining


def called(rule: Dfa) -> list[int]:
    """The rules an automaton calls."""
    return [*_calling_states(rule)]


def _calling_states(rule: Dfa) -> dict[int, int]:
    """The rules an automaton calls, each with the number of states that call it."""
    if len(rule.classes) == CALLS:  # only bytes
        return {}
    states = _reading_states(rule.table)[rule.classes[CALLS:]]
    (called,) = states.nonzero()
    return dict(zip(called.tolist(), states[called].tolist(), strict=True))


@njit()
def _reading_states(table: Ints) -> Ints:
    """The number of states that read each class."""
    states = np.zeros(table.shape[1], np.int32)
    for row in table:
        for its_class in range(len(row)):
            states[its_class] += row[its_class] >= 0
    return states


def without_calls(rule: Dfa) -> Dfa:
    """An automaton that calls nothing, restricted to bytes."""
    used, classes = np.unique(rule.classes[:CALLS], return_inverse=True)
    return Dfa(classes.astype(np.uint16), rule.table[:, used], rule.finals, rule.initial)


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


def linked(
    names: Sequence[str],
    rules: Mapping[int, Dfa],
    limits: Limits,
    *,
    together: bool = True,
    phrases: Mapping[int, PermutationPhrase] | None = None,
    digits: Digits | None = None,
) -> Network:
    """The network of all automata; the rules that are still called are renumbered in order.

    ``together`` as in ``Network``. Automata that call nothing may have the symbols of bytes only.
    ``phrases`` are the permutation phrases of rules, whose marks are written in ``digits``.

    Raises: LimitError if the table needs more than ``limits.megabytes``.
    """
    order = sorted(rules)
    machines = [rules[old] for old in order]
    shapes = [(len(machine.classes), *machine.table.shape) for machine in machines]
    sizes = [states for _, states, _ in shapes]
    offsets, numbers = [0, *accumulate(sizes)], np.array(shapes, np.int32)
    edges = np.concatenate([machine.table.reshape(-1) for machine in machines])
    reached, classes, width, rule_classes, used = _common_classes(
        np.array(order, np.int32),
        numbers,
        np.concatenate([machine.classes for machine in machines]),
        edges,
    )
    if not reached.all():
        rest = {order[k]: rules[order[k]] for k in reached.nonzero()[0]}
        return linked(names, rest, limits, together=together, phrases=phrases, digits=digits)
    limits.check("megabytes", 4 * offsets[-1] * width / 2**20)
    table = np.full((offsets[-1], width), DEAD, np.int32)
    _write_rules(table, numbers, classes, rule_classes, edges, used, np.empty((width, 2), np.int32))
    return Network(
        names=tuple([names[old] for old in order]),
        initials=tuple(
            [machine.initial + offset for machine, offset in zip(machines, offsets, strict=False)]
        ),
        start=0,
        classes=classes,
        table=table,
        finals=np.concatenate([machine.finals for machine in machines]),
        owner=np.repeat(np.arange(len(order), dtype=np.int32), sizes),
        together=together,
        phrases=() if not phrases or digits is None else _phrases(order, rules, phrases, digits),
    )


def _phrases(
    order: Sequence[int],
    rules: Mapping[int, Dfa],
    phrases: Mapping[int, PermutationPhrase],
    digits: Digits,
) -> tuple[PhraseRule, ...]:
    """The rules with a permutation phrase, restricted to the elements that they have."""
    phrase_rules, offset = [], 0
    for rule in order:
        if rule in phrases:
            marks = digits.marks(rules[rule])
            marks[:, [0, 2]] += offset
            phrase = phrases[rule].restricted(np.unique(marks[:, 1]).tolist())
            phrase_rules.append(PhraseRule(phrase, offset, offset + len(rules[rule]), marks))
        offset += len(rules[rule])
    return tuple(phrase_rules)


@njit()
def _common_classes(
    order: Ints, shapes: Ints, given: Classes, edges: Ints
) -> tuple[Flags, Classes, int, Classes, Flags]:
    """The classes of the network of some rules, if the first one calls all others.

    Returns which rules it calls, itself or through others; the network's classes and their number;
    the class of each symbol in each rule, and which of its classes each rule reads.

    Shape: ``order`` (R,), the numbers of the rules in calls; ``shapes`` (R, 3), the numbers of
           symbols, states and classes of their automata; ``given`` and ``edges``, the classes and
           tables of all, one after the other.
    """
    rules, symbols, widest = len(order), CALLS + len(order), shapes[:, 2].max() + 1
    rule_classes, used = np.empty((rules, symbols), np.uint16), np.zeros((rules, widest), np.bool_)
    _find_own(order, shapes, given, edges, rule_classes, used)
    reached, classes = np.zeros(rules, np.bool_), np.zeros(symbols, np.uint16)
    _find_reached(rule_classes, used, reached, np.empty(rules, np.int32))
    width = _refine(rule_classes, np.full((symbols, widest), -1, np.int64), classes)
    return reached, classes, width, rule_classes, used


@inner
def _find_own(
    order: Ints, shapes: Ints, given: Classes, edges: Ints, rule_classes: Classes, used: Flags
) -> None:
    """Write the class of each symbol in each rule, and which classes the rule reads.

    The calls are an unused class of automata that have the symbols of bytes only.
    """
    begin, edge_start = int64(0), int64(0)
    for rule in range(len(order)):
        width = int64(shapes[rule, 2])
        for symbol in range(CALLS):
            rule_classes[rule, symbol] = given[begin + symbol]
        for k in range(len(order)):
            calls = shapes[rule, 0] > CALLS
            rule_classes[rule, CALLS + k] = given[begin + CALLS + order[k]] if calls else width
        begin += shapes[rule, 0]
        for _ in range(shapes[rule, 1]):
            for its_class in range(width):
                used[rule, its_class] |= edges[edge_start + its_class] >= 0
            edge_start += width


@inner
def _find_reached(rule_classes: Classes, used: Flags, reached: Flags, stack: Ints) -> None:
    """Mark the rules that the first one calls, itself or through others; ``stack`` is scratch."""
    reached[0], stack[0], waiting = True, 0, 1
    while waiting > 0:
        waiting -= 1
        rule = stack[waiting]
        for other in range(len(reached)):
            if used[rule, rule_classes[rule, CALLS + other]] and not reached[other]:
                reached[other] = True
                stack[waiting] = other
                waiting += 1


@inner
def _refine(rule_classes: Classes, numbers: Longs, classes: Classes) -> int:
    """Write the coarsest classes that refine those of all rules; return their number.

    Classes are numbered by their first symbol. ``numbers`` is scratch, −1 at first: for a class of
    the rules before and one of the present rule, the rule and the number of the new class.
    """
    count = 1
    for rule in range(len(rule_classes)):
        class_count = 0
        for symbol in range(len(classes)):
            shared_class, other = classes[symbol], rule_classes[rule, symbol]
            if numbers[shared_class, other] >> 16 != rule:
                numbers[shared_class, other] = rule << 16 | class_count
                class_count += 1
            classes[symbol] = numbers[shared_class, other] & 0xFFFF
        count = class_count
    return count


@njit(_nrt=False)
def _write_rules(
    table: Ints, shapes: Ints, classes: Classes, rule_classes: Classes, edges: Ints, used: Flags,
    columns: Ints,
) -> None:  # fmt: skip
    """Write the edges of all rules into the network's empty table.

    ``columns`` is scratch: the columns that a rule reads, and its class of each.
    """
    edge_start, offset = int64(0), int64(0)
    for rule in range(len(rule_classes)):
        seen, read = 0, 0
        for symbol in range(len(classes)):
            if classes[symbol] < seen:
                continue
            seen += 1
            if used[rule, rule_classes[rule, symbol]]:  # not the calls of most other rules
                columns[read, 0], columns[read, 1] = classes[symbol], rule_classes[rule, symbol]
                read += 1
        for state in range(offset, offset + shapes[rule, 1]):
            for k in range(read):
                target = edges[edge_start + columns[k, 1]]
                if target >= 0:
                    table[state, columns[k, 0]] = target + offset
            edge_start += shapes[rule, 2]
        offset += shapes[rule, 1]
