"""Rewrites a regex as an expression of rules: strings, sets of one character."""

from __future__ import annotations

from workbench.export.regex_text import pattern
from workbench.export.terms import EMPTY
from workbench.source import Span
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Pattern,
    Repetition,
    Sequence,
    Stop,
)
from workbench.syntax.regex.dialect import Dialect
from workbench.syntax.regex.tree import Alternate, Characters, Concat, Regex, Repeat


def spelled(regex: Regex, span: Span) -> Expression:
    """A regex made of the parts ``terms`` makes, character by character."""
    match regex:
        case Characters() if _letter(regex):
            return Literal(_letter(regex).encode(), span)
        case Concat(parts):
            items = tuple(_items(parts, span))
            return items[0] if len(items) == 1 else Sequence(items, span)
        case Alternate(options):
            return Choice(tuple(spelled(option, span) for option in options), span)
        case Repeat(part, low, high):
            return Repetition(spelled(part, span), low, high, span)
        case _:
            return terminal(regex, span)


def terminal(regex: Regex, span: Span, dialect: Dialect | None = None) -> Pattern:
    """A regex as one terminal, its text in a dialect, or as every dialect reads it."""
    return Pattern(regex, Stop.ANYWHERE, pattern(regex, dialect), span)


def _items(parts: tuple[Regex, ...], span: Span) -> list[Expression]:
    """The parts of a row, letters side by side as one string."""
    items: list[Expression] = []
    letters = ""
    for part in (*parts, EMPTY):
        if letter := _letter(part):
            letters += letter
            continue
        if letters:
            items.append(Literal(letters.encode(), span))
            letters = ""
        if part != EMPTY:
            items.append(spelled(part, span))
    return items


def _letter(regex: Regex) -> str:
    """The one character of a set, or nothing."""
    if not isinstance(regex, Characters) or len(regex.ranges) != 1:
        return ""
    ((low, high),) = regex.ranges
    return chr(low) if low == high else ""
