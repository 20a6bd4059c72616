"""Follows a run in each picture: tokens become the states they pass."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from workbench.automata.dfa import DEAD, Dfa
from workbench.automata.lazy import LazyDfa
from workbench.errors import LimitError, WorkbenchError
from workbench.pipeline import Compiled, Followed, Machine
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner
from workbench.signs import signed
from workbench.source import Span
from workbench.ui.read_in import ReadIn
from workbench.ui.ways import Standing, Way, stands_inside, ways

#: The moments of a token in a picture, from before it to after it. A moment names states: first
#: the one of the way that is told, then those of all other ways the text can still be read.
Path = list[list[str]]

#: What the inspector says of a place that no picture knows.
NOWHERE = "outside"

#: The name of the stack before and after a token among the paths.
STACKS = "stacks"

#: Other ways whose stacks are told, and boxes told of a stack.
_OTHERS = 3
_BOXES = 60


@dataclass(frozen=True, slots=True)
class Place:
    """Where a token was taken."""

    #: What the inspector calls it.
    state: str
    #: The states passed, by whose they are; ``stacks`` are the two stacks, as records.
    path: dict[str, list[Any]]
    #: The rules being read, the outermost first; none for a regex.
    stack: tuple[str, ...]
    #: The pieces of the grammar's text that could read it, where its rules have no lines.
    read_in: tuple[Span, ...] = ()


class Follower:
    """Runs the machines of a grammar beside a generation, token by token; labels by their signs.

    The constraint's own states are its own affair; pictures show the machines as they
    are written: the character automaton, every rule apart, and the rules put into each
    other where only these have a finite machine over tokens. Without a mask a run may
    leave the language; from there on it is nowhere.
    """

    def __init__(self, compiled: Compiled) -> None:
        if compiled.grammar is None:
            raise WorkbenchError("the grammar cannot be read", "fix its problems first")
        grammar = signed(compiled.grammar)
        self._characters: _Characters | None = None
        self._rules: _Rules | None = None
        self._fewer: _Rules | None = None
        rules: Network | None = None
        with suppress(LimitError):  # where they explode there is no picture of them to follow
            rules = grammar.rules
        if (machine := compiled.characters) is not None:
            self._characters = _Characters(machine, _numbers(compiled, Machine.CHARACTERS))
        else:
            self._fewer = _Rules(grammar.network, Runner(grammar.network, grammar.limits), {})
        if rules is not None:
            numbers = _numbers(compiled, Machine.RULES)
            self._rules = _Rules(rules, Runner(rules, grammar.limits), numbers)
        self._named = grammar.tree is not None
        self._read_in = ReadIn(compiled.grammar)

    def take(self, token: bytes) -> Place:
        """The place a token is taken at; the follower moves on past it."""
        path: dict[str, list[Any]] = {}
        name = NOWHERE
        stack: tuple[str, ...] = ()
        if self._rules is not None and (read := self._rules.take(token)) is not None:
            path[Followed.RULES.value] = read.passed
            path[STACKS] = read.stacks
            stack = read.named if self._named else ()
            name = read.name
        if self._fewer is not None and (fewer := self._fewer.take(token)) is not None:
            path[Followed.NETWORK.value] = fewer.passed
        if self._characters is not None and (passed := self._characters.take(token)):
            path[Followed.CHARACTERS.value] = passed
            name = self._characters.number(passed[0][0])
        return Place(name, path, stack, self._read_in.take(token))


def _numbers(compiled: Compiled, machine: Machine) -> Mapping[str, str]:
    """The numbers of the states of a machine as pictures show them."""
    if compiled.missing(machine):
        return {}
    try:
        return compiled.drawn(machine).numbers
    except WorkbenchError:
        return {}


def _number(numbers: Mapping[str, str], state: str) -> str:
    """The number of a state; a state between the bytes of a character has none."""
    return numbers.get(state, "…" if numbers else state)


class _Characters:
    """The character automaton beside a run."""

    def __init__(self, machine: Dfa | LazyDfa, numbers: Mapping[str, str]) -> None:
        self._machine = machine
        self._numbers = numbers
        self._state: int = DEAD if machine.is_empty else machine.initial

    def number(self, state: str) -> str:
        """The number a reader knows a state by."""
        return _number(self._numbers, state)

    def take(self, token: bytes) -> Path:
        """The states between the characters of a token; half a character ends where it ends."""
        passed = [self._state]
        for position, byte in enumerate(token):
            if self._state == DEAD:
                break
            self._state = self._machine.step(self._state, byte)
            if not stands_inside(token, position):
                passed.append(self._state)
        return [[str(state)] for state in passed if state != DEAD]


@dataclass(frozen=True, slots=True)
class _Read:
    """What became of a token in a network."""

    name: str
    passed: Path
    stacks: list[dict[str, Any]]
    named: tuple[str, ...]


class _Rules:
    """A network of rules beside a run."""

    def __init__(self, network: Network, runner: Runner, numbers: Mapping[str, str]) -> None:
        self._network = network
        self._numbers = numbers
        self._runner = runner
        self._situation = runner.initial

    def take(self, token: bytes) -> _Read | None:
        """How a token is read; None from where the text has left the language."""
        if self._situation == DEAD:
            return None
        before = self._standing()
        try:
            self._situation = self._runner.run(token, self._situation)
        except LimitError:
            # too ambiguous to be told which rules are read: the run itself goes on
            self._situation = DEAD
        found = ways(self._network, before, token) if token else []
        if not found or self._situation == DEAD:
            return self._told(_staying(before[0]), before, before)
        return self._told(min(found, key=_by_place), before, self._standing())

    def _standing(self) -> list[Standing]:
        """Every way the text so far can have been read."""
        runner = self._runner
        return [(s, runner.stack(n)) for s, n in runner.configurations(self._situation)]

    def _told(self, way: Way, before: list[Standing], after: list[Standing]) -> _Read:
        state, waiting = way.before
        owner, names = self._network.owner, self._network.names
        named = tuple(names[int(owner[at])] for at in (*waiting, state))
        stacks = [self._stack(way.before, before)]
        if len(way.passed) > 1:
            stacks.append({**self._stack(way.after, after), "kept": way.kept})
        return _Read(
            f"{named[-1]} · {_number(self._numbers, str(state))}",
            _moments(way.passed, before, after),
            stacks,
            named,
        )

    def _stack(self, told: Standing, all_ways: list[Standing]) -> dict[str, Any]:
        """A stack as boxes, the bottom first: what waits, then what is being read."""
        others = [other for other in all_ways if other != told]
        return {
            "boxes": self._boxes(told),
            "depth": len(told[1]),
            "ways": len(all_ways),
            "others": [self._boxes(other) for other in others[:_OTHERS]],
        }

    def _boxes(self, standing: Standing) -> list[dict[str, str]]:
        state, waiting = standing
        owner, names = self._network.owner, self._network.names
        shown = (*waiting, state)[-_BOXES:]
        return [
            {
                "rule": names[int(owner[at])],
                "state": str(at),
                "number": _number(self._numbers, str(at)),
            }
            for at in shown
        ]


def _staying(at: Standing) -> Way:
    """No way on: the end, or a token that is not read to its end."""
    return Way(at, at, len(at[1]), (str(at[0]),))


def _by_place(way: Way) -> tuple[int, Standing]:
    """Of several ways the one with the shortest stack is told, for its picture is the calmest."""
    return len(way.before[1]) + len(way.after[1]), way.before


def _moments(passed: tuple[str, ...], before: list[Standing], after: list[Standing]) -> Path:
    """One way in a picture, with the other places the text may stand at in both ends."""
    moments = [[state] for state in passed]
    for moment, standing in ((moments[0], before), (moments[-1], after)):
        moment.extend(s for state, _ in standing if (s := str(state)) not in moment)
        if len(moments) == 1:
            break
    return moments
