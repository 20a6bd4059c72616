"""Readers: a terminal of a grammar comes in, something that reads it byte by byte goes out.

Slow and obvious, for explanations: a reader knows which piece of the text it was written in reads
on, which the machines made for speed have forgotten.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from workbench.automata.dfa import DEAD, Dfa
from workbench.automata.flat import alive_of
from workbench.automata.nfa import Nfa
from workbench.automata.utf8 import character_machine
from workbench.syntax.regex.tree import Ranges

_BYTES = 256

#: What a reader remembers of what it has read.
Memory = Hashable


class Reader(Protocol):
    """A machine over bytes. Whatever it reads can be finished: it never runs into a dead end."""

    @property
    def initial(self) -> Memory:
        """Before anything is read."""

    def step(self, memory: Memory, byte: int) -> Memory | None:
        """What it remembers after one more byte; None where it cannot read it."""

    def ends(self, memory: Memory) -> bool:
        """Whether what it has read is a whole text of its own."""

    def is_over(self, memory: Memory) -> bool:
        """Whether it is known that it reads nothing more."""

    def boundaries(self) -> Iterable[int]:
        """Bytes that it may treat otherwise than the byte before them."""


@dataclass(frozen=True, slots=True, eq=False)
class OneOf:
    """One character out of a set, or one byte out of a set."""

    #: For each node what is read and where it leads; node 0 is the end.
    edges: tuple[tuple[tuple[int, int, int], ...], ...]
    #: The characters, or None where it reads a byte.
    characters: Ranges | None
    initial: int

    def step(self, memory: Memory, byte: int) -> Memory | None:
        assert isinstance(memory, int)
        for low, high, target in self.edges[memory]:
            if low <= byte <= high:
                return target
        return None

    def ends(self, memory: Memory) -> bool:
        return memory == 0

    is_over = ends

    def boundaries(self) -> Iterable[int]:
        return (edge for row in self.edges for low, high, _ in row for edge in (low, high + 1))


@lru_cache(maxsize=1024)
def character(ranges: Ranges) -> OneOf:
    """The reader of a set of characters, which is not empty."""
    edges = character_machine(ranges).edges
    return OneOf(edges, ranges, len(edges) - 1)


@lru_cache(maxsize=1024)
def one_byte(ranges: Ranges) -> OneOf:
    """The reader of a set of bytes, which is not empty."""
    return OneOf(((), tuple((low, high, 0) for low, high in ranges)), None, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Any contiguous piece of a byte string (``#substrs``): it remembers where that may end."""

    value: bytes

    @property
    def initial(self) -> Memory:
        return frozenset(range(len(self.value) + 1))

    def step(self, memory: Memory, byte: int) -> Memory | None:
        assert isinstance(memory, frozenset)
        value = self.value
        return frozenset(i + 1 for i in memory if i < len(value) and value[i] == byte) or None

    def ends(self, memory: Memory) -> bool:
        return True

    def is_over(self, memory: Memory) -> bool:
        return memory == frozenset((len(self.value),))

    def boundaries(self) -> Iterable[int]:
        return (edge for byte in self.value for edge in (byte, byte + 1))


class Without:
    """A byte string in which none of some strings occurs, not empty (``except!``).

    It remembers the longest end of what it has read that one of them begins with, and how
    many bytes may follow (Aho & Corasick 1975, with the failures looked for at every step).
    """

    def __init__(self, strings: Iterable[bytes], limit: int | None) -> None:
        self._strings = tuple(strings)
        self._begun = {s[:length] for s in self._strings for length in range(len(s))} | {b""}
        #: Nothing has been read where the first is None.
        self.initial: tuple[bytes | None, int | None] = (None, limit)

    def step(self, memory: Memory, byte: int) -> Memory | None:
        assert isinstance(memory, tuple)
        kept, left = memory
        if left == 0:
            return None
        tail = (kept or b"") + bytes((byte,))
        if tail.endswith(self._strings):
            return None
        while tail not in self._begun:
            tail = tail[1:]
        return tail, None if left is None else left - 1

    def ends(self, memory: Memory) -> bool:
        assert isinstance(memory, tuple)
        return memory[0] is not None

    def is_over(self, memory: Memory) -> bool:
        assert isinstance(memory, tuple)
        return bool(memory[1] == 0)

    def boundaries(self) -> Iterable[int]:
        return (edge for s in self._strings for byte in s for edge in (byte, byte + 1))


@dataclass(frozen=True, slots=True, eq=False)
class OfMachine:
    """The texts of a byte machine: it remembers the state."""

    machine: Dfa

    @property
    def initial(self) -> Memory:
        return self.machine.initial

    def step(self, memory: Memory, byte: int) -> Memory | None:
        assert isinstance(memory, int)
        there = self.machine.step(memory, byte)
        return None if there == DEAD else there

    def ends(self, memory: Memory) -> bool:
        assert isinstance(memory, int)
        return self.machine.is_final(memory)

    def is_over(self, memory: Memory) -> bool:
        assert isinstance(memory, int)
        return not (self.machine.table[memory] != DEAD).any()

    def boundaries(self) -> Iterable[int]:
        changes: list[int] = np.flatnonzero(np.diff(self.machine.classes[:_BYTES])).tolist()
        return (byte + 1 for byte in changes)


class OfNfa:
    """The texts of a machine that is not deterministic: it remembers the states it may be in."""

    def __init__(self, nfa: Nfa) -> None:
        self._nfa = nfa
        flat = nfa.flat
        self._alive = alive_of(
            flat.edges, flat.first, flat.epsilons, flat.first_epsilon, flat.finals
        )
        #: Empty where it has no text at all.
        self.initial: frozenset[int] = self._closed([nfa.initial])

    def _closed(self, states: list[int]) -> frozenset[int]:
        """These and all that is reached from them without reading, as far as an end is reached."""
        found = {state for state in states if self._alive[state]}
        waiting = list(found)
        while waiting:
            for target in self._nfa.epsilons[waiting.pop()]:
                if target not in found and self._alive[target]:
                    found.add(target)
                    waiting.append(target)
        return frozenset(found)

    def step(self, memory: Memory, byte: int) -> Memory | None:
        assert isinstance(memory, frozenset)
        edges = self._nfa.edges
        reached = [
            target for state in memory for low, high, target in edges[state] if low <= byte <= high
        ]
        return self._closed(reached) or None

    def ends(self, memory: Memory) -> bool:
        assert isinstance(memory, frozenset)
        return not self._nfa.finals.isdisjoint(memory)

    def is_over(self, memory: Memory) -> bool:
        assert isinstance(memory, frozenset)
        edges = self._nfa.edges
        return not any(self._alive[target] for s in memory for _, _, target in edges[s])

    def boundaries(self) -> Iterable[int]:
        lows, highs = self._nfa.flat.edges[:, 0], self._nfa.flat.edges[:, 1]
        found: list[int] = np.union1d(lows, highs + 1).tolist()
        return found
