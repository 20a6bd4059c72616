"""Tables: lexemes in, a grammar's rules out, by the LALR(1) tables that lark makes of kbnf.lark.

The loop is the textbook's. Lark's own looks rules up by objects it compares in Python, and takes
three times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.syntax.kbnf.scanner import END, Part

if TYPE_CHECKING:
    from lark import Lark

#: What the parts of a rule become: how many they are, the rule's name, and what is made of them.
_Reduction = tuple[int, str, Callable[[list[Any]], Any]]

#: How lark names the end of the text.
_LARKS_END = "$END"


class UnexpectedError(Exception):
    """A lexeme that cannot stand where it stands."""

    def __init__(self, part: Part) -> None:
        super().__init__(part.type)
        self.part = part


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """For each state what to do at a lexeme: the state to go to, or what to reduce."""

    actions: dict[int, dict[str, int | _Reduction]]
    #: The state after a rule has been read, by the state before it and the rule's name.
    gotos: dict[int, dict[str, int]]
    start: int
    end: int

    @staticmethod
    def of(lark: Lark) -> Tables:
        """The tables of a parser without empty rules."""
        conf = lark.parse_interactive().parser_state.parse_conf
        actions: dict[int, dict[str, int | _Reduction]] = {}
        gotos: dict[int, dict[str, int]] = {}
        for state, row in conf.states.items():
            actions[state], gotos[state] = {}, {}
            for symbol, (_, arg) in row.items():
                name = END if symbol == _LARKS_END else str(symbol)
                if not isinstance(arg, int):
                    rule = (len(arg.expansion), str(arg.origin.name), conf.callbacks[arg])
                    assert rule[0], "an empty rule"
                    actions[state][name] = rule
                elif name.isupper():
                    actions[state][name] = arg
                else:
                    gotos[state][name] = arg
        return Tables(actions, gotos, conf.start_state, conf.end_state)

    def parse(self, parts: Iterable[Part]) -> Any:  # noqa: ANN401  # what the whole becomes
        """What the whole becomes; the last part is the end.

        Raises: UnexpectedError at the first part that cannot stand where it stands.
        Source: Knuth 1965, "On the translation of languages from left to right".
        """
        actions, gotos, end = self.actions, self.gotos, self.end
        states: list[int] = [self.start]
        values: list[Any] = []
        for part in parts:
            while True:
                action = actions[states[-1]].get(part.type)
                if isinstance(action, int):
                    states.append(action)
                    values.append(part)
                    break
                if action is None:
                    raise UnexpectedError(part)
                size, name, made_of = action
                held = values[-size:]
                del values[-size:], states[-size:]
                values.append(made_of(held))
                states.append(gotos[states[-1]][name])
                if states[-1] == end:
                    return values[-1]
        raise AssertionError("the last part is the end")
