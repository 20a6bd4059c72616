"""The method ``online``: at every step the whole vocabulary is put to a recogniser.

In come a recogniser and a vocabulary, out comes a constraint. "Repeated evaluations over the entire
vocabulary … a fixed O(N) cost for each token generated" (Willard & Louf 2023, introduction): the
baseline every method with tables is measured against.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from workbench.constraint.mask import TokenMask
from workbench.constraint.online.recogniser import Recogniser, forced, read
from workbench.constraint.protocol import State
from workbench.constraint.token_by_token import TokenByToken
from workbench.limits import LIMITS, Clock, Limits
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: How often the clock is looked at, in tokens or nodes.
_OFTEN = 64

#: The tokens a recogniser can read from a state, in any order.
Asking = Callable[[Recogniser, Vocabulary, State, Clock], Iterator[TokenId]]


def flat(
    recogniser: Recogniser, vocabulary: Vocabulary, state: State, clock: Clock
) -> Iterator[TokenId]:
    """Token after token, each from its first byte.

    Cost: all bytes of the vocabulary at worst, of each token those that can be read and one more.
    """
    for token_id, token in enumerate(vocabulary.tokens):
        if token_id % _OFTEN == 0:
            clock.check(_TOO_SLOW)
        if token is not None:
            there = read(recogniser, state, token)
            if there is not None and recogniser.leads_on(there):
                yield token_id


def by_trie(
    recogniser: Recogniser, vocabulary: Vocabulary, state: State, clock: Clock
) -> Iterator[TokenId]:
    """Tokens that begin alike are read together as far as they do.

    Cost: a step for every node of the trie that is met; what cannot be read hides its subtree.
    """
    nodes = vocabulary.trie.shared(_Nodes).of(vocabulary)
    path = [state]  # the states after what was read, by depth
    node, met = 0, 0
    while node < len(nodes):
        byte, depth, skip, ending = nodes[node]
        met += 1
        if met % _OFTEN == 0:
            clock.check(_TOO_SLOW)
        there = recogniser.step(path[depth], byte)
        if there is None:
            node = skip
            continue
        if ending and recogniser.leads_on(there):
            yield from ending
        del path[depth + 1 :]
        path.append(there)
        node += 1


#: How a vocabulary can be gone through, by name.
ASKING: dict[str, Asking] = {"flat": flat, "trie": by_trie}

_TOO_SLOW = "asking about every token takes too long; the method 'automaton' gives the same mask"


class Online(TokenByToken[State]):
    """A constraint that remembers no rows: each mask asks about every token again.

    The last mask alone is kept, for whoever asks twice about one step. Safe to share between
    threads, which wait for each other: recognisers grow as they read.
    """

    def __init__(
        self,
        recogniser: Recogniser,
        vocabulary: Vocabulary,
        asking: Asking = flat,
        limits: Limits = LIMITS,
    ) -> None:
        self.recogniser = recogniser
        self.vocabulary = vocabulary
        self.limits = limits
        self._asking = asking
        self._last: tuple[State, TokenMask] | None = None
        self._reading = threading.Lock()

    @property
    def initial(self) -> State:
        return self.recogniser.initial

    def mask(self, state: State) -> TokenMask:
        """The tokens the recogniser reads from a state.

        Raises: LimitError past ``limits.seconds``.
        """
        last = self._last
        if last is not None and last[0] == state:
            return last[1]
        with self._reading:
            ids = list(self._asking(self.recogniser, self.vocabulary, state, self.limits.clock()))
        if self.vocabulary.end is not None and self.is_final(state):
            ids.append(self.vocabulary.end)
        mask = TokenMask.of(ids, len(self.vocabulary))
        self._last = state, mask
        return mask

    def target(self, state: State, token_id: TokenId) -> State | None:
        """The recogniser's state after a token."""
        token = self.spelt(token_id)
        if token is None:
            return None
        with self._reading:
            there = read(self.recogniser, state, token)
            return there if there is not None and self.recogniser.leads_on(there) else None

    def is_final(self, state: State) -> bool:
        return self.recogniser.is_final(state)

    def forced(self, state: State) -> bytes:
        """The bytes every accepted text goes on with; empty where it branches or may end."""
        with self._reading:
            return forced(self.recogniser, state)


class _Nodes:
    """A trie as Python reads it fastest: (byte, depth, next node outside, tokens that end)."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, int, int, tuple[TokenId, ...]]] | None = None

    def of(self, vocabulary: Vocabulary) -> list[tuple[int, int, int, tuple[TokenId, ...]]]:
        if self._nodes is None:
            trie = vocabulary.trie
            first, ids = trie.first.tolist(), trie.token_ids.tolist()
            self._nodes = [
                (byte, depth, skip, tuple(ids[begin:end]))
                for byte, depth, skip, begin, end in zip(
                    trie.byte.tolist(),
                    trie.depth.tolist(),
                    trie.skip.tolist(),
                    first,
                    first[1:],
                    strict=False,
                )
            ]
        return self._nodes
