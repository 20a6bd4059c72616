"""Writes permutation phrases: the members of an object or the items of an array, in any order."""

from __future__ import annotations

from collections.abc import Sequence as Row

from workbench.base.source import Span
from workbench.schema.write_values import RuleWriter
from workbench.syntax.grammar_tree import (
    Expression,
    Literal,
    Mark,
    Repetition,
    Sequence,
    choice,
    sequence,
)
from workbench.syntax.permutation_phrases import BEGIN, END, FIRST_ELEMENT, PermutationPhrase

#: More elements are written as a tree of their beginnings.
_MAX_IN_A_ROW = 128
#: The most beginnings inside one another that are shared.
_MAX_BEGINNINGS = 100


def bracketed_phrase(
    brackets: bytes,
    phrase: PermutationPhrase,
    elements: Row[tuple[Expression, ...]],
    span: Span,
    writer: RuleWriter,
) -> Expression | None:
    """The elements of a phrase in brackets, separated by commas; None if it has no text.

    The parts of an element whose first one is a literal are read after it, so that names share
    their beginnings; those of others are read after its mark.
    """
    if not phrase.is_possible:
        return None

    def mark(number: int) -> Mark:
        return Mark(b"", span, phrase, number)

    options = [
        sequence(
            [first, mark(number), *rest] if isinstance(first, Literal) else [mark(number), *parts],
            span,
        )
        for number, parts in enumerate(elements, FIRST_ELEMENT)
        for first, *rest in [parts]
    ]
    inside = None
    if options:
        is_row = len(options) <= _MAX_IN_A_ROW
        element = choice(options, span) if is_row else _prefix_tree(options, span)
        further = Repetition(sequence([writer.spacing.comma, element], span), 0, None, span)
        inside = sequence([element, further], span)
    may_be_empty = bool(phrase.free(phrase.initial) >> END & 1)
    body = writer.bracketed(brackets, inside, may_be_empty, span)
    if body is None:
        return None
    assert isinstance(body, Sequence)
    opening, *middle, closing = body.items
    return Sequence((opening, mark(BEGIN), *middle, closing, mark(END)), span)


def _prefix_tree(options: Row[Expression], span: Span) -> Expression:
    """A choice in which names with a common beginning share it.

    Then no byte leads to two states, and the automaton is made without sets of states: with 500
    names in a tenth of the time.
    """
    others: list[Expression] = []
    rests: dict[bytes, list[tuple[bytes, Expression]]] = {}
    for option in options:
        if isinstance(option, Sequence) and type(first := option.items[0]) is Literal:
            rest = Sequence(option.items[1:], option.span)
            rests.setdefault(first.value[:1], []).append((first.value[1:], rest))
        else:
            others.append(option)
    shared = [_shared_beginning(byte, group, span) for byte, group in rests.items()]
    return choice([*shared, *others], span)


def _shared_beginning(
    beginning: bytes, rests: Row[tuple[bytes, Expression]], span: Span, depth: int = 0
) -> Expression:
    """A first byte and what follows it: the rest of a name, then an expression."""
    while all(text for text, _ in rests) and len({text[:1] for text, _ in rests}) == 1:
        beginning += rests[0][0][:1]
        rests = [(text[1:], rest) for text, rest in rests]
    by_byte: dict[bytes, list[tuple[bytes, Expression]]] = {}
    for text, rest in rests:
        by_byte.setdefault(text[:1], []).append((text[1:], rest))
    following = [
        part
        for byte, group in by_byte.items()
        for part in (
            [_shared_beginning(byte, group, span, depth + 1)]
            if byte and depth < _MAX_BEGINNINGS
            else [sequence([Literal(byte + text, span), rest], span) for text, rest in group]
        )
    ]
    return sequence([Literal(beginning, span), choice(following, span)], span)
