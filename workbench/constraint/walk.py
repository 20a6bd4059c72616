"""Walk: what a walk of the trie reads and writes, as kernels pass it on.

In come a trie, a machine's byte classes and its tables; out come tuples of arrays, since a kernel
is called faster with few arguments, and read more easily.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.constraint import loops
from workbench.constraint.loops import Local
from workbench.constraint.rows import Classes, Ints, Offsets, Records
from workbench.pushdown.room import Longs
from workbench.vocabulary.trie import Trie

#: Where a walk stands, in ``Scratch.stand``: the part and the node to go on with, the lowest stack
#: depth looked at, the state at the beginning of the part; the loop that is wanted, and how many
#: states it has. Then how many rows
#: were made, whether a loop helped, and of the last row without one: the number, the state, and
#: how many bytes deep its walk came.
PART, NODE, FLOOR, STATE, COUNT, MADE, LOOPED, LAST, LAST_STATE, DEEPEST = range(10)

#: Above every stack depth.
NO_FLOOR = 2**31 - 1

#: Stretches of nodes an entered loop is remembered to agree on; more are walked.
_STRETCHES = 2_048
#: Pairs of states that are compared before two rows are called different.
_PAIRS = 1_024


class Nodes(NamedTuple):
    """The trie of a vocabulary as the walks read it, and the byte classes of the machine."""

    records: Records
    first: Ints
    token_ids: Ints
    #: The parts it is walked in, as ``Parts`` tells them.
    runs: Ints
    children: Ints
    classes: Classes

    @staticmethod
    def of(trie: Trie, classes: Classes) -> Nodes:
        """The nodes of a trie."""
        runs, children = trie.shared(loops.Loops).parts(trie)
        return Nodes(trie.records, trie.first, trie.token_ids, runs, children, classes)


class Scratch(NamedTuple):
    """Room for one walk at a time.

    Shape: ``path`` (height + 1,) the places in the table on the way of a token; ``beside``
           (height + 1,) the local states of a loop on the same way; ``members`` the states of
           that loop, ``local`` (members, 256) where bytes lead among them; ``agreed`` (n, 2)
           stretches of nodes on which a state and the loop agree; ``partner`` (Q,), ``pairs``
           (n, 2) for comparing states, where rows are compared; ``stand`` (12,) int64.
    """

    path: Offsets
    beside: Local
    members: Ints
    local: Local
    agreed: Ints
    partner: Ints
    pairs: Ints
    stand: Longs

    @staticmethod
    def of(height: int, states: int) -> Scratch:
        """Scratch for tokens of at most ``height`` bytes; rows of ``states`` are compared."""
        return Scratch(
            path=np.empty(height + 1, np.uint32),
            beside=np.zeros(height + 1, np.int8),
            members=np.empty(loops.MEMBERS, np.int32),
            local=np.empty((loops.MEMBERS, 256), np.int8),
            agreed=np.empty((_STRETCHES, 2), np.int32),
            partner=np.zeros(states, np.int32),
            pairs=np.empty((_PAIRS, 2), np.int32),
            stand=np.zeros(12, np.int64),
        )
