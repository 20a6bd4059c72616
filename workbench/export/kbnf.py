"""Writes a grammar as KBNF; terminals only KBNF has keep their author's text."""

from __future__ import annotations

from workbench.automata.dfa import DEAD, Dfa
from workbench.errors import BuildError, ParseError
from workbench.export.laid_out import laid_out
from workbench.export.names import KBNF
from workbench.export.prepared import Signs, prepared
from workbench.grammar import Grammar
from workbench.notations import Notation
from workbench.source import Source, Span
from workbench.syntax.grammar_tree import Automaton, Expression, Pattern
from workbench.syntax.kbnf.printer import KbnfPrinter
from workbench.syntax.regex.parser import Dialect, parse_regex
from workbench.syntax.shapes import shape
from workbench.syntax.tree_printer import Leaf


def write_kbnf(grammar: Grammar, start: str = "start") -> str:
    """The grammar as KBNF; a text that is KBNF already stays as it is.

    Raises: BuildError, LimitError.
    """
    if grammar.notation is Notation.KBNF and grammar.start == start:
        return grammar.source.text
    if isinstance(grammar.reader, Dfa) and not (grammar.reader.table != DEAD).any():
        whole = Span(0, len(grammar.source.text))
        message, hint = "KBNF has no grammar of the empty text alone", "let it read a character"
        raise BuildError(message, grammar.source, whole, hint, "unsupported_export")
    signs = Signs(
        title="KBNF", alphabet=KBNF, start=start, own=_own,
        regexes=True, dialect=Dialect.RUST, counts=False, labels=True,
    )  # fmt: skip
    return laid_out(prepared(grammar, signs), KbnfPrinter(), ("(* ", " *)"))


def _own(grammar: Grammar, leaf: Leaf) -> Expression | None:
    """What KBNF has signs for; a regex in the words of its author, where KBNF reads them alike."""
    if isinstance(leaf, Automaton):
        return None
    is_regex = isinstance(leaf, Pattern) and grammar.notation is not Notation.KBNF
    return leaf if not is_regex or _reads_alike(leaf) else None


def _reads_alike(leaf: Leaf) -> bool:
    assert isinstance(leaf, Pattern)
    try:
        regex = parse_regex(Source(leaf.text, "regex"), dialect=Dialect.RUST)
    except ParseError:
        return False
    return shape(regex) == shape(leaf.regex)
