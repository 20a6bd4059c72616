"""Pieces: grammar trees and regex trees in, one kind of tree out in which every leaf has its place.

What derives no text is left out, so that whatever a piece begins to read can be finished.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise

from workbench.automata.thompson import thompson
from workbench.errors import ParseError
from workbench.pushdown.readers import OfNfa, Reader, character, one_byte
from workbench.source import Source, Span
from workbench.syntax.grammar_tree import Literal
from workbench.syntax.kbnf.escapes import unescape
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Extension,
    Group,
    Regex,
    Repeat,
)


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """Something that reads, and where it is written."""

    reader: Reader
    span: Span
    #: The terminal, or the regex, it is a piece of.
    whole: Span
    #: The named groups of a regex it is in, the outermost first.
    groups: tuple[Group, ...] = ()
    is_nullable: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A rule is called, at a place."""

    rule: str
    span: Span
    is_nullable: bool


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One part after the other; no part: the empty text."""

    parts: tuple[Piece, ...]
    is_nullable: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_nullable", all(part.is_nullable for part in self.parts))


@dataclass(frozen=True, slots=True, eq=False)
class AnyOf:
    """One of the options."""

    options: tuple[Piece, ...]
    is_nullable: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_nullable", any(option.is_nullable for option in self.options))


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """From ``low`` to ``high`` copies of a part; of a part that may be empty none is needed."""

    part: Piece
    low: int
    high: int | None

    @property
    def is_nullable(self) -> bool:
        return self.low == 0


Piece = Leaf | Call | Row | AnyOf | Loop

#: The empty text.
NOTHING = Row(())


def row(parts: list[Piece | None]) -> Piece | None:
    """One after the other; None, no text at all, where one of them has none."""
    kept = [part for part in parts if part is not None]
    if len(kept) < len(parts):
        return None
    return kept[0] if len(kept) == 1 else Row(tuple(kept))


def any_of(options: list[Piece | None]) -> Piece | None:
    """Whichever has texts; None where none has any."""
    kept = tuple(option for option in options if option is not None)
    if len(kept) > 1:
        return AnyOf(kept)
    return kept[0] if kept else None


def loop(part: Piece | None, low: int, high: int | None) -> Piece | None:
    """Copies of a part; None where a copy is needed and there is none."""
    if high == 0 or (part is None and low == 0):
        return NOTHING
    if part is None:
        return None
    return Loop(part, 0 if part.is_nullable else low, high)


def regex_piece(regex: Regex, whole: Span, groups: tuple[Group, ...] = ()) -> Piece | None:
    """A regex that stands at ``whole``, or a part of it in some named groups.

    None where it matches nothing at all.
    """
    match regex:
        case Characters(ranges=ranges, span=span):
            return Leaf(character(ranges), span, whole, groups) if ranges else None
        case Bytes(ranges=ranges, span=span):
            return Leaf(one_byte(ranges), span, whole, groups) if ranges else None
        case Concat(parts=parts):
            return row([regex_piece(part, whole, groups) for part in parts])
        case Alternate(options=options):
            return any_of([regex_piece(option, whole, groups) for option in options])
        case Repeat(part=part, low=low, high=high):
            return loop(regex_piece(part, whole, groups), low, high)
        case Group(part=part, name=name):
            return regex_piece(part, whole, groups if name is None else (*groups, regex))
        case Extension(span=span):
            reader = OfNfa(thompson(regex))
            empty = reader.ends(reader.initial)
            return Leaf(reader, span, whole, groups, empty) if reader.initial else None


def literal_piece(literal: Literal, source: Source) -> Piece | None:
    """A string, letter by letter, each at its own place."""
    text = literal.value.decode("utf-8")
    letters: list[Piece | None] = []
    for letter, span in zip(text, _letters(literal, text, source), strict=True):
        letters.append(Leaf(character(((ord(letter), ord(letter)),)), span, literal.span))
    return row(letters)


def _letters(literal: Literal, text: str, source: Source) -> list[Span]:
    """Where each letter of a string is written; the whole where that is not told.

    A tree made by hand has only that, and so have strings with escapes KBNF does not know.
    """
    start, end = literal.span.start, literal.span.end
    quoted = source.text[start:end]
    if len(quoted) >= 2 and quoted[0] == quoted[-1] and quoted[0] in "'\"":
        with suppress(ParseError):
            inside = unescape(source, Span(start + 1, end - 1), regex=False)
            if inside.text == text:
                return [Span(low, high) for low, high in pairwise(inside.places)]
    return [literal.span] * len(text)


def leaves(piece: Piece) -> Iterator[Leaf]:
    """Every leaf, from left to right."""
    match piece:
        case Leaf():
            yield piece
        case Row(parts=parts) | AnyOf(options=parts):
            for part in parts:
                yield from leaves(part)
        case Loop(part=part):
            yield from leaves(part)
        case Call():
            pass
