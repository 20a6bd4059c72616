r"""The inside of GBNF's brackets: a class in, its characters out; and the escapes GBNF has.

Those of llama.cpp, and those xgrammar has besides.
"""

from __future__ import annotations

import string

from workbench.errors import ParseError
from workbench.source import Source, Span
from workbench.syntax.escapes import Escapes
from workbench.syntax.ranges import ANY_CHARACTER, difference, intersection, normalized
from workbench.syntax.regex.tree import Ranges

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
    """The characters a class stands for; ``-`` at either end, or after a range, is itself.

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
