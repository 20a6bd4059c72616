"""Draws accepted texts of an automaton at random, of a given length.

``PathCounts`` counts the accepting paths of each length, so every path of one length is drawn with
equal probability. ``analysis.random_texts`` uses it for small automata and random walks for others.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from random import Random

from workbench.automata.code_points import CharacterFsa, fold
from workbench.base.dfa import Dfa, State
from workbench.syntax.ranges import Ranges

#: Kinds of characters and the weight with which one of each kind is drawn: letters, digits and
#: spaces before the rest of ASCII, and that before other scripts and control characters.
_KINDS: tuple[tuple[Ranges, float], ...] = (
    (((0x61, 0x7A),), 6.0),
    (((0x41, 0x5A),), 2.0),
    (((0x30, 0x39),), 3.0),
    (((0x20, 0x20),), 1.5),
    (((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)), 0.5),
    (((0x80, 0xFFFF),), 0.2),
    (((0x10000, 0x10FFFF),), 0.05),
    (((0x00, 0x1F), (0x7F, 0x7F)), 0.1),
)
#: Categories of invisible characters, and how often such a character is drawn again.
_INVISIBLE, _MAX_DRAWS = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Mn", "Me"}), 12


def character(ranges: Ranges, random: Random) -> str:
    """A random character of a set; readable ones are more frequent."""
    kinds = [(part, weight) for kind, weight in _KINDS if (part := _common(ranges, kind))]
    part = random.choices([part for part, _ in kinds], [weight for _, weight in kinds])[0]
    found = "\0"
    for _ in range(_MAX_DRAWS):
        low, high = random.choice(part)
        found = chr(random.randint(low, high))
        if unicodedata.category(found) not in _INVISIBLE:
            break
    return found


def is_readable(ranges: Ranges) -> bool:
    """Whether a set contains a printable ASCII character."""
    return any(low <= 0x7E and high >= 0x20 for low, high in ranges)


def _common(ranges: Ranges, kind: Ranges) -> list[tuple[int, int]]:
    # not ``ranges.intersection``: it took most of the time of a sample
    return [
        (max(low, first), min(high, last))
        for low, high in ranges
        for first, last in kind
        if low <= last and first <= high
    ]


class PathCounts:
    """The accepting paths of an automaton over characters, counted by length up to ``longest``.

    Cost: lengths × edges additions of integers.
    """

    def __init__(self, dfa: Dfa, longest: int) -> None:
        machine: CharacterFsa = fold(dfa)
        self._initial = machine.initial
        self._edges: dict[State, list[tuple[Ranges, State]]] = {s: [] for s in machine.states}
        for source, ranges, target in machine.edges:
            self._edges[source].append((ranges, target))
        #: For each length and state, how many paths of that length lead to a final state.
        self._counts = [dict.fromkeys(machine.finals, 1)]
        for _ in range(longest):
            before = self._counts[-1]
            row = {
                state: count
                for state, edges in self._edges.items()
                if (count := sum(before.get(target, 0) for _, target in edges))
            }
            self._counts.append(row)
        self.lengths = [n for n, row in enumerate(self._counts) if row.get(self._initial)]

    def count(self, length: int) -> int:
        """The number of accepting paths of a length."""
        return self._counts[length].get(self._initial, 0)

    def draw(self, random: Random) -> str:
        """A random text: the i-th possible length has weight 1/i, its paths are equally likely.

        The character of each edge is drawn by ``character``.
        """
        weights = [1 / i for i in range(1, len(self.lengths) + 1)]
        length = random.choices(self.lengths, weights)[0]
        return "".join(self._walk(length, random))

    def _walk(self, length: int, random: Random) -> Iterator[str]:
        state = self._initial
        for left in range(length, 0, -1):
            edges, row = self._edges[state], self._counts[left - 1]
            chosen = random.randrange(self._counts[left][state])
            for ranges, target in edges:
                chosen -= row.get(target, 0)
                if chosen < 0:
                    yield character(ranges, random)
                    state = target
                    break
