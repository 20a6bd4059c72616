r"""Strings, ranges and regexes of Lark: lexemes in, terminals of the tree out.

A regex is read as Python's, whose notation Lark's is; what only Rust reads (llguidance) is read
as Rust's. As in xgrammar an anchor says nothing wherever it stands, and ``\cA`` is a control
character.
"""

from __future__ import annotations

import re

from workbench.errors import ParseError
from workbench.limits import Clock
from workbench.source import Source, Span
from workbench.syntax.escapes import Escapes
from workbench.syntax.grammar_tree import Expression, Literal, Pattern, Stop
from workbench.syntax.kbnf.escapes import Unescaped
from workbench.syntax.ranges import ANY_CHARACTER, intersection
from workbench.syntax.regex.anchors_dropped import without_anchors
from workbench.syntax.regex.class_text import class_text
from workbench.syntax.regex.parser import Dialect, Flags, parse_regex
from workbench.syntax.regex.tree import Characters, Regex

#: Those of JSON and Python. Any other backslash is itself for Lark, and refused by llguidance.
_ESCAPES = Escapes(
    {
        "n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "\\": "\\", '"': '"', "/": "/",
    },
    pairs=True,
    hint="write a backslash itself as \\\\; the escapes are \\n \\r \\t \\b \\f \\\\ \\\" \\/ "
    "\\xHH \\uHHHH \\UHHHHHHHH",
)  # fmt: skip
_FLAGS = {"i": "ignorecase", "m": "multiline", "s": "dotall", "x": "verbose"}


def string(source: Source, span: Span) -> Expression:
    """``"text"`` or ``"text"i``.

    Raises: ParseError of kind ``bad_escape``.
    """
    text, cased = _string(source, span)
    if not cased:
        return Literal(text.encode(), span)
    escaped = "".join(re.escape(character) for character in text)
    places = [span.start] * len(escaped) + [span.end]
    regex = parse_regex(source, flags=Flags(ignorecase=True), written=Unescaped(escaped, places))
    return Pattern(regex, Stop.ANYWHERE, f"(?i:{escaped})", span)


def character_range(source: Source, low: Span, high: Span) -> Pattern:
    """``"a".."z"``.

    Raises: ParseError
    """
    span = low.to(high)
    ends = [_string(source, end) for end in (low, high)]
    if any(len(text) != 1 or cased for text, cased in ends):
        message = "expected one character at each end of the range"
        raise ParseError(message, source, span, 'write for example "a".."z"')
    first, last = (ord(text) for text, _ in ends)
    if first > last:
        message = "expected a range from a lower to a higher character"
        raise ParseError(message, source, span, "swap the two ends")
    ranges = intersection(ANY_CHARACTER, ((first, last),))
    return Pattern(Characters(ranges, span), Stop.ANYWHERE, class_text(ranges), span)


def regex(source: Source, span: Span, clock: Clock | None = None) -> Pattern:
    """``/regex/flags``.

    Raises: ParseError of kind ``bad_regex`` or ``unsupported_regex``.
    """
    end = source.text.rindex("/", span.start, span.end)
    letters = source.text[end + 1 : span.end]
    if "l" in letters:
        message = "the flag 'l' cannot be read: what it means depends on where it is run"
        raise ParseError(message, source, Span(end + 1, span.end), "leave it out", "unsupported")
    flags = Flags(**{_FLAGS[letter]: True for letter in letters if letter in _FLAGS})
    written = Unescaped(source.text[span.start + 1 : end], range(span.start + 1, end + 1))
    if not flags.verbose and not flags.multiline:
        # under 'm' an anchor says something, under 'x' it may stand in a comment: it is refused
        written = without_anchors(written)
    tree = _parsed(source, written, flags, clock)
    told = "".join(sorted({letter for letter in letters if letter in _FLAGS}))
    text = f"(?{told}:{written.text})" if told else written.text
    return Pattern(tree, Stop.ANYWHERE, text, span)


def _parsed(source: Source, written: Unescaped, flags: Flags, clock: Clock | None) -> Regex:
    try:
        return parse_regex(source, flags=flags, written=written, clock=clock)
    except ParseError as error:
        try:
            return parse_regex(
                source, dialect=Dialect.RUST, flags=flags, written=written, clock=clock
            )
        except ParseError:
            raise error from None


def _string(source: Source, span: Span) -> tuple[str, bool]:
    """What a string stands for, and whether its case is ignored."""
    end = span.end - 1
    cased = source.text[end] == "i"
    inside = Span(span.start + 1, end - cased)
    return _ESCAPES.unescaped(source, inside).text, cased
