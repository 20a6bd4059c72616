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
    found, flags = np.empty((len(code), 4), np.int32), np.empty((2, len(code)), np.bool_)
    made = _find_calls(code, after, first, texts, found, flags[0], flags[1])
    return after, texts, found[:made]


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
            for at in range(first[rule + 1] - 1, first[rule] - 1, -1):
                texts[at] = _texts(code, after, first, texts, at)
            changed |= texts[first[rule]] != before
        sweep += 1


@inner
def _texts(code: Ints, after: Ints, first: Ints, texts: Ints, at: int) -> int:
    """Which texts an instruction has, given those of its parts."""
    what, one, two = code[at, 0], code[at, 1], code[at, 2]
    if what == RANGE:
        return HAS_TEXT | HAS_NONEMPTY
    if what == LITERAL:
        return HAS_TEXT | (HAS_NONEMPTY if two > 0 else HAS_EMPTY)
    if what == MACHINE:
        return int(two)
    if what == CALL:
        return int(texts[first[one]])
    if what == REPEAT:
        part = texts[at + 1]
        found = part & _ALL if one > 0 else part | HAS_TEXT | HAS_EMPTY
        return found if two != 0 else HAS_TEXT | HAS_EMPTY
    part, any_of, all_of = at + 1, 0, _ALL
    for _ in range(one):
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
    code: Ints, after: Ints, first: Ints, texts: Ints, found: Ints, ends: Flags, starts: Flags
) -> int:
    """Write the calls, columns ``CALLER`` … ``AT_START``; return their number.

    ``ends`` and ``starts`` are scratch space.
    """
    made = 0
    for rule in range(len(first) - 1):
        at = first[rule]
        ends[at] = starts[at] = True
        while at < first[rule + 1]:
            if texts[at] == 0:
                at = after[at]
                continue
            if code[at, 0] == CALL:
                found[made, CALLER], found[made, CALLED] = rule, code[at, 1]
                found[made, AT_END], found[made, AT_START] = ends[at], starts[at]
                made += 1
            else:
                _mark_parts(code, after, texts, ends, starts, int64(at))
            at += 1
    return made


@inner
def _mark_parts(code: Ints, after: Ints, texts: Ints, ends: Flags, starts: Flags, at: int) -> None:
    """Mark which parts of an instruction are at the end and at the start of their rule."""
    what, count, part = code[at, 0], code[at, 1], at + 1
    if what == REPEAT:
        ends[part], starts[part] = ends[at] and code[at, 2] == 1, starts[at]
    elif what in (CHOICE, SEQUENCE):
        starting = starts[at]
        for k in range(count):
            ends[part] = ends[at] and (what == CHOICE or k == count - 1)
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
    sizes, found = np.ones(len(first) - 1, np.int32), np.empty(len(code), np.int64)
    none = np.zeros_like(sizes)
    _find_sizes(
        code, data, after, first, texts, order, kept.copy(), none, most, most, most, sizes, found
    )
    return sizes


def keep_separate(
    code: Ints, data: Ints, after: Ints, first: Ints, texts: Ints, order: Ints, kept: Flags,
    copied: Ints, large: int, most: int,
) -> None:  # fmt: skip
    """Keep rules with more than ``large`` states, or whose copies add more than ``most`` states.

    ``copied`` is the number of copies of each rule beyond the first. Kept rules remain kept.
    """
    sizes, found = np.ones(len(first) - 1, np.int32), np.empty(len(code), np.int64)
    _find_sizes(
        code, data, after, first, texts, order, kept, copied, large, most, 10 * large, sizes, found
    )


@njit(_nrt=False)
def _find_sizes(
    code: Ints, data: Ints, after: Ints, first: Ints, texts: Ints, order: Ints, kept: Flags,
    copied: Ints, large: int, most: int, largest: int, sizes: Ints,
    found: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    """Write the sizes of the rules, at most ``largest``; keep rules as ``keep_separate`` says.

    ``found`` is scratch space for the sizes of all instructions.
    """
    for rule in order:
        _find_size(code, data, after, first, texts, rule, kept, largest, sizes, found)
        kept[rule] |= sizes[rule] > large or sizes[rule] * int64(copied[rule]) > most


@inner
def _find_size(
    code: Ints, data: Ints, after: Ints, first: Ints, texts: Ints, rule: int, kept: Flags,
    most: int, sizes: Ints, found: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    """Write the size of a rule, given those of the rules it calls."""
    for at in range(first[rule + 1] - 1, first[rule] - 1, -1):
        what, one, two = code[at, 0], code[at, 1], code[at, 2]
        size, part = 1, at + 1
        if what == LITERAL:
            size = two
        elif what == MACHINE:
            size = data[one]
        elif what == CALL:
            size = 1 if kept[one] else sizes[one]
        elif what == REPEAT:
            size = found[part] * max(1, one, two)
        elif what in (SEQUENCE, CHOICE):
            size = 0
            for _ in range(one):
                size += found[part]
                part = after[part]
        found[at] = min(size, most) if texts[at] else 0
    sizes[rule] = found[first[rule]]
