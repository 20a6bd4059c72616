"""Where a run stands in each picture: in come a grammar and tokens, out come states passed."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.automata.dfa import DEAD
from workbench.errors import WorkbenchError
from workbench.pipeline import Compiled
from workbench.pushdown.runner import Runner

#: The states of a picture a token passes, from before it to after it, each moment a few states.
Path = list[list[str]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a token was taken."""

    #: What the inspector calls it.
    state: str
    #: For each picture the states passed.
    path: dict[str, Path]
    #: The rules being read, the outermost first; none where no stack is needed.
    stack: tuple[str, ...]


class Follower:
    """Runs the machines of a grammar beside a generation, token by token.

    The constraint's own states are its own affair; pictures show the machine's.
    """

    def __init__(self, compiled: Compiled) -> None:
        grammar = compiled.grammar
        if grammar is None:
            raise WorkbenchError("the grammar cannot be read", "mend its problems first")
        self._dfa = grammar.dfa
        self._network = grammar.network
        self._runner = Runner(self._network, grammar.limits)
        drawn = enumerate(compiled.pda().network_states)
        self._in_pda = {state: str(number) for number, state in drawn}
        self._state: int = self._dfa.initial if self._dfa is not None else 0
        self._situation = self._runner.initial

    def take(self, token: bytes) -> Place:
        """The place a token is taken at; the follower moves on past it."""
        states, situations = [self._state], [self._situation]
        for byte in token:
            self._step(byte)
            if DEAD in (self._state, self._situation):
                break  # without a mask a run may leave the language; it never comes back
            states.append(self._state)
            situations.append(self._situation)
        return self._place(states, situations)

    def _step(self, byte: int) -> None:
        if self._dfa is not None and self._state != DEAD:
            self._state = self._dfa.step(self._state, byte)
        if self._situation != DEAD:
            self._situation = self._runner.step(self._situation, byte)

    def _place(self, states: list[int], situations: list[int]) -> Place:
        if DEAD in (states[0], situations[0]):
            return Place("outside", {}, ())
        tops = [self._tops(situation) for situation in situations]
        rules = [[str(state) for state in moment] for moment in tops]
        path: dict[str, Path] = {
            "rules": rules,
            "stack": [[self._in_pda[s] for s in moment if s in self._in_pda] for moment in tops],
        }
        if self._dfa is not None:
            path["characters"] = path["table"] = [[str(state)] for state in states]
            path["tokens"] = [[str(states[0])], [str(states[-1])]]
            return Place(str(states[0]), path, ())
        path["table"] = rules
        return Place(" ".join(rules[0][:3]), path, self._stack(situations[0]))

    def _tops(self, situation: int) -> list[int]:
        """The states on top of every configuration."""
        return list(dict.fromkeys(state for state, _ in self._runner.configurations(situation)))

    def _stack(self, situation: int) -> tuple[str, ...]:
        state, node = self._runner.configurations(situation)[0]
        network = self._network
        waiting = (*self._runner.stack(node), state)
        return tuple(network.names[int(network.owner[at])] for at in waiting)
