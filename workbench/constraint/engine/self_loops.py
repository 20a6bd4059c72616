"""The self-loop cache: what all states that loop on the same byte set share, for one vocabulary.

Inside a string nearly every token can be read, so a walk would visit nearly every node of the trie.
But such a state loops: most bytes lead back to it, directly or through the states in the middle of
a multi-byte character (the *members* of the loop). Which bytes keep a path inside the loop
determines most of the row: the tokens read entirely inside, and the trie nodes where a path first
leaves the loop (its *exits*). Both are computed once for a vocabulary and a table of members and
bytes, and shared by all grammars. Koo et al. 2024, §2.5, call this idea terminal labels; here it is
exact.

A string of bounded length, ``[a-z]{0,50}``, does not loop, but its states are a *chain*: the same
bytes lead from each to the next, until the last reads none of them. The loop of these bytes then
determines the rows too: a state from which n more characters follow has the tokens inside the loop
of at most n characters, and leaves it as the state of the chain does that the path has reached.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.automata.lazy_dfa import UNKNOWN
from workbench.base.dfa import DEAD, State
from workbench.base.kernels import inner, int64, njit
from workbench.constraint.engine.trie_walk import (
    BYTE_MASK,
    DEPTH_MASK,
    DEPTH_SHIFT,
    ONE,
    SIZE_SHIFT,
    Classes,
    Ints,
    Local,
    Records,
    Words,
    set_token_bits,
)
from workbench.vocabulary.trie import Trie

#: The most members of a loop: the state itself and the states in the middle of a character. A
#: class like ``\w`` has about 250; beyond the maximum they are walked as exits of the loop.
MAX_MEMBERS = 16
#: The least ASCII bytes that must lead back to a state for the cache to be used; a walk is faster
#: for fewer, such as the digits.
MIN_LOOP_BYTES = 16
#: The most loops cached for a vocabulary.
_MAX_CACHED_LOOPS = 128
#: The same for loops with counts, which hold more.
_MAX_COUNTED_LOOPS = 16
#: The trie below one first byte is a separate part if it holds more than this share of the nodes.
_MIN_PART_SHARE = 0.25

#: In ``SelfLoop.tokens``: several tokens end at the node.
SEVERAL_TOKENS = -2

#: The columns of ``Parts.runs``: the number of bytes read before the part, and its two node ranges.
LEVEL, BEGIN, END, BEGIN_2, END_2 = range(5)


class Parts(NamedTuple):
    """The one or two parts in which a trie is walked.

    In most vocabularies over half of the trie is below the space, and many grammars allow a space
    before a name. With the nodes below the space as a separate part, the state after the space is
    looked up in the self-loop cache too.

    Shape: ``runs`` (P, 5) int32, see ``LEVEL``; ``children`` (P, 256) int32, the node of each
           first byte of the part, or −1.
    """

    runs: Ints
    children: Ints


class SelfLoop(NamedTuple):
    """A self-loop walked through one part of a trie.

    Shape: ``bits`` (W,) uint32, the tokens read inside the loop; ``nodes`` (X,) int32, its exits,
           the trie nodes at which a path first leaves, sorted by member, byte and preorder;
           ``tokens`` (X,) int32, the token that ends at each exit, −1 or ``SEVERAL_TOKENS``;
           ``sizes`` (X,) int32, the size of its subtree, itself included; ``groups`` (G, 5)
           int32, the exits by member, byte and characters read before: the member, the byte, the
           slice of ``nodes``, and the number of characters (0 in a loop without a count).
    """

    bits: Words
    nodes: Ints
    tokens: Ints
    sizes: Ints
    groups: Ints


class CountedLoop:
    """A self-loop whose exits and tokens are sorted by the number of characters read inside.

    ``most`` is the largest number of characters of any of its paths.
    """

    def __init__(self, local: Local, trie: Trie, words: int, part: Ints, loop: SelfLoop) -> None:
        counts, members = np.full(len(trie), -1, np.int16), np.zeros(len(trie), np.int8)
        levels = np.zeros((trie.height + 1, 2), np.int16)
        for begin, end in ((part[BEGIN], part[END]), (part[BEGIN_2], part[END_2])):
            _count_characters(local, trie.records, levels, counts, members, int(begin), int(end))
        self._words = words
        self._bits: dict[int, Words] = {}
        of_tokens = np.repeat(np.where(members < 0, -1, counts), np.diff(trie.first))
        #: The tokens inside the loop, and for each the characters that it begins.
        self._ids, self._counts = trie.token_ids[of_tokens >= 0], of_tokens[of_tokens >= 0]
        self.most = int(counts.max(initial=0))
        self.loop = _by_count(loop, counts[loop.nodes])
        self._lock = threading.Lock()

    def bits(self, characters: int) -> Words:
        """The tokens inside the loop of at most that number of characters, (W,)."""
        with self._lock:
            if characters not in self._bits:
                flags = np.zeros(32 * self._words, np.bool_)
                flags[self._ids[self._counts <= characters]] = True
                self._bits[characters] = np.packbits(flags, bitorder="little").view(np.uint32)
            return self._bits[characters]


def _by_count(loop: SelfLoop, counts: npt.NDArray[np.int16]) -> SelfLoop:
    """The exits of a loop with their groups divided by the characters read before."""
    of_group = np.repeat(np.arange(len(loop.groups)), loop.groups[:, 3] - loop.groups[:, 2])
    keys = of_group << 16 | counts
    order = np.argsort(keys, kind="stable")
    values, starts = np.unique(keys[order], return_index=True)
    groups = loop.groups[values >> 16]
    groups[:, 2], groups[:, 3] = starts, np.append(starts[1:], len(keys))[: len(starts)]
    groups[:, 4] = values & 0xFFFF
    nodes, tokens, sizes = loop.nodes[order], loop.tokens[order], loop.sizes[order]
    return SelfLoop(loop.bits, nodes, tokens, sizes, groups)


@njit(_nrt=False)
def _count_characters(
    local: Local, records: Records, levels: npt.NDArray[np.int16],
    counts: npt.NDArray[np.int16], members: Local, begin: int, end: int,
) -> None:  # fmt: skip
    """For each node in or just outside a loop the characters begun before, and its member or −1.

    ``levels`` has for each depth the member and the number of characters completed.
    """
    at, stop = np.uint64(begin), np.uint64(end)
    while at < stop:
        record = records[at]
        level = (record >> DEPTH_SHIFT) & DEPTH_MASK
        here, count = levels[level, 0], levels[level, 1]
        there = local[here, record & BYTE_MASK]
        members[at] = there
        if there < 0:
            counts[at] = count
            at += record >> SIZE_SHIFT
            continue
        complete = count + (there == 0)
        counts[at] = complete + (there != 0)
        levels[level + ONE, 0], levels[level + ONE, 1] = there, complete
        at += ONE


class Chain:
    """States of which each reads the same bytes and leads to the next by them.

    Shape: ``members`` (n, M) int32, for each state the members of its loop, or ``DEAD``; the last
           row has the state after the last link only. ``local`` (m, 256) is the loop of all.
    """

    def __init__(self, local: Local) -> None:
        self.local = local
        self.members = np.full((64, MAX_MEMBERS), DEAD, np.int32)
        self.links = 0
        #: Whether no link follows; the last state then must not read any byte of the loop.
        self.is_complete = self.is_open = False

    @property
    def last(self) -> State:
        """The state after the last link."""
        return int(self.members[self.links, 0])

    def add(self, members: Ints, following: State) -> None:
        """Add a link, and the state after it."""
        if self.links + 2 > len(self.members):
            self.members = np.concatenate([self.members, np.full_like(self.members, DEAD)])
        self.members[self.links, : len(members)] = members
        self.members[self.links + 1, 0] = following
        self.links += 1


class SelfLoopCache:
    """The self-loops of a vocabulary, by part and local table; safe to share between threads."""

    def __init__(self) -> None:
        self._loops: dict[tuple[int, bytes], SelfLoop] = {}
        self._counted: dict[tuple[int, bytes], CountedLoop] = {}
        self._parts: Parts | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """The number of cached loops."""
        return len(self._loops)

    def parts(self, trie: Trie) -> Parts:
        """The parts in which the trie is walked, one after the other."""
        if self._parts is None:
            self._parts = _parts(trie)
        return self._parts

    def of(self, local: Local, trie: Trie, words: int, part: int) -> SelfLoop:
        """The self-loop of a local table (M, 256) in a part, walked at the first request."""
        key = (part, local.tobytes())
        with self._lock:
            loop = self._loops.get(key)
            if loop is None:
                while len(self._loops) >= _MAX_CACHED_LOOPS:
                    del self._loops[next(iter(self._loops))]
                loop = self._loops[key] = _compute_loop(
                    local, trie, words, self.parts(trie).runs[part]
                )
        return loop

    def counted(self, local: Local, trie: Trie, words: int, part: int) -> CountedLoop:
        """The same with its tokens and exits sorted by the number of characters."""
        key, loop = (part, local.tobytes()), self.of(local, trie, words, part)
        with self._lock:
            counted = self._counted.get(key)
            if counted is None:
                while len(self._counted) >= _MAX_COUNTED_LOOPS:
                    del self._counted[next(iter(self._counted))]
                run = self.parts(trie).runs[part]
                counted = self._counted[key] = CountedLoop(local, trie, words, run, loop)
        return counted


def _parts(trie: Trie) -> Parts:
    size = len(trie)
    firsts = np.flatnonzero(trie.depth == 0)
    sizes = trie.skip[firsts] - firsts
    largest = int(sizes.argmax()) if size else 0
    if not size or sizes[largest] <= _MIN_PART_SHARE * size:
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


def _compute_loop(local: Local, trie: Trie, words: int, part: Ints) -> SelfLoop:
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
    stops = np.append(starts[1:], count)[: len(starts)]  # empty where no path leaves
    columns = [values >> 8, values & 255, starts, stops, np.zeros_like(starts)]
    groups = np.stack(columns, axis=1).astype(np.int32)
    nodes = nodes[:count][order]
    ending = trie.first[nodes + 1] - trie.first[nodes]
    tokens = np.append(trie.token_ids, 0)[trie.first[nodes]]
    tokens = np.where(ending == 0, -1, np.where(ending == 1, tokens, SEVERAL_TOKENS)).astype(
        np.int32
    )
    sizes = trie.skip[nodes] - nodes
    return SelfLoop(bits, nodes, tokens, sizes, np.ascontiguousarray(groups))


@njit(_nrt=False)
def _walk(
    local: Local, records: Records, first: Ints, token_ids: Ints, path: Local, bits: Words,
    nodes: Ints, states: Ints, begin: int, end: int, count: int,
) -> int:  # fmt: skip
    """Set the bits of the tokens read inside a loop; append its exits and the members left there.

    Returns the number of exits.
    """
    at, stop = np.uint64(begin), np.uint64(end)
    while at < stop:
        record = records[at]
        level = (record >> DEPTH_SHIFT) & DEPTH_MASK
        here = path[level]
        there = local[here, record & BYTE_MASK]
        if there < 0:
            nodes[count], states[count] = at, here
            count += 1
            at += record >> SIZE_SHIFT
            continue
        path[level + ONE] = there
        set_token_bits(record, at, first, token_ids, bits)
        at += ONE
    return count


@njit(_nrt=False)
def find_self_loop(
    table: Ints, width: int, classes: Classes, state: int, following: int, members: Ints,
    local: Local,
) -> tuple[int, int, int]:  # fmt: skip
    """Find the self-loop of a state: fill ``members`` (M,) and ``local`` (M, 256), see ``Scratch``.

    ``following`` is the state after a character of the loop: the state itself, or for a link of a
    chain the next state of the chain, which takes the place of the first member in ``local``.

    Returns one of:

    * the number of members, 0, 0;
    * 0, s, 0 if too few bytes lead to ``following``; s is the state that at least
      ``MIN_LOOP_BYTES`` ASCII bytes lead to (it may have a self-loop), or −1;
    * −1, s, c if the step of state s by byte class c is ``UNKNOWN`` and needed first.
    """
    # 1. count the bytes that lead back, and find the majority target
    stays, most, votes = 0, int64(-1), 0
    for byte in range(128):
        target = int64(table[state * width + classes[byte]])
        if target == UNKNOWN:
            return -1, state, int64(classes[byte])
        stays += target == following
        if target >= 0:  # the majority target, if any: Boyer & Moore 1991
            if votes == 0:
                most = target
            votes += 1 if target == most else -1
    if stays < MIN_LOOP_BYTES:
        entering = 0
        for byte in range(128):
            entering += table[state * width + classes[byte]] == most
        return 0, most if most >= 0 and entering >= MIN_LOOP_BYTES else -1, 0
    # 2. collect the members: the states reached by up to three bytes of a multi-byte character
    members[0] = state
    count, from_level, level_end = int64(1), 0, 1
    for _level in range(3):
        for i in range(from_level, level_end):
            for byte in range(128, 256):
                target = int64(table[members[i] * width + classes[byte]])
                if target == UNKNOWN:
                    return -1, int64(members[i]), int64(classes[byte])
                known = target == following or _index_of(members, count, target) >= 0
                if target >= 0 and count < MAX_MEMBERS and not known:
                    members[count] = target
                    count += 1
        from_level, level_end = level_end, count
    # 3. keep those that lead to members only, and fill the local table
    for i in range(1, count):
        for column in range(width):
            if table[members[i] * width + column] == UNKNOWN:
                return -1, int64(members[i]), column
    count = _keep_closed_members(table, width, following, members, count)
    for i in range(count):
        for byte in range(256):
            its_class = classes[byte]
            if byte > 0 and its_class == classes[byte - 1]:  # most bytes share their neighbour's
                local[i, byte] = local[i, byte - 1]
            else:
                target = int64(table[members[i] * width + its_class])
                local[i, byte] = _member_of(members, count, following, target)
    return count, 0, 0


@inner
def _member_of(members: Ints, count: int, following: int, target: int) -> int:
    """The member that a step inside the loop leads to, 0 for ``following``; −1 outside."""
    if target == following:
        return 0
    index = _index_of(members, count, target)
    return index if index > 0 else -1


@inner
def _index_of(members: Ints, count: int, state: int) -> int:
    """The index of a state among the first ``count`` members, or −1."""
    for i in range(count):
        if members[i] == state:
            return i
    return -1


@inner
def _keep_closed_members(table: Ints, width: int, following: int, members: Ints, count: int) -> int:
    """Drop all members but the first that have a step out of the loop; returns the new count."""
    changed = True
    while changed:
        changed = False
        kept = int64(1)
        for i in range(1, count):
            is_closed = True
            for column in range(width):
                target = int64(table[members[i] * width + column])
                if target != DEAD and _member_of(members, count, following, target) < 0:
                    is_closed = False
            if is_closed:
                members[kept] = members[i]
                kept += 1
        changed = kept < count
        count = kept
    return count
