"""Bracketed classes of a regex: the reader stands at ``[``, the set of its members comes out."""

from __future__ import annotations

import re
from collections.abc import Callable

from workbench.syntax.ranges import difference, intersection, symmetric_difference, union
from workbench.syntax.regex.escapes import read_escape
from workbench.syntax.regex.reader import Reader
from workbench.syntax.regex.tree import Ranges
from workbench.syntax.regex.unicode_sets import POSIX

_POSIX_CLASS = re.compile(r"\[:(\^?)([a-zA-Z]*):\]")
#: A member that means nothing else in any dialect, or a range of two.
_SIMPLE = re.compile(r"([^\\\[\]^&~-])(?:-([^\\\[\]^&~-])|(?!-))")
_OPERATIONS: dict[str, Callable[[Ranges, Ranges], Ranges]] = {
    "&&": intersection,
    "--": difference,
    "~~": symmetric_difference,
}


def read_class(reader: Reader) -> Ranges:
    """The set of a bracketed class.

    EBNF (Python): ``"[" "^"? "]"? ( item | item "-" item )* "]"``
    EBNF (Rust): ``"[" "^"? "-"* "]"? union ( ( "&&" | "--" | "~~" ) union )* "]"``, where a
    union also holds classes and ``[:alpha:]``.
    Raises: ParseError where a range runs backwards or the class is not closed.
    """
    start = reader.at
    reader.enter(start)
    reader.at += 1
    negative = reader.take("^")
    members = _algebra(reader, start) if reader.rules.class_algebra else _plain(reader, start)
    reader.leave()
    return reader.without(members) if negative else members


def _plain(reader: Reader, start: int) -> Ranges:
    pieces: list[Ranges] = [()] if reader.rules.ecma else []
    while not reader.ahead("]") or not pieces:
        if not _take_simple(reader, pieces):
            _refuse_posix(reader)
            pieces.append(_item(reader, start))
    reader.at += 1
    return union(*pieces)


def _algebra(reader: Reader, start: int) -> Ranges:
    """Operands from left to right; the operations bind alike."""
    members, operation = _union(reader, start, first=True)
    while operation:
        operand, following = _union(reader, start, first=False)
        members = _OPERATIONS[operation](members, operand)
        operation = following
    return members


def _union(reader: Reader, start: int, *, first: bool) -> tuple[Ranges, str]:
    """The members up to ``]`` or an operation, and which operation; none at the end."""
    pieces: list[Ranges] = [()]
    _skip_blanks(reader)
    while first and reader.ahead("-"):
        reader.at += 1
        pieces.append(reader.cased(((ord("-"), ord("-")),)))
        _skip_blanks(reader)
    if first and len(pieces) == 1 and reader.take("]"):
        pieces.append(((ord("]"), ord("]")),))
    while True:
        _skip_blanks(reader)
        for operation in _OPERATIONS:
            if reader.take(operation):
                return union(*pieces), operation
        if reader.take("]"):
            return union(*pieces), ""
        if reader.ahead("["):
            posix = _posix(reader)
            pieces.append(read_class(reader) if posix is None else posix)
        elif not _take_simple(reader, pieces):
            pieces.append(_item(reader, start))


def _take_simple(reader: Reader, pieces: list[Ranges]) -> bool:
    """Step over members that are plainly themselves, and ranges of them; whether there were any."""
    if not reader.flags.plain:
        return False
    start = reader.at
    while match := _SIMPLE.match(reader.text, reader.at):
        low, high = match.groups()
        if high is not None and low > high:
            break
        pieces.append(((ord(low), ord(high or low)),))
        reader.at = match.end()
    return reader.at > start


def _skip_blanks(reader: Reader) -> None:
    if reader.flags.verbose and reader.rules.class_algebra:
        reader.skip_blanks()


def _posix(reader: Reader) -> Ranges | None:
    """``[:alpha:]`` or ``[:^alpha:]``; None if what comes next is a class of its own."""
    match = _POSIX_CLASS.match(reader.text, reader.at)
    if match is None or match.group(2) not in POSIX:
        return None
    reader.at = match.end()
    ranges = reader.cased(POSIX[match.group(2)])
    return reader.without(ranges) if match.group(1) else ranges


def _refuse_posix(reader: Reader) -> None:
    """Python reads ``[[:alpha:]]`` as some of ``[:alph``, then ``]``: nobody means that."""
    match = _POSIX_CLASS.match(reader.text, reader.at)
    if match:
        start, reader.at = reader.at, match.end()
        raise reader.fail(
            f"expected a class of Python's, not the POSIX class '{match.group()}'",
            reader.span(start),
            r"write the range, as in 'a-zA-Z', or '\p{Alphabetic}'",
        )


def _item(reader: Reader, start: int) -> Ranges:
    """One member, a range of them, or a class such as ``\\d``."""
    place = reader.at
    low = _member(reader, start)
    _skip_blanks(reader)
    if not _is_range(reader):
        return low if isinstance(low, tuple) else reader.cased(((low, low),))
    reader.at += 1
    _skip_blanks(reader)
    high = _member(reader, start)
    if isinstance(low, tuple) or isinstance(high, tuple):
        if reader.rules.ecma:  # annex B: of a set no range begins, so the '-' is itself
            ends = (reader.cased(((e, e),)) if isinstance(e, int) else e for e in (low, high))
            return union(((0x2D, 0x2D),), *ends)
        raise reader.fail(
            f"expected single characters at both ends of the range '{_text(reader, place)}'",
            reader.span(place),
            r"a '-' itself is written '\-'",
        )
    if low > high:
        raise reader.fail(
            f"expected a range from low to high, not '{_text(reader, place)}'",
            reader.span(place),
            r"swap the ends, or write a '-' itself as '\-'",
        )
    return reader.cased(((low, high),))


def _is_range(reader: Reader) -> bool:
    """Whether the ``-`` that comes next joins two ends; before ``]`` it is itself."""
    if not reader.ahead("-"):
        return False
    place = reader.at
    reader.at += 1
    _skip_blanks(reader)
    closed = reader.ahead("]") or (reader.rules.class_algebra and reader.ahead("-"))
    reader.at = place
    return not closed


def _text(reader: Reader, start: int) -> str:
    return reader.text[start : reader.at]


def _member(reader: Reader, start: int) -> int | Ranges:
    if reader.ahead("\\"):
        return read_escape(reader, in_class=True)
    place = reader.at
    character = reader.next()
    if not character:
        raise reader.fail(
            "expected ']' to close the class",
            reader.between(start, start + 1),
            r"a bracket itself is written '\['",
        )
    if reader.reads_bytes and not character.isascii():
        raise reader.fail(
            "expected an ASCII character where bytes are matched",
            reader.span(place),
            r"write a byte as '\xHH'",
        )
    return ord(character)
