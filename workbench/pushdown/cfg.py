"""Cfg: a grammar tree with its rules gathered by name, and its rules as a program.

In comes a ``GrammarTree`` and the start symbol; out comes a ``Cfg`` in which every
nonterminal that is called has a body. Several rules of one name have become one choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.automata.dfa import Dfa
from workbench.automata.program import EMPTY
from workbench.limits import Limits
from workbench.pushdown.terminals import Terminal, terminal_machine
from workbench.source import Source
from workbench.syntax.called import calls as calls
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Except,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Sequence,
    Substrings,
)

if TYPE_CHECKING:
    from workbench.pushdown.rule_program import RuleProgram


@dataclass(frozen=True, eq=False)
class Cfg:
    """A grammar that has been checked.

    Machines are built from ``program``; who explains a grammar to its author walks ``rules``.
    """

    start: str
    #: All rules by name, as they were written.
    written: Mapping[str, Expression]
    program: RuleProgram
    source: Source
    limits: Limits
    _machines: dict[int, Dfa] = field(default_factory=dict)

    @cached_property
    def rules(self) -> Mapping[str, Expression]:
        """The rules the start symbol reaches, without alternatives that derive no text."""
        names = self.program.names
        reached = self.program.reached_from(names.index(self.start))
        return {names[rule]: self._productive_part(self.written[names[rule]]) for rule in reached}

    def machine(self, terminal: Terminal) -> Dfa:
        """The minimal machine of a terminal, made when it is first asked for."""
        known = self._machines.get(id(terminal))
        if known is None:
            known = terminal_machine(terminal, self.written, self.source, self.limits)
            self._machines[id(terminal)] = known
        return known

    @cached_property
    def _texts(self) -> Mapping[str, int]:
        program = self.program
        return {name: program.texts_of(rule) for rule, name in enumerate(program.names)}

    def is_nullable(self, expression: Expression) -> bool:
        """Whether an expression derives the empty text."""
        match expression:
            case Literal(value=value):
                return not value
            case Nonterminal(name=name):
                return bool(self._texts[name] & EMPTY)
            case Sequence(items=items):
                return all(map(self.is_nullable, items))
            case Choice(options=options):
                return any(map(self.is_nullable, options))
            case Repetition(item=item, low=low):
                return low == 0 or self.is_nullable(item)
            case _:
                machine = self.machine(expression)
                return bool(machine.finals[machine.initial])

    def _is_productive(self, expression: Expression) -> bool:
        known = {name for name, texts in self._texts.items() if texts}
        return derives(expression, known, lambda terminal: not self.machine(terminal).is_empty)

    def _productive_part(self, expression: Expression) -> Expression:
        """A productive expression without the alternatives that derive no text."""
        part = self._productive_part
        match expression:
            case Choice(options=options, span=span):
                kept = tuple(part(option) for option in options if self._is_productive(option))
                return kept[0] if len(kept) == 1 else Choice(kept, span)
            case Sequence(items=items, span=span):
                return Sequence(tuple(map(part, items)), span)
            case Repetition(item=item, low=low, high=high, span=span):
                if not self._is_productive(item):
                    return Sequence((), span)
                return Repetition(part(item), low, high, span)
            case _:
                return expression


def derives(
    expression: Expression, known: Set[str], of_terminal: Callable[[Terminal], bool]
) -> bool:
    """Whether an expression derives some text, if the rules ``known`` do."""
    match expression:
        case Literal():
            return True
        case Nonterminal(name=name):
            return name in known
        case Sequence(items=items):
            return all(derives(item, known, of_terminal) for item in items)
        case Choice(options=options):
            return any(derives(option, known, of_terminal) for option in options)
        case Repetition(item=item, low=low):
            return low == 0 or derives(item, known, of_terminal)
        case _:
            return of_terminal(expression)


def least(
    rules: Mapping[str, Expression], holds: Callable[[Expression, Set[str]], bool]
) -> frozenset[str]:
    """The least set of names closed under ``holds``: of a body, given the names known so far.

    Cost: a body is asked again only when something it calls has become known.
    """
    callers: dict[str, list[str]] = {}
    for name, body in rules.items():
        for called in dict.fromkeys(call.name for call in calls(body)):
            callers.setdefault(called, []).append(name)
    known: set[str] = set()
    waiting = list(rules)
    while waiting:
        name = waiting.pop()
        if name not in known and holds(rules[name], known):
            known.add(name)
            waiting.extend(callers.get(name, ()))
    return frozenset(known)


def terminals(expression: Expression) -> Iterator[Terminal]:
    """Every terminal in an expression that is a machine, from left to right."""
    match expression:
        case Pattern() | Substrings() | Except() | Automaton():
            yield expression
        case Sequence(items=parts) | Choice(options=parts):
            for part in parts:
                yield from terminals(part)
        case Repetition(item=item):
            yield from terminals(item)


def gathered(tree: GrammarTree) -> dict[str, Expression]:
    """The rules by name; rules that share a name become one choice, in the order written."""
    options: dict[str, list[Expression]] = {}
    for rule in tree.rules:
        options.setdefault(rule.name, []).append(rule.body)
    return {
        name: bodies[0]
        if len(bodies) == 1
        else Choice(tuple(bodies), bodies[0].span.to(bodies[-1].span))
        for name, bodies in options.items()
    }
