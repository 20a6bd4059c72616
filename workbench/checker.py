"""Checker: a machine in; whether it accepts a text, and where and why not, out."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from workbench.automata.dfa import DEAD, Dfa, State
from workbench.automata.fold import character_edges
from workbench.automata.lazy import LazyDfa
from workbench.pushdown.runner import Runner
from workbench.syntax.ranges import union
from workbench.syntax.regex.tree import Ranges
from workbench.verdict import Verdict, character_start

#: Bytes of a character in UTF-8, at most.
_LONGEST_CHARACTER = 4


class Checker:
    """Reads texts with a machine, one thread at a time."""

    def __init__(self, machine: Dfa | LazyDfa | Runner) -> None:
        self._machine = machine
        self._lock = threading.Lock()

    def accepts(self, data: bytes) -> bool:
        """Whether the whole text is in the language."""
        with self._lock:
            here = self._machine.run(data)
            return here != DEAD and self._machine.is_final(here)

    def is_prefix(self, data: bytes) -> bool:
        """Whether some accepted text begins so."""
        if not isinstance(self._machine, Runner) and self._machine.is_empty:
            return False
        with self._lock:
            return self._machine.run(data) != DEAD

    def check_each(self, so_far: bytes, texts: Iterable[bytes]) -> list[Verdict]:
        """What is said of a text with each of some others after it, but for the rules.

        Cost: the text so far is read once.
        """
        with self._lock:
            known = max(0, len(so_far) - _LONGEST_CHARACTER)  # one may be cut at its end
            here = self._machine.run(so_far[:known])
            if here == DEAD:
                known, here = 0, self._machine.initial
            expected: dict[State, Ranges] = {}
            return [self._verdict(so_far + text, known, here, expected) for text in texts]

    def _verdict(
        self, data: bytes, known: int, here: State, expected: dict[State, Ranges]
    ) -> Verdict:
        """Of a text that begins with ``known`` bytes after which the machine is ``here``."""
        machine, states, failed = self._machine, [here], None
        for position in range(known, len(data)):
            there = machine.step(states[-1], data[position])
            if there == DEAD:
                failed = position
                break
            states.append(there)
        start = character_start(data, len(data) if failed is None else failed)
        here = states[start - known] if start >= known else machine.run(data[:start])
        if here not in expected:
            expected[here] = self._expected(here)
        may_end = machine.is_final(here)
        return Verdict(
            accepted=failed is None and start == len(data) and may_end,
            offset=None if failed is None else len(data[:start].decode("utf-8", "replace")),
            byte=failed,
            expected=expected[here],
            may_end=may_end,
            rules=(),
        )

    def _expected(self, here: State) -> Ranges:
        """The characters that can be read next."""
        edges = character_edges(self._machine.step, here, self._machine.classes)
        return union(*(ranges for ranges, _ in edges))
