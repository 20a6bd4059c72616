"""Every JSON literal of a string, by enumeration."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

_SHORT = {
    '"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t",
}  # fmt: skip


def spellings(text: str) -> Iterator[bytes]:
    """Every JSON literal of a string; hexadecimal digits all in lower or all in upper case."""
    for written in product(*map(_of_character, text)):
        yield f'"{"".join(written)}"'.encode()


def _of_character(character: str) -> list[str]:
    code = ord(character)
    units = [code]
    if code > 0xFFFF:
        units = [0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF)]
    found = [
        "".join(f"\\u{unit:04x}" for unit in units),
        "".join(f"\\u{unit:04X}" for unit in units),
    ]
    if code >= 0x20 and character not in '"\\':
        found.append(character)
    if character in _SHORT:
        found.append("\\" + _SHORT[character])
    return found
