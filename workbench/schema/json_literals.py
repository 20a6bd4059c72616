r"""Automata of the JSON literals of a set of strings.

A character has several encodings in JSON: its UTF-8 bytes, a short escape such as ``\n``, ``\u``
and four digits, or two of these for a surrogate pair. ``CharacterMachine`` reads one character of
an alphabet in any encoding and determines its atom. The automaton of a set of strings
(``literals_machine``) has a copy of it for every state of the set's automaton, built as one array.

The automata of a list of words and of its complement (``words_machine`` and
``all_but_words_machine``) are built directly as tries, without a subset construction, because every
object of a schema has one for its undeclared names. Along the words they accept fewer encodings,
unless any spelling is chosen: printable ASCII without escapes, quotes and backslashes with a
backslash, control characters by any of their escapes, all other characters as UTF-8 or by ``\u``.
In the complement, a string that differs from all words may continue with every encoding.

Source: the grammar of strings in RFC 8259, section 7. A lone surrogate is not a character and is
        not accepted: section 8.2 calls its meaning unpredictable.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.automata.code_points import ONE_ATOM, SURROGATES, Alphabet
from workbench.automata.determinize import nothing
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.kernels import int64, njit
from workbench.base.limits import LIMITS, Limits
from workbench.schema.string_machines import Content
from workbench.syntax.ranges import MAX_CODE_POINT
from workbench.syntax.regex.unicode_sets import ECMA_SPACE

QUOTE, BACKSLASH = 0x22, 0x5C
#: The printable characters of ASCII.
PRINTABLE = (0x20, 0x7E)
#: Usual boundaries of character sets in patterns: within ASCII; with ``.``; with ``\\s``.
_USUAL = tuple(
    frozenset((*range(0x81), *(cut for low, high in ranges for cut in (low, high + 1))))
    for ranges in ((), ((0x2028, 0x2029),), ECMA_SPACE)
)
#: The characters after a backslash in a short escape, and the characters that they encode.
SHORT_ESCAPES = {
    '"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
_HEX = tuple((digit, tuple({ord(f"{digit:x}"), ord(f"{digit:X}")})) for digit in range(16))
#: For characters of two, three and four bytes: the range of the first byte, the mask of its bits
#: of the code point, and the number of bytes after it.
_LEADS = ((0xC2, 0xDF, 0x1F, 1), (0xE0, 0xEF, 0x0F, 2), (0xF0, 0xF4, 0x07, 3))
#: The smallest character of two, three and four bytes.
_LEAST = (0x80, 0x800, 0x10000)


@dataclass(frozen=True, slots=True, eq=False)
class CharacterMachine:
    """The automaton that reads one character of an alphabet, or the closing quote.

    Shape: ``classes`` (256,) of bytes; ``table`` (K, C): a node, or K + the atom of the character,
           or K + A for the closing quote, or ``DEAD``; ``ahead`` (K, A + 1): which atoms, and the
           quote, are reachable from each node. Node 0 is initial.
    """

    classes: npt.NDArray[np.uint16]
    table: npt.NDArray[np.int32]
    ahead: npt.NDArray[np.bool_]


@lru_cache(maxsize=256)
def character_machine(alphabet: Alphabet, *, unescaped: bool = False) -> CharacterMachine:
    """The character automaton of an alphabet; if ``unescaped``, printable ASCII has no escapes.

    Cost: 0.8 ms; 0.2 to 0.4 ms if the ranges have the usual boundaries.
    """
    for cuts in _USUAL:
        if cuts.issuperset(alphabet.starts):
            return _coarsen(_machine_of_ranges(cuts, unescaped), cuts, alphabet)
    return _Nodes(alphabet, unescaped).build()


@cache
def _machine_of_ranges(starts: frozenset[int], unescaped: bool) -> CharacterMachine:
    """The automaton of the alphabet each of whose ranges is an atom."""
    return _Nodes(Alphabet(tuple(sorted(starts)), tuple(range(len(starts)))), unescaped).build()


def _coarsen(
    characters: CharacterMachine, starts: frozenset[int], alphabet: Alphabet
) -> CharacterMachine:
    """The automaton of a coarser alphabet: atoms are renamed, then equal nodes are merged."""
    nodes, atoms = len(characters.table), alphabet.size
    names = np.array([*map(alphabet.atom, sorted(starts)), atoms])
    renamed = np.concatenate([np.arange(nodes), nodes + names, [DEAD]])
    table = renamed[characters.table[:, characters.classes]]
    while True:
        first: dict[bytes, int] = {}
        same = [first.setdefault(row.tobytes(), node) for node, row in enumerate(table)]
        merged = np.array([*same, *range(nodes, nodes + atoms + 1), DEAD])[table]
        if (merged == table).all():
            break
        table = merged
    kept = sorted(first.values())
    numbers = np.full(nodes + atoms + 2, DEAD, np.int32)
    numbers[[*kept, *range(nodes, nodes + atoms + 1)]] = np.arange(len(kept) + atoms + 1)
    listed = names[:, None] == np.arange(atoms + 1)
    ahead = characters.ahead[kept].astype(np.float32) @ listed.astype(np.float32) > 0
    return _by_classes(numbers[table[kept]], ahead)


def _by_classes(whole: npt.NDArray[np.int32], ahead: npt.NDArray[np.bool_]) -> CharacterMachine:
    """Bytes with the same target from every node form a class."""
    columns = np.ascontiguousarray(whole.T).view(np.dtype((np.void, 4 * len(whole)))).ravel()
    _, first, classes = np.unique(columns, return_index=True, return_inverse=True)
    return CharacterMachine(classes.reshape(-1).astype(np.uint16), whole[:, first].copy(), ahead)


#: States that are rows of one array cost a fraction of others: this many of them count as one state
#: against ``Limits.states``. 370,000 of them take 0.1 s.
ARRAY_STATES = 5


def literals_machine(content: Content, limits: Limits = LIMITS) -> Dfa:
    """The automaton of the JSON string literals, with quotes, of the strings of a set.

    Cost:   a state for each pair of a node of the character automaton (21 if the alphabet has one
            atom) and a state of the set's automaton; built by a kernel.
    Raises: LimitError past ``ARRAY_STATES`` times ``limits.states`` states, or
            ``limits.megabytes``.
    """
    if content.is_empty:
        return nothing(256)
    characters = character_machine(content.alphabet, unescaped=content.unescaped)
    machine, nodes = content.machine, len(characters.table)
    numbers = np.empty((len(machine), nodes), np.int32)
    count = _number_nodes(
        machine.table, machine.classes, machine.finals, _bits(characters.ahead), numbers
    )
    limits.check("states", count / ARRAY_STATES, "lower the bounds of the string's length")
    classes, entries = _distinct_columns(characters, machine, numbers)
    limits.check("megabytes", count * entries.shape[1] / 2**18, "lower the bounds of the length")
    table = np.empty((count, entries.shape[1]), np.int32)
    table[:2] = DEAD
    table[0, classes[QUOTE]] = numbers[machine.initial, 0]
    _write_rows(machine.table, machine.classes, machine.finals, entries, numbers, table)
    return Dfa(classes, table, np.arange(count) == 1)


def _bits(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    """Rows of flags as words of 64 bits."""
    padded = np.pad(flags, ((0, 0), (0, -flags.shape[1] % 64)))
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


@njit()
def _number_nodes(
    table: npt.NDArray[np.int32],
    classes: npt.NDArray[np.uint16],
    finals: npt.NDArray[np.bool_],
    ahead: npt.NDArray[np.uint64],
    numbers: npt.NDArray[np.int32],
) -> int:
    """Number the pairs of states and nodes from 2, others ``DEAD``; return the number of states.

    A node belongs to a state if an atom that it can read leads on, or the closing quote.
    """
    atoms, words = len(classes), ahead.shape[1]
    is_open, count = np.empty(words, np.uint64), 2
    for state in range(len(numbers)):
        is_open[:] = 0
        for atom in range(atoms + 1):
            if finals[state] if atom == atoms else table[state, classes[atom]] >= 0:
                is_open[atom >> 6] |= np.uint64(1) << np.uint64(atom & 63)
        for node in range(len(ahead)):
            reads = node == 0
            for word in range(words):
                reads = reads or (is_open[word] & ahead[node, word]) != 0
            numbers[state, node] = count if reads else DEAD
            count += reads
    return int64(count)


@njit()
def _write_rows(
    table: npt.NDArray[np.int32],
    classes: npt.NDArray[np.uint16],
    finals: npt.NDArray[np.bool_],
    entries: npt.NDArray[np.int32],
    numbers: npt.NDArray[np.int32],
    rows: npt.NDArray[np.int32],
) -> None:
    """Write the row of each pair; ``entries`` as ``CharacterMachine.table``."""
    nodes, atoms = len(entries), len(classes)
    for state in range(len(numbers)):
        for node in range(nodes):
            row = numbers[state, node]
            if row < 0:
                continue
            for column in range(entries.shape[1]):
                entry = entries[node, column]
                target = int64(DEAD)
                if entry < 0:
                    pass
                elif entry < nodes:
                    target = int64(numbers[state, entry])
                elif entry < nodes + atoms:
                    after = table[state, classes[entry - nodes]]
                    if after >= 0:
                        target = int64(numbers[after, 0])
                elif finals[state]:
                    target = int64(1)
                rows[row, column] = target


def _distinct_columns(
    characters: CharacterMachine, machine: Dfa, numbers: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.int32]]:
    """The byte classes that differ for some state, and the table of nodes over these.

    Nodes and atoms that nothing leads to are ``DEAD`` there.
    """
    nodes, atoms = len(characters.table), len(machine.classes)
    used = (numbers != DEAD).any(axis=0)
    read = (machine.table != DEAD).any(axis=0)[machine.classes]
    first = np.unique(machine.classes, return_index=True)[1]
    same = np.concatenate(
        [
            np.where(used, np.arange(nodes), DEAD),
            np.where(read, nodes + first[machine.classes], DEAD),
            [nodes + atoms, DEAD],
        ]
    )
    entries = np.where(used[:, None], same[characters.table], DEAD)
    quote = np.arange(entries.shape[1]) == characters.classes[QUOTE]  # a class alone
    _, kept, merged = np.unique(
        np.vstack([entries, quote]), axis=1, return_index=True, return_inverse=True
    )
    classes = merged.reshape(-1)[characters.classes].astype(np.uint16)
    return classes, np.ascontiguousarray(entries[:, kept], np.int32)


@dataclass(slots=True)
class _Nodes:
    """Builds a character automaton; nodes with the same continuations are shared."""

    alphabet: Alphabet
    unescaped: bool
    rows: list[dict[int, int]] = field(default_factory=lambda: [{}])
    shared: dict[tuple[object, ...], int] = field(default_factory=dict)

    def build(self) -> CharacterMachine:
        """All encodings of every character; in ``rows``, atoms are numbers below ``DEAD``."""
        start, escaped = self.rows[0], self._new()
        for code in range(0x20, 0x80):
            if code not in (QUOTE, BACKSLASH):
                start[code] = self._atom(code)
        for low, high, bits, more in _LEADS:
            for lead in range(low, high + 1):
                start[lead] = self._utf8((lead & bits) << (6 * more), more, _LEAST[more - 1])
        start[BACKSLASH] = escaped
        for letter, meant in SHORT_ESCAPES.items():
            if self.unescaped and letter == "/":
                continue
            self.rows[escaped][ord(letter)] = self._atom(ord(meant))
        self.rows[escaped][ord("u")] = self._hex_digits(0, 4)
        start[QUOTE] = -2 - self.alphabet.size
        return self._freeze()

    def _atom(self, code: int) -> int:
        return -2 - self.alphabet.atom(code)

    def _new(self) -> int:
        self.rows.append({})
        return len(self.rows) - 1

    def _utf8(self, base: int, more: int, least: int) -> int:
        """The node before the last ``more`` bytes of UTF-8 of the characters from ``base`` on."""
        if not more:
            return self._atom(base)
        size = 1 << (6 * more)
        low, high = max(base, least), min(base + size - 1, MAX_CODE_POINT)
        whole = low == base and high == base + size - 1 and not _holds_surrogates(low, high)
        atom = self.alphabet.uniform(low, high) if whole else None
        key = ("bytes", more, base if atom is None else -2 - atom)
        if key in self.shared:
            return self.shared[key]
        node = self.shared[key] = self._new()
        step = size >> 6
        for byte in range(64):
            first = base + byte * step
            if first + step - 1 < low or first > high or _only_surrogates(first, step):
                continue
            self.rows[node][0x80 + byte] = self._utf8(first, more - 1, least)
        return node

    def _hex_digits(self, base: int, more: int) -> int:
        """The node before the last ``more`` hexadecimal digits of the characters from ``base``."""
        if not more:
            return self._atom(base)
        size = 1 << (4 * more)
        last = base + size - 1
        mixed = _holds_surrogates(base, last)
        mixed |= self.unescaped and base <= PRINTABLE[1] and last >= PRINTABLE[0]
        atom = None if mixed else self.alphabet.uniform(base, last)
        key = ("digits", more, base if atom is None else -2 - atom)
        if key in self.shared:
            return self.shared[key]
        node = self.shared[key] = self._new()
        step = size >> 4
        for digit, alternatives in _HEX:
            first = base + digit * step
            if self.unescaped and PRINTABLE[0] <= first and first + step - 1 <= PRINTABLE[1]:
                continue
            if mixed and _only_surrogates(first, step):
                if first > 0xDBFF:
                    continue  # a low surrogate without a high one
                target = self._high_surrogate(first, more - 1)
            else:
                target = self._hex_digits(first, more - 1)
            for byte in alternatives:
                self.rows[node][byte] = target
        return node

    def _high_surrogate(self, half: int, more: int) -> int:
        """The node before the last ``more`` digits of the high surrogates from ``half`` on."""
        base, size = 0x10000 + ((half - 0xD800) << 10), 1 << (4 * more + 10)
        atom = self.alphabet.uniform(base, base + size - 1)
        key = ("pair", more, half if atom is None else -2 - atom)
        if key in self.shared:
            return self.shared[key]
        node = self.shared[key] = self._new()
        if not more:
            for byte in b"\\u":
                following = self._new()
                self.rows[node][byte] = following
                node = following
            fourth = self._new()
            self.rows[node] |= dict.fromkeys(b"dD", fourth)
            for block, digits in enumerate((b"cC", b"dD", b"eE", b"fF")):
                target = self._hex_digits(base + block * 0x100, 2)
                self.rows[fourth] |= dict.fromkeys(digits, target)
            return self.shared[key]
        for digit, alternatives in _HEX:
            first = half + (digit << (4 * more - 4))
            if first <= 0xDBFF:
                target = self._high_surrogate(first, more - 1)
                for byte in alternatives:
                    self.rows[node][byte] = target
        return node

    def _freeze(self) -> CharacterMachine:
        nodes, atoms = len(self.rows), self.alphabet.size
        whole = np.full((nodes, 256), DEAD, np.int32)
        ahead = np.zeros((nodes, atoms + 1), np.bool_)
        for node, row in enumerate(self.rows):
            for byte, target in row.items():
                whole[node, byte] = target if target >= 0 else nodes - 2 - target
        for node in self._postorder():
            for target in self.rows[node].values():
                if target >= 0:
                    ahead[node] |= ahead[target]
                else:
                    ahead[node, -2 - target] = True
        return _by_classes(whole, ahead)

    def _postorder(self) -> list[int]:
        """The nodes in postorder: each one after its successors."""
        order: list[int] = []
        seen: set[int] = set()

        def visit(node: int) -> None:
            seen.add(node)
            for target in self.rows[node].values():
                if target >= 0 and target not in seen:
                    visit(target)
            order.append(node)

        visit(0)
        return order


def _holds_surrogates(low: int, high: int) -> bool:
    return low <= SURROGATES[1] and high >= SURROGATES[0]


def _only_surrogates(first: int, size: int) -> bool:
    return SURROGATES[0] <= first and first + size - 1 <= SURROGATES[1]


#: An encoding of a character: the alternatives for each of its bytes.
_Path = tuple[tuple[int, ...], ...]

#: The states before the opening quote and after the closing one.
_OPEN, _CLOSED = 0, 1
_ESCAPES = {meant: letter for letter, meant in SHORT_ESCAPES.items()}


def encodings(character: str, *, any_spelling: bool = False) -> list[_Path]:
    """The accepted encodings of a character of a listed word; all if ``any_spelling``."""
    code = ord(character)
    plain = _is_plain(character)
    if plain and not any_spelling:
        return [((code,),)]
    paths = [] if character in '"\\' and not any_spelling else [_unicode_escape(code)]
    if character in _ESCAPES:
        paths.append(((BACKSLASH,), (ord(_ESCAPES[character]),)))
    if plain or code >= 0x7F:
        paths.append(tuple((byte,) for byte in character.encode()))
    return paths


def _is_plain(character: str) -> bool:
    return " " <= character <= "~" and character not in '"\\'


def _unicode_escape(code: int) -> _Path:
    """``\\u`` and four digits, or a surrogate pair of these; digits of either case."""
    units = [code]
    if code > 0xFFFF:
        units = [0xD800 + ((code - 0x10000) >> 10), 0xDC00 + (code & 0x3FF)]
    text = "".join(f"\\u{unit:04x}" for unit in units)
    return tuple(
        (ord(digit),) if digit in "\\u" else tuple({ord(digit), ord(digit.upper())})
        for digit in text
    )


def words_machine(
    words: Iterable[str], limits: Limits = LIMITS, *, any_spelling: bool = False
) -> Dfa:
    """The automaton of the literals of exactly these strings."""
    rows: list[dict[int, State]] = [{}, {}, {}]
    rows[_OPEN][QUOTE] = 2
    nodes: dict[tuple[State, str], State] = {}
    for word in words:
        source: State = 2
        for character in word:
            target = nodes.get((source, character))
            if target is None:
                target = nodes[source, character] = len(rows)
                rows.append({})
                for path in encodings(character, any_spelling=any_spelling):
                    _add_path(rows, source, path, target)
            source = target
        rows[source][QUOTE] = _CLOSED
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


def _add_path(rows: list[dict[int, State]], state: State, path: _Path, end: State) -> None:
    for alternatives in path[:-1]:
        target = rows[state].get(alternatives[0])
        if target is None:
            target = len(rows)
            rows.append({})
            rows[state] |= dict.fromkeys(alternatives, target)
        state = target
    rows[state] |= dict.fromkeys(path[-1], end)


def all_but_words_machine(
    words: Iterable[str], limits: Limits = LIMITS, *, any_spelling: bool = False
) -> Dfa:
    """The literals of all other strings: a trie whose other edges lead to states for any string."""
    free, classes, root = _outside(any_spelling)
    nodes: dict[tuple[State, str], State] = {}
    ends = []
    for word in words:
        state = root
        for character in word:
            state = nodes.setdefault((state, character), root + 1 + len(nodes))
        ends.append(state)
    limits.check("states", len(free) + len(nodes), "name fewer strings")
    edges = [(*edge, target) for edge, target in nodes.items()]
    plain = [] if any_spelling else [edge for edge in edges if _is_plain(edge[1])]
    others = [edge for edge in edges if any_spelling or not _is_plain(edge[1])]
    used = {ord(character) for _, character, _ in plain}
    used.update(
        b
        for _, character, _ in others
        for path in encodings(character, any_spelling=any_spelling)
        for alternatives in path
        for b in alternatives
    )
    columns, classes = _refine(classes, sorted(used))
    table = np.empty((len(free) + len(nodes), len(columns)), np.int32)
    table[: len(free)] = free[:, columns]
    table[len(free) :] = table[root]
    if plain:
        sources, characters, targets = zip(*plain, strict=True)
        table[list(sources), classes[[ord(character) for character in characters]]] = targets
    table[ends, classes[QUOTE]] = DEAD
    if others:
        rows = list(table)
        for source, character, target in others:
            for path in encodings(character, any_spelling=any_spelling):
                _redirect(rows, classes, source, path, target, len(free))
        table = np.array(rows, np.int32)
    return Dfa(classes, table, np.arange(len(table)) == _CLOSED)


def _refine(
    classes: npt.NDArray[np.uint16], used: list[int]
) -> tuple[list[int], npt.NDArray[np.uint16]]:
    """Refines byte classes so that each used byte is a class; returns a byte of each class too."""
    mixed = classes.astype(np.intp)
    mixed[used] = np.arange(256, 256 + len(used))
    _, first, refined = np.unique(mixed, return_index=True, return_inverse=True)
    return first.tolist(), refined.astype(np.uint16)


def _redirect(
    rows: list[npt.NDArray[np.int32]],
    classes: npt.NDArray[np.uint16],
    state: State,
    path: _Path,
    end: State,
    shared: int,
) -> None:
    """Redirect one encoding of a character to ``end``; the ``shared`` first states are copied."""
    for alternatives in path[:-1]:
        target = int(rows[state][classes[alternatives[0]]])
        if target < shared:
            rows.append(rows[target].copy())
            target = len(rows) - 1
        rows[state][classes[list(alternatives)]] = target
        state = target
    rows[state][classes[list(path[-1])]] = end


class _Outside(NamedTuple):
    """The states outside a trie, and its root.

    The order is: the states before and after the literal, the states that read any string, the
    states that read one character in the encodings of a listed word, the root.

    Shape: ``table`` (states, 256); ``classes`` (256,).
    """

    table: npt.NDArray[np.int32]
    classes: npt.NDArray[np.uint16]
    root: State


@cache
def _outside(any_spelling: bool) -> _Outside:
    free = character_machine(ONE_ATOM)
    listed = free if any_spelling else character_machine(ONE_ATOM, unescaped=True)
    rows = np.full((2, 256), DEAD, np.int32)
    # every complete character leads to state 2, where any string is accepted
    onward = [*range(2, len(free.table) + 2), 2, _CLOSED, DEAD]
    rows = np.concatenate([rows, np.array(onward, np.int32)[free.table[:, free.classes]]])
    first = len(rows) - 1
    onward = [DEAD, *range(first + 1, first + len(listed.table)), 2, _CLOSED, DEAD]
    reading = np.array(onward, np.int32)[listed.table[:, listed.classes]]
    rows = np.concatenate([rows, reading[1:], reading[:1]])
    root = len(rows) - 1
    rows[_OPEN, QUOTE] = root
    classes = np.unique(rows, axis=1, return_inverse=True)[1]
    return _Outside(rows, classes.reshape(-1).astype(np.uint16), root)
