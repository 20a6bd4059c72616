"""``Runner``: runs a network byte by byte, as a deterministic machine whose states are cached.

A state of this machine is called a *situation*: the set of all configurations (state, stack) that
the network can be in. Situations are interned: equal sets have the same number, so an earlier
number rewinds the machine, and the step from a situation by a byte class is computed once. Stacks
are interned as nodes of a tree. Kernels compute a step in 0.2 µs; Python code took 5 µs.

``RenewingRunner`` is for texts of any length: when the memory is full, it begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from workbench.automata.lazy_dfa import UNKNOWN
from workbench.base.dfa import DEAD, State
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.kernel_status import Status
from workbench.base.limits import LIMITS, Clock, Limits
from workbench.pushdown import machine_arrays, stepping
from workbench.pushdown.machine_arrays import Growth, MachineArrays, Rules, Used
from workbench.pushdown.network import Network
from workbench.pushdown.phrase_rules import WrittenSets
from workbench.pushdown.stepping import find_configurations, grown, intern_situation, successor

#: The number of a stack node; 0 is the empty stack.
StackNode = int
EMPTY: StackNode = 0

#: A state, and the stack of return states.
Configuration = tuple[State, StackNode]

#: The number of an interned set of configurations.
Situation = int

#: For each situation the one before it and the byte class read, (n, 2) int32.
Steps = npt.NDArray[np.int32]

T = TypeVar("T")


class Runner:
    """The situations of a network, computed on demand.

    Situations are only added, so a number stays valid as long as the runner. Several threads may
    read; the caller must guard operations that add.

    Shape: ``arrays.table`` (capacity · C,) int32: the next situation by byte class, ``DEAD`` or
           ``UNKNOWN``; ``arrays.floors`` (capacity,) int32: the lowest stack depth that any step
           into a situation examined, −1 if it tried to pop the empty stack.
    Raises: LimitError above ``limits.configurations`` or ``limits.stack_depth``, or if the tables
            exceed ``limits.megabytes``.
    Source: subset construction on demand, as in lazy DFAs (Thompson 1968), over the configurations
            of Koo et al. 2024, §3.1; nondeterministic grammars are supported.
    """

    initial: Situation = 0
    #: The number of states if the machine is complete; 0 for one whose states are added.
    states = 0

    def __init__(self, network: Network, limits: Limits = LIMITS) -> None:
        self.network = network
        self.limits = limits
        self.classes = network.byte_classes
        self.growth = Growth.of(Rules.of(network))
        self.arrays = MachineArrays.of(self.growth.rules, limits.stack_depth)
        self._columns = len(self.growth.rules.columns)
        self._written = WrittenSets(network.phrases)
        for number in range(len(self._written)):
            self._add_written(number)
        self.situation_of(network.initial)

    def situation_of(self, state: State) -> Situation:
        """The situation of a state with an empty stack, such as the initial state of any rule.

        Raises: IndexError if the network has no such state.
        """
        if not 0 <= state < len(self.network):
            raise IndexError(f"expected one of {len(self.network):,} states, got {state}")
        clock = self.limits.clock()
        while True:
            self.arrays.found[0] = state << 32
            situation = intern_situation(self.growth.rules, self.arrays, 1, 0)
            if situation >= 0:
                return situation
            self.resolve(situation, clock)

    def __len__(self) -> int:
        """The number of situations computed."""
        return int(self.arrays.used[Used.SITUATIONS])

    def configurations(self, situation: Situation) -> tuple[Configuration, ...]:
        """All configurations of a situation, sorted."""
        rules, packed = self.growth.rules, np.empty(64, np.int64)
        while (count := find_configurations(rules, self.arrays, situation, packed)) < 0:
            packed = np.empty(2 * len(packed), np.int64)
        return tuple((pair >> 32, pair & 0xFFFFFFFF) for pair in packed[:count].tolist())

    def stack(self, node: StackNode) -> tuple[State, ...]:
        """The return states of a stack, the innermost last."""
        return tuple(reversed(list(self.unstack(node))))

    def unstack(self, node: StackNode) -> Iterator[State]:
        """The return states of a stack, the innermost first."""
        states = len(self.network)
        while node != EMPTY:
            node, symbol, _ = self.arrays.nodes[node].tolist()
            if symbol < states:  # not a set of written elements
                yield symbol

    def steps(self) -> Steps:
        """The step by which each situation was found; a view, −1 for the initial one."""
        return self.arrays.about[: len(self), machine_arrays.BEFORE : machine_arrays.READ + 1]

    def is_final(self, situation: Situation) -> bool:
        """Whether a text that leads to the situation is accepted."""
        return bool(self.arrays.about[situation, machine_arrays.ACCEPTS])

    def step(self, situation: Situation, byte: int, clock: Clock | None = None) -> Situation:
        """The situation after a byte, or ``DEAD``; ``clock`` is that of the whole text."""
        byte_class = int(self.classes[byte])
        target = int(self.arrays.table[situation * self._columns + byte_class])
        return self.successor(situation, byte_class, clock) if target == UNKNOWN else target

    def run(self, data: bytes, situation: Situation = 0) -> Situation:
        """The situation after all of ``data``, or ``DEAD``."""
        clock = self.limits.clock()
        for byte in data:
            situation = self.step(situation, byte, clock)
            if situation == DEAD:
                return DEAD
        return situation

    def successor(
        self, situation: Situation, byte_class: int, clock: Clock | None = None
    ) -> Situation:
        """Compute and store the step of a situation by a byte class.

        Raises: LimitError
        """
        while True:
            following = successor(self.growth.rules, self.arrays, situation, byte_class)
            if following >= DEAD:
                return following
            clock = clock or self.limits.clock()
            self.resolve(following, clock)

    def resolve(self, status: int, clock: Clock) -> None:
        """Handle the status of a kernel: enlarge an array, or check a limit or the clock.

        Raises: LimitError
        """
        limits, arrays = self.limits, self.arrays
        if status == Status.TOO_DEEP:
            limits.check("stack_depth", limits.stack_depth + 1, "the text nests too deeply")
        clock.check()
        if status == Status.PAUSED:
            arrays.used[Used.STEPS_LEFT] = machine_arrays.STEPS_PER_CHECK
            return
        if status == Status.NEW_WRITTEN:
            self._extend_written()
            return
        if status == Status.FULL_FOUND and len(arrays.found) >= limits.configurations:
            limits.check(
                "configurations",
                limits.configurations + 1,
                "the grammar is ambiguous without bound here; factor its alternatives",
            )
        self._grow(status)

    def _grow(self, status: int) -> None:
        """Enlarge the array that a status names.

        Raises: LimitError above ``limits.megabytes``.
        """
        size = stepping.bytes_when_grown(self.arrays, status)
        self.limits.check("megabytes", size / 2**20)
        self.arrays = grown(self.arrays, status)

    def _extend_written(self) -> None:
        """Add the set of written elements after the set and the mark that a kernel asked for."""
        used = self.arrays.used
        number, mark = (int(used[entry]) for entry in (Used.EXTENDED, Used.MARK))
        target = self._written.after(number, mark)
        if target == used[Used.WRITTEN]:
            self._add_written(target)
        if used[Used.EXTENSIONS] == len(self.arrays.extensions):
            self._grow(Status.FULL_EXTENSIONS)
        stepping.add_extension(self.arrays, number, mark, target)

    def _add_written(self, number: int) -> None:
        """Store the free marks of set ``number`` of written elements; sets are added in order."""
        if number == len(self.arrays.free):
            self._grow(Status.FULL_WRITTEN)
        free = self.arrays.free
        free[number] = self._written.free(number, free.shape[1])
        self.arrays.used[Used.WRITTEN] += 1


#: The low bits of a state of a ``RenewingRunner``: its situation; the high bits number its runner.
_SITUATION_BITS = 32
#: The largest part of ``Limits.megabytes`` for the steps of earlier runners.
_PART_FOR_STEPS = 0.25


class RenewingRunner:
    """A runner for texts of any length: it begins anew when its memory is full.

    A state is the number of a runner and one of its situations, packed in an int. States of earlier
    runners stay valid: for each situation the step that found it is kept (8 bytes), so the text
    that leads there can be read again. The caller must guard all calls.

    ``renewed`` is called after the runner was replaced.

    Raises: LimitError, as ``Runner``; for ``megabytes`` only if one reading alone needs more;
            WorkbenchError for a state whose steps are no longer kept.
    """

    initial: State = Runner.initial

    def __init__(self, network: Network, limits: Limits, renewed: Callable[[], None]) -> None:
        self.runner = Runner(network, limits)
        self._renewed = renewed
        #: The steps of each earlier runner, the oldest first; None if they are no longer kept.
        self._steps: list[Steps | None] = []
        #: The situation in the current runner of each earlier state that was read again.
        self._read_again: dict[State, Situation] = {}

    def __contains__(self, state: State) -> bool:
        """Whether a number is a state, even if its steps are no longer kept."""
        number, situation = divmod(int(state), 1 << _SITUATION_BITS)
        if not 0 <= number < len(self._steps):
            return number == len(self._steps) and situation < len(self.runner)
        steps = self._steps[number]
        return steps is None or situation < len(steps)

    def read(self, state: State, reading: Callable[[Runner, Situation], T]) -> T:
        """The result of ``reading``, which gets the current runner and the situation of a state.

        If the memory is full, ``reading`` is called again with a new runner.
        """
        try:
            return reading(self.runner, self._situation(state))
        except LimitError as error:
            if error.budget != "megabytes":
                raise
        self._renew()
        return reading(self.runner, self._situation(state))

    def run(self, data: bytes, state: State) -> State:
        """The state after all of ``data``, or ``DEAD``."""
        target = self.read(state, lambda runner, situation: runner.run(data, situation))
        return target if target == DEAD else len(self._steps) << _SITUATION_BITS | target

    def _situation(self, state: State) -> Situation:
        """The situation of a state in the current runner."""
        number, situation = divmod(int(state), 1 << _SITUATION_BITS)
        if number == len(self._steps) or situation == self.initial:
            return situation
        cached = self._read_again.get(state)
        if cached is None:
            steps = self._steps[number]
            if steps is None:
                raise WorkbenchError(
                    "this state is too old: the memory was filled several times since it was made",
                    "begin with the initial state, and read the text again",
                )
            cached = self._read_again[state] = self._follow(_path(steps, situation))
        return cached

    def _follow(self, classes: Iterable[int]) -> Situation:
        """The situation after a text that can be read, given as byte classes."""
        byte_of = {each: byte for byte, each in enumerate(self.runner.classes.tolist())}
        return self.runner.run(bytes(byte_of[each] for each in classes))

    def _renew(self) -> None:
        """Begin with a new runner, and keep the steps of the one before."""
        old, limits = self.runner, self.runner.limits
        self._steps.append(old.steps().copy())
        most = _PART_FOR_STEPS * limits.megabytes * 2**20
        oldest = 0
        while sum(steps.nbytes for steps in self._steps if steps is not None) > most:
            self._steps[oldest] = None
            oldest += 1
        self._read_again.clear()
        self.runner = Runner(old.network, limits)
        self._renewed()


def _path(steps: Steps, situation: Situation) -> list[int]:
    """The byte classes of the text by which a situation was found."""
    classes = []
    while situation != Runner.initial:
        situation, byte_class = steps[situation].tolist()
        classes.append(byte_class)
    return classes[::-1]
