"""The parser over terminals, and readings of bytes by scanner and parser.

The machine is the project's own for grammars, over codes of terminals instead of bytes: a stack
automaton whose sets of configurations are numbered, so ambiguity and left recursion are carried, a
state is a number, branching and going back cost nothing (§3.4).

A reading is a place of the scanner with the state of the parser after the terminals before the one
at hand. Typically there is one; a word that may be a keyword or a name makes two (§3.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.dfa import State as ScannerState
from workbench.base.limits import Limits
from workbench.constraint.methods.domino.scanner import BETWEEN, Scanner, Terminals
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


#: Where the scanner is, and what the parser knew before the terminal at hand.
Reading = tuple[ScannerState, ParserState]

#: The number of a set of readings.
ReadingState = int


class Readings:
    """Sets of readings, numbered as they are met: equal sets have one number.

    Where the terminal at hand may end, the set has both the reading within it (if it may
    also go on) and the one after it. Every reading can be finished.

    Raises: LimitError past ``limits.configurations`` readings of one text.
    """

    initial: ReadingState = 0

    def __init__(self, scanner: Scanner, parser: Parser, limits: Limits) -> None:
        self._parser, self._limits = parser, limits
        # numbers of arrays take long to ask for one by one
        self._table: list[list[int]] = scanner.table.tolist()
        self._classes: list[int] = scanner.classes.tolist()
        self._owner: list[int] = scanner.owner.tolist()
        self._accepting: list[bool] = scanner.accepting.tolist()
        self._goes_on: list[bool] = scanner.goes_on.tolist()
        self._starting = scanner.starting
        self._numbers: dict[tuple[Reading, ...], ReadingState] = {}
        self._each: list[tuple[Reading, ...]] = []
        self._number({(BETWEEN, parser.initial)})

    def __getitem__(self, state: ReadingState) -> tuple[Reading, ...]:
        """All ways the text can have been read, sorted."""
        return self._each[state]

    def after(self, state: ReadingState, data: bytes) -> ReadingState | None:
        """The state after some bytes, or None where they cannot be read."""
        here: Iterable[Reading] = self._each[state]
        for byte in data:
            here = set(self._step(here, self._classes[byte]))
            if not here:
                return None
            self._limits.check(
                "configurations", len(here), "let fewer terminals of the grammar overlap"
            )
        return self._number(here)

    def next_bytes(self, state: ReadingState) -> list[int]:
        """The bytes some accepted text goes on with, sorted."""
        can = {its for its in set(self._classes) if any(self._step(self._each[state], its))}
        return [byte for byte, its in enumerate(self._classes) if its in can]

    def is_final(self, state: ReadingState) -> bool:
        """Whether the text read so far is accepted."""
        is_final = self._parser.is_final
        return any(at == BETWEEN and is_final(parsed) for at, parsed in self._each[state])

    def _number(self, readings: Iterable[Reading]) -> ReadingState:
        key = tuple(sorted(readings))
        number = self._numbers.setdefault(key, len(self._each))
        if number == len(self._each):
            self._each.append(key)
        return number

    def _step(self, readings: Iterable[Reading], byte_class: int) -> Iterator[Reading]:
        """Where a byte of a class leads."""
        for at, parsed in readings:
            if at != BETWEEN:
                there = self._table[at][byte_class]
                if there != DEAD:
                    yield from self._settled(there, parsed)
                continue
            for terminal, there in self._starting[byte_class]:
                if self._parser.step(parsed, terminal) != DEAD:
                    yield from self._settled(there, parsed)

    def _settled(self, at: ScannerState, parsed: ParserState) -> Iterator[Reading]:
        if self._goes_on[at]:
            yield at, parsed
        if self._accepting[at]:
            yield BETWEEN, self._parser.step(parsed, self._owner[at])
