"""Prints grammar trees in notations with ``|``, brackets and ``* + ?``.

How terminals, counts and rules look is each notation's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Except,
    Expression,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
    Substrings,
)

#: A choice that makes a longer line has a line for each option.
WIDTH = 100
#: The counts that have a sign.
POSTFIX = {(0, 1): "?", (0, None): "*", (1, None): "+"}

#: What has no parts.
Leaf = Literal | Pattern | Substrings | Except | Automaton


class TreePrinter(ABC):
    """Writes rules in one notation."""

    #: Between the name of a rule and its body, and after the body.
    define: ClassVar[str]
    end: ClassVar[str] = "\n"

    @abstractmethod
    def leaf(self, node: Leaf) -> str:
        """A terminal."""

    @abstractmethod
    def counted(self, part: str, low: int, high: int | None) -> str:
        """An item, written already, a number of times that has no postfix sign."""

    @abstractmethod
    def nothing(self) -> str:
        """The empty text, where an item may stand."""

    def rule(self, rule: Rule) -> str:
        """One rule; a choice too long for a line has an option on each."""
        head = f"{rule.name}{self.define}"
        line = f"{head}{self.choice(rule.body)}{self.end}"
        if len(line) <= WIDTH or not isinstance(rule.body, Choice):
            return line
        return self.lines(head, [self.sequence(option) for option in rule.body.options])

    def lines(self, head: str, options: list[str]) -> str:
        """A rule with a line for each option, the bar in front."""
        bar = "\n" + " " * (len(head) - 2) + "| "
        return head + bar.join(options) + self.end

    def choice(self, node: Expression) -> str:
        """What may stand between brackets."""
        if isinstance(node, Choice):
            return " | ".join(self.sequence(option) for option in node.options)
        return self.sequence(node)

    def sequence(self, node: Expression) -> str:
        """What may stand between two bars."""
        if isinstance(node, Sequence) and node.items:
            return " ".join(self.item(item) for item in node.items)
        return self.item(node)

    def item(self, node: Expression) -> str:
        """What may stand in a sequence."""
        if not isinstance(node, Repetition):
            return self.atom(node)
        part = self.atom(node.item)
        if (node.low, node.high) in POSTFIX:
            return part + POSTFIX[node.low, node.high]
        return self.counted(part, node.low, node.high)

    def atom(self, node: Expression) -> str:
        """What a postfix sign may follow."""
        match node:
            case Nonterminal(name):
                return name
            case Sequence(()):
                return self.nothing()
            case Sequence((only,)):
                return self.atom(only)
            case Sequence() | Choice() | Repetition():
                return f"({self.choice(node)})"
            case leaf:
                return self.leaf(leaf)
