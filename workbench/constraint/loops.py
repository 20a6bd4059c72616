"""Loops: what a state that reads on in a circle shares with every such state of a vocabulary.

In come a state and its machine; out comes its row, but for a few nodes of the trie. Inside a
string nearly every token can be read, and a walk would visit nearly every node. But while a path
stays with the state and the middles of its characters, only the bytes that keep it there count:
the tokens made of them alone, and the nodes where a path first leaves, are found once for a
vocabulary and a set of bytes. What Koo et al. 2024, §2.5, call terminal labels, made exact.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD
from workbench.automata.kernel import njit
from workbench.automata.lazy import UNKNOWN
from workbench.constraint.rows import (
    Classes,
    Ints,
    Offsets,
    Records,
    Words,
    mark,
    set_tokens,
)
from workbench.vocabulary.trie import DEPTH_AT, DEPTHS, SIZE_AT, Trie

_DEAD, _UNKNOWN = DEAD, UNKNOWN
_ONE, _BYTES = np.uint64(1), np.uint64(255)
_DEPTH_AT, _DEPTHS, _SIZE_AT = np.uint64(DEPTH_AT), np.uint64(DEPTHS - 1), np.uint64(SIZE_AT)

#: The states of a loop: the state itself and the middles of characters; a class like ``\w`` has
#: some 250 and is left to the plain walk beyond its first state.
MEMBERS = 16
#: How many ASCII bytes must stay for a loop to be worth it; digits are read faster plainly.
_WIDE = 16
#: Loops a vocabulary remembers.
_REMEMBERED = 64

Local = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A circle over bytes, walked with one vocabulary.

    Shape: ``bits`` (W,) the tokens that stay; ``nodes`` (L,) int32 the trie nodes at which a path
           first leaves, sorted by where it was and by byte; ``groups`` (G, 4) int32: the local
           state and the byte of a group of them, and its slice of ``nodes``.
    """

    bits: Words
    nodes: Ints
    groups: Ints
    #: The nodes in preorder, and where each path was, (L,) both: for walks that enter the loop.
    left: Ints
    left_from: Ints


class Loops:
    """The loops of a vocabulary, by what stays in them; safe to share between threads."""

    def __init__(self) -> None:
        self._known: dict[bytes, Loop] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many are remembered."""
        return len(self._known)

    def of(self, local: Local, trie: Trie, words: int) -> Loop:
        """The loop of a table of local states, walked when it is first met."""
        key = local.tobytes()
        with self._lock:
            known = self._known.get(key)
            if known is None:
                while len(self._known) >= _REMEMBERED:
                    del self._known[next(iter(self._known))]
                known = self._known[key] = _walked(local, trie, words)
        return known


def _walked(local: Local, trie: Trie, words: int) -> Loop:
    bits = np.zeros(words, np.uint32)
    nodes, states = np.empty(len(trie), np.int32), np.empty(len(trie), np.int32)
    count = _walk(
        local, trie.records, trie.first, trie.token_ids, np.zeros(trie.height + 1, np.int8), bits,
        nodes, states,
    )  # fmt: skip
    left = states[:count] << 8 | trie.byte[nodes[:count]]
    order = np.argsort(left, kind="stable")
    values, starts = np.unique(left[order], return_index=True)
    stops = np.append(starts[1:], count)
    groups = np.stack([values >> 8, values & 255, starts, stops], axis=1).astype(np.int32)
    return Loop(
        bits,
        nodes[:count][order],
        np.ascontiguousarray(groups),
        nodes[:count].copy(),
        states[:count].copy(),
    )


@njit(cache=True, nogil=True)
def _walk(
    local: Local, records: Records, first: Ints, token_ids: Ints, path: Local, bits: Words,
    nodes: Ints, states: Ints,
) -> int:  # fmt: skip
    """Mark the tokens that stay in a loop; the nodes where paths leave it, and from which state."""
    at, stop = np.uint64(0), np.uint64(len(records))
    count = 0
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


@njit(cache=True, nogil=True)
def find(
    table: Ints, width: int, classes: Classes, state: int, members: Ints, local: Local
) -> tuple[int, int, int]:
    """The loop of a state: the states that belong to it, and where bytes lead among them.

    Returns how many they are; 0 where there is no loop worth it, with the state of the one that
    is entered by most bytes, or −1; or −1 and the state and byte class of a step that is not
    known yet.
    """
    stays, most, votes = 0, -1, 0
    for byte in range(128):
        target = int(table[state * width + classes[byte]])
        if target == _UNKNOWN:
            return -1, state, int(np.int64(classes[byte]))
        stays += target == state
        if target >= 0:  # the majority, if there is one: Boyer & Moore 1991
            if votes == 0:
                most = target
            votes += 1 if target == most else -1
    if stays < _WIDE:
        return 0, most if votes > 0 else -1, 0
    members[0] = state
    count, from_level, level_end = 1, 0, 1
    for _level in range(3):
        for i in range(from_level, level_end):
            for byte in range(128, 256):
                target = table[members[i] * width + classes[byte]]
                if target == _UNKNOWN:
                    return -1, int(members[i]), int(np.int64(classes[byte]))
                if target >= 0 and count < MEMBERS and _place(members, count, target) < 0:
                    members[count] = target
                    count += 1
        from_level, level_end = level_end, count
    for i in range(1, count):
        for column in range(width):
            if table[members[i] * width + column] == _UNKNOWN:
                return -1, int(members[i]), column
    count = _closed(table, width, members, count)
    for i in range(count):
        for byte in range(256):
            local[i, byte] = _place(members, count, table[members[i] * width + classes[byte]])
    return count, 0, 0


@njit(cache=True, nogil=True)
def _place(members: Ints, count: int, state: int) -> int:
    """Where a state stands among the first ``count`` members, or −1."""
    for i in range(count):
        if members[i] == state:
            return i
    return -1


@njit(cache=True, nogil=True)
def _closed(table: Ints, width: int, members: Ints, count: int) -> int:
    """Keep, besides the first, only members all of whose steps lead to members."""
    changed = True
    while changed:
        changed = False
        kept = 1
        for i in range(1, count):
            stays = True
            for column in range(width):
                target = table[members[i] * width + column]
                if target != _DEAD and _place(members, count, target) < 0:
                    stays = False
            if stays:
                members[kept] = members[i]
                kept += 1
        changed = kept < count
        count = kept
    return count


@njit(cache=True, nogil=True)
def mark_leaving(
    table: Ints, width: int, classes: Classes, floors: Ints, records: Records, first: Ints,
    token_ids: Ints, path: Offsets, members: Ints, groups: Ints, nodes: Ints, group: int,
    floor: int, bits: Words,
) -> tuple[int, int, int]:  # fmt: skip
    """Set the bits of what is read past the nodes where a loop is left, from ``group`` on.

    Returns (G, −1, lowest floor) when it is through; or the group and the trie node whose step
    is not known yet. A group that is begun again sets the same bits again.
    """
    floored = len(floors) > 0
    while group < len(groups):
        here = members[groups[group, 0]]
        state = table[here * width + classes[groups[group, 1]]]
        if state == _DEAD:
            group += 1
            continue
        for k in range(groups[group, 2], groups[group, 3]):
            node = np.uint64(nodes[k])
            record = records[node]
            level = (record >> _DEPTH_AT) & _DEPTHS
            path[level] = np.uint32(here) * np.uint32(width)
            if state == _UNKNOWN:
                return group, int(nodes[k]), floor
            path[level + _ONE] = np.uint32(state) * np.uint32(width)
            if floored:
                floor = min(floor, floors[state])
            set_tokens(record, node, first, token_ids, bits)
            end = int(nodes[k]) + int(np.int64(record >> _SIZE_AT))
            stands, floor = mark(
                table, width, classes, floors, records, first, token_ids, path,
                int(nodes[k]) + 1, end, floor, bits,
            )  # fmt: skip
            if stands < end:
                return group, stands, floor
        group += 1
    return group, -1, floor
