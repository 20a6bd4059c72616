"""The names that a rule with a syntax error calls, as far as its lexemes can be read.

Names in strings, regexes, comments and attributes are not separate lexemes. Where a quote is
missing, though, texts look like names, and names like texts: ``'yes | 'no'``. Reading ends at the
first lexeme that is doubtful, and names near it are left out: a missed name is reported after the
error is corrected, and a false one confuses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from workbench.base.source import Span
from workbench.syntax import abnf, gbnf
from workbench.syntax.antlr import antlr_lexer
from workbench.syntax.ebnf import iso, w3c
from workbench.syntax.kbnf import kbnf_lexer
from workbench.syntax.kbnf.kbnf_lexer import NOTHING, QUOTED
from workbench.syntax.lark import lark_lexer


@dataclass(frozen=True, slots=True)
class BodyLexemes:
    """The lexemes of the body of a rule in a notation, by kind."""

    pattern: re.Pattern[str]
    quoted: frozenset[str]
    #: What a name cannot touch, besides ``quoted``.
    separate: frozenset[str]
    #: What a body cannot contain: names before it are no calls.
    foreign: frozenset[str]
    #: After these, names are no calls up to the end of the rule.
    ends: frozenset[str] = frozenset()
    #: Names that are no calls before an opening bracket.
    macros: frozenset[str] = frozenset()

    def are_separate(self, last: str, kind: str) -> bool:
        """Whether two lexemes cannot touch: a name, and a text for example."""
        both = {last, kind}
        return "NAME" in both and not both.isdisjoint(self.quoted | self.separate)


#: By notation, or its dialect.
BODY_LEXEMES = {
    "kbnf": BodyLexemes(
        kbnf_lexer.LEXEMES,
        frozenset(QUOTED),
        frozenset({"NUMBER", NOTHING}),
        frozenset({"_DEFINE"}),
        frozenset({"_END"}),
    ),
    "gbnf": BodyLexemes(
        gbnf.LEXEMES,
        frozenset({"STRING"}),
        frozenset({"CLASS", "TOKEN", NOTHING}),
        frozenset({"DEFINE", "EQUALS", "COMMA", "ATTRIBUTES", "RBRACKET"}),
        macros=frozenset({*gbnf.MACROS, *gbnf.OF_TOKENS}),
    ),
    "abnf": BodyLexemes(
        abnf.LEXEMES,
        frozenset({"STRING", "PROSE"}),
        frozenset({"NUMBER", NOTHING}),
        frozenset({"DEFINE"}),
    ),
    "w3c": BodyLexemes(
        w3c.LEXEMES,
        frozenset({"STRING"}),
        frozenset({"CLASS", "CHARACTER", NOTHING}),
        frozenset({"DEFINE"}),
        frozenset({"CONSTRAINT"}),
    ),
    "iso": BodyLexemes(
        iso.LEXEMES_OF_WORDS,
        frozenset({"STRING", "SPECIAL"}),
        frozenset({"NUMBER", NOTHING}),
        frozenset({"DEFINE"}),
        frozenset({"STOP"}),
    ),
    "antlr": BodyLexemes(
        antlr_lexer.LEXEMES,
        frozenset({"STRING"}),
        frozenset({"SET", "NUMBER", NOTHING}),
        frozenset({"COLON", "ACTION", "EQUALS", "APPEND", "AT", "ELEMENT"}),
        frozenset({"STOP", "ARROW", "LABEL"}),
    ),
    "lark": BodyLexemes(
        lark_lexer.LEXEMES,
        frozenset({"STRING", "REGEX"}),
        frozenset({"TOKEN", "RANGE", "DOT", "PRIORITY", "NUMBER", NOTHING}),
        frozenset({"COLON", "EQUALS", "ATTRIBUTES"}),
        frozenset({"PARAMETER", "IF", "JSON", "PIECES", "NESTED", "STATEMENT", "OPTIONS"}),
    ),
}
#: The beginning of a quoted text that is never closed.
_OPEN = re.compile(r"#?\w*['\"]|/(?![/*])")


def called_names(text: str, body: Span, lexemes: BodyLexemes) -> list[tuple[str, Span]]:
    """The names that the body of a rule calls, up to what cannot be read."""
    names: list[tuple[str, Span]] = []
    last, last_end = "", body.start
    #: How many names are before the present alternative, and before that of the first text.
    alternative, quote = 0, body.end
    for match in lexemes.pattern.finditer(text, body.start, body.end):
        kind = match.lastgroup or ""
        start, end = match.span(kind)
        if kind in lexemes.quoted:
            quote = min(quote, alternative)
        touches = start == last_end and lexemes.are_separate(last, kind)
        if touches or kind in lexemes.foreign:
            del names[alternative:]
        if touches or _is_doubtful(match, kind):
            del names[quote:]
            break
        if kind == "LPAR" and last == "NAME" and names[-1][0] in lexemes.macros:
            names.pop()
            break
        if kind in lexemes.foreign or kind in lexemes.ends or kind == NOTHING:
            break
        if kind == "NAME" and last != "ALIAS":  # the name of a node in Lark's trees
            names.append((match[kind], Span(start, end)))
        elif kind in ("BAR", "_BAR", "SLASH"):
            alternative = len(names)
        last, last_end = kind, end
    return names


def _is_doubtful(match: re.Match[str], kind: str) -> bool:
    """Whether a quote before a lexeme may be missing.

    Then a text of several lines is what stands between two texts.
    """
    if kind == NOTHING:
        return _OPEN.match(match.string, match.end()) is not None
    return "\n" in match[kind]
