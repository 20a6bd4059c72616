"""Writes a grammar as GBNF, which llama.cpp and xgrammar read."""

from __future__ import annotations

from workbench.export.laid_out import laid_out
from workbench.export.names import GBNF
from workbench.export.prepared import Signs, prepared
from workbench.grammar import Grammar
from workbench.notations import Notation
from workbench.syntax.grammar_tree import Literal, Pattern
from workbench.syntax.ranges import ANY_CHARACTER, difference
from workbench.syntax.regex.tree import Characters, Ranges
from workbench.syntax.tree_printer import Leaf, TreePrinter

_LETTERS = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\\": r"\\"}


def write_gbnf(grammar: Grammar, root: str = "root") -> str:
    """The grammar as GBNF; a text that is GBNF already stays as it is.

    Regexes are spelled in strings, sets and counts. Names are letters, digits and ``-``, options
    on several lines end with their bar: llama.cpp reads no others.

    Raises: BuildError, LimitError.
    """
    if grammar.notation is Notation.GBNF and grammar.start == root:
        return grammar.source.text
    signs = Signs(
        title="GBNF", alphabet=GBNF, start=root, own=lambda *_: None,
        regexes=False, dialect=None, counts=True,
    )  # fmt: skip
    return laid_out(prepared(grammar, signs), _Printer(), ("# ", ""))


class _Printer(TreePrinter):
    """Writes rules as GBNF."""

    define = " ::= "

    def leaf(self, node: Leaf) -> str:
        if isinstance(node, Literal):
            return '"' + "".join(_escaped(ord(c), '"') for c in node.value.decode()) + '"'
        assert isinstance(node, Pattern), "regexes are spelled, machines are rules"
        assert isinstance(node.regex, Characters), "one character is what is left of them"
        return _set(node.regex.ranges)

    def counted(self, part: str, low: int, high: int | None) -> str:
        if low == high:
            return f"{part}{{{low}}}"
        return f"{part}{{{low},{'' if high is None else high}}}"

    def nothing(self) -> str:
        return '""'

    def lines(self, head: str, options: list[str]) -> str:
        return head + (" |\n" + " " * len(head)).join(options) + self.end


def _set(ranges: Ranges) -> str:
    outside = difference(ANY_CHARACTER, ranges)
    if ranges[-1] == ANY_CHARACTER[-1] and outside:
        return f"[^{_members(outside)}]"
    return f"[{_members(ranges)}]"


def _members(ranges: Ranges) -> str:
    return "".join(
        _member(low) + ("" if high == low else "-" * (high > low + 1) + _member(high))
        for low, high in ranges
    )


def _member(code: int) -> str:
    # llama.cpp has no signs for these two
    return f"\\u{code:04X}" if chr(code) in "-^" else _escaped(code, "[]")


def _escaped(code: int, signs: str) -> str:
    character = chr(code)
    if character in _LETTERS:
        return _LETTERS[character]
    if character in signs:
        return f"\\{character}"
    if character.isprintable():
        return character
    # no \xHH: xgrammar takes more digits for it than two
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
