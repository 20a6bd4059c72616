"""Labels: the extensions that stand for one token of a vocabulary, and what texts these may be.

A token that a label reads is read whole, whatever its text. A grammar knows no vocabulary: as
characters a label is any text such a token may have, so that texts can be checked without one.

Source: terminal labels, Koo et al. 2024, §2.5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from workbench.source import Span
from workbench.syntax.ranges import ANY_BYTE
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Concat,
    Extension,
    Group,
    Ranges,
    Regex,
    Repeat,
)

#: All bytes but the line feed.
_IN_A_LINE: Ranges = ((0x00, 0x09), (0x0B, 0xFF))


@dataclass(frozen=True, slots=True)
class Label:
    """One token out of a set that a vocabulary decides."""

    name: str
    #: What it reads, for people.
    what: str
    #: The texts of its tokens, at a place. Tokens may begin and end inside a character: bytes.
    spelt: Callable[[Span], Regex] = field(repr=False)


def _bytes(ranges: Ranges) -> Callable[[Span], Regex]:
    """Any bytes out of a set, one at least."""
    return lambda span: Repeat(Bytes(ranges, span), 1, None, span)


#: In the order in which they read a token that several of them can read: the narrowest first.
LABELS = (
    Label("IMAGE", "a token that stands for an image", lambda span: Concat((), span)),
    Label("PARAGRAPH_TOKEN", "a token of text without a line feed", _bytes(_IN_A_LINE)),
    Label("TEXT_TOKEN", "a token of text", _bytes(ANY_BYTE)),
)
_BY_NAME = {label.name: label for label in LABELS}


def label_of(regex: Regex) -> Label | None:
    """The label a node stands for; None for any other, and for groups that only have its name."""
    if not isinstance(regex, Group) or regex.name not in _BY_NAME:
        return None
    label = _BY_NAME[regex.name]
    return label if regex.part == label.spelt(regex.span) else None


def labels_in(regex: Regex) -> Iterator[tuple[Label, Span]]:
    """Every label of a regex with its place, from left to right."""
    label = label_of(regex)
    if label is not None:
        yield label, regex.span
        return
    match regex:
        case Concat(parts=parts) | Alternate(options=parts) | Extension(parts=parts):
            for part in parts:
                yield from labels_in(part)
        case Repeat(part=part) | Group(part=part):
            yield from labels_in(part)
