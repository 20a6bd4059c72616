"""Labels: the extensions that stand for one token of a vocabulary, and what texts these may be.

A token that a label reads is read whole, whatever its text. A grammar knows no vocabulary: as
characters a label is any text such a token may have, so that texts can be checked without one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.source import Span
from workbench.syntax.ranges import ANY_BYTE
from workbench.syntax.regex_tree import Bytes, Concat, Ranges, Regex, Repeat

#: All bytes but the line feed.
_IN_A_LINE: Ranges = ((0x00, 0x09), (0x0B, 0xFF))


@dataclass(frozen=True, slots=True)
class Label:
    """One token out of a set that a vocabulary decides."""

    name: str
    #: What it reads, for people.
    what: str
    #: The texts of its tokens, at a place. Tokens may begin and end inside a character: bytes.
    spelt: Callable[[Span], Regex]


def _bytes(ranges: Ranges) -> Callable[[Span], Regex]:
    """Any bytes out of a set, one at least."""
    return lambda span: Repeat(Bytes(ranges, span), 1, None, span)


#: In the order in which they read a token that several of them can read: the narrowest first.
LABELS = (
    Label("IMAGE", "a token that stands for an image", lambda span: Concat((), span)),
    Label("PARAGRAPH_TOKEN", "a token of text without a line feed", _bytes(_IN_A_LINE)),
    Label("TEXT_TOKEN", "a token of text", _bytes(ANY_BYTE)),
)

LABEL_NAMES = frozenset(label.name for label in LABELS)
