"""The smallest DFA of an NFA (``smallest``), with fast paths for two kinds of NFAs.

``small_dfa``: few states. Subset construction, minimization and normal form run in one kernel. Most
patterns have some dozens of states; in Python and numpy each single step took longer than all of
them together take here. Larger machines use ``determinize`` and ``minimize``, which check the
clock.

``direct_dfa``: many states, but deterministic apart from ε-edges, such as the automata of long
texts: no symbol leads from an ε-closure to two states. Then every NFA state becomes one DFA state,
and no sets are needed.

Both are minimized by ``minimize.normal_form``.
"""

from __future__ import annotations

import numpy as np

from workbench.automata.determinize import (
    Edges,
    determinize,
    find_closures,
    find_subsets,
    nothing,
)
from workbench.automata.minimize import minimize, normal_form, smallest_of
from workbench.automata.nfa import (
    Classes,
    Flags,
    Ints,
    Nfa,
    classes_of,
    coaccessible,
    find_classes,
    find_coaccessible,
)
from workbench.base.dfa import DEAD, Dfa
from workbench.base.kernels import inner, int64, njit
from workbench.base.limits import LIMITS, Clock, Limits

#: The most DFA states of ``small_dfa``, before minimization.
SMALL = 4_096
#: ``small_dfa`` is not tried for an Nfa with more states or edges.
_MAX_NFA_STATES, _MAX_NFA_EDGES = 8_192, 32_768


def smallest(nfa: Nfa, limits: Limits = LIMITS, clock: Clock | None = None) -> Dfa:
    """The smallest DFA of an Nfa.

    Raises: LimitError where subsets or the time exceed a limit.
    """
    dfa = small_dfa(nfa, min(limits.states, SMALL))
    if dfa is None:
        dfa = direct_dfa(nfa, limits)
    if dfa is not None:
        return dfa
    return minimize(determinize(nfa, limits, clock), limits, clock)


def small_dfa(nfa: Nfa, most: int = SMALL) -> Dfa | None:
    """The smallest Dfa of an Nfa in normal form, or None if it needs more than ``most`` states.

    Cost:   about 10 µs for a plain pattern, 1 µs for each state; a quarter of a second at most.
    Source: Rabin & Scott 1959, theorem 11; Valmari & Lehtinen 2008.
    """
    flat = nfa.flat
    if len(nfa) > _MAX_NFA_STATES or len(flat.edges) > _MAX_NFA_EDGES:
        return None
    done, classes, table, ends = _smallest_subsets(
        flat.edges, flat.first, flat.epsilons, flat.first_epsilon, nfa.initial, flat.finals,
        nfa.symbols, most,
    )  # fmt: skip
    if done:
        return Dfa(classes, table, ends) if len(ends) else nothing(nfa.symbols)
    return None


@njit()
def _smallest_subsets(
    edges: Ints, first: Ints, epsilons: Ints, first_epsilon: Ints, initial: int, finals: Flags,
    symbols: int, most: int,
) -> tuple[bool, Classes, Ints, Flags]:  # fmt: skip
    """Whether it succeeded, and the parts of the Dfa; no states for the empty language."""
    size, words = len(finals), (len(finals) + 63) // 64
    alive, classes = np.empty(size, np.bool_), np.empty(symbols + 1, np.uint16)
    space = np.empty((4, size + len(edges) + len(epsilons)), np.int32)
    find_coaccessible(edges, first, epsilons, first_epsilon, finals, alive, space)
    count = find_classes(edges, alive, classes)
    table, ends = np.empty((0, count), np.int32), np.empty(most, np.bool_)
    if not alive[initial]:
        return True, classes, table, ends[:0]
    closures, sets = np.empty((size, words), np.uint64), np.empty((most + 1, words), np.uint64)
    find_closures(first, epsilons, first_epsilon, alive, finals, closures, space)
    written = Edges(
        np.empty(most + 1, np.int32), np.empty(most * count, np.int32),
        np.empty(most * count, np.int32),
    )  # fmt: skip
    set_count = find_subsets(
        edges, first, closures, alive, classes, initial, finals, sets[:most],
        np.empty(4 * most, np.int32), written, ends, np.empty((len(edges), 4), np.int32),
        np.empty(count, np.int32), np.empty(size, np.int32), sets[most], np.empty(1, np.int64),
    )  # fmt: skip
    if set_count < 0:
        return False, classes, table, ends[:0]
    # the last entry of ``classes`` was scratch space
    classes = classes[:symbols]
    small, small_ends = normal_form(written, ends[:set_count], classes, count)
    return True, classes, small, small_ends


#: The status of ``_walk`` where a symbol leads to two states.
_AMBIGUOUS = -1

#: The most bytes of a table before minimization.
_MAX_TABLE_BYTES = 1 << 26


def direct_dfa(nfa: Nfa, limits: Limits = LIMITS) -> Dfa | None:
    """The smallest Dfa; None if a symbol leads from a state to two others, or a limit is exceeded.

    Cost: n log n for n edges; linear if the result is None. The suffix automaton of 50,000 letters
          takes 0.07 s; sets in Python and rounds of numpy took 80 times as long in the same run.
    """
    flat = nfa.flat
    alive = coaccessible(flat.edges, flat.first, flat.epsilons, flat.first_epsilon, flat.finals)
    classes, columns = classes_of(flat.edges, alive, nfa.symbols)
    size = len(nfa)
    max_bytes = min(_MAX_TABLE_BYTES, limits.megabytes << 20)
    if not alive[nfa.initial] or 4 * size * columns > max_bytes:
        return None
    table, ends = np.full((size, columns), DEAD, np.int32), np.zeros(size, np.bool_)
    edges = flat.edges.copy()
    edges[:, :2] = classes[edges[:, :2]]
    count = _walk(
        edges, flat.first, flat.epsilons, flat.first_epsilon, alive, flat.finals, nfa.initial,
        table, ends, np.full(size, -1, np.int32), np.empty((3, size), np.int32),
    )  # fmt: skip
    if count == _AMBIGUOUS or count > limits.states:
        return None
    return smallest_of(classes, table[:count], ends[:count])


@njit(_nrt=False)
def _walk(
    edges: Ints, first: Ints, epsilons: Ints, first_epsilon: Ints, alive: Flags, finals: Flags,
    initial: int, table: Ints, ends: Flags, numbers: Ints, space: Ints,
) -> int:  # fmt: skip
    """Fill the table from the initial state; return the number of states, or ``_AMBIGUOUS``."""
    order, stack, seen = space[0], space[1], space[2]
    seen[:] = -1
    order[0], numbers[initial], count, row = initial, 0, 1, 0
    while row < count:
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
                    numbers[target] = count
                    order[count] = target
                    count += 1
                for column in range(edges[k, 0], edges[k, 1] + 1):
                    if not _enter(table, int64(row), int64(column), int64(numbers[target])):
                        return _AMBIGUOUS
        row += 1
    return count


@inner
def _enter(table: Ints, row: int, column: int, target: int) -> bool:
    """Write the target of a symbol; False if there is a different one already."""
    if table[row, column] != DEAD and table[row, column] != target:
        return False
    table[row, column] = target
    return True
