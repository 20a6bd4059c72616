"""Direct: in comes an Nfa of which no text leads to two places, out comes its smallest Dfa.

Machines of long texts are like that: tens of thousands of states, of which each is entered by one
edge a symbol and may read on through states it leads to without reading. No sets are made.
"""

from __future__ import annotations

import numpy as np

from workbench.automata.dfa import DEAD, Dfa
from workbench.automata.flat import Classes, Flags, Ints, alive_of, classes_of
from workbench.automata.nfa import Nfa
from workbench.automata.refine import ROWS, SET, find_blocks
from workbench.automata.small import find_columns, write_normal
from workbench.kernel import inner, int64, njit
from workbench.limits import LIMITS, Limits

_DEAD = DEAD
#: What the kernel says where a symbol leads to two states.
_SEVERAL = -1

#: The most bytes of a table before it is made small.
_MOST = 1 << 26


def direct_dfa(nfa: Nfa, limits: Limits = LIMITS) -> Dfa | None:
    """The smallest Dfa; None where a symbol leads from one state to two, or a limit is met.

    Cost: n log n for n edges; linear where it ends in None. The suffix automaton of 50,000 letters
          takes 0.07 s; sets in Python and rounds of numpy took 80 times as long in the same run.
    """
    flat = nfa.flat
    alive = alive_of(flat.edges, flat.first, flat.epsilons, flat.first_epsilon, flat.finals)
    classes, columns = classes_of(flat.edges, alive, nfa.symbols)
    size = len(nfa)
    if not alive[nfa.initial] or 4 * size * columns > min(_MOST, limits.megabytes << 20):
        return None
    table, ends = np.full((size, columns), DEAD, np.int32), np.zeros(size, np.bool_)
    edges = flat.edges.copy()
    edges[:, :2] = classes[edges[:, :2]]
    made = _walk(
        edges, flat.first, flat.epsilons, flat.first_epsilon, alive, flat.finals, nfa.initial,
        table, ends, np.full(size, -1, np.int32), np.empty((3, size), np.int32),
    )  # fmt: skip
    if made == _SEVERAL or made > limits.states:
        return None
    return smallest(classes.astype(np.uint16), table[:made], ends[:made])


def smallest(classes: Classes, table: Ints, ends: Flags) -> Dfa:
    """The smallest Dfa of a machine that begins in state 0, all of whose states are of use.

    Each is reached, and leads to an end: ``minimize`` takes any machine.
    Cost: n log n for n edges.
    """
    made_table, made_ends, made_classes = _smallest(
        table, ends, classes, int((table != DEAD).sum())
    )
    return Dfa(made_classes, made_table, made_ends)


@njit(cache=True, nogil=True)
def _smallest(
    table: Ints, ends: Flags, classes: Classes, edges: int
) -> tuple[Ints, Flags, Classes]:
    """The smallest table in normal form, which of its states are ends, and the classes for it."""
    states, width = table.shape
    places = edges + states + 2
    blocks, cords = np.empty((ROWS, states + 2), np.int32), np.empty((ROWS, places), np.int32)
    space = np.empty((4, places), np.int32)
    kept = find_blocks(table, states, ends, blocks, cords, space)
    columns, marks = np.empty(width, np.int32), np.empty(width, np.uint64)
    renamed = np.empty(width, np.uint16)
    narrow = find_columns(table, states, blocks[SET], marks, columns, renamed)
    small, small_ends = np.empty((kept, narrow), np.int32), np.empty(kept, np.bool_)
    write_normal(table, ends, blocks[SET], columns, space, small, small_ends)
    numbers = np.empty(len(classes), np.uint16)
    for symbol in range(len(classes)):
        numbers[symbol] = renamed[classes[symbol]]
    return small, small_ends, numbers


@njit(cache=True, nogil=True, _nrt=False)
def _walk(
    edges: Ints, first: Ints, epsilons: Ints, first_epsilon: Ints, alive: Flags, finals: Flags,
    initial: int, table: Ints, ends: Flags, numbers: Ints, space: Ints,
) -> int:  # fmt: skip
    """Fill the table from the initial state on; how many states there are, or ``_SEVERAL``."""
    order, stack, seen = space[0], space[1], space[2]
    seen[:] = -1
    order[0], numbers[initial], made, row = initial, 0, 1, 0
    while row < made:
        stack[0], top = order[row], 1
        seen[order[row]] = row
        while top > 0:
            top -= 1
            state = stack[top]
            ends[row] |= finals[state]
            for k in range(first_epsilon[state], first_epsilon[state + 1]):
                target = epsilons[k]
                if alive[target] and seen[target] != row:
                    seen[target] = row
                    stack[top] = target
                    top += 1
            for k in range(first[state], first[state + 1]):
                target = edges[k, 2]
                if not alive[target]:
                    continue
                if numbers[target] < 0:
                    numbers[target] = made
                    order[made] = target
                    made += 1
                for column in range(edges[k, 0], edges[k, 1] + 1):
                    if not _enter(table, int64(row), int64(column), int64(numbers[target])):
                        return _SEVERAL
        row += 1
    return made


@inner
def _enter(table: Ints, row: int, column: int, target: int) -> bool:
    """Write where a symbol leads; False where it leads elsewhere too."""
    if table[row, column] != _DEAD and table[row, column] != target:
        return False
    table[row, column] = target
    return True
