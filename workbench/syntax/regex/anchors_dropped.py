r"""Regexes of grammars: text in, the same without its anchors and in the escapes of Python out.

A terminal matches the whole of a text wherever it stands, so ``^`` and ``$`` at its edges say
nothing; inside they would match nothing anywhere, and xgrammar, whose grammars have them there,
drops them as well. ``\/`` and ``\cA`` are JavaScript's.
"""

from __future__ import annotations

import re

from workbench.syntax.kbnf.escapes import Unescaped

_CONCERNED = re.compile(r"[\^$]|\\[c/]")
#: A regex by its pieces: an escape, a class, an anchor, anything else.
_PIECES = re.compile(
    r"""(?P<slash>\\/) | \\c(?P<control>[A-Za-z]) | \\. | \[\^?\]?(?:[^\]\\]|\\.)*\]
      | (?P<anchor>[\^$]) | .""",
    re.VERBOSE | re.DOTALL,
)
#: A control character is a letter without this bit.
_CONTROL = 0x40


def without_anchors(written: Unescaped) -> Unescaped:
    """The regex, each of its characters with its place."""
    if not _CONCERNED.search(written.text):
        return written
    told: list[str] = []
    places: list[int] = []
    for match in _PIECES.finditer(written.text):
        if match["anchor"]:
            continue
        piece, its = match[0], list(written.places[match.start() : match.end()])
        if match["slash"]:
            piece = "/"
        elif match["control"]:
            piece = f"\\x{ord(match['control'].upper()) ^ _CONTROL:02x}"
        told.append(piece)
        # what was written as one escape has one place
        places += its if piece == match[0] else its[:1] * len(piece)
    return Unescaped("".join(told), [*places, written.places[-1]])
