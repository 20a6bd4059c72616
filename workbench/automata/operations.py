"""Boolean and rational operations on DFAs, and tests of equivalence.

Every operation returns a minimized Dfa. Boolean operations are products (``_product``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from workbench.automata.determinize import determinize, explore, nothing
from workbench.automata.minimize import minimize, smallest_of
from workbench.automata.nfa import BYTES, Flags, Ints, Nfa, NfaBuilder
from workbench.automata.program_nfa import program_nfa
from workbench.automata.regex_program import SEQUENCE, Program, check_size
from workbench.automata.small_dfa import smallest
from workbench.automata.substrings import suffix_automaton
from workbench.automata.thompson import add, thompson
from workbench.base.dfa import DEAD, Dfa, State, table_rows
from workbench.base.kernels import int64, njit
from workbench.base.limits import LIMITS, Limits, check_time_budget
from workbench.syntax.ranges import ANY_BYTE
from workbench.syntax.regex.tree import Bytes, Concat, Extension, Kind, Regex, Repeat, asserted

#: A pair of states, one in each machine, each possibly ``DEAD``; or a state and a count.
_Pair = tuple[State, State]


def complement(dfa: Dfa, limits: Limits = LIMITS) -> Dfa:
    """All texts over the same symbols that the machine does not accept."""
    dead = len(dfa)
    width = dfa.table.shape[1]
    table = np.vstack([dfa.table, np.full((1, width), dead, np.int32)])
    table[table == DEAD] = dead
    return minimize(Dfa(dfa.classes, table, ~np.append(dfa.finals, False), dfa.initial), limits)


def intersection(left: Dfa, right: Dfa, limits: Limits = LIMITS) -> Dfa:
    """The texts both machines accept."""
    return _product(left, right, _BOTH, limits)


def union(left: Dfa, right: Dfa, limits: Limits = LIMITS) -> Dfa:
    """The texts at least one machine accepts."""
    return _product(left, right, _EITHER, limits)


def difference(left: Dfa, right: Dfa, limits: Limits = LIMITS) -> Dfa:
    """The texts the left machine accepts and the right one does not."""
    return _product(left, right, _LEFT_ONLY, limits)


def concatenation(left: Dfa, right: Dfa, limits: Limits = LIMITS) -> Dfa:
    """A text of the left machine, then one of the right."""
    builder = NfaBuilder(len(left.classes))
    start, middle, end = (builder.new_state() for _ in range(3))
    builder.embed(left, start, middle)
    builder.embed(right, middle, end)
    return smallest(builder.build(start, {end}), limits)


def states_ending_with(
    dfa: Dfa, word: bytes, finals: npt.NDArray[np.bool_] | None = None
) -> npt.NDArray[np.bool_]:
    """The states (Q,) from which ``word`` leads to one of ``finals``, the machine's by default."""
    states = dfa.finals if finals is None else finals
    for byte in reversed(word):
        if not states.any():
            break
        states = np.append(states, False)[dfa.table[:, dfa.classes[byte]]]  # DEAD is the last
    return states


def between(
    dfa: Dfa, initial: State, finals: npt.NDArray[np.bool_], limits: Limits = LIMITS
) -> Dfa:
    """The texts that lead from a state to one of some states (Q,).

    With the state after a prefix and the states of ``states_ending_with`` a suffix these are the
    left and the right quotient of the language.
    """
    return minimize(Dfa(dfa.classes, dfa.table, finals.copy(), initial), limits)


def first_match(dfa: Dfa, limits: Limits = LIMITS) -> Dfa:
    """The non-empty texts of the machine without a shorter non-empty prefix that is accepted.

    Source: ``#e'…'`` of KBNF: it stops at the first match.
    """
    start = len(dfa)  # a copy of the initial state: the empty text is never a match
    table = np.vstack([dfa.table, dfa.table[dfa.initial]])
    finals = np.append(dfa.finals, False)
    table[finals] = DEAD
    return minimize(Dfa(dfa.classes, table, finals, start), limits)


def without_match(regex: Regex, limits: Limits = LIMITS) -> Dfa:
    """The non-empty byte strings without a substring that the regex matches.

    Source: ``#ex'…'`` of KBNF: the complement of ``Σ* R Σ*``, byte by byte.
    """
    if (inner := asserted(regex)) is not None:
        anything = Repeat(Bytes(ANY_BYTE, regex.span), 0, None, regex.span)
        whole = Concat((anything, inner, anything), regex.span)
        nfa = thompson(Extension(Kind.ASSERTED, (whole,), regex.span), limits)
        machine = smallest(nfa, limits)
        return difference(some_bytes(), machine, limits)
    program = Program([SEQUENCE, 2, 0])
    program.anything()
    add(program, regex)
    code, data = program.arrays()
    check_size(code, data, [3], limits)  # the regex alone
    return _avoiding(program_nfa(code, data), limits)


def _avoiding(nfa: Nfa, limits: Limits) -> Dfa:
    """The non-empty byte strings without a prefix that the machine accepts."""
    dfa = determinize(nfa, limits)
    if dfa.is_empty:
        return minimize(some_bytes(), limits)
    table = np.where(dfa.finals[dfa.table] & (dfa.table != DEAD), DEAD, dfa.table)
    # from every other state of `dfa` any byte may follow, and the text may end
    start_copy = np.int32(len(dfa))
    table = np.vstack([table, table[dfa.initial]]).astype(np.int32)
    finals = np.append(~dfa.finals, False)
    if dfa.finals[dfa.initial]:
        return nothing(BYTES)
    return minimize(Dfa(dfa.classes, table, finals, int(start_copy)), limits)


def some_bytes() -> Dfa:
    """All byte strings except the empty one."""
    return Dfa(
        np.zeros(BYTES, np.uint16), np.ones((2, 1), np.int32), np.array([False, True], np.bool_)
    )


def literals(words: Sequence[bytes], limits: Limits = LIMITS) -> Dfa:
    """Exactly these byte strings."""
    limits.check("unrolled", sum(map(len, words)))
    program = Program()
    program.any_of(words)
    return smallest(program_nfa(*program.arrays()), limits)


def substrings(data: bytes, limits: Limits = LIMITS) -> Dfa:
    """All substrings of a byte string, including the empty one.

    Cost:   linear in the bytes, times the number of distinct bytes.
    """
    used, letters = np.unique(np.frombuffer(data, np.uint8), return_inverse=True)
    edges, size = suffix_automaton(letters.astype(np.int32))
    limits.check("states", size, "shorten the string")
    classes = np.zeros(BYTES, np.uint16)
    classes[used] = np.arange(1, len(used) + 1)
    table = np.full((size, len(used) + 1), DEAD, np.int32)
    table[edges[:, 0], edges[:, 1] + 1] = edges[:, 2]
    return smallest_of(classes, table, np.ones(size, np.bool_))


def excluding(strings: Sequence[bytes], limit: int | None = None, limits: Limits = LIMITS) -> Dfa:
    """The non-empty byte strings of at most ``limit`` bytes that contain none of the strings.

    Source: ``except!`` of KBNF; the sets of the subset construction are the states of
            Aho & Corasick 1975, "Efficient string matching".
    """
    limits.check("unrolled", sum(map(len, strings)))
    program = Program([SEQUENCE, 2, 0])
    program.anything()
    program.any_of(strings)
    avoiding = _avoiding(program_nfa(*program.arrays()), limits)
    return avoiding if limit is None else _up_to_length(avoiding, limit, limits)


def _up_to_length(dfa: Dfa, limit: int, limits: Limits) -> Dfa:
    """The texts of a machine that have at most ``limit`` bytes."""
    rows = table_rows(dfa.table)

    def step(pair: _Pair) -> list[_Pair | None]:
        state, remaining = pair
        return [
            (target, remaining - 1) if target != DEAD and remaining else None
            for target in rows[state]
        ]

    def final(pair: _Pair) -> bool:
        return bool(dfa.finals[pair[0]])

    return minimize(explore((dfa.initial, limit), step, final, dfa.classes, limits), limits)


#: Boolean operations: bit 2a + b says whether a text is accepted that the left machine accepts
#: (a) or not, and the right one (b).
_BOTH, _EITHER, _LEFT_ONLY = 0b1000, 0b1110, 0b0100


def _product(left: Dfa, right: Dfa, operation: int, limits: Limits) -> Dfa:
    """The product of two machines, whose states are pairs."""
    classes, pairs = joint_classes(left, right)
    columns = np.array(pairs, np.intp)
    table, ends = _pairs(
        np.ascontiguousarray(left.table[:, columns[:, 0]]),
        np.ascontiguousarray(right.table[:, columns[:, 1]]),
        left.finals.copy(), right.finals.copy(), left.initial, right.initial, operation,
        limits.states,
    )  # fmt: skip
    limits.check("states", len(table))
    return minimize(Dfa(classes, table, ends), limits)


@njit()
def _pairs(
    left: Ints, right: Ints, left_ends: Flags, right_ends: Flags, left_initial: int,
    right_initial: int, operation: int, most: int,
) -> tuple[Ints, Flags]:  # fmt: skip
    """The table over pairs that are reached, and the accepting pairs; about ``most`` at most.

    A pair from which the operation accepts nothing, because one or both machines are dead, is dead.
    """
    width, across = left.shape[1], int64(len(right) + 1)
    room = min(most + 1, (len(left) + 1) * across)
    table, ends = np.empty((room, width), np.int32), np.empty(room, np.bool_)
    pairs, slots = np.empty(room, np.int64), np.full(2 * room, -1, np.int32)
    pairs[0], count, row = left_initial * across + right_initial, 1, 0
    slots[pairs[0] % len(slots)] = 0
    while row < count:
        # the last number of each machine is its dead state
        left_state, other = pairs[row] // across, pairs[row] % across
        accepted = 2 * int64(left_state < len(left) and left_ends[left_state])
        accepted += int64(other < len(right) and right_ends[other])
        ends[row] = operation >> accepted & 1
        for k in range(width):
            a = int64(left[left_state, k]) if left_state < len(left) else int64(DEAD)
            b = int64(right[other, k]) if other < len(right) else int64(DEAD)
            table[row, k] = DEAD
            if not (
                (operation & 0b1000 != 0 and a >= 0 and b >= 0)
                or (operation & 0b0100 != 0 and a >= 0)
                or (operation & 0b0010 != 0 and b >= 0)
            ):
                continue
            pair = (a if a >= 0 else len(left)) * across + (b if b >= 0 else len(right))
            slot = pair % len(slots)
            while slots[slot] >= 0 and pairs[slots[slot]] != pair:
                slot = (slot + 1) % len(slots)
            if slots[slot] < 0:
                if count == room:
                    return table, ends
                slots[slot], pairs[count] = count, pair
                count += 1
            table[row, k] = slots[slot]
        row += 1
    return table[:count], ends[:count]


def joint_classes(left: Dfa, right: Dfa) -> tuple[npt.NDArray[np.uint16], list[tuple[int, int]]]:
    """The coarsest common refinement of both machines' classes, and the pair of each new class."""
    pairs: dict[tuple[int, int], int] = {}
    classes = [
        pairs.setdefault(pair, len(pairs))
        for pair in zip(left.classes.tolist(), right.classes.tolist(), strict=True)
    ]
    return np.array(classes, np.uint16), list(pairs)


def witness(left: Dfa, right: Dfa) -> bytes | None:
    """The shortest text that exactly one of two machines accepts; None if they are equivalent.

    Of several shortest texts the first in byte order.

    Cost: at most |Q left| × |Q right| pairs, visited breadth first.
    """
    classes, pairs = joint_classes(left, right)
    symbols = [classes.tolist().index(c) for c in range(len(pairs))]
    start = (left.initial, right.initial)
    came_from: dict[_Pair, tuple[_Pair, int]] = {}
    seen = {start, (DEAD, DEAD)}
    waiting = deque([start])
    while waiting:
        pair = waiting.popleft()
        check_time_budget()
        if _accepts(left, pair[0]) != _accepts(right, pair[1]):
            return _text(pair, came_from)
        for symbol, (a, b) in zip(symbols, pairs, strict=True):
            target = (_step(left, pair[0], a), _step(right, pair[1], b))
            if target not in seen:
                seen.add(target)
                came_from[target] = (pair, symbol)
                waiting.append(target)
    return None


def equivalent(left: Dfa, right: Dfa) -> bool:
    """Whether two machines accept the same texts."""
    return witness(left, right) is None


def shortest(dfa: Dfa) -> bytes | None:
    """The shortest text a machine accepts, the first in byte order; None for no texts."""
    return witness(dfa, nothing(len(dfa.classes)))


def _accepts(dfa: Dfa, state: State) -> bool:
    return state != DEAD and bool(dfa.finals[state])


def _step(dfa: Dfa, state: State, its_class: int) -> State:
    return DEAD if state == DEAD else int(dfa.table[state, its_class])


def _text(pair: _Pair, came_from: dict[_Pair, tuple[_Pair, int]]) -> bytes:
    """The text that leads from the initial pair to ``pair``."""
    symbols: list[int] = []
    while pair in came_from:
        pair, symbol = came_from[pair]
        symbols.append(symbol)
    return bytes(reversed(symbols))
