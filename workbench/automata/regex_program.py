"""A regex or rule as a flat program for kernels, and measures of its machine.

An instruction is three numbers: what it is and two operands. Those that hold others stand before
them (Polish notation), so what is inside is read again where it is copied. One pass over a tree
in Python makes it; whatever has to look at a tree many times looks at this.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from workbench.automata.code_points import character_machine
from workbench.automata.nfa import Ints, Nfa, class_runs, coaccessible
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import LimitError
from workbench.base.kernels import inner, int64, njit
from workbench.base.limits import Limits
from workbench.syntax.ranges import Ranges
from workbench.syntax.regex.tree import Group, Regex, Repeat

#: One byte: the first and the last it may be.
RANGE = 0
#: Bytes one after the other: where they stand in ``data``, and how many.
LITERAL = 1
#: A machine: where it stands in ``data``, and what texts it has (``HAS_TEXT`` and so on). There come
#: the numbers of its states and edges, the bytes of its shortest and longest text (−1: no end),
#: and for each edge source, low, high, target; an edge that reads nothing has low −1. It
#: begins in state 1, which is not entered again, and ends in state 0, which reads nothing.
MACHINE = 2
#: What follows, one after the other: how many.
SEQUENCE = 3
#: Any one of what follows: how many.
CHOICE = 4
#: Copies of what follows: at least, and at most (−1: without end).
REPEAT = 5
#: The texts of a rule: its number.
CALL = 6

#: What texts there are, as bits: some at all, the empty one, some that are not empty.
HAS_TEXT, HAS_EMPTY, HAS_NONEMPTY = 1, 2, 4

#: So many numbers an instruction, and before the edges of a machine.
WIDTH, HEADER = 3, 4

_LAST_ASCII = 0x7F
_SIZES = (0x7F, 0x7FF, 0xFFFF)


class Program:
    """A program while it grows."""

    def __init__(self, code: Sequence[int] = ()) -> None:
        self.code: list[int] = [*code]
        self.data: list[int] = []
        #: Where the machines of sets of characters stand in ``data``: each there once.
        self._sets: dict[Ranges, int] = {}
        #: The same of machines that were put in, by identity.
        self._machines: dict[Dfa, tuple[int, int, int]] = {}

    def arrays(self) -> tuple[Ints, Ints]:
        """The code, (instructions, ``WIDTH``), and the data."""
        code = np.array(self.code, np.int32)
        return code.reshape(-1, WIDTH), np.array(self.data, np.int32)

    def anything(self) -> None:
        """Add any bytes at all."""
        self.code += (REPEAT, 0, -1, RANGE, 0, 0xFF)

    def literal(self, value: bytes) -> None:
        """Add exactly these bytes."""
        self.code += (LITERAL, len(self.data), len(value))
        self.data += value

    def any_of(self, values: Sequence[bytes]) -> None:
        """Add any one of these byte strings."""
        self.code += (CHOICE, len(values), 0)
        for value in values:
            self.literal(value)

    def characters(self, ranges: Ranges) -> None:
        """Add one character out of a set."""
        if len(ranges) == 1 and ranges[0][1] <= _LAST_ASCII:
            self.code += (RANGE, *ranges[0])
            return
        known = self._sets.get(ranges)
        if known is None:
            known = self._sets[ranges] = len(self.data)
            self.data += _of_characters(ranges)
        self.code += (MACHINE, known, HAS_TEXT | HAS_NONEMPTY if ranges else 0)

    def one_byte(self, ranges: Ranges) -> None:
        """Add one byte out of a set."""
        self.code += (CHOICE, len(ranges), 0)
        for low, high in ranges:
            self.code += (RANGE, low, high)

    def add_placeholder(self, machine: Dfa) -> None:
        """Add a machine that is never written in: its size stands there and none of its edges."""
        self.code += (MACHINE, len(self.data), _texts_of(machine))
        self.data += (len(machine) + 2, 0, 0, -1)

    def set_machine(self, at: int, machine: Dfa) -> None:
        """Say what machine is meant by an instruction."""
        known = self._machines.get(machine)
        if known is None:
            known = self._machines[machine] = (MACHINE, len(self.data), _texts_of(machine))
            self.data += _of_machine(machine)
        self.code[WIDTH * at : WIDTH * (at + 1)] = known

    def nfa(self, nfa: Nfa) -> None:
        """Add a machine that begins in state 1, which is not entered again, and ends in state 0."""
        flat, sources = nfa.flat, np.arange(len(nfa), dtype=np.int32)
        epsilons = np.full((len(flat.epsilons), 4), -1, np.int32)
        epsilons[:, 0] = np.repeat(sources, np.diff(flat.first_epsilon))
        epsilons[:, 3] = flat.epsilons
        reading = np.empty((len(flat.edges), 4), np.int32)
        reading[:, 0] = np.repeat(sources, np.diff(flat.first))
        reading[:, 1:] = flat.edges
        self.code += (MACHINE, len(self.data), _texts_of_nfa(nfa))
        self.data += (len(nfa), len(epsilons) + len(reading), 0, -1)
        self.data += np.concatenate([epsilons, reading]).reshape(-1).tolist()


@lru_cache(maxsize=512)
def _of_characters(ranges: Ranges) -> tuple[int, ...]:
    """The data of a set of characters."""
    nodes = character_machine(ranges).edges  # node 0 is the end, the last one the beginning
    last = len(nodes) - 1
    numbers = [0, *range(2, last + 1), 1]
    edges = [
        (numbers[node], low, high, numbers[target])
        for node, outgoing in enumerate(nodes)
        for low, high, target in outgoing
    ]
    shortest, longest = (_size(ranges[0][0]), _size(ranges[-1][1])) if ranges else (0, 0)
    return (len(nodes), len(edges), shortest, longest, *(n for edge in edges for n in edge))


def _size(code: int) -> int:
    """The bytes of a character."""
    return 1 + sum(code > last for last in _SIZES)


def _texts_of(machine: Dfa) -> int:
    """What texts a machine has, as bits."""
    longer = HAS_NONEMPTY if (machine.table != DEAD).any() else 0
    empty = HAS_EMPTY if machine.finals[machine.initial] else 0
    return longer | empty | (HAS_TEXT if longer | empty else 0)


def _texts_of_nfa(nfa: Nfa) -> int:
    """What texts a machine has, as bits."""
    flat = nfa.flat
    alive = coaccessible(flat.edges, flat.first, flat.epsilons, flat.first_epsilon, flat.finals)
    if not alive[nfa.initial]:
        return 0
    reached, waiting = {nfa.initial}, [nfa.initial]
    while waiting:
        state = waiting.pop()
        for target in flat.epsilons[flat.first_epsilon[state] : flat.first_epsilon[state + 1]]:
            if target not in reached:
                reached.add(int(target))
                waiting.append(int(target))
    empty = HAS_EMPTY if any(flat.finals[state] for state in reached) else 0
    return HAS_TEXT | empty | (HAS_NONEMPTY if alive[flat.edges[:, 2]].any() else 0)


def _of_machine(machine: Dfa) -> list[int]:
    """The data of a machine; its length is not looked at."""
    edges = [1, -1, -1, machine.initial + 2]
    for final in machine.finals.nonzero()[0].tolist():
        edges += (final + 2, -1, -1, 0)
    runs = class_runs(machine)
    for state, row in enumerate(machine.table.tolist(), 2):
        for target, runs_of_class in zip(row, runs, strict=True):
            for low, high in runs_of_class if target != DEAD else ():
                edges += (state, low, high, target + 2)
    return [len(machine) + 2, len(edges) // 4, 0, -1, *edges]


@njit(cache=True, nogil=True)
def subtree_ends(code: Ints) -> Ints:
    """For each instruction the one after all it holds, (instructions,)."""
    after = np.empty(len(code), np.int32)
    find_subtree_ends(code, after)
    return after


@inner
def find_subtree_ends(code: Ints, after: Ints) -> None:
    """Write for each instruction the one after all it holds."""
    for at in range(len(code) - 1, -1, -1):
        held = 0
        if code[at, 0] == SEQUENCE or code[at, 0] == CHOICE:
            held = code[at, 1]
        elif code[at, 0] == REPEAT:
            held = 1
        end = at + 1
        for _ in range(held):
            end = after[end]
        after[at] = end


_HINT = "shorten the regex, or lower the bound of a repetition"

#: Counts end here: they are compared with budgets, and products of counts pass all bounds.
_MANY = 1 << 30
#: The columns of a measure: states; bytes of the shortest and of the longest text, the first −1
#: where there is no text, the second −1 where there is no longest.
_STATES, _SHORTEST, _LONGEST = range(3)
_NONE = -1

_Measures = npt.NDArray[np.int64]


def check_size(code: Ints, data: Ints, starts: list[int], limits: Limits) -> None:
    """Raise LimitError if a regex is sure to become too large, before any state is made.

    ``starts`` are the instructions at which regexes begin.
    """
    for states, shortest, longest in measures(code, data)[starts].tolist():
        if states > limits.unrolled:
            raise LimitError(
                f"the counted repetitions need more than {limits.unrolled:,} states",
                "unrolled",
                "lower the bound of a repetition, or use '*' or '+'",
            )
        if shortest != _NONE:
            # the shortest text passes each state at most once, and so does any if all are finite
            limits.check("states", 1 + (shortest if longest == _NONE else longest), _HINT)


def simple_repeat(regex: Repeat) -> tuple[Regex, int, int | None]:
    """A repetition with the same texts: ``(x?){n}`` as ``x{0,n}``, ``(x*){2,}`` as ``x*``."""
    part, low, high = regex.part, regex.low, regex.high
    while True:
        if isinstance(part, Group):
            part = part.part
        elif isinstance(part, Repeat) and part.low == 0 and (part.high == 1 or part.high is None):
            low, high = 0, (None if part.high is None and high != 0 else high)
            part = part.part
        else:
            return part, low, high


def measures(code: Ints, data: Ints) -> _Measures:
    """The measures of each instruction with all it holds, (instructions, 3)."""
    found = np.empty((len(code), 3), np.int64)
    _measure(code, data, found, np.empty(len(code) + 1, np.int32))
    return found


@njit(cache=True, nogil=True, _nrt=False)
def _measure(code: Ints, data: Ints, found: _Measures, stack: Ints) -> None:
    """Write the measures; ``stack`` is space to work in."""
    top = 0
    for at in range(len(code) - 1, -1, -1):
        what, one, two = code[at, 0], int64(code[at, 1]), int64(code[at, 2])
        if what == RANGE:
            found[at, _STATES] = found[at, _SHORTEST] = found[at, _LONGEST] = 1
        elif what == LITERAL:
            found[at, _STATES] = found[at, _SHORTEST] = found[at, _LONGEST] = two
        elif what == MACHINE:
            found[at, _STATES] = data[one] - 1
            found[at, _SHORTEST] = data[one + 2] if two != 0 else _NONE
            found[at, _LONGEST] = data[one + 3]
        elif what == SEQUENCE:
            top -= one
            _measure_sequence(found, at, stack, top, one)
        elif what == CHOICE:
            top -= one
            _measure_choice(found, at, stack, top, one)
        elif what == REPEAT:
            top -= 1
            _measure_repeat(found, at, int64(stack[top]), one, two)
        else:
            found[at, _STATES], found[at, _SHORTEST], found[at, _LONGEST] = 1, 0, _NONE
        for column in range(3):
            found[at, column] = min(found[at, column], _MANY)
        stack[top] = at
        top += 1


@inner
def _measure_sequence(found: _Measures, at: int, parts: Ints, begin: int, count: int) -> None:
    """States and bytes add up."""
    found[at, _STATES], found[at, _SHORTEST], found[at, _LONGEST] = 1, 0, 0
    for k in range(begin, begin + count):
        part = parts[k]
        found[at, _STATES] += found[part, _STATES]
        for column in (_SHORTEST, _LONGEST):
            if found[at, column] == _NONE or found[part, column] == _NONE:
                found[at, column] = _NONE
            else:
                found[at, column] += found[part, column]


@inner
def _measure_choice(found: _Measures, at: int, options: Ints, begin: int, count: int) -> None:
    """States add up; of the bytes the least and the most."""
    found[at, _STATES], found[at, _SHORTEST], found[at, _LONGEST] = 1, _NONE, 0
    for k in range(begin, begin + count):
        option = options[k]
        found[at, _STATES] += found[option, _STATES]
        shortest, longest = found[option, _SHORTEST], found[option, _LONGEST]
        if shortest == _NONE:
            continue
        if found[at, _SHORTEST] == _NONE or shortest < found[at, _SHORTEST]:
            found[at, _SHORTEST] = shortest
        if longest == _NONE or found[at, _LONGEST] == _NONE:
            found[at, _LONGEST] = _NONE
        else:
            found[at, _LONGEST] = max(found[at, _LONGEST], longest)


@inner
def _measure_repeat(found: _Measures, at: int, part: int, low: int, high: int) -> None:
    """Copy after copy; that of a part without texts is nothing."""
    found[at, _STATES] = 2 + found[part, _STATES] * (max(low, 1) if high < 0 else high)
    shortest, longest = found[part, _SHORTEST], found[part, _LONGEST]
    if shortest == _NONE and low > 0:
        found[at, _SHORTEST], found[at, _LONGEST] = _NONE, 0
    elif shortest == _NONE or longest == 0 or high == 0:
        found[at, _SHORTEST], found[at, _LONGEST] = 0, 0
    else:
        found[at, _SHORTEST] = shortest * low
        found[at, _LONGEST] = _NONE if longest < 0 or high < 0 else longest * high
