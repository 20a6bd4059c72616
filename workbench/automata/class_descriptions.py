"""Short descriptions of sets of code points, for labels in pictures and for messages."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache

from workbench.syntax.ranges import ANY_CHARACTER, Ranges, difference, size, union
from workbench.syntax.regex.unicode_sets import python_class, rust_class

_DIGITS: Ranges = ((0x30, 0x39),)
_ESCAPES = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\f": r"\f", "\v": r"\v", "\0": r"\0"}
#: Characters with a special meaning inside brackets.
_SPECIAL = frozenset("\\]^-[")
_SPACE = 0x20
#: Names in messages of characters that are invisible.
_SPOKEN = {0x0A: "a line break", 0x09: "a tab", 0x0D: "a carriage return", _SPACE: "a space"}
#: At most this many single characters are listed one by one.
_MAX_LISTED = 8
_ONE_OF = "one of"
#: A range of at most this many signs is written one by one: few readers know that ``)-+`` has *.
_MAX_LISTED_SIGNS = 5
#: A set with fewer ranges is written out, even if it has a name: that is clearer.
_MIN_NAMED_RANGES = 8


def describe(ranges: Ranges, width: int = 32) -> str:
    """A short label: ``a``, ``digit``, ``[a-z0-9]``, ``[^"\\\\]``, ``any character``, ``U+00A0``.

    A label longer than ``width`` is cut and ends in ``…``.
    """
    if not ranges:
        return "nothing"
    if ranges == ANY_CHARACTER:
        return "any character"
    if ranges == _DIGITS:
        return "digit"
    if size(ranges) == 1:
        return _single(ranges[0][0])
    if len(ranges) >= _MIN_NAMED_RANGES and ranges in _sets_with_names():
        return _sets_with_names()[ranges]
    outside = difference(ANY_CHARACTER, ranges)
    if len(outside) < len(ranges) or (len(outside) == len(ranges) and size(outside) < size(ranges)):
        return _bracket("[^", outside, width)
    return _bracket("[", ranges, width)


def expected(sets: Iterable[Ranges], *, end: bool = False) -> str:
    """What may come next, for a sentence: ``'"', '}' or a digit``; ``end`` adds "the end"."""
    ranges = union((), *sets)
    words = _all_but(ranges) or _words(ranges)
    if end:
        words.append("the end")
    return _list_text(words) or "nothing"


def in_brief(ranges: Ranges, *, end: bool = False) -> str:
    """As ``expected``, but shorter, for notes; each character is in backticks."""
    words = _all_but(ranges) or _words(ranges)
    symbols = [f"`{word[1:-1]}`" for word in words if word.startswith("'")]
    names = [word for word in words if not word.startswith("'")]
    if _SPOKEN[_SPACE] in names:
        names.remove(_SPOKEN[_SPACE])
        symbols.append("`␠`")
    names += ["the end"] if end else []
    if symbols and not names:
        names = [symbols.pop()]
    return _list_text([*([" ".join(symbols)] if symbols else []), *names])


def spoken(character: str) -> str:
    """The name of a character in a sentence: ``','``, ``a line break``, ``U+00A0``."""
    return _character_name(ord(character))


def is_most(ranges: Ranges) -> bool:
    """Whether ``expected`` describes a set by its complement: ``any character but …``."""
    return bool(_all_but(ranges))


def _all_but(ranges: Ranges) -> list[str]:
    """``any character but …``, if the complement is the smaller set; else nothing."""
    outside = difference(ANY_CHARACTER, ranges)
    if not outside:
        return ["any character"]
    if 2 * size(outside) > size(ANY_CHARACTER):
        return []
    missing = _words(outside)
    many = len(missing) > _MAX_LISTED or missing[0].startswith(_ONE_OF)
    return [f"any character but {describe(outside) if many else _list_text(missing)}"]


def _words(ranges: Ranges) -> list[str]:
    """The members: single characters first, then groups that have a name."""
    groups: list[str] = []
    for members, name in _groups():
        if size(members) <= size(ranges) and not difference(members, ranges):
            groups.append(name)
            ranges = difference(ranges, members)
    if size(ranges) > _MAX_LISTED:
        return [f"{_ONE_OF} {describe(ranges)}", *groups]
    return [_character_name(code) for low, high in ranges for code in range(low, high + 1)] + groups


def _list_text(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else "".join(words)


@cache
def _groups() -> list[tuple[Ranges, str]]:
    """Sets that have a name in sentences, each before its subsets."""
    small, capital = ((0x61, 0x7A),), ((0x41, 0x5A),)
    return [
        (python_class("w"), "a letter of any script, a digit or '_'"),
        (python_class("d"), "a digit of any script"),
        (python_class("s"), "white space"),
        (union(small, capital), "a letter"),
        (small, "a small letter"),
        (capital, "a capital letter"),
        (((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)), "a hexadecimal digit"),
        (((0x30, 0x39), (0x61, 0x66)), "a hexadecimal digit in small letters"),
        (_DIGITS, "a digit"),
        (((0x31, 0x39),), "a digit from 1 to 9"),
        (((0x09, 0x0A), (0x0D, 0x0D), (0x20, 0x20)), "white space"),
        (((0x09, 0x0A), (0x20, 0x20)), "white space"),
        (((0x00, 0x1F), (0x7F, 0x9F)), "a control character"),
        (((0x00, 0x1F),), "a control character"),
    ]


def _character_name(code: int) -> str:
    if code in _SPOKEN:
        return _SPOKEN[code]
    return f"'{chr(code)}'" if _is_visible(code) else _single(code)


@cache
def _sets_with_names() -> dict[Ranges, str]:
    """The large sets that have a name in regexes, such as ``\\w``."""
    names: dict[Ranges, str] = {}
    for letter in "dsw":
        for ranges in (python_class(letter), rust_class(letter)):
            names[ranges] = rf"\{letter}"
            names[difference(ANY_CHARACTER, ranges)] = rf"\{letter.upper()}"
    return names


def _is_visible(code: int) -> bool:
    """Whether a character is visible alone: no control, no space, no combining mark."""
    return unicodedata.category(chr(code))[0] not in "CZM"


def _single(code: int) -> str:
    character = chr(code)
    if character in _ESCAPES:
        return _ESCAPES[character]
    if code == _SPACE:
        return "space"
    return character if _is_visible(code) else f"U+{code:04X}"


def _bracket(opening: str, ranges: Ranges, width: int) -> str:
    text = opening
    for low, high in sorted(ranges, key=_reading_order):
        is_known = chr(low).isalnum() and chr(high).isalnum()
        most = 2 if is_known or low <= _SPACE or high >= 0x7F else _MAX_LISTED_SIGNS
        if high - low < most:
            piece = "".join(map(_member, range(low, high + 1)))
        else:
            piece = f"{_member(low)}-{_member(high)}"
        if len(text) + len(piece) >= width:
            return f"{text}…]"
        text += piece
    return f"{text}]"


def _reading_order(piece: tuple[int, int]) -> tuple[int, int]:
    """Small letters, capitals, digits, the rest, as in ``[a-zA-Z0-9_]``."""
    first = chr(piece[0])
    kind = 0 if first.islower() else 1 if first.isupper() else 2 if first.isdigit() else 3
    return kind, piece[0]


def _member(code: int) -> str:
    character = chr(code)
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character in _SPECIAL:
        return f"\\{character}"
    if code == _SPACE or _is_visible(code):
        return character
    return rf"\x{code:02x}" if code <= 0xFF else rf"\u{{{code:x}}}"
