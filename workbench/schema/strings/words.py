"""Words: a finite set of strings comes in, the machine of its JSON literals, or of all others, out.

Both are written down at once as a trie, without subsets: a schema has one "every other key" for
each of its objects. In words that are named, printable ASCII is spelled plainly, quotes and
backslashes with a backslash before them, control characters by any of their escapes, all other
characters themselves or by ``\\u``. So it is along the beginning of a word that is excluded; once a
string can no longer become one of them, every spelling is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD, Dfa, State
from workbench.automata.explore import nothing
from workbench.limits import LIMITS, Limits
from workbench.schema.strings.alphabet import ANY
from workbench.schema.strings.spelling import BACKSLASH, QUOTE, SHORT, spelling

#: For each byte of a spelling, the signs that may stand there.
_Path = tuple[tuple[int, ...], ...]

#: The states before the opening quote, and after the closing one.
_OPEN, _CLOSED = 0, 1
_ESCAPES = {meant: letter for letter, meant in SHORT.items() if letter != "/"}


def paths(character: str) -> list[_Path]:
    """The spellings of a character in a word that is named."""
    code = ord(character)
    if _is_plain(character):
        return [((code,),)]
    found = [] if character in '"\\' else [_digits(code)]
    if character in _ESCAPES:
        found.append(((BACKSLASH,), (ord(_ESCAPES[character]),)))
    if code >= 0x7F:
        found.append(tuple((byte,) for byte in character.encode()))
    return found


def _is_plain(character: str) -> bool:
    return " " <= character <= "~" and character not in '"\\'


def _digits(code: int) -> _Path:
    """``\\u`` and four digits, or twice that, in either case."""
    units = [code]
    if code > 0xFFFF:
        units = [0xD800 + ((code - 0x10000) >> 10), 0xDC00 + (code & 0x3FF)]
    text = "".join(f"\\u{unit:04x}" for unit in units)
    return tuple(
        (ord(sign),) if sign in "\\u" else tuple({ord(sign), ord(sign.upper())}) for sign in text
    )


def words_machine(words: Iterable[str], limits: Limits = LIMITS) -> Dfa:
    """The literals of exactly these strings."""
    rows: list[dict[int, State]] = [{}, {}, {}]
    rows[_OPEN][QUOTE] = 2
    nodes: dict[tuple[State, str], State] = {}
    for word in words:
        here: State = 2
        for character in word:
            there = nodes.get((here, character))
            if there is None:
                there = nodes[here, character] = len(rows)
                rows.append({})
                for path in paths(character):
                    _add_path(rows, here, path, there)
            here = there
        rows[here][QUOTE] = _CLOSED
        limits.check("states", len(rows), "name fewer strings")
    if rows[2] == {}:
        return nothing(256)
    used = sorted({byte for row in rows for byte in row})
    classes = np.zeros(256, np.uint16)
    classes[used] = np.arange(1, len(used) + 1)
    table = np.full((len(rows), len(used) + 1), DEAD, np.int32)
    sources = [state for state, row in enumerate(rows) for _ in row]
    table[sources, classes[[b for row in rows for b in row]]] = [
        t for r in rows for t in r.values()
    ]
    return Dfa(classes, table, np.arange(len(rows)) == _CLOSED)


def _add_path(rows: list[dict[int, State]], here: State, path: _Path, end: State) -> None:
    for signs in path[:-1]:
        there = rows[here].get(signs[0])
        if there is None:
            there = len(rows)
            rows.append({})
            rows[here] |= dict.fromkeys(signs, there)
        here = there
    rows[here] |= dict.fromkeys(path[-1], end)


def all_but_words_machine(words: Iterable[str], limits: Limits = LIMITS) -> Dfa:
    """The literals of every string but these: a trie whose states lead out of it, to any string."""
    free, classes, root = _outside()
    nodes: dict[tuple[State, str], State] = {}
    ends = []
    for word in words:
        here = root
        for character in word:
            here = nodes.setdefault((here, character), root + 1 + len(nodes))
        ends.append(here)
    limits.check("states", len(free) + len(nodes), "name fewer strings")
    plain = [(*edge, target) for edge, target in nodes.items() if _is_plain(edge[1])]
    apart = [(*edge, target) for edge, target in nodes.items() if not _is_plain(edge[1])]
    used = {ord(sign) for _, sign, _ in plain}
    used.update(b for _, sign, _ in apart for path in paths(sign) for signs in path for b in signs)
    columns, classes = _told_apart(classes, sorted(used))
    table = np.empty((len(free) + len(nodes), len(columns)), np.int32)
    table[: len(free)] = free[:, columns]
    table[len(free) :] = table[root]
    if plain:
        sources, signs, targets = zip(*plain, strict=True)
        table[list(sources), classes[[ord(sign) for sign in signs]]] = targets
    table[ends, classes[QUOTE]] = DEAD
    if apart:
        rows = list(table)
        for source, sign, target in apart:
            for path in paths(sign):
                _bend_path(rows, classes, source, path, target)
        table = np.array(rows, np.int32)
    return Dfa(classes, table, np.arange(len(table)) == _CLOSED)


def _told_apart(
    classes: npt.NDArray[np.uint16], used: list[int]
) -> tuple[list[int], npt.NDArray[np.uint16]]:
    """For each class a byte of it, and the classes, where each byte that is used is its own."""
    mixed = classes.astype(np.intp)
    mixed[used] = np.arange(256, 256 + len(used))
    _, first, told = np.unique(mixed, return_index=True, return_inverse=True)
    return first.tolist(), told.astype(np.uint16)


def _bend_path(
    rows: list[npt.NDArray[np.int32]],
    classes: npt.NDArray[np.uint16],
    here: State,
    path: _Path,
    end: State,
) -> None:
    """Have one spelling lead elsewhere than all others from a state: what it passes is copied."""
    for signs in path[:-1]:
        there = int(rows[here][classes[signs[0]]])
        if there < len(_outside().table):
            rows.append(rows[there].copy())
            there = len(rows) - 1
        rows[here][classes[list(signs)]] = there
        here = there
    rows[here][classes[list(path[-1])]] = end


class _Outside(NamedTuple):
    """The states outside a trie, the last of them its root.

    First come the two ends, then those that read any string, then those that read a character as
    a named word spells it.

    Shape: ``table`` (states, 256); ``classes`` (256,).
    """

    table: npt.NDArray[np.int32]
    classes: npt.NDArray[np.uint16]
    root: State


@cache
def _outside() -> _Outside:
    free, named = spelling(ANY), spelling(ANY, plainly=True)
    rows = np.full((2, 256), DEAD, np.int32)
    # a character that was read leads to the first node of those that read any, in state 2
    onward = [*range(2, len(free.table) + 2), 2, _CLOSED, DEAD]
    rows = np.concatenate([rows, np.array(onward, np.int32)[free.table[:, free.classes]]])
    first = len(rows) - 1
    onward = [DEAD, *range(first + 1, first + len(named.table)), 2, _CLOSED, DEAD]
    reading = np.array(onward, np.int32)[named.table[:, named.classes]]
    rows = np.concatenate([rows, reading[1:], reading[:1]])
    root = len(rows) - 1
    rows[_OPEN, QUOTE] = root
    classes = np.unique(rows, axis=1, return_inverse=True)[1]
    return _Outside(rows, classes.reshape(-1).astype(np.uint16), root)
