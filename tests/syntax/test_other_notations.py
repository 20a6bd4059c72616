"""Texts of W3C EBNF, ABNF and ANTLR, and of signs of others: the hints say what to write."""

from __future__ import annotations

import re

import pytest

import workbench as wb
from workbench.syntax.other_notations import other_notation

CALC = "grammar Calc;\nexpr : INT ;"

#   read as   text                                              message                                 in the hint, why
FOREIGN = [
    ("kbnf",  CALC,                                            "expected '::='",                       "looks like ANTLR"),
    ("gbnf",  CALC,                                            "expected '::='",                       "looks like ANTLR"),
    ("kbnf",  "// x\nlexer grammar L;\nA : 'a' ;",             "not a comment",                        "looks like ANTLR"),
    ("kbnf",  '; comment\nstart = "a"',                        "this is not a comment in KBNF",        "looks like ABNF"),
    ("gbnf",  "root = 1*DIGIT",                                "expected '::='",                       "looks like ABNF"),
    ("kbnf",  "start = 1*DIGIT\nDIGIT = %x30-39",              "expected a string",                    "looks like ABNF"),
    ("kbnf",  'start = [ "a" ] / "b"',                         "a regex is not written",               "read it as ABNF"),
    ("kbnf",  "/* W3C comment */\nstart ::= 'a'",              "this is not a comment in KBNF",        "looks like W3C EBNF"),
    ("gbnf",  '/* W3C comment */\nroot ::= "a"',               "this is not a comment in GBNF",        "looks like W3C EBNF"),
    ("kbnf",  "Char ::= #x9 | [#x20-#xD7FF]",                  "not a comment",                        "looks like W3C EBNF"),
    ("gbnf",  "root ::= [#x20-#xD7FF]",                        "expected a range",                     "looks like W3C EBNF"),
    ("gbnf",  'root ::= [ day-of-week "," ] "a"',              "brackets hold a class",                "write (…)? for an optional part"),
    ("gbnf",  'root ::= "a" - "b"',                            "GBNF has no exception",                "[ac-z]"),
    ("kbnf",  "start ::= 'a' - 'b';",                          "KBNF has no exception",                "#'[a-z--b]'"),
    ("kbnf",  "start ::= a - b; a ::= 'a'; b ::= 'b';",        "KBNF has no exception",                "except!('…')"),
    ("kbnf",  "start ::= 'yes | 'no';",                        "this string is never closed",          "a quote is missing before it"),
]  # fmt: skip


@pytest.mark.parametrize(("notation", "text", "message", "hint"), FOREIGN)
def test_error_hints_of_other_notations(notation: str, text: str, message: str, hint: str) -> None:
    with pytest.raises(wb.WorkbenchError) as caught:
        wb.Grammar.from_text(text, notation)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert getattr(caught.value, "fix", None) is None, "no fix makes this text a grammar"


#   text                                    with its fix, why
FIXED = [
    ("-- config\nstart ::= 'a';",           "(* config *)\nstart ::= 'a';"),
    ("; config\nstart ::= 'a';",            "(* config *)\nstart ::= 'a';"),
    ("two-words ::= 'a';",                  "two_words ::= 'a';"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "fixed"), FIXED)
def test_error_fixes_of_comments_and_names(text: str, fixed: str) -> None:
    with pytest.raises(wb.ParseError) as caught:
        wb.Grammar.from_kbnf(text)
    error = caught.value
    span = error.fix_span
    assert text[: span.start] + (error.fix or "") + text[span.end :] == fixed


def test_the_hints_can_be_written() -> None:
    assert wb.Grammar.from_kbnf("start ::= #'[a-z--b]';").check("b").accepted is False
    assert wb.Grammar.from_kbnf("start ::= #'[a-z--b]';").accepts("c")
    assert wb.Grammar.from_kbnf("start ::= except!('x') 'x';").accepts("ax")
    assert wb.Grammar.from_kbnf(r"start ::= #'\\x09';").accepts("\t")
    assert wb.Grammar.from_gbnf(r'root ::= "\x09" [\x09]').accepts("\t\t")
    assert not wb.Grammar.from_gbnf("root ::= [ac-z]").accepts("b")


#   texts that are none of them
READ = [
    "start ::= '#x20' | '/* a */' | '%x30';",
    "(* grammar Calc; %x30 *) start = 'a';",
    "start = digit '/' digit; digit = #'[0-9]';",
    'root ::= "a" [0-9]+ # ABNF has 1*DIGIT',
    "start ::= 'a' 'b' ;",
]


@pytest.mark.parametrize("text", READ)
def test_texts_that_are_not_of_another_notation(text: str) -> None:
    assert other_notation(re.sub(r"#.*ABNF.*", "", text)) is None
