"""The exact mask in its plain form: a recogniser of bytes, and one walk over the trie of tokens.

Read this module first. A token is allowed if the recogniser can read all its bytes, and whole
tokens then lead to an accepted text. Tokens with a common prefix share the nodes of a trie, so a
byte that cannot be read rules out every token below its node::

    tokens  a  ab  ac  b        nodes  a (ends "a", skip 3)   b (ends "ab")   c (ends "ac")   b

``engine`` computes the same masks with compiled kernels: ``engine.trie_walk`` is this walk over
arrays, ``engine.self_loops`` decides the tokens of a loop together, and ``engine.mask_rows`` keeps
one row for all states that read the same. ``methods.recogniser`` has recognisers of grammars.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from workbench.base.limits import check_time_budget
from workbench.constraint.masks import TokenMask
from workbench.constraint.protocol import State
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The message of a mask that takes too long.
TOO_SLOW = "testing every token takes too long; the method 'automaton' gives the same mask"


class ByteReader(Protocol):
    """Reads byte by byte; its states are immutable, hashable values."""

    def step(self, state: State, byte: int) -> State | None:
        """The state after a byte, or None where no accepted text continues with it."""
        ...

    def is_final(self, state: State) -> bool:
        """Whether the text read is accepted."""
        ...


class Recogniser(ByteReader, Protocol):
    """An incremental recogniser of tokenized texts."""

    @property
    def initial(self) -> State: ...

    def is_coaccessible(self, state: State) -> bool:
        """Whether whole tokens can lead from a state between two tokens to an accepted text."""
        ...


def plain_mask(recogniser: Recogniser, vocabulary: Vocabulary, state: State) -> TokenMask:
    """The tokens that may come next, and the end tokens if the text read is accepted."""
    ends = vocabulary.ends if recogniser.is_final(state) else ()
    return TokenMask.of([*readable_tokens(recogniser, vocabulary, state), *ends], len(vocabulary))


def readable_tokens(
    recogniser: Recogniser, vocabulary: Vocabulary, state: State
) -> Iterator[TokenId]:
    """The tokens after which an accepted text can follow, without end tokens, in the trie's order.

    Cost:   a step for every trie node visited.
    Raises: LimitError when the time of a ``time_budget`` is over.
    """
    nodes, node = vocabulary.trie.nodes, 0
    path = [state]  # the states after the bytes on the way to the node
    while node < len(nodes):
        check_time_budget(TOO_SLOW)
        byte, depth, skip, ending = nodes[node]
        del path[depth + 1 :]
        target = recogniser.step(path[depth], byte)
        if target is None:
            node = skip
            continue
        if ending and recogniser.is_coaccessible(target):
            yield from ending
        path.append(target)
        node += 1
