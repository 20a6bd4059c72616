"""Subterminal trees: the sequences of subterminals that tokens can be read as.

Source: Beurer-Kellner et al. 2024, §3.3, Algorithm 2. From a state of the scanner, a token is
attached to every sequence of subterminals that it can be read as; sequences with a common prefix
share nodes.

Algorithm 2 as printed goes token by token and reads common prefixes of tokens repeatedly. Here a
node of the tree has the trie nodes at which its terminals have been read completely, and each
terminal that may follow is read from all of them together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.cached_property import cached_property
from workbench.base.dfa import State
from workbench.base.errors import LimitError
from workbench.base.kernels import inner, int64, njit
from workbench.base.limits import Limits, check_time_budget
from workbench.constraint.methods.domino.scanner import BETWEEN, Scanner
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import TokenId

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Longs = npt.NDArray[np.int64]

#: ``TreeArrays.size`` of a tree that was not completed: too many nodes, or too many bytes read.
TOO_MANY_NODES, TOO_MANY_STEPS = -1, -2

#: The steps for one tree in a second of the limits: bytes read, and trie nodes read from. A core
#: that has to share its caches takes a second for as many, an idle one half of it. The trees of
#: common grammars over 131k tokens take less than a million each.
_STEPS_PER_SECOND = 8_000_000
#: A tree may take as long as this, however short the limit.
_LEAST_SECONDS = 0.05
#: The steps that take as long as the call that reads a terminal, if it reads no byte.
_STEPS_PER_CALL = 4


class TreeInput(NamedTuple):
    """The input common to all trees: a vocabulary's trie, a scanner, and which terminals follow.

    ``follows[begin[t] : begin[t + 1]]`` are the terminals that may come after terminal t; those
    that may come first are the entry after the last terminal.
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


class Progress(NamedTuple):
    """The results of the walk; only a first part of each array is filled.

    Shape: ``end_nodes`` (end_count,), the trie nodes at which a terminal has been read completely
           and more bytes can follow, a stack with a slice for each level of the walk; ``tokens``
           (token_count,), the tokens attached; ``partial`` (token_count,), True where the
           token ends inside its last terminal.
    """

    end_nodes: Ints
    tokens: Ints
    partial: Bools
    end_count: int
    token_count: int
    #: Bytes read, and trie nodes read from.
    steps: int


class TreeArrays(NamedTuple):
    """The arrays of a ``SubterminalTree``; ``size`` is M, or ``TOO_MANY_NODES`` and so on."""

    size: int
    terminal: Ints
    depth: Ints
    skip: Ints
    first: Ints
    tokens: Ints
    partial: Bools


@njit(no_cpython_wrapper=True)
def doubled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A copy of an array with twice the length."""
    return np.concatenate((array, np.empty_like(array)))


@njit(no_cpython_wrapper=True)
def read_terminal(
    source: TreeInput, entry: int, low: int, high: int, progress: Progress, visit: int,
    last_visits: tuple[Longs, Longs, Longs], path: Ints,
) -> Progress:  # fmt: skip
    """Read a terminal from each of ``end_nodes[low:high]``, its automaton in state ``entry``.

    The walk goes through the trie below such a node. At each node, the automaton

    * cannot read the byte: the subtree is skipped;
    * is in an accepting state: the node's tokens end in a full subterminal (``full_visit``), and
      if the trie continues, the node is a new end node (``end_visit``);
    * is in another state: the node's tokens end in a partial subterminal (``partial_visit``).

    Several paths lead to one trie node, so each of the three arrays has for every node the number
    of the last ``visit`` that recorded it: nothing is recorded twice in one visit.
    """
    end_nodes, tokens, partial, end_count, token_count, steps = progress
    partial_visit, full_visit, end_visit = last_visits
    steps += _STEPS_PER_CALL
    for k in range(low, high):
        start, steps = end_nodes[k], steps + 1
        node, stop, base = start + 1, len(source.byte), 0
        if start >= 0:
            stop, base = source.skip[start], source.depth[start] + 1
        path[base] = entry
        while node < stop:
            steps, depth = steps + 1, source.depth[node]
            target = source.table[path[depth], source.classes[source.byte[node]]]
            if target < 0:
                node = source.skip[node]
                continue
            path[depth + 1] = target
            accepted = source.accepting[target]
            last_visit = full_visit if accepted else partial_visit
            if last_visit[node] != visit:
                last_visit[node] = visit
                for i in range(source.first[node], source.first[node + 1]):
                    if token_count == len(tokens):
                        tokens, partial = doubled(tokens), doubled(partial)
                    tokens[token_count], partial[token_count] = source.token_ids[i], not accepted
                    token_count += 1
            if accepted and source.skip[node] > node + 1 and end_visit[node] != visit:
                end_visit[node] = visit
                if end_count == len(end_nodes):
                    end_nodes = doubled(end_nodes)
                end_nodes[end_count] = node
                end_count += 1
            node = node + 1 if source.goes_on[target] else source.skip[node]
    return Progress(end_nodes, tokens, partial, end_count, token_count, steps)


@njit(no_cpython_wrapper=True)
def with_node(tree: Ints, size: int, terminal: int, depth: int, token_count: int) -> Ints:
    """The tree with a new node appended; its ``skip`` is not known yet."""
    if size + 1 == tree.shape[1]:
        tree = np.concatenate((tree, np.empty_like(tree)), axis=1)
    tree[0, size], tree[1, size], tree[3, size] = terminal, depth, token_count
    return tree


@inner
def close_node(tree: Ints, size: int, node: int, token_count: int) -> int:
    """Complete a node after all terminals that may follow it. Returns the size of the tree.

    The node is removed if no token is attached at or below it.
    """
    if node < 0:
        return size
    if token_count == tree[3, node]:
        return node
    tree[2, node] = size
    return size


@njit(no_cpython_wrapper=True)
def finished(tree: Ints, size: int, progress: Progress) -> TreeArrays:
    """The arrays of a complete tree, in their final lengths."""
    tree[3, size] = progress.token_count
    return TreeArrays(
        size, tree[0, :size].copy(), tree[1, :size].copy(), tree[2, :size].copy(),
        tree[3, : size + 1].copy(), progress.tokens[: progress.token_count].copy(),
        progress.partial[: progress.token_count].copy(),
    )  # fmt: skip


@njit(no_cpython_wrapper=True)
def initial_levels(source: TreeInput, owner: int) -> Longs:
    """The levels of a new walk: inside a terminal only it continues, between two any may begin."""
    levels, last = np.zeros((5, source.height + 2), np.int64), len(source.initials)
    levels[:, 0] = (0, 1, -1, 0, -1)
    if owner < 0:
        levels[2, 0], levels[3, 0] = source.begin[last], source.begin[last + 1]
    return levels


@njit()
def build_tree(
    source: TreeInput, state: int, owner: int, max_nodes: int, max_depth: int, max_steps: int
) -> TreeArrays:
    """The tree of a scanner's state inside terminal ``owner``, or of ``BETWEEN`` if that is −1.

    It has at most ``max_nodes`` nodes and ``max_depth`` levels, after about ``max_steps`` steps.

    The walk is depth first. A level is a node of the tree. Its column of ``levels`` has the slice
    of its ``end_nodes`` (rows 0 and 1), the slice of ``follows`` still to be tried after it (2 and
    3; −1 means ``owner``), and its number (4).
    """
    size, level, visit, nodes = int64(0), int64(0), int64(0), len(source.byte)
    tree = np.empty((4, 64), np.int32)  # terminal, depth, skip, first
    last_visits = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    path, levels = np.empty(source.height + 2, np.int32), initial_levels(source, owner)
    first = np.full(1024, -1, np.int32)  # the root of the trie
    progress = Progress(first, np.empty(1024, np.int32), np.empty(1024, np.bool_), 1, 0, 0)
    while level >= 0:
        low, high, next_follow, end, node = levels[:, level]
        if next_follow == end:
            size = close_node(tree, size, node, progress.token_count)
            progress = Progress(
                progress.end_nodes,
                progress.tokens,
                progress.partial,
                low,
                progress.token_count,
                progress.steps,
            )
            level -= 1
            continue
        levels[2, level], visit = next_follow + 1, visit + 1
        terminal = owner if next_follow < 0 else source.follows[next_follow]
        entry = state if next_follow < 0 else source.initials[terminal]
        end_count, token_count = progress.end_count, progress.token_count
        progress = read_terminal(source, entry, low, high, progress, visit, last_visits, path)
        if progress.steps > max_steps or size == max_nodes:
            status = TOO_MANY_NODES if size == max_nodes else TOO_MANY_STEPS
            return TreeArrays(
                status, tree[0], tree[1], tree[2], tree[3], progress.tokens, progress.partial
            )
        if progress.token_count == token_count and progress.end_count == end_count:
            continue
        tree = with_node(tree, size, terminal, level, token_count)
        level += 1
        levels[0, level], levels[1, level], levels[4, level] = end_count, progress.end_count, size
        levels[2:4, level] = 0
        if level < max_depth:
            levels[2, level], levels[3, level] = source.begin[terminal], source.begin[terminal + 1]
        size += 1
    return finished(tree, size, progress)


#: The most nodes of a tree; the largest of C over 131k tokens has about a thousand.
_MAX_NODES = 200_000


@dataclass(frozen=True, eq=False)
class SubterminalTree:
    """T_q: the sequences of subterminals that tokens can be read as from one state of the scanner.

    In a tree inside a terminal the first subterminal is an end or a continuation of that
    terminal. All others are full or have only started; for each token ``partial`` is True if the
    last of its sequence has only started. The tree of a state in which the terminal may end does
    not repeat the terminals that may follow: the ε-edges of the scanner make ``BETWEEN`` active
    too, and its tree has them.

    Shape: M nodes in preorder, without the root. ``terminal`` (M,) int32; ``depth`` (M,) int32,
           the number of subterminals before the node; ``skip`` (M,) int32, the next node outside
           the subtree; the tokens at node i are ``tokens[first[i]:first[i + 1]]``.
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
        """The parent of each node, −1 for those at the root, (M,)."""
        above, parent = [-1] * (int(self.depth.max(initial=0)) + 2), []
        for node, depth in enumerate(self.depth.tolist()):
            parent.append(above[depth])
            above[depth + 1] = node
        return np.array(parent, np.int32)

    @cached_property
    def lists(self) -> tuple[list[int], list[int], list[int]]:
        """Terminal, depth and skip of each node as lists, for loops in Python."""
        return self.terminal.tolist(), self.depth.tolist(), self.skip.tolist()

    def spans(self, nodes: list[int]) -> list[tuple[int, int]]:
        """The slices of ``tokens`` of nodes in preorder, adjacent slices joined."""
        first: list[int] = self.first.tolist()
        result: list[tuple[int, int]] = []
        for node in nodes:
            low, high = first[node], first[node + 1]
            if result and result[-1][1] == low:
                result[-1] = result[-1][0], high
            elif low < high:
                result.append((low, high))
        return result

    def nodes_of(self, token_id: TokenId) -> list[int]:
        """The nodes that a token is attached to.

        Cost: a search of all tokens, 5 µs for 30k of them; an index by token took 1.6 ms to
              build, and most trees are searched less often.
        """
        positions = np.flatnonzero(self.tokens == token_id)
        result = np.searchsorted(self.first, positions, "right") - 1
        return sorted(set(result.tolist()))

    def path(self, node: int) -> tuple[int, ...]:
        """The terminals from the root down to a node."""
        result = []
        while node >= 0:
            result.append(int(self.terminal[node]))
            node = int(self.parent[node])
        return tuple(reversed(result))


class Trees:
    """The trees of all states of a scanner, built before inference starts.

    They are as deep as the lookahead needs: with k = 0 those of C over 32k tokens take a third of
    the time, and grammars whose terminals overlap without limit are supported.

    Building stops after half of ``limits.seconds``; other trees are built when first requested.

    Cost:   about one walk of the trie for a state inside a string or a name, little for others.
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
        """``levels``: the depth of the trees. ``follows``: by terminal those that may come next.

        In the paper's R every terminal may follow. Sequences with a pair of terminals that no
        accepted text has are left out here, since the parser would always refuse them: the trees
        become smaller, and the masks do not change.
        """
        self._tree_input, self._scanner = _tree_input(scanner, follows, trie), scanner
        self._levels = levels
        self._states = frozenset((BETWEEN, *scanner.inside))
        self._max_megabytes, self._megabytes = limits.megabytes / 2, 0.0
        self._max_steps = int(_STEPS_PER_SECOND * max(limits.seconds, _LEAST_SECONDS))
        #: The trees already built.
        self.each: dict[State, SubterminalTree] = {}
        clock = limits.clock()
        for state in sorted(self._states):
            if clock.seconds > limits.seconds / 2:
                break
            self.get(state)

    def get(self, state: State) -> SubterminalTree | None:
        """The tree of a state; None for a state in which its terminal cannot continue."""
        cached = self.each.get(state)
        if cached is not None or state not in self._states:
            return cached
        tree = self._build(state)
        self._megabytes += tree.megabytes
        if self._megabytes > self._max_megabytes:  # rare: loops counted in thousands
            self.each.clear()
            self._megabytes = tree.megabytes
        self.each[state] = tree
        return tree

    def _build(self, state: State) -> SubterminalTree:
        owner = int(self._scanner.owner[state])
        check_time_budget()
        tree = build_tree(self._tree_input, state, owner, _MAX_NODES, self._levels, self._max_steps)
        if tree.size < 0:
            what = "sequences of terminals" if tree.size == TOO_MANY_NODES else "ways"
            raise LimitError(
                f"tokens can be read as too many {what} of this grammar",
                "states",
                "let no two terminals read the same text, or join them in one regex",
            )
        return SubterminalTree(state, *tree[1:])


def _tree_input(scanner: Scanner, follows: tuple[tuple[int, ...], ...], trie: Trie) -> TreeInput:
    followers = (*follows, tuple(range(len(scanner.terminals))))
    return TreeInput(
        trie.byte, trie.depth, trie.skip, trie.first, trie.token_ids, trie.height,
        scanner.table, scanner.classes, scanner.accepting, scanner.goes_on, scanner.initials,
        np.cumsum([0, *map(len, followers)], dtype=np.int32),
        np.array([terminal for some in followers for terminal in some], np.int32),
    )  # fmt: skip
