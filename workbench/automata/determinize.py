"""Subset construction.

Nothing here makes an array: who calls it does, once.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.automata.explore import nothing
from workbench.automata.nfa import Bits, Classes, Edge, Flags, Ints, Nfa
from workbench.base.dfa import DEAD, Dfa
from workbench.base.kernels import inner, int64, njit
from workbench.base.limits import LIMITS, Clock, Limits

_ONE = np.uint64(1)
#: A quarter of a second: this runs without a clock.
_MOST_WORK = 400_000_000

Counts = npt.NDArray[np.int64]
#: The columns of a sweep over the edges of a set: last class and target of an edge, the edge before
#: it that begins at the same class; and, as a list, the edges that cover a class.
_HIGH, _TARGET, _BEFORE, _ACTIVE = range(4)


@inner
def find_closures(
    first: Ints, epsilons: Ints, first_epsilon: Ints, alive: Flags, finals: Flags, closures: Bits,
    space: Ints,
) -> None:  # fmt: skip
    """Write what each state reaches without reading, as bits: states that read something or end."""
    size, words = closures.shape
    seen, stack = space[0], space[1]
    for state in range(size):
        seen[state] = -1
        for word in range(words):
            closures[state, word] = 0
    for start in range(size):
        if not alive[start]:
            continue
        stack[0] = seen[start] = start
        top = 1
        while top > 0:
            top -= 1
            state = stack[top]
            if finals[state] or first[state + 1] > first[state]:
                closures[start, state >> 6] |= _ONE << np.uint64(state & 63)
            for k in range(first_epsilon[state], first_epsilon[state + 1]):
                target = epsilons[k]
                if alive[target] and seen[target] != start:
                    seen[target] = start
                    stack[top] = target
                    top += 1


@inner
def find_subsets(
    edges: Ints, first: Ints, closures: Bits, alive: Flags, classes: Classes, initial: int,
    finals: Flags, sets: Bits, slots: Ints, table: Ints, ends: Flags, sweep: Ints, begun: Ints,
    numbers: Ints, reached: Bits, spent: Counts,
) -> int:  # fmt: skip
    """Write the machine over sets of states; how many states it has, −1 where it is too large.

    There is room for as many as ``table`` has rows, and time to unite sets of ``_MOST_WORK`` words.
    ``slots``, ``sweep``, ``begun``, ``numbers``, ``reached`` and ``spent`` are space to work in.

    Source: Rabin & Scott 1959, theorem 11.
    """
    for slot in range(len(slots)):
        slots[slot] = -1
    for state in range(len(numbers)):
        numbers[state] = -1
    spent[0] = 0
    made = number_of(closures[initial], sets, slots, int64(0)) + 1
    here = 0
    while here < made:
        ends[here] = _begin(sets[here], edges, first, alive, classes, finals, sweep, begun)
        made = _fill_row(
            table[here], sweep, begun, closures, numbers, sets, slots, reached, spent, made
        )
        if made < 0:
            return -1
        here += 1
    return made


@inner
def _begin(
    members: Bits, edges: Ints, first: Ints, alive: Flags, classes: Classes, finals: Flags,
    sweep: Ints, begun: Ints,
) -> bool:  # fmt: skip
    """Write the edges of a set into ``sweep``, in chains by where they begin; may the set end."""
    some, ends = 0, False
    for column in range(len(begun)):
        begun[column] = -1
    for word in range(len(members)):
        left, state = members[word], 64 * word - 1
        while left != 0:
            state += 1
            is_member = left & _ONE != 0
            left >>= _ONE
            if not is_member:
                continue
            ends |= finals[state]
            for k in range(first[state], first[state + 1]):
                if alive[edges[k, 2]]:
                    low = classes[edges[k, 0]]
                    sweep[some, _HIGH], sweep[some, _TARGET] = classes[edges[k, 1]], edges[k, 2]
                    sweep[some, _BEFORE], begun[low] = begun[low], some
                    some += 1
    return ends


@inner
def _fill_row(
    row: Ints, sweep: Ints, begun: Ints, closures: Bits, numbers: Ints, sets: Bits, slots: Ints,
    reached: Bits, spent: Counts, made: int,
) -> int:  # fmt: skip
    """Write where a set leads to by class; how many sets are known then, −1 if too many.

    A sweep over the classes: where no edge begins or ends all leads where it led before. Class
    by class it took three times as long, for a string's characters are most classes.
    """
    active, target, soonest = int64(0), int64(DEAD), int64(len(row))
    for column in range(len(row)):
        edge = begun[column]
        if edge >= 0 or column > soonest:
            kept, soonest = int64(0), int64(len(row))
            for k in range(active):
                still = sweep[k, _ACTIVE]
                if sweep[still, _HIGH] >= column:
                    sweep[kept, _ACTIVE] = still
                    soonest = min(soonest, int64(sweep[still, _HIGH]))
                    kept += 1
            active = kept
            while edge >= 0:
                sweep[active, _ACTIVE] = edge
                soonest = min(soonest, int64(sweep[edge, _HIGH]))
                active, edge = active + 1, sweep[edge, _BEFORE]
            spent[0] += active * len(reached)
            if spent[0] > _MOST_WORK:
                return -1
            target = _target(active, sweep, closures, numbers, sets, slots, reached, made)
            if target == len(sets):
                return -1
            if target == made:
                made += 1
        row[column] = target
    return made


@inner
def _target(
    active: int, sweep: Ints, closures: Bits, numbers: Ints, sets: Bits, slots: Ints,
    reached: Bits, made: int,
) -> int:  # fmt: skip
    """The number of the set the active edges lead to; that of all sets where there is no room."""
    if active == 0:
        return DEAD
    one = sweep[sweep[0, _ACTIVE], _TARGET]
    if active == 1 and numbers[one] >= 0:
        return int(numbers[one])
    for word in range(len(reached)):
        reached[word] = closures[one, word]
    for k in range(1, active):
        target = sweep[sweep[k, _ACTIVE], _TARGET]
        for word in range(len(reached)):
            reached[word] |= closures[target, word]
    number = number_of(reached, sets, slots, made)
    if number < 0:
        return len(sets)
    if active == 1:
        numbers[one] = number
    return number


@njit(cache=True, nogil=True, _nrt=False)
def number_of(members: Bits, sets: Bits, slots: Ints, made: int) -> int:
    """The number of a set, a new one where it is not known; −1 where there is no room."""
    marks = np.uint64(14695981039346656037)
    for bits in members:
        marks = (marks ^ bits) * np.uint64(1099511628211)
        marks ^= marks >> np.uint64(29)
    slot = int(np.int64(marks >> np.uint64(1))) % len(slots)
    while slots[slot] >= 0:
        known = int(slots[slot])
        word = 0
        while word < len(members) and sets[known, word] == members[word]:
            word += 1
        if word == len(members):
            return known
        slot = (slot + 1) % len(slots)
    if made == len(sets):
        return -1
    for word in range(len(members)):
        sets[made, word] = members[word]
    slots[slot] = made
    return made


#: A set of symbols, as the sorted ``(low, high)`` ranges an Nfa's edges name it by.
_Label = tuple[tuple[int, int], ...]

_HINT = "a repetition or a choice makes too many cases; bound it"


def determinize(nfa: Nfa, limits: Limits = LIMITS, clock: Clock | None = None) -> Dfa:
    """The Dfa whose states are the sets of Nfa states a text can lead to.

    Symbols no edge tells apart share a column. States of the Nfa from which no final state
    is reached are left out first, so every set that is not empty is alive and nothing has
    to be trimmed afterwards. ``clock`` is that of the work this is part of.

    Cost:   2^Q sets at worst; stopped inside the loop.
    Raises: LimitError past ``limits.states`` sets or ``limits.seconds``.
    Source: Rabin & Scott 1959, "Finite automata and their decision problems", theorem 11.
    """
    clock = clock or limits.clock()
    alive = _alive(nfa)
    if nfa.initial not in alive:
        return nothing(nfa.symbols)
    labels = [_labels(edges, alive) for edges in nfa.edges]
    classes, columns = symbol_classes({s for of in labels for _, s in of}, nfa.symbols)
    sets = _Sets(nfa, alive, clock)
    sets.number_of_target(nfa.initial)
    table = np.full((64, int(classes.max()) + 1), DEAD, np.int32)
    for row, here in enumerate(sets.members):  # grows while it is read
        if row == len(table):
            limits.check("megabytes", table.nbytes * 2 >> 20)
            table = np.vstack([table, np.full_like(table, DEAD)])
        edges = [edge for state in here for edge in labels[state]]
        _fill_edges(table[row], edges, columns, sets)
        clock.check()
        limits.check("states", len(sets.members), _HINT)
    finals = np.array([not nfa.finals.isdisjoint(s) for s in sets.members], np.bool_)
    return Dfa(classes, np.ascontiguousarray(table[: len(finals)]), finals)


def _fill_edges(
    row: npt.NDArray[np.int32],
    edges: list[tuple[int, _Label]],
    columns: dict[_Label, _Columns],
    sets: _Sets,
) -> None:
    """Write where a set leads to, by symbol class."""
    taken = 0
    for _, label in edges:
        mask = columns[label].mask
        if taken & mask:
            _fill_overlapping(row, edges, columns, sets)
            return
        taken |= mask
    for target, label in edges:
        row[columns[label].index] = sets.number_of_target(target)


def _fill_overlapping(
    row: npt.NDArray[np.int32],
    edges: list[tuple[int, _Label]],
    columns: dict[_Label, _Columns],
    sets: _Sets,
) -> None:
    """The same where one symbol leads to several states at once."""
    targets: dict[int, list[int]] = defaultdict(list)
    for target, label in edges:
        for column in columns[label].numbers:
            targets[column].append(target)
    known: dict[tuple[int, ...], int] = {}
    for column, together in targets.items():
        key = tuple(together)
        if key not in known:
            known[key] = sets.number_of_targets(together)
        row[column] = known[key]


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """The classes a label is made of: as a list, as bits, and as numpy likes to index by it."""

    numbers: list[int]
    mask: int
    index: int | npt.NDArray[np.intp]

    @staticmethod
    def of(columns: list[int]) -> _Columns:
        index = columns[0] if len(columns) == 1 else np.array(columns, np.intp)
        return _Columns(columns, sum(1 << column for column in columns), index)


def symbol_classes(
    labels: set[_Label], symbols: int
) -> tuple[npt.NDArray[np.uint16], dict[_Label, _Columns]]:
    """The coarsest partition in which every label is a union of classes.

    Classes are numbered by their first symbol. Returns the class of each symbol, and the
    classes of each label.
    """
    known = list(labels)
    member = np.zeros((len(known) + 1, symbols), np.bool_)
    for row, label in enumerate(known):
        for low, high in label:
            member[row, low : high + 1] = True
    columns = np.ascontiguousarray(np.packbits(member, axis=0).T)  # (S, bytes)
    numbers: dict[bytes, int] = {}
    classes = np.array(
        [numbers.setdefault(column.tobytes(), len(numbers)) for column in columns], np.uint16
    )
    by_class = member[:, np.unique(classes, return_index=True)[1]]  # (L, C)
    columns_of = {
        label: _Columns.of(np.flatnonzero(by_class[row]).tolist())
        for row, label in enumerate(known)
    }
    return classes, columns_of


def _labels(edges: tuple[Edge, ...], alive: set[int]) -> list[tuple[int, _Label]]:
    """The edges of a state by target, each with the set of symbols that leads there."""
    if len(edges) == 1:
        low, high, target = edges[0]
        return [(target, ((low, high),))] if target in alive else []
    by_target: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for low, high, target in edges:
        if target in alive:
            by_target[target].append((low, high))
    return [(target, tuple(sorted(ranges))) for target, ranges in by_target.items()]


def _alive(nfa: Nfa) -> set[int]:
    """The states from which a final state is reached."""
    before: list[list[int]] = [[] for _ in range(len(nfa))]
    for state in range(len(nfa)):
        for _, _, target in nfa.edges[state]:
            before[target].append(state)
        for target in nfa.epsilons[state]:
            before[target].append(state)
    alive = set(nfa.finals)
    waiting = list(nfa.finals)
    while waiting:
        for state in before[waiting.pop()]:
            if state not in alive:
                alive.add(state)
                waiting.append(state)
    return alive


class _Sets:
    """The sets of Nfa states met so far, numbered; each is closed under ε.

    Kept are states that read something, and final ones: sets that differ in others only
    are the same state of the Dfa.
    """

    def __init__(self, nfa: Nfa, alive: set[int], clock: Clock) -> None:
        #: The sets in the order they were met.
        self.members: list[frozenset[int]] = []
        self._nfa = nfa
        self._alive = alive
        self._clock = clock
        self._numbers: dict[frozenset[int], int] = {}
        self._closures: dict[int, frozenset[int]] = {}
        self._number_of_target: dict[int, int] = {}

    def number_of_target(self, state: int) -> int:
        """The number of the set reached with one Nfa state."""
        number = self._number_of_target.get(state)
        if number is None:
            number = self._number_of_target[state] = self._number(self._closure(state))
        return number

    def number_of_targets(self, states: list[int]) -> int:
        """The number of the set reached with several."""
        reached: set[int] = set()
        for state in states:
            if state not in reached:  # else all that is reached from it is there too
                reached |= self._closure(state)
        return self._number(frozenset(reached))

    def _number(self, members: frozenset[int]) -> int:
        number = self._numbers.setdefault(members, len(self.members))
        if number == len(self.members):
            self.members.append(members)
        return number

    def _closure(self, state: int) -> frozenset[int]:
        known = self._closures.get(state)
        if known is None:
            known = self._closures[state] = self._walk(state)
        return known

    def _walk(self, state: int) -> frozenset[int]:
        nfa = self._nfa
        if not nfa.epsilons[state]:
            return frozenset((state,))
        self._clock.check()
        seen = {state}
        waiting = [state]
        while waiting:
            for target in nfa.epsilons[waiting.pop()]:
                if target not in seen and target in self._alive:
                    seen.add(target)
                    waiting.append(target)
        return frozenset(s for s in seen if nfa.edges[s] or s in nfa.finals)
