"""Walks the trie with a machine and marks the tokens it reads.

In come a table over byte classes and a ``Trie``; out come the tokens a state can read. This is the
composed machine A ∘ T_V one row at a time (Koo et al. 2024, §2.4 and Algorithm 2): a byte that
cannot be read cuts off every token below it.

The trie lies in preorder, so the walk is one loop without a stack: ``path[d]`` holds the state
after d bytes of the token at hand.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.automata.lazy_dfa import UNKNOWN
from workbench.base.kernels import inner, njit
from workbench.vocabulary.trie import DEPTH_AT, DEPTHS, SEVERAL, SIZE_AT, TOKEN_AT

# numba mixes unsigned numbers with signed ones to floats, so every constant is unsigned here
_NONE, _ONE, _WORD, _IN_WORD, _BYTES = (np.uint64(n) for n in (0, 1, 5, 31, 255))
_DEPTH_AT, _DEPTHS = np.uint64(DEPTH_AT), np.uint64(DEPTHS - 1)
_TOKEN_AT, _SEVERAL, _SIZE_AT = np.uint64(TOKEN_AT), np.uint64(SEVERAL), np.uint64(SIZE_AT)

Classes = npt.NDArray[np.uint16]
Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.uint32]
Records = npt.NDArray[np.uint64]


@inner
def mark(
    table: Ints, width: int, classes: Classes, floors: Ints, records: Records, first: Ints,
    token_ids: Ints, path: Offsets, node: int, end: int, floor: int, bits: Words,
) -> tuple[int, int]:  # fmt: skip
    """Set the bit of every token that can be read, from trie node ``node`` to before ``end``.

    ``table`` lies flat, a path holds places in it; unsigned numbers all the way, since an index
    that may be negative is tested for it; with ``set_tokens`` as a call or ``lowest`` of 64 bits
    the loop took twice as long. ``floors`` may be empty: a machine without a stack.

    Returns where the walk stands and the lowest floor met: (end, floor) when it is through; the
    node whose step is ``UNKNOWN`` when the machine has to grow first.
    """
    at, stop = np.uint64(node), np.uint64(end)
    floored, lowest = len(floors) > 0, np.int32(floor)
    while at < stop:
        record = records[at]
        level = (record >> _DEPTH_AT) & _DEPTHS
        state = table[path[level] + classes[record & _BYTES]]
        if state < 0:
            if state == UNKNOWN:
                return int(np.int64(at)), int(lowest)
            at += record >> _SIZE_AT
            continue
        path[level + _ONE] = np.uint32(state) * np.uint32(width)
        if floored:
            lowest = min(lowest, floors[state])
        set_tokens(record, at, first, token_ids, bits)
        at += _ONE
    return int(np.int64(at)), int(lowest)


@njit(cache=True, nogil=True, inline="always")
def set_tokens(
    record: np.uint64, node: np.uint64, first: Ints, token_ids: Ints, bits: Words
) -> None:
    """Set the bits of the tokens that end at a node."""
    token = (record >> _TOKEN_AT) & _SEVERAL
    if token == _NONE:
        return
    if token != _SEVERAL:
        token -= _ONE
        bits[token >> _WORD] |= np.uint32(1) << np.uint32(token & _IN_WORD)
        return
    for k in range(first[node], first[node + _ONE]):
        bits[token_ids[k] >> 5] |= np.uint32(1) << np.uint32(token_ids[k] & 31)
