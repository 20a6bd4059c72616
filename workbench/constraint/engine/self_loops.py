"""The self-loop cache: what all states that loop on the same byte set share, for one vocabulary.

Inside a string nearly every token can be read, so a walk would visit nearly every node of the
trie. But such a state loops: most bytes lead back to it, directly or through the states in the
middle of a multi-byte character (the *members* of the loop). Which bytes keep a path inside the
loop determines most of the row: the tokens read entirely inside, and the trie nodes where a path
first leaves the loop (its *exits*). Both are computed once for a vocabulary and a table of
members and bytes, and shared by all grammars. Koo et al. 2024, §2.5, call this idea terminal
labels; here it is exact.

In a network, a name may also be the beginning of a keyword: such a state has the configurations
of the loop and more. Bytes of the loop lead to it, and most of them back, so the first of these
states are members too (``row_cache.find_loop``). Otherwise all tokens with one of these letters
would be walked: half of the time of SQL's masks, because a keyword may follow a name.

Mask rows need the tokens read inside a loop as bits (``SelfLoop``); the closed form needs the
member in which each ends (``EdgeLoop``). Inside a JSON string, over 131k tokens, all but 900 of
266 thousand nodes are taken from it; one walk of them takes 0.3 ms. Slower alternatives of this
walk: without skipping subtrees, dead ends being a separate member, 0.45 ms; with parents instead
of a path, 0.4 ms; with a branch for the states in the middle of a character, 0.65 ms.

A string of bounded length, ``[a-z]{0,50}``, does not loop, but its states are a *chain*: the same
bytes lead from each to the next, until the last reads none of them. The loop of these bytes then
determines the rows too: a state from which n more characters follow has the tokens inside the
loop of at most n characters, and leaves it as the state of the chain does that the path has
reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.automata.lazy_dfa import UNKNOWN
from workbench.base.dfa import DEAD, State
from workbench.base.kernels import inner, int64, njit
from workbench.base.locks import WorkLock
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
)
from workbench.constraint.masks import pack
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
#: The number of loops in one table of the closed form.
_TABLE_ROWS = 16
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
           slice of ``nodes``, and the number of characters (0 in a loop without a count);
           ``exits`` (X,) int32, the same nodes in preorder.
    """

    bits: Words
    nodes: Ints
    tokens: Ints
    sizes: Ints
    groups: Ints
    exits: Ints


class _Walk(NamedTuple):
    """A walk inside a loop, of the nodes of a part.

    Shape: ``members`` (N,) int8, the member of the loop at each trie node, −1 outside; ``exits``
           (X,) int32, the nodes at which a path first leaves the loop, in preorder, and
           ``exit_members`` (X,) int8, the members left there; ``counts`` (N,) int16, for each node
           inside and each exit the characters begun before, or (0,) if they are not counted.
    """

    members: Local
    exits: Ints
    exit_members: Local
    counts: npt.NDArray[np.int16]

    @staticmethod
    def of(local: Local, trie: Trie, part: Ints, *, is_counted: bool) -> _Walk:
        """The walk of a part (a row of ``Parts.runs``)."""
        size = len(trie)
        members = np.full(size, -1, np.int8)
        counts = np.full(size if is_counted else 0, -1, np.int16)
        ranges = ((int(part[BEGIN]), int(part[END])), (int(part[BEGIN_2]), int(part[END_2])))
        return _Walk.into(members, counts, local, trie, ranges)

    @staticmethod
    def into(
        members: Local, counts: npt.NDArray[np.int16], local: Local, trie: Trie, ranges: Ranges
    ) -> _Walk:
        """The same with arrays to write ``members`` and ``counts`` to."""
        exits, exit_members = np.empty(len(trie), np.int32), np.empty(len(trie), np.int8)
        path, read = np.zeros(trie.height + 1, np.int8), np.zeros(trie.height + 1, np.int16)
        count = 0
        for begin, end in ranges:
            count = _walk(
                local, trie.records, begin, end, path, read, members, counts, exits, exit_members,
                count,
            )  # fmt: skip
        return _Walk(members, exits[:count].copy(), exit_members[:count].copy(), counts)


#: Ranges of trie nodes.
Ranges = tuple[tuple[int, int], ...]


@njit(_nrt=False)
def _walk(
    local: Local, records: Records, begin: int, end: int, path: Local, read: npt.NDArray[np.int16],
    members: Local, counts: npt.NDArray[np.int16], exits: Ints, exit_members: Local, count: int,
) -> int:  # fmt: skip
    """Write the arrays of a ``_Walk``, its exits after the first ``count``; return their number.

    ``path`` and ``read`` have for each depth the member, and the number of characters completed.
    """
    flat, is_counted = local.reshape(-1), len(counts) > 0
    node, stop, exit_count = np.uint64(begin), np.uint64(end), np.uint64(count)
    while node < stop:
        record = records[node]
        level = (record >> DEPTH_SHIFT) & DEPTH_MASK
        local_state = path[level]
        there = flat[np.uint64(local_state) * np.uint64(256) + (record & BYTE_MASK)]
        if there < 0:
            exits[exit_count], exit_members[exit_count] = node, local_state
            exit_count += ONE
            if is_counted:
                counts[node] = read[level]
            past = node + (record >> SIZE_SHIFT)
            while node < past:
                members[node] = np.int8(-1)
                node += ONE
            continue
        path[level + ONE] = there
        members[node] = there
        if is_counted:
            read[level + ONE] = read[level] + (there == 0)
            counts[node] = read[level + ONE] + (there != 0)
        node += ONE
    return int(np.int64(exit_count))


def _self_loop(walk: _Walk, trie: Trie, words: int) -> SelfLoop:
    counts = walk.counts[walk.exits] if len(walk.counts) else np.zeros(len(walk.exits), np.int16)
    keys = walk.exit_members.astype(np.int64) << 24 | trie.byte[walk.exits].astype(np.int64) << 16
    keys |= counts
    order = np.argsort(keys, kind="stable")
    values, starts = np.unique(keys[order], return_index=True)
    stops = np.append(starts[1:], len(keys))[: len(starts)]  # empty where no path leaves
    columns = [values >> 24, values >> 16 & 255, starts, stops, values & 0xFFFF]
    groups = np.stack(columns, axis=1).astype(np.int32)
    nodes = walk.exits[order]
    ending = trie.first[nodes + 1] - trie.first[nodes]
    tokens = np.append(trie.token_ids, 0)[trie.first[nodes]]
    tokens = np.where(ending == 0, -1, np.where(ending == 1, tokens, SEVERAL_TOKENS))
    bits = _as_row(trie.token_ids[trie.first[0] :][walk.members[trie.token_nodes] >= 0], words)
    sizes = trie.skip[nodes] - nodes
    groups = np.ascontiguousarray(groups)
    return SelfLoop(bits, nodes, tokens.astype(np.int32), sizes, groups, walk.exits)


def _as_row(tokens: Ints, words: int) -> Words:
    """Tokens as bits, (W,)."""
    flags = np.zeros(32 * words, np.bool_)
    flags[tokens] = True
    return pack(flags)


class CountedLoop:
    """A self-loop whose exits and tokens are sorted by the number of characters read inside.

    ``most`` is the largest number of characters of any of its paths.
    """

    def __init__(self, local: Local, trie: Trie, words: int, part: Ints) -> None:
        walk = _Walk.of(local, trie, part, is_counted=True)
        self.loop = _self_loop(walk, trie, words)
        self.most = int(walk.counts.max(initial=0))
        self._words = words
        self._bits: dict[int, Words] = {}
        inside = walk.members[trie.token_nodes] >= 0
        #: The tokens inside the loop, and for each the characters that it begins.
        self._ids = trie.token_ids[trie.first[0] :][inside]
        self._counts = walk.counts[trie.token_nodes[inside]]
        self._lock = WorkLock()

    def bits(self, characters: int) -> Words:
        """The tokens inside the loop of at most that number of characters, (W,)."""
        with self._lock:
            if characters not in self._bits:
                few = self._ids[self._counts <= characters]
                self._bits[characters] = _as_row(few, self._words)
            return self._bits[characters]


@dataclass(frozen=True, slots=True, eq=False)
class EdgeLoop:
    """A self-loop of the closed form, walked through the whole trie.

    Shape: ``row``, its row in ``EdgeLoopTable.loop_members``; ``member_tokens`` (M,) int32, the
           number of tokens that end in each member; ``exits`` and ``exit_members`` as in ``_Walk``.
    """

    row: int
    member_tokens: Ints
    exits: Ints
    exit_members: Local


class EdgeLoopTable:
    """Up to 16 loops of a vocabulary for the closed form.

    Shape: ``loop_members`` (16, N) int8, the member of each loop at each trie node, or −1.

    A table is only added to, because closed forms keep references to it.
    """

    def __init__(self, trie: Trie) -> None:
        self.loop_members = np.empty((_TABLE_ROWS, len(trie)), np.int8)
        self.loops: dict[bytes, EdgeLoop] = {}
        self._trie = trie
        self._lock = WorkLock()

    def of(self, local: Local) -> EdgeLoop | None:
        """The loop of a local table (M, 256) of members by byte; None if the table is full."""
        key = local.tobytes()
        with self._lock:
            if key not in self.loops and len(self.loops) < _TABLE_ROWS:
                self.loops[key] = self._compute_loop(local, len(self.loops))
            return self.loops.get(key)

    def _compute_loop(self, local: Local, row: int) -> EdgeLoop:
        trie, members = self._trie, self.loop_members[row]
        whole = ((0, len(trie)),)
        walk = _Walk.into(members, np.empty(0, np.int16), local, trie, whole)
        # the first member has all tokens that no other has: few nodes are in the others
        others, first = np.flatnonzero(members > 0), trie.first
        tokens = first[others + 1] - first[others]
        counts = np.bincount(members[others], tokens, len(local)).astype(np.int32)
        outside = first[trie.skip[walk.exits]] - first[walk.exits]
        counts[0] = first[-1] - outside.sum() - tokens.sum()
        return EdgeLoop(row, counts, walk.exits, walk.exit_members)


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
        self._lock = WorkLock()
        self._parts: Parts | None = None
        self.clear()

    def clear(self) -> None:
        """Drop all loops, as for a new vocabulary."""
        self._loops: dict[tuple[int, bytes], SelfLoop] = {}
        self._counted: dict[tuple[int, bytes], CountedLoop] = {}
        self._table: EdgeLoopTable | None = None

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
                walk = _Walk.of(local, trie, self.parts(trie).runs[part], is_counted=False)
                loop = self._loops[key] = _self_loop(walk, trie, words)
        return loop

    def counted(self, local: Local, trie: Trie, words: int, part: int) -> CountedLoop:
        """The same with its tokens and exits sorted by the number of characters."""
        key = (part, local.tobytes())
        with self._lock:
            counted = self._counted.get(key)
            if counted is None:
                while len(self._counted) >= _MAX_COUNTED_LOOPS:
                    del self._counted[next(iter(self._counted))]
                run = self.parts(trie).runs[part]
                counted = self._counted[key] = CountedLoop(local, trie, words, run)
        return counted

    def edge_table(self, trie: Trie) -> EdgeLoopTable:
        """A table of the closed form's loops that is at most half full.

        A fuller one is replaced; closed forms that refer to it keep it alive.
        """
        if self._table is None or len(self._table.loops) > _TABLE_ROWS // 2:
            self._table = EdgeLoopTable(trie)
        return self._table


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
    * −1, s, b if the step of state s by byte b is ``UNKNOWN``. It is needed first, as are those by
      all later bytes of the same half (ASCII or not).
    """
    # 1. count the bytes that lead back, and find the majority target
    stays, most, votes = 0, int64(-1), 0
    for byte in range(128):
        target = int64(table[state * width + int64(classes[byte])])
        if target == UNKNOWN:
            return -1, state, byte
        stays += target == following
        if target >= 0:  # the majority target, if any: Boyer & Moore 1991
            if votes == 0:
                most = target
            votes += 1 if target == most else -1
    if stays < MIN_LOOP_BYTES:
        entering = 0
        for byte in range(128):
            entering += table[state * width + int64(classes[byte])] == most
        return 0, most if most >= 0 and entering >= MIN_LOOP_BYTES else -1, 0
    # 2. collect the members: the states reached by up to three bytes of a multi-byte character
    members[0] = state
    count, from_level, level_end = int64(1), 0, 1
    for _level in range(3):
        for i in range(from_level, level_end):
            for byte in range(128, 256):
                its_class = classes[byte]
                if byte > 128 and its_class == classes[byte - 1]:  # as most bytes
                    continue
                target = int64(table[members[i] * width + its_class])
                if target == UNKNOWN:
                    return -1, int64(members[i]), byte
                is_known = target == following or _index_of(members, count, target) >= 0
                if target >= 0 and count < MAX_MEMBERS and not is_known:
                    members[count] = target
                    count += 1
        from_level, level_end = level_end, count
    # 3. keep those that lead to members only, and fill the local table
    for i in range(1, count):
        for byte in range(256):
            if table[members[i] * width + classes[byte]] == UNKNOWN:
                return -1, int64(members[i]), byte
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
    if target < 0:  # most steps of the states in the middle of a character
        return -1
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
