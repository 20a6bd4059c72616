"""A network: the rules of a grammar as DFAs that call each other.

A call pushes the state to return to, the end of a rule pops it (Koo et al. 2024, §3.1; Allauzen &
Riley 2012, §4.5). All rules share one table and one numbering of states. The symbol of a call is
256 + the number of the called rule. The network of ``S ::= 'a' S 'b' | 'c'``::

    state   a  b  c  call S    final        0 ─a→ 1 ─S→ 3 ─b→ 2
      0     1     2                         0 ─────c──────→ 2
      1              3                      the call of S in state 1 pushes state 3
      2                          yes
      3        2

``bisimilar`` tests whether two networks are equal up to the numbering of rules and states; then
their languages are equal. (Equality of context-free languages is undecidable in general. Rules are
minimal automata, so most rewritings that change no text, such as brackets, an inlined rule or other
names, give the same network.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.automata.graphs import components, reachable
from workbench.automata.nfa import Classes, Flags, Ints
from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, State
from workbench.base.errors import LimitError
from workbench.base.kernels import inner, njit
from workbench.base.limits import LIMITS, Limits, check_time_budget
from workbench.base.visible_text import count_of
from workbench.syntax.permutation_phrases import PermutationPhrase

#: The symbol of the call of rule 0; bytes are the symbols below it.
CALLS = 256

#: The bits of ``Entries.flags``: the state is final; it has edges; its texts may be repeated; the
#: elements written decide whether it can be entered (``phrase_rules``).
FINAL, GOES_ON, STAR, GUARDED = 1, 2, 4, 8

#: The most sequences of calls that ``Network.openings`` lists for one state.
MAX_OPENINGS = 20_000

#: The rounds after which ``Network.bytes_after`` looks no further.
_MAX_ROUNDS = 2

Longs = npt.NDArray[np.int64]

#: A target state, and the return states pushed by the calls entered before.
Move = tuple[State, tuple[State, ...]]


class Entries(NamedTuple):
    """What a running network reads besides its table.

    Shape: Q states, C byte classes, K calls. ``byte_classes`` (256,), ``columns`` (C,), the column
           of the table of each byte class; ``calls`` (K, 3) as ``Network.calls``, those of state q
           are ``first[q]:first[q + 1]``; ``entered`` (K, 2), the initial state of the called rule
           and the return state to push, or ``DEAD`` if none is pushed; ``flags`` (Q,) uint8.
    """

    byte_classes: Classes
    columns: Ints
    calls: Ints
    first: Ints
    entered: Ints
    flags: npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class PhraseRule:
    """A rule with a permutation phrase (``syntax.permutation_phrases``).

    Shape: ``marks`` (n, 3) int32: a state, the number of a mark, and the state after the mark.
    """

    phrase: PermutationPhrase
    #: Its states are those from ``first`` to before ``end``.
    first: State
    end: State
    marks: Ints


@dataclass(frozen=True, eq=False)
class Network:
    """The rules of a grammar as automata in one table.

    Only the start rule accepts the empty text: the callers of a nullable rule have a path without
    the call. No rule calls itself before reading a byte, so every closure over calls is finite.

    Shape: R rules, Q states, C symbol classes. ``classes`` (256 + R,) uint16; ``table``
           (Q, C) int32, the next state or ``DEAD``; ``finals`` (Q,) bool; ``owner`` (Q,)
           int32, the rule of a state.
    """

    names: tuple[str, ...]
    #: The first state of each rule.
    initials: tuple[State, ...]
    #: The number of the start rule.
    start: int
    classes: npt.NDArray[np.uint16]
    table: npt.NDArray[np.int32]
    finals: npt.NDArray[np.bool_]
    owner: npt.NDArray[np.int32]
    #: Whether a call pushes its return state even if that state has no edges, so that the stack
    #: names every rule being read. Otherwise right recursion needs no stack.
    all_wait: bool = False
    #: Whether rules that need no stack are inlined; False for ``build_separately``.
    together: bool = True
    phrases: tuple[PhraseRule, ...] = ()

    def __len__(self) -> int:
        """The number of states."""
        return len(self.finals)

    def __repr__(self) -> str:
        rules, states = count_of(len(self.initials), "rule"), count_of(len(self), "state")
        return f"Network({rules}, {states})"

    @property
    def initial(self) -> State:
        return self.initials[self.start]

    @cached_property
    def entries(self) -> Entries:
        """The calls and the facts about states, as a running network reads them."""
        # arrays of one type only: those of other methods may be transposed or read-only
        table = self.table if self.table.flags.carray else self.table.copy()
        classes = self.classes if self.classes.flags.carray else self.classes.copy()
        finals = self.finals if self.finals.flags.carray else self.finals.copy()
        initials = np.array(self.initials, np.int32)
        marked = np.zeros(len(self), np.bool_)
        for rule in self.phrases:
            marked[rule.marks[:, 0]] = True
        return Entries(*_entries(table, classes, finals, initials, self.all_wait, marked))

    @property
    def byte_classes(self) -> npt.NDArray[np.uint16]:
        """The class of each byte, (256,), numbered from 0 without gaps."""
        return self.entries.byte_classes

    @cached_property
    def class_bytes(self) -> tuple[tuple[int, ...], ...]:
        """The bytes of each byte class."""
        bytes_of: dict[int, list[int]] = {}
        for byte, its_class in enumerate(self.byte_classes.tolist()):
            bytes_of.setdefault(its_class, []).append(byte)  # in the order of the classes
        return tuple(map(tuple, bytes_of.values()))

    @property
    def calls(self) -> Ints:
        """All calls, (calls, 3): the calling state, the called rule, the state to return to."""
        return self.entries.calls

    @cached_property
    def calling(self) -> tuple[tuple[tuple[int, State], ...], ...]:
        """For each state the rules it can call, each with the state to return to."""
        by_state: list[tuple[tuple[int, State], ...]] = [()] * len(self)
        for state, calls in groupby(self.calls.tolist(), itemgetter(0)):
            by_state[state] = tuple((rule, target) for _, rule, target in calls)
        return tuple(by_state)

    @cached_property
    def goes_on(self) -> npt.NDArray[np.bool_]:
        """Whether a state has any edges, (Q,)."""
        flags: npt.NDArray[np.bool_] = self.entries.flags & GOES_ON != 0
        return flags

    @cached_property
    def return_states(self) -> tuple[State, ...]:
        """The states that calls push."""
        return tuple(np.unique(self.calls[self._waiting, 2]).tolist())

    @cached_property
    def returns(self) -> tuple[tuple[State, ...], ...]:
        """For each rule the states that can be on top of the stack when it ends.

        A tail call pushes nothing; then the return states of the calling rule are on top.
        """
        pushed: list[set[State]] = [set() for _ in self.names]
        for _, rule, target in self.calls[self._waiting].tolist():
            pushed[rule].add(target)
        callers: dict[int, list[int]] = {rule: [] for rule in range(len(pushed))}
        for caller, rule in self._tail_calls:
            callers[rule].append(caller)
        states_of: dict[int, tuple[State, ...]] = {}
        for members in components(callers):  # each after its callers
            states = set[State]()
            for rule in members:
                check_time_budget()
                states.update(pushed[rule], *(states_of.get(each, ()) for each in callers[rule]))
            states_of |= dict.fromkeys(members, tuple(sorted(states)))
        return tuple(states_of[rule] for rule in range(len(pushed)))

    @cached_property
    def ends_text(self) -> frozenset[int]:
        """The rules that can end with an empty stack: the start, and the rules it tail-calls."""
        tail_calls: dict[int, list[int]] = {}
        for caller, called in self._tail_calls:
            tail_calls.setdefault(caller, []).append(called)
        return frozenset(reachable([self.start], lambda rule: tail_calls.get(rule, ())))

    @cached_property
    def _tail_calls(self) -> frozenset[tuple[int, int]]:
        """Caller and called rule of every call that pushes no return state."""
        jumps = self.calls[~self._waiting]
        return frozenset(zip(self.owner[jumps[:, 0]].tolist(), jumps[:, 1].tolist(), strict=True))

    @cached_property
    def _waiting(self) -> npt.NDArray[np.bool_]:
        """For every call whether it pushes its return state."""
        on: npt.NDArray[np.bool_] = self.goes_on[self.calls[:, 2]] | self.all_wait
        return on

    def waits(self, target: State) -> bool:
        """Whether a call that returns to a state pushes it."""
        return self.all_wait or bool(self.goes_on[target])

    @cached_property
    def stars(self) -> npt.NDArray[np.bool_]:
        """Whether the texts read from a return state are closed under repetition, (Q,).

        Pushing such a state twice in a row reads no more texts than pushing it once.
        """
        flags: npt.NDArray[np.bool_] = self.entries.flags & STAR != 0
        return flags

    def bytes_after(self, read: Flags, wanted: Flags) -> tuple[Longs, Longs]:
        """Which bytes of ``wanted`` each state may read after any bytes of ``read``, any stack.

        Some that it cannot read may be included: a rule returns to every state to which any call
        of it returns, and a byte that is not settled after a few rounds counts for all states.

        Shape: ``read`` and ``wanted`` are (256,) bool. Returns sets of bytes as bits, (Q,) int64,
               and the bit of each byte, (256,) int64; several bytes may share one.
        """
        columns, calls = self.classes[:CALLS], self.calls
        kinds, which = np.unique(columns[wanted], return_inverse=True)
        of_kinds = np.int64(1) << np.minimum(np.arange(len(kinds)), 62)
        bits = np.zeros(CALLS, np.int64)
        bits[wanted] = of_kinds[which]
        readable = np.bitwise_or.reduce((self.table[:, kinds] >= 0) * of_kinds, axis=1)
        targets = np.ascontiguousarray(self.table[:, np.unique(columns[read])].T)
        entered, changed = np.array(self.initials)[calls[:, 1]], np.int64(0)
        for _ in range(_MAX_ROUNDS):
            leads = np.append(readable, 0)  # a missing target, −1, is the last
            more = readable | np.bitwise_or.reduce(leads.take(targets, mode="wrap"), axis=0)
            returns = np.zeros(len(self.names), np.int64)
            np.bitwise_or.at(returns, calls[:, 1], readable[calls[:, 2]])
            more |= returns[self.owner] * self.finals
            np.bitwise_or.at(more, calls[:, 0], readable[entered])
            changed = np.bitwise_or.reduce(more & ~readable)
            readable = more
            if not changed:
                break
        return readable | changed, bits

    @cached_property
    def _openings(self) -> dict[State, tuple[Move, ...]]:
        return {}

    def openings(self, state: State) -> tuple[Move, ...]:
        """The states that read the next byte if the current state is ``state``.

        These are the state itself and the initial states of all rules it can call, each with the
        return states pushed by the calls, the innermost last.

        Raises: LimitError if calls push more than ``MAX_OPENINGS`` different sequences.
        """
        cached = self._openings.get(state)
        if cached is None:
            reached = dict.fromkeys([(state, tuple[State, ...]())])
            waiting = deque(reached)
            while waiting:
                inner, pushed = waiting.popleft()
                check_time_budget()
                for rule, target in self.calling[inner]:
                    returns = (target,) if self.waits(target) else ()
                    opening = self.initials[rule], (*pushed, *returns)
                    if opening not in reached:
                        reached[opening] = None
                        waiting.append(opening)
                if len(reached) > MAX_OPENINGS:
                    raise LimitError(
                        f"needs more than {MAX_OPENINGS:,} sequences of calls before one byte",
                        "configurations",
                        "let each rule call the next one in one way only",
                    )
            cached = self._openings[state] = tuple(reached)
        return cached

    def opened(self, state: State) -> Iterable[State]:
        """The states of ``openings`` without what is pushed, each once."""
        return reachable(
            [state], lambda inner: (self.initials[rule] for rule, _ in self.calling[inner])
        )

    def moves(self, state: State, byte_class: int) -> list[Move]:
        """The targets of a byte class from a state, with the return states pushed before."""
        byte = self.class_bytes[byte_class][0]
        column = self.classes[byte]
        return [
            (int(target), pushed)
            for inner, pushed in self.openings(state)
            if (target := self.table[inner, column]) != DEAD
        ]


@njit()
def _entries(
    table: Ints, classes: Classes, finals: Flags, initials: Ints, all_wait: bool, marked: Flags
) -> tuple[Classes, Ints, Ints, Ints, Ints, npt.NDArray[np.uint8]]:
    """The fields of ``Entries``; ``marked`` are the states with marks, which are edges too."""
    states, width = table.shape
    byte_classes, columns = np.empty(CALLS, np.uint16), np.empty(width, np.int32)
    numbers, bytes_read = np.full(width, -1, np.int32), 0
    for byte in range(CALLS):
        column = classes[byte]
        if numbers[column] < 0:
            numbers[column], columns[bytes_read] = bytes_read, column
            bytes_read += 1
        byte_classes[byte] = numbers[column]
    goes_on, first = np.zeros(states, np.bool_), np.empty(states + 1, np.int32)
    callable_rules, count = np.zeros(width, np.int32), 0
    for rule in range(len(initials)):
        callable_rules[classes[CALLS + rule]] += 1
    for state in range(states):
        first[state], goes_on[state] = count, marked[state]
        for column in range(width):
            if table[state, column] >= 0:
                goes_on[state] = True
                count += callable_rules[column]
    first[states] = count
    calls, entered = np.empty((count, 3), np.int32), np.empty((count, 2), np.int32)
    stars, count = np.zeros(states, np.bool_), 0
    for state in range(states):
        for rule in range(len(initials) if first[state] < first[state + 1] else 0):
            target = table[state, classes[CALLS + rule]]
            if target >= 0:
                calls[count, 0], calls[count, 1], calls[count, 2] = state, rule, target
                entered[count, 0] = initials[rule]
                entered[count, 1] = target if goes_on[target] or all_wait else DEAD
                # not states without edges: with ``all_wait`` they are pushed to name their rule
                stars[target] = goes_on[target]
                count += 1
    _keep_stars(table, finals, stars, np.empty((2, states), np.int32))
    flags = np.empty(states, np.uint8)
    for state in range(states):
        flags[state] = FINAL * finals[state] + GOES_ON * goes_on[state] + STAR * stars[state]
    return byte_classes, columns[:bytes_read], calls, first, entered, flags


@inner
def _keep_stars(table: Ints, finals: Flags, states: Flags, space: Ints) -> None:
    """Keep of ``states`` those from which the texts read are closed under repetition.

    They are if the state is the only final state that can be reached from it: then every such text
    leads back to it. (Other closed languages are not recognised.) ``space`` is scratch: the states
    to visit, and the search that reached each last.
    """
    stack, seen = space[0], space[1]
    seen[:] = -1
    for state in range(len(finals)):
        if not states[state]:
            continue
        states[state] = finals[state]
        stack[0], top = state, 1
        seen[state] = state
        while states[state] and top > 0:
            top -= 1
            row = table[stack[top]]
            for target in row:
                if target < 0 or seen[target] == state:
                    continue
                if finals[target]:
                    states[state] = False
                    break
                seen[target] = state
                stack[top] = target
                top += 1


#: A call: the rule, and the state it returns to.
_Call = tuple[int, State]


def bisimilar(left: Network, right: Network, limits: Limits = LIMITS) -> bool:
    """Whether a pairing of rules and states was found in which both networks have equal edges.

    Calls of a state are paired with rules paired before, then in the order of the rules. Other
    orders are not tried, so the result False does not mean that the languages differ.

    Cost:   visited pairs (the number of states, if the networks are equal) times byte classes.
    Raises: LimitError above ``limits.seconds``.
    Source: bisimulation (Park 1981); calls are labels, equal if their rules are paired.
    """
    if left.phrases or right.phrases:  # their marks are no edges
        return False
    clock = limits.clock()
    behind = zip(left.classes[:CALLS].tolist(), right.classes[:CALLS].tolist(), strict=True)
    columns = list(dict.fromkeys(behind))
    rules = {(left.start, right.start)}
    waiting = deque([(left.initial, right.initial)])
    seen = set(waiting)
    while waiting:
        state, twin_state = waiting.popleft()
        clock.check()
        calls = _pair_calls(left.calling[state], right.calling[twin_state], rules)
        if calls is None or left.finals[state] != right.finals[twin_state]:
            return False
        followers = [
            (int(left.table[state, a]), int(right.table[twin_state, b])) for a, b in columns
        ]
        for (rule, after), (twin, after_twin) in calls:
            rules.add((rule, twin))
            followers += [(left.initials[rule], right.initials[twin]), (after, after_twin)]
        for pair in followers:
            if (pair[0] == DEAD) != (pair[1] == DEAD):
                return False
            if pair[0] != DEAD and pair not in seen:
                seen.add(pair)
                waiting.append(pair)
    return True


def _pair_calls(
    left: tuple[_Call, ...], right: tuple[_Call, ...], rules: set[tuple[int, int]]
) -> list[tuple[_Call, _Call]] | None:
    """The calls of two states in pairs; None if their numbers differ."""
    if len(left) != len(right):
        return None
    pairs, rest, free = [], [], list(right)
    for call in left:
        twin = next((other for other in free if (call[0], other[0]) in rules), None)
        if twin is None:
            rest.append(call)
        else:
            free.remove(twin)
            pairs.append((call, twin))
    return [*pairs, *zip(rest, free, strict=True)]
