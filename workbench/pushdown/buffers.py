"""Room: what a running network has met so far, as arrays that kernels fill.

In comes a ``Network``; out come ``Rules``, the network as kernels read it, and ``Room``, empty at
first. Kernels only add to it; where an array is full they say which.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.automata.lazy_dfa import UNKNOWN, Subsets
from workbench.base.dfa import DEAD
from workbench.pushdown.network import Network

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Flags = npt.NDArray[np.uint8]

#: What ``Rules.flags`` tells of a state.
FINAL, GOES_ON, STAR = 1, 2, 4

#: The counters in ``Room.used``: how much of each array is filled, how many steps may be computed
#: before a clock is looked at, and the deepest stack that is allowed.
NODES, OPENINGS, PUSHES, OPENED, SITUATIONS, CONFIGURATIONS, BREATH, DEEPEST = range(8)

#: What a kernel says instead of a number: which array is full, …
FULL_NODES, FULL_OPENINGS, FULL_SITUATIONS, FULL_CONFIGURATIONS, FULL_FOUND = range(-15, -10)
#: … that it is time to look at the clock, or that a stack is too deep.
PAUSED, TOO_DEEP = -9, -8

#: The columns of ``Room.nodes``: the stack below, the symbol on top, how many symbols there are.
PARENT, SYMBOL, DEPTH = range(3)

#: The columns of ``Room.opened``: a slice of ``openings``, and a row of ``groups``.
BEGIN, END, GROUPS = range(3)

#: The columns of ``Room.about``: a slice of ``configurations``, and whether the text is accepted.
FROM, TO, ACCEPTS = range(3)


#: Steps computed before a clock is looked at: some milliseconds.
A_BREATH = 20_000
#: How many situations there is room for at first; a power of two, as all hash tables are.
_LITTLE = 256


class Rules(NamedTuple):
    """A network over byte classes, as kernels read it.

    Shape: Q states, W columns of the network, C byte classes, K calls. ``table`` (Q · W,) int32
           flat; ``columns`` (C,) int32, the column of a byte class; ``calls`` (K, 2) int32, the
           first state of the called rule and the state that waits, or ``DEAD``; those of state q
           are ``calls_from[q]:calls_from[q + 1]``; ``flags`` (Q,) uint8.
    """

    table: Ints
    columns: Ints
    calls_from: Ints
    calls: Ints
    flags: Flags

    @staticmethod
    def none() -> Rules:
        """The rules of a machine without a stack."""
        few, calls = np.empty(0, np.int32), np.empty((0, 2), np.int32)
        return Rules(few, few, few, calls, np.empty(0, np.uint8))

    @staticmethod
    def of(network: Network) -> Rules:
        """The kernels' view of a network."""
        states, rules, targets = network.calls.T
        calls = np.empty((len(states), 2), np.int32)
        calls[:, 0] = np.array(network.initials, np.int32)[rules]
        calls[:, 1] = np.where(network.goes_on[targets] | network.all_wait, targets, DEAD)
        calls_from = np.searchsorted(states, np.arange(len(network) + 1)).astype(np.int32)
        flags = FINAL * network.finals + GOES_ON * network.goes_on + STAR * network.stars
        first_bytes = np.unique(network.byte_classes, return_index=True)[1]
        return Rules(
            np.ascontiguousarray(network.table).reshape(-1),
            network.classes[first_bytes].astype(np.int32),
            calls_from,
            calls,
            flags.astype(np.uint8),
        )


class Growth(NamedTuple):
    """How a machine grows inside a kernel: by the rules of a network, or as sets of Nfa states."""

    rules: Rules
    subsets: Subsets

    @staticmethod
    def of(rules: Rules | None = None, subsets: Subsets | None = None) -> Growth:
        """By one of both, or not at all."""
        return Growth(rules or Rules.none(), subsets or Subsets.none())


class Room(NamedTuple):
    """What has been met: stacks, openings of states, situations, and the steps between these.

    A configuration is a state in the high half of an int64 and a stack node in the low half.

    Shape: ``nodes`` (n, 3) int32, node 0 the empty stack; ``opened`` (Q, 3) int32, −1 for a state
           not opened yet; ``openings`` (o, 3) int32: a state bytes are read from and the slice of
           ``pushes`` that is pushed on the way; ``groups`` (q, C) int16: byte classes that lead
           to the same, group 0 to nothing; ``about`` (s, 3) int32, ``floors`` (s,) int32 and
           ``table`` (s · C,) int32 of situations; ``found`` scratch for the next of them,
           ``marks`` (C,) for hashes of byte classes;
           ``node_slots`` and ``slots`` hash tables, −1 where free; ``used`` (8,) int64 counters.
    """

    nodes: Ints
    node_slots: Ints
    opened: Ints
    openings: Ints
    pushes: Ints
    groups: npt.NDArray[np.int16]
    configurations: Longs
    about: Ints
    floors: Ints
    table: Ints
    slots: Ints
    found: Longs
    marks: Longs
    used: Longs

    @staticmethod
    def of(rules: Rules, deepest: int) -> Room:
        """Room for a little, and for stacks of at most ``deepest`` symbols."""
        states, classes = len(rules.flags), len(rules.columns)
        nodes = np.zeros((_LITTLE, 3), np.int32)
        nodes[0, SYMBOL] = DEAD
        return Room(
            nodes=nodes,
            node_slots=np.full(2 * _LITTLE, -1, np.int32),
            opened=np.full((states, 3), -1, np.int32),
            openings=np.empty((4 * _LITTLE, 3), np.int32),
            pushes=np.empty(4 * _LITTLE, np.int32),
            groups=np.empty((_LITTLE, classes), np.int16),
            configurations=np.empty(4 * _LITTLE, np.int64),
            about=np.empty((_LITTLE, 3), np.int32),
            floors=np.empty(_LITTLE, np.int32),
            table=np.full(_LITTLE * classes, UNKNOWN, np.int32),
            slots=np.full(2 * _LITTLE, -1, np.int32),
            found=np.empty(64, np.int64),
            marks=np.empty(classes, np.int64),
            used=np.array([1, 0, 0, 0, 0, 0, A_BREATH, deepest], np.int64),
        )

    @staticmethod
    def of_table(table: Ints) -> Room:
        """The room of a machine without a stack, whose table (Q, C) is made elsewhere."""
        few, rows = np.empty(0, np.int32), np.empty((0, 3), np.int32)
        return Room(
            nodes=rows,
            node_slots=few,
            opened=rows,
            openings=rows,
            pushes=few,
            groups=np.empty((0, table.shape[1]), np.int16),
            configurations=np.empty(0, np.int64),
            about=rows,
            floors=few,
            table=np.ascontiguousarray(table).reshape(-1),
            slots=few,
            found=np.empty(0, np.int64),
            marks=np.empty(0, np.int64),
            used=np.zeros(8, np.int64),
        )

    @property
    def bytes(self) -> int:
        """How much memory it takes."""
        return sum(array.nbytes for array in self)
