"""Facts about the rules of a program: which texts they have, whom they call, how large they are.

Computed by numba kernels on ``automata.regex_program`` code: in Python, trees of some hundred
nodes were traversed a dozen times.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.automata.nfa import Flags, Ints
from workbench.automata.regex_program import (
    CALL,
    CHOICE,
    HAS_EMPTY,
    HAS_NONEMPTY,
    HAS_TEXT,
    LITERAL,
    MACHINE,
    RANGE,
    REPEAT,
    SEQUENCE,
    subtree_ends,
)
from workbench.base.kernels import inner, int64, njit

#: The columns of calls: the caller, the called rule, and whether the call is at the end and at the
#: start of the caller.
CALLER, CALLED, AT_END, AT_START = range(4)


_ALL = HAS_TEXT | HAS_EMPTY | HAS_NONEMPTY


@njit()
def facts(code: Ints, first: Ints) -> tuple[Ints, Ints, Ints]:
    """Subtree ends, which texts each instruction has, and the calls in parts that derive a text."""
    after, texts = subtree_ends(code), np.zeros(len(code), np.int32)
    _find_texts(code, after, first, texts)
    calls, flags = np.empty((len(code), 4), np.int32), np.empty((2, len(code)), np.bool_)
    count = _find_calls(code, after, first, texts, calls, flags[0], flags[1])
    return after, texts, calls[:count]


@inner
def _find_texts(code: Ints, after: Ints, first: Ints, texts: Ints) -> None:
    """Write which texts each instruction has, as bits: the least fixed point over all rules.

    The rules are visited until nothing changes, alternately from the last to the first and from
    the first to the last, so that chains of calls in either direction need few passes. ``texts``
    is zero at first.
    """
    rules = len(first) - 1
    changed, sweep = True, 0
    while changed:
        changed = False
        for k in range(rules):
            rule = k if sweep & 1 else rules - 1 - k
            before = texts[first[rule]]
            for index in range(first[rule + 1] - 1, first[rule] - 1, -1):
                texts[index] = _texts(code, after, first, texts, index)
            changed |= texts[first[rule]] != before
        sweep += 1


@inner
def _texts(code: Ints, after: Ints, first: Ints, texts: Ints, index: int) -> int:
    """Which texts an instruction has, given those of its parts."""
    what, first_operand, second_operand = code[index, 0], code[index, 1], code[index, 2]
    if what == RANGE:
        return HAS_TEXT | HAS_NONEMPTY
    if what == LITERAL:
        return HAS_TEXT | (HAS_NONEMPTY if second_operand > 0 else HAS_EMPTY)
    if what == MACHINE:
        return int(second_operand)
    if what == CALL:
        return int(texts[first[first_operand]])
    if what == REPEAT:
        part = texts[index + 1]
        bits = part & _ALL if first_operand > 0 else part | HAS_TEXT | HAS_EMPTY
        return bits if second_operand != 0 else HAS_TEXT | HAS_EMPTY
    part, any_of, all_of = index + 1, 0, _ALL
    for _ in range(first_operand):
        any_of |= texts[part]
        all_of &= texts[part]
        part = after[part]
    if what == CHOICE:
        return any_of
    if all_of & HAS_TEXT == 0:
        return 0
    return HAS_TEXT | (all_of & HAS_EMPTY) | (any_of & HAS_NONEMPTY)


@inner
def _find_calls(
    code: Ints, after: Ints, first: Ints, texts: Ints, calls: Ints, ends: Flags, starts: Flags
) -> int:
    """Write the calls, columns ``CALLER`` … ``AT_START``; return their number.

    ``ends`` and ``starts`` are scratch space.
    """
    count = 0
    for rule in range(len(first) - 1):
        index = first[rule]
        ends[index] = starts[index] = True
        while index < first[rule + 1]:
            if texts[index] == 0:
                index = after[index]
                continue
            if code[index, 0] == CALL:
                calls[count, CALLER], calls[count, CALLED] = rule, code[index, 1]
                calls[count, AT_END], calls[count, AT_START] = ends[index], starts[index]
                count += 1
            else:
                _mark_parts(code, after, texts, ends, starts, int64(index))
            index += 1
    return count


@inner
def _mark_parts(
    code: Ints, after: Ints, texts: Ints, ends: Flags, starts: Flags, index: int
) -> None:
    """Mark which parts of an instruction are at the end and at the start of their rule."""
    what, count, part = code[index, 0], code[index, 1], index + 1
    if what == REPEAT:
        ends[part], starts[part] = ends[index] and code[index, 2] == 1, starts[index]
    elif what in (CHOICE, SEQUENCE):
        starting = starts[index]
        for k in range(count):
            ends[part] = ends[index] and (what == CHOICE or k == count - 1)
            starts[part] = starting
            if what == SEQUENCE and texts[part] & HAS_EMPTY == 0:
                starting = False
            part = after[part]


def sizes_of(
    code: Ints, data: Ints, after: Ints, first: Ints, texts: Ints, order: Ints, kept: Flags,
    most: int,
) -> Ints:  # fmt: skip
    """The estimated states of each rule with all rules except the kept ones inlined.

    ``order`` lists the rules, each after those it calls. A recursive call adds no states.
    """
    sizes, part_sizes = np.ones(len(first) - 1, np.int32), np.empty(len(code), np.int64)
    none = np.zeros_like(sizes)
    _find_sizes(
        code,
        data,
        after,
        first,
        texts,
        order,
        kept.copy(),
        none,
        most,
        most,
        most,
        sizes,
        part_sizes,
    )
    return sizes


def keep_separate(
    code: Ints, data: Ints, after: Ints, first: Ints, texts: Ints, order: Ints, kept: Flags,
    copied: Ints, large: int, most: int,
) -> None:  # fmt: skip
    """Keep rules with more than ``large`` states, or whose copies add more than ``most`` states.

    ``copied`` is the number of copies of each rule beyond the first. Kept rules remain kept.
    """
    sizes, part_sizes = np.ones(len(first) - 1, np.int32), np.empty(len(code), np.int64)
    _find_sizes(
        code,
        data,
        after,
        first,
        texts,
        order,
        kept,
        copied,
        large,
        most,
        10 * large,
        sizes,
        part_sizes,
    )


@njit(_nrt=False)
def _find_sizes(
    code: Ints, data: Ints, after: Ints, first: Ints, texts: Ints, order: Ints, kept: Flags,
    copied: Ints, large: int, most: int, largest: int, sizes: Ints,
    part_sizes: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    """Write the sizes of the rules, at most ``largest``; keep rules as ``keep_separate`` says.

    ``part_sizes`` is scratch space for the sizes of all instructions.
    """
    for rule in order:
        _find_size(code, data, after, first, texts, rule, kept, largest, sizes, part_sizes)
        kept[rule] |= sizes[rule] > large or sizes[rule] * int64(copied[rule]) > most


@inner
def _find_size(
    code: Ints, data: Ints, after: Ints, first: Ints, texts: Ints, rule: int, kept: Flags,
    most: int, sizes: Ints, part_sizes: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    """Write the size of a rule, given those of the rules it calls."""
    for index in range(first[rule + 1] - 1, first[rule] - 1, -1):
        what, first_operand, second_operand = code[index, 0], code[index, 1], code[index, 2]
        size, part = 1, index + 1
        if what == LITERAL:
            size = second_operand
        elif what == MACHINE:
            size = data[first_operand]
        elif what == CALL:
            size = 1 if kept[first_operand] else sizes[first_operand]
        elif what == REPEAT:
            size = part_sizes[part] * max(1, first_operand, second_operand)
        elif what in (SEQUENCE, CHOICE):
            size = 0
            for _ in range(first_operand):
                size += part_sizes[part]
                part = after[part]
        part_sizes[index] = min(size, most) if texts[index] else 0
    sizes[rule] = part_sizes[first[rule]]
