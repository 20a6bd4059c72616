"""Readings: a scanner and a parser in lock-step; bytes in, all ways to have read them out.

A reading is a place of the scanner with the state of the parser after the terminals before the one
at hand. Typically there is one; a word that may be a keyword or a name makes two (§3.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workbench.automata.dfa import DEAD
from workbench.automata.dfa import State as ScannerState
from workbench.constraint.domino.parser import Parser, ParserState
from workbench.constraint.domino.scanner import BETWEEN, Scanner
from workbench.limits import Limits

#: Where the scanner is, and what the parser knew before the terminal at hand.
Reading = tuple[ScannerState, ParserState]

#: The number of a set of readings.
State = int


class Readings:
    """Sets of readings, numbered as they are met: equal sets have one number.

    Where the terminal at hand may end, the set has both the reading within it (if it may
    also go on) and the one after it. Every reading can be finished.

    Raises: LimitError past ``limits.configurations`` readings of one text.
    """

    initial: State = 0

    def __init__(self, scanner: Scanner, parser: Parser, limits: Limits) -> None:
        self._parser, self._limits = parser, limits
        # numbers of arrays take long to ask for one by one
        self._table: list[list[int]] = scanner.table.tolist()
        self._classes: list[int] = scanner.classes.tolist()
        self._owner: list[int] = scanner.owner.tolist()
        self._accepting: list[bool] = scanner.accepting.tolist()
        self._goes_on: list[bool] = scanner.goes_on.tolist()
        self._starting = scanner.starting
        self._numbers: dict[tuple[Reading, ...], State] = {}
        self._each: list[tuple[Reading, ...]] = []
        self._number({(BETWEEN, parser.initial)})

    def __getitem__(self, state: State) -> tuple[Reading, ...]:
        """All ways the text can have been read, sorted."""
        return self._each[state]

    def after(self, state: State, data: bytes) -> State | None:
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

    def next_bytes(self, state: State) -> list[int]:
        """The bytes some accepted text goes on with, sorted."""
        can = {its for its in set(self._classes) if any(self._step(self._each[state], its))}
        return [byte for byte, its in enumerate(self._classes) if its in can]

    def is_final(self, state: State) -> bool:
        """Whether the text read so far is accepted."""
        is_final = self._parser.is_final
        return any(at == BETWEEN and is_final(parsed) for at, parsed in self._each[state])

    def _number(self, readings: Iterable[Reading]) -> State:
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
