"""The lexemes of GBNF and the escapes in its classes, in llama.cpp and in xgrammar."""

from __future__ import annotations

import re
import string

from workbench.base.errors import ParseError
from workbench.base.source import Source, Span
from workbench.syntax.cursor import LexemeNames
from workbench.syntax.kbnf.kbnf_lexer import END, NOTHING
from workbench.syntax.ranges import ANY_CHARACTER, Ranges, difference, intersection, normalized
from workbench.syntax.string_escapes import Escapes

#: A name may contain dots, as in xgrammar, but not begin or end with one: ``.`` alone is any
#: character, as in llama.cpp. Brackets before ``::=`` are the attributes of the rule, other
#: brackets are a class.
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

LEXEME_NAMES = LexemeNames(
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
        (r"//|\(\*", "this is not a comment in GBNF",
         "comments are written # … to the end of a line"),
        (r"/", "a regex is not written between slashes", "write the classes themselves: [a-z]+"),
        (r"!", "only a token can be negated with '!'",
         "a class is negated inside its brackets: [^…]"),
        (r"<", "a rule's name is written without angle brackets", "write name instead of <name>"),
        (r"\^|~|\$|@|%|&", "this sign has no meaning outside quotes", "put it between quotes"),
        (r"\\", "a backslash has a meaning only inside quotes and classes",
         "put the text between quotes"),
        (r"[‘’‚“”„`´«»]", "expected a straight quote", "strings stand between \" and \""),
    ),
)  # fmt: skip


ESCAPES = Escapes(
    {
        **{sign: sign for sign in string.punctuation if sign != "_"},
        "n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b",
        "0": "\0",
    },
    pairs=False,
    hint="the escapes are \\n \\r \\t \\\\ \\\" \\xHH \\uHHHH \\UHHHHHHHH",
)  # fmt: skip


def class_ranges(source: Source, bracketed: Span) -> Ranges:
    """The characters of a class; ``-`` at either end, or after a range, is itself.

    Raises: ParseError
    """
    start, end = bracketed.start + 1, bracketed.end - 1
    negated = source.text.startswith("^", start, end)
    members = list(ESCAPES.characters(source, Span(start + negated, end)))
    pieces: list[tuple[int, int]] = []
    at = 0
    while at < len(members):
        low, place = members[at]
        high = low
        # a dash that was escaped begins no range
        if at + 2 < len(members) and source.text[members[at + 1][1].start] == "-":
            high, last = members[at + 2]
            at += 2
            if high < low:
                message = "expected a range from a lower to a higher character"
                raise ParseError(message, source, place.to(last), "swap the two ends")
        pieces.append((low, high))
        at += 1
    if not pieces:
        message = "expected at least one character in the class"
        hint = "any character is written '.'" if negated else 'the empty text is written ""'
        raise ParseError(message, source, bracketed, hint)
    ranges = normalized(pieces)
    return difference(ANY_CHARACTER, ranges) if negated else intersection(ANY_CHARACTER, ranges)
