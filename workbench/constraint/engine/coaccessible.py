"""From which states whole tokens can still reach the end.

In come a ``Network`` and a small ``Vocabulary`` that cannot spell every byte the grammar uses; out
comes the answer whether a configuration (state, stack) reaches an accepted text by whole tokens.
With it masks are trimmed, so that no mask is empty before the end.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from workbench.base.dfa import DEAD, State
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.pushdown.network import Network
from workbench.vocabulary.vocabulary import Vocabulary

#: A place in the trie: between tokens it is the root.
Place = int
ROOT: Place = -1

_Facts = dict[tuple[State, Place], set[Place]]


class Spelling:
    """For every state and place in the trie, the places where its rule can be finished.

    ``finish[q, u]`` holds w if and only if the rule of state q, standing at q with the
    trie at u, can be read to its end so that the trie stands at w. With that, a stack is
    finished from the top down: what one rule leaves is where the next goes on.

    Cost:   at most |Q|·|trie|² facts; meant for vocabularies of some dozens of tokens.
    Raises: LimitError where that is too many.
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
        self._finish: _Facts = {
            (state, place): {place} if network.finals[state] else set()
            for state in range(len(network))
            for place in self._children
        }
        self._saturate(limits)

    def finishes(self, state: State, stack: Iterable[State]) -> bool:
        """Whether whole tokens lead from (state, stack) between two tokens to acceptance.

        ``stack`` holds the return states, the innermost first.
        """
        places = self._finish[state, ROOT]
        for waiting in stack:
            places = set().union(*(self._finish[waiting, place] for place in places))
        return ROOT in places

    def _saturate(self, limits: Limits) -> None:
        """Grow the facts until nothing new follows."""
        clock = limits.clock()
        changed = True
        while changed:
            changed = False
            clock.check()
            for (state, place), known in self._finish.items():
                before = len(known)
                self._read(state, place, known)
                self._call(state, place, known)
                changed |= len(known) != before

    def _read(self, state: State, place: Place, known: set[Place]) -> None:
        for byte, followers in self._children[place].items():
            target = int(self._network.table[state, self._network.classes[byte]])
            if target != DEAD:
                for follower in followers:
                    known |= self._finish[target, follower]

    def _call(self, state: State, place: Place, known: set[Place]) -> None:
        for rule, waiting in self._network.calling[state]:
            for left in tuple(self._finish[self._network.initials[rule], place]):
                known |= self._finish[waiting, left]


def _children(vocabulary: Vocabulary) -> dict[Place, dict[int, tuple[Place, ...]]]:
    """For each place of the trie the places a byte leads to; a token's end is also the root."""
    trie = vocabulary.trie
    children: dict[Place, dict[int, tuple[Place, ...]]] = {ROOT: {}}
    path: list[Place] = [ROOT]
    ends = np.diff(trie.first) > 0
    for node in range(len(trie)):
        del path[int(trie.depth[node]) + 1 :]
        children[node] = {}
        places: tuple[Place, ...] = (node, ROOT) if ends[node] else (node,)
        children[path[-1]][int(trie.byte[node])] = places
        path.append(node)
    return children
