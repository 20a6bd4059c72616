"""Relative: a grammar network as a machine whose states are sets of configurations.

In comes a ``Network``; out comes a deterministic machine over bytes, grown as it is walked: each of
its states is a set of configurations relative to a stack nobody knows. A token leads to one such
set, and the edges of Algorithm 3 are its members; so rows are walked as those of a DFA are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from workbench.automata.dfa import DEAD, State
from workbench.automata.lazy import UNKNOWN
from workbench.constraint.layout import Ints, Steps
from workbench.errors import LimitError
from workbench.limits import Limits
from workbench.pushdown.network import Move, Network

#: The longest run of pops one token may make.
_POPS = 32

#: The state after the end, and the initial stack symbol, before numbering.
END = -1

#: A configuration relative to an unknown stack: state, popped (first first), pushed (top last).
Relative = tuple[State, tuple[State, ...], tuple[State, ...]]


class RelativeMachine:
    """Sets of relative configurations, numbered as they are met.

    Shape: ``table`` (capacity, C) int32, ``UNKNOWN`` where no step has been computed.
    Raises: LimitError past ``limits.seconds``, ``limits.states`` and ``limits.configurations``,
            and where one token can pop without end.
    """

    def __init__(self, network: Network, limits: Limits, shown_pops: int | None = None) -> None:
        #: Where tokens can pop without end, so many pops are still told; None tells of no machine.
        self._shown_pops = shown_pops
        self._network = network
        self._limits = limits
        self._clock = limits.clock()
        self._numbers: dict[tuple[Relative, ...], int] = {}
        #: What is asked of the network for every step, as lists: a number of an array takes long.
        self._rows: list[list[State]] = network.table.tolist()
        self._columns = [int(network.classes[its[0]]) for its in network.class_bytes]
        self._goes_on: list[bool] = network.goes_on.tolist()
        self._finals: list[bool] = network.finals.tolist()
        self.configurations: list[tuple[Relative, ...]] = []
        self.classes = network.byte_classes[:]
        self.classes.flags.writeable = False
        self._hold(np.full((256, len(self._columns)), UNKNOWN, np.int32))

    def _hold(self, table: Ints) -> None:
        self.table, flat = table, table.reshape(-1)
        flat.flags.writeable = False
        #: The machine so far, as kernels read it.
        self.steps = Steps(flat, table.shape[1], self.classes)

    def at(self, state: State) -> int:
        """The set that is a state of the network and nothing popped or pushed."""
        return self._number(((state, (), ()),))

    def grow(self, source: int, byte_class: int) -> int:
        """Where a byte of a class leads, computed if it is not known yet."""
        known = int(self.table[source, byte_class])
        if known != UNKNOWN:
            return known
        self._clock.check()
        here: set[Relative] = set()
        for at, popped, pushed in self.configurations[source]:
            for target, opened in self._moves(at, byte_class):
                if self._finals[target]:
                    here.update(self._settle(target, popped, (*pushed, *opened)))
                else:
                    here.add((target, popped, (*pushed, *opened)))
        self._limits.check("configurations", len(here))
        target = self._number(tuple(sorted(here))) if here else DEAD
        self.table[source, byte_class] = target
        return target

    def _number(self, here: tuple[Relative, ...]) -> int:
        known = self._numbers.setdefault(here, len(self._numbers))
        if known == len(self.configurations):
            self._limits.check("states", known)
            self.configurations.append(here)
            if known == len(self.table):
                self._hold(np.concatenate([self.table, np.full_like(self.table, UNKNOWN)]))
        return known

    def _moves(self, state: State, byte_class: int) -> Iterator[Move]:
        """Where a byte of a class leads from a state, with what is pushed on the way."""
        if state == END:
            return
        column = self._columns[byte_class]
        for inner, pushed in self._network.openings(state):
            target = self._rows[inner][column]
            if target != DEAD:
                yield target, pushed

    def _settle(
        self, state: State, popped: tuple[State, ...], pushed: tuple[State, ...]
    ) -> Iterator[Relative]:
        """A configuration after a byte, and all it can return to without reading more."""
        network = self._network
        if self._goes_on[state]:
            yield state, popped, pushed
        if not self._finals[state]:
            return
        if pushed:
            yield from self._settle(pushed[-1], popped, pushed[:-1])
            return
        if len(popped) == self._shown_pops:
            return
        if len(popped) == _POPS:
            raise LimitError(
                "one token may end any number of rules here, so the closed form has no end",
                "token_edges",
                "the engine itself decodes this grammar; only its written-out machine is infinite",
            )
        for waiting in network.returns[network.owner[state]]:
            yield from self._settle(waiting, (*popped, waiting), ())
        if network.owner[state] in network.ends_text:
            yield END, (*popped, END), ()
