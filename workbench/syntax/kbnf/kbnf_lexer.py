r"""The lexer of KBNF, and the escapes inside its quotes.

KBNF resolves escapes in strings and in every ``#`` form alike, before a regex is parsed:
``#'\\d'`` is the regex ``\d``. Each character keeps its source position, so that an error inside
the regex is reported where it was written.

All lexemes are one regular expression. Its matches become three lists, since an object for each
lexeme took half of the time of reading a grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from workbench.base.errors import ParseError
from workbench.base.source import SURROGATE, Source, Span, Unescaped

_SIMPLE = {
    "n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "\\": "\\", "'": "'", '"': '"', "/": "/",
}  # fmt: skip

_ESCAPE = re.compile(
    r"""\\(?: (?P<simple>[nrtbf\\'"/])
            | x(?P<two>[0-9A-Fa-f]{2})
            | u(?P<four>[0-9A-Fa-f]{4})
            | u\{(?P<braced>[0-9A-Fa-f]+)\}
            | (?P<octal>[0-3][0-7]{0,2}|[4-7][0-7]?) )""",
    re.VERBOSE,
)
_SURROGATES = range(0xD800, 0xE000)
_LAST = 0x10FFFF


def unescape(source: Source, inside: Span, *, regex: bool) -> Unescaped:
    """Resolve the escapes between two quotes; ``regex`` only changes the hints.

    Raises: ParseError of kind ``bad_escape`` at the first escape that does not exist.
    Source: KBNF specification, section 1, table of escapes.
    """
    pieces: list[str] = []
    places: list[int] = []
    position = inside.start
    while True:
        escape = source.text.find("\\", position, inside.end)
        stop = inside.end if escape < 0 else escape
        pieces.append(_plain(source, position, stop))
        if escape < 0 and not places:
            return Unescaped(pieces[0], range(position, stop + 1), "\\\\")
        places += range(position, stop)
        if escape < 0:
            return Unescaped("".join(pieces), (*places, stop), "\\\\")
        match = _ESCAPE.match(source.text, escape, inside.end)
        if match is None:
            raise _unknown(source, inside, escape, regex=regex)
        pieces.append(_value(source, match))
        places.append(escape)
        position = match.end()


def _plain(source: Source, start: int, end: int) -> str:
    """A part of the text without escapes; raises for a lone surrogate."""
    text = source.text[start:end]
    if not text.isascii() and (half := SURROGATE.search(text)):
        position = start + half.start()
        raise _not_a_character(source, Span(position, position + 1), ord(half[0]))
    return text


def _value(source: Source, match: re.Match[str]) -> str:
    """The character of an escape."""
    if simple := match["simple"]:
        return _SIMPLE[simple]
    if match["octal"]:
        return chr(int(match["octal"], 8))
    code = int(match["two"] or match["four"] or match["braced"], 16)
    if code in _SURROGATES or code > _LAST:
        raise _not_a_character(source, Span(match.start(), match.end()), code)
    return chr(code)


def _not_a_character(source: Source, span: Span, code: int) -> ParseError:
    what = f"U+{code:04X}" if code <= 0xFFFFFF else "this number"
    message = f"expected the code point of a character, not {what}"
    hint = (
        "surrogates are halves of UTF-16; write the character itself, or its number: \\u{1F600}"
        if code in _SURROGATES
        else "the highest character is \\u{10FFFF}"
    )
    return ParseError(message, source, span, hint, "bad_escape")


#   after the backslash    what is expected, the hint
_UNFINISHED = {
    "x": ("two hexadecimal digits after \\x", "write exactly two, as in \\x41"),
    "u": ("four hexadecimal digits after \\u", "write four, as in \\u00e9, or braces: \\u{1F600}"),
}


def _unknown(source: Source, inside: Span, position: int, *, regex: bool) -> ParseError:
    """The error for a backslash at ``position`` without a known escape."""
    after = source.text[position + 1 : min(position + 2, inside.end)]
    span = Span(position, position + 1 + len(after))
    if after in _UNFINISHED:
        expected, hint = _UNFINISHED[after]
        return ParseError(f"expected {expected}", source, span, hint, "bad_escape")
    shown = "a line break" if after == "\n" else repr(after)[1:-1]
    message = f"expected an escape that exists after the backslash, not {shown}"
    if regex and after.isprintable():
        hint = f"a regex inside quotes doubles its backslashes: write \\\\{after}"
    elif after.isalnum():
        hint = (
            "the escapes are \\n \\r \\t \\b \\f \\\\ \\' \\\" \\/ \\xHH \\uHHHH \\u{H…} and octal"
        )
    else:
        hint = "write a backslash itself as \\\\, and any other character without one"
    error = ParseError(message, source, span, hint, "bad_escape")
    if regex and after.isprintable():
        written = source.text[inside.start : inside.end]
        return error.with_fix(_double_backslashes(written), inside)
    return error if after.isalnum() else error.with_fix("\\" + source.text[span.start : span.end])


def _double_backslashes(written: str) -> str:
    """A regex in which every backslash that begins no escape is doubled."""
    return re.sub(
        rf"{_ESCAPE.pattern}|(?P<other>\\)",
        lambda match: "\\\\" if match["other"] else match[0],
        written,
        flags=re.VERBOSE,
    )


#: The kinds of the end of the text, and of a position where no lexeme matches.
END, NOTHING = "END", "NOTHING"


_QUOTED = r"""(?:'(?:[^'\\]++|\\[\s\S])*+'|"(?:[^"\\]++|\\[\s\S])*+")"""
#: A group for each kind of lexeme; white space and comments before it are skipped. An unclosed
#: quote or comment fails in one pass. ``(*`` always begins a comment, closed or not: a bracket is
#: never followed by a sign.
LEXEMES = re.compile(
    rf"""(?:[ \t\r\n]++|\(\*[\s\S]*?\*\))*
    (?: (?P<_EXCEPT>except!) | (?P<NAME>[A-Za-z_][A-Za-z0-9_]*+) | (?P<STRING>{_QUOTED})
      | (?P<_BAR>\|) | (?P<_STAR>\*) | (?P<_DEFINE>::=|=) | (?P<_END>;)
      | (?P<_LPAR>\((?!\*)) | (?P<_RPAR>\)) | (?P<REGEX>\#{_QUOTED})
      | (?P<_OPTIONAL>\?) | (?P<_PLUS>\+) | (?P<_COMMA>,) | (?P<NUMBER>[0-9]++)
      | (?P<_LBRACKET>\[) | (?P<_RBRACKET>\]) | (?P<_LBRACE>\{{) | (?P<_RBRACE>\}})
      | (?P<REGEX_FIRST>\#e{_QUOTED}) | (?P<REGEX_WITHOUT>\#ex{_QUOTED})
      | (?P<SUBSTRINGS>\#substrs{_QUOTED})
      | (?P<{END}>\Z) | (?P<{NOTHING}>) )""",
    re.VERBOSE,
)


#: The kinds, starts and ends of some lexemes in a row.
Lexemes = tuple[list[str], list[int], list[int]]
#: Lexemes between two checks of the time limit.
LEXEMES_PER_CHECK = 64


def lexemes(
    text: str,
    count: int = LEXEMES_PER_CHECK,
    *,
    pattern: re.Pattern[str] = LEXEMES,
    begin: int = 0,
) -> Iterator[Lexemes]:
    """The lexemes of a text, ``count`` at a time, each the last group of a match.

    The last one is ``END``, or ``NOTHING`` where none matches.
    """
    matches = pattern.finditer(text, begin)
    while some := [*islice(matches, count)]:
        kinds = [match.lastgroup or "" for match in some]
        starts = [*map(re.Match.start, some, kinds)]
        ends = [*map(re.Match.end, some)]
        for last in (NOTHING, END):
            if last in kinds:
                size = 1 + kinds.index(last)
                yield kinds[:size], starts[:size], ends[:size]
                return
        yield kinds, starts, ends


#: The kind of closing bracket for each kind of opening bracket.
CLOSING = {"_LPAR": "_RPAR", "_LBRACKET": "_RBRACKET", "_LBRACE": "_RBRACE"}

#: The text of punctuation, by kind.
SHOWN = {
    "_DEFINE": "::=", "_END": ";", "_BAR": "|", "_COMMA": ",", "_OPTIONAL": "?", "_STAR": "*",
    "_PLUS": "+", "_LPAR": "(", "_RPAR": ")", "_LBRACKET": "[", "_RBRACKET": "]", "_LBRACE": "{",
    "_RBRACE": "}", "_EXCEPT": "except!",
}  # fmt: skip
#: The kinds of the signs after an item.
POSTFIX = {"_OPTIONAL", "_STAR", "_PLUS"}
QUOTED = {"STRING", "REGEX", "REGEX_FIRST", "REGEX_WITHOUT", "SUBSTRINGS"}
#: Kinds after which an item must follow.
WANTS_ITEM = {"_DEFINE", "_BAR", "_COMMA", *CLOSING}
#: The most characters of a lexeme in a message.
_MAX_SHOWN = 24


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A lexeme for messages; ``kind`` is its name in the lexer."""

    kind: str
    text: str
    span: Span

    @property
    def shown(self) -> str:
        """The lexeme in a message."""
        short = self.text if len(self.text) <= _MAX_SHOWN else self.text[: _MAX_SHOWN - 1] + "…"
        return short if short[0] in "'\"#" else f"'{short}'"


@dataclass(frozen=True, slots=True, eq=False)
class Mistake:
    """A syntax error: its position and the lexemes before it.

    ``kind`` is the kind of the unexpected lexeme: ``END`` at the end of the text, and ``NOTHING``
    where no lexeme matches.
    """

    source: Source
    before: tuple[Lexeme, ...]
    kind: str
    place: int

    @property
    def rest(self) -> str:
        """The next characters, enough to recognize the intention."""
        return self.source.text[self.place : self.place + _MAX_SHOWN]

    @property
    def span(self) -> Span:
        """The span of the unexpected lexeme."""
        if self.kind == END:
            end = len(self.source.text.rstrip(" \t\r\n"))
            return Span(end, end)
        length = len(SHOWN[self.kind]) if self.kind in SHOWN else 1
        if self.kind in ("_DEFINE", "NAME", "NUMBER"):
            match = re.match(r"::=|=|\w+", self.rest, re.ASCII)
            length = match.end() if match else 1
        return Span(self.place, min(self.place + length, len(self.source.text)))

    @property
    def found(self) -> str:
        """The unexpected lexeme in words."""
        if self.kind == END:
            return "the end of the text"
        if self.kind in QUOTED:
            return "a string" if self.kind == "STRING" else "a regex"
        text = self.source.text[self.span.start : self.span.end]
        return repr(text) if not text.isprintable() else f"'{text}'"

    @property
    def column(self) -> int:
        """The column of the unexpected lexeme."""
        return self.source.position(self.place)[1]

    def last(self, back: int = 1) -> Lexeme:
        """The lexeme ``back`` positions before the error."""
        if len(self.before) >= back:
            return self.before[-back]
        return Lexeme("", "", Span(0, 0))

    @property
    def open(self) -> Lexeme | None:
        """The innermost open bracket."""
        opened: list[Lexeme] = []
        for lexeme in self.before:
            if lexeme.kind in CLOSING:
                opened.append(lexeme)
            elif opened and lexeme.kind == CLOSING[opened[-1].kind]:
                opened.pop()
        return opened[-1] if opened else None

    @property
    def wants(self) -> str:
        """What is expected: ``rule``, ``define``, ``item``, or ``follow`` (after an item).

        Inside ``except!( )`` it is ``bracket``, ``excepted`` or ``closing``.
        """
        last, before = self.last(), self.last(2)
        if last.kind in ("", "_END"):
            return "rule"
        if last.kind == "NAME" and before.kind in ("", "_END"):
            return "define"
        if last.kind == "_EXCEPT":
            return "bracket"
        if before.kind == "_EXCEPT":
            return "excepted"
        if self.last(3).kind == "_EXCEPT" and last.kind in ("STRING", "NAME"):
            return "limit"
        if self.last(4).kind == "_EXCEPT" and last.kind == "_COMMA":
            return "number"
        if self.last(5).kind == "_EXCEPT" and last.kind == "NUMBER":
            return "closing"
        return "item" if last.kind in WANTS_ITEM else "follow"

    def error(self, message: str, hint: str, span: Span | None = None) -> ParseError:
        """A ParseError at the unexpected lexeme, or at ``span``."""
        return ParseError(message, self.source, span or self.span, hint)
