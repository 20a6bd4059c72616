"""Lark: a grammar in, out comes text that Lark's Earley parser reads, and llguidance."""

from __future__ import annotations

from workbench.export.laid_out import laid_out
from workbench.export.names import LARK
from workbench.export.prepared import Prepared, Signs, prepared
from workbench.grammar import Grammar
from workbench.notations import Notation
from workbench.source import Span
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
)
from workbench.syntax.tree_printer import Leaf, TreePrinter

_LETTERS = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f", "\\": r"\\", '"': r"\""}
#: Both readers of Lark's strings know ``\uHHHH``, and nothing for what is higher.
_FOUR_DIGITS = 0xFFFF


def write_lark(grammar: Grammar, start: str = "start") -> str:
    """The grammar as Lark; a text that is Lark already stays as it is.

    Terminals are strings and sets of one character: longer regexes would be read as far as they go
    by llguidance, and by Lark but for its ``dynamic_complete`` lexer, whatever follows them.

    Raises: BuildError, LimitError.
    """
    if grammar.notation is Notation.LARK and grammar.start == start:
        return grammar.source.text
    signs = Signs(
        title="Lark", alphabet=LARK, start=start, own=lambda *_: None,
        regexes=False, dialect=None, counts=True,
    )  # fmt: skip
    made = prepared(grammar, signs)
    rules = tuple(Rule(r.name, _filled(r.body), r.name_span, r.span) for r in made.rules)
    return laid_out(Prepared(rules, made.comments), _Printer(), ("// ", ""))


class _Printer(TreePrinter):
    """Writes rules as Lark."""

    define = ": "

    def leaf(self, node: Leaf) -> str:
        if isinstance(node, Literal):
            return _string(node.value.decode())
        assert isinstance(node, Pattern), "machines are rules"
        return "/" + node.text.replace("/", r"\/") + "/"

    def counted(self, part: str, low: int, high: int | None) -> str:
        if high is None:
            return f"({part}~{low} {part}*)"
        return f"{part}~{low}" if low == high else f"{part}~{low}..{high}"

    def nothing(self) -> str:
        return ""


def _string(text: str) -> str:
    """A string, or a regex where a character has no sign in strings."""
    if any(ord(c) > _FOUR_DIGITS and not c.isprintable() for c in text):
        return "/" + "".join(f"\\U{ord(c):08x}" for c in text) + "/"
    return '"' + "".join(_LETTERS.get(c) or _visible(c) for c in text) + '"'


def _visible(character: str) -> str:
    return character if character.isprintable() else f"\\u{ord(character):04x}"


def _filled(node: Expression) -> Expression:
    """The same without empty strings and empty options: Lark has no terminal for the empty text."""
    return _without_empty(node) or Sequence((), node.span)


def _without_empty(node: Expression) -> Expression | None:
    """The same, None for what reads nothing; where an option reads nothing there is a ``?``."""
    match node:
        case Literal(b""):
            return None
        case Sequence(items, span):
            kept = [made for item in items if (made := _without_empty(item)) is not None]
            return _together(kept, span)
        case Choice(options, span):
            kept = [made for option in options if (made := _without_empty(option)) is not None]
            if not kept:
                return None
            rest = kept[0] if len(kept) == 1 else Choice(tuple(kept), span)
            return rest if len(kept) == len(options) else Repetition(rest, 0, 1, span)
        case Repetition(item, low, high, span):
            made = _without_empty(item)
            return None if made is None or high == 0 else Repetition(made, low, high, span)
        case _:
            return node


def _together(items: list[Expression], span: Span) -> Expression | None:
    if not items:
        return None
    return items[0] if len(items) == 1 else Sequence(tuple(items), span)
