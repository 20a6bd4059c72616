"""Writer: rules → NFAs over bytes and calls, rules that need no stack written in.

In comes a checked ``Cfg`` and which rules stay calls; out comes the automaton of a rule. A call at
the end of a rule is a jump, so right recursion needs no stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from workbench.automata.nfa import Nfa, NfaBuilder
from workbench.limits import Limits
from workbench.pushdown.cfg import Cfg
from workbench.pushdown.network import CALLS
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Repetition,
    Sequence,
)


class Writer:
    """Writes rules as NFAs over bytes and calls."""

    def __init__(self, cfg: Cfg, number: Mapping[str, int], left: Set[str], limits: Limits) -> None:
        self._cfg = cfg
        #: The number of each rule that stays a call.
        self._number = number
        self._symbols = CALLS + max(number.values(), default=0) + 1
        #: Left-recursive rules: ``left_recursion`` looks for their calls, so none is a jump.
        self._left = left
        self._limits = limits

    def rule(self, name: str) -> Nfa:
        """The automaton of a rule, everything that needs no stack written in."""
        self._builder = NfaBuilder(self._symbols)
        #: Where each rule that is written in begins, by its name and the state it ends in.
        self._entries: dict[tuple[str, int], int] = {}
        self._waiting: list[tuple[str, int, int]] = []
        initial, self._end = self._builder.new_state(), self._builder.new_state()
        self._builder.epsilon(initial, self._entry(name, self._end))
        while self._waiting:
            written_in, start, end = self._waiting.pop()
            self._limits.check("states", len(self._builder))
            self._write(self._cfg.rules[written_in], start, end, end)
        return self._builder.build(initial, {self._end})

    def _entry(self, name: str, end: int) -> int:
        """The state in which a copy of a rule begins that ends in ``end``; made once.

        A call at the end of a rule asks for a copy with the same end, so circles of such
        calls close upon themselves.
        """
        known = self._entries.get((name, end))
        if known is None:
            known = self._entries[name, end] = self._builder.new_state()
            self._waiting.append((name, known, end))
        return known

    def _write(self, expression: Expression, start: int, end: int, last: int) -> None:
        """Write an expression between two states; ``last`` is where its rule ends."""
        builder = self._builder
        match expression:
            case Literal(value=value):
                builder.literal(value, start, end)
            case Nonterminal(name=name):
                self._call(name, start, end, last)
            case Choice(options=options):
                for option in options:
                    self._write(option, start, end, last)
            case Sequence(items=items):
                here = start
                for item in items[:-1]:
                    there = builder.new_state()
                    self._write(item, here, there, last)
                    here = there
                if items:
                    self._write(items[-1], here, end, last)
                else:
                    builder.epsilon(here, end)
            case Repetition(item=item, low=low, high=high):
                self._repeat(item, low, high, start, end, last)
            case _:
                builder.embed(self._cfg.machine(expression), start, end)

    def _call(self, name: str, start: int, end: int, last: int) -> None:
        # a call that ends the whole automaton is a jump; inside a copy it would copy for ever
        ends_all = end == last == self._end and name not in self._left
        if name not in self._number or ends_all:
            self._builder.epsilon(start, self._entry(name, end))
        else:
            self._call_edge(name, start, end)

    def _call_edge(self, name: str, start: int, end: int) -> None:
        symbol = CALLS + self._number[name]
        self._builder.edge(start, symbol, symbol, end)
        if name in self._cfg.nullable:
            self._builder.epsilon(start, end)

    def _repeat(
        self, item: Expression, low: int, high: int | None, start: int, end: int, last: int
    ) -> None:
        builder = self._builder
        here = start
        for copy in range(low):
            there = end if copy == low - 1 and high == low else builder.new_state()
            self._write(item, here, there, last)
            here = there
        if high is None:
            loop = builder.new_state()
            builder.epsilon(here, loop)
            self._write(item, loop, loop, last)
            builder.epsilon(loop, end)
            return
        for copy in range(low, high):
            builder.epsilon(here, end)
            there = end if copy == high - 1 else builder.new_state()
            self._write(item, here, there, last)
            here = there
        if here != end:
            builder.epsilon(here, end)


class PlainWriter(Writer):
    """Writes every nonterminal as a call."""

    def _call(self, name: str, start: int, end: int, last: int) -> None:
        self._call_edge(name, start, end)
