"""Writes workbench/syntax/regex/unicode.json, the sets of all Unicode properties.

Run it manually for a new version of Unicode: ``python -m lab.unicode_tables``, with the
package ``regex`` of that version installed, which is asked for each set. Names and sets are facts
of the Unicode Character Database; no file is copied. Nothing else needs this module or ``regex``.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from importlib.metadata import metadata
from pathlib import Path

import numpy as np
import regex
from regex._regex_core import PROPERTIES

TARGET = Path(__file__).resolve().parents[1] / "workbench" / "syntax" / "regex" / "unicode.json"
#: Every code point but the surrogates, in order; unassigned U+0378 fills the hole they leave.
CHARACTERS = (
    np.concatenate([np.arange(0xD800), np.full(0x800, 0x378), np.arange(0xE000, 0x110000)])
    .astype("<u4")
    .tobytes()
    .decode("utf-32-le")
)
#: Properties with values, by their short names.
VALUED = {
    "gc": "GENERALCATEGORY",
    "sc": "SCRIPT",
    "scx": "SCRIPTEXTENSIONS",
    "gcb": "GRAPHEMECLUSTERBREAK",
    "wb": "WORDBREAK",
    "sb": "SENTENCEBREAK",
}
#: Not properties of Unicode, or only used to define others.
LEFT_OUT = re.compile(
    "OTHER|POSIX|NF|ALNUM|ALPHANUMERIC|GRAPH$|PRINT|BLANK|WORD$|XDIGIT|HORIZSPACE|VERTSPACE|ANY$|HYPHEN"
    "|IDCOMPAT|IDSU|MODIFIERCOMBINING"
)
#: The letters that only Turkish and Azeri fold to i: not part of simple folding.
TURKIC = {0x130, 0x131}


def main() -> None:
    """Compute all tables and write the file."""
    summary = metadata("regex").json.get("description")
    version = re.search(r"supports Unicode ([0-9.]+)\.", str(summary))
    assert version, "the description of regex names no Unicode version"
    tables = {
        "unicode": version.group(1),
        "valued": {short: valued(long) for short, long in VALUED.items()},
        "names": {
            alias.lower(): short
            for short, long in VALUED.items()
            for alias in names_of(PROPERTIES, long)
        },
        "binary": binary(),
        "orbits": orbits(),
    }
    TARGET.write_text(json.dumps(tables, separators=(",", ":"), sort_keys=True) + "\n")


def names_of(known: dict[str, tuple[int, dict[str, int]]], name: str) -> list[str]:
    """All names of a property."""
    return [alias for alias, (number, _) in known.items() if number == known[name][0]]


def valued(name: str) -> dict[str, dict[str, str]]:
    """The sets of a property's values by one of their names, and which names mean which."""
    by_number: dict[int, list[str]] = defaultdict(list)
    for alias, number in PROPERTIES[name][1].items():
        if "&" not in alias:
            by_number[number].append(alias.lower())
    sets: dict[str, str] = {}
    aliases: dict[str, str] = {}
    for group in by_number.values():
        ranges = members(f"{name}={group[0]}")
        if ranges:
            sets[group[0]] = ranges
            aliases |= dict.fromkeys(group, group[0])
    return {"sets": sets, "aliases": aliases}


def binary() -> dict[str, dict[str, str]]:
    """The sets of yes-or-no properties, and which names mean which."""
    sets: dict[str, str] = {}
    aliases: dict[str, str] = {}
    by_number: dict[int, list[str]] = defaultdict(list)
    for alias, (number, values) in PROPERTIES.items():
        if set(values) == set(PROPERTIES["ALPHABETIC"][1]):
            by_number[number].append(alias)
    for group in by_number.values():
        if not any(LEFT_OUT.match(alias) for alias in group):
            first = group[0].lower()
            sets[first] = members(group[0])
            aliases |= {alias.lower(): first for alias in group}
    return {"sets": sets, "aliases": aliases}


def members(name: str) -> str:
    """The set as gaps and lengths in base 36: ``1t 9`` skips 65, then takes 10."""
    words: list[str] = []
    end = 0
    for match in regex.finditer(rf"\p{{{name}}}+", CHARACTERS):
        for first, last in without_surrogates(match.start(), match.end()):
            words += [
                np.base_repr(first - end, 36).lower(),
                np.base_repr(last - first - 1, 36).lower(),
            ]
            end = last
    return " ".join(words)


def without_surrogates(start: int, stop: int) -> list[tuple[int, int]]:
    """A half-open range without the hole at the surrogates."""
    pieces = [(start, min(stop, 0xD800)), (max(start, 0xE000), stop)]
    return [(first, last) for first, last in pieces if first < last]


def orbits() -> str:
    """The sets of characters that simple case folding makes equal, if there are at least two."""
    cased = regex.findall(r"[\p{CWCM}\p{CWCF}\p{Cased}]", CHARACTERS)
    text = "".join(c for c in cased if ord(c) not in TURKIC)
    found = {
        tuple(map(ord, regex.findall(rf"(?i)\U{ord(c):08x}", text)))  # version 0: simple folding
        for c in text
    }
    return ",".join(
        " ".join(np.base_repr(c, 36).lower() for c in orbit)
        for orbit in sorted(found)
        if len(orbit) > 1
    )


if __name__ == "__main__":
    main()
