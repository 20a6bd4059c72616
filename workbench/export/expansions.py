"""Splits rules that Lark would expand into very many alternatives.

Lark makes of every rule the list of its alternatives: each ``?``, group and count multiplies them.
What has many alternatives becomes a separate rule.
"""

from __future__ import annotations

from math import prod

from workbench.export.names import Names
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
)

#: Alternatives of one rule, and of a part that may stay inside a rule.
_RULE, _PART = 64, 4


class Expansions:
    """Rules with few alternatives each."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._made: list[Rule] = []
        self._rule = ""

    def of(self, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        """The rules, each with those made for its parts behind it."""
        found: list[Rule] = []
        for rule in rules:
            self._rule, self._made = rule.name, []
            body = self._body(rule.body)
            found += [Rule(rule.name, body, rule.name_span, rule.span), *self._made]
        return tuple(found)

    def _body(self, node: Expression) -> Expression:
        """What may be the body of a rule: the options of a choice are alternatives anyway."""
        if isinstance(node, Choice):
            return Choice(tuple(self._few(self._inner(o), _RULE) for o in node.options), node.span)
        return self._few(self._inner(node), _RULE)

    def _inner(self, node: Expression) -> Expression:
        """The same with parts of few alternatives."""
        match node:
            case Sequence(items, span):
                return Sequence(tuple(self._part(item) for item in items), span)
            case Choice(options, span):
                return Choice(tuple(self._part(option) for option in options), span)
            case Repetition(item, low, high, span):
                inner = self._part(item)
                counted = (high or low) > 1  # every copy has the alternatives of the item
                if counted and alternatives(inner) > 1:
                    inner = self._apart(inner)
                return Repetition(inner, low, high, span)
            case _:
                return node

    def _part(self, node: Expression) -> Expression:
        made = self._inner(node)
        return self._apart(made) if alternatives(made) > _PART else made

    def _few(self, node: Expression, most: int) -> Expression:
        """A row with so few alternatives: its parts that have several become rules."""
        if alternatives(node) <= most or not isinstance(node, Sequence):
            return node
        items = tuple(self._apart(i) if alternatives(i) > 1 else i for i in node.items)
        return Sequence(items, node.span)

    def _apart(self, node: Expression) -> Expression:
        name = self._names.fresh(f"{self._rule}_part")
        self._made.append(Rule(name, self._few(node, _RULE), node.span, node.span))
        return Nonterminal(name, node.span)


def alternatives(node: Expression) -> int:
    """In how many ways Lark writes an expression out; what repeats without end is a rule."""
    match node:
        case Sequence(items):
            return prod(map(alternatives, items))
        case Choice(options):
            return sum(map(alternatives, options))
        case Repetition(item, low, None):
            return 1 + (low == 0) if low < 2 else alternatives(item) ** low
        case Repetition(item, low, high):
            assert high is not None, "the case before"
            return sum(alternatives(item) ** count for count in range(low, high + 1))
        case _:
            return 1
