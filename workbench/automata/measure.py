"""Measure: a regex as a program comes in, how large its machine must become goes out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.automata.flat import Ints
from workbench.automata.program import (
    CHOICE,
    LITERAL,
    MACHINE,
    RANGE,
    REPEAT,
    SEQUENCE,
)
from workbench.errors import LimitError
from workbench.kernel import inner, int64, njit
from workbench.limits import Limits
from workbench.syntax.regex.tree import Group, Regex, Repeat

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
