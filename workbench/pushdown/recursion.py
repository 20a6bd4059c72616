"""The recursion of rules: which rules need a stack, and the removal of left recursion.

**Rules that need a stack** (``kept_rules``, ``separate_rules``). A rule that does not recurse, or
recurses only at its end, needs no stack: it can be inlined where it is called. From every strongly
connected component of the call graph that is self-embedding (it has a call inside the component
that is not at the end of a rule) some rules must stay rules.

**Left recursion** (``without_left_recursion``). The rules of a component of first calls are
rewritten so that no rule calls itself before reading a byte, directly, through others or after
nullable parts. A left-recursive rule is read from its left corner upwards. With the rules
``A ::= B 'x' | 'a'`` and ``B ::= A 'y'`` of one component, the automaton of the goal A reads::

    'a'              the first bytes of a rule of the component
    ε   A → B        A is complete: continue in every rule that begins with A, after the call
    'y'              B is complete: continue after ``B`` in A
    'x'              A is complete again; A is the goal, so it may end here

Everything happens in one automaton, so nothing is pushed; calls further to the right stay calls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from workbench.automata.graphs import cyclic_components
from workbench.automata.nfa import Edge, Flags, Ints, Nfa, NfaBuilder, class_runs
from workbench.automata.small_dfa import smallest
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.kernels import inner, int64, njit
from workbench.base.limits import LIMITS, Limits
from workbench.pushdown.cfg import RuleProgram
from workbench.pushdown.network import CALLS
from workbench.pushdown.rule_facts import AT_END, AT_START, CALLED, CALLER, keep_separate, sizes_of

#: The most (estimated) states of a grammar's automata with inlined rules.
_MAX_INLINED_STATES = 8_000
#: One more rule is kept for every 64 rules of a component: with one rule at a time, 5,000 rules
#: that all call each other needed 5,000 searches.
_RULES_PER_KEPT_RULE = 64

#: For ``separate_rules``: the most states of an inlined rule, and the most states that copies of a
#: rule may add. Values from 150 to 5,000 and from 0 to 1,000 took the same time for schemas in use,
#: within the accuracy of the measurement.
_MAX_RULE_STATES, _MAX_COPIED_STATES = 500, 40
#: The most states of a regular grammar all of whose rules are inlined, estimated with a copy for
#: each call. Calls at the end of rules share one, so a grammar above it may have a small automaton.
_MAX_REGULAR_STATES = 1_000


class Visited(NamedTuple):
    """The rules that one rule reaches.

    Shape: ``order``, these rules breadth first; ``callees_first``, the same, each after the rules
           it calls (except in cycles). For all R rules of the program: ``uses`` (R,), how many
           calls of each there are; ``copies`` (R,), how many copies beyond the first are made where
           it is inlined, since calls at the end of a rule share one; ``kept`` (R,), few rules
           without which no component is self-embedding.
    """

    order: Ints
    callees_first: Ints
    uses: Ints
    copies: Ints
    kept: Flags
    #: Whether a rule may call itself before it has read anything, directly or through others.
    is_left_recursive: bool


def visited_from(program: RuleProgram, start: int) -> Visited:
    """What ``kept_rules`` and ``separate_rules`` need to know of the rules."""
    return Visited(*_visit(program.all_calls, len(program.names), start))


def kept_rules(program: RuleProgram, visited: Visited, limits: Limits = LIMITS) -> set[int]:
    """The rules that must stay rules.

    From every self-embedding component (Chomsky 1959: without self-embedding a language is
    regular) few rules are kept, the most called first, until no cycle needs a stack. Rules whose
    copies would have too many states are kept too.

    Raises: LimitError above ``limits.seconds``.
    """
    clock, kept, uses = (
        limits.clock(),
        set(visited.kept.nonzero()[0].tolist()),
        visited.uses.tolist(),
    )
    start, *others = visited.order.tolist()
    while True:
        clock.check()
        sizes = _sizes(program, visited, kept)
        if sum(sizes[rule] for rule in {*kept, start}) <= _MAX_INLINED_STATES:
            return kept
        large = [rule for rule in others if uses[rule] > 1 and rule not in kept]
        if not large:
            return kept
        kept.add(max(large, key=lambda rule: sizes[rule] * (uses[rule] - 1)))


def separate_rules(program: RuleProgram, visited: Visited) -> set[int]:
    """The rules that stay rules if compiling must be fast (``build_separately``).

    Those that break cycles; rules that are only an automaton, or have a permutation phrase; and,
    callees first, rules that are large or would be copied. None of a grammar that needs no stack
    and is small even if every call is a copy.

    Cost: linear, except for breaking cycles.
    """
    kept, machines = visited.kept.copy(), [*program.machines, *program.phrases]
    is_regular = not machines and not kept.any()
    if is_regular and _sizes(program, visited, ())[visited.order[0]] <= _MAX_REGULAR_STATES:
        return set()
    kept[machines] |= visited.uses[machines] > 0
    keep_separate(
        program.code, program.data, program.after, program.first, program.texts,
        visited.callees_first[:-1], kept, visited.copies, _MAX_RULE_STATES, _MAX_COPIED_STATES,
    )  # fmt: skip
    return set(kept.nonzero()[0].tolist())


@njit()
def _visit(calls: Ints, rules: int, start: int) -> tuple[Ints, Ints, Ints, Ints, Flags, bool]:
    """The fields of ``Visited``."""
    first = np.zeros(rules + 1, np.int32)
    for call in range(len(calls)):
        first[calls[call, CALLER] + 1] += 1
    for rule in range(rules):
        first[rule + 1] += first[rule]
    order, seen, count, row = np.empty(rules, np.int32), np.zeros(rules, np.bool_), 1, 0
    uses, copies = np.zeros(rules, np.int32), np.zeros(rules, np.int32)
    order[0], seen[start] = start, True
    while row < count:
        for call in range(first[order[row]], first[order[row] + 1]):
            other = calls[call, CALLED]
            uses[other] += 1
            copies[other] |= calls[call, AT_END] == 0
            if not seen[other]:
                order[count], seen[other] = other, True
                count += 1
        row += 1
    for rule in range(rules):
        copies[rule] *= uses[rule] - 1
    order, kept = order[:count], np.zeros(rules, np.bool_)
    _keep_breakers(calls, first, order.copy(), kept, np.zeros((_ROWS, rules + 1), np.int32))
    stack = np.empty(len(calls) + 2 * rules + 1, np.int32)
    callees_first = np.empty(count, np.int32)
    _sort_callees_first(calls, first, start, seen, stack, callees_first)
    is_left_recursive = _has_cycle(calls, first, order, stack, np.zeros(rules, np.int32))
    return order, callees_first, uses, copies, kept, is_left_recursive


@inner
def _sort_callees_first(
    calls: Ints, first: Ints, start: int, seen: Flags, stack: Ints, result: Ints
) -> None:
    """Write all rules, each after the rules it calls (except in cycles); ``stack`` is scratch.

    ``seen`` is true for all rules to write, and false afterwards.
    """
    stack[0], top, count = start, 1, 0
    while top > 0:
        top -= 1
        rule = stack[top]
        if rule < 0:  # all its calls are done
            result[count] = ~rule
            count += 1
        elif seen[rule]:
            seen[rule] = False
            stack[top] = ~rule
            top += 1
            for call in range(first[rule], first[rule + 1]):
                if seen[calls[call, CALLED]]:
                    stack[top] = calls[call, CALLED]
                    top += 1


@inner
def _has_cycle(calls: Ints, first: Ints, order: Ints, waiting: Ints, callers: Ints) -> bool:
    """Whether first calls form a cycle; ``waiting`` is scratch, ``callers`` is zero at first.

    Source: Kahn 1962, "Topological sorting of large networks".
    """
    count, row = 0, 0
    for rule in order:
        for call in range(first[rule], first[rule + 1]):
            callers[calls[call, CALLED]] += calls[call, AT_START]
    for rule in order:
        if callers[rule] == 0:
            waiting[count] = rule
            count += 1
    while row < count:
        for call in range(first[waiting[row]], first[waiting[row] + 1]):
            if calls[call, AT_START] != 0:
                callers[calls[call, CALLED]] -= 1
                if callers[calls[call, CALLED]] == 0:
                    waiting[count] = calls[call, CALLED]
                    count += 1
        row += 1
    return count < len(order)


#: The rows of the scratch space of ``_keep_breakers``. For each rule: the calls of it, its place in
#: the order, and the set of rules to which it belongs, 0 for none. For Tarjan's search: the number
#: of each rule (``_DONE`` after its component was found), the lowest number that it reaches, the
#: next of its calls, the open rules, and the path to the present rule. Of the components: their
#: rules, one component after the other, where each ends (at its first rule), and the ranges of
#: rules that wait for a search.
_USES, _PLACE, _SET, _NUMBER, _LOW, _NEXT, _OPEN, _PATH, _FOUND, _STOP, _FROM, _TO = range(12)
_ROWS = 12
_DONE = 1 << 30


@njit(_nrt=False)
def _keep_breakers(calls: Ints, first: Ints, order: Ints, kept: Flags, space: Ints) -> None:
    """Keep the most called rules of each self-embedding component, and of each that remains.

    ``order`` is reordered. ``space`` is zero at first.
    """
    uses, rank, sets, begins, ends = (
        space[_USES], space[_PLACE], space[_SET], space[_FROM], space[_TO]
    )  # fmt: skip
    for k in range(len(order)):
        rank[order[k]] = k
        for call in range(first[order[k]], first[order[k] + 1]):
            uses[calls[call, CALLED]] += 1
    begins[0], ends[0], waiting, set_number = 0, len(order), 1, 0
    while waiting > 0:
        waiting -= 1
        begin, end, set_number = int64(begins[waiting]), int64(ends[waiting]), set_number + 1
        for k in range(begin, end):
            sets[order[k]], space[_NUMBER, order[k]] = set_number, 0
        _sort_components(calls, first, order, begin, end, space)
        while begin < end:
            stop, after, set_number = (
                int64(space[_STOP, begin]),
                int64(space[_STOP, begin]),
                set_number + 1,
            )
            for k in range(begin, stop):
                sets[order[k]] = set_number
            if _embeds(calls, first, order, begin, stop, sets):
                for _ in range(1 + (stop - begin) // _RULES_PER_KEPT_RULE):
                    best = begin
                    for k in range(begin + 1, stop):
                        more = uses[order[k]] - uses[order[best]]
                        if more > 0 or (more == 0 and rank[order[k]] < rank[order[best]]):
                            best = k
                    stop -= 1
                    order[best], order[stop] = order[stop], order[best]
                    kept[order[stop]], sets[order[stop]] = True, 0
                begins[waiting], ends[waiting] = begin, stop
                waiting += 1
            begin = after


@inner
def _embeds(calls: Ints, first: Ints, order: Ints, begin: int, stop: int, sets: Ints) -> bool:
    """Whether a component has an inner call that is not at the end of a rule."""
    for k in range(begin, stop):
        rule = order[k]
        for call in range(first[rule], first[rule + 1]):
            if sets[calls[call, CALLED]] == sets[rule] and not calls[call, AT_END]:
                return True
    return False


@inner
def _sort_components(
    calls: Ints, first: Ints, order: Ints, begin: int, end: int, space: Ints
) -> None:
    """Sort the rules of a range by their strongly connected components; write where each ends.

    Source: Tarjan 1972, "Depth-first search and linear graph algorithms", without recursion.
    """
    sets, number, low, following = space[_SET], space[_NUMBER], space[_LOW], space[_NEXT]
    opened, path, sorted_rules = space[_OPEN], space[_PATH], space[_FOUND]
    visited, top, written = 0, 0, begin
    for k in range(begin, end):
        if number[order[k]] > 0:
            continue
        path[0], depth = order[k], 0
        while depth >= 0:
            rule = path[depth]
            if number[rule] == 0:
                visited += 1
                number[rule], low[rule], following[rule] = visited, visited, first[rule]
                opened[top] = rule
                top += 1
            if following[rule] < first[rule + 1]:
                other = calls[following[rule], CALLED]
                following[rule] += 1
                if sets[other] == sets[rule]:
                    if number[other] == 0:
                        depth += 1
                        path[depth] = other
                    else:
                        low[rule] = min(low[rule], number[other])
                continue
            depth -= 1
            if depth >= 0:
                low[path[depth]] = min(low[path[depth]], low[rule])
            if low[rule] == number[rule]:
                start = written
                while number[rule] != _DONE:
                    top -= 1
                    sorted_rules[written] = opened[top]
                    number[opened[top]] = _DONE
                    written += 1
                space[_STOP, start] = written
    for k in range(begin, end):
        order[k] = sorted_rules[k]


def left_recursive(program: RuleProgram, order: Sequence[int]) -> frozenset[int]:
    """The rules that can call themselves before reading a byte, also after nullable parts."""
    first = {rule: set(program.first_calls[rule]) for rule in order if program.first_calls[rule]}
    return frozenset(rule for component in cyclic_components(first) for rule in component)


def _sizes(program: RuleProgram, visited: Visited, kept: Collection[int]) -> list[int]:
    """The estimated states of each rule with all rules except ``kept`` inlined."""
    is_kept = np.zeros(len(program.names), np.bool_)
    is_kept[list(kept)] = True
    sizes: list[int] = sizes_of(
        program.code, program.data, program.after, program.first, program.texts,
        visited.callees_first, is_kept, 10 * _MAX_INLINED_STATES,
    ).tolist()  # fmt: skip
    return sizes


def without_left_recursion(rules: Mapping[int, Dfa], limits: Limits) -> dict[int, Dfa]:
    """The same rules, the left-recursive ones rewritten.

    Raises: LimitError if an automaton becomes too large.
    Source: the left-corner transform (Rosenkrantz & Lewis 1970, "Deterministic left corner
            parsing"), applied to automata instead of rules, and only to left-recursive components.
    """
    clock = limits.clock()
    first = {rule: _first_calls(machine) for rule, machine in rules.items()}
    rewritten = dict(rules)
    for component in cyclic_components(first):
        for goal, nfa in _left_corners({rule: rules[rule] for rule in sorted(component)}):
            clock.check()
            rewritten[goal] = smallest(nfa, limits, clock)
    return rewritten


def _first_calls(machine: Dfa) -> list[int]:
    """The rules an automaton can call before reading a byte."""
    if len(machine.classes) == CALLS:  # only bytes
        return []
    row = machine.table[machine.initial]
    called: list[int] = (row[machine.classes[CALLS:]] != DEAD).nonzero()[0].tolist()
    return called


def _left_corners(rules: Mapping[int, Dfa]) -> Iterator[tuple[int, Nfa]]:
    """For each rule of a left-recursive component, its automaton without first calls into it.

    They differ in their final states only. Each contains a copy of every rule of the component,
    which is entered after its first edge. The initial state of a copy may be reached again inside
    the rule and keeps all its edges.
    """
    builder = NfaBuilder(len(next(iter(rules.values())).classes))
    start, ends = builder.new_state(), {rule: builder.new_state() for rule in rules}
    copies = {rule: builder.copy(machine) for rule, machine in rules.items()}
    #: For each rule the states after a first call of it: where to continue when it is complete.
    continuations: dict[int, list[State]] = {rule: [] for rule in rules}
    for rule, machine in rules.items():
        for low, high, target in _edges(machine, machine.initial):
            if low - CALLS in rules:
                continuations[low - CALLS].append(copies[rule] + target)
            else:
                builder.edge(start, low, high, copies[rule] + target)
    for rule, machine in rules.items():
        for state in np.flatnonzero(machine.finals).tolist():
            for continuation in (*continuations[rule], ends[rule]):
                builder.epsilon(copies[rule] + state, continuation)
    together = builder.build(start, frozenset())
    for goal, machine in rules.items():
        finals = np.zeros(len(together), np.bool_)
        finals[ends[goal]] = True
        finals[start] = machine.finals[machine.initial]
        yield goal, replace(together, flat=replace(together.flat, finals=finals))


def _edges(machine: Dfa, state: State) -> Iterator[Edge]:
    """The edges of a state: runs of bytes, and calls one by one."""
    runs = class_runs(machine)
    for its_class, target in enumerate(machine.table[state].tolist()):
        for low, high in runs[its_class] if target != DEAD else ():
            if low < CALLS:
                yield low, min(high, CALLS - 1), target
            for call in range(max(low, CALLS), high + 1):
                yield call, call, target
