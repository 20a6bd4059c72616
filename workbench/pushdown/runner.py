"""Runner: a network run byte by byte, as a deterministic machine that is built while it runs.

In come bytes; out come numbers of *situations*. A situation is the set of all configurations
(state, stack) a network can be in, interned: equal sets have one number, so a rewind is keeping an
old number, and the step from a situation by a byte class is computed once. Stacks are interned too,
as nodes of a tree that share what lies below. In Python a step took 5 µs, as kernels 0.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.automata.lazy_dfa import UNKNOWN
from workbench.base.dfa import DEAD, State
from workbench.base.limits import LIMITS, Clock, Limits
from workbench.pushdown import buffers as rooms
from workbench.pushdown.buffers import Growth, Room, Rules
from workbench.pushdown.network import Network
from workbench.pushdown.stepping import grown, number, open_state, successor

#: The number of a stack node; 0 is the empty stack.
StackNode = int
EMPTY: StackNode = 0

#: One way the text can have been read: a state and what waits below it.
Configuration = tuple[State, StackNode]

#: The number of an interned set of configurations.
Situation = int


class Runner:
    """The situations of a network, grown on demand.

    It only ever adds, so a situation's number stays valid as long as the runner.
    Several threads may read what is there; growing is guarded by the caller.

    Shape: ``room.table`` (capacity · C,) int32: the next situation by byte class, ``DEAD`` or
           ``UNKNOWN``; ``room.floors`` (capacity,) int32: the lowest stack depth any step into
           a situation looked at, −1 where the empty stack itself was asked for more.
    Raises: LimitError past ``limits.configurations`` or ``limits.stack_depth``, or when the
            tables pass ``limits.megabytes``.
    Source: subset construction on demand, as in lazily built DFAs (Thompson 1968), over the
            configurations of Koo et al. 2024, §3.1; nondeterminism is carried, not refused.
    """

    initial: Situation = 0
    #: It has none for good.
    states = 0

    def __init__(self, network: Network, limits: Limits = LIMITS) -> None:
        self.network = network
        self.limits = limits
        self.classes = network.byte_classes
        self.growth = Growth.of(Rules.of(network))
        self.room = Room.of(self.growth.rules, limits.stack_depth)
        self._columns = len(self.growth.rules.columns)
        self._begin()

    def _begin(self) -> None:
        """Number the situation in which nothing is read."""
        clock = self.limits.clock()
        while True:
            self.room.found[0] = self.network.initial << 32
            made = open_state(self.growth.rules, self.room, self.network.initial)
            if made >= 0:
                made = number(self.growth.rules, self.room, 1, 0)
            if made >= 0:
                return
            self.resolve(made, clock)

    def __len__(self) -> int:
        """How many situations have been met so far."""
        return int(self.room.used[rooms.SITUATIONS])

    def configurations(self, situation: Situation) -> tuple[Configuration, ...]:
        """All ways the text can have been read, sorted."""
        begin, end, _ = self.room.about[situation].tolist()
        found = self.room.configurations[begin:end].tolist()
        return tuple((both >> 32, both & 0xFFFFFFFF) for both in found)

    def stack(self, node: StackNode) -> tuple[State, ...]:
        """The return states that wait, the innermost last."""
        return tuple(reversed(list(self.unstack(node))))

    def unstack(self, node: StackNode) -> Iterator[State]:
        """The return states that wait, the innermost first."""
        while node != EMPTY:
            node, symbol, _ = self.room.nodes[node].tolist()
            yield symbol

    def depth(self, node: StackNode) -> int:
        return int(self.room.nodes[node, rooms.DEPTH])

    def is_final(self, situation: Situation) -> bool:
        """Whether the text read so far is accepted."""
        return bool(self.room.about[situation, rooms.ACCEPTS])

    def step(self, situation: Situation, byte: int) -> Situation:
        """The situation after a byte, or ``DEAD``."""
        byte_class = int(self.classes[byte])
        known = int(self.room.table[situation * self._columns + byte_class])
        return self.successor(situation, byte_class) if known == UNKNOWN else known

    def run(self, data: bytes, situation: Situation = 0) -> Situation:
        """The situation after all of ``data``, or ``DEAD``."""
        for byte in data:
            situation = self.step(situation, byte)
            if situation == DEAD:
                return DEAD
        return situation

    def successor(self, situation: Situation, byte_class: int) -> Situation:
        """Compute and remember the step of a situation by a byte class."""
        clock: Clock | None = None
        while True:
            found = successor(self.growth.rules, self.room, situation, byte_class)
            if found >= DEAD:
                return found
            clock = clock or self.limits.clock()
            self.resolve(found, clock)

    def resolve(self, status: int, clock: Clock) -> None:
        """Make room, or look at the clock, as a kernel that gave up asked for.

        Raises: LimitError
        """
        limits, room = self.limits, self.room
        if status == rooms.TOO_DEEP:
            limits.check("stack_depth", limits.stack_depth + 1, "the text nests too deeply")
        clock.check()
        if status == rooms.PAUSED:
            room.used[rooms.BREATH] = rooms.A_BREATH
            return
        if status == rooms.FULL_FOUND and len(room.found) >= limits.configurations:
            limits.check(
                "configurations",
                limits.configurations + 1,
                "the grammar is ambiguous without bound here; factor its alternatives",
            )
        limits.check("megabytes", 2 * room.bytes / 2**20)
        self.room = grown(room, status)
