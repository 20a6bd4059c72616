"""Text for people: invisible characters as glyphs or codes, shortened, counted.

White space is drawn as ``·`` ``⏎`` ``⇥``; control characters and bytes that are no UTF-8 as
``<0xE2>``; characters without a glyph (format, private, unassigned) as ``<U+202E>``. The result has
no line break, no character that XML forbids, and none that changes the reading direction.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

#: Glyphs for white space, which would be invisible in a picture.
_GLYPHS = {" ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍"}


#: Unicode categories without a glyph, or whose glyph depends on the context.
_SHAPELESS = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})


def visible(text: str | bytes) -> str:
    """The text with invisible characters escaped; incomplete characters as bytes."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    shown = "".join(_GLYPHS.get(c) or printable(c) for c in text)
    # a combining accent at the start would combine with the text before it in the picture
    return "◌" + shown if shown and unicodedata.combining(shown[0]) else shown


def printable(text: str) -> str:
    """Text with only those characters escaped that a picture cannot hold; spaces are kept."""
    if text.isprintable():  # tests the same categories for all characters
        return text
    return "".join(c if c in " \n" else _escape(c) for c in text)


def shorten(text: str, width: int) -> str:
    """At most ``width`` characters: the beginning and the end, with ``…`` between."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 3
    return text[: width - 1 - tail] + "…" + text[len(text) - tail :]


@lru_cache(maxsize=8192)
def columns(text: str) -> int:
    """The number of columns of a text in a monospaced font."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def fitted(text: str, most: int) -> str:
    """The text in at most ``most`` columns; letters of some scripts take two."""
    text = shorten(text, most)
    while (wide := columns(text)) > most:
        text = shorten(text, max(3, len(text) - (wide - most + 1) // 2))
    return text


def count_of(number: int, what: str) -> str:
    """``1 edge``, ``2 edges``."""
    return f"{number:,} {what}{'s' if number != 1 else ''}"


def _escape(character: str) -> str:
    if unicodedata.category(character) not in _SHAPELESS:
        return character
    point = ord(character)
    if 0xDC80 <= point <= 0xDCFF:  # a byte that could not be decoded (surrogateescape)
        return f"<0x{point - 0xDC00:02X}>"
    return f"<0x{point:02X}>" if point < 0x80 else f"<U+{point:04X}>"
