"""The names that a rule with a syntax error calls, as far as its lexemes can be read.

Names in strings, regexes, comments and attributes are no lexemes of their own. At a lexeme that is
doubtful, for example a name that touches a quote (``'yes | 'no'``), reading ends, and the names of
its alternative are left out: a missed name is reported after the error is corrected, and a false
one confuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from workbench.base.source import Span
from workbench.syntax import gbnf
from workbench.syntax.kbnf import kbnf_lexer
from workbench.syntax.kbnf.kbnf_lexer import NOTHING, QUOTED
from workbench.syntax.lark import lark_lexer


@dataclass(frozen=True, slots=True)
class BodyLexemes:
    """The lexemes of the body of a rule in a notation, by kind."""

    pattern: re.Pattern[str]
    #: What begins an alternative.
    bars: frozenset[str]
    #: What a body cannot contain: names before it are no calls.
    foreign: frozenset[str]
    #: What a name cannot touch.
    separate: frozenset[str]
    #: After these, names are no calls up to the end of the rule.
    ends: frozenset[str]
    #: Names that are no calls before an opening bracket.
    macros: frozenset[str] = frozenset()


#: By notation.
BODY_LEXEMES = {
    "kbnf": BodyLexemes(
        kbnf_lexer.LEXEMES,
        frozenset({"_BAR"}),
        frozenset({"_DEFINE"}),
        frozenset({*QUOTED, NOTHING, "NUMBER"}),
        frozenset({"_END"}),
    ),
    "gbnf": BodyLexemes(
        gbnf.LEXEMES,
        frozenset({"BAR"}),
        frozenset({"DEFINE", "EQUALS", "COMMA", "ATTRIBUTES", "RBRACKET"}),
        frozenset({"STRING", "CLASS", "TOKEN", NOTHING}),
        frozenset(),
        frozenset({*gbnf.MACROS, *gbnf.OF_TOKENS}),
    ),
    "lark": BodyLexemes(
        lark_lexer.LEXEMES,
        frozenset({"BAR"}),
        frozenset({"COLON", "EQUALS", "ATTRIBUTES"}),
        frozenset({"STRING", "REGEX", "TOKEN", "RANGE", "DOT", "PRIORITY", "NUMBER", NOTHING}),
        frozenset({"PARAMETER", "IF", "JSON", "PIECES", "NESTED", "STATEMENT", "OPTIONS"}),
    ),
}


@dataclass(frozen=True, slots=True)
class CalledNames:
    """The names in the body of a rule."""

    #: Where each name that is called is first.
    calls: dict[str, Span]
    #: The names that the body seems to define.
    defined: frozenset[str]


def called_names(text: str, body: Span, lexemes: BodyLexemes) -> CalledNames:
    """The names that the body of a rule calls, up to what cannot be read."""
    calls: dict[str, Span] = {}
    alternative: list[tuple[str, Span]] = []
    before, end = "", body.start
    for kind, span in _lexemes(text, body, lexemes.pattern):
        touches = {kind, before} & lexemes.separate and "NAME" in (kind, before)
        if kind in lexemes.foreign or (touches and span.start == end):
            defined = frozenset(name for name, _ in alternative[-1:] if kind in lexemes.foreign)
            return CalledNames(calls, defined)
        if kind == "LPAR" and before == "NAME" and alternative[-1][0] in lexemes.macros:
            alternative.pop()
            break
        if kind in lexemes.ends or kind == NOTHING:
            break
        if kind == "NAME" and before != "ALIAS":  # the name of a node in Lark's trees
            alternative.append((text[span.start : span.end], span))
        elif kind in lexemes.bars:
            _add(calls, alternative)
            alternative = []
        before, end = kind, span.end
    _add(calls, alternative)
    return CalledNames(calls, frozenset())


def _lexemes(text: str, body: Span, pattern: re.Pattern[str]) -> Iterator[tuple[str, Span]]:
    for match in pattern.finditer(text, body.start, body.end):
        kind = match.lastgroup or ""
        yield kind, Span(*match.span(kind))


def _add(calls: dict[str, Span], names: list[tuple[str, Span]]) -> None:
    for name, span in names:
        calls.setdefault(name, span)
