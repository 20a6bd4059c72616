"""Atoms: a pre-tokenizer's pattern comes in, the sets of characters it is written with go out.

Only what matches one character counts; how atoms are put together is the library's business. What
this reading gets wrong, the check of the automaton finds, which draws from all characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.errors import VocabularyError

_QUANTIFIER = re.compile(r"[*+?]|\{\d*,?\d*\}")
#: How often something is there at most, where that is said.
_COUNTS = re.compile(r"\{(?:\d*,)?(\d+)\}")
#: More often than this nothing is repeated in a run.
_REPEATED = 40
_GROUP = re.compile(r"\((?:\?(?:([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])|[=!>]|<[=!]|P?<\w+>))?")
_ESCAPE = re.compile(
    r"\\(?:[pP](?:\{[^}]*\}|.)|x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|.)"
)
#: Places, not characters, and the characters that make them.
_PLACES = {
    r"\b": r"\w", r"\B": r"\w", r"\A": None, r"\z": None, r"\G": None,
    r"\Z": r"\n", "^": r"\n", "$": r"\n",
}  # fmt: skip


def atoms(pattern: str) -> list[str]:
    """The character sets of a pattern, each as a pattern of its own, in their order.

    Raises: VocabularyError for what cannot be told by characters alone, such as back references.
    """
    return list(dict.fromkeys(atom for _, atom in _read(pattern) if atom is not None))


def runs(pattern: str) -> list[list[str]]:
    """Atoms that stand after one another in a pattern, as often as it repeats them: its words.

    What is optional counts once, and groups count as if they were not there, so that these are
    texts to try and not what the pattern matches.
    """
    found: list[list[str]] = [[]]
    for sign, atom in _read(pattern):
        if sign == "|":
            found.append([])
        elif atom is not None:
            found[-1].append(atom)
        elif found[-1] and (counts := _COUNTS.match(sign)):
            found[-1] += found[-1][-1:] * (min(int(counts[1]), _REPEATED) - 1)
    return found


def _read(pattern: str) -> Iterator[tuple[str, str | None]]:
    """The pieces of a pattern, each with the atom it is, if it is one."""
    folding = [False]
    at = 0
    while at < len(pattern):
        size, atom = _next(pattern, at, folding)
        yield pattern[at : at + size], f"(?i:{atom})" if atom and folding[-1] else atom
        at += size


def _next(pattern: str, at: int, folding: list[bool]) -> tuple[int, str | None]:
    """How long the piece of the pattern at a place is, and the atom it is, if it is one."""
    sign = pattern[at]
    if sign == "(" and (group := _GROUP.match(pattern, at)):
        _open(group, folding)
        return len(group[0]), None
    if sign == ")":
        if len(folding) > 1:
            folding.pop()
        return 1, None
    if sign == "[":
        text = _bracket(pattern, at)
        return len(text), text
    if sign == "\\" and (escape := _ESCAPE.match(pattern, at)):
        if escape[0][1] in "123456789kKRXX":
            raise VocabularyError(f"the pre-tokenizer's pattern has {escape[0]}, which is no set")
        return len(escape[0]), _PLACES.get(escape[0], escape[0])
    if quantifier := _QUANTIFIER.match(pattern, at):
        return len(quantifier[0]), None
    if sign in "|.^$":
        return 1, {"|": None, ".": ".", **_PLACES}[sign]
    return 1, re.escape(sign)


def _open(group: re.Match[str], folding: list[bool]) -> None:
    """Note whether case counts from here on: in a group, or in the rest of the one around it."""
    on, off, end = group[1] or "", group[2] or "", group[3]
    if set(on + off) - set("im"):
        raise VocabularyError(
            f"the pre-tokenizer's pattern has the flags {on + off!r}",
            r"write it with no flags but i and m: [\s\S] is every character",
        )
    folds = (folding[-1] or "i" in on) and "i" not in off
    if end == ")":
        folding[-1] = folds
    else:
        folding.append(folds)


def _bracket(pattern: str, at: int) -> str:
    """A character class with all that is nested in it."""
    depth, place = 0, at
    while place < len(pattern):
        if pattern[place] == "\\":
            place += 1
        elif pattern[place] == "[":
            depth += 1
        elif pattern[place] == "]" and not _literal(pattern, place):
            depth -= 1
            if not depth:
                return pattern[at : place + 1]
        place += 1
    raise VocabularyError("the pre-tokenizer's pattern has a class without its end")


def _literal(pattern: str, place: int) -> bool:
    """Whether a closing bracket stands first in its class, where it means itself."""
    return pattern[place - 1] == "[" or pattern[place - 2 : place] == "[^"
