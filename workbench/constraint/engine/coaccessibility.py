"""Co-accessible configurations: those from which whole tokens can still reach an accepted text.

Needed only for a vocabulary without single-byte tokens for all bytes that the grammar uses: there
a prefix of an accepted text may be a dead end. The constraints remove tokens that lead to dead
ends, so that no mask is empty before the end of the text.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from workbench.base.dfa import DEAD, State
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.pushdown.network import Network
from workbench.vocabulary.vocabulary import Vocabulary

#: A node of the trie; the root means "between two tokens".
Node = int
ROOT: Node = -1

_Ends = dict[tuple[State, Node], set[Node]]


class Coaccessibility:
    """Decides whether a configuration (state, stack) is co-accessible over tokens.

    For every state q and trie node u, ``ends[q, u]`` is the set of trie nodes w such that the
    rest of the rule of q can be read from u to w. A stack is then checked from the top down:
    the nodes in which one rule ends are those in which the next one continues.

    Cost:   at most |Q| · |trie|² entries; meant for vocabularies of a few dozen tokens.
    Raises: LimitError where |Q| · |trie| passes ``limits.states``.
    Source: summary edges of recursive state machines (Alur et al. 2005), on 𝒫 × T_V.
    """

    def __init__(self, network: Network, vocabulary: Vocabulary, limits: Limits) -> None:
        self._network = network
        self._children = _children(vocabulary)
        if len(network) * len(self._children) > limits.states:
            raise LimitError(
                f"{vocabulary.name} has no token for some bytes this grammar uses, and is too large"
                " to look for dead ends",
                "states",
                "use a vocabulary that holds every single byte",
            )
        self._ends: _Ends = {
            (state, node): {node} if network.finals[state] else set()
            for state in range(len(network))
            for node in self._children
        }
        self._saturate(limits)

    def is_coaccessible(self, state: State, stack: Iterable[State]) -> bool:
        """Whether whole tokens lead from a configuration between two tokens to a final one.

        ``stack`` holds the return states, the top of the stack first.
        """
        nodes = self._ends[state, ROOT]
        for return_state in stack:
            nodes = set().union(*(self._ends[return_state, node] for node in nodes))
        return ROOT in nodes

    def _saturate(self, limits: Limits) -> None:
        """Add to the sets until a fixed point is reached."""
        clock = limits.clock()
        changed = True
        while changed:
            changed = False
            clock.check()
            for (state, node), ends in self._ends.items():
                before = len(ends)
                self._read(state, node, ends)
                self._call(state, node, ends)
                changed |= len(ends) != before

    def _read(self, state: State, node: Node, ends: set[Node]) -> None:
        for byte, successors in self._children[node].items():
            target = int(self._network.table[state, self._network.classes[byte]])
            if target != DEAD:
                for successor in successors:
                    ends |= self._ends[target, successor]

    def _call(self, state: State, node: Node, ends: set[Node]) -> None:
        for rule, return_state in self._network.calling[state]:
            for end in tuple(self._ends[self._network.initials[rule], node]):
                ends |= self._ends[return_state, end]


def _children(vocabulary: Vocabulary) -> dict[Node, dict[int, tuple[Node, ...]]]:
    """For each trie node, the nodes after each byte; the end of a token is also the root."""
    trie = vocabulary.trie
    children: dict[Node, dict[int, tuple[Node, ...]]] = {ROOT: {}}
    path: list[Node] = [ROOT]
    ends = np.diff(trie.first) > 0
    for node in range(len(trie)):
        del path[int(trie.depth[node]) + 1 :]
        children[node] = {}
        nodes: tuple[Node, ...] = (node, ROOT) if ends[node] else (node,)
        children[path[-1]][int(trie.byte[node])] = nodes
        path.append(node)
    return children
