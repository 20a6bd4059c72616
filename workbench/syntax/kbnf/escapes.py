r"""The inside of quotes: in comes what was written, out comes what it stands for, place by place.

KBNF resolves escapes in strings and in every ``#`` form alike, before a regex is read as a
regex: ``#'\\d'`` is the regex ``\d``. So that a mistake inside the regex is shown where it was
written, each character keeps the place it came from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.errors import ParseError
from workbench.source import Source, Span

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
_HALF = re.compile("[\ud800-\udfff]")
_LAST = 0x10FFFF


@dataclass(frozen=True, slots=True, eq=False)
class Unescaped:
    """The text between quotes, with its escapes resolved."""

    text: str
    #: Where each character of ``text`` was written, and at the end where the quote closes.
    places: Sequence[int]


def unescape(source: Source, inside: Span, *, regex: bool) -> Unescaped:
    """Resolve the escapes between two quotes; ``regex`` words the hints only.

    Raises: ParseError of kind ``bad_escape`` at the first escape that does not exist.
    Source: KBNF specification, section 1, table of escapes.
    """
    pieces: list[str] = []
    places: list[int] = []
    here = inside.start
    while True:
        escape = source.text.find("\\", here, inside.end)
        stop = inside.end if escape < 0 else escape
        pieces.append(_plain(source, Span(here, stop)))
        if escape < 0 and not places:
            return Unescaped(pieces[0], range(here, stop + 1))
        places += range(here, stop)
        if escape < 0:
            return Unescaped("".join(pieces), (*places, stop))
        match = _ESCAPE.match(source.text, escape, inside.end)
        if match is None:
            raise _unknown(source, inside, escape, regex=regex)
        pieces.append(_value(source, match))
        places.append(escape)
        here = match.end()


def _plain(source: Source, span: Span) -> str:
    """A piece of text without escapes; halves of characters are none."""
    text = source.text[span.start : span.end]
    if not text.isascii() and (half := _HALF.search(text)):
        place = span.start + half.start()
        raise _not_a_character(source, Span(place, place + 1), ord(half[0]))
    return text


def _value(source: Source, match: re.Match[str]) -> str:
    """The character an escape stands for."""
    if match["simple"]:
        return _SIMPLE[match["simple"]]
    if match["octal"]:
        return chr(int(match["octal"], 8))
    code = int(match["two"] or match["four"] or match["braced"], 16)
    if code in _SURROGATES or code > _LAST:
        raise _not_a_character(source, Span(match.start(), match.end()), code)
    return chr(code)


def _not_a_character(source: Source, span: Span, code: int) -> ParseError:
    what = f"U+{code:04X}" if code <= 0xFFFFFF else "this number"
    message = f"expected a character's number, and {what} is none"
    hint = (
        "surrogates are halves of UTF-16; write the character itself, or its number: \\u{1F600}"
        if code in _SURROGATES
        else "the highest character is \\u{10FFFF}"
    )
    return ParseError(message, source, span, hint, "bad_escape")


#   after the backslash    what is wrong, what to type
_UNFINISHED = {
    "x": ("two hexadecimal digits after \\x", "write exactly two, as in \\x41"),
    "u": ("four hexadecimal digits after \\u", "write four, as in \\u00e9, or braces: \\u{1F600}"),
}


def _unknown(source: Source, inside: Span, here: int, *, regex: bool) -> ParseError:
    """The error for a backslash at ``here`` that begins no escape."""
    after = source.text[here + 1 : min(here + 2, inside.end)]
    span = Span(here, here + 1 + len(after))
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
    return ParseError(message, source, span, hint, "bad_escape")
