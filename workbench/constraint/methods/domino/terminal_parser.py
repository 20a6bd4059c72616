"""The parser over terminals, and readings of bytes by scanner and parser.

The parser is the project's machine for grammars, over codes of terminals instead of bytes: a
push-down automaton whose sets of configurations are numbered. So ambiguity and left recursion are
supported, a state is a number, and branching and backtracking cost nothing (§3.4).

A reading is a state of the scanner together with the state of the parser before the current
terminal. Usually a text has one; a word that may be a keyword or a name has two (§3.3).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np

from workbench.automata.nfa import Ints
from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, Dfa, State, table_rows
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

    Every state except ``DEAD`` is co-accessible. Since every state of a terminal's automaton is
    co-accessible too, a terminal may begin wherever the whole terminal may follow.

    Raises: LimitError, while building and when new steps are computed.
    """

    def __init__(self, terminals: Terminals, limits: Limits) -> None:
        self._codes = [terminals.code(number) for number in range(len(terminals.each))]
        self._width = terminals.width
        machine = (
            build(terminals.tree, terminals.start, limits)
            if self._codes
            else _empty_sequence_machine()
        )
        # the time limit of the construction does not apply to steps during decoding
        self._clock = limits.clock()
        without_deadline = limits.per_stage()
        self._machine = machine if isinstance(machine, Dfa) else Runner(machine, without_deadline)
        self.network = machine if isinstance(machine, Network) else network_of(machine)
        self._steps: dict[tuple[ParserState, int], ParserState] = {}
        self._max_steps = 16 * limits.rows
        self._edges: dict[State, tuple[Ints, Ints]] = {}

    @property
    def initial(self) -> ParserState:
        return self._machine.initial

    def step(self, state: ParserState, terminal: int) -> ParserState:
        """The state after a terminal, or ``DEAD``."""
        key = (state, terminal)
        cached = self._steps.get(key)
        if cached is None:
            if len(self._steps) > self._max_steps:
                self._steps.clear()
            cached = self._steps[key] = self._machine.run(self._codes[terminal], state)
        return cached

    def is_final(self, state: ParserState) -> bool:
        """Whether the terminals read are an accepted sequence."""
        return self._machine.is_final(state)

    def substate(self, state: ParserState) -> tuple[State, ...]:
        """β of §3.6: the current positions in rules, without the callers of the rules.

        These are the states of ``network`` without their stacks; the state itself if the machine
        has no stack.
        """
        if isinstance(self._machine, Dfa):
            return (state,)
        return tuple(sorted({top for top, _ in self._machine.configurations(state)}))

    def configurations(self, state: ParserState) -> list[tuple[State, tuple[State, ...]]]:
        """States of ``network``, each with its return states, the top of the stack first."""
        if isinstance(self._machine, Dfa):
            return [(state, ())]
        runner = self._machine
        return [(top, tuple(runner.unstack(node))) for top, node in runner.configurations(state)]

    @cached_property
    def follows(self) -> tuple[tuple[int, ...], ...]:
        """For each terminal those that may follow it in an accepted sequence.

        An over-approximation: a rule called from several places may return to each of them.
        """
        result: list[set[int]] = [set() for _ in self._codes]
        for state in self.between:
            for terminal, target in self.edges(state):
                result[terminal] |= self._after(target)
        return tuple(tuple(sorted(some)) for some in result)

    @cached_property
    def between(self) -> tuple[State, ...]:
        """The states of ``network`` that are not inside the code of a terminal."""
        result = list(dict.fromkeys(self.network.initials))
        seen = set(result)
        for state in result:  # the list grows during the loop
            self._clock.check()
            for _, target in (*self.network.calling[state], *self.edges(state)):
                if target not in seen:
                    seen.add(target)
                    result.append(target)
        return tuple(result)

    def edges(self, state: State) -> Iterable[tuple[int, State]]:
        """The terminals that a state of ``network`` reads, each with its target state."""
        terminals, targets = self._edge_arrays(state)
        return zip(terminals.tolist(), targets.tolist(), strict=True)

    def _edge_arrays(self, state: State) -> tuple[Ints, Ints]:
        """The terminals that a state reads, and their target states."""
        edges = self._edges.get(state)
        if edges is None:
            codes, targets = edges = self._read(state)
            if self._width == 2:
                # a code of two bytes is a literal: the state between them belongs to the same rule
                inner = [self._read(middle) for middle in targets.tolist()]
                high = np.repeat(codes << 8, [len(low) for low, _ in inner])
                edges = (
                    high | _join(low for low, _ in inner),
                    _join(ends for _, ends in inner),
                )
            self._edges[state] = edges
        return edges

    def _read(self, state: State) -> tuple[Ints, Ints]:
        """The bytes that a state of ``network`` reads, and their target states."""
        network = self.network
        row = network.table[state, network.classes[:CALLS]]
        codes = np.flatnonzero(row != DEAD).astype(np.int32)
        return codes, row[codes]

    def _after(self, state: State) -> set[int]:
        """The terminals that may be read after a state, by it or after returning from its rule."""
        cached = self._cached_after.get(state)
        if cached is None:
            network, result = self.network, set[int]()
            queue, seen = deque([state]), {state}
            while queue:
                top = queue.popleft()
                self._clock.check()
                for opened in network.opened(top):
                    result.update(self._edge_arrays(opened)[0].tolist())
                more = network.returns[network.owner[top]] if network.finals[top] else ()
                queue.extend(back for back in more if back not in seen)
                seen.update(more)
            cached = self._cached_after[state] = result
        return cached

    @cached_property
    def _cached_after(self) -> dict[State, set[int]]:
        return {}


def _join(parts: Iterable[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int32), *parts])


def _empty_sequence_machine() -> Dfa:
    """The machine of a grammar without terminals: it accepts the empty sequence."""
    return Dfa(np.zeros(CALLS, np.uint16), np.full((1, 1), DEAD, np.int32), np.ones(1, np.bool_))


#: A state of the scanner, and the state of the parser before the current terminal.
Reading = tuple[ScannerState, ParserState]

#: The number of a set of readings.
ReadingState = int


class Readings:
    """Sets of readings, numbered in order of visit; equal sets have one number.

    Where the current terminal may end, the set has the reading inside it (if it may continue) and
    the one after it. Every reading is co-accessible by bytes.

    Raises: LimitError past ``limits.configurations`` readings of one text.
    """

    initial: ReadingState = 0

    def __init__(self, scanner: Scanner, parser: Parser, limits: Limits) -> None:
        self._parser, self._limits = parser, limits
        # as lists, because reading single numbers of arrays is slow
        self._table = table_rows(scanner.table)
        self._classes: list[int] = scanner.classes.tolist()
        self._owner: list[int] = scanner.owner.tolist()
        self._accepting: list[bool] = scanner.accepting.tolist()
        self._has_steps: list[bool] = scanner.goes_on.tolist()
        self._starting = scanner.starting
        self._numbers: dict[tuple[Reading, ...], ReadingState] = {}
        self._sets: list[tuple[Reading, ...]] = []
        self._number({(BETWEEN, parser.initial)})

    def __getitem__(self, state: ReadingState) -> tuple[Reading, ...]:
        """The readings of the text, sorted."""
        return self._sets[state]

    def after(self, state: ReadingState, data: bytes) -> ReadingState | None:
        """The state after bytes, or None where they cannot be read."""
        current: Iterable[Reading] = self._sets[state]
        for byte in data:
            current = set(self._step(current, self._classes[byte]))
            if not current:
                return None
            self._limits.check(
                "configurations", len(current), "let fewer terminals of the grammar overlap"
            )
        return self._number(current)

    def next_bytes(self, state: ReadingState) -> list[int]:
        """The bytes that may come next in an accepted text, sorted."""
        readable = {
            byte_class
            for byte_class in set(self._classes)
            if any(self._step(self._sets[state], byte_class))
        }
        return [byte for byte, byte_class in enumerate(self._classes) if byte_class in readable]

    def is_final(self, state: ReadingState) -> bool:
        """Whether the text read is accepted."""
        is_final = self._parser.is_final
        return any(
            scanner_state == BETWEEN and is_final(parser_state)
            for scanner_state, parser_state in self._sets[state]
        )

    def _number(self, readings: Iterable[Reading]) -> ReadingState:
        key = tuple(sorted(readings))
        number = self._numbers.setdefault(key, len(self._sets))
        if number == len(self._sets):
            self._sets.append(key)
        return number

    def _step(self, readings: Iterable[Reading], byte_class: int) -> Iterator[Reading]:
        """The readings after a byte of a class."""
        for scanner_state, parser_state in readings:
            if scanner_state != BETWEEN:
                target = self._table[scanner_state][byte_class]
                if target != DEAD:
                    yield from self._readings_at(target, parser_state)
                continue
            for terminal, target in self._starting[byte_class]:
                if self._parser.step(parser_state, terminal) != DEAD:
                    yield from self._readings_at(target, parser_state)

    def _readings_at(
        self, scanner_state: ScannerState, parser_state: ParserState
    ) -> Iterator[Reading]:
        if self._has_steps[scanner_state]:
            yield scanner_state, parser_state
        if self._accepting[scanner_state]:
            yield BETWEEN, self._parser.step(parser_state, self._owner[scanner_state])
