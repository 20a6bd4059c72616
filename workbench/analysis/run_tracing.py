"""Follows a run through the machines and through the grammar's text.

A way names every state, call and return in order, so that a picture can light exactly what was
passed, and the stack before and after. The runner itself keeps sets of configurations; here each
way has a record. The page shows one and says how many there are.

For notations whose rules have no separate lines: a schema, a dataclass, a regex. Elsewhere the
lines of the rules being read are enough.

A cycle is a strongly connected component of the machine that a run is followed in: the character
automaton, or that of one rule (a call counts as an edge to where it returns).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.analysis.earley import Places
from workbench.automata.graphs import cyclic_components
from workbench.automata.lazy_dfa import LazyDfa
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import LimitError
from workbench.base.source import Span
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import LEAD, signed
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner

#: A state and the return states that wait below it, the innermost last.
Standing = tuple[State, tuple[State, ...]]

#: Places are told apart by their configuration; past so many a byte is not followed further.
_MAX_WAYS = 400


@dataclass(frozen=True, slots=True)
class Way:
    """One way a token was read."""

    before: Standing
    after: Standing
    #: How many waiting states are not touched: those above were taken off, then others put on.
    kept: int
    #: What is passed in the picture of the rules: states and calls.
    passed: tuple[str, ...]


#: A way so far: where it began, what it left on the stack, and what it passed.
_Trail = tuple[Standing, int, tuple[str, ...]]

#: The configuration after a byte, the lowest the stack has been meanwhile, and what was passed.
_Step = tuple[Standing, int, tuple[str, ...]]


def ways(network: Network, standing: Iterable[Standing], token: bytes) -> list[Way]:
    """Every way to read a token, one for each place it ends at; none where there are too many.

    Cost: the configurations met, at most ``_MOST`` a byte.
    """
    here: dict[Standing, _Trail] = {
        each: (each, len(each[1]), (str(each[0]),)) for each in standing
    }
    for position, byte in enumerate(token):
        inside = stands_inside(token, position)
        there: dict[Standing, _Trail] = {}
        for at, (begun, kept, passed) in here.items():
            for end, low, more in _read(network, at, byte, inside=inside):
                there.setdefault(end, (begun, min(kept, low), (*passed, *more)))
        if len(there) > _MAX_WAYS:
            return []
        here = there
    return [Way(begun, end, kept, passed) for end, (begun, kept, passed) in here.items()]


def stands_inside(token: bytes, position: int) -> bool:
    """Whether a byte ends no character and no sign: it is inside an edge of every picture."""
    after = token[position + 1 : position + 2]
    return token[position] == LEAD or b"\x80" <= after < b"\xc0"


def _read(network: Network, at: Standing, byte: int, *, inside: bool) -> Iterator[_Step]:
    """Every configuration a byte leads to, with what is passed on the way."""
    column = network.classes[byte]
    for inner, stack, calls in _opened(network, *at):
        target = int(network.table[inner, column])
        if target == DEAD:
            continue
        read = () if inside else (str(target),)
        yield from _settled(network, (target, stack), (*calls, *read))


def _opened(
    network: Network, state: State, stack: tuple[State, ...]
) -> Iterator[tuple[State, tuple[State, ...], tuple[str, ...]]]:
    """The state itself and the first states of all it can call, with the calls passed."""
    waiting: list[tuple[State, tuple[State, ...], tuple[str, ...]]] = [(state, stack, ())]
    for inner, below, passed in waiting:  # grows while it is read
        yield inner, below, passed
        for rule, back in network.calling[inner]:
            first = network.initials[rule]
            above = below
            # a return state that may be repeated anyway is put on the stack once
            if network.waits(back) and not (network.stars[back] and below[-1:] == (back,)):
                above = (*below, back)
            waiting.append((first, above, (*passed, f"call-{rule}-{back}", str(first))))


def _settled(network: Network, at: Standing, passed: tuple[str, ...]) -> Iterator[_Step]:
    """The configuration after a byte, and every one it returns to without reading more."""
    (state, stack) = at
    low = len(stack)
    while True:
        if network.stars[state]:
            while stack and stack[-1] == state:
                stack = stack[:-1]
        low = min(low, len(stack))
        if not stack or network.goes_on[state]:
            yield (state, stack), low, passed
        if not network.finals[state] or not stack:
            return
        rule, back = int(network.owner[state]), stack[-1]
        state, stack = back, stack[:-1]
        passed = (*passed, f"call-{rule}-{back}", str(back))


#: Pieces that are reported at most; more would be the whole text.
_MAX_PIECES = 40


class ReadIn:
    """Follows a generation in the text of a grammar, token by token."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._taken = b""
        self._lost = grammar.tree is not None and not grammar.notation.is_translated

    @cached_property
    def _places(self) -> Places:
        """A separate copy that continues where the last token of this run ended."""
        return Places.of(self._grammar)

    def take(self, token: bytes) -> tuple[Span, ...]:
        """The pieces that could read before this token; none from where the text has left them.

        Cost: some 10 µs a byte for a regex, up to 50 for rules.
        """
        if self._lost:
            return ()
        try:
            here = self._places.after(self._taken, self._grammar.limits)
        except LimitError:
            here = None
        self._taken += token
        if here is None:
            self._lost = True
            return ()
        return innermost([place.span for place in here.places[:_MAX_PIECES]])


def innermost(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Those inside which no other is: an object is not marked where one of its values is read."""
    each = dict.fromkeys(spans)
    return tuple(
        outer
        for outer in each
        if not any(
            inner != outer and outer.start <= inner.start and inner.end <= outer.end
            for inner in each
        )
    )


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


class Followed(StrEnum):
    """The machine whose states a picture shows."""

    CHARACTERS = "characters"
    #: The rules as they are written, connected by calls.
    RULES = "rules"
    #: The network of the engine, in which some rules are inlined.
    NETWORK = "network"


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

    def __init__(
        self,
        written: Grammar,
        characters: Dfa | LazyDfa | None,
        numbers_of: Callable[[Followed], Mapping[str, str]],
    ) -> None:
        """``characters`` is the character automaton, None where the language is not regular.

        ``numbers_of`` returns the numbers by which pictures call the states of a machine.
        """
        grammar = signed(written)
        self._characters: _Characters | None = None
        self._rules: _Rules | None = None
        self._fewer: _Rules | None = None
        rules: Network | None = None
        with suppress(LimitError):  # where they explode there is no picture of them to follow
            rules = grammar.rules
        if characters is not None:
            self._characters = _Characters(characters, numbers_of(Followed.CHARACTERS))
        else:
            self._fewer = _Rules(grammar.network, Runner(grammar.network, grammar.limits), {})
        if rules is not None:
            numbers = numbers_of(Followed.RULES)
            self._rules = _Rules(rules, Runner(rules, grammar.limits), numbers)
        self._named = grammar.tree is not None
        self._read_in = ReadIn(written)

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


#: Machines with more states are not searched: it would take longer than their run.
_MOST_STATES = 20_000

#: The states passed, moment by moment, each a few states by name.
_Path = list[list[str]]


def circle(grammar: Grammar, path: Mapping[str, _Path]) -> int | None:
    """The cycle a token does not leave, named by its first state; None without a cycle."""
    kind = next((k for k in (Followed.CHARACTERS.value, Followed.NETWORK.value) if k in path), "")
    moments = path.get(kind, [])
    if not moments:
        return None
    circle_of = _circles(grammar, kind)
    # a way that leaves a component and comes back would be part of it
    ends = (moments[0], moments[-1])
    shared = [{circle_of.get(state) for state in moment} for moment in ends]
    found = set.intersection(*shared) - {None}
    return min((name for name in found if name is not None), default=None)


@lru_cache(maxsize=64)
def _circles(grammar: Grammar, kind: str) -> dict[str, int]:
    """The cycle of every state that is on one."""
    try:
        pictured = signed(grammar)
        machine = pictured.dfa if kind == Followed.CHARACTERS.value else pictured.network
    except LimitError:
        return {}
    if machine is None or len(machine) > _MOST_STATES:
        return {}
    return {
        str(state): min(members)
        for members in cyclic_components(_targets(machine.table))
        for state in members
    }


def _targets(table: npt.NDArray[np.int32]) -> dict[int, set[int]]:
    return {state: set(row[row != DEAD].tolist()) for state, row in enumerate(table)}
