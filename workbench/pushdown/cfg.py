"""Cfg: a grammar tree with its rules gathered by name; nullable and productive nonterminals.

In comes a ``GrammarTree`` and the start symbol; out comes a ``Cfg`` in which every
nonterminal that is called has a body. Several rules of one name have become one choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property

from workbench.automata.dfa import Dfa
from workbench.source import Source
from workbench.syntax.grammar_tree import (
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

#: A terminal whose language is a byte machine rather than one string.
Terminal = Pattern | Substrings | Except


@dataclass(frozen=True, eq=False)
class Cfg:
    """Rules by name, the machines of their terminals, and the start symbol."""

    start: str
    rules: Mapping[str, Expression]
    #: The machine of each pattern, substring set and exception, by identity of its node.
    machines: Mapping[int, Dfa]
    source: Source

    def machine(self, terminal: Terminal) -> Dfa:
        """The minimal machine of a terminal."""
        return self.machines[id(terminal)]

    @cached_property
    def nullable(self) -> frozenset[str]:
        """The nonterminals that derive the empty text."""
        return least(self.rules, self._is_nullable)

    @cached_property
    def productive(self) -> frozenset[str]:
        """The nonterminals that derive some text at all."""
        return least(self.rules, self._is_productive)

    def is_nullable(self, expression: Expression) -> bool:
        """Whether an expression derives the empty text."""
        return self._is_nullable(expression, self.nullable)

    def is_productive(self, expression: Expression) -> bool:
        """Whether an expression derives some text."""
        return self._is_productive(expression, self.productive)

    def _is_nullable(self, expression: Expression, known: Set[str]) -> bool:
        match expression:
            case Literal(value=value):
                return not value
            case Nonterminal(name=name):
                return name in known
            case Sequence(items=items):
                return all(self._is_nullable(item, known) for item in items)
            case Choice(options=options):
                return any(self._is_nullable(option, known) for option in options)
            case Repetition(item=item, low=low):
                return low == 0 or self._is_nullable(item, known)
            case _:
                machine = self.machine(expression)
                return bool(machine.finals[machine.initial])

    def _is_productive(self, expression: Expression, known: Set[str]) -> bool:
        return derives(expression, known, lambda terminal: not self.machine(terminal).is_empty)


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


def productive_part(cfg: Cfg, expression: Expression) -> Expression:
    """A productive expression without the alternatives that derive no text."""
    match expression:
        case Choice(options=options, span=span):
            kept = tuple(productive_part(cfg, o) for o in options if cfg.is_productive(o))
            return kept[0] if len(kept) == 1 else Choice(kept, span)
        case Sequence(items=items, span=span):
            return Sequence(tuple(productive_part(cfg, item) for item in items), span)
        case Repetition(item=item, low=low, high=high, span=span):
            if not cfg.is_productive(item):
                return Sequence((), span)
            return Repetition(productive_part(cfg, item), low, high, span)
        case _:
            return expression


def calls(expression: Expression) -> Iterator[Nonterminal]:
    """Every nonterminal in an expression, from left to right."""
    match expression:
        case Nonterminal():
            yield expression
        case Sequence(items=parts) | Choice(options=parts):
            for part in parts:
                yield from calls(part)
        case Repetition(item=item):
            yield from calls(item)


def terminals(expression: Expression) -> Iterator[Terminal]:
    """Every terminal in an expression that is a machine, from left to right."""
    match expression:
        case Pattern() | Substrings() | Except():
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
