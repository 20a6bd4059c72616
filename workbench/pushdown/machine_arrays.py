"""The arrays of a network: ``Rules``, which kernels read; ``MachineArrays``, which they fill.

``MachineArrays`` holds everything computed until now. Kernels only add to it; if an array is full,
they return a status that names it, and Python code replaces it by a larger one
(``stepping.grown``).

The stacks form a tree; a stack node is its top symbol and the node of the stack below::

    nodes      PARENT  SYMBOL  DEPTH        node 2 is the stack [7, 9] (9 on top)
      0          0      DEAD     0          a configuration is (state << 32) | node
      1          0       7       1          a situation is a sorted set of configurations
      2          1       9       2
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.automata.lazy_dfa import Subsets
from workbench.base.dfa import DEAD
from workbench.base.kernel_status import Status
from workbench.pushdown.network import GUARDED, Network
from workbench.pushdown.phrase_rules import KIND, PhraseArrays

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Flags = npt.NDArray[np.uint8]


class Used(IntEnum):
    """The entries of ``MachineArrays.used``."""

    #: How much of each array is filled.
    NODES = 0
    OPENINGS = 1
    PUSHES = 2
    OPENED = 3
    SITUATIONS = 4
    CONFIGURATIONS = 5
    #: How many steps may be computed before the clock is checked.
    STEPS_LEFT = 6
    #: The maximum depth of a stack.
    DEEPEST = 7
    #: How many sets of written elements and steps between them there are.
    WRITTEN = 8
    EXTENSIONS = 9
    #: The set and the mark of the step that is missing (``Status.NEW_WRITTEN``).
    EXTENDED = 10
    MARK = 11


#: The columns of ``MachineArrays.nodes``: the node of the stack below, the top symbol, the depth.
PARENT, SYMBOL, DEPTH = range(3)

#: The columns of ``MachineArrays.returns``: whether the text is accepted, or −1 if nothing is known
#: yet; the lowest stack depth examined; the byte classes that are read, from the third column on.
ACCEPTED, FLOOR, RETURN_READS = range(3)

#: The columns of ``MachineArrays.opened``: a slice of ``openings``, and a row of ``groups``.
BEGIN, END, GROUPS = range(3)

#: The columns of ``MachineArrays.about``: a slice of ``configurations``, whether the text is
#: accepted, the lowest stack depth that their returns examine, the low bits of their hash, and the
#: step by which the situation was found first: the situation before and the byte class read, −1 if
#: initial.
FROM, TO, ACCEPTS, LOWEST, HASH, BEFORE, READ = range(7)
MAX_HASH = 2**31 - 1

#: The number of steps computed before the clock is checked, and of openings tried in them: a few
#: milliseconds.
STEPS_PER_CHECK = 20_000
#: The initial capacity for situations; a power of two, like all hash tables.
_INITIAL_CAPACITY = 256
#: A full array grows by this factor, a power of two; one of more bytes than ``LARGE`` by 2.
GROWTH, LARGE = 4, 1 << 22
#: The arrays that are enlarged together, the largest one first, by the status of a kernel.
GROWING: dict[int, tuple[str, ...]] = {
    Status.FULL_NODES: ("returns", "nodes", "node_slots"),
    Status.FULL_OPENINGS: ("openings", "pushes"),
    Status.FULL_SITUATIONS: ("table", "about", "floors", "slots"),
    Status.FULL_CONFIGURATIONS: ("configurations",),
    Status.FULL_FOUND: ("found",),
    Status.FULL_WRITTEN: ("free",),
    Status.FULL_EXTENSIONS: ("extensions", "extension_slots"),
}


class Rules(NamedTuple):
    """A network over byte classes, as arrays for kernels.

    Shape: Q states, W columns of the network, C byte classes, K calls. ``table`` (Q · W,) int32,
           flat; ``columns`` (C,) int32, the column of a byte class; ``calls`` (K, 2) int32, the
           initial state of the called rule and the return state to push, or ``DEAD`` if none is
           pushed; those of state q are ``calls_from[q]:calls_from[q + 1]``; ``flags`` (Q,) uint8.
           ``phrases`` are the marks of permutation phrases.
    """

    table: Ints
    columns: Ints
    calls_from: Ints
    calls: Ints
    flags: Flags
    phrases: PhraseArrays

    @staticmethod
    def none() -> Rules:
        """Empty arrays, for a machine without a stack."""
        empty, calls = np.empty(0, np.int32), np.empty((0, 2), np.int32)
        return Rules(empty, empty, empty, calls, np.empty(0, np.uint8), PhraseArrays.none())

    @staticmethod
    def of(network: Network) -> Rules:
        """The arrays of a network."""
        entries = network.entries
        table = np.ascontiguousarray(network.table).reshape(-1)
        phrases, flags = PhraseArrays.of(network), entries.flags
        if network.phrases:
            flags = flags | (GUARDED * (phrases.guarded[:, KIND] >= 0)).astype(np.uint8)
        return Rules(table, entries.columns, entries.first, entries.entered, flags, phrases)


class Growth(NamedTuple):
    """What a kernel needs to compute new states: the rules of a network, or subsets of an Nfa."""

    rules: Rules
    subsets: Subsets

    @staticmethod
    def of(rules: Rules | None = None, subsets: Subsets | None = None) -> Growth:
        """With one of both, or none for a complete machine."""
        return Growth(rules or Rules.none(), subsets or Subsets.none())


class MachineArrays(NamedTuple):
    """Everything computed until now: stacks, openings of states, situations, and their steps.

    A configuration is an int64: a state in the high half, a stack node in the low half.

    Shape: stacks: ``nodes`` (n, 3) int32, node 0 is the empty stack; ``returns`` (n, 2 + W) int64,
           what the configurations after all returns from a stack read (see ``ACCEPTED``).
           Openings: ``opened`` (Q, 3) int32, columns ``BEGIN``, ``END``, ``GROUPS``, −1 for a state
           not opened yet; ``openings`` (o, 4) int32: a state that reads bytes, the slice of
           ``pushes`` with the return states pushed before, and the mark of the element that is
           begun before them, −1 for none. Sets of byte classes as W words of 64
           bits: ``groups`` (q, C, W) int64, for each class those with equal targets; ``reads``
           (q, W) int64, those that are read.
           Situations: ``about`` (s, 7) int32, ``floors`` (s,) int32 (see ``Runner``), ``table``
           (s · C,) int32, the next situation.
           Sets of written elements (``phrase_rules``): ``free`` (w, P) int64, the marks that can
           follow each, as bits; ``extensions`` (e, 3) int32, a set, a mark and the set after it,
           with the hash table ``extension_slots``.
           Scratch: ``found``, the configurations of the next situation; ``marks`` (2, C), hashes of
           byte classes and the first class with equal targets; ``alike`` (2, W), sets of byte
           classes.
           ``node_slots`` and ``slots`` are hash tables of nodes and situations, −1 for a free slot;
           ``used`` (12,) int64 are counters.
    """

    nodes: Ints
    returns: Longs
    node_slots: Ints
    opened: Ints
    openings: Ints
    pushes: Ints
    groups: Longs
    reads: Longs
    configurations: Longs
    about: Ints
    floors: Ints
    table: Ints
    slots: Ints
    free: Longs
    extensions: Ints
    extension_slots: Ints
    found: Longs
    marks: Longs
    alike: Flags
    used: Longs

    @staticmethod
    def of(rules: Rules, deepest: int) -> MachineArrays:
        """Small arrays, for stacks of at most ``deepest`` symbols."""
        states, classes = len(rules.flags), len(rules.columns)
        words = (classes + 63) // 64
        nodes = np.zeros((_INITIAL_CAPACITY, 3), np.int32)
        nodes[0, SYMBOL] = DEAD
        return MachineArrays(
            nodes=nodes,
            returns=np.empty((_INITIAL_CAPACITY, 2 + words), np.int64),
            node_slots=np.full(2 * _INITIAL_CAPACITY, -1, np.int32),
            opened=np.full((states, 3), -1, np.int32),
            openings=np.empty((4 * _INITIAL_CAPACITY, 4), np.int32),
            pushes=np.empty(4 * _INITIAL_CAPACITY, np.int32),
            groups=np.empty((_INITIAL_CAPACITY, classes, words), np.int64),
            reads=np.empty((_INITIAL_CAPACITY, words), np.int64),
            configurations=np.empty(4 * _INITIAL_CAPACITY, np.int64),
            about=np.full((_INITIAL_CAPACITY, 7), -1, np.int32),
            floors=np.empty(_INITIAL_CAPACITY, np.int32),
            table=np.empty(_INITIAL_CAPACITY * classes, np.int32),
            slots=np.full(2 * _INITIAL_CAPACITY, -1, np.int32),
            free=np.empty((_INITIAL_CAPACITY, rules.phrases.guards.shape[1]), np.int64),
            extensions=np.empty((_INITIAL_CAPACITY, 3), np.int32),
            extension_slots=np.full(2 * _INITIAL_CAPACITY, -1, np.int32),
            found=np.empty(64, np.int64),
            marks=np.empty((2, classes), np.int64),
            alike=np.empty((2, words), np.int64),
            used=np.array([1, 0, 0, 0, 0, 0, STEPS_PER_CHECK, deepest, 0, 0, 0, 0], np.int64),
        )

    @staticmethod
    def of_table(table: Ints) -> MachineArrays:
        """The arrays of a machine without a stack, with a given table (Q, C)."""
        empty, rows = np.empty(0, np.int32), np.empty((0, 3), np.int32)
        return MachineArrays(
            nodes=rows,
            returns=np.empty((0, 2), np.int64),
            node_slots=empty,
            opened=rows,
            openings=rows,
            pushes=empty,
            groups=np.empty((0, table.shape[1], 0), np.int64),
            reads=np.empty((0, 0), np.int64),
            configurations=np.empty(0, np.int64),
            about=np.empty((0, 7), np.int32),
            floors=empty,
            table=np.ascontiguousarray(table).reshape(-1),
            slots=empty,
            free=np.empty((0, 0), np.int64),
            extensions=rows,
            extension_slots=empty,
            found=np.empty(0, np.int64),
            marks=np.empty((2, 0), np.int64),
            alike=np.empty((2, 0), np.int64),
            used=np.zeros(12, np.int64),
        )

    @property
    def bytes(self) -> int:
        """The memory of all arrays."""
        return sum(array.nbytes for array in self)
