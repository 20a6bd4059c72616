"""Vegas configurations: parts of a machine that are tokenized whatever stands around them.

In come a byte automaton and a tokenizer; out come its cuts (edges before which a token always ends)
and the regions between them, each with a key: regions of one key have the same live edges, in this
machine and in every other. For tokenizers that merge only, or spell unknown characters byte by
byte; where text is cut before merging it would have to be done on places, which is not built.

Source: Tran-Thien 2024, "Is it fast enough?" and figure 6. He has states between two delimiters;
edges are told apart here, since the state after a letter of ``"[a-z]+"`` is left by letters and by
the quote that ends it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD, Dfa, State
from workbench.constraint.proper.edges import Live
from workbench.constraint.proper.tables import INSIDE
from workbench.vocabulary.bpe.bpe import Bpe

#: A state and a byte class that is read from it.
Cut = tuple[State, int]

#: Which bytes stand beside each other in some token, (256, 256).
Pairs = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Region:
    """What lies between cuts, from one state on.

    ``inner`` are the states reached through the cuts that leave ``entry`` and on along other edges,
    breadth first. In ``key`` states are numbered so (the entry is 0), and what follows the exits is
    not told. ``entry`` is ``DEAD`` where the region is what the initial state is inside of.
    """

    entry: State
    inner: tuple[State, ...]
    exits: frozenset[State]
    #: For each state, the entry first: whether it is an exit, and where bytes lead to.
    key: tuple[tuple[bool, tuple[tuple[int, int], ...]], ...]


def neighbours(bpe: Bpe) -> Pairs:
    """Which bytes stand side by side in tokens the tokenizer writes; kept with the merges.

    Where two never do nothing merges across them: what is merged on the way is a token too.
    """
    known = vars(bpe).get("_neighbours")
    if known is None:
        known = vars(bpe)["_neighbours"] = np.zeros((256, 256), np.bool_)
        for token_id, text in enumerate(bpe.vocabulary.tokens):
            if text is not None and bpe.is_canonical(token_id):
                data = np.frombuffer(text, np.uint8)
                known[data[:-1], data[1:]] = True
    return known


def cuts(dfa: Dfa, pairs: Pairs, joined: bool = False) -> frozenset[Cut]:
    """The edges before which a token always ends, by the bytes that meet there.

    Cheap and sufficient: an edge is a cut where no byte that enters its state stands before its
    byte in any token. No cut is inside a character. ``joined``: something stands before the text.
    """
    bytes_of = _bytes_of(dfa)
    entering: dict[State, set[int]] = defaultdict(set)
    for state, column in zip(*np.nonzero(dfa.table != DEAD), strict=True):
        entering[int(dfa.table[state, column])].update(bytes_of[column])
    found = set()
    for state, column in zip(*np.nonzero(dfa.table != DEAD), strict=True):
        before, after = sorted(entering[int(state)]), bytes_of[column]
        inside = any(byte & 0xC0 == 0x80 for byte in after)
        first = joined and state == dfa.initial
        if not (inside or first or pairs[np.ix_(before, after)].any()):
            found.add((int(state), int(column)))
    return frozenset(found)


def exact_cuts(dfa: Dfa, live: Live) -> frozenset[Cut]:
    """The edges before which a token always ends, by all live edges.

    No live token reads the edge but with its first byte, and any that ends before it may be
    followed by any that begins with it.

    Cost: a row for each live edge.
    """
    passed: set[Cut] = set()
    ending: dict[State, set[int]] = defaultdict(set)
    leaving: dict[Cut, npt.NDArray[np.uint32]] = {}
    for (state, _), number in live.places.items():
        for token in _ids(live.bits(number, INSIDE)):
            here, text = state, live.bpe.vocabulary.tokens[token] or b""
            for place, byte in enumerate(text):
                edge = here, int(dfa.classes[byte])
                if place:
                    passed.add(edge)
                else:
                    row = leaving.setdefault(edge, np.zeros(live.words, np.uint32))
                    row[token >> 5] |= np.uint32(1 << (token & 31))
                here = dfa.step(here, byte)
            ending[here].add(token)
    return frozenset(
        edge
        for edge, row in leaving.items()
        if edge not in passed
        and not any((live.bpe.row_mask(t) & row).any() for t in ending[edge[0]])
    )


def regions(dfa: Dfa, at: frozenset[Cut]) -> list[Region]:
    """The parts between cuts, one for each state that cuts leave."""
    entries = sorted({state for state, _ in at})
    found = [_region(dfa, at, entry, [c for s, c in at if s == entry]) for entry in entries]
    columns = np.flatnonzero(dfa.table[dfa.initial] != DEAD).tolist()
    if dfa.finals[dfa.initial] or any((dfa.initial, column) not in at for column in columns):
        found.append(_region(dfa, at, DEAD, []))
    return found


def _region(dfa: Dfa, at: frozenset[Cut], entry: State, entering: Iterable[int]) -> Region:
    bytes_of = _bytes_of(dfa)
    number: dict[State, int] = {}
    inner: list[State] = []
    key: list[tuple[bool, tuple[tuple[int, int], ...]]] = []

    def meet(state: State) -> int:
        if state not in number:
            inner.append(state)
            number[state] = len(inner)
        return number[state]

    def edges(state: State, columns: Iterable[int]) -> tuple[tuple[int, int], ...]:
        labels = sorted((byte, column) for column in columns for byte in bytes_of[column])
        return tuple((byte, meet(int(dfa.table[state, column]))) for byte, column in labels)

    if entry == DEAD:
        meet(dfa.initial)
    key.append((False, edges(entry, entering)))
    exits = set()
    for state in inner:  # grows while it is read
        columns = np.flatnonzero(dfa.table[state] != DEAD).tolist()
        staying = [column for column in columns if (state, column) not in at]
        leaves = bool(dfa.finals[state]) or len(staying) < len(columns)
        if leaves:
            exits.add(state)
        key.append((leaves, edges(state, staying)))
    return Region(entry, tuple(inner), frozenset(exits), tuple(key))


def machine_of(region: Region) -> Dfa:
    """A region as a machine by itself: the entry is initial, exits accept."""
    symbols = {byte for _, row in region.key for byte, _ in row}
    column = {byte: i + 1 for i, byte in enumerate(sorted(symbols))}
    classes = np.zeros(256, np.uint16)
    classes[list(column)] = list(column.values())
    table = np.full((len(region.key), len(column) + 1), DEAD, np.int32)
    for state, (_, row) in enumerate(region.key):
        for byte, target in row:
            table[state, column[byte]] = target
    finals = np.array([leaves for leaves, _ in region.key], np.bool_)
    return Dfa(classes, table, finals, 1 if region.entry == DEAD else 0)


def _bytes_of(dfa: Dfa) -> list[list[int]]:
    return [np.flatnonzero(dfa.classes == c).tolist() for c in range(dfa.table.shape[1])]


def _ids(bits: npt.NDArray[np.uint32]) -> list[int]:
    return np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little")).tolist()  # type: ignore[no-any-return]
