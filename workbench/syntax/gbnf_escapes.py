r"""The inside of GBNF's quotes and brackets: what was written in, characters and ranges out.

The escapes of llama.cpp (``\xHH``, ``\uHHHH``, ``\UHHHHHHHH``, ``\n``, ``\r``, ``\t`` and signs)
and those xgrammar has besides; ``\x80`` is the character U+0080, no byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.errors import ParseError
from workbench.source import Source, Span
from workbench.syntax.kbnf_escapes import Unescaped
from workbench.syntax.ranges import (
    ANY_CHARACTER,
    MAX_CODE_POINT,
    difference,
    intersection,
    normalized,
)
from workbench.syntax.regex_tree import Ranges

_SIMPLE = {
    "n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b",
    "0": "\0",
}  # fmt: skip
_ESCAPE = re.compile(
    r"""\\(?: x(?P<two>[0-9A-Fa-f]{2}) | u(?P<four>[0-9A-Fa-f]{4}) | U(?P<eight>[0-9A-Fa-f]{8})
            | (?P<simple>[nrtbfvae0]) | (?P<sign>[^\w\s]) )""",
    re.VERBOSE | re.ASCII,
)
#: After the backslash: what is missing, what to type.
_UNFINISHED = {
    "x": ("two hexadecimal digits after \\x", "write exactly two, as in \\x41"),
    "u": ("four hexadecimal digits after \\u", "write exactly four, as in \\u00e9"),
    "U": ("eight hexadecimal digits after \\U", "write exactly eight, as in \\U0001F600"),
}
_SETS = {"d": "[0-9]", "w": "[A-Za-z0-9_]", "s": "[ \\t\\r\\n]"}
_SURROGATES = range(0xD800, 0xE000)


def unescaped(source: Source, inside: Span) -> Unescaped:
    """The text a string stands for, with the place of each of its characters.

    Raises: ParseError of kind ``bad_escape``.
    """
    written = source.text[inside.start : inside.end]
    if "\\" not in written:
        return Unescaped(written, range(inside.start, inside.end + 1))
    characters = list(_characters(source, inside))
    text = "".join(chr(code) for code, _ in characters)
    return Unescaped(text, [*(span.start for _, span in characters), inside.end])


def class_ranges(source: Source, bracketed: Span) -> Ranges:
    """The characters a class stands for; ``-`` at either end, or after a range, is itself.

    Raises: ParseError
    """
    start, end = bracketed.start + 1, bracketed.end - 1
    negated = source.text.startswith("^", start, end)
    members = list(_characters(source, Span(start + negated, end)))
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


def _characters(source: Source, inside: Span) -> Iterator[tuple[int, Span]]:
    """Each character as its number, with its place."""
    here = inside.start
    while here < inside.end:
        if source.text[here] != "\\":
            yield ord(source.text[here]), Span(here, here + 1)
            here += 1
            continue
        match = _ESCAPE.match(source.text, here, inside.end)
        if match is None:
            raise _unknown(source, inside, here)
        span = Span(here, match.end())
        yield _value(source, match, span), span
        here = match.end()


def _value(source: Source, match: re.Match[str], span: Span) -> int:
    if match["simple"]:
        return ord(_SIMPLE[match["simple"]])
    if match["sign"]:
        return ord(match["sign"])
    code = int(match["two"] or match["four"] or match["eight"], 16)
    if code in _SURROGATES or code > MAX_CODE_POINT:
        message = f"expected a character's number, and U+{code:04X} is none"
        hint = (
            "surrogates are halves of UTF-16; write the whole number: \\U0001F600"
            if code in _SURROGATES
            else "the highest character is \\U0010FFFF"
        )
        raise ParseError(message, source, span, hint, "bad_escape")
    return code


def _unknown(source: Source, inside: Span, here: int) -> ParseError:
    after = source.text[here + 1 : min(here + 2, inside.end)]
    span = Span(here, here + 1 + len(after))
    if after in _UNFINISHED:
        expected, hint = _UNFINISHED[after]
        return ParseError(f"expected {expected}", source, span, hint, "bad_escape")
    if after.lower() in _SETS:
        hint = f"write the characters out, as in {_SETS[after.lower()]}"
    else:
        hint = 'the escapes are \\n \\r \\t \\\\ \\" \\xHH \\uHHHH \\UHHHHHHHH'
    shown = after if after.isprintable() else repr(after)[1:-1]
    message = f"expected an escape that exists after the backslash, not {shown}"
    return ParseError(message, source, span, hint, "bad_escape")
