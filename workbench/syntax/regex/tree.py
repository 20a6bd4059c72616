"""The nodes of a regular expression; each knows the place it was written at.

The tree speaks of characters (code points) or, in byte mode, of bytes. Flags, escapes,
classes and dialects are resolved by the parser: what is left is the mathematical core.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from workbench.base.source import Span
from workbench.syntax.ranges import Ranges


@dataclass(frozen=True, slots=True)
class Characters:
    """One code point out of a set; surrogates are never members. No range: matches nothing."""

    ranges: Ranges
    span: Span


@dataclass(frozen=True, slots=True)
class Bytes:
    """One byte out of a set (patterns in byte mode)."""

    ranges: Ranges
    span: Span


@dataclass(frozen=True, slots=True)
class Concat:
    """One part after the other; no part: the empty text."""

    parts: tuple[Regex, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Alternate:
    """Any one of the options; there are at least two."""

    options: tuple[Regex, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Repeat:
    """From ``low`` to ``high`` copies of a part; ``high`` is None where there is no end."""

    part: Regex
    low: int
    high: int | None
    span: Span


@dataclass(frozen=True, slots=True)
class Group:
    """A capturing group. It does not change the language; pictures and explanations name it."""

    part: Regex
    name: str | None
    span: Span


class Kind(StrEnum):
    """What texts an ``Extension`` has."""

    #: Every piece of a text, the empty one among them.
    SUBSTRING_OF = "SUBSTRING_OF"
    #: Every text that ends with a phrase and holds it nowhere before.
    TEXT_UNTIL = "TEXT_UNTIL"
    #: Some of the items, at least one, in their order, a delimiter between each two.
    DELIMITED_SUBSEQUENCE_OF = "DELIMITED_SUBSEQUENCE_OF"


@dataclass(frozen=True, slots=True)
class Extension:
    """Texts that have a small machine and no small regex.

    ``parts`` are the letters of the text, or of the phrase: sets of one character, or of one in
    all its cases. Of a subsequence they are the delimiter, then the items.

    Source: Koo et al. 2024, §2.5.2.
    """

    kind: Kind
    parts: tuple[Regex, ...]
    span: Span


Regex = Characters | Bytes | Concat | Alternate | Repeat | Group | Extension
