"""Small machines at once: an Nfa in, its smallest Dfa out, where few states are enough.

Subset construction, minimization and normal form as kernels. Most patterns come to some dozen
states; in Python and numpy each step of the way cost more than all of them together cost here.
Larger machines are left to ``determinize`` and ``minimize``, which watch the time.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from workbench.automata.dfa import DEAD, Dfa
from workbench.automata.explore import nothing
from workbench.automata.flat import Bits, Classes, Flags, Flat, Ints, alive_of, classes_of
from workbench.automata.kernel import njit
from workbench.automata.nfa import Nfa, NfaBuilder

#: The most states before minimization; a chain of them takes as many rounds of refinement, so
#: the work grows with the square.
SMALL = 384
#: The most states and edges of an Nfa that is tried.
_NFA_STATES, _NFA_EDGES = 4_096, 16_384
_DEAD = DEAD


@cache
def ready() -> None:
    """Have the kernels compiled; work with a clock asks for this first, once a process.

    In a new installation that takes seconds, which are nobody's grammar's.
    """
    builder = NfaBuilder()
    start, end = builder.new_state(), builder.new_state()
    builder.edge(start, ord("a"), ord("b"), end)
    builder.epsilon(end, start)
    small_dfa(builder.build(start, {end}))


def small_dfa(nfa: Nfa, most: int = SMALL) -> Dfa | None:
    """The smallest Dfa of an Nfa in normal form, or None where it takes more than ``most`` states.

    Cost:   some 30 µs for a plain pattern, 0.5 ms near the limit.
    Source: Rabin & Scott 1959, theorem 11; Moore 1956, theorem 4.
    """
    if len(nfa) > _NFA_STATES or sum(map(len, nfa.edges)) > _NFA_EDGES:
        return None
    flat = Flat.of(nfa)
    done, classes, table, ends = _smallest(
        flat.edges, flat.first, flat.epsilons, flat.first_epsilon, nfa.initial, flat.finals,
        nfa.symbols, min(most, SMALL),
    )  # fmt: skip
    if done:
        return Dfa(classes, table, ends) if len(ends) else nothing(nfa.symbols)
    return None


@njit(cache=True, nogil=True)
def _smallest(
    edges: Ints, first: Ints, epsilons: Ints, first_epsilon: Ints, initial: int, finals: Flags,
    symbols: int, most: int,
) -> tuple[bool, Classes, Ints, Flags]:  # fmt: skip
    """Whether it is done; then the parts of the Dfa, without states for the empty language."""
    alive = alive_of(edges, first, epsilons, first_epsilon, finals)
    classes, count = classes_of(edges, alive, symbols)
    if not alive[initial]:
        return True, classes, np.empty((0, 1), np.int32), np.empty(0, np.bool_)
    closures = _closures(first, epsilons, first_epsilon, alive, finals)
    table, ends = _subsets(edges, first, closures, alive, classes, count, initial, finals, most)
    if len(table) == 0:
        return False, classes, table, ends
    blocks, size = _blocks(table, ends)
    classes, table, ends = _normal(classes, table, ends, blocks, size)
    return True, classes, table, ends


@njit(cache=True, nogil=True)
def _closures(
    first: Ints, epsilons: Ints, first_epsilon: Ints, alive: Flags, finals: Flags
) -> Bits:
    """What each state reaches without reading, as bits: states that read something or end."""
    size = len(finals)
    closures = np.zeros((size, (size + 63) // 64), np.uint64)
    seen = np.full(size, -1, np.int32)
    stack = np.empty(size, np.int32)
    for start in range(size):
        if not alive[start]:
            continue
        stack[0] = start
        seen[start] = start
        top = 1
        while top > 0:
            top -= 1
            state = stack[top]
            if finals[state] or first[state + 1] > first[state]:
                closures[start, state >> 6] |= np.uint64(1) << np.uint64(state & 63)
            for k in range(first_epsilon[state], first_epsilon[state + 1]):
                target = epsilons[k]
                if alive[target] and seen[target] != start:
                    seen[target] = start
                    stack[top] = target
                    top += 1
    return closures


@njit(cache=True, nogil=True)
def _subsets(
    edges: Ints, first: Ints, closures: Bits, alive: Flags, classes: Classes, count: int,
    initial: int, finals: Flags, most: int,
) -> tuple[Ints, Flags]:  # fmt: skip
    """The machine over sets of states; without rows where the sets are too many."""
    words = closures.shape[1]
    sets = np.zeros((most, words), np.uint64)
    slots = np.full(4 * most, -1, np.int32)
    table = np.full((most, count), _DEAD, np.int32)
    ends = np.zeros(most, np.bool_)
    reached = np.empty((count, words), np.uint64)
    made = number_of(closures[initial], sets, slots, 0) + 1
    here = 0
    while here < made:
        for its_class in range(count):
            for word in range(words):
                reached[its_class, word] = 0
        for state in range(len(finals)):
            if not sets[here, state >> 6] >> np.uint64(state & 63) & np.uint64(1):
                continue
            ends[here] |= finals[state]
            for k in range(first[state], first[state + 1]):
                if alive[edges[k, 2]]:
                    for its_class in range(classes[edges[k, 0]], classes[edges[k, 1]] + 1):
                        for word in range(words):
                            reached[its_class, word] |= closures[edges[k, 2], word]
        for its_class in range(count):
            met = False
            for word in range(words):
                met |= reached[its_class, word] != 0
            if met:
                target = number_of(reached[its_class], sets, slots, made)
                if target < 0:
                    return table[:0], ends[:0]
                table[here, its_class] = target
                made = max(made, target + 1)
        here += 1
    return table[:made], ends[:made]


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _blocks(table: Ints, ends: Flags) -> tuple[Ints, int]:
    """For each state the number of its block: states of a block accept the same texts."""
    size = len(ends)
    blocks = ends.astype(np.int32)
    slots = np.empty(4 * size, np.int32)
    refined = np.empty(size, np.int32)
    before = 0
    while True:
        for slot in range(len(slots)):
            slots[slot] = -1
        count = 0
        for state in range(size):
            marks = np.uint64(blocks[state] + 1)
            for target in table[state]:
                number = blocks[target] if target >= 0 else -1
                marks = (marks ^ np.uint64(number + 2)) * np.uint64(0x9E3779B97F4A7C15)
                marks ^= marks >> np.uint64(31)
            slot = int(np.int64(marks >> np.uint64(1))) % len(slots)
            while slots[slot] >= 0 and not _alike(table, blocks, state, slots[slot]):
                slot = (slot + 1) % len(slots)
            if slots[slot] < 0:
                slots[slot] = state
                refined[state] = count
                count += 1
            else:
                refined[state] = refined[slots[slot]]
        for state in range(size):
            blocks[state] = refined[state]
        if count == before:
            return blocks, count
        before = count


@njit(cache=True, nogil=True)
def _alike(table: Ints, blocks: Ints, left: int, right: int) -> bool:
    """Whether two states of a block lead to the same blocks."""
    if blocks[left] != blocks[right]:
        return False
    for k in range(table.shape[1]):
        one, other = table[left, k], table[right, k]
        if (one < 0) != (other < 0) or (one >= 0 and blocks[one] != blocks[other]):
            return False
    return True


@njit(cache=True, nogil=True)
def _normal(
    classes: Classes, table: Ints, ends: Flags, blocks: Ints, size: int
) -> tuple[Classes, Ints, Flags]:
    """One state a block, breadth first by class; equal columns one, by their first symbol."""
    columns = np.empty(table.shape[1], np.int32)  # the first column that is equal
    kept = 0
    renamed = np.empty(table.shape[1], np.uint16)
    for k in range(table.shape[1]):
        columns[kept] = k
        j = 0
        while not _same_column(table, blocks, columns[j], k):
            j += 1
        renamed[k] = j
        kept = max(kept, j + 1)
    numbers = np.full(size, -1, np.int32)
    order = np.empty(size, np.int32)
    order[0] = 0
    numbers[blocks[0]] = 0
    made = 1
    small = np.full((size, kept), _DEAD, np.int32)
    finals = np.empty(size, np.bool_)
    for row in range(size):
        state = order[row]
        finals[row] = ends[state]
        for k in range(kept):
            target = table[state, columns[k]]
            if target >= 0:
                if numbers[blocks[target]] < 0:
                    numbers[blocks[target]] = made
                    order[made] = target
                    made += 1
                small[row, k] = numbers[blocks[target]]
    return renamed[classes], small, finals


@njit(cache=True, nogil=True)
def _same_column(table: Ints, blocks: Ints, left: int, right: int) -> bool:
    """Whether two symbol classes lead to the same block from every state."""
    for row in table:
        one, other = row[left], row[right]
        if (one < 0) != (other < 0) or (one >= 0 and blocks[one] != blocks[other]):
            return False
    return True
