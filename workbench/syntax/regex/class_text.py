"""A set of characters in, a class of the regex notation out that Python and Rust read alike."""

from __future__ import annotations

from workbench.syntax.ranges import ANY_CHARACTER, difference
from workbench.syntax.regex.tree import Ranges

_ANY = "(?s:.)"
_NONE = "[^\\x00-\\U0010ffff]"
_ESCAPED = frozenset("\\]^-[&~")
_SPELLED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\v": "\\v"}
#: From here on a number needs more than two, and more than four, hexadecimal digits.
_WIDE, _WIDER = 0x100, 0x10000


def class_text(ranges: Ranges) -> str:
    """``[a-z]``, ``[^"]``, or a class of no character at all."""
    if ranges == ANY_CHARACTER:
        return _ANY
    if not ranges:
        return _NONE
    outside = difference(ANY_CHARACTER, ranges)
    if len(outside) < len(ranges) or ranges[-1] == ANY_CHARACTER[-1]:
        return f"[^{members(outside)}]"
    return f"[{members(ranges)}]"


def members(ranges: Ranges) -> str:
    """What stands between the brackets of a class."""
    told = []
    for low, high in ranges:
        told.append(spelled(low))
        if high > low:
            told.append(("-" if high > low + 1 else "") + spelled(high))
    return "".join(told)


def spelled(code: int, signs: frozenset[str] = _ESCAPED) -> str:
    """One character in a regex, escaped where it is one of the signs or cannot be seen."""
    character = chr(code)
    if character in _SPELLED:
        return _SPELLED[character]
    if character in signs:
        return f"\\{character}"
    if character.isprintable():
        return character
    if code < _WIDE:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < _WIDER else f"\\U{code:08x}"
