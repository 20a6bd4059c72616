"""Lexemes of Lark grammars: how each looks, where JSON stands among them, and foreign signs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from workbench.errors import ParseError
from workbench.source import Source, Span
from workbench.syntax.cursor import Signs
from workbench.syntax.kbnf.scanner import END, NOTHING, Part

#: A regex may hold line breaks only under ``x``, so that one that is not closed is found in its
#: line. Brackets with a colon after them are the attributes of a rule (llguidance), others an
#: option.
_LEXEMES = re.compile(
    rf"""(?:\s++|//[^\r\n]*+|\#[^\r\n]*+)*+
    (?: (?P<STRING>"(?:[^"\\\r\n]|\\[^\r\n])*+"(?:i(?![\w]))?)
      | (?P<REGEX>/(?![/*])(?:[^/\\\r\n]|\\[^\r\n])++/[imslux]*
                 |/(?![/*])(?:[^/\\]|\\[\s\S])++/[imslu]*x[imslux]*)
      | (?P<OPTIONS>%(?:llguidance|grammar_options)(?![\w]))
      | (?P<JSON>%json(?![\w])) | (?P<PIECES>%regex(?![\w])) | (?P<NESTED>%lark(?![\w]))
      | (?P<IF>%if(?![\w]))
      | (?P<STATEMENT>%[a-z]\w*)
      | (?P<ATTRIBUTES>\[(?=(?:[^]["/\r\n]|"(?:[^"\\\r\n]|\\[^\r\n])*+"
                                    |/(?:[^/\\\r\n]|\\[^\r\n])*+/)*+\]
                                 [ \t]*(?:\.[ \t]*-?\d+[ \t]*)?:(?!:)))
      | (?P<COUNT>\{{\s*\d*\s*(?:,\s*\d*\s*)?\}})
      | (?P<ALIAS>->)
      | (?P<TOKEN><[^<>\s"][^<>\s"]*+>)
      | (?P<SUBGRAMMAR>@[\w-]+)
      | (?P<RANGE>\.\.)
      | (?P<PRIORITY>\.[ \t]*[+-]?\d+)
      | (?P<NUMBER>0x[0-9A-Fa-f]+|\d+)
      | (?P<PARAMETER>::) | (?P<COLON>:)
      | (?P<LPAR>\() | (?P<RPAR>\)) | (?P<LBRACKET>\[) | (?P<RBRACKET>\])
      | (?P<LBRACE>\{{) | (?P<RBRACE>\}})
      | (?P<BAR>\|) | (?P<STAR>\*) | (?P<PLUS>\+) | (?P<OPTIONAL>\?(?![!a-z_]))
      | (?P<MODIFIER>[!?]{{1,2}}(?=[a-z_]))
      | (?P<TILDE>~) | (?P<AND>&) | (?P<COMMA>,) | (?P<EQUALS>=) | (?P<DOT>\.)
      | (?P<NAME>_*[A-Za-z](?:\w|-(?!>))*+|_)
      | (?P<{END}>\Z) | (?P<{NOTHING}>) )""",
    re.VERBOSE | re.ASCII,
)

SIGNS = Signs(
    shown={
        "LPAR": "(", "RPAR": ")", "LBRACKET": "[", "RBRACKET": "]", "LBRACE": "{", "RBRACE": "}",
    },
    closing={
        "LPAR": "RPAR", "LBRACKET": "RBRACKET", "LBRACE": "RBRACE", "ATTRIBUTES": "RBRACKET",
    },
    define="COLON",
    unclosed=(
        (r'"', "string", "'\"' on the same line"),
        (r"/", "regex", "'/' on the same line"),
    ),
    foreign=(
        (r"/\*", "this is no comment of Lark", "comments are written // … to the end of a line"),
        (r"'", "Lark writes strings in double quotes", "write \"…\" instead of '…'"),
        (r";", "a rule of Lark ends with its line", "leave the ';' out"),
        (r"→", "expected '->'", "an alias is written -> name"),
        (r"%", "expected a statement such as %import or %ignore", "put the sign between quotes"),
        (r"<", "a rule's name is written without angle brackets", "write name instead of <name>"),
        (r"-", "expected a name of letters, digits and '_'", "put the sign between quotes"),
        (r"\^|\$|@", "this sign has no meaning outside quotes",
         "put it between quotes, or write a regex: /…/"),
        (r"\\", "a backslash has a meaning only in strings and regexes",
         "put the text between quotes"),
        (r"[‘’‚“”„`´«»]", "expected a straight quote", 'write strings between " and "'),
    ),
)  # fmt: skip

#: After these a JSON object stands, which is one lexeme of kind ``OBJECT``.
_BEFORE_JSON = frozenset({"OPTIONS", "JSON", "PIECES"})
_BLANKS = re.compile(r"\s*")
_DECODER = json.JSONDecoder()


def lark_lexemes(source: Source) -> Iterator[Part]:
    """The lexemes of a text; the last one is the end, or where no lexeme begins.

    Raises: ParseError where JSON has to stand and does not.
    """
    text, at = source.text, 0
    while True:
        match = _LEXEMES.match(text, at)
        assert match is not None, "one alternative is empty"
        kind = match.lastgroup
        assert kind is not None, "every alternative has a name"
        start, at = match.span(kind)
        yield Part(kind, match[kind], start, at)
        if start == at:
            return
        if kind in _BEFORE_JSON:
            part = _object(source, match[kind], at)
            at = part.end
            yield part


def _object(source: Source, after: str, at: int) -> Part:
    """The JSON value at a place; its ``node`` is what it stands for."""
    blank = _BLANKS.match(source.text, at)
    start = blank.end() if blank else at
    try:
        value, end = _DECODER.raw_decode(source.text, start)
    except json.JSONDecodeError as error:
        place = min(error.pos, len(source.text))
        message = f"expected JSON after '{after}': {error.msg.lower()}"
        hint = f"write {after} followed by an object: {{ … }}"
        raise ParseError(message, source, Span(place, place), hint) from None
    except (RecursionError, ValueError):
        message = f"the JSON after '{after}' is nested too deeply, or has a number too long"
        raise ParseError(message, source, Span(start, start), "simplify it") from None
    return Part("OBJECT", value, start, end)
