"""The trie of a vocabulary, flattened in preorder: the detokenizing transducer T_V.

Shared prefixes are merged (Koo et al. 2024, Algorithm 1 and Figure 4). A walk visits the nodes
from left to right; if the byte of a node cannot be read, ``skip`` jumps over its subtree. The trie
of the tokens "a", "ab", "ac", "b"::

    node    0   1   2   3
    byte    a   b   c   b
    depth   0   1   1   0
    skip    3   2   3   4
    token   a   ab  ac  b
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.base.cached_property import cached_property
from workbench.base.errors import VocabularyError

Kind = TypeVar("Kind")

#: The first bits of the fields depth, token and size of a node's record, and their numbers of
#: values.
DEPTH_AT, TOKEN_AT, SIZE_AT = 8, 21, 42
DEPTHS, TOKENS, SIZES = 1 << 13, 1 << 21, 1 << 21
#: The token field of a node at which several tokens end.
SEVERAL = TOKENS - 1


@dataclass(frozen=True, eq=False)
class Trie:
    """All tokens of a vocabulary by their bytes; the root (nothing read) is not stored.

    Shape: N nodes in preorder. ``byte`` (N,) uint8, the byte of the edge into a node; ``depth``
           (N,) int32, how many bytes precede it (0 for the first byte of a token); ``skip`` (N,)
           int32, the next node after this node's subtree; ``first`` (N + 1,) int32: the tokens
           that end at node i are ``token_ids[first[i]:first[i + 1]]``. All read-only.
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

    @cached_property
    def records(self) -> npt.NDArray[np.uint64]:
        """Each node packed into 8 bytes, so that a walk reads one array, (N,), read-only.

        From the lowest bits: the byte; its depth; 1 + the token that ends here (0 for none,
        ``SEVERAL`` for more than one: see ``token_ids``); the size of the subtree.
        A walk of separate arrays took two to three times as long.
        """
        nodes = np.arange(len(self), dtype=np.int64)
        sizes, ending = self.skip - nodes, np.diff(self.first)
        token_code = np.append(self.token_ids, 0)[self.first[:-1]].astype(np.int64) + 1
        tokens = np.where(ending == 0, 0, np.where(ending == 1, token_code, SEVERAL))
        if (
            self.height > DEPTHS
            or self.token_ids.max(initial=0) >= SEVERAL - 1
            or sizes.max(initial=0) >= SIZES
        ):
            raise VocabularyError(
                f"a vocabulary needs fewer than {SEVERAL:,} tokens, of at most {DEPTHS:,} bytes"
            )
        fields = (
            (tokens << TOKEN_AT) | (sizes << SIZE_AT) | (self.depth.astype(np.int64) << DEPTH_AT)
        )
        records = (fields | self.byte).astype(np.uint64)
        records.setflags(write=False)
        return records

    @cached_property
    def nodes(self) -> list[tuple[int, int, int, tuple[int, ...]]]:
        """The nodes as a list, fast to read in Python: (byte, depth, skip, tokens that end)."""
        first, ids = self.first.tolist(), self.token_ids.tolist()
        ending = (tuple(ids[begin:end]) for begin, end in pairwise(first))
        columns = self.byte.tolist(), self.depth.tolist(), self.skip.tolist()
        return list(zip(*columns, ending, strict=True))

    @cached_property
    def token_nodes(self) -> npt.NDArray[np.int32]:
        """The node at which each of ``token_ids[first[0]:]`` ends."""
        nodes = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.first))
        nodes.setflags(write=False)
        return nodes

    @cached_property
    def end_nodes(self) -> npt.NDArray[np.int32]:
        """The node at which each token ends, by token id; −1 for a token without bytes."""
        nodes = np.full(int(self.token_ids.max(initial=-1)) + 1, -1, np.int32)
        nodes[self.token_ids[self.first[0] :]] = self.token_nodes
        nodes.setflags(write=False)
        return nodes

    @cached_property
    def by_level(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], list[int]]:
        """The nodes by depth, then in preorder; their parents, −1 for the first byte of a token.

        Also where each level begins, and the number of nodes.
        """
        levels = [np.array([-1]), *_levels(self.depth)]
        # the parent is the last node of the level above that comes before
        parents = (above[np.searchsorted(above, nodes) - 1] for above, nodes in pairwise(levels))
        joined = (np.concatenate([[], *each]).astype(np.int32) for each in (levels[1:], parents))
        begins = np.cumsum([0, *map(len, levels[1:])]).tolist()
        return next(joined), next(joined), begins

    @cached_property
    def _shared(self) -> dict[type, Any]:
        return {}

    def shared(self, kind: type[Kind]) -> Kind:
        """The only ``kind()`` of this trie: a cache shared by all constraints of a vocabulary."""
        cached: Kind | None = self._shared.get(kind)
        return cached if cached is not None else self._shared.setdefault(kind, kind())

    @staticmethod
    def of(tokens: Sequence[bytes | None]) -> Trie:
        """The trie of all tokens that are not None.

        Cost: sorting the tokens, then a few array operations for each level; 0.15 s for 131k
              tokens, half of it the sort.
        """
        texts = [t or b"" for t in tokens]
        # sorted by bytes, equal tokens by id: the sort is stable
        order = sorted((i for i, t in enumerate(tokens) if t is not None), key=texts.__getitem__)
        words = [texts[i] for i in order]
        lengths = np.fromiter(map(len, words), np.int32, len(words))
        text = np.frombuffer(b"".join(words), np.uint8)
        starts = np.cumsum(lengths, dtype=np.int64) - lengths
        shared = _shared_with_previous(text, starts, lengths)
        # every token adds a node for each of its bytes not shared with the token before it
        new_lengths = lengths - shared
        position = np.repeat(np.arange(len(words), dtype=np.int32), new_lengths)  # (N,)
        within = np.arange(len(position)) - np.repeat(
            np.cumsum(new_lengths) - new_lengths, new_lengths
        )
        depth = (shared[position] + within).astype(np.int32)
        return Trie(
            byte=text[starts[position] + depth],
            depth=depth,
            skip=_skips(depth),
            # an inner node without a token starts where its child does: an empty range
            first=np.append(position, np.int32(len(words))),
            token_ids=np.array(order, np.int32),
            height=int(lengths.max(initial=0)),
        )


def _shared_with_previous(
    text: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """The length of the common prefix of each of the sorted tokens with the one before it.

    Computed byte by byte; at each step only the pairs that agreed before are compared.
    """
    shared = np.zeros(len(lengths), np.int32)
    agreeing = np.arange(1, len(lengths))
    level = 0
    while len(agreeing):
        longer = np.minimum(lengths[agreeing - 1], lengths[agreeing]) > level
        agreeing = agreeing[longer]
        same = text[starts[agreeing - 1] + level] == text[starts[agreeing] + level]
        agreeing = agreeing[same]
        level += 1
        shared[agreeing] = level
    return shared


def _skips(depth: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """For each node the next one that is not deeper; computed from subtree sizes, bottom up."""
    size = np.ones(len(depth), np.int32)
    levels = list(_levels(depth))
    for above, nodes in reversed(list(pairwise(levels))):
        parents = np.searchsorted(above, nodes) - 1
        size[above] += np.bincount(parents, size[nodes], len(above)).astype(np.int32)
    return np.arange(len(depth), dtype=np.int32) + size


def _levels(depth: npt.NDArray[np.int32]) -> Iterator[npt.NDArray[np.int64]]:
    """The nodes of each depth, in preorder."""
    by_level = np.argsort(depth, kind="stable")  # nodes of a level stay in preorder
    bounds = np.searchsorted(depth[by_level], np.arange(int(depth.max(initial=-1)) + 2))
    for begin, end in pairwise(bounds.tolist()):
        yield by_level[begin:end]
