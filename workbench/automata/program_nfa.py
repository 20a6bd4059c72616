"""Builds the NFA of a program (``regex_program``), in numba kernels.

Thompson's construction with a stack of tasks. A task is an instruction and second existing states:
its texts must lead from ``start`` to ``end``. Both states may be shared with the surroundings; this
is safe because only repetitions create cycles, and these go through separate states. Example,
``a(b|c)``::

    task: SEQUENCE between 0 and 1  →  new state 2; tasks RANGE a: 0 → 2, CHOICE: 2 → 1
    task: CHOICE between 2 and 1    →  tasks RANGE b: 2 → 1, RANGE c: 2 → 1
    task: RANGE x between s and t   →  edge s --x--> t

A call of a rule that has a symbol is an edge with that symbol. All other calls are inlined:
the rule is built where it is called, once for each end state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.automata.nfa import BYTES, Flags, Flat, Ints, Nfa, group
from workbench.automata.regex_program import (
    CALL,
    CHOICE,
    HAS_EMPTY,
    HEADER,
    LITERAL,
    MACHINE,
    RANGE,
    REPEAT,
    SEQUENCE,
    subtree_ends,
)
from workbench.base.kernels import inner, int64, njit

#: The entries of ``Work.counts``.
STATES, EDGES, EPSILONS, TASKS, SHARED = range(5)


class Work(NamedTuple):
    """The input and the growing output of the construction.

    Shape: ``code``, ``data``: the program; ``after``: its subtree ends; ``texts``: bits for each
           instruction (``HAS_TEXT`` and so on); ``rules`` (R, 4): columns ``FIRST`` … ``JUMPS``.
           The other arrays have room for more rows than are used; ``counts`` says how many are:
           ``edges`` (source, low, high, target), ``epsilons`` (source, target),
           ``tasks`` (instruction, start, end, end state of the current rule), and ``shared``
           (previous entry, operation, first and second operand, state), a map from a state and an
           instruction to a state: a linked list for each state, from ``latest``.
    """

    code: Ints
    data: Ints
    after: Ints
    texts: Ints
    rules: Ints
    edges: Ints
    epsilons: Ints
    tasks: Ints
    shared: Ints
    latest: Ints
    counts: npt.NDArray[np.int64]


@inner
def edge(work: Work, source: int, low: int, high: int, target: int) -> None:
    """Add an edge for the symbols from ``low`` to ``high``."""
    edges, count = work.edges, work.counts[EDGES]
    edges[count, 0], edges[count, 1], edges[count, 2], edges[count, 3] = source, low, high, target
    work.counts[EDGES] += 1


@inner
def epsilon(work: Work, source: int, target: int) -> None:
    """Add an ε-edge."""
    if source != target:
        count = work.counts[EPSILONS]
        work.epsilons[count, 0], work.epsilons[count, 1] = source, target
        work.counts[EPSILONS] += 1


@inner
def push(work: Work, instruction: int, start: int, end: int, last: int) -> None:
    """Add a task: the texts of an instruction lead from ``start`` to ``end``."""
    tasks, count = work.tasks, work.counts[TASKS]
    tasks[count, 0], tasks[count, 1], tasks[count, 2], tasks[count, 3] = (
        instruction,
        start,
        end,
        last,
    )
    work.counts[TASKS] += 1


@inner
def new_state(work: Work) -> int:
    """Add a state without edges."""
    work.counts[STATES] += 1
    return int64(work.counts[STATES] - 1)


@inner
def share(work: Work, source: int, what: int, first: int, second: int, state: int) -> None:
    """Remember a state under the state ``source`` and an instruction."""
    shared, count = work.shared, work.counts[SHARED]
    shared[count, 0], shared[count, 1], shared[count, 2] = work.latest[source], what, first
    shared[count, 3], shared[count, 4] = second, state
    work.latest[source] = count
    work.counts[SHARED] += 1


@inner
def shared_state(work: Work, source: int, what: int, first: int, second: int) -> int:
    """The state remembered under the state ``source`` and an instruction, or −1."""
    shared, entry = work.shared, work.latest[source]
    while entry >= 0:
        if shared[entry, 2] == first and shared[entry, 3] == second and shared[entry, 1] == what:
            return int64(shared[entry, 4])
        entry = shared[entry, 0]
    return int64(-1)


#: The columns of a rule: its first instruction, which texts it has, the symbol of its calls (−1 if
#: it is inlined), and whether a call at the end of the root rule is a jump.
FIRST, TEXTS, SYMBOL, JUMPS = range(4)

#: The initial and the final state of a program.
_START, _END = 0, 1

_UNLIMITED = 1 << 30
_NO_RULES = np.empty((0, 4), np.int32)


def program_nfa(code: Ints, data: Ints) -> Nfa:
    """The Nfa of a program without calls; the caller has checked its size (``check_size``)."""
    texts = np.ones(len(code), np.int32)
    nfa = rule_nfa(code, data, subtree_ends(code), texts, _NO_RULES, -1, BYTES, _UNLIMITED)
    assert nfa is not None
    return nfa


def rule_nfa(
    code: Ints, data: Ints, after: Ints, texts: Ints, rules: Ints, root: int, symbols: int,
    most: int,
) -> Nfa | None:  # fmt: skip
    """The Nfa of a rule, or None if it needs more than ``most`` states.

    Shape: ``after`` (instructions,), their subtree ends; ``texts`` (instructions,), which texts
           each has; ``rules`` (R, 4), the columns
           ``FIRST`` … ``JUMPS``.
    """
    done, edges, first, epsilons, first_epsilon, finals = _build(
        code, data, after, texts, rules, root, most
    )
    if not done:
        return None
    return Nfa(Flat(edges, first, epsilons[:, 0], first_epsilon, finals), _START, symbols)


@njit()
def _build(
    code: Ints, data: Ints, after: Ints, texts: Ints, rules: Ints, root: int, most: int
) -> tuple[bool, Ints, Ints, Ints, Ints, Flags]:
    """Whether all tasks are done, and the parts of the Nfa.

    If an array is too small, everything starts again with arrays four times as large.
    """
    instruction, counts = (
        int64(rules[root, FIRST]) if root >= 0 else int64(0),
        np.empty(5, np.int64),
    )
    room = 64 + after[instruction] - instruction
    while True:
        room *= 4
        work = Work(
            code, data, after, texts, rules, np.empty((room, 4), np.int32),
            np.empty((room, 2), np.int32), np.empty((room, 4), np.int32),
            np.empty((room, 5), np.int32), np.empty(room, np.int32), counts,
        )  # fmt: skip
        _reset(work, root)
        if _run_tasks(work, most):
            break
    states = counts[STATES]
    first, first_epsilon = np.empty(states + 1, np.int32), np.empty(states + 1, np.int32)
    by_source = np.empty((counts[EDGES], 3), np.int32)
    targets, finals = np.empty((counts[EPSILONS], 1), np.int32), np.empty(states, np.bool_)
    group(work.edges, counts[EDGES], first, by_source)
    group(work.epsilons, counts[EPSILONS], first_epsilon, targets)
    for state in range(states):
        finals[state] = state == _END
    return counts[TASKS] == 0, by_source, first, targets, first_epsilon, finals


@inner
def _reset(work: Work, root: int) -> None:
    """Start with two states and one task: the program, or the rule ``root`` if it is not −1."""
    for state in range(len(work.latest)):
        work.latest[state] = -1
    for count in range(len(work.counts)):
        work.counts[count] = 0
    work.counts[STATES] = 2
    start, end, rule = int64(_START), int64(_END), int64(root)
    if rule < 0:
        push(work, int64(0), start, end, end)
        return
    push(work, int64(work.rules[rule, FIRST]), start, end, end)
    # calls of the rule at its own end lead back to its start
    share(work, end, int64(CALL), rule, int64(0), start)


@inner
def _run_tasks(work: Work, most: int) -> bool:
    """Run all tasks, or stop above ``most`` states; False if an array is too small."""
    counts, room = work.counts, len(work.latest)
    while counts[TASKS] > 0 and counts[STATES] <= most:
        task = counts[TASKS] - 1
        instruction, start = int64(work.tasks[task, 0]), int64(work.tasks[task, 1])
        end, last = int64(work.tasks[task, 2]), int64(work.tasks[task, 3])
        what = work.code[instruction, 0]
        first, second = int64(work.code[instruction, 1]), int64(work.code[instruction, 2])
        needed = _most_entries(work, instruction)
        for count in counts:
            if count + needed > room:
                return False
        counts[TASKS] = task
        if work.texts[instruction] == 0:
            continue
        if what == RANGE:
            edge(work, start, first, second, end)
        elif what == LITERAL:
            _write_literal(work, first, second, start, end)
        elif what == MACHINE:
            _write_machine(work, first, start, end)
        elif what == SEQUENCE:
            _write_sequence(work, instruction + 1, first, start, end, last)
        elif what == CHOICE:
            _write_choice(work, instruction, start, end, last)
        elif what == REPEAT:
            _write_repeat(work, instruction + 1, first, second, start, end, last)
        else:
            _write_call(work, first, start, end, last)
    return True


@inner
def _most_entries(work: Work, instruction: int) -> int:
    """The most entries an instruction adds to any of the counts."""
    what, first, second = (
        work.code[instruction, 0],
        int64(work.code[instruction, 1]),
        int64(work.code[instruction, 2]),
    )
    if what == LITERAL:
        return 2 + second
    if what == MACHINE:
        return 2 + int64(work.data[first] + work.data[first + 1])
    if what == REPEAT:
        return 4 + max(first, second)
    return 4 + 2 * int64(work.after[instruction] - instruction)


@inner
def _write_literal(work: Work, offset: int, length: int, start: int, end: int) -> None:
    """One edge for each byte."""
    if length == 0:
        epsilon(work, start, end)
    state = start
    for k in range(length):
        target = end if k == length - 1 else new_state(work)
        byte = int64(work.data[offset + k])
        edge(work, state, byte, byte, target)
        state = target


@inner
def _write_machine(work: Work, begin: int, start: int, end: int) -> None:
    """A copy of an automaton; its states 0 and 1 become ``end`` and ``start``."""
    data, offset, position = work.data, work.counts[STATES] - 2, begin + HEADER
    work.counts[STATES] += data[begin] - 2
    for k in range(position, position + 4 * int64(data[begin + 1]), 4):
        source = start if data[k] == 1 else offset + int64(data[k])
        target = end if data[k + 3] == 0 else offset + int64(data[k + 3])
        if data[k + 1] < 0:
            epsilon(work, source, target)
        else:
            edge(work, source, int64(data[k + 1]), int64(data[k + 2]), target)


@inner
def _write_sequence(
    work: Work, instruction: int, count: int, start: int, end: int, last: int
) -> None:
    """A task for each of ``count`` parts from ``instruction`` on, with new states between them."""
    if count == 0:
        epsilon(work, start, end)
    part, source = instruction, start
    for k in range(count):
        target = end if k == count - 1 else new_state(work)
        push(work, part, source, target, last)
        part, source = int64(work.after[part]), target


@inner
def _write_choice(work: Work, instruction: int, start: int, end: int, last: int) -> None:
    """A task for each option; options with equal first characters share states, as in a trie."""
    code, option = work.code, instruction + 1
    for _ in range(code[instruction, 1]):
        source, part, remaining = start, option, int64(1)
        if code[option, 0] == SEQUENCE and work.texts[option] != 0:
            part, remaining = option + 1, int64(code[option, 1])
        while remaining > 1 and (code[part, 0] == RANGE or code[part, 0] == MACHINE):
            what, first, second = int64(code[part, 0]), int64(code[part, 1]), int64(code[part, 2])
            target = shared_state(work, source, what, first, second)
            if target < 0:
                target = new_state(work)
                share(work, source, what, first, second, target)
                push(work, part, source, target, last)
            source, part, remaining = target, part + 1, remaining - 1
        _write_sequence(work, part, remaining, source, end, last)
        option = int64(work.after[option])


@inner
def _write_repeat(
    work: Work, part: int, low: int, high: int, start: int, end: int, last: int
) -> None:
    """A task for each copy; those above ``low`` can be skipped."""
    source = start
    for copy in range(low if high >= 0 else max(low - 1, 0)):
        target = end if copy == high - 1 else new_state(work)
        push(work, part, source, target, last)
        source = target
    if high < 0:
        before = new_state(work)
        behind = new_state(work) if low > 0 else before
        epsilon(work, source, before)
        push(work, part, before, behind, last)
        epsilon(work, behind, before)
        source = behind
    for copy in range(low, high):
        # from every copy directly to the end, not through the following copies: short closures
        epsilon(work, source, end)
        target = end if copy == high - 1 else new_state(work)
        push(work, part, source, target, last)
        source = target
    epsilon(work, source, end)


@inner
def _write_call(work: Work, rule: int, start: int, end: int, last: int) -> None:
    """An edge that calls a rule; or the rule inlined, once for each end state.

    A call of the root rule at its start continues where the root rule ends: A = A x | y reads y,
    then any number of x.

    A call at the end of the root rule is a jump (inlined although the rule has a symbol), so right
    recursion needs no stack; the same inside a copy of another rule would copy without end. A
    call at the end of a rule shares the copy with the same end state, so right-recursive
    cycles of rules become cycles of states.
    """
    rules, symbol = work.rules, int64(work.rules[rule, SYMBOL])
    if start == _START and shared_state(work, int64(_END), int64(CALL), rule, int64(0)) == _START:
        epsilon(work, int64(_END), end)  # the root rule calls itself first: a loop after its end
        if rules[rule, TEXTS] & HAS_EMPTY:
            epsilon(work, start, end)
        return
    if symbol >= 0 and not (rules[rule, JUMPS] != 0 and end == last and last == _END):
        edge(work, start, symbol, symbol, end)
        if rules[rule, TEXTS] & HAS_EMPTY:
            epsilon(work, start, end)
        return
    entry = shared_state(work, end, int64(CALL), rule, int64(0))
    if entry < 0:
        entry = new_state(work)
        share(work, end, int64(CALL), rule, int64(0), entry)
        push(work, int64(rules[rule, FIRST]), entry, end, end)
    epsilon(work, start, entry)
