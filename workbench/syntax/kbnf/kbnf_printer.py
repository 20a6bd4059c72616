"""Prints a grammar tree as KBNF that parses to the same tree, except for spans.

Nodes without a KBNF form are replaced by equivalent ones: counted repetitions are written out, an
empty sequence is ``''``. A literal that is not valid UTF-8 cannot be written.
"""

from __future__ import annotations

from workbench.base.errors import WorkbenchError
from workbench.syntax.grammar_tree import (
    Automaton,
    Except,
    GrammarTree,
    Literal,
    Pattern,
    Stop,
    Substrings,
)
from workbench.syntax.tree_printer import Leaf, TreePrinter

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
                return _quoted(_text(value))
            case Substrings(value):
                return f"#substrs{_quoted(_text(value))}"
            case Pattern(_, stop, text):
                return _PREFIX[stop] + _quoted(text)
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


def _quoted(text: str) -> str:
    """The quoted text, with the quote that occurs less often; unprintable characters escaped."""
    quote = '"' if text.count("'") > text.count('"') else "'"
    return quote + "".join(_escaped(character, quote) for character in text) + quote


def _escaped(character: str, quote: str) -> str:
    if character == quote:
        return f"\\{quote}"
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() else f"\\u{{{ord(character):X}}}"
