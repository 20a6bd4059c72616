"""Where a run stands in each picture: in come a grammar and tokens, out come states passed."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.automata.dfa import DEAD
from workbench.automata.explore import nothing
from workbench.errors import LimitError, WorkbenchError
from workbench.pipeline import Compiled, Followed
from workbench.pushdown.build import network_of
from workbench.pushdown.runner import Runner

#: The states of a picture a token passes, from before it to after it, each moment a few states.
Path = list[list[str]]

#: What the inspector says of a place that no picture knows.
NOWHERE = "outside"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a token was taken."""

    #: What the inspector calls it.
    state: str
    #: The states passed, by whose they are.
    path: dict[str, Path]
    #: The rules being read, the outermost first; none for a regex.
    stack: tuple[str, ...]


class Follower:
    """Runs the machines of a grammar beside a generation, token by token.

    The constraint's own states are its own affair; pictures show the machines as they
    are written: the character automaton, and every rule apart. Without a mask a run may
    leave the language; from there on it is nowhere.
    """

    def __init__(self, compiled: Compiled) -> None:
        grammar = compiled.grammar
        if grammar is None:
            raise WorkbenchError("the grammar cannot be read", "mend its problems first")
        whole = True
        try:
            self._dfa, self._rules = grammar.dfa, grammar.rules
        except LimitError:
            # decoded as it is read: there is no whole machine a picture could show
            whole, self._dfa, self._rules = False, None, network_of(nothing(256))
        self._named = grammar.tree is not None
        self._runner = Runner(self._rules, grammar.limits)
        self._state: int = DEAD if self._dfa is None else self._dfa.initial
        self._situation = self._runner.initial if whole else DEAD

    def take(self, token: bytes) -> Place:
        """The place a token is taken at; the follower moves on past it."""
        states, situations = [self._state], [self._situation]
        for byte in token:
            self._step(byte)
            states.append(self._state)
            situations.append(self._situation)
        return self._place(states, situations, token)

    def _step(self, byte: int) -> None:
        if self._dfa is not None and self._state != DEAD:
            self._state = self._dfa.step(self._state, byte)
        if self._situation != DEAD:
            try:
                self._situation = self._runner.step(self._situation, byte)
            except LimitError:
                # too ambiguous to be told which rules are read: the run itself goes on
                self._situation = DEAD

    def _place(self, states: list[int], situations: list[int], token: bytes) -> Place:
        path: dict[str, Path] = {}
        name = NOWHERE
        stack: tuple[str, ...] = ()
        if (here := situations[0]) != DEAD:
            tops = [self._tops(situation) for situation in situations if situation != DEAD]
            path[Followed.RULES.value] = [[str(state) for state in moment] for moment in tops]
            state, stack = self._reading(here, token)
            name = self._name(state)
        if states[0] != DEAD:
            path[Followed.CHARACTERS.value] = [[str(state)] for state in states if state != DEAD]
            name = str(states[0])
        return Place(name, path, stack)

    def _tops(self, situation: int) -> list[int]:
        """The states on top of every configuration."""
        return list(dict.fromkeys(state for state, _ in self._runner.configurations(situation)))

    def _name(self, state: int) -> str:
        return f"{self._rules.names[int(self._rules.owner[state])]} · {state}"

    def _reading(self, situation: int, token: bytes) -> tuple[int, tuple[str, ...]]:
        """The state and the rules of one way to read on: one that reads the token, if any."""
        ways = self._runner.configurations(situation)
        byte_class = int(self._rules.byte_classes[token[0]]) if token else None
        onward = (w for w in ways if byte_class is not None and self._rules.moves(w[0], byte_class))
        state, node = next(onward, ways[0])
        if not self._named:
            return state, ()
        waiting = (*self._runner.stack(node), state)
        return state, tuple(self._rules.names[int(self._rules.owner[at])] for at in waiting)
