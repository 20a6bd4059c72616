"""Sets of characters by Unicode property, classes such as ``\\w``, and case folding.

The properties are in ``unicode.json``, which ``lab.unicode_tables`` writes.
"""

from __future__ import annotations

import json
import re
import sys
from array import array
from bisect import bisect_left
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from workbench.syntax.ranges import ANY_CHARACTER, Ranges, difference, normalized, union

ASCII: Ranges = ((0, 0x7F),)
ASCII_DIGIT: Ranges = ((0x30, 0x39),)
ASCII_SPACE: Ranges = ((0x09, 0x0D), (0x20, 0x20))
#: What ECMA-262 calls white space and line terminators (12.2, 12.3).
ECMA_SPACE: Ranges = (
    *ASCII_SPACE, (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
    (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
ASCII_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))

#: The classes of POSIX brackets, ASCII only.
POSIX: dict[str, Ranges] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ASCII,
    "blank": ((0x09, 0x09), (0x20, 0x20)),
    "cntrl": ((0x00, 0x1F), (0x7F, 0x7F)),
    "digit": ASCII_DIGIT,
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ASCII_SPACE,
    "upper": ((0x41, 0x5A),),
    "word": ASCII_WORD,
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}

#: Names without ``property=`` that are first looked up as a general category (UTS 18, Rust).
_CATEGORIES_FIRST = {"cf", "sc", "lc"}
_TURKIC_I = {ord("I"), ord("i"), 0x130, 0x131}


@lru_cache(maxsize=256)
def property_set(name: str) -> Ranges | None:
    """The set of ``\\p{…}``: ``Lu``, ``Greek``, ``sc=Greek``, ``Alphabetic``; None if unknown.

    Case, spaces, ``-`` and ``_`` in names do not matter, nor does a leading ``is``.

    Source: Unicode Technical Standard 18, section 1.2; loose matching is UAX 44, section 5.9.
    """
    kind, separator, value = re.sub(r"[\s_-]", "", name.lower()).partition("=")
    if not separator:
        return _by_bare_name(kind) or _by_bare_name(kind.removeprefix("is"))
    values = _tables()["valued"].get(_tables()["names"].get(kind))
    if values is None:
        return None
    return _decode(values["sets"].get(values["aliases"].get(value)))


def similar_property(name: str) -> str | None:
    """A property with a similar name, or None."""
    tables = _tables()
    names = [*tables["binary"]["aliases"], *tables["valued"]["gc"]["aliases"]]
    names += tables["valued"]["sc"]["aliases"]
    close = get_close_matches(name.lower(), names, n=1, cutoff=0.75)
    return close[0].capitalize() if close else None


def _by_bare_name(name: str) -> Ranges | None:
    special = {"any": ANY_CHARACTER, "ascii": ASCII, "l&": property_set("gc=lc")}
    if name in special:
        return special[name]
    tables = _tables()
    binary, category, script = tables["binary"], tables["valued"]["gc"], tables["valued"]["sc"]
    order = [category] if name in _CATEGORIES_FIRST else [binary, category, script]
    for values in order:
        if name in values["aliases"]:
            return _decode(values["sets"][values["aliases"][name]])
    return None


@cache
def _tables() -> dict[str, Any]:
    path = Path(__file__).with_name("unicode.json")
    tables: dict[str, Any] = json.loads(path.read_text(encoding="ascii"))
    return tables


def _decode(text: str | None) -> Ranges | None:
    """Ranges from their gaps and lengths in base 36."""
    if text is None:
        return None
    numbers = [int(word, 36) for word in text.split()]
    ranges: list[tuple[int, int]] = []
    end = 0
    for gap, more in zip(numbers[::2], numbers[1::2], strict=True):
        ranges.append((end + gap, end + gap + more))
        end += gap + more + 1
    return tuple(ranges)


@cache
def rust_class(letter: str) -> Ranges:
    """The set of Rust's ``\\d``, ``\\s`` or ``\\w``.

    Source: Unicode Technical Standard 18, annex C.
    """
    names = {
        "d": ["nd"],
        "s": ["whitespace"],
        "w": ["alphabetic", "mark", "nd", "pc", "joincontrol"],
    }
    return union(*(property_set(name) or () for name in names[letter]))


@cache
def python_class(letter: str) -> Ranges:
    """The set of Python's ``\\d``, ``\\s`` or ``\\w``, measured with the running interpreter.

    Cost: one scan of all characters, about 2 ms; cached.
    """
    matches = re.finditer(rf"\{letter}+", _characters_in_use())
    return normalized((match.start(), match.end() - 1) for match in matches)


@cache
def _characters_in_use() -> str:
    """The code points of planes 0 to 3, each at its index; surrogates are replaced.

    Later planes contain no digits, letters or spaces: they are unassigned, private, or marks and
    tags (plane 14).
    """
    codes = array("I", range(0x40000))
    codes[0xD800:0xE000] = array("I", [0x378]) * 0x800
    return codes.tobytes().decode(f"utf-32-{sys.byteorder[0]}e")


@lru_cache(maxsize=512)
def folded(ranges: Ranges, *, turkic_i: bool) -> Ranges:
    """The closure of a set under simple case folding.

    With ``turkic_i``, ``i``, ``İ`` and ``ı`` are equal too, as in Python.
    """
    members = _folding_characters()
    orbits = _orbits()
    more: set[int] = set()
    for low, high in ranges:
        for position in range(bisect_left(members, low), len(members)):
            if members[position] > high:
                break
            more.update(orbits[members[position]])
    if turkic_i and any(low <= c <= high for c in _TURKIC_I for low, high in ranges):
        more |= _TURKIC_I
    return union(ranges, normalized((c, c) for c in more)) if more else ranges


@lru_cache(maxsize=512)
def ascii_folded(ranges: Ranges) -> Ranges:
    """The set with the other case of every ASCII letter in it."""
    more = [
        (code ^ 0x20, code ^ 0x20)
        for low, high in ranges
        for code in range(max(low, 0x41), min(high, 0x7A) + 1)
        if chr(code).isalpha()
    ]
    return union(ranges, tuple(sorted(more)))


@cache
def _orbits() -> dict[int, tuple[int, ...]]:
    """All characters with the same case folding, for each that has others."""
    orbits: dict[int, tuple[int, ...]] = {}
    for text in _tables()["orbits"].split(","):
        orbit = tuple(int(word, 36) for word in text.split())
        orbits |= dict.fromkeys(orbit, orbit)
    return orbits


@cache
def _folding_characters() -> list[int]:
    return sorted(_orbits())


def negated(ranges: Ranges, universe: Ranges) -> Ranges:
    """The complement of a set in a universe."""
    return difference(universe, ranges)
