"""Loops: what a state that reads on in a circle shares with every such state of a vocabulary.

In come a state and its machine; out comes its row, but for a few nodes of the trie. Inside a
string nearly every token can be read, and a walk would visit nearly every node. But while a path
stays with the state and the middles of its characters, only the bytes that keep it there count:
the tokens made of them alone, and the nodes where a path first leaves, are found once for a
vocabulary and a set of bytes. What Koo et al. 2024, §2.5, call terminal labels, made exact.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.automata.lazy_dfa import UNKNOWN
from workbench.base.dfa import DEAD
from workbench.base.kernels import inner, int64, njit
from workbench.constraint.engine.trie_walk import Classes, Ints, Records, Words, set_tokens
from workbench.vocabulary.trie import DEPTH_AT, DEPTHS, SIZE_AT, Trie

_ONE, _BYTES = np.uint64(1), np.uint64(255)
_DEPTH_AT, _DEPTHS, _SIZE_AT = np.uint64(DEPTH_AT), np.uint64(DEPTHS - 1), np.uint64(SIZE_AT)

#: The states of a loop: the state itself and the middles of characters; a class like ``\w`` has
#: some 250 and is left to the plain walk beyond its first state.
MEMBERS = 16
#: How many ASCII bytes must stay for a loop to be worth it; digits are read faster plainly.
WIDE = 16
#: Loops a vocabulary remembers.
_REMEMBERED = 128
#: A first byte below which more than this share of the trie lies makes a part of its own.
_LARGE = 0.25

#: What stands for a token where several end at a node.
SEVERAL = -2

#: The columns of ``Parts.runs``, after how many bytes are read before the part.
LEVEL, BEGIN, END, BEGIN_2, END_2 = range(5)

Local = npt.NDArray[np.int8]


class Parts(NamedTuple):
    """The parts of a trie.

    In most vocabularies over half of the trie lies below the space, which many grammars allow
    before a name: from there a path that enters a loop is a case of its own.

    Shape: ``runs`` (P, 5) int32: how many bytes are read before a part, and the two runs of nodes
           it consists of; ``children`` (P, 256) int32: the node of each first byte, or −1.
    """

    runs: Ints
    children: Ints


class Loop(NamedTuple):
    """A circle over bytes, walked through a part of one trie.

    Shape: ``bits`` (W,) the tokens that stay; ``nodes`` (L,) int32 the trie nodes at which a path
           first leaves, sorted by where it was and by byte, those of a group in preorder;
           ``tokens`` (L,) int32 the token that ends at each of them, −1 where none does and
           ``SEVERAL``; ``sizes`` (L,) int32 how many nodes lie below each, itself counted;
           ``groups`` (G, 4) int32: the local state and the byte of a group of them, and its
           slice of ``nodes``.
    """

    bits: Words
    nodes: Ints
    tokens: Ints
    sizes: Ints
    groups: Ints


class Loops:
    """The loops of a vocabulary, by what stays in them; safe to share between threads."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes], Loop] = {}
        self._parts: Parts | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many are remembered."""
        return len(self._known)

    def parts(self, trie: Trie) -> Parts:
        """The parts of a trie that are walked one after the other."""
        if self._parts is None:
            self._parts = _parts(trie)
        return self._parts

    def of(self, local: Local, trie: Trie, words: int, part: int) -> Loop:
        """The loop of a table of local states in a part, walked when it is first met."""
        key = (part, local.tobytes())
        with self._lock:
            known = self._known.get(key)
            if known is None:
                while len(self._known) >= _REMEMBERED:
                    del self._known[next(iter(self._known))]
                known = self._known[key] = _walked(local, trie, words, self.parts(trie).runs[part])
        return known


def _parts(trie: Trie) -> Parts:
    size = len(trie)
    firsts = np.flatnonzero(trie.depth == 0)
    sizes = trie.skip[firsts] - firsts
    largest = int(sizes.argmax()) if size else 0
    if not size or sizes[largest] <= _LARGE * size:
        runs = [[0, 0, size, size, size]]
        below = np.empty(0, np.int64)
    else:
        node, past = int(firsts[largest]), int(trie.skip[firsts[largest]])
        runs = [[0, 0, node, past, size], [1, node + 1, past, past, past]]
        below = node + 1 + np.flatnonzero(trie.depth[node + 1 : past] == 1)
        firsts = np.delete(firsts, largest)
    children = np.full((len(runs), 256), -1, np.int32)
    for part, nodes in enumerate((firsts, below)[: len(runs)]):
        children[part, trie.byte[nodes]] = nodes
    return Parts(np.array(runs, np.int32), children)


def _walked(local: Local, trie: Trie, words: int, part: Ints) -> Loop:
    bits = np.zeros(words, np.uint32)
    nodes, states = np.empty(len(trie), np.int32), np.empty(len(trie), np.int32)
    path, count = np.zeros(trie.height + 1, np.int8), 0
    for begin, end in ((part[BEGIN], part[END]), (part[BEGIN_2], part[END_2])):
        count = _walk(
            local, trie.records, trie.first, trie.token_ids, path, bits, nodes, states, int(begin),
            int(end), count,
        )  # fmt: skip
    left = states[:count] << 8 | trie.byte[nodes[:count]]
    order = np.argsort(left, kind="stable")
    values, starts = np.unique(left[order], return_index=True)
    stops = np.append(starts[1:], count)[: len(starts)]  # none where no path leaves
    groups = np.stack([values >> 8, values & 255, starts, stops], axis=1).astype(np.int32)
    nodes = nodes[:count][order]
    ending = trie.first[nodes + 1] - trie.first[nodes]
    tokens = np.append(trie.token_ids, 0)[trie.first[nodes]]
    tokens = np.where(ending == 0, -1, np.where(ending == 1, tokens, SEVERAL)).astype(np.int32)
    sizes = trie.skip[nodes] - nodes
    return Loop(bits, nodes, tokens, sizes, np.ascontiguousarray(groups))


@njit(cache=True, nogil=True, _nrt=False)
def _walk(
    local: Local, records: Records, first: Ints, token_ids: Ints, path: Local, bits: Words,
    nodes: Ints, states: Ints, begin: int, end: int, count: int,
) -> int:  # fmt: skip
    """Mark the tokens that stay in a loop; the nodes where paths leave it, and from which state."""
    at, stop = np.uint64(begin), np.uint64(end)
    while at < stop:
        record = records[at]
        level = (record >> _DEPTH_AT) & _DEPTHS
        here = path[level]
        there = local[here, record & _BYTES]
        if there < 0:
            nodes[count], states[count] = at, here
            count += 1
            at += record >> _SIZE_AT
            continue
        path[level + _ONE] = there
        set_tokens(record, at, first, token_ids, bits)
        at += _ONE
    return count


@njit(cache=True, nogil=True, _nrt=False)
def find(
    table: Ints, width: int, classes: Classes, state: int, members: Ints, local: Local
) -> tuple[int, int, int]:
    """The loop of a state: the states that belong to it, and where bytes lead among them.

    Returns how many they are; 0 where there is no loop worth it, with the state of the one that
    is entered by most bytes, or −1; or −1 and the state and byte class of a step that is not
    known yet.
    """
    stays, most, votes = 0, int64(-1), 0
    for byte in range(128):
        target = int64(table[state * width + classes[byte]])
        if target == UNKNOWN:
            return -1, state, int64(classes[byte])
        stays += target == state
        if target >= 0:  # the majority, if there is one: Boyer & Moore 1991
            if votes == 0:
                most = target
            votes += 1 if target == most else -1
    if stays < WIDE:
        entering = 0
        for byte in range(128):
            entering += table[state * width + classes[byte]] == most
        return 0, most if most >= 0 and entering >= WIDE else -1, 0
    members[0] = state
    count, from_level, level_end = int64(1), 0, 1
    for _level in range(3):
        for i in range(from_level, level_end):
            for byte in range(128, 256):
                target = int64(table[members[i] * width + classes[byte]])
                if target == UNKNOWN:
                    return -1, int64(members[i]), int64(classes[byte])
                if target >= 0 and count < MEMBERS and _place(members, count, target) < 0:
                    members[count] = target
                    count += 1
        from_level, level_end = level_end, count
    for i in range(1, count):
        for column in range(width):
            if table[members[i] * width + column] == UNKNOWN:
                return -1, int64(members[i]), column
    count = _closed(table, width, members, count)
    for i in range(count):
        for byte in range(256):
            its_class = classes[byte]
            if byte > 0 and its_class == classes[byte - 1]:  # most bytes are like their neighbours
                local[i, byte] = local[i, byte - 1]
            else:
                target = int64(table[members[i] * width + its_class])
                local[i, byte] = _place(members, count, target)
    return count, 0, 0


@inner
def _place(members: Ints, count: int, state: int) -> int:
    """Where a state stands among the first ``count`` members, or −1."""
    for i in range(count):
        if members[i] == state:
            return i
    return -1


@inner
def _closed(table: Ints, width: int, members: Ints, count: int) -> int:
    """Keep, besides the first, only members all of whose steps lead to members."""
    changed = True
    while changed:
        changed = False
        kept = int64(1)
        for i in range(1, count):
            stays = True
            for column in range(width):
                target = int64(table[members[i] * width + column])
                if target != DEAD and _place(members, count, target) < 0:
                    stays = False
            if stays:
                members[kept] = members[i]
                kept += 1
        changed = kept < count
        count = kept
    return count
