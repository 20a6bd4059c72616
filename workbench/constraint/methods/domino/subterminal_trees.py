"""Subterminal trees: what a vocabulary's tokens read from a scanner's state.

Token by token, as Algorithm 2 is written, common beginnings of tokens are read again and again.
Here a node of the tree holds the places of the vocabulary's trie where its terminals have been read
to the end; each terminal that may follow is read from all these places at once.

Source: Beurer-Kellner et al. 2024, §3.3, Algorithm 2. A token is attached to every sequence of
subterminals it can be read as from a state; sequences with a common beginning share nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import State
from workbench.base.errors import LimitError
from workbench.base.kernels import int64, njit
from workbench.base.limits import Limits
from workbench.constraint.methods.domino.scanner import BETWEEN, Scanner
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import TokenId

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Stamps = npt.NDArray[np.int64]

#: Why a planting gave up: too many subterminals, or too many bytes read.
TOO_MANY, TOO_LONG = -1, -2

#: Bytes read for one tree at most, and places read from.
_BYTES_READ = 100_000_000


class Ground(NamedTuple):
    """What does not change from tree to tree: a vocabulary's trie, a scanner, what may follow.

    ``follows[begin[t] : begin[t + 1]]`` are the terminals that may come after terminal t;
    what may come first stands after the last terminal.
    """

    byte: npt.NDArray[np.uint8]
    depth: Ints
    skip: Ints
    first: Ints
    token_ids: Ints
    height: int
    table: Ints
    classes: npt.NDArray[np.uint16]
    accepting: Bools
    goes_on: Bools
    initials: Ints
    begin: Ints
    follows: Ints


class Found(NamedTuple):
    """What reading one terminal finds; arrays are longer than what is filled.

    ``places``: trie nodes where a terminal has been read to its end and more can follow, those
    of every level of the walk behind each other; ``tokens``: attached so far, ``partial`` where
    they end inside the terminal.
    """

    places: Ints
    tokens: Ints
    partial: Bools
    held: int
    told: int
    #: Bytes read.
    steps: int


class Planted(NamedTuple):
    """A tree in preorder, M nodes, as ``SubterminalTree`` has it; or why it was given up."""

    size: int
    terminal: Ints
    depth: Ints
    skip: Ints
    first: Ints
    tokens: Ints
    partial: Bools


@njit(cache=True, nogil=True)
def doubled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same numbers, with as much room again behind them."""
    return np.concatenate((array, np.empty_like(array)))


@njit(cache=True, nogil=True)
def read(
    ground: Ground, entered: int, low: int, high: int, found: Found, stamp: int,
    stamps: tuple[Stamps, Stamps, Stamps], path: Ints,
) -> Found:  # fmt: skip
    """Read on from the places ``low`` to before ``high`` with a terminal's automaton at a state.

    Several readings may lead to one place; ``stamps`` tell whether it was met with this stamp.
    """
    places, tokens, partial, held, told, steps = found
    partly, wholly, ends = stamps
    for k in range(low, high):
        place, steps = places[k], steps + 1
        node, stop, base = place + 1, len(ground.byte), 0
        if place >= 0:
            stop, base = ground.skip[place], ground.depth[place] + 1
        path[base] = entered
        while node < stop:
            steps, depth = steps + 1, ground.depth[node]
            there = ground.table[path[depth], ground.classes[ground.byte[node]]]
            if there < 0:
                node = ground.skip[node]
                continue
            path[depth + 1] = there
            accepted = ground.accepting[there]
            met = wholly if accepted else partly
            if met[node] != stamp:
                met[node] = stamp
                for i in range(ground.first[node], ground.first[node + 1]):
                    if told == len(tokens):
                        tokens, partial = doubled(tokens), doubled(partial)
                    tokens[told], partial[told] = ground.token_ids[i], not accepted
                    told += 1
            if accepted and ground.skip[node] > node + 1 and ends[node] != stamp:
                ends[node] = stamp
                if held == len(places):
                    places = doubled(places)
                places[held] = node
                held += 1
            node = node + 1 if ground.goes_on[there] else ground.skip[node]
    return Found(places, tokens, partial, held, told, steps)


@njit(cache=True, nogil=True)
def added(tree: Ints, size: int, terminal: int, depth: int, told: int) -> Ints:
    """A tree with one node more, which is all there is of it yet."""
    if size + 1 == tree.shape[1]:
        tree = np.concatenate((tree, np.empty_like(tree)), axis=1)
    tree[0, size], tree[1, size], tree[3, size] = terminal, depth, told
    return tree


@njit(cache=True, nogil=True)
def closed(tree: Ints, size: int, node: int, told: int) -> int:
    """The size of a tree when all that may follow a node was tried.

    The node is taken back where no token is at or below it.
    """
    if node < 0:
        return size
    if told == tree[3, node]:
        return node
    tree[2, node] = size
    return size


@njit(cache=True, nogil=True)
def whole(tree: Ints, size: int, found: Found) -> Planted:
    """A tree that is finished, without the room behind it."""
    tree[3, size] = found.told
    return Planted(
        size, tree[0, :size].copy(), tree[1, :size].copy(), tree[2, :size].copy(),
        tree[3, : size + 1].copy(), found.tokens[: found.told].copy(),
        found.partial[: found.told].copy(),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def at_the_root(ground: Ground, owner: int) -> Stamps:
    """The levels of a walk that begins; one way leads on inside a terminal, many between two."""
    levels, last = np.zeros((5, ground.height + 2), np.int64), len(ground.initials)
    levels[:, 0] = (0, 1, -1, 0, -1)
    if owner < 0:
        levels[2, 0], levels[3, 0] = ground.begin[last], ground.begin[last + 1]
    return levels


@njit(cache=True, nogil=True)
def plant(ground: Ground, state: int, owner: int, most: int, deepest: int) -> Planted:
    """The tree of a state inside terminal ``owner``; of the place between two where that is −1.

    It has at most ``most`` nodes, and ``deepest`` of them below each other.

    Depth first. A level of the walk is a node, with the places its terminals end at (rows 0
    and 1 of ``levels``), the terminals still to be tried after it (2 and 3), and its number (4).
    """
    size, level, stamp, nodes = int64(0), int64(0), int64(0), len(ground.byte)
    tree = np.empty((4, 64), np.int32)  # terminal, depth, skip, first
    stamps = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    path, levels = np.empty(ground.height + 2, np.int32), at_the_root(ground, owner)
    first = np.full(1024, -1, np.int32)  # nothing read: the root of the trie
    found = Found(first, np.empty(1024, np.int32), np.empty(1024, np.bool_), 1, 0, 0)
    while level >= 0:
        low, high, trying, end, node = levels[:, level]
        if trying == end:
            size = closed(tree, size, node, found.told)
            found = Found(found.places, found.tokens, found.partial, low, found.told, found.steps)
            level -= 1
            continue
        levels[2, level], stamp = trying + 1, stamp + 1
        reading = owner if trying < 0 else ground.follows[trying]
        entered = state if trying < 0 else ground.initials[reading]
        held, told = found.held, found.told
        found = read(ground, entered, low, high, found, stamp, stamps, path)
        if found.steps > _BYTES_READ or size == most:
            why = TOO_MANY if size == most else TOO_LONG
            return Planted(why, tree[0], tree[1], tree[2], tree[3], found.tokens, found.partial)
        if found.told == told and found.held == held:
            continue
        tree = added(tree, size, reading, level, told)
        level += 1
        levels[0, level], levels[1, level], levels[4, level] = held, found.held, size
        levels[2:4, level] = 0
        if level < deepest:
            levels[2, level], levels[3, level] = ground.begin[reading], ground.begin[reading + 1]
        size += 1
    return whole(tree, size, found)


#: Nodes a tree may have; the largest of C over 131k tokens has about a thousand.
_NODES = 200_000


@dataclass(frozen=True, eq=False)
class SubterminalTree:
    """T_q: the sequences of subterminals tokens can be read as from one state of the scanner.

    The first subterminal of a tree inside a terminal is an end or a continuation of that
    one, all others are full or have only started; ``partial`` tells for every token which of
    the two the last of its sequence is. The tree of a state in which the terminal may end
    does not repeat what can come after it: the ε-edges of the scanner make ``BETWEEN`` active
    as well, and its tree has that.

    Shape: M nodes in preorder, the root (nothing read) not among them. ``terminal`` (M,) int32;
           ``depth`` (M,) int32, the subterminals before the node; ``skip`` (M,) int32, the
           next node that is not below; the tokens at node i are ``tokens[first[i]:first[i + 1]]``.
    """

    state: State
    terminal: Ints
    depth: Ints
    skip: Ints
    first: Ints
    tokens: Ints
    partial: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.terminal)

    @property
    def megabytes(self) -> float:
        return (4 * (4 * len(self) + len(self.tokens)) + len(self.partial)) / 1e6

    @cached_property
    def parent(self) -> Ints:
        """The node above each, −1 for those at the root, (M,)."""
        above, parent = [-1] * (int(self.depth.max(initial=0)) + 2), []
        for node, depth in enumerate(self.depth.tolist()):
            parent.append(above[depth])
            above[depth + 1] = node
        return np.array(parent, np.int32)

    @cached_property
    def lists(self) -> tuple[list[int], list[int], list[int]]:
        """Terminal, depth and skip of each node, for who walks them one by one."""
        return self.terminal.tolist(), self.depth.tolist(), self.skip.tolist()

    def spans(self, nodes: list[int]) -> list[tuple[int, int]]:
        """Where in ``tokens`` those of some nodes, in preorder, lie; neighbours joined."""
        first: list[int] = self.first.tolist()
        found: list[tuple[int, int]] = []
        for node in nodes:
            low, high = first[node], first[node + 1]
            if found and found[-1][1] == low:
                found[-1] = found[-1][0], high
            elif low < high:
                found.append((low, high))
        return found

    def nodes_of(self, token_id: TokenId) -> list[int]:
        """The nodes a token is attached to.

        Cost: one look at all tokens, 5 µs for 30k of them; an index by token took 1.6 ms to
              make, and most trees are asked less often.
        """
        at = np.flatnonzero(self.tokens == token_id)
        found = np.searchsorted(self.first, at, "right") - 1
        return sorted(set(found.tolist()))

    def path(self, node: int) -> tuple[int, ...]:
        """The terminals from the root down to a node."""
        found = []
        while node >= 0:
            found.append(int(self.terminal[node]))
            node = int(self.parent[node])
        return tuple(reversed(found))


class Trees:
    """The tree of every state of a scanner, made before inference starts.

    No deeper than a lookahead asks for: with k = 0 those of C over 32k tokens take a third of the
    time, and grammars whose terminals overlap without end can be read.

    What half of ``limits.seconds`` does not suffice for is made when it is first asked for.

    Cost:   about the trie once for a state inside a wide terminal (a string, a name), little
            for any other.
    Raises: LimitError where terminals overlap so much that tokens can be read as too many
            sequences of them.
    """

    def __init__(
        self,
        scanner: Scanner,
        follows: tuple[tuple[int, ...], ...],
        trie: Trie,
        limits: Limits,
        levels: int,
    ) -> None:
        """``levels``: how deep the trees are. ``follows``: by terminal those that may come next.

        The paper's R has every terminal there. That no accepted text has two terminals one after
        the other is known beforehand, so sequences with such a pair, which the parser would refuse
        whenever it is asked, are left out: the trees become smaller, the masks stay.
        """
        self._ground, self._scanner = _ground(scanner, follows, trie), scanner
        self._levels = levels
        self._states = frozenset((BETWEEN, *scanner.inside))
        self._most, self._megabytes = limits.megabytes / 2, 0.0
        #: Those made so far.
        self.each: dict[State, SubterminalTree] = {}
        clock = limits.clock()
        for state in sorted(self._states):
            if clock.seconds > limits.seconds / 2:
                break
            self.get(state)

    def get(self, state: State) -> SubterminalTree | None:
        """The tree of a state; None of one from which nothing goes on inside its terminal."""
        known = self.each.get(state)
        if known is not None or state not in self._states:
            return known
        made = self._plant(state)
        self._megabytes += made.megabytes
        if self._megabytes > self._most:  # hardly ever: wide terminals counted by the thousand
            self.each.clear()
            self._megabytes = made.megabytes
        self.each[state] = made
        return made

    def _plant(self, state: State) -> SubterminalTree:
        owner = int(self._scanner.owner[state])
        made = plant(self._ground, state, owner, _NODES, self._levels)
        if made.size < 0:
            what = "sequences of terminals" if made.size == TOO_MANY else "ways"
            raise LimitError(
                f"tokens can be read as too many {what} of this grammar",
                "states",
                "let no two terminals read the same text, or join them in one regex",
            )
        return SubterminalTree(state, *made[1:])


def _ground(scanner: Scanner, follows: tuple[tuple[int, ...], ...], trie: Trie) -> Ground:
    every = (*follows, tuple(range(len(scanner.terminals))))
    return Ground(
        trie.byte, trie.depth, trie.skip, trie.first, trie.token_ids, trie.height,
        scanner.table, scanner.classes, scanner.accepting, scanner.goes_on, scanner.initials,
        np.cumsum([0, *map(len, every)], dtype=np.int32),
        np.array([terminal for some in every for terminal in some], np.int32),
    )  # fmt: skip
