"""The lexemes of ANTLR 4, its strings and its sets of characters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.base.errors import ParseError
from workbench.base.source import Source, Span
from workbench.syntax.cursor import LexemeNames
from workbench.syntax.kbnf.kbnf_lexer import END, NOTHING, Lexemes, lexemes
from workbench.syntax.ranges import (
    ANY_CHARACTER,
    MAX_CODE_POINT,
    Ranges,
    intersection,
    normalized,
    union,
)
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.tree import Characters

#: ``ACTION`` is the brace that opens an action; ``antlr_lexemes`` extends it to its end. Brackets
#: after the name of a parser rule are arguments, others a set.
LEXEMES = re.compile(
    rf"""(?:\s++|//[^\r\n]*+|/\*[\s\S]*?\*/)*
    (?: (?P<STRING>'(?:[^'\\\r\n]|\\[^\r\n])*+')
      | (?P<SET>\[(?:[^\]\\]|\\[\s\S])*+\])
      | (?P<ACTION>\{{)
      | (?P<ARROW>->) | (?P<RANGE>\.\.) | (?P<DOT>\.)
      | (?P<APPEND>\+=) | (?P<EQUALS>=)
      | (?P<SCOPE>::) | (?P<COLON>:) | (?P<STOP>;)
      | (?P<LPAR>\() | (?P<RPAR>\))
      | (?P<BAR>\|) | (?P<STAR>\*) | (?P<PLUS>\+) | (?P<OPTIONAL>\?) | (?P<TILDE>~)
      | (?P<LABEL>\#) | (?P<AT>@) | (?P<COMMA>,)
      | (?P<ELEMENT><[^<>\r\n]*+>)
      | (?P<NAME>[^\W\d]\w*+) | (?P<NUMBER>\d+)
      | (?P<{END}>\Z) | (?P<{NOTHING}>) )""",
    re.VERBOSE,
)

LEXEME_NAMES = LexemeNames(
    shown={"LPAR": "(", "RPAR": ")", "BAR": "|", "COLON": ":", "STOP": ";", "ARROW": "->"},
    closing={"LPAR": "RPAR"},
    define="COLON",
    unclosed=(
        (r"'", "string", '"\'" on the same line'),
        (r"\[", "set", "']'"),
        (r"/\*", "comment", "'*/'"),
    ),
    foreign=(
        (r'"', "ANTLR writes strings in single quotes", "write '…' instead of \"…\""),
        (r"\}", "this closes nothing", "write an action as { … }"),
        (r"/", "a regex is not written between slashes", "write a set: [a-z]+"),
        (r"\^|!|\$|%|&|\\|-", "this sign has no meaning outside quotes",
         "put it between quotes"),
        (r"[‘’‚“”„`´«»]", "expected a straight quote", "strings stand between ' and '"),
    ),
    rewrites=((r'"([^"\'\\\n]*)"', r"'\1'"),),
)  # fmt: skip

_INSIDE_ACTION = re.compile(
    r"""[^{}'"/\\]++|\\[\s\S]|"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|//[^\n]*+
      |/\*[\s\S]*?\*/|(?P<open>\{)|(?P<close>\})|[\s\S]""",
    re.VERBOSE,
)


def antlr_lexemes(source: Source) -> Iterator[Lexemes]:
    """The lexemes of a text; an ``ACTION`` is all from its brace to the one that closes it.

    Raises: ParseError for an action that is never closed.
    """
    begin: int | None = 0
    while begin is not None:
        some, begin = lexemes(source.text, pattern=LEXEMES, begin=begin), None
        for kinds, starts, ends in some:
            if "ACTION" not in kinds:
                yield kinds, starts, ends
                continue
            size = 1 + kinds.index("ACTION")
            begin = _action_end(source, starts[size - 1])
            yield kinds[:size], starts[:size], [*ends[: size - 1], begin]
            break


def _action_end(source: Source, start: int) -> int:
    depth = 0
    for match in _INSIDE_ACTION.finditer(source.text, start):
        depth += bool(match["open"]) - bool(match["close"])
        if not depth:
            return match.end()
    message = "this action is never closed: expected '}'"
    raise ParseError(message, source, Span(start, start + 1), "add '}' where the action ends")


_ESCAPE = re.compile(
    r"""\\(?: u(?P<four>[0-9A-Fa-f]{4}) | u\{(?P<braced>[0-9A-Fa-f]+)\}
            | (?P<property>[pP]\{[^}]*\}) | (?P<simple>[\s\S]) ) | (?P<plain>[\s\S])""",
    re.VERBOSE,
)
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_SIMPLE |= {sign: sign for sign in "\\'\"]-["}
_ESCAPES_HINT = r"the escapes are \n \r \t \b \f \\ \' \uHHHH \u{H…}, and in sets \] \- \p{…}"
#: The most digits of a number.
_MAX_DIGITS = 12


def text_of(source: Source, span: Span) -> str:
    """The text between the quotes of a string.

    Raises: ParseError of kind ``bad_escape``.
    """
    inside = Span(span.start + 1, span.end - 1)
    codes = [_code(source, match) for match in _ESCAPE.finditer(source.text, *_ends(inside))]
    return "".join(map(chr, codes))


def set_ranges(source: Source, span: Span) -> Ranges:
    """The characters of a set such as ``[a-z\\u00e9\\p{Lu}]``.

    Raises: ParseError of kind ``bad_escape`` or ``syntax``.
    """
    matches = [*_ESCAPE.finditer(source.text, span.start + 1, span.end - 1)]
    pieces: list[tuple[int, int]] = []
    properties: list[Ranges] = []
    index = 0
    while index < len(matches):
        match = matches[index]
        if match["property"]:
            properties.append(_property(source, match))
        else:
            low = high = _code(source, match)
            if index + 2 < len(matches) and matches[index + 1]["plain"] == "-":
                high = _code(source, matches[index + 2])
                where = Span(match.start(), matches[index + 2].end())
                index += 2
                if high < low:
                    message = "expected a range from a lower to a higher character"
                    raise ParseError(message, source, where, "swap the two ends")
            pieces.append((low, high))
        index += 1
    if not matches:
        message = "expected at least one character in the set"
        raise ParseError(message, source, span, "write for example [a-z]")
    return intersection(ANY_CHARACTER, union(normalized(pieces), *properties))


def with_cases(ranges: Ranges) -> Ranges:
    """The characters of a set in upper and lower case, as ``caseInsensitive`` reads them."""
    others = [
        ord(case)
        for low, high in ranges
        for code in range(low, min(high, 0x24FF) + 1)
        for case in (chr(code).lower(), chr(code).upper())
        if len(case) == 1
    ]
    return union(ranges, normalized((code, code) for code in others))


def _ends(span: Span) -> tuple[int, int]:
    return span.start, span.end


def _code(source: Source, match: re.Match[str]) -> int:
    span = Span(*match.span())
    if match["plain"]:
        return ord(match["plain"])
    if simple := match["simple"]:
        if simple not in _SIMPLE:
            message = f"expected an escape that exists after the backslash, not {simple!r}"
            raise ParseError(message, source, span, _ESCAPES_HINT, "bad_escape")
        return ord(_SIMPLE[simple])
    digits = match["four"] or match["braced"]
    if not digits:
        message = "a set of characters cannot be one end of a range, or in a string"
        raise ParseError(message, source, span, "write it alone in a set: [\\p{Lu}]", "bad_escape")
    code = int(digits, 16) if len(digits) <= _MAX_DIGITS else MAX_CODE_POINT + 1
    if code > MAX_CODE_POINT:
        message = "expected the code point of a character, not a higher number"
        hint = "the highest character is \\u{10FFFF}"
        raise ParseError(message, source, span, hint, "bad_escape")
    return code


def _property(source: Source, match: re.Match[str]) -> Ranges:
    """The characters of ``\\p{…}``, whose names are those of regexes."""
    try:
        tree = parse_regex(Source(match[0], "property"))
    except ParseError as error:
        span = Span(*match.span())
        raise ParseError(error.message, source, span, error.hint, "bad_escape") from error
    assert isinstance(tree, Characters), "a property is a set of characters"
    return tree.ranges
