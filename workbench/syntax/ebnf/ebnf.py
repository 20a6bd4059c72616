"""Parses EBNF, of W3C or ISO, to a grammar tree.

A text with ``::=`` and without repetitions in braces is W3C's, any other ISO's.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.base.diagnostics import Advice
from workbench.base.limits import Clock
from workbench.base.source import Source, Span
from workbench.syntax.cursor import Cursor
from workbench.syntax.ebnf import iso, w3c
from workbench.syntax.ebnf.exceptions import Exceptions
from workbench.syntax.grammar_tree import GrammarTree, Nonterminal, all_called, calls
from workbench.syntax.kbnf.kbnf_lexer import lexemes
from workbench.syntax.leaves import check_descriptions, first_rule, undefined_rule
from workbench.syntax.rule_attributes import LanguageOperations


@dataclass(frozen=True, slots=True, eq=False)
class EbnfGrammar:
    """The rules of a text, and what its reader says about them."""

    tree: GrammarTree
    notes: tuple[Advice, ...]


def parse_ebnf(
    source: Source,
    clock: Clock | None = None,
    operations: LanguageOperations | None = None,
    start: str = "start",
) -> EbnfGrammar:
    """The rules of a grammar in source order.

    ``start`` is the rule from which special sequences must not be reached; ``operations``
    implements exceptions.

    Cost:   linear in the text, except for exceptions.
    Raises: ParseError of kind ``syntax``, ``bad_escape`` or ``unsupported`` (a special sequence,
            or an exception that needs a stack); BuildError of kind ``undefined_nonterminal``;
            LimitError.
    Source: XML 1.0, section 6; ISO/IEC 14977:1996.
    """
    is_w3c = w3c.is_w3c(source)
    dialect = w3c if is_w3c else iso
    found = lexemes(source.text, pattern=dialect.LEXEMES)
    cursor = Cursor.of(source, found, dialect.LEXEME_NAMES, clock)
    reader = w3c.W3cReader(cursor) if is_w3c else iso.IsoReader(cursor)
    rules = reader.rules()
    names = {rule.name for rule in rules}
    for rule in rules:
        for call in calls(rule.body):
            if call.name not in names:
                line = f"{call.name} ::= …" if is_w3c else f"{call.name} = … ;"
                raise undefined_rule(source, call, names, f"add a line  {line}")
    rules = Exceptions.resolved(source, rules, operations)
    bodies = {rule.name: rule.body for rule in rules}
    start = first_rule(rules, start)
    reached = {start, *all_called(Nonterminal(start, Span(0, 0)), bodies)}
    notes = [*reader.notes]
    notes += check_descriptions(source, "special sequence", "?", reader.special, reached)
    calling = "{name} ::= {called}" if is_w3c else "{name} = {called};"
    return EbnfGrammar(GrammarTree(tuple(rules), source, calling=calling), tuple(notes))
