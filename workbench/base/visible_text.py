"""Text for people: control and format characters as glyphs or codes, shortened, counted."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

#: Drawn in place of white space; the space itself would vanish in a picture.
_GLYPHS = {" ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍"}


#: Categories without a glyph, or whose glyph depends on what surrounds it.
_SHAPELESS = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})


def visible(text: str | bytes) -> str:
    """The text with everything invisible spelt out; half characters as their bytes."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    shown = "".join(_GLYPHS.get(c) or printable(c) for c in text)
    # an accent with nothing under it would sit on whatever the picture has before it
    return "◌" + shown if shown and unicodedata.combining(shown[0]) else shown


def printable(text: str) -> str:
    """Text made for reading, with only what no picture can hold spelt out: spaces stay."""
    if text.isprintable():  # the same categories, asked of all characters at once
        return text
    return "".join(c if c in " \n" else _spelt(c) for c in text)


def shorten(text: str, width: int) -> str:
    """At most ``width`` characters: the beginning and the end, with ``…`` between."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 3
    return text[: width - 1 - tail] + "…" + text[len(text) - tail :]


@lru_cache(maxsize=8192)
def columns(text: str) -> int:
    """How many columns a text takes in a font of one width."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def fitted(text: str, most: int) -> str:
    """The text in at most so many columns; letters of some scripts take two."""
    text = shorten(text, most)
    while (wide := columns(text)) > most:
        text = shorten(text, max(3, len(text) - (wide - most + 1) // 2))
    return text


def count_of(number: int, what: str) -> str:
    """``1 edge``, ``2 edges``."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def _spelt(character: str) -> str:
    if unicodedata.category(character) not in _SHAPELESS:
        return character
    point = ord(character)
    if 0xDC80 <= point <= 0xDCFF:  # a byte that could not be decoded (surrogateescape)
        return f"<0x{point - 0xDC00:02X}>"
    return f"<0x{point:02X}>" if point < 0x80 else f"<U+{point:04X}>"
