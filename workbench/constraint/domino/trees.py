"""Subterminal trees: a scanner, what may follow what, and a vocabulary in; T_q of each state out.

Source: Beurer-Kellner et al. 2024, §3.3, Algorithm 2. A token is attached to every sequence of
subterminals it can be read as from a state; sequences with a common beginning share nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import State
from workbench.constraint.domino.planting import TOO_MANY, Ground, plant
from workbench.constraint.domino.scanner import BETWEEN, Scanner
from workbench.errors import LimitError
from workbench.limits import Limits
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import TokenId

Ints = npt.NDArray[np.int32]

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
