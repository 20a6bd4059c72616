"""Subsets: an Nfa as arrays in, the table of the machine over its sets of states out.

Nothing here makes an array: who calls it does, once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD
from workbench.automata.flat import Bits, Classes, Flags, Ints
from workbench.kernel import inner, int64, njit

_DEAD = DEAD
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
        made = _fill(
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
def _fill(
    row: Ints, sweep: Ints, begun: Ints, closures: Bits, numbers: Ints, sets: Bits, slots: Ints,
    reached: Bits, spent: Counts, made: int,
) -> int:  # fmt: skip
    """Write where a set leads to by class; how many sets are known then, −1 if too many.

    A sweep over the classes: where no edge begins or ends all leads where it led before. Class
    by class it took three times as long, for a string's characters are most classes.
    """
    active, target, soonest = int64(0), int64(_DEAD), int64(len(row))
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
        return _DEAD
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
