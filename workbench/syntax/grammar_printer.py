"""Prints grammar trees: as KBNF, and what notations with ``|``, brackets and ``* + ?`` share.

Each notation has a subclass of ``TreePrinter`` that prints terminals, counts and the empty text.

Nodes without a KBNF form are replaced by equivalent ones: counted repetitions are written out, an
empty sequence is ``''``. A literal that is not valid UTF-8 cannot be written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from workbench.base.errors import WorkbenchError
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
    Rule,
    Sequence,
    Stop,
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


_PREFIX = {Stop.ANYWHERE: "#", Stop.FIRST_MATCH: "#e", Stop.BEFORE_MATCH: "#ex"}
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def print_kbnf(tree: GrammarTree) -> str:
    """The grammar as text, one rule per line.

    Law:    ``parse_kbnf(print_kbnf(tree))`` equals ``tree`` except for spans, for every tree
            that the parser returns.
    Raises: WorkbenchError for a literal that is not UTF-8.
    """
    printer = KbnfPrinter()
    return "".join(printer.rule(rule) for rule in tree.rules)


class KbnfPrinter(TreePrinter):
    """Prints rules as KBNF."""

    define = " ::= "
    end = ";\n"

    def leaf(self, node: Leaf) -> str:
        match node:
            case Literal(value):
                return _quote(_text(value))
            case Substrings(value):
                return f"#substrs{_quote(_text(value))}"
            case Pattern(_, stop, text):
                return _PREFIX[stop] + _quote(text)
            case Except(excepted, limit):
                most = "" if limit is None else f", {limit}"
                return f"except!({self.atom(excepted)}{most})"
            case Automaton(_, label):
                raise WorkbenchError(f"KBNF cannot express an automaton such as {label!r}")

    def counted(self, part: str, low: int, high: int | None) -> str:
        return f"({_copies(part, low, high)})"

    def nothing(self) -> str:
        return "''"


def _copies(part: str, low: int, high: int | None) -> str:
    """A counted repetition, written out: ``x{1,3}`` is ``x (x (x)?)?``."""
    if high is None:
        return " ".join([part] * (low - 1) + [f"{part}+"])
    required = [part] * low
    if optional := high - low:
        required.append(f"({part} " * (optional - 1) + f"{part}?" + ")?" * (optional - 1))
    return " ".join(required) or "''"


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise WorkbenchError(
            f"expected text in UTF-8, not {value!r}",
            "KBNF has no way to write a single byte above 7F",
        ) from None


def _quote(text: str) -> str:
    """The quoted text, with the quote that occurs less often; unprintable characters escaped."""
    quote = '"' if text.count("'") > text.count('"') else "'"
    return quote + "".join(_escape(character, quote) for character in text) + quote


def _escape(character: str, quote: str) -> str:
    if character == quote:
        return f"\\{quote}"
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() else f"\\u{{{ord(character):X}}}"
