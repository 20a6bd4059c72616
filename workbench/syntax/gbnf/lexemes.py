"""Lexemes of GBNF: how each looks, and the signs of other notations that are taken for it."""

from __future__ import annotations

import re

from workbench.syntax.cursor import Signs
from workbench.syntax.kbnf.scanner import END, NOTHING

#: A comment goes on to the end of its line. A name may hold dots, as in xgrammar, but neither
#: begin nor end with one: ``.`` alone is any character, as in llama.cpp. Brackets before ``::=``
#: are the attributes of the rule, elsewhere they are a class.
LEXEMES = re.compile(
    rf"""(?:[ \t\r\n]++|\#[^\r\n]*+)*+
    (?: (?P<DEFINE>::=)
      | (?P<STRING>"(?:[^"\\\r\n]|\\[^\r\n])*+")
      | (?P<ATTRIBUTES>\[(?=(?:[^]["\r\n]|"(?:[^"\\\r\n]|\\[^\r\n])*+")*+\][ \t]*::=))
      | (?P<CLASS>\[(?:[^\]\\\r\n]|\\[^\r\n])*+\])
      | (?P<COUNT>\{{\s*\d*\s*(?:,\s*(?:-1|\d*)\s*)?\}})
      | (?P<TOKEN>!?<[^<>\s"][^<>\s"]*+>)
      | (?P<LOOKAHEAD>\(=)
      | (?P<LPAR>\() | (?P<RPAR>\))
      | (?P<RBRACKET>\])
      | (?P<BAR>\|) | (?P<STAR>\*) | (?P<PLUS>\+) | (?P<OPTIONAL>\?)
      | (?P<COMMA>,) | (?P<EQUALS>=)
      | (?P<NAME>[\w-]++(?:\.++[\w-]++)*+)
      | (?P<DOT>\.)
      | (?P<{END}>\Z) | (?P<{NOTHING}>) )""",
    re.VERBOSE | re.ASCII,
)

SIGNS = Signs(
    shown={"LPAR": "(", "LOOKAHEAD": "(=", "RPAR": ")", "BAR": "|", "DEFINE": "::=",
           "RBRACKET": "]"},
    closing={"LPAR": "RPAR", "LOOKAHEAD": "RPAR", "ATTRIBUTES": "RBRACKET"},
    define="DEFINE",
    unclosed=(
        (r'"', "string", "'\"' on the same line"),
        (r"\[", "class", "']' on the same line"),
    ),
    foreign=(
        (r"'", "GBNF writes strings in double quotes", "write \"…\" instead of '…'"),
        (r"\{", "expected a number of copies in the braces",
         "write {2}, {2,} or {2,5}; an optional part is (…)?"),
        (r"\}", "this closes nothing", "write {2}, {2,} or {2,5} for a number of copies"),
        (r";", "a rule of GBNF ends where the next one begins", "leave the ';' out"),
        (r":=?|→", "expected '::='", "a rule is written name ::= …"),
        (r"//|\(\*", "this is no comment of GBNF", "comments are written # … to the end of a line"),
        (r"/", "a regex is not written between slashes", "write the classes themselves: [a-z]+"),
        (r"!", "only a token is negated so", "a class is negated inside its brackets: [^…]"),
        (r"<", "a rule's name is written without angle brackets", "write name instead of <name>"),
        (r"\^|~|\$|@|%|&", "this sign has no meaning outside quotes", "put it between quotes"),
        (r"\\", "a backslash has a meaning only inside quotes and classes",
         "put the text between quotes"),
        (r"[‘’‚“”„`´«»]", "expected a straight quote", "strings stand between \" and \""),
    ),
)  # fmt: skip
