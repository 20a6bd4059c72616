"""Derives the machine of string values from the machine of their JSON texts.

A character of a JSON string has several spellings; spelled out, each state has some twenty more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from workbench.automata.dfa import DEAD, Dfa, State
from workbench.automata.fold import CharacterFsa, Steps, character_edges
from workbench.syntax.ranges import difference, intersection, normalized
from workbench.syntax.regex.tree import Ranges

#: What may follow a backslash, and the character it says.
SHORT = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CONTROLS = ((0x00, 0x1F),)
#: What stands in a string by an escape alone, and what has a short one.
ESCAPED = normalized([*_CONTROLS, (ord('"'), ord('"')), (ord("\\"), ord("\\"))])
SHORTENED = normalized((ord(c), ord(c)) for c in SHORT.values())
_HIGH, _LOW, _FURTHER = (0xD800, 0xDBFF), (0xDC00, 0xDFFF), ((0x10000, 0x10FFFF),)
_HALVES = (_HIGH[0], _LOW[1])
#: Code points or units, and where they lead.
_Pieces = list[tuple[int, int, State]]
_Edges = dict[State, Ranges]


class _OtherwiseError(Exception):
    """Some spelling of a character means something else than another."""


def json_contents(dfa: Dfa) -> tuple[CharacterFsa, bool] | None:
    """The machine of what is said, its states those of the Dfa; and whether quotes stand around.

    None where the texts are no JSON strings or parts of them, or a character may be written in some
    of its ways alone, as in the words of an ``enum``.

    Law: a text is accepted if and only if each of its characters stands in any spelling of
         RFC 8259, §7, and the machine accepts what they say.
    """
    reading = _Reading(dfa)
    try:
        return reading.contents(), reading.quoted
    except _OtherwiseError:
        return None


class _Reading:
    def __init__(self, dfa: Dfa) -> None:
        self._dfa = dfa
        self._rows: list[list[State]] = dfa.table.tolist()
        self._steps = Steps(dfa)
        self._units: dict[tuple[State, int], _Pieces] = {}
        self._finals: list[bool] = dfa.finals.tolist()
        self.quoted = self._read(dfa.initial, '"') != DEAD

    def contents(self) -> CharacterFsa:
        first = self._begun() if self.quoted else self._dfa.initial
        seen, finals = {first}, set[State]()
        waiting = [first]
        edges: list[tuple[State, Ranges, State]] = []
        for state in waiting:  # grows while it is read
            if self._ends(state):
                finals.add(state)
            for target, ranges in sorted(self._edges(state).items(), key=lambda edge: edge[1]):
                edges.append((state, ranges, target))
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return CharacterFsa(first, tuple(waiting), frozenset(finals), tuple(edges), ())

    def _step(self, state: State, byte: int) -> State:
        return DEAD if state == DEAD else self._steps.step(state, byte)

    def _read(self, state: State, text: str) -> State:
        for character in text:
            state = self._step(state, ord(character))
        return state

    def _begun(self) -> State:
        """The state behind the first quote, which is all a text may begin with."""
        initial = self._dfa.initial
        if any(self._step(initial, byte) != DEAD for byte in range(256) if byte != ord('"')):
            raise _OtherwiseError
        return self._read(initial, '"')

    def _ends(self, state: State) -> bool:
        """Whether the string, or the part of one, may end here; nothing may follow a last quote."""
        behind = self._read(state, '"')
        if not self.quoted and behind == DEAD:
            return self._finals[state]
        if self._finals[state] or not self.quoted:
            raise _OtherwiseError
        if behind == DEAD:
            return False
        if not self._finals[behind] or any(there != DEAD for there in self._rows[behind]):
            raise _OtherwiseError
        return True

    def _edges(self, state: State) -> _Edges:
        """Which characters lead where, in every spelling alike."""
        if self._steps.stray(state):
            raise _OtherwiseError
        escape = self._read(state, "\\")
        spelled = self._by_numbers(escape)
        plain: _Edges = {}
        for ranges, target in character_edges(self._step, state, self._dfa.classes):
            if intersection(ranges, _CONTROLS):
                raise _OtherwiseError
            if rest := difference(ranges, ESCAPED):  # else it is the last quote or a backslash
                plain[target] = rest
        short: dict[State, list[tuple[int, int]]] = defaultdict(list)
        for letter, said in SHORT.items():
            if (target := self._read(escape, letter)) != DEAD:
                short[target].append((ord(said), ord(said)))
        for target in {*spelled, *plain, *short}:
            ranges = spelled.get(target, ())
            if plain.get(target, ()) != difference(ranges, ESCAPED):
                raise _OtherwiseError
            if normalized(short.get(target, ())) != intersection(ranges, SHORTENED):
                raise _OtherwiseError
        return spelled

    def _by_numbers(self, escape: State) -> _Edges:
        """What ``\\uXXXX`` leads to, behind the backslash, and two of them of a character."""
        found: dict[State, list[tuple[int, int]]] = defaultdict(list)
        for low, high, target in self._unit(self._read(escape, "u"), 4):
            for ranges in difference(((low, high),), (_HALVES,)):
                found[target].append(ranges)
            for first, last in intersection(((low, high),), (_HALVES,)):
                for piece in self._pairs(first, last, target):
                    found[piece[2]].append(piece[:2])
        return {target: normalized(pieces) for target, pieces in found.items()}

    def _pairs(self, first: int, last: int, between: State) -> Iterator[tuple[int, int, State]]:
        """The characters of a first half of a pair, from a range of such, and any second half."""
        for low, high, target in self._unit(self._read(between, "\\u"), 4):
            if last > _HIGH[1] or low < _LOW[0] or high > _LOW[1]:
                raise _OtherwiseError
            if (low, high) == _LOW:
                yield _character(first, low), _character(last, high), target
                continue
            for half in range(first, last + 1):
                yield _character(half, low), _character(half, high), target

    def _unit(self, state: State, digits: int) -> _Pieces:
        """Numbers of so many hexadecimal digits, in letters of either case."""
        if digits == 0:
            return [(0, 0, state)]
        key = state, digits
        if key in self._units or state == DEAD:
            return self._units.get(key, [])
        pieces: _Pieces = []
        for digit in range(16):
            target = self._step(state, ord(f"{digit:x}"))
            if target != self._step(state, ord(f"{digit:X}")):
                raise _OtherwiseError
            base = digit << 4 * (digits - 1)
            for low, high, there in self._unit(target, digits - 1) if target != DEAD else ():
                if pieces and pieces[-1][1:] == (base + low - 1, there):
                    pieces[-1] = pieces[-1][0], base + high, there
                else:
                    pieces.append((base + low, base + high, there))
        self._units[key] = pieces
        return pieces


def _character(high: int, low: int) -> int:
    """The character of two halves (RFC 8259, §7)."""
    return 0x10000 + (high - _HIGH[0] << 10) + low - _LOW[0]
