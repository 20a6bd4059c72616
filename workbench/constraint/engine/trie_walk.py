"""The trie walk: marks the tokens that a machine can read.

It is ``plain_mask.readable_tokens`` as a compiled loop over arrays.

This computes the composed machine A ∘ T_V one row at a time (Koo et al. 2024, §2.4 and Algorithm
2): where the machine cannot read a byte, the walk skips every token below that trie node.

The trie is stored in preorder, so the walk is one loop without a stack: ``path[d]`` holds the
state after the first d bytes of the current token.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.automata.lazy_dfa import UNKNOWN
from workbench.base.kernels import inlined, inner
from workbench.vocabulary.trie import DEPTH_AT, DEPTHS, SEVERAL, SIZE_AT, TOKEN_AT, TOKENS

# numba converts mixed signed and unsigned numbers to floats, so every constant is unsigned.
#: The fields of a trie node's record (``Trie.records``), from the low bits up:
#:
#: ===== ================= ================================================================
#: byte  BYTE_MASK         the byte read into the node
#: depth DEPTH_SHIFT, MASK the number of bytes before it
#: token TOKEN_SHIFT, MASK the token that ends here + 1, ``NO_TOKEN`` or ``SEVERAL_END``
#: size  SIZE_SHIFT        the number of nodes of the subtree
#: ===== ================= ================================================================
BYTE_MASK = np.uint64(255)
DEPTH_SHIFT, DEPTH_MASK = np.uint64(DEPTH_AT), np.uint64(DEPTHS - 1)
TOKEN_SHIFT, TOKEN_MASK = np.uint64(TOKEN_AT), np.uint64(TOKENS - 1)
NO_TOKEN, SEVERAL_END = np.uint64(0), np.uint64(SEVERAL)
SIZE_SHIFT = np.uint64(SIZE_AT)
ONE = np.uint64(1)

_WORD_SHIFT, _BIT_MASK = np.uint64(5), np.uint64(31)

Classes = npt.NDArray[np.uint16]
Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.uint32]
Records = npt.NDArray[np.uint64]
Local = npt.NDArray[np.int8]
Numbers = npt.NDArray[np.int64]


@inner
def mark_tokens(
    table: Ints, width: int, classes: Classes, floors: Ints, records: Records, first: Ints,
    token_ids: Ints, path: Offsets, node: int, end: int, floor: int, bits: Words,
) -> tuple[int, int]:  # fmt: skip
    """Set the bit of every readable token that ends at a node of ``range(node, end)``.

    ``table`` is flat (Q · C,), and ``path`` holds offsets into it (state · C). ``floors[q]`` is the
    lowest stack depth that the step into state q has read; it is empty for a machine without a
    stack.

    All indexes are unsigned, because numba tests signed ones for negative values. The loop took
    twice as long with ``set_token_bits`` as a real call, and with a 64-bit ``lowest``.

    Returns the next node and the lowest stack depth read. The next node is ``end`` when
    the walk is complete; otherwise it is the node whose step is ``UNKNOWN``.
    """
    current, stop = np.uint64(node), np.uint64(end)
    has_stack, lowest = len(floors) > 0, np.int32(floor)
    while current < stop:
        record = records[current]
        level = (record >> DEPTH_SHIFT) & DEPTH_MASK
        state = table[path[level] + classes[record & BYTE_MASK]]
        if state < 0:
            if state == UNKNOWN:
                return int(np.int64(current)), int(lowest)
            current += record >> SIZE_SHIFT
            continue
        path[level + ONE] = np.uint32(state) * np.uint32(width)
        if has_stack:
            lowest = min(lowest, floors[state])
        set_token_bits(record, current, first, token_ids, bits)
        current += ONE
    return int(np.int64(current)), int(lowest)


@inlined
def set_token_bits(
    record: np.uint64, node: np.uint64, first: Ints, token_ids: Ints, bits: Words
) -> None:
    """Set the bits of the tokens that end at a node."""
    token = (record >> TOKEN_SHIFT) & TOKEN_MASK
    if token == NO_TOKEN:
        return
    if token != SEVERAL_END:
        token -= ONE
        bits[token >> _WORD_SHIFT] |= np.uint32(1) << np.uint32(token & _BIT_MASK)
        return
    for k in range(first[node], first[node + ONE]):
        bits[token_ids[k] >> 5] |= np.uint32(1) << np.uint32(token_ids[k] & 31)
