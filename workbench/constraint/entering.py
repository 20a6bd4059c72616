"""Entering: the row of a state whose bytes mostly lead into a loop.

In come the bits of the loop and the state; out come its own. Two walks side by side, the state's
and the loop's from its beginning: where both stand in the same state they agree on all that
follows, but for the nodes at which the loop is left.
"""

from __future__ import annotations

import numpy as np

from workbench.automata.kernel import njit
from workbench.automata.lazy import UNKNOWN
from workbench.constraint.loops import Local
from workbench.constraint.rows import (
    Classes,
    Ints,
    Offsets,
    Records,
    Words,
    mark,
    set_tokens,
)
from workbench.vocabulary.trie import DEPTH_AT, DEPTHS, SIZE_AT

_UNKNOWN = UNKNOWN
_ONE, _BYTES = np.uint64(1), np.uint64(255)
_DEPTH_AT, _DEPTHS, _SIZE_AT = np.uint64(DEPTH_AT), np.uint64(DEPTHS - 1), np.uint64(SIZE_AT)


@njit(cache=True, nogil=True)
def mark_entering(
    table: Ints, width: int, classes: Classes, floors: Ints, records: Records, first: Ints,
    token_ids: Ints, path: Offsets, beside: Local, members: Ints, local: Local, left: Ints,
    left_from: Ints, node: int, floor: int, bits: Words,
) -> tuple[int, int, int]:  # fmt: skip
    """Turn the bits of a loop into those of a state whose paths enter it, from ``node`` on.

    Returns (N, −1, lowest floor) when it is through; or where to begin again and the node whose
    step is not known yet.
    """
    at, stop = np.uint64(node), np.uint64(len(records))
    while at < stop:
        record = records[at]
        level, byte = (record >> _DEPTH_AT) & _DEPTHS, record & _BYTES
        end = at + (record >> _SIZE_AT)
        state = table[path[level] + classes[byte]]
        if state == _UNKNOWN:
            return int(np.int64(at)), int(np.int64(at)), floor
        here = beside[level]
        there = local[here, byte] if here >= 0 else np.int8(-1)
        if there >= 0 and state == members[there]:
            unknown, floor = _mark_left(
                table, width, classes, floors, records, first, token_ids, path, members, left,
                left_from, int(np.int64(at)), int(np.int64(end)), floor, bits,
            )  # fmt: skip
            if unknown >= 0:
                return int(np.int64(at)), unknown, floor
            at = end
            continue
        if there >= 0:  # the loop's tokens from here on are not this state's
            _take_back(first, token_ids, at, end if state < 0 else at + _ONE, bits)
        if state < 0:
            at = end
            continue
        path[level + _ONE], beside[level + _ONE] = np.uint32(state) * np.uint32(width), there
        if len(floors) > 0:
            floor = min(floor, int(floors[state]))
        set_tokens(record, at, first, token_ids, bits)
        at += _ONE
    return int(np.int64(at)), -1, floor


@njit(cache=True, nogil=True)
def _take_back(first: Ints, token_ids: Ints, start: np.uint64, end: np.uint64, bits: Words) -> None:
    """Clear the bits of the tokens that end at some nodes."""
    for k in range(first[start], first[end]):
        bits[token_ids[k] >> 5] &= ~(np.uint32(1) << np.uint32(token_ids[k] & 31))


@njit(cache=True, nogil=True)
def _mark_left(
    table: Ints, width: int, classes: Classes, floors: Ints, records: Records, first: Ints,
    token_ids: Ints, path: Offsets, members: Ints, left: Ints, left_from: Ints, node: int,
    end: int, floor: int, bits: Words,
) -> tuple[int, int]:  # fmt: skip
    """Set the bits of what is read past the nodes below one at which a loop is left.

    Returns the node whose step is not known yet, or −1, and the lowest floor met.
    """
    k = np.searchsorted(left, node)
    while k < len(left) and left[k] < end:
        at, here = np.uint64(left[k]), members[left_from[k]]
        record = records[at]
        level = (record >> _DEPTH_AT) & _DEPTHS
        path[level] = np.uint32(here) * np.uint32(width)
        stands, floor = mark(
            table, width, classes, floors, records, first, token_ids, path, int(left[k]),
            int(left[k]) + int(np.int64(record >> _SIZE_AT)), floor, bits,
        )  # fmt: skip
        if stands < int(left[k]) + int(np.int64(record >> _SIZE_AT)):
            return stands, floor
        k += 1
    return -1, floor
