"""Runner: a network run byte by byte, as a deterministic machine that is built while it runs.

In come bytes; out come numbers of *situations*. A situation is the set of all configurations
(state, stack) a network can be in, interned: equal sets have one number, so a rewind is keeping an
old number, and the step from a situation by a byte class is computed once. Stacks are interned too,
as nodes of a tree that share what lies below.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD, State
from workbench.automata.lazy import UNKNOWN
from workbench.limits import LIMITS, Limits
from workbench.pushdown.network import Move, Network

#: The number of a stack node; 0 is the empty stack.
StackNode = int
EMPTY: StackNode = 0

#: One way the text can have been read: a state and what waits below it.
Configuration = tuple[State, StackNode]

#: The number of an interned set of configurations.
Situation = int


#: Where some byte classes lead, all to the same, and these classes as bits.
_Step = tuple[tuple[Move, ...], int]


class Runner:
    """The situations of a network, grown on demand.

    It only ever adds, so a situation's number stays valid as long as the runner.
    Several threads may read what is there; growing is guarded by the caller.

    Shape: ``table`` (capacity, C) int32: the next situation by byte class, ``DEAD`` or
           ``UNKNOWN``; ``floors`` (capacity,) int32: the lowest stack depth any step into
           this situation looked at, −1 where the empty stack itself was asked for more.
    Raises: LimitError past ``limits.configurations`` or ``limits.stack_depth``, or when the
            tables pass ``limits.megabytes``.
    Source: subset construction on demand, as in lazily built DFAs (Thompson 1968), over the
            configurations of Koo et al. 2024, §3.1; nondeterminism is carried, not refused.
    """

    initial: Situation = 0

    def __init__(self, network: Network, limits: Limits = LIMITS) -> None:
        self.network = network
        self.limits = limits
        self.classes = network.byte_classes
        self._parents: list[StackNode] = [EMPTY]
        self._symbols: list[State] = [DEAD]
        self._depths: list[int] = [0]
        self._nodes: dict[tuple[StackNode, State], StackNode] = {}
        self._steps: dict[State, tuple[list[_Step], int]] = {}
        self._numbers: dict[tuple[Configuration, ...], Situation] = {}
        self._situations: list[tuple[Configuration, ...]] = []
        self.table: npt.NDArray[np.int32] = np.empty((0, len(network.class_bytes)), np.int32)
        self.floors: npt.NDArray[np.int32] = np.empty(0, np.int32)
        self._of_class = network.classes[[members[0] for members in network.class_bytes]]
        self._finals = network.finals.tolist()
        self._goes_on = network.goes_on.tolist()
        self._stars = network.stars.tolist()
        self._number({(network.initial, EMPTY)}, 0)

    def __len__(self) -> int:
        """How many situations have been met so far."""
        return len(self._situations)

    def configurations(self, situation: Situation) -> tuple[Configuration, ...]:
        """All ways the text can have been read, sorted."""
        return self._situations[situation]

    def stack(self, node: StackNode) -> tuple[State, ...]:
        """The return states that wait, the innermost last."""
        return tuple(reversed(list(self.unstack(node))))

    def unstack(self, node: StackNode) -> Iterator[State]:
        """The return states that wait, the innermost first."""
        while node != EMPTY:
            yield self._symbols[node]
            node = self._parents[node]

    def parent(self, node: StackNode) -> StackNode:
        return self._parents[node]

    def depth(self, node: StackNode) -> int:
        return self._depths[node]

    def is_final(self, situation: Situation) -> bool:
        """Whether the text read so far is accepted."""
        return any(
            node == EMPTY and self._finals[state] for state, node in self._situations[situation]
        )

    def step(self, situation: Situation, byte: int) -> Situation:
        """The situation after a byte, or ``DEAD``."""
        byte_class = int(self.classes[byte])
        known = int(self.table[situation, byte_class])
        return self.successor(situation, byte_class) if known == UNKNOWN else known

    def run(self, data: bytes, situation: Situation = 0) -> Situation:
        """The situation after all of ``data``, or ``DEAD``."""
        for byte in data:
            situation = self.step(situation, byte)
            if situation == DEAD:
                return DEAD
        return situation

    def successor(self, situation: Situation, byte_class: int) -> Situation:
        """Compute and remember the step of a situation by a byte class.

        Classes no configuration tells apart lead to the same place: all are filled in.
        """
        found: set[Configuration] = set()
        floor = self.limits.stack_depth
        alike = -1
        for state, node in self._situations[situation]:
            moves, classes = self._steps[state][0][byte_class]
            alike &= classes
            for target, pushed in moves:
                inner = node
                for symbol in pushed:
                    if self._stars[symbol]:
                        floor = min(floor, self._depths[inner] - 1)
                        if symbol == self._symbols[inner]:
                            continue  # r above r reads no more than r alone
                    inner = self._push(inner, symbol)
                floor = min(floor, self._settle(target, inner, found))
        if len(found) > self.limits.configurations:
            self.limits.check(
                "configurations",
                len(found),
                "the grammar is ambiguous without bound here; factor its alternatives",
            )
        result = self._number(found, floor) if found else DEAD
        self.table[situation, _columns_of(alike)] = result
        return result

    def _steps_of(self, state: State) -> tuple[list[_Step], int]:
        """The step of a state by each byte class, and the classes it cannot read as bits.

        For all classes at once, since a walk asks for nearly all; those that lead to the same
        share a step.
        """
        known = self._steps.get(state)
        if known is None:
            openings, table = self.network.openings(state), self.network.table
            rows = [table[inner][self._of_class].tolist() for inner, _ in openings]
            together = list(zip(*rows, strict=True))
            classes: dict[tuple[State, ...], int] = {}
            for byte_class, targets in enumerate(together):
                classes[targets] = classes.get(targets, 0) | 1 << byte_class
            pushes = [pushed for _, pushed in openings]
            steps = {
                targets: (tuple(m for m in zip(targets, pushes, strict=True) if m[0] != DEAD), mask)
                for targets, mask in classes.items()
            }
            dead = classes.get((DEAD,) * len(rows), 0)
            known = self._steps[state] = [steps[targets] for targets in together], dead
        return known

    def _settle(self, state: State, node: StackNode, found: set[Configuration]) -> int:
        """Add a configuration and all it returns to; the lowest stack depth looked at.

        Where a rule may end here its caller goes on, so both stay alive. What can
        only return is not kept itself; neither is a state above itself where its texts
        may be repeated anyway.
        """
        floor = self._depths[node]
        while True:
            if self._stars[state]:
                while state == self._symbols[node]:
                    node = self._parents[node]
                floor = min(floor, self._depths[node] - 1)
            if node == EMPTY or self._goes_on[state]:
                if (state, node) in found:
                    return floor
                found.add((state, node))
            if not self._finals[state]:
                return floor
            if node == EMPTY:
                return -1
            state, node = self._symbols[node], self._parents[node]
            floor = min(floor, self._depths[node])

    def _push(self, node: StackNode, symbol: State) -> StackNode:
        key = (node, symbol)
        known = self._nodes.get(key)
        if known is None:
            known = self._nodes[key] = len(self._parents)
            depth = self._depths[node] + 1
            if depth > self.limits.stack_depth:
                self.limits.check("stack_depth", depth, "the text nests too deeply")
            self._parents.append(node)
            self._symbols.append(symbol)
            self._depths.append(depth)
        return known

    def _number(self, found: set[Configuration], floor: int) -> Situation:
        key = tuple(sorted(found))
        known = self._numbers.get(key)
        if known is not None:
            self.floors[known] = min(self.floors[known], floor)
            return known
        number = self._numbers[key] = len(self._situations)
        self._situations.append(key)
        if number >= len(self.table):
            self._grow()
        dead = -1
        for state, _ in key:
            dead &= self._steps_of(state)[1]
        self.table[number, _columns_of(dead)] = DEAD
        self.floors[number] = floor
        return number

    def _grow(self) -> None:
        """Double the table."""
        rows = max(64, 2 * len(self.table))
        columns = self.table.shape[1]
        self.limits.check("megabytes", rows * (columns + 1) * 4 / 2**20)
        table = np.full((rows, columns), UNKNOWN, np.int32)
        floors = np.zeros(rows, np.int32)
        table[: len(self.table)] = self.table
        floors[: len(self.floors)] = self.floors
        self.table, self.floors = table, floors


@lru_cache(maxsize=4096)
def _columns_of(classes: int) -> npt.NDArray[np.intp]:
    """The columns of a set of byte classes given as bits; the same few come again and again."""
    return np.array([c for c in range(classes.bit_length()) if classes >> c & 1], np.intp)
