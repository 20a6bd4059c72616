r"""A regex as interegular's finite-state machine over characters, which Algorithms 3 and 4 walk.

In comes a regex tree, out comes an ``FSM`` made by interegular's own algebra (concatenate, union,
times, star), with the characters it tells apart.

interegular's parser is not used: its ``\d`` and ``\w`` are ASCII, it knows no ``\u``, no anchors
and no named classes, and it lists every character of a set. Here the tree is read by this project's
parser, and all characters the regex does not tell apart are one symbol. Its machines are not
reduced either: ``FSM.reduce`` turns a machine around twice, which may explode and cannot be
stopped.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import interegular.fsm

from workbench.constraint.outlines.regex_of import characters_of, not_read
from workbench.limits import LIMITS, Clock, Limits
from workbench.syntax.ranges import contains
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Extension,
    Group,
    Ranges,
    Regex,
    Repeat,
)

#: A state of the machine.
State = int

#: A transition key of the machine: all characters it does not tell apart have one.
Symbol = int

#: interegular, whose operators have no types, and what it makes.
_library: Any = interegular.fsm
_Fsm = Any

#: How many look-ups in a machine pass between two looks at the clock.
_OFTEN = 256


@dataclass(frozen=True, slots=True)
class Alike:
    """Characters in classes: two are in one if and only if no set of the regex tells them apart.

    Shape: ``bounds`` sorted code points; the characters from ``bounds[i]`` to the next have the
           class ``classes[i]``, or None where no set has them.
    """

    bounds: tuple[int, ...]
    classes: tuple[int | None, ...]

    @staticmethod
    def of(sets: tuple[Ranges, ...]) -> Alike:
        """The classes of some sets; a class is called by its first character."""
        cuts = {edge for ranges in sets for low, high in ranges for edge in (low, high + 1)}
        bounds = tuple(sorted(cuts))
        named: dict[tuple[bool, ...], int] = {}
        classes = []
        for bound in bounds:
            members = tuple(contains(ranges, bound) for ranges in sets)
            classes.append(named.setdefault(members, bound) if any(members) else None)
        return Alike(bounds, tuple(classes))

    def of_character(self, code: int) -> int | None:
        position = bisect_right(self.bounds, code) - 1
        return self.classes[position] if position >= 0 else None

    def members(self, name: int) -> Iterator[tuple[int, int]]:
        """The ranges of the class of that name."""
        for i, its_class in enumerate(self.classes):
            if its_class == name:
                yield self.bounds[i], self.bounds[i + 1] - 1


@dataclass(frozen=True, eq=False)
class CharacterMachine:
    """M = (Q, Σ, δ, q₀, F) as the paper writes it, Σ the symbols of interegular's alphabet."""

    fsm: _Fsm
    alike: Alike

    @property
    def initial(self) -> State:
        return int(self.fsm.initial)

    @cached_property
    def finals(self) -> frozenset[State]:
        return frozenset(map(int, self.fsm.finals))

    @cached_property
    def edges(self) -> dict[State, dict[Symbol, State]]:
        """δ by state; what is not there is not read."""
        return {state: dict(self.fsm.map.get(state, {})) for state in sorted(self.fsm.states)}

    def delta(self, state: State, symbol: Symbol) -> State | None:
        """δ(q, v), None where the machine does not read v."""
        return self.edges[state].get(symbol)

    @cached_property
    def readers(self) -> dict[Symbol, list[State]]:
        """δ(·, v): the states that read a symbol, for all of them."""
        found: dict[Symbol, list[State]] = {}
        for state, edges in self.edges.items():
            for symbol in edges:
                found.setdefault(symbol, []).append(state)
        return found

    @cached_property
    def _symbols(self) -> dict[int, Symbol]:
        return {int(name): int(key) for name, key in self.fsm.alphabet.items()}

    @cached_property
    def _names(self) -> dict[Symbol, int]:
        return {symbol: name for name, symbol in self._symbols.items()}

    @cached_property
    def _known(self) -> dict[str, Symbol | None]:
        """The symbols of the characters that were asked for."""
        return {}

    def symbols(self, text: str) -> tuple[Symbol, ...] | None:
        """A text as the machine reads it; None where it has a character no set of the regex has."""
        found = []
        for character in text:
            if character not in self._known:
                its_class = self.alike.of_character(ord(character))
                self._known[character] = None if its_class is None else self._symbols[its_class]
            symbol = self._known[character]
            if symbol is None:
                return None
            found.append(symbol)
        return tuple(found)

    def only_character(self, symbol: Symbol) -> str | None:
        """The character of a symbol that stands for a single one."""
        name = self._names[symbol]
        members = list(self.alike.members(name))
        return chr(name) if members == [(name, name)] else None


def character_machine(regex: Regex, limits: Limits = LIMITS) -> CharacterMachine:
    """The machine of a regex.

    Raises: WorkbenchError for bytes that are no ASCII; LimitError past ``limits.seconds``.
    """
    alike = Alike.of(tuple(dict.fromkeys(_sets(regex, set()))))
    names = sorted({name for name in alike.classes if name is not None})
    # by numbers: texts would be met in another order in every process, and states numbered so
    alphabet = _library.Alphabet.from_groups(*([name] for name in names))
    made = _Maker(alphabet, alike, limits.clock()).of(regex)
    return CharacterMachine(made, alike)


def _sets(regex: Regex, seen: set[int]) -> Iterator[Ranges]:
    """Every set of characters in a regex; parts that several rules share are looked at once."""
    if id(regex) in seen:
        return
    seen.add(id(regex))
    match regex:
        case Characters() | Bytes():
            yield characters_of(regex)
        case Concat(parts=parts) | Alternate(options=parts):
            for part in parts:
                yield from _sets(part, seen)
        case Repeat(part=part) | Group(part=part):
            yield from _sets(part, seen)


class _Pace:
    """A clock that is looked at every so often."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._passed = 0

    def keep(self) -> None:
        """One more small step. Raises: LimitError when the time is over."""
        self._passed += 1
        if self._passed % _OFTEN == 0:
            self._clock.check()


class _Maker:
    """interegular's algebra over the tree; parts that several rules share are made once."""

    def __init__(self, alphabet: _Fsm, alike: Alike, clock: Clock) -> None:
        self._alphabet = alphabet
        self._alike = alike
        self._clock = clock
        self._pace = _Pace(clock)
        self._nothing: _Fsm = _library.FSM(alphabet, {0}, 0, {0}, {})
        self._known: dict[int, _Fsm] = {}

    def of(self, regex: Regex) -> _Fsm:
        known = self._known.get(id(regex))
        if known is None:
            self._clock.check()
            known = self._known[id(regex)] = self._watched(self._made(regex))
        return known

    def _made(self, regex: Regex) -> _Fsm:
        match regex:
            case Characters(ranges=ranges) | Bytes(ranges=ranges):
                return self._one_of(ranges)
            case Concat(parts=()):
                return self._nothing
            case Concat(parts=parts):
                return _library.FSM.concatenate(*map(self.of, parts))
            case Alternate(options=options):
                return _library.FSM.union(*map(self.of, options))
            case Group(part=part):
                return self.of(part)
            case Repeat(part=part, low=low, high=high):
                unit = self.of(part)
                if high is None:
                    return unit.star() if low == 0 else unit * low + self._watched(unit.star())
                needed, optional = unit * low, self._watched(self._nothing | unit)
                return self._watched(needed) + self._watched(optional * (high - low))
            case Extension(kind=kind):
                raise not_read(kind)

    def _one_of(self, ranges: Ranges) -> _Fsm:
        names = {name for name in self._alike.classes if name is not None}
        read = {self._alphabet[n]: 1 for n in names if contains(ranges, n)}
        return _library.FSM(self._alphabet, {0, 1}, 0, {1}, {0: read, 1: {}})

    def _watched(self, fsm: _Fsm) -> _Fsm:
        """The same machine; whatever is made of it looks at the clock as it reads its map."""
        watched = _Watched(fsm.map)
        watched.pace = self._pace
        return _library.FSM(
            fsm.alphabet, fsm.states, fsm.initial, fsm.finals, watched, __no_validation__=True
        )


class _Watched(dict[State, dict[Symbol, State]]):
    """The transitions of a machine, asked for at every step of interegular's constructions.

    Any of them may explode, and none can be stopped otherwise.
    """

    pace: _Pace

    def __contains__(self, state: object) -> bool:
        self.pace.keep()
        return super().__contains__(state)
