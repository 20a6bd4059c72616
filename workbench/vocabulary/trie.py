"""Trie: every token by its bytes, flattened in preorder; the detokenizing transducer T_V.

Shared prefixes are merged (Koo et al. 2024, Algorithm 1 and Figure 4). A walk reads the nodes
from left to right; where a byte cannot be read, ``skip`` jumps over everything below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class Trie:
    """All tokens of a vocabulary by their bytes; the root (nothing read) is not stored.

    Shape: N nodes in preorder. ``byte`` (N,) uint8, the byte read on the way into a node;
           ``depth`` (N,) int32, how many bytes have been read before it (0 for the
           first byte of a token); ``skip`` (N,) int32, the next node outside this
           node's subtree; the tokens that end at node i are
           ``token_ids[first[i]:first[i + 1]]``, ``first`` (N + 1,) int32. All read-only.
    """

    byte: npt.NDArray[np.uint8]
    depth: npt.NDArray[np.int32]
    skip: npt.NDArray[np.int32]
    first: npt.NDArray[np.int32]
    token_ids: npt.NDArray[np.int32]
    #: The longest token, in bytes.
    height: int

    def __post_init__(self) -> None:
        for array in (self.byte, self.depth, self.skip, self.first, self.token_ids):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.byte)

    @staticmethod
    def of(tokens: Sequence[bytes | None]) -> Trie:
        """The trie of all tokens that are not None.

        Cost: sorting the tokens; then one node for every byte not shared with the token before.
        """
        order = sorted((t, i) for i, t in enumerate(tokens) if t is not None)
        byte: list[int] = []
        depth: list[int] = []
        first: list[int] = []
        previous = b""
        for position, (token, _) in enumerate(order):
            shared = _common_prefix(previous, token)
            for level in range(shared, len(token)):
                byte.append(token[level])
                depth.append(level)
                first.append(position)
            previous = token
        return Trie(
            byte=np.array(byte, np.uint8),
            depth=np.array(depth, np.int32),
            skip=_skips(depth),
            # a node made by a longer token starts where its first child does: an empty range
            first=np.array([*first, len(order)], np.int32),
            token_ids=np.array([i for _, i in order], np.int32),
            height=max((len(t) for t, _ in order), default=0),
        )


def _common_prefix(left: bytes, right: bytes) -> int:
    limit = min(len(left), len(right))
    for i in range(limit):
        if left[i] != right[i]:
            return i
    return limit


def _skips(depth: list[int]) -> npt.NDArray[np.int32]:
    """For each node the next one that is not deeper."""
    skip = np.empty(len(depth), np.int32)
    open_nodes: list[int] = []
    for node, level in enumerate(depth):
        while open_nodes and depth[open_nodes[-1]] >= level:
            skip[open_nodes.pop()] = node
        open_nodes.append(node)
    for node in open_nodes:
        skip[node] = len(depth)
    return skip
