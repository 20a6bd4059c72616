"""A regex or rule as a flat program for numba kernels, and measures of its automaton.

One pass over a tree in Python writes the program; everything that needs the tree several times
(building the NFA, counting states, collecting facts about rules) reads the program in kernels.

The code is an int32 array (instructions, 3): an operation and two operands. An operation with
parts precedes its parts (Polish notation). The program of ``ab|[0-9]{2,}`` is::

    index  operation first second meaning
      0    CHOICE       2    0    one of 2 options
      1    SEQUENCE     2    0      2 parts
      2    RANGE       97   97        the byte "a"
      3    RANGE       98   98        the byte "b"
      4    REPEAT       2   -1      2 or more copies
      5    RANGE       48   57        a byte from "0" to "9"

    subtree_ends: [6, 4, 3, 4, 6, 6]

Operands that need more room (bytes of a literal, edges of an automaton) are in a second array,
``data``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from workbench.automata.code_points import character_machine
from workbench.automata.graphs import reachable
from workbench.automata.nfa import Ints, Nfa, class_runs, coaccessible
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import LimitError
from workbench.base.kernels import inner, int64, njit
from workbench.base.limits import Limits
from workbench.syntax.ranges import Ranges
from workbench.syntax.regex.tree import Group, Regex, Repeat

#: One byte. Operands: the lowest and the highest allowed.
RANGE = 0
#: A byte string. Operands: its index in ``data``, and its length.
LITERAL = 1
#: An automaton. Operands: its index in ``data``, and which texts it has (``HAS_TEXT`` and so on).
#: In ``data``: the number of states, the number of edges, the bytes of the shortest and of the
#: longest text (−1: unbounded), and four numbers for each edge: source, low, high, target (low is
#: −1 for an ε-edge). State 1 is initial and has no incoming edges; state 0 is final and has no
#: outgoing edges.
MACHINE = 2
#: The following parts in sequence. Operand: the number of parts.
SEQUENCE = 3
#: One of the following parts. Operand: the number of parts.
CHOICE = 4
#: Copies of the following part. Operands: the least and the greatest number (−1: unbounded).
REPEAT = 5
#: A call of a rule. Operand: the number of the rule.
CALL = 6

#: Bits: the language is not empty; it contains the empty text; it contains a non-empty text.
HAS_TEXT, HAS_EMPTY, HAS_NONEMPTY = 1, 2, 4

#: The numbers in an instruction, and those in ``data`` before the edges of an automaton.
WIDTH, HEADER = 3, 4

_LAST_ASCII = 0x7F
_SIZES = (0x7F, 0x7FF, 0xFFFF)


class Program:
    """Builds a program."""

    def __init__(self, code: Sequence[int] = ()) -> None:
        self.code: list[int] = [*code]
        self.data: list[int] = []
        #: The index in ``data`` of the automaton of each character set; each is there once.
        self._sets: dict[Ranges, int] = {}
        #: The instruction of each automaton added by ``set_machine``, by identity.
        self._machines: dict[Dfa, tuple[int, int, int]] = {}

    def arrays(self) -> tuple[Ints, Ints]:
        """The code (instructions, ``WIDTH``), and the data."""
        code = np.array(self.code, np.int32)
        return code.reshape(-1, WIDTH), np.array(self.data, np.int32)

    def anything(self) -> None:
        """Add all byte strings."""
        self.code += (REPEAT, 0, -1, RANGE, 0, 0xFF)

    def literal(self, value: bytes) -> None:
        """Add a byte string."""
        self.code += (LITERAL, len(self.data), len(value))
        self.data += value

    def any_of(self, values: Sequence[bytes]) -> None:
        """Add a choice of byte strings."""
        self.code += (CHOICE, len(values), 0)
        for value in values:
            self.literal(value)

    def characters(self, ranges: Ranges) -> None:
        """Add one character of a set."""
        if len(ranges) == 1 and ranges[0][1] <= _LAST_ASCII:
            self.code += (RANGE, *ranges[0])
            return
        offset = self._sets.get(ranges)
        if offset is None:
            offset = self._sets[ranges] = len(self.data)
            self.data += _of_characters(ranges)
        self.code += (MACHINE, offset, HAS_TEXT | HAS_NONEMPTY if ranges else 0)

    def one_byte(self, ranges: Ranges) -> None:
        """Add one byte of a set."""
        self.code += (CHOICE, len(ranges), 0)
        for low, high in ranges:
            self.code += (RANGE, low, high)

    def add_placeholder(self, machine: Dfa) -> None:
        """Add an automaton that is never inlined: its size, but none of its edges."""
        self.code += (MACHINE, len(self.data), _texts_of(machine))
        self.data += (len(machine) + 2, 0, 0, -1)

    def set_machine(self, index: int, machine: Dfa) -> None:
        """Replace the instruction ``index`` by an automaton."""
        instruction = self._machines.get(machine)
        if instruction is None:
            instruction = (MACHINE, len(self.data), _texts_of(machine))
            self._machines[machine] = instruction
            self.data += _of_machine(machine)
        self.code[WIDTH * index : WIDTH * (index + 1)] = instruction

    def nfa(self, nfa: Nfa) -> None:
        """Add an automaton with the initial and final state that ``MACHINE`` requires."""
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
    """The data of the automaton of a character set."""
    nodes = character_machine(ranges).edges  # node 0 is final, the last one is initial
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
    """The number of bytes of a character."""
    return 1 + sum(code > last for last in _SIZES)


def _texts_of(machine: Dfa) -> int:
    """Which texts a DFA has, as bits."""
    # a trimmed machine of two states has an edge
    longer = HAS_NONEMPTY if len(machine) > 1 or (machine.table != DEAD).any() else 0
    empty = HAS_EMPTY if machine.finals[machine.initial] else 0
    return longer | empty | (HAS_TEXT if longer | empty else 0)


def _texts_of_nfa(nfa: Nfa) -> int:
    """Which texts an NFA has, as bits."""
    flat = nfa.flat
    alive = coaccessible(flat.edges, flat.first, flat.epsilons, flat.first_epsilon, flat.finals)
    if not alive[nfa.initial]:
        return 0
    first = flat.first_epsilon
    closure = reachable(
        [nfa.initial], lambda state: flat.epsilons[first[state] : first[state + 1]].tolist()
    )
    empty = HAS_EMPTY if any(flat.finals[state] for state in closure) else 0
    return HAS_TEXT | empty | (HAS_NONEMPTY if alive[flat.edges[:, 2]].any() else 0)


def _of_machine(machine: Dfa) -> list[int]:
    """The data of a DFA; the lengths of its texts are not computed."""
    edges = [1, -1, -1, machine.initial + 2]
    for final in machine.finals.nonzero()[0].tolist():
        edges += (final + 2, -1, -1, 0)
    runs = class_runs(machine)
    for state, row in enumerate(machine.table, 2):
        for target, runs_of_class in zip(row.tolist(), runs, strict=True):
            for low, high in runs_of_class if target != DEAD else ():
                edges += (state, low, high, target + 2)
    return [len(machine) + 2, len(edges) // 4, 0, -1, *edges]


@njit()
def subtree_ends(code: Ints) -> Ints:
    """For each instruction the index after its last part, (instructions,)."""
    after = np.empty(len(code), np.int32)
    for index in range(len(code) - 1, -1, -1):
        parts = 0
        if code[index, 0] == SEQUENCE or code[index, 0] == CHOICE:
            parts = code[index, 1]
        elif code[index, 0] == REPEAT:
            parts = 1
        end = index + 1
        for _ in range(parts):
            end = after[end]
        after[index] = end
    return after


_HINT = "shorten the regex, or lower the bound of a repetition"

#: Counts are capped here so that products do not overflow; every limit is smaller.
_MAX_COUNT = 1 << 30
#: The columns of a measure: states; bytes of the shortest text (−1: there are no texts); bytes of
#: the longest text (−1: unbounded).
_STATES, _SHORTEST, _LONGEST = range(3)
_NONE = -1

_Measures = npt.NDArray[np.int64]


def check_size(code: Ints, data: Ints, starts: list[int], limits: Limits) -> None:
    """Raise LimitError if a regex will certainly be too large, before any state is built.

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
            # the shortest text visits each DFA state at most once; so does every text of a finite
            # language
            limits.check("states", 1 + (shortest if longest == _NONE else longest), _HINT)


def simple_repeat(regex: Repeat) -> tuple[Regex, int, int | None]:
    """An equal repetition, simpler: ``x{0,n}`` for ``(x?){n}``, ``x*`` for ``(x*){2,}``."""
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
    """The measures of each instruction with its parts, (instructions, 3)."""
    measures = np.empty((len(code), 3), np.int64)
    _measure(code, data, measures, np.empty(len(code) + 1, np.int32))
    return measures


@njit(_nrt=False)
def _measure(code: Ints, data: Ints, measures: _Measures, stack: Ints) -> None:
    """Write the measures, from the last instruction to the first; ``stack`` is scratch space."""
    top = 0
    for index in range(len(code) - 1, -1, -1):
        what, first, second = code[index, 0], int64(code[index, 1]), int64(code[index, 2])
        if what == RANGE:
            measures[index, _STATES] = measures[index, _SHORTEST] = measures[index, _LONGEST] = 1
        elif what == LITERAL:
            measures[index, _STATES] = second
            measures[index, _SHORTEST] = measures[index, _LONGEST] = second
        elif what == MACHINE:
            measures[index, _STATES] = data[first] - 1
            measures[index, _SHORTEST] = data[first + 2] if second != 0 else _NONE
            measures[index, _LONGEST] = data[first + 3]
        elif what == SEQUENCE:
            top -= first
            _measure_sequence(measures, index, stack, top, first)
        elif what == CHOICE:
            top -= first
            _measure_choice(measures, index, stack, top, first)
        elif what == REPEAT:
            top -= 1
            _measure_repeat(measures, index, int64(stack[top]), first, second)
        else:
            measures[index, _STATES], measures[index, _SHORTEST], measures[index, _LONGEST] = (
                1,
                0,
                _NONE,
            )
        for column in range(3):
            measures[index, column] = min(measures[index, column], _MAX_COUNT)
        stack[top] = index
        top += 1


@inner
def _measure_sequence(measures: _Measures, index: int, parts: Ints, begin: int, count: int) -> None:
    """Measure a sequence: states and lengths are added."""
    measures[index, _STATES], measures[index, _SHORTEST], measures[index, _LONGEST] = 1, 0, 0
    for k in range(begin, begin + count):
        part = parts[k]
        measures[index, _STATES] += measures[part, _STATES]
        for column in (_SHORTEST, _LONGEST):
            if measures[index, column] == _NONE or measures[part, column] == _NONE:
                measures[index, column] = _NONE
            else:
                measures[index, column] += measures[part, column]


@inner
def _measure_choice(measures: _Measures, index: int, options: Ints, begin: int, count: int) -> None:
    """Measure a choice: states are added; the least and the greatest length."""
    measures[index, _STATES], measures[index, _SHORTEST], measures[index, _LONGEST] = 1, _NONE, 0
    for k in range(begin, begin + count):
        option = options[k]
        measures[index, _STATES] += measures[option, _STATES]
        shortest, longest = measures[option, _SHORTEST], measures[option, _LONGEST]
        if shortest == _NONE:
            continue
        if measures[index, _SHORTEST] == _NONE or shortest < measures[index, _SHORTEST]:
            measures[index, _SHORTEST] = shortest
        if longest == _NONE or measures[index, _LONGEST] == _NONE:
            measures[index, _LONGEST] = _NONE
        else:
            measures[index, _LONGEST] = max(measures[index, _LONGEST], longest)


@inner
def _measure_repeat(measures: _Measures, index: int, part: int, low: int, high: int) -> None:
    """Measure a repetition; copies of a part without texts contribute nothing."""
    measures[index, _STATES] = 2 + measures[part, _STATES] * (max(low, 1) if high < 0 else high)
    shortest, longest = measures[part, _SHORTEST], measures[part, _LONGEST]
    if shortest == _NONE and low > 0:
        measures[index, _SHORTEST], measures[index, _LONGEST] = _NONE, 0
    elif shortest == _NONE or longest == 0 or high == 0:
        measures[index, _SHORTEST], measures[index, _LONGEST] = 0, 0
    else:
        measures[index, _SHORTEST] = shortest * low
        measures[index, _LONGEST] = _NONE if longest < 0 or high < 0 else longest * high
