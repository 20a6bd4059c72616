"""The nodes of a regular expression; each knows the place it was written at.

The tree speaks of characters (code points) or, in byte mode, of bytes. Flags, escapes,
classes and dialects are resolved by the parser: what is left is the mathematical core.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.source import Span

#: Sorted, disjoint, non-adjacent inclusive ranges.
Ranges = tuple[tuple[int, int], ...]


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


Regex = Characters | Bytes | Concat | Alternate | Repeat | Group
