"""Traces a run through the pictures of its grammar: where each token is read.

Pictures show the machines as they are written, which are not the machine that masks are made
from. The tracer therefore runs them separately, next to the constraint:

* the character automaton, if the language is regular;
* every rule as a separate automaton (``Grammar.rules``), with the stack of return states;
* the network of the engine (``Grammar.network``), in which some rules are inlined;
* the text of the grammar, by the Earley recogniser of ``workbench.analysis.earley``. This is used
  only for notations whose rules have no separate lines (a schema, a dataclass, a regex); elsewhere
  a picture marks the lines of the rules being read.

``Runner`` keeps sets of configurations. ``token_paths`` keeps a record for each of them: every
state, call and return in order, so that a picture can light exactly what was passed, and the stack
before and after. The page shows one path and reports how many there are.

``token_cycle`` finds the cycle a token does not leave: a strongly connected component of the
traced machine (for rules, a call counts as an edge to its return state).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.analysis.earley import SourceRecognizer
from workbench.automata.graphs import cyclic_components
from workbench.automata.lazy_dfa import LazyDfa
from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import LimitError
from workbench.base.limits import check_time_budget
from workbench.base.source import Span
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import LEAD, encode_labels
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner

#: A state and the return states on the stack, the innermost last.
Configuration = tuple[State, tuple[State, ...]]

#: The states a token passes in a picture, from before it to after it. Each moment names states:
#: first the one of the path that is shown, then those of all other paths that read the text.
Moments = list[list[str]]

#: The name of the position after a text that is no prefix of an accepted text.
OUTSIDE = "outside"

#: The key of the stacks before and after a token, among the moments.
STACKS = "stacks"

#: A token that leads to more configurations than these is not traced.
_MAX_CONFIGURATIONS = 400
#: The most rows of calls with which one of them may begin a byte.
_MAX_CALLS = 10_000
#: The other stacks that are listed, and the boxes listed of each stack.
_MAX_OTHER_STACKS = 3
_MAX_BOXES = 60
#: The most pieces of the grammar's text that are marked; more would be the whole text.
_MAX_PIECES = 40
#: Cycles of larger machines are not searched: that would take longer than the run.
_MAX_CYCLE_STATES = 20_000


class PicturedMachine(StrEnum):
    """The machine whose states a picture shows."""

    CHARACTERS = "characters"
    #: The rules as they are written, connected by calls.
    RULES = "rules"
    #: The network of the engine, in which some rules are inlined.
    NETWORK = "network"


@dataclass(frozen=True, slots=True)
class TracedToken:
    """Where a token was read, in every picture."""

    #: The name of the state before the token, for the inspector.
    state: str
    #: The states passed, by ``PicturedMachine``; under ``STACKS`` the two stacks, as records.
    path: dict[str, list[Any]]
    #: The rules being read, the outermost first; none for a regex.
    stack: tuple[str, ...]
    #: The pieces of the grammar's text that could read it, if its rules have no separate lines.
    read_in: tuple[Span, ...] = ()


class RunTracer:
    """Runs the machines of a grammar next to a generation, token by token.

    It is independent of the constraint's states. Labels are read in their encoding. Without a
    mask a run may leave the language; from there on its position is ``OUTSIDE``.
    """

    def __init__(
        self,
        written: Grammar,
        characters: Dfa | LazyDfa | None,
        character_numbers: Mapping[str, str],
        rule_numbers: Mapping[str, str],
    ) -> None:
        """``characters`` is the character automaton, None if the language is not regular.

        The numbers are those by which the pictures of the two machines call their states.
        """
        grammar = encode_labels(written)
        self._characters: _CharacterTracer | None = None
        self._rules: _NetworkTracer | None = None
        self._network: _NetworkTracer | None = None
        rules: Network | None = None
        with suppress(LimitError):  # rules that exceed a limit have no picture
            rules = grammar.rules
        if characters is not None:
            self._characters = _CharacterTracer(characters, character_numbers)
        else:
            with suppress(LimitError):  # elements in any order may need too many rules
                runner = Runner(grammar.network, grammar.limits)
                self._network = _NetworkTracer(grammar.network, runner, {})
        if rules is not None:
            self._rules = _NetworkTracer(rules, Runner(rules, grammar.limits), rule_numbers)
        self._has_rules = grammar.tree is not None
        self._text = TextTracer(written)

    def take(self, token: bytes) -> TracedToken:
        """Where the token is read; the tracer moves past it."""
        path: dict[str, list[Any]] = {}
        name = OUTSIDE
        stack: tuple[str, ...] = ()
        if self._rules is not None and (read := self._rules.take(token)) is not None:
            path[PicturedMachine.RULES.value] = read.moments
            path[STACKS] = read.stacks
            stack = read.rules if self._has_rules else ()
            name = read.name
        if self._network is not None and (read := self._network.take(token)) is not None:
            path[PicturedMachine.NETWORK.value] = read.moments
        if self._characters is not None and (moments := self._characters.take(token)):
            path[PicturedMachine.CHARACTERS.value] = moments
            name = self._characters.number(moments[0][0])
        return TracedToken(name, path, stack, self._text.take(token))


# -- in the character automaton ----------------------------------------------------------------


class _CharacterTracer:
    """Traces a run in the character automaton."""

    def __init__(self, machine: Dfa | LazyDfa, numbers: Mapping[str, str]) -> None:
        self._machine = machine
        self._numbers = numbers
        self._state: int = DEAD if machine.is_empty else machine.initial

    def number(self, state: str) -> str:
        """The number a picture shows for a state."""
        return _number(self._numbers, state)

    def take(self, token: bytes) -> Moments:
        """The states between the characters of a token, and before and after it."""
        passed = [self._state]
        for position, byte in enumerate(token):
            if self._state == DEAD:
                break
            self._state = self._machine.step(self._state, byte)
            if not is_inside_edge(token, position):
                passed.append(self._state)
        return [[str(state)] for state in passed if state != DEAD]


def is_inside_edge(token: bytes, position: int) -> bool:
    """Whether the state after a byte is inside an edge of every picture.

    An edge of a picture is a whole character or a whole encoded label.
    """
    after = token[position + 1 : position + 2]
    return token[position] == LEAD or b"\x80" <= after < b"\xc0"


def _number(numbers: Mapping[str, str], state: str) -> str:
    """The number of a state; a state between the bytes of a character has none."""
    return numbers.get(state, "mid-character" if numbers else state)


# -- in a network of rules ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _NetworkStep:
    """How a network reads a token."""

    #: The innermost rule and the number of the state, before the token.
    name: str
    moments: Moments
    #: The stack before the token and, if anything was read, after it.
    stacks: list[dict[str, Any]]
    #: The rules being read, the outermost first.
    rules: tuple[str, ...]


class _NetworkTracer:
    """Traces a run in a network of rules."""

    def __init__(self, network: Network, runner: Runner, numbers: Mapping[str, str]) -> None:
        self._network = network
        self._numbers = numbers
        self._runner = runner
        self._situation = runner.initial
        #: Those of the situation.
        self._here = self._configurations()
        #: The boxes of the states, and the steps of configurations by a byte, once computed.
        self._known_boxes: dict[State, dict[str, str]] = {}
        self._known_steps: _Steps = {}

    def take(self, token: bytes) -> _NetworkStep | None:
        """How a token is read; None after the text has left the language."""
        if self._situation == DEAD:
            return None
        before = self._here
        try:
            self._situation = self._runner.run(token, self._situation)
        except LimitError:
            # too ambiguous to trace; the run itself continues
            self._situation = DEAD
        paths = token_paths(self._network, before, token, self._known_steps) if token else []
        if self._situation != DEAD and token:
            self._here = self._configurations()
        if not paths or self._situation == DEAD:
            return self._step(_empty_path(before[0]), before, before)
        return self._step(min(paths, key=_by_depth), before, self._here)

    def _configurations(self) -> list[Configuration]:
        """The configurations of all derivations of the text read."""
        runner = self._runner
        return [(s, runner.stack(n)) for s, n in runner.configurations(self._situation)]

    def _step(
        self, path: TokenPath, before: list[Configuration], after: list[Configuration]
    ) -> _NetworkStep:
        state, returns = path.before
        rules = tuple(self._box(box_state)["rule"] for box_state in (*returns, state))
        stacks = [self._stack(path.before, before)]
        if len(path.passed) > 1:
            stacks.append({**self._stack(path.after, after), "kept": path.kept})
        return _NetworkStep(
            f"{rules[-1]} · {_number(self._numbers, str(state))}",
            _moments(path.passed, before, after),
            stacks,
            rules,
        )

    def _stack(self, shown: Configuration, every: list[Configuration]) -> dict[str, Any]:
        """A stack as boxes, the bottom first: the return states, then the current state."""
        others = [other for other in every if other != shown]
        return {
            "boxes": self._boxes(shown),
            "depth": len(shown[1]),
            "ways": len(every),
            "others": [self._boxes(other) for other in others[:_MAX_OTHER_STACKS]],
        }

    def _boxes(self, configuration: Configuration) -> list[dict[str, str]]:
        state, returns = configuration
        return [self._box(box_state) for box_state in (*returns, state)[-_MAX_BOXES:]]

    def _box(self, state: State) -> dict[str, str]:
        box = self._known_boxes.get(state)
        if box is None:
            box = self._known_boxes[state] = {
                "rule": self._network.names[int(self._network.owner[state])],
                "state": str(state),
                "number": _number(self._numbers, str(state)),
            }
        return box


@dataclass(frozen=True, slots=True)
class TokenPath:
    """One path on which a network reads a token."""

    before: Configuration
    after: Configuration
    #: How many return states at the bottom of the stack are never popped on the path.
    kept: int
    #: What is passed in the picture of the rules: states and calls.
    passed: tuple[str, ...]


#: The path up to a byte: where it began, the lowest height of the stack, and what it passed.
_Trail = tuple[Configuration, int, tuple[str, ...]]

#: The configuration after a byte, the lowest height of the stack meanwhile, and what was passed.
_Step = tuple[Configuration, int, tuple[str, ...]]

#: The steps of a configuration by a byte; the boolean is ``inside`` of ``_read_byte``.
_Steps = dict[tuple[Configuration, int, bool], tuple[_Step, ...]]


def token_paths(
    network: Network,
    configurations: Iterable[Configuration],
    token: bytes,
    known_steps: _Steps | None = None,
) -> list[TokenPath]:
    """A path for each configuration a token leads to; empty if there are too many.

    ``known_steps``  the steps that earlier calls for the network computed; extended by new ones.

    Cost: the configurations visited, at most ``_MAX_CONFIGURATIONS`` a byte.
    """
    steps = {} if known_steps is None else known_steps
    trails: dict[Configuration, _Trail] = {
        each: (each, len(each[1]), (str(each[0]),)) for each in configurations
    }
    for position, byte in enumerate(token):
        inside = is_inside_edge(token, position)
        there: dict[Configuration, _Trail] = {}
        for configuration, (begun, kept, passed) in trails.items():
            key = configuration, byte, inside
            if key not in steps:
                try:
                    steps[key] = tuple(_read_byte(network, configuration, byte, inside=inside))
                except LimitError:
                    return []
            for end, low, more in steps[key]:
                there.setdefault(end, (begun, min(kept, low), (*passed, *more)))
        if len(there) > _MAX_CONFIGURATIONS:
            return []
        trails = there
    return [TokenPath(begun, end, kept, passed) for end, (begun, kept, passed) in trails.items()]


def _read_byte(
    network: Network, configuration: Configuration, byte: int, *, inside: bool
) -> Iterator[_Step]:
    """Every configuration a byte leads to, with what is passed."""
    column = network.classes[byte]
    for inner, stack, calls in _after_calls(network, *configuration):
        target = int(network.table[inner, column])
        if target == DEAD:
            continue
        read = () if inside else (str(target),)
        yield from _after_returns(network, (target, stack), (*calls, *read))


def _after_calls(
    network: Network, state: State, stack: tuple[State, ...]
) -> Iterator[tuple[State, tuple[State, ...], tuple[str, ...]]]:
    """The state itself and the initial states of all rules it can call, with the calls passed."""
    waiting: deque[tuple[State, tuple[State, ...], tuple[str, ...]]] = deque([(state, stack, ())])
    count = 0
    while waiting:
        check_time_budget()
        if count + len(waiting) > _MAX_CALLS:
            raise LimitError("a byte may begin too many rows of calls", "configurations")
        inner, below, passed = waiting.popleft()
        count += 1
        yield inner, below, passed
        for rule, back in network.calling[inner]:
            first = network.initials[rule]
            above = below
            # a return state that may be repeated anyway is put on the stack once
            if network.waits(back) and not (network.stars[back] and below[-1:] == (back,)):
                above = (*below, back)
            waiting.append((first, above, (*passed, f"call-{rule}-{back}", str(first))))


def _after_returns(
    network: Network, configuration: Configuration, passed: tuple[str, ...]
) -> Iterator[_Step]:
    """The configuration after a byte, and every one it returns to without reading more."""
    (state, stack) = configuration
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


def _empty_path(configuration: Configuration) -> TokenPath:
    """The path of the end token, or of a token that cannot be read completely."""
    return TokenPath(configuration, configuration, len(configuration[1]), (str(configuration[0]),))


def _by_depth(path: TokenPath) -> tuple[int, Configuration]:
    """The path with the shortest stacks is shown: its picture changes least."""
    return len(path.before[1]) + len(path.after[1]), path.before


def _moments(
    passed: tuple[str, ...], before: list[Configuration], after: list[Configuration]
) -> Moments:
    """One path in a picture; at both ends also the states of all other paths."""
    moments = [[state] for state in passed]
    for moment, configurations in ((moments[0], before), (moments[-1], after)):
        moment.extend(s for state, _ in configurations if (s := str(state)) not in moment)
        if len(moments) == 1:
            break
    return moments


# -- in the text of the grammar ----------------------------------------------------------------


class TextTracer:
    """Traces a run in the text of a grammar."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._taken = b""
        self._lost = grammar.tree is not None and not grammar.is_generated

    @cached_property
    def _recognizer(self) -> SourceRecognizer:
        """Not shared, so that each token continues where the last one of this run ended."""
        return SourceRecognizer.of(self._grammar)

    def take(self, token: bytes) -> tuple[Span, ...]:
        """The pieces that could read before this token; none after the text has left the language.

        Cost: about 10 µs a byte for a regex, up to 50 for rules.
        """
        if self._lost:
            return ()
        try:
            spans = self._recognizer.spans_after(self._taken, self._grammar.limits)
        except LimitError:
            spans = None
        self._taken += token
        if spans is None:
            self._lost = True
            return ()
        return innermost(spans[:_MAX_PIECES])


def innermost(spans: Sequence[Span]) -> tuple[Span, ...]:
    """The spans that contain no other: a schema is not marked if one of its values is read."""
    each = dict.fromkeys(spans)
    return tuple(
        outer
        for outer in each
        if not any(
            inner != outer and outer.start <= inner.start and inner.end <= outer.end
            for inner in each
        )
    )


# -- cycles ------------------------------------------------------------------------------------


def token_cycle(grammar: Grammar, path: Mapping[str, Moments]) -> int | None:
    """The cycle a token does not leave, named by its first state; None without a cycle."""
    kinds = (PicturedMachine.CHARACTERS.value, PicturedMachine.NETWORK.value)
    kind = next((k for k in kinds if k in path), "")
    moments = path.get(kind, [])
    if not moments:
        return None
    cycle_of: dict[str, int] | None = grammar.derived.get(f"cycles of {kind}")
    if cycle_of is None:
        cycle_of = grammar.derived.setdefault(f"cycles of {kind}", _cycles(grammar, kind))
    # the two ends are enough: a path that leaves a component and returns would be part of it
    ends = (moments[0], moments[-1])
    shared = [{cycle_of.get(state) for state in moment} for moment in ends]
    cycles = set.intersection(*shared) - {None}
    return min((name for name in cycles if name is not None), default=None)


def _cycles(grammar: Grammar, kind: str) -> dict[str, int]:
    """For every state on a cycle the first state of its strongly connected component."""
    try:
        pictured = encode_labels(grammar)
        is_characters = kind == PicturedMachine.CHARACTERS.value
        machine = pictured.dfa if is_characters else pictured.network
    except LimitError:
        return {}
    if machine is None or len(machine) > _MAX_CYCLE_STATES:
        return {}
    return {
        str(state): min(members)
        for members in cyclic_components(_targets(machine.table))
        for state in members
    }


def _targets(table: npt.NDArray[np.int32]) -> dict[int, set[int]]:
    return {state: set(row[row != DEAD].tolist()) for state, row in enumerate(table)}
