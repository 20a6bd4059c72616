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
from workbench.automata.flat import Classes, Flags, Ints, alive_of, classes_of
from workbench.automata.kernel import njit
from workbench.automata.measure import check_size
from workbench.automata.nfa import Nfa
from workbench.automata.program import Program
from workbench.automata.refine import blocks_of
from workbench.automata.subsets import closures_of, subsets
from workbench.automata.writing import program_nfa
from workbench.limits import LIMITS

#: The most states before minimization.
SMALL = 1_024
#: The most states and edges of an Nfa that is tried.
_NFA_STATES, _NFA_EDGES = 4_096, 16_384
_DEAD = DEAD
_MIXED = np.uint64(0x9E3779B97F4A7C15)


@cache
def ready() -> None:
    """Have the kernels compiled; work with a clock asks for this first, once a process.

    In a new installation that takes seconds, which are nobody's grammar's.
    """
    program = Program()
    program.anything()
    code, data = program.arrays()
    check_size(code, data, [0], LIMITS)
    small_dfa(program_nfa(code, data))


def small_dfa(nfa: Nfa, most: int = SMALL) -> Dfa | None:
    """The smallest Dfa of an Nfa in normal form, or None where it takes more than ``most`` states.

    Cost:   some 30 µs for a plain pattern, 0.5 ms near the limit.
    Source: Rabin & Scott 1959, theorem 11; Moore 1956, theorem 4.
    """
    flat = nfa.flat
    if len(nfa) > _NFA_STATES or len(flat.edges) > _NFA_EDGES:
        return None
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
    closures = closures_of(first, epsilons, first_epsilon, alive, finals)
    table, ends = subsets(edges, first, closures, alive, classes, count, initial, finals, most)
    if len(table) == 0:
        return False, classes, table, ends
    blocks, size = blocks_of(table, ends)
    classes, table, ends = _normal(classes, table, ends, blocks, size)
    return True, classes, table, ends


@njit(cache=True, nogil=True)
def _normal(
    classes: Classes, table: Ints, ends: Flags, blocks: Ints, size: int
) -> tuple[Classes, Ints, Flags]:
    """One state a block, breadth first by class; equal columns one, by their first symbol."""
    renamed, columns = _columns(table, blocks)
    numbers = np.full(size, -1, np.int32)
    order = np.empty(size, np.int32)
    order[0] = 0
    numbers[blocks[0]] = 0
    made = 1
    small = np.full((size, len(columns)), _DEAD, np.int32)
    finals = np.empty(size, np.bool_)
    for row in range(size):
        state = order[row]
        finals[row] = ends[state]
        for k in range(len(columns)):
            target = table[state, columns[k]]
            if target >= 0:
                if numbers[blocks[target]] < 0:
                    numbers[blocks[target]] = made
                    order[made] = target
                    made += 1
                small[row, k] = numbers[blocks[target]]
    return renamed[classes], small, finals


@njit(cache=True, nogil=True)
def _columns(table: Ints, blocks: Ints) -> tuple[Classes, Ints]:
    """For each symbol class its number where equal columns are one, and the first of each."""
    rows, width = table.shape
    marks = np.zeros(width, np.uint64)
    for row in range(rows):
        for k in range(width):
            target = table[row, k]
            block = blocks[target] + 2 if target >= 0 else 1
            marks[k] = (marks[k] ^ np.uint64(block)) * _MIXED
            marks[k] ^= marks[k] >> np.uint64(29)
    columns, kept = np.empty(width, np.int32), 0
    renamed = np.empty(width, np.uint16)
    for k in range(width):
        columns[kept] = k
        j = 0
        while marks[columns[j]] != marks[k] or not _same_column(table, blocks, columns[j], k):
            j += 1
        renamed[k] = j
        kept = max(kept, j + 1)
    return renamed, columns[:kept]


@njit(cache=True, nogil=True)
def _same_column(table: Ints, blocks: Ints, left: int, right: int) -> bool:
    """Whether two symbol classes lead to the same block from every state."""
    if left == right:
        return True
    for row in range(len(table)):
        one, other = table[row, left], table[row, right]
        if (one < 0) != (other < 0) or (one >= 0 and blocks[one] != blocks[other]):
            return False
    return True
