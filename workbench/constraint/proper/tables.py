"""Tables of proper tokenization as the walks of this room read and write them.

A *place* is where a text stands between two tokens: the state of the grammar's automaton and a
*guess* of the tokenizer's guide: how the text so far is cut into pieces, which may be known late.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.vocabulary.trie import Trie

Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Records = npt.NDArray[np.uint64]
Classes = npt.NDArray[np.uint16]

#: Whether a token goes on in the piece it stands in, or begins one.
INSIDE, ANEW = 0, 1

#: Instead of the number of a place: it is inside a character; there is no number left.
WITHIN, NO_ROOM = -1, -2


class Machine(NamedTuple):
    """A machine as walks read it: its flat table (Q · C,) of ``width`` C, each byte's class."""

    table: Ints
    width: int
    classes: Classes


class Nodes(NamedTuple):
    """A trie as walks read it: packed records (N,), the tokens that end at each node."""

    records: Records
    first: Ints
    token_ids: Ints

    @staticmethod
    def of(trie: Trie) -> Nodes:
        """The nodes of a trie."""
        return Nodes(trie.records, trie.first, trie.token_ids)


class Places(NamedTuple):
    """The places between characters that were met, numbered in that order.

    Shape: ``states`` and ``guesses`` (P,), room for as many as are allowed; ``numbers`` (Q, G),
           −1 where a place was not met; ``met`` (1,) how many were; ``within`` (G,) whether a
           guess is inside a character.
    """

    states: Ints
    guesses: Ints
    numbers: Ints
    met: Numbers
    within: Bytes
