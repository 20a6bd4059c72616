"""Parser: the rules over terminals in; out comes what can follow a sequence of terminals.

The machine is the project's own for grammars, over codes of terminals instead of bytes: a stack
automaton whose sets of configurations are numbered, so ambiguity and left recursion are carried, a
state is a number, branching and going back cost nothing (§3.4).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from workbench.automata.dfa import DEAD, Dfa, State
from workbench.constraint.domino.terminals import Terminals
from workbench.limits import Limits
from workbench.pushdown.build import build, network_of
from workbench.pushdown.network import CALLS, Network
from workbench.pushdown.runner import Runner

#: A state of the parser; ``DEAD`` where a terminal cannot follow.
ParserState = int


class Parser:
    """An incremental parser over terminals.

    Whatever is not ``DEAD`` is the beginning of some accepted sequence; and since every
    state of a terminal's automaton leads to an end of it, a terminal that has only begun can
    follow where the whole terminal can.

    Raises: LimitError, while building and at ever new steps.
    """

    def __init__(self, terminals: Terminals, limits: Limits) -> None:
        self._codes = [terminals.code(number) for number in range(len(terminals.each))]
        self._width = terminals.width
        machine = build(terminals.tree, terminals.start, limits) if self._codes else _only_nothing()
        # building has a clock of its own; every step while decoding has another
        unhurried = replace(limits, began=None)
        self._machine = machine if isinstance(machine, Dfa) else Runner(machine, unhurried)
        self.network = machine if isinstance(machine, Network) else network_of(machine)
        self._steps: dict[tuple[ParserState, int], ParserState] = {}
        self._most = 16 * limits.rows

    @property
    def initial(self) -> ParserState:
        return self._machine.initial

    def step(self, state: ParserState, terminal: int) -> ParserState:
        """The state after a terminal, or ``DEAD``."""
        key = (state, terminal)
        known = self._steps.get(key)
        if known is None:
            if len(self._steps) > self._most:
                self._steps.clear()
            known = self._steps[key] = self._machine.run(self._codes[terminal], state)
        return known

    def is_final(self, state: ParserState) -> bool:
        """Whether the terminals so far are an accepted sequence."""
        return self._machine.is_final(state)

    def substate(self, state: ParserState) -> tuple[State, ...]:
        """Where in which rules the parser is, whatever they were called from: β of §3.6.

        States of ``network`` on top of the stacks; all of the state where there is no stack.
        """
        if isinstance(self._machine, Dfa):
            return (state,)
        return tuple(sorted({at for at, _ in self._machine.configurations(state)}))

    def configurations(self, state: ParserState) -> list[tuple[State, tuple[State, ...]]]:
        """States of ``network``, each with the states that wait, the innermost first."""
        if isinstance(self._machine, Dfa):
            return [(state, ())]
        runner = self._machine
        return [(at, tuple(runner.unstack(node))) for at, node in runner.configurations(state)]

    @cached_property
    def follows(self) -> tuple[tuple[int, ...], ...]:
        """For each terminal those that stand right after it in some accepted sequence.

        And a few more where a rule is called from several places: it is taken to return to
        each of them.
        """
        found: list[set[int]] = [set() for _ in self._codes]
        for state in self.between:
            for terminal, target in self.edges(state):
                found[terminal] |= self._after(target)
        return tuple(tuple(sorted(some)) for some in found)

    @cached_property
    def between(self) -> tuple[State, ...]:
        """The states of ``network`` that are not inside the code of a terminal."""
        found = list(dict.fromkeys(self.network.initials))
        seen = set(found)
        for state in found:  # grows while it is read
            for _, target in (*self.network.calling[state], *self.edges(state)):
                if target not in seen:
                    seen.add(target)
                    found.append(target)
        return tuple(found)

    def edges(self, state: State) -> list[tuple[int, State]]:
        """The terminals a state of ``network`` reads itself, each with where it leads."""
        return self._edges[state]

    @cached_property
    def _edges(self) -> list[list[tuple[int, State]]]:
        network = self.network
        read: list[list[tuple[int, State]]] = []
        for row in network.table[:, network.classes[:CALLS]].tolist():
            read.append([(code, there) for code, there in enumerate(row) if there != DEAD])
        if self._width == 1:
            return read
        # a code of two bytes is a literal, so what is between them is of the same rule
        return [
            [(high << 8 | low, there) for high, middle in own for low, there in read[middle]]
            for own in read
        ]

    def _after(self, state: State) -> set[int]:
        """What can be read after a state was reached, by it or by those its rule returns to."""
        known = self._known_after.get(state)
        if known is None:
            network, found = self.network, set[int]()
            waiting, seen = [state], {state}
            for at in waiting:  # grows while it is read
                for opened, _ in network.openings(at):
                    found.update(terminal for terminal, _ in self._edges[opened])
                more = network.returns[network.owner[at]] if network.finals[at] else ()
                waiting.extend(back for back in more if back not in seen)
                seen.update(more)
            known = self._known_after[state] = found
        return known

    @cached_property
    def _known_after(self) -> dict[State, set[int]]:
        return {}


def _only_nothing() -> Dfa:
    """The machine of a grammar without terminals: it accepts the empty sequence."""
    return Dfa(np.zeros(CALLS, np.uint16), np.full((1, 1), DEAD, np.int32), np.ones(1, np.bool_))
