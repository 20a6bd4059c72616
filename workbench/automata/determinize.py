"""Subset construction, and the exploration of a machine from a transition function.

``explore`` builds a machine from an initial node and the transitions of each node; products,
bounded copies and other constructions differ only in their nodes: pairs of states, a state and a
count. The subset construction has two implementations:

* ``find_closures`` and ``find_subsets``: numba kernels for machines of a few thousand states. Sets
  are bit rows. The caller allocates all arrays, so that one kernel call needs one allocation
  (``small_dfa`` is the caller; ``lazy_dfa`` uses ``find_closures`` and ``number_of``).
* ``determinize``: Python sets, for machines of any size; it checks the limits while it runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.automata.graphs import reachable
from workbench.automata.nfa import Bits, Classes, Flags, Ints, Nfa, coaccessible
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.kernels import inlined, inner, int64, of_arrays, wrapping
from workbench.base.limits import LIMITS, Clock, Limits

Node = TypeVar("Node", bound=Hashable)


def explore(
    initial: Node,
    step: Callable[[Node], Sequence[Node | None]],
    is_final: Callable[[Node], bool],
    classes: npt.NDArray[np.uint16],
    limits: Limits = LIMITS,
) -> Dfa:
    """The trimmed Dfa whose states are the nodes reachable from ``initial``.

    ``step`` returns, for each symbol class, the node it leads to, or None.

    Shape:  ``classes`` (S,), as in ``Dfa``.
    Raises: LimitError above ``limits.states`` nodes or ``limits.seconds``.
    Source: the worklist of Q. Neale's greenery, ``fsm.crawl``.
    """
    clock = limits.clock()
    numbers: dict[Node | None, State] = {None: DEAD, initial: 0}
    nodes = [initial]
    rows: list[npt.NDArray[np.int32]] = []
    while len(rows) < len(nodes):
        row = []
        for target in step(nodes[len(rows)]):
            number = numbers.setdefault(target, len(nodes))
            if number == len(nodes):
                assert target is not None
                nodes.append(target)
            row.append(number)
        rows.append(np.array(row, np.int32))
        if not len(rows) & 31:
            limits.check("states", len(nodes))
            clock.check()
    limits.check("states", len(nodes))
    finals = np.array([is_final(node) for node in nodes], np.bool_)
    return trimmed(classes, np.concatenate(rows).reshape(len(rows), -1), finals, 0, clock)


def trimmed(
    classes: npt.NDArray[np.uint16],
    table: npt.NDArray[np.int32],
    finals: npt.NDArray[np.bool_],
    initial: State,
    clock: Clock | None = None,
) -> Dfa:
    """The machine without the states that are not accessible or not co-accessible.

    Raises: LimitError after the time limit, if there is a clock.
    """
    sources: defaultdict[State, list[State]] = defaultdict(list)

    def targets(state: State) -> set[State]:
        if clock is not None:
            clock.check()
        reached = set(table[state].tolist()) - {DEAD}
        for target in reached:
            sources[target].append(state)
        return reached

    accessible = reachable([initial], targets)
    coaccessible = reachable(
        [state for state in np.flatnonzero(finals).tolist() if state in accessible],
        lambda state: sources.get(state, ()),
    )
    kept = np.zeros(len(table), np.bool_)
    kept[[state for state in accessible if state in coaccessible]] = True
    if not kept[initial]:
        return nothing(len(classes))
    numbers = np.full(len(table) + 1, DEAD, np.int32)
    numbers[:-1][kept] = np.arange(kept.sum(), dtype=np.int32)
    return Dfa(classes, numbers[table[kept]], finals[kept], int(numbers[initial]))


def nothing(symbols: int) -> Dfa:
    """The machine of the empty language."""
    return Dfa(np.zeros(symbols, np.uint16), np.full((1, 1), DEAD, np.int32), np.zeros(1, np.bool_))


_ONE = np.uint64(1)
#: The most words united by ``find_subsets``, which checks no clock: a quarter of a second.
_MAX_UNITED_WORDS = 400_000_000

Counts = npt.NDArray[np.int64]
#: The columns of the sweep over the edges of one set. Row k describes edge k: its last class, its
#: target, and the previous edge that begins at the same class (a linked list). Column ``_ACTIVE``
#: is independent of the others: its first entries are the edges that cover the current class.
_HIGH, _TARGET, _BEFORE, _ACTIVE = range(4)


class Edges(NamedTuple):
    """The edges of a machine, grouped by source; those of one source by class.

    Shape: those of state q are ``first[q]:first[q + 1]`` of ``labels`` (E,), symbol classes, and
           of ``targets`` (E,).
    """

    first: Ints
    labels: Ints
    targets: Ints


@inner
def find_closures(
    first: Ints, epsilons: Ints, first_epsilon: Ints, alive: Flags, finals: Flags, closures: Bits,
    space: Ints,
) -> None:  # fmt: skip
    """Write the ε-closure of each state as bits; only final states and states with edges count."""
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
    finals: Flags, sets: Bits, slots: Ints, written: Edges, ends: Flags, sweep: Ints, begun: Ints,
    numbers: Ints, reached: Bits, spent: Counts,
) -> int:  # fmt: skip
    """Write the DFA over sets of states; return its number of states, or −1 if it is too large.

    Too large: more states than ``sets`` has rows, or more than ``_MAX_UNITED_WORDS`` words of sets
    to unite. Row i of ``sets`` is the set of state i; ``slots`` is the hash table of these rows.
    ``numbers`` caches the set number of the closure of one NFA state. ``sweep``, ``begun``,
    ``reached`` and ``spent`` are scratch space.

    Source: Rabin & Scott 1959, theorem 11.
    """
    for slot in range(len(slots)):
        slots[slot] = -1
    for state in range(len(numbers)):
        numbers[state] = -1
    for column in range(len(begun)):
        begun[column] = -1
    spent[0] = written.first[0] = 0
    set_count = number_of(closures[initial], sets, slots, int64(0)) + 1
    current = 0
    while current < set_count:
        ends[current], count, column = _collect_edges(
            sets[current], edges, first, alive, classes, finals, sweep, begun
        )
        set_count = _write_row(
            current, count, column, written, sweep, begun, closures, numbers, sets, slots, reached,
            spent, set_count,
        )  # fmt: skip
        if set_count < 0:
            return -1
        current += 1
    return set_count


_BYTE = np.uint64(0xFF)


@inlined
def _collect_edges(
    members: Bits, edges: Ints, first: Ints, alive: Flags, classes: Classes, finals: Flags,
    sweep: Ints, begun: Ints,
) -> tuple[bool, int, int]:  # fmt: skip
    """Write the edges of a set into ``sweep``.

    Returns whether the set contains a final state, the number of edges, and their lowest class.
    ``begun[c]`` is the latest edge that begins at class c, the head of a linked list, or −1.
    """
    count, ends, lowest = int64(0), False, int64(len(begun))
    for word in range(len(members)):
        bits, state = members[word], 64 * word
        while bits != 0:
            while bits & _BYTE == 0:
                bits >>= np.uint64(8)
                state += 8
            if bits & _ONE != 0:
                ends |= finals[state]
                for k in range(first[state], first[state + 1]):
                    if alive[edges[k, 2]]:
                        low = int64(classes[edges[k, 0]])
                        lowest = min(lowest, low)
                        sweep[count, _HIGH] = classes[edges[k, 1]]
                        sweep[count, _TARGET] = edges[k, 2]
                        sweep[count, _BEFORE], begun[low] = begun[low], count
                        count += 1
            bits >>= _ONE
            state += 1
    return ends, count, lowest


@inlined
def _write_row(
    current: int, waiting: int, column: int, written: Edges, sweep: Ints, begun: Ints,
    closures: Bits, numbers: Ints, sets: Bits, slots: Ints, reached: Bits, spent: Counts,
    set_count: int,
) -> int:  # fmt: skip
    """Write the edges of the set ``current``; return the new number of sets, −1 if too many.

    ``waiting`` edges begin at ``column`` or later. Sweeps over the classes: where no edge begins or
    ends, the target is that of the class before. Computing each class separately took three times
    as long, because most classes lie inside the character sets of strings.
    """
    active, target, soonest = int64(0), int64(DEAD), int64(len(begun))
    position = written.first[current]
    while column < len(begun) and active + waiting > 0:
        edge = begun[column]
        if edge >= 0 or column > soonest:
            begun[column] = -1
            kept, soonest = int64(0), int64(len(begun))
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
                active, waiting, edge = active + 1, waiting - 1, sweep[edge, _BEFORE]
            spent[0] += active * len(reached)
            if spent[0] > _MAX_UNITED_WORDS:
                return -1
            target = _target(active, sweep, closures, numbers, sets, slots, reached, set_count)
            if target == len(sets):
                return -1
            if target == set_count:
                set_count += 1
        if target >= 0:
            written.labels[position], written.targets[position] = column, target
            position += 1
        column += 1
    written.first[current + 1] = position
    return set_count


@inlined
def _target(
    active: int, sweep: Ints, closures: Bits, numbers: Ints, sets: Bits, slots: Ints,
    reached: Bits, set_count: int,
) -> int:  # fmt: skip
    """The number of the set the active edges lead to; ``len(sets)`` where ``sets`` is full."""
    if active == 0:
        return DEAD
    state = sweep[sweep[0, _ACTIVE], _TARGET]
    if active == 1 and numbers[state] >= 0:
        return int(numbers[state])
    for word in range(len(reached)):
        reached[word] = closures[state, word]
    for k in range(1, active):
        target = sweep[sweep[k, _ACTIVE], _TARGET]
        for word in range(len(reached)):
            reached[word] |= closures[target, word]
    number = number_of(reached, sets, slots, set_count)
    if number < 0:
        return len(sets)
    if active == 1:
        numbers[state] = number
    return number


#: The hash of no words.
_FIRST_MARK = np.uint64(14695981039346656037)


@inner
def mixed_bits(marks: np.uint64, bits: np.uint64) -> np.uint64:
    """A hash of words combined with one more word."""
    marks = (marks ^ bits) * np.uint64(1099511628211)
    return marks ^ marks >> np.uint64(29)


@wrapping
@inner
def number_of(members: Bits, sets: Bits, slots: Ints, set_count: int) -> int:
    """The number of a set, a new one if it is not in the hash table; −1 where ``sets`` is full."""
    marks = _FIRST_MARK
    for bits in members:
        marks = mixed_bits(marks, bits)
    slot = int(np.int64(marks >> np.uint64(1))) % len(slots)
    while slots[slot] >= 0:
        number = int(slots[slot])
        word = 0
        while word < len(members) and sets[number, word] == members[word]:
            word += 1
        if word == len(members):
            return number
        slot = (slot + 1) % len(slots)
    if set_count == len(sets):
        return -1
    for word in range(len(members)):
        sets[set_count, word] = members[word]
    slots[slot] = set_count
    return set_count


def hashes_of(sets: Bits) -> Counts:
    """The hash of each set, of which ``number_of`` looks up the slot, (n,)."""
    marks = np.full(len(sets), _FIRST_MARK)
    for word in range(sets.shape[1]):
        marks = of_arrays(mixed_bits)(marks, sets[:, word])
    return (marks >> np.uint64(1)).astype(np.int64)


def fill_slots(hashes: Counts, slots: Ints) -> None:
    """Enter the numbers of n entries into an empty hash table with linear probing.

    Shape: ``hashes`` (n,), not negative; ``slots`` more than n, all −1.
    """
    waiting, probe = np.arange(len(hashes), dtype=np.int32), hashes % len(slots)
    slots[probe] = waiting  # of several for one slot, one is written
    while len(unplaced := np.flatnonzero(slots[probe] != waiting)):
        waiting, probe = waiting[unplaced], (probe[unplaced] + 1) % len(slots)
        free = np.flatnonzero(slots[probe] < 0)
        slots[probe[free]] = waiting[free]


#: A set of symbols, as the sorted ``(low, high)`` ranges an Nfa's edges name it by.
_Label = tuple[tuple[int, int], ...]
#: The targets of a state, each with its label: tuples, which the garbage collector does not visit.
_Labelled = tuple[tuple[int, _Label], ...]

_HINT = "a repetition or a choice makes too many cases; bound it"


def determinize(nfa: Nfa, limits: Limits = LIMITS, clock: Clock | None = None) -> Dfa:
    """The Dfa whose states are the sets of Nfa states a text can lead to.

    Symbols that no edge tells apart share a column. States of the Nfa that are not co-accessible
    are left out first, so every set that is not empty is co-accessible and the result is trimmed.
    ``clock`` is the clock of the surrounding work, if there is one.

    Cost:   2^Q sets at worst; stopped inside the loop.
    Raises: LimitError above ``limits.states`` sets or ``limits.seconds``.
    Source: Rabin & Scott 1959, "Finite automata and their decision problems", theorem 11.
    """
    clock = clock or limits.clock()
    flat = nfa.flat
    alive = coaccessible(flat.edges, flat.first, flat.epsilons, flat.first_epsilon, flat.finals)
    if not alive[nfa.initial]:
        return nothing(nfa.symbols)
    unique_labels: dict[_Label, _Label] = {}
    labels = [_labels(edges, unique_labels) for edges in _edges_by_state(nfa, alive, clock)]
    classes, columns = symbol_classes(unique_labels, nfa.symbols, clock)
    sets = _Sets(nfa, labels, clock)
    sets.number_of_target(nfa.initial)
    table = np.full((64, int(classes.max()) + 1), DEAD, np.int32)
    for row, members in enumerate(sets.members):  # the list grows during the loop
        if row == len(table):
            limits.check("megabytes", table.nbytes * 2 >> 20)
            table = np.vstack([table, np.full_like(table, DEAD)])
        edges = [edge for state in members for edge in labels[state]]
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
    """Write the target of a set for each symbol class."""
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
    """As ``_fill_edges``, where a symbol leads to several states."""
    targets: dict[int, list[int]] = defaultdict(list)
    for target, label in edges:
        for column in columns[label].numbers:
            targets[column].append(target)
    cached: dict[tuple[int, ...], int] = {}
    for column, its_targets in targets.items():
        key = tuple(its_targets)
        if key not in cached:
            cached[key] = sets.number_of_targets(its_targets)
        row[column] = cached[key]


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """The classes that form a label: as a list, as bits, and as a numpy index."""

    numbers: list[int]
    mask: int
    index: int | npt.NDArray[np.intp]

    @staticmethod
    def of(columns: list[int]) -> _Columns:
        index = columns[0] if len(columns) == 1 else np.array(columns, np.intp)
        return _Columns(columns, sum(1 << column for column in columns), index)


#: States whose edges one call converts; the clock is checked between the calls.
_CONVERTED_AT_ONCE = 256


def _edges_by_state(nfa: Nfa, alive: Flags, clock: Clock) -> Iterator[list[list[int]]]:
    """The edges of each state, in order, that lead to co-accessible states."""
    flat = nfa.flat
    kept = alive[flat.edges[:, 2]]
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])[flat.first]
    edges = flat.edges[kept]
    for begin in range(0, len(nfa), _CONVERTED_AT_ONCE):
        clock.check()
        first, *ends = before[begin : begin + _CONVERTED_AT_ONCE + 1].tolist()
        some = edges[first : ends[-1]].tolist()
        for low, high in pairwise((first, *ends)):
            yield some[low - first : high - first]


def symbol_classes(
    labels: Iterable[_Label], symbols: int, clock: Clock
) -> tuple[npt.NDArray[np.uint16], dict[_Label, _Columns]]:
    """The coarsest partition in which every label is a union of classes.

    Classes are numbered by their first symbol. Returns the class of each symbol, and the
    classes of each label.
    """
    label_list = list(labels)
    member = np.zeros((len(label_list) + 1, symbols), np.bool_)
    for row, label in enumerate(label_list):
        clock.check()
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
        for row, label in enumerate(label_list)
    }
    return classes, columns_of


def _labels(edges: list[list[int]], unique_labels: dict[_Label, _Label]) -> _Labelled:
    """The edges of a state by target, each with the set of symbols that leads there.

    ``unique_labels`` receives the labels, so that equal ones are one object.
    """
    if len(edges) == 1:
        low, high, target = edges[0]
        label: _Label = ((low, high),)
        return ((target, unique_labels.setdefault(label, label)),)
    by_target: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for low, high, target in edges:
        by_target[target].append((low, high))
    labels = [(target, tuple(sorted(ranges))) for target, ranges in by_target.items()]
    return tuple((target, unique_labels.setdefault(label, label)) for target, label in labels)


class _Sets:
    """The numbered sets of Nfa states; each is closed under ε.

    They contain only final states and states with edges: sets that differ in other states are the
    same state of the Dfa.
    """

    def __init__(self, nfa: Nfa, labels: list[_Labelled], clock: Clock) -> None:
        #: The sets in the order they were found.
        self.members: list[frozenset[int]] = []
        self._finals = nfa.finals
        self._labels = labels
        self._epsilons = nfa.epsilon_rows()
        self._clock = clock
        self._numbers: dict[frozenset[int], int] = {}
        self._closures: dict[int, frozenset[int]] = {}
        self._number_of_target: dict[int, int] = {}

    def number_of_target(self, state: int) -> int:
        """The number of the closure of one Nfa state."""
        number = self._number_of_target.get(state)
        if number is None:
            number = self._number_of_target[state] = self._number(self._closure(state))
        return number

    def number_of_targets(self, states: list[int]) -> int:
        """The number of the closure of several Nfa states."""
        reached: set[int] = set()
        for state in states:
            if state not in reached:  # else its whole closure is included already
                reached |= self._closure(state)
        return self._number(frozenset(reached))

    def _number(self, members: frozenset[int]) -> int:
        number = self._numbers.setdefault(members, len(self.members))
        if number == len(self.members):
            self.members.append(members)
        return number

    def _closure(self, state: int) -> frozenset[int]:
        cached = self._closures.get(state)
        if cached is None:
            cached = self._closures[state] = self._find_closure(state)
        return cached

    def _find_closure(self, state: int) -> frozenset[int]:
        if not self._epsilons[state]:
            return frozenset((state,))
        self._clock.check()
        reached = reachable([state], self._epsilons.__getitem__)
        return frozenset(s for s in reached if self._labels[s] or s in self._finals)
