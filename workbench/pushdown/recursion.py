"""The recursion of rules: which need a stack, and removal of left recursion.

In comes a ``RuleProgram``; out comes the set of rules that stay rules of their own. A rule that
does not recurse, or recurses only at its end, is a piece of automaton, written in where it is
called.

In come the automata of all rules; out come automata of the same languages in which no rule calls
itself before reading a byte, at once, through others or behind nullable parts.

A left-recursive rule is read from its left corner upwards: first the bytes some rule of the circle
begins with; whenever a rule of the circle is finished, whatever it can be the beginning of goes
on. All this happens inside one automaton, the goal's, so nothing is pushed; calls further right
stay calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set

import numpy as np

from workbench.automata.build import smallest
from workbench.automata.graphs import cyclic_components
from workbench.automata.nfa import Edge, Nfa, NfaBuilder, class_runs
from workbench.automata.regex_program import subtree_ends
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.limits import LIMITS, Limits
from workbench.pushdown.cfg import RuleProgram
from workbench.pushdown.network import CALLS
from workbench.pushdown.rule_facts import keep_apart, sizes_of

#: The most machine states the written-in rules of a grammar may come to, estimated.
_WRITTEN_IN = 8_000
#: Of a circle of so many rules two are kept at once, and so on: 5,000 rules that all call each
#: other took as many searches otherwise.
_AT_ONCE = 64

#: Apart: the states of a rule that is not written in, however seldom it is called, and the states
#: that copies of a rule may add. Over schemas in use, 150 to 5,000 and 0 to 1,000 took the same
#: time within what the machine's other work made of it.
_LARGE, _COPIED = 500, 40


def kept_rules(program: RuleProgram, order: Sequence[int], limits: Limits = LIMITS) -> set[int]:
    """The rules that must be called with a stack; ``order`` holds all there are, the start first.

    Of every circle of calls that has a call not at its rule's end (self-embedding, the
    sign of a language that is not regular: Chomsky 1959) as few rules are kept as break
    the circle, the most called first; and, so that nothing explodes, rules whose copies
    would come to too many states.

    Raises: LimitError past ``limits.seconds``.
    """
    clock = limits.clock()
    uses = Counter(called for rule in order for called in program.calls[rule])
    kept = _breaking_circles(program, order, uses, limits)
    callees_first = _callees_first(program, order)
    while True:
        clock.check()
        sizes = _sizes(program, callees_first, kept)
        if sum(sizes[rule] for rule in {*kept, order[0]}) <= _WRITTEN_IN:
            return kept
        large = [r for r in order if uses[r] > 1 and r not in kept and r != order[0]]
        if not large:
            return kept
        kept.add(max(large, key=lambda rule: sizes[rule] * (uses[rule] - 1)))


def rules_apart(program: RuleProgram, order: Sequence[int], limits: Limits = LIMITS) -> set[int]:
    """The rules that stay rules where machines are to be made soon rather than whole.

    Those that circles ask for; machines that were brought; and, callees first, what is large by
    itself or would be copied.

    Cost:   linear but for circles.
    Raises: LimitError past ``limits.seconds``.
    """
    uses = Counter(called for rule in order for called in program.calls[rule])
    kept = _breaking_circles(program, order, uses, limits)
    kept.update(rule for rule in program.machines if rule in uses)
    copied = np.zeros(len(program.names), np.int32)
    for rule in order:
        for inner in program.inner_calls[rule]:  # at the end of a rule one copy serves all
            copied[inner] = uses[inner] - 1
    is_kept = np.zeros(len(program.names), np.bool_)
    is_kept[list(kept)] = True
    callees_first = np.array(_callees_first(program, order)[:-1], np.int32)
    keep_apart(
        program.code, program.data, subtree_ends(program.code), program.first, program.texts,
        callees_first, is_kept, copied, _LARGE, _COPIED,
    )  # fmt: skip
    return set(np.flatnonzero(is_kept).tolist())


def _breaking_circles(
    program: RuleProgram, order: Sequence[int], uses: Mapping[int, int], limits: Limits
) -> set[int]:
    """As few rules as break all circles that need a stack.

    Raises: LimitError past ``limits.seconds``.
    """
    clock = limits.clock()
    # the most called first, among equals the one found first
    rank = {rule: (uses[rule], -place) for place, rule in enumerate(order)}
    kept: set[int] = set()
    embedding = [c for c in _circles(program, order, kept) if _embeds(program, c)]
    for circle in embedding:  # grows while it is read: by the circles that are left in each
        some = sorted(circle, key=rank.__getitem__, reverse=True)[: 1 + len(circle) // _AT_ONCE]
        kept.update(some)
        rest = [rule for rule in order if rule in circle and rule not in some]
        left = _circles(program, rest, set(order).difference(rest))
        embedding.extend(c for c in left if _embeds(program, c))
        clock.check()
    return kept


def _embeds(program: RuleProgram, circle: frozenset[int]) -> bool:
    """Whether a circle has a call of its own that is not at the end of a rule."""
    return any(not circle.isdisjoint(program.inner_calls[rule]) for rule in circle)


def _circles(program: RuleProgram, order: Sequence[int], without: Set[int]) -> list[frozenset[int]]:
    """The sets of rules that call each other in circles, some rules left out."""
    # who calls nobody is in no circle: half of the rules, and those most often called
    ends = {rule for rule in order if not program.calls[rule]} | without
    return cyclic_components(
        {rule: set(program.calls[rule]) - ends for rule in order if rule not in ends}
    )


def left_recursive(program: RuleProgram, order: Sequence[int]) -> frozenset[int]:
    """The rules that can call themselves before reading anything, also behind nullables."""
    first = {rule: set(program.first_calls[rule]) for rule in order if program.first_calls[rule]}
    return frozenset(rule for circle in cyclic_components(first) for rule in circle)


def _sizes(program: RuleProgram, callees_first: Sequence[int], kept: Collection[int]) -> list[int]:
    """About how many states each rule comes to with everything but ``kept`` written in."""
    is_kept = np.zeros(len(program.names), np.bool_)
    is_kept[list(kept)] = True
    sizes: list[int] = sizes_of(
        program.code,
        program.data,
        subtree_ends(program.code),
        program.first,
        program.texts,
        np.array(callees_first, np.int32),
        is_kept,
        10 * _WRITTEN_IN,
    ).tolist()
    return sizes


def _callees_first(program: RuleProgram, order: Sequence[int]) -> list[int]:
    """All rules, each after the rules it calls (but for circles)."""
    done: list[int] = []
    seen: set[int] = set()
    for root in order:
        work = [(root, False)]
        while work:
            rule, finished = work.pop()
            if finished:
                done.append(rule)
            elif rule not in seen:
                seen.add(rule)
                work.append((rule, True))
                work += [(called, False) for called in program.calls[rule] if called not in seen]
    return done


def without_left_recursion(rules: Mapping[int, Dfa], limits: Limits) -> dict[int, Dfa]:
    """The same rules, the left-recursive ones rewritten.

    Raises: LimitError where an automaton grows too large.
    Source: the left-corner transform (Rosenkrantz & Lewis 1970, "Deterministic left corner
            parsing"), on automata instead of rules, and for the circles alone.
    """
    first = {rule: _first_calls(machine) for rule, machine in rules.items()}
    rewritten = dict(rules)
    for circle in cyclic_components(first):
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
