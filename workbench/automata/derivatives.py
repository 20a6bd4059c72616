"""Derivatives of regexes: a lexer's states as the regexes of what is still to be read.

The derivative of a regex by a character is a regex of the texts that may follow it. A text is
accepted if the derivative by all its characters accepts the empty text. With a few identities
(options sorted and without repetitions, no empty class in a sequence) a regex has finitely many
derivatives, so they are the states of a DFA that is built while a text is read.

Not read: assertions and the other languages without a small regex (``Extension``).

Source: Brzozowski 1964; Owens, Reppy & Turon 2009.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache

from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import NO_SPAN
from workbench.syntax.ranges import Ranges, difference, intersection
from workbench.syntax.regex.printer import pattern
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Group,
    Regex,
    Repeat,
    walk,
)

#: The empty language, and the language of the empty text.
NOTHING: Regex = Characters((), NO_SPAN)
EMPTY_TEXT: Regex = Concat((), NO_SPAN)


def plain(regex: Regex) -> Regex:
    """A regex in the normal form of derivatives: without groups, places and nested sequences.

    Raises: WorkbenchError for assertions and extensions, which have no derivative here.
    """
    match regex:
        case Characters(ranges=ranges) | Bytes(ranges=ranges):
            return Characters(ranges, NO_SPAN)
        case Concat(parts=parts):
            return joined(map(plain, parts))
        case Alternate(options=options):
            return either(map(plain, options))
        case Group(part=part):
            return plain(part)
        case Repeat(part=part, low=low, high=high):
            return repeated(plain(part), low, high)
    raise WorkbenchError(
        "expected a regex of characters, sequences, choices and repetitions",
        "write the text of the assertion or extension as a plain regex",
    )


def joined(parts: Iterable[Regex]) -> Regex:
    """A sequence; empty texts are left out, and nothing in it makes it nothing."""
    flat: list[Regex] = []
    for part in parts:
        if part == NOTHING:
            return NOTHING
        flat.extend(part.parts if isinstance(part, Concat) else (part,))
    return flat[0] if len(flat) == 1 else Concat(tuple(flat), NO_SPAN)


def either(options: Iterable[Regex]) -> Regex:
    """A choice; equal options are one, and they are in a fixed order."""
    flat: dict[Regex, None] = {}
    for option in options:
        inner = option.options if isinstance(option, Alternate) else (option,)
        flat.update(dict.fromkeys(option for option in inner if option != NOTHING))
    if not flat:
        return NOTHING
    if len(flat) == 1:
        return next(iter(flat))
    return Alternate(tuple(sorted(flat, key=repr)), NO_SPAN)


def repeated(part: Regex, low: int, high: int | None) -> Regex:
    """A repetition; of nothing or of no copies it is the empty text."""
    if high == 0 or part == EMPTY_TEXT or (part == NOTHING and low == 0):
        return EMPTY_TEXT
    if part == NOTHING or (low, high) == (1, 1):
        return part
    return Repeat(part, low, high, NO_SPAN)


@lru_cache(maxsize=4096)
def is_nullable(regex: Regex) -> bool:
    """Whether a plain regex accepts the empty text."""
    match regex:
        case Concat(parts=parts):
            return all(map(is_nullable, parts))
        case Alternate(options=options):
            return any(map(is_nullable, options))
        case Repeat(part=part, low=low):
            return low == 0 or is_nullable(part)
    return False


@lru_cache(maxsize=16_384)
def derivative(regex: Regex, code: int) -> Regex:
    """The derivative of a plain regex by a character."""
    match regex:
        case Characters(ranges=ranges):
            return EMPTY_TEXT if intersection(ranges, ((code, code),)) else NOTHING
        case Concat(parts=(first, *rest)):
            after = joined((derivative(first, code), *rest))
            return either((after, derivative(joined(rest), code))) if is_nullable(first) else after
        case Alternate(options=options):
            return either(derivative(option, code) for option in options)
        case Repeat(part=part, low=low, high=high):
            # copies that read nothing come first, so one that reads leaves at most the others
            least = 0 if is_nullable(part) else max(low - 1, 0)
            remainder = repeated(part, least, None if high is None else high - 1)
            return joined((derivative(part, code), remainder))
    return NOTHING


def classes(regex: Regex) -> tuple[Ranges, ...]:
    """The classes of characters that a plain regex tells apart, of those that it can read.

    Two characters of one class have equal derivatives, after any text.
    """
    parts: list[Ranges] = []
    for node in walk(regex):
        if isinstance(node, Characters) and node.ranges:
            fresh: list[Ranges] = []
            rest: Ranges = node.ranges
            for piece in parts:
                both, only = intersection(piece, rest), difference(piece, rest)
                fresh.extend(part for part in (both, only) if part)
                rest = difference(rest, piece)
            parts = [*fresh, *((rest,) if rest else ())]
    return tuple(sorted(parts))


def derivatives(regex: Regex, limits: Limits = LIMITS) -> Iterator[tuple[Regex, int, Regex]]:
    """The edges between all derivatives of a plain regex: source, character, target.

    Raises: LimitError past ``limits.states`` derivatives.
    """
    letters, clock = [ranges[0][0] for ranges in classes(regex)], limits.clock()
    seen, queue = {regex}, deque([regex])
    while queue:
        source = queue.popleft()
        clock.check()
        for code in letters:
            target = derivative(source, code)
            if target == NOTHING:
                continue
            yield source, code, target
            if target not in seen:
                seen.add(target)
                queue.append(target)
                limits.check("states", len(seen), "the regex has too many derivatives")


def shown(regex: Regex) -> str:
    """A derivative as a pattern; ``ε`` for the empty text, ``∅`` for the empty language."""
    if regex == NOTHING:
        return "∅"
    return "ε" if regex == EMPTY_TEXT else pattern(regex)
