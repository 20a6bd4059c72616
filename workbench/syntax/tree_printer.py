"""Prints grammar trees in notations with ``|``, parentheses and ``* + ?``.

Each notation has a subclass of ``TreePrinter`` that prints terminals, counts and the empty text.
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

#: The most characters of a line before a choice is printed with one line per option.
WIDTH = 100
#: The postfix operator of a repetition from ``low`` to ``high``.
POSTFIX = {(0, 1): "?", (0, None): "*", (1, None): "+"}

#: A terminal.
Leaf = Literal | Pattern | Substrings | Except | Automaton


class TreePrinter(ABC):
    """Prints rules in one notation."""

    #: Between the name of a rule and its body, and after the body.
    define: ClassVar[str]
    end: ClassVar[str] = "\n"

    @abstractmethod
    def leaf(self, node: Leaf) -> str:
        """A terminal."""

    @abstractmethod
    def counted(self, part: str, low: int, high: int | None) -> str:
        """A repetition of a printed item that has no postfix operator."""

    @abstractmethod
    def nothing(self) -> str:
        """The empty text as an item."""

    def rule(self, rule: Rule) -> str:
        """One rule; a choice that is too long for a line has one line per option."""
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
        """An expression between parentheses, without them."""
        if isinstance(node, Choice):
            return " | ".join(self.sequence(option) for option in node.options)
        return self.sequence(node)

    def sequence(self, node: Expression) -> str:
        """An option of a choice."""
        if isinstance(node, Sequence) and node.items:
            return " ".join(self.item(item) for item in node.items)
        return self.item(node)

    def item(self, node: Expression) -> str:
        """An item of a sequence."""
        if not isinstance(node, Repetition):
            return self.atom(node)
        part = self.atom(node.item)
        if (node.low, node.high) in POSTFIX:
            return part + POSTFIX[node.low, node.high]
        return self.counted(part, node.low, node.high)

    def atom(self, node: Expression) -> str:
        """An operand of a postfix operator."""
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
