"""Exceptions ``A - B`` of EBNF: the texts of ``A`` that are no texts of ``B``.

A difference of two sets of characters is a set, ``{A}-`` is ``A`` once or more, and any other is an
automaton, which exists if neither side needs a stack. XML's ``Char* - (Char* '--' Char*)`` is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from workbench.base.errors import BuildError, ParseError
from workbench.base.source import Source, Span
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
    Stop,
    all_called,
    called,
)
from workbench.syntax.leaves import one_of
from workbench.syntax.ranges import Ranges, difference, union
from workbench.syntax.regex.tree import Characters
from workbench.syntax.rule_attributes import LanguageOperations


@dataclass(frozen=True, slots=True)
class Difference:
    """``whole - part``, before it is resolved."""

    whole: Expression
    part: Expression
    span: Span

    @property
    def children(self) -> tuple[Expression, Expression]:
        """Both sides."""
        return self.whole, self.part

    def rebuild(self, function: Callable[[Expression], Expression]) -> Difference:
        """The node with ``function`` applied to both sides."""
        return Difference(function(self.whole), function(self.part), self.span)


@dataclass(slots=True, eq=False)
class Exceptions:
    """Resolves the exceptions in rules."""

    source: Source
    written: Mapping[str, Expression]
    #: Builds automata; without it, only differences of characters can be read.
    operations: LanguageOperations | None
    _resolved: dict[str, Expression] = field(default_factory=dict)
    #: The rules that are being resolved.
    _open: dict[str, None] = field(default_factory=dict)

    @staticmethod
    def resolved(
        source: Source, rules: Iterable[Rule], operations: LanguageOperations | None
    ) -> list[Rule]:
        """The rules, with a leaf or an expression in place of each exception.

        Raises: ParseError for an exception with a side that needs a stack; LimitError.
        """
        rules = list(rules)
        exceptions = Exceptions(source, {rule.name: rule.body for rule in rules}, operations)
        return [replace(rule, body=exceptions._rule(rule.name)) for rule in rules]

    def _rule(self, name: str) -> Expression:
        if name not in self._resolved:
            self._open[name] = None
            self._resolved[name] = self._of(self.written[name])
            del self._open[name]
        return self._resolved[name]

    def _of(self, node: Expression) -> Expression:
        if not isinstance(node, Difference):
            return node.rebuild(self._of)
        if _is_empty(node.part) and isinstance(node.whole, Repetition) and node.whole.low == 0:
            item = self._of(node.whole.item)
            if node.whole.high is None and not self._is_nullable(item, frozenset()):
                return Repetition(item, 1, None, node.span)
        whole, part = self._of(node.whole), self._of(node.part)
        rules = self._called_by(node, (whole, part))
        sets = [_characters(side, rules) for side in (whole, part)]
        if sets[0] is not None and sets[1] is not None:
            return one_of(difference(sets[0], sets[1]), node.span)
        if self.operations is None:
            raise self._refusal(node, "it needs automata")
        try:
            machine = self.operations.but(whole, part, rules)
        except BuildError as error:
            raise self._refusal(node, "one of its sides needs a stack") from error
        return Automaton(machine, self.source.label(node.span), node.span)

    def _called_by(self, node: Difference, sides: tuple[Expression, ...]) -> dict[str, Expression]:
        """The rules that the sides call, directly or not, resolved."""
        rules: dict[str, Expression] = {}
        waiting = [name for side in sides for name in called(side)]
        while waiting:
            name = waiting.pop()
            if name in self._open:
                raise self._refusal(node, f"it calls the rule {name!r}, in which it is")
            if name not in rules and name in self.written:
                rules[name] = self._rule(name)
                waiting += called(rules[name])
        return rules

    def _is_nullable(self, node: Expression, visited: frozenset[str]) -> bool:
        """Whether an expression may be the empty text; an automaton counts as if it may."""
        match node:
            case Nonterminal(name=name):
                if name in visited or name not in self.written:
                    return False
                return self._is_nullable(self.written[name], visited | {name})
            case Literal(value):
                return not value
            case Pattern(regex=Characters()):
                return False
            case Sequence(items):
                return all(self._is_nullable(item, visited) for item in items)
            case Choice(options):
                return any(self._is_nullable(option, visited) for option in options)
            case Repetition(item, low):
                return low == 0 or self._is_nullable(item, visited)
            case _:
                return True

    def _refusal(self, node: Difference, reason: str) -> ParseError:
        message = f"the exception {self.source.label(node.span)!r} cannot be read: {reason}"
        hint = "write the texts that remain, or except from a rule that does not call itself"
        return ParseError(message, self.source, node.span, hint, "unsupported")


def difference_of(whole: Expression, part: Expression, span: Span) -> Expression:
    """The node of ``whole - part``, which ``Exceptions`` replaces."""
    return cast("Expression", Difference(whole, part, span))


def _is_empty(node: Expression) -> bool:
    return isinstance(node, Sequence) and not node.items


def _characters(node: Expression, rules: Mapping[str, Expression]) -> Ranges | None:
    """The characters of an expression that is one character; None for any other."""
    match node:
        case Pattern(regex=Characters(ranges), stop=Stop.ANYWHERE):
            return ranges
        case Literal(value):
            text = value.decode()
            return ((ord(text), ord(text)),) if len(text) == 1 else None
        case Choice(options):
            sets = [_characters(option, rules) for option in options]
            return None if None in sets else union(*(each for each in sets if each is not None))
        case Nonterminal(name=name) if name in rules:
            body = rules[name]
            return None if name in all_called(body, rules) else _characters(body, rules)
        case _:
            return None
