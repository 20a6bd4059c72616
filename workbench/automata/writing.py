"""Writing: a program in, the Nfa of a regex or of a rule out.

One state in, one state out: everything an instruction holds is written between two states, and
may share them with its surroundings, for only a repetition reads in circles, and it does so through
states of its own. A rule is written in where it is called; the call of a rule that stays a
rule is an edge.
"""

from __future__ import annotations

import numpy as np

from workbench.automata.flat import Flags, Flat, Ints, grouped
from workbench.automata.kernel import njit
from workbench.automata.nfa import BYTES, Nfa
from workbench.automata.program import (
    CALL,
    CHOICE,
    EMPTY,
    HEADER,
    LITERAL,
    MACHINE,
    RANGE,
    REPEAT,
    SEQUENCE,
    after_of,
)

#: The columns of what is known of a rule: its first instruction, what texts it has, the symbol of
#: its calls (−1 where it is written in), and whether a call at the end of all is a jump.
FIRST, TEXTS, SYMBOL, JUMPS = range(4)

#: Where a program begins and ends.
_START, _END = 0, 1
#: What is counted.
_STATES, _EDGES, _EPSILONS, _TASKS, _SHARED = range(5)

#: No bound on states.
_ANY = 1 << 30
_NO_RULES = np.empty((0, 4), np.int32)


def program_nfa(code: Ints, data: Ints) -> Nfa:
    """The Nfa of a program that calls nothing, of a size that has been looked at."""
    nfa = rule_nfa(code, data, np.ones(len(code), np.int32), _NO_RULES, -1, BYTES, _ANY)
    assert nfa is not None
    return nfa


def rule_nfa(
    code: Ints, data: Ints, texts: Ints, rules: Ints, root: int, symbols: int, most: int
) -> Nfa | None:
    """The Nfa of a rule, or None where it takes more than ``most`` states.

    Shape: ``texts`` (instructions,), what texts each has; ``rules`` (R, 4), the columns named
           above.
    """
    done, edges, first, epsilons, first_epsilon, finals = _written(
        code, data, texts, rules, root, most
    )
    if not done:
        return None
    return Nfa(Flat(edges, first, epsilons, first_epsilon, finals), _START, symbols)


@njit(cache=True, nogil=True)
def _written(
    code: Ints, data: Ints, texts: Ints, rules: Ints, root: int, most: int
) -> tuple[bool, Ints, Ints, Ints, Ints, Flags]:
    """Whether it is done; then the parts of the Nfa. Where there is no room all begins anew."""
    after, room = after_of(code), 256 + 4 * len(code)
    while True:
        edges, epsilons = np.empty((room, 4), np.int32), np.empty((room, 2), np.int32)
        tasks, shared = np.empty((room, 4), np.int32), np.empty((room, 5), np.int32)
        latest, counts = np.full(room, -1, np.int32), np.zeros(5, np.int32)
        counts[_STATES] = 2
        if root >= 0:  # calls at its end lead back to its beginning
            _push(tasks, counts, rules[root, FIRST], _START, _END, _END)
            _share(shared, latest, counts, _END, CALL, root, 0, _START)
        else:
            _push(tasks, counts, 0, _START, _END, _END)
        if _write(
            code, data, after, texts, rules, most, edges, epsilons, tasks, shared, latest, counts
        ):
            break
        room *= 4
    states = counts[_STATES]
    finals = np.zeros(states, np.bool_)
    finals[_END] = True
    parts = grouped(edges[: counts[_EDGES]], epsilons[: counts[_EPSILONS]], states)
    return counts[_TASKS] == 0, *parts, finals


@njit(cache=True, nogil=True)
def _write(
    code: Ints, data: Ints, after: Ints, texts: Ints, rules: Ints, most: int, edges: Ints,
    epsilons: Ints, tasks: Ints, shared: Ints, latest: Ints, counts: Ints,
) -> bool:  # fmt: skip
    """Do all tasks, or stop past ``most`` states; False where there is too little room."""
    while counts[_TASKS] > 0 and counts[_STATES] <= most:
        task = counts[_TASKS] - 1
        at, start, end, last = tasks[task, 0], tasks[task, 1], tasks[task, 2], tasks[task, 3]
        what, one, two = code[at, 0], code[at, 1], code[at, 2]
        if _needed(code, data, after, at) + counts.max() > len(latest):
            return False
        counts[_TASKS] = task
        if texts[at] == 0:
            continue
        if what == RANGE:
            _edge(edges, counts, start, one, two, end)
        elif what == LITERAL:
            _write_literal(data, one, two, edges, epsilons, counts, start, end)
        elif what == MACHINE:
            _write_machine(data, one, edges, epsilons, counts, start, end)
        elif what == SEQUENCE:
            _write_sequence(after, at + 1, one, epsilons, tasks, counts, start, end, last)
        elif what == CHOICE:
            _write_choice(
                code, after, at, texts, epsilons, tasks, shared, latest, counts, start, end, last
            )
        elif what == REPEAT:
            _write_repeat(at + 1, one, two, epsilons, tasks, counts, start, end, last)
        else:
            _write_call(
                rules, one, edges, epsilons, tasks, shared, latest, counts, start, end, last
            )
    return True


@njit(cache=True, nogil=True, inline="always")
def _needed(code: Ints, data: Ints, after: Ints, at: int) -> int:
    """How much an instruction adds to any count at most."""
    what, one, two = code[at, 0], code[at, 1], code[at, 2]
    if what == LITERAL:
        return 2 + int(two)
    if what == MACHINE:
        return 2 + int(data[one] + data[one + 1])
    if what == REPEAT:
        return 4 + int(max(one, two))
    return 4 + 2 * int(after[at] - at)


@njit(cache=True, nogil=True, inline="always")
def _edge(edges: Ints, counts: Ints, source: int, low: int, high: int, target: int) -> None:
    """Symbols from ``low`` to ``high`` lead from source to target."""
    made = counts[_EDGES]
    edges[made, 0], edges[made, 1], edges[made, 2], edges[made, 3] = source, low, high, target
    counts[_EDGES] = made + 1


@njit(cache=True, nogil=True, inline="always")
def _epsilon(epsilons: Ints, counts: Ints, source: int, target: int) -> None:
    """Nothing need be read from source to target."""
    if source != target:
        made = counts[_EPSILONS]
        epsilons[made, 0], epsilons[made, 1] = source, target
        counts[_EPSILONS] = made + 1


@njit(cache=True, nogil=True, inline="always")
def _push(tasks: Ints, counts: Ints, at: int, start: int, end: int, last: int) -> None:
    """An instruction to be written between two states."""
    made = counts[_TASKS]
    tasks[made, 0], tasks[made, 1], tasks[made, 2], tasks[made, 3] = at, start, end, last
    counts[_TASKS] = made + 1


@njit(cache=True, nogil=True, inline="always")
def _new_state(counts: Ints) -> int:
    """A state without edges."""
    counts[_STATES] += 1
    return int(counts[_STATES]) - 1


@njit(cache=True, nogil=True)
def _share(
    shared: Ints, latest: Ints, counts: Ints, at: int, what: int, one: int, two: int, state: int
) -> None:
    """Have a state found again by the state it belongs to and what is written between them."""
    made = counts[_SHARED]
    shared[made, 0], shared[made, 1], shared[made, 2] = latest[at], what, one
    shared[made, 3], shared[made, 4] = two, state
    latest[at] = made
    counts[_SHARED] = made + 1


@njit(cache=True, nogil=True)
def _found(shared: Ints, latest: Ints, at: int, what: int, one: int, two: int) -> int:
    """The state found so, or −1."""
    here = latest[at]
    while here >= 0:
        if shared[here, 2] == one and shared[here, 3] == two and shared[here, 1] == what:
            return int(shared[here, 4])
        here = shared[here, 0]
    return -1


@njit(cache=True, nogil=True, inline="always")
def _write_literal(
    data: Ints, place: int, length: int, edges: Ints, epsilons: Ints, counts: Ints, start: int,
    end: int,
) -> None:  # fmt: skip
    """Byte after byte."""
    if length == 0:
        _epsilon(epsilons, counts, start, end)
    here = start
    for k in range(length):
        there = end if k == length - 1 else _new_state(counts)
        _edge(edges, counts, here, data[place + k], data[place + k], there)
        here = there


@njit(cache=True, nogil=True, inline="always")
def _write_machine(
    data: Ints, place: int, edges: Ints, epsilons: Ints, counts: Ints, start: int, end: int
) -> None:
    """A copy of a machine; its states 0 and 1 are ``end`` and ``start``."""
    offset = counts[_STATES] - 2
    counts[_STATES] += data[place] - 2
    at = place + HEADER
    for k in range(at, at + 4 * data[place + 1], 4):
        source = start if data[k] == 1 else offset + data[k]
        target = end if data[k + 3] == 0 else offset + data[k + 3]
        if data[k + 1] < 0:
            _epsilon(epsilons, counts, source, target)
        else:
            _edge(edges, counts, source, data[k + 1], data[k + 2], target)


@njit(cache=True, nogil=True, inline="always")
def _write_sequence(
    after: Ints, at: int, count: int, epsilons: Ints, tasks: Ints, counts: Ints, start: int,
    end: int, last: int,
) -> None:  # fmt: skip
    """``count`` parts one after the other, the first at ``at``."""
    if count == 0:
        _epsilon(epsilons, counts, start, end)
    here = start
    for k in range(count):
        there = end if k == count - 1 else _new_state(counts)
        _push(tasks, counts, at, here, there, last)
        here, at = there, after[at]


@njit(cache=True, nogil=True)
def _write_choice(
    code: Ints, after: Ints, at: int, texts: Ints, epsilons: Ints, tasks: Ints, shared: Ints,
    latest: Ints, counts: Ints, start: int, end: int, last: int,
) -> None:  # fmt: skip
    """Options; those that begin with the same characters share these states, as words in a trie."""
    option = at + 1
    for _ in range(code[at, 1]):
        here, part, left = start, option + 1, code[option, 1]
        if code[option, 0] != SEQUENCE or texts[option] == 0:
            part, left = option, 1
        while left > 1 and (code[part, 0] == RANGE or code[part, 0] == MACHINE):
            there = _found(shared, latest, here, code[part, 0], code[part, 1], code[part, 2])
            if there < 0:
                there = _new_state(counts)
                _share(
                    shared, latest, counts, here, code[part, 0], code[part, 1], code[part, 2], there
                )
                _push(tasks, counts, part, here, there, last)
            here, part, left = there, part + 1, left - 1
        _write_sequence(after, part, left, epsilons, tasks, counts, here, end, last)
        option = after[option]


@njit(cache=True, nogil=True, inline="always")
def _write_repeat(
    part: int, low: int, high: int, epsilons: Ints, tasks: Ints, counts: Ints, start: int,
    end: int, last: int,
) -> None:  # fmt: skip
    """Copies; those beyond the least can be left out."""
    here = start
    for copy in range(low if high >= 0 else max(low - 1, 0)):
        there = end if copy == high - 1 else _new_state(counts)
        _push(tasks, counts, part, here, there, last)
        here = there
    if high < 0:
        before = _new_state(counts)
        behind = _new_state(counts) if low > 0 else before
        _epsilon(epsilons, counts, here, before)
        _push(tasks, counts, part, before, behind, last)
        _epsilon(epsilons, counts, behind, before)
        here = behind
    for copy in range(low, high):
        # out to the end from every copy, not through the copies that follow: short closures
        _epsilon(epsilons, counts, here, end)
        there = end if copy == high - 1 else _new_state(counts)
        _push(tasks, counts, part, here, there, last)
        here = there
    _epsilon(epsilons, counts, here, end)


@njit(cache=True, nogil=True)
def _write_call(
    rules: Ints, rule: int, edges: Ints, epsilons: Ints, tasks: Ints, shared: Ints, latest: Ints,
    counts: Ints, start: int, end: int, last: int,
) -> None:  # fmt: skip
    """A rule written in, once for each state its copies end in; or an edge that calls it.

    A call that ends all is a jump, so right recursion needs no stack; inside a copy of another
    rule it would copy for ever. Calls at the end of a rule ask for a copy with the same end, so
    circles of such calls close upon themselves.
    """
    symbol = rules[rule, SYMBOL]
    if symbol >= 0 and not (rules[rule, JUMPS] != 0 and end == last and last == _END):
        _edge(edges, counts, start, symbol, symbol, end)
        if rules[rule, TEXTS] & EMPTY:
            _epsilon(epsilons, counts, start, end)
        return
    entry = _found(shared, latest, end, CALL, rule, 0)
    if entry < 0:
        entry = _new_state(counts)
        _share(shared, latest, counts, end, CALL, rule, 0, entry)
        _push(tasks, counts, rules[rule, FIRST], entry, end, end)
    _epsilon(epsilons, counts, start, entry)
