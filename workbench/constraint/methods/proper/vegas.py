"""Vegas configurations: regions of a machine that are tokenized independently.

In come a byte automaton and a tokenizer; out come its cuts (edges before which a token always ends)
and the regions between them, each with a key: regions of one key have the same live edges, in this
machine and in every other. For tokenizers that merge only, or spell unknown characters byte by
byte; where text is cut before merging it would have to be done on places, which is not built.

Source: Tran-Thien 2024, "Is it fast enough?" and figure 6. He has states between two delimiters;
edges are told apart here, since the state after a letter of ``"[a-z]+"`` is left by letters and by
the quote that ends it.

In comes a machine; out come its live edges, put together from those of its regions. A region that
was met before, in this machine or another, is not walked again, and its rows are kept once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from workbench.automata.code_points import fold
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import VocabularyError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.engine.mask_rows import used_bytes
from workbench.constraint.methods.proper import live_edges as judging
from workbench.constraint.methods.proper.guide_guesses import ANEW, INSIDE, Guess, Guesses, Ints
from workbench.constraint.methods.proper.live_edges import Edges, Live, live_edges
from workbench.constraint.methods.proper.walker import Walker
from workbench.vocabulary.tokenization.bpe import Bpe

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


#: Regions that are kept; the oldest go.
_MOST = 1_000


def only_guess(bpe: Bpe) -> Guess | None:
    """The one guess between two tokens; None where the tokenizer cuts text before merging."""
    guesses = Guesses.of(bpe)
    start = guesses.start
    if bpe.guide is None:
        return start
    first = _between(guesses, start, ANEW)
    if len(first) != 1:
        return None
    (guess,) = first
    alike = _between(guesses, guess, INSIDE) == first and not _between(guesses, guess, ANEW)
    return guess if alike else None


def _between(guesses: Guesses, guess: Guess, mark: int) -> set[Guess]:
    """The guesses between two characters that tokens lead to."""
    met = np.unique(guesses.after(guess, mark)).tolist()
    return {after for after in met if after >= 0 and not guesses.is_within(after)}


class Library:
    """The regions met with one tokenizer; made by ``Library.of``, kept with its merges.

    Raises: VocabularyError where the tokenizer cuts text before merging.
    """

    def __init__(self, bpe: Bpe) -> None:
        guess = only_guess(bpe)
        if guess is None:
            raise VocabularyError(
                f"{bpe.vocabulary.name} cuts text before merging, or has tokens that are taken"
                " whole, which Vegas configurations do not support",
                "the method 'proper' does without them",
            )
        self._bpe, self._guess = bpe, guess
        self._guesses = Guesses.of(bpe)
        self._start = self._guesses.start
        self._words = (len(bpe.vocabulary) + 31) // 32
        self._known: dict[object, Live] = {}
        self._walker: Walker | None = None

    @staticmethod
    def of(bpe: Bpe) -> Library:
        """The library of a tokenizer."""
        made = vars(bpe).get("_library")
        if not isinstance(made, Library):
            made = vars(bpe)["_library"] = Library(bpe)
        return made

    @staticmethod
    def find(dfa: Dfa, bpe: Bpe, starts: Sequence[Guess], limits: Limits) -> Live:
        """``live``, as a constraint asks for it: a text that stands alone has its own start.

        What lies behind a region is not looked at, so there has to be a proper way on from every
        state: where tokens may not spell all that the machine reads, nothing is shared.
        """
        made = Library.of(bpe)
        spelt = used_bytes(dfa.table, dfa.classes) <= bpe.vocabulary.single_bytes
        if not spelt or (bpe.guide is not None and fold(dfa).raw):
            return live_edges(dfa, bpe, starts, limits)
        alone = tuple(starts) == (made._start,) and made._start != made._guess
        return made.live(dfa, limits, joined=not alone)

    def __len__(self) -> int:
        return len(self._known)

    def region(self, region: Region, limits: Limits = LIMITS) -> Live:
        """The live edges of a region; its states are numbered as in its key."""
        known = self._known.get(region.key)
        if known is None:
            while len(self._known) >= _MOST:
                del self._known[next(iter(self._known))]
            machine = machine_of(region)
            found = live_edges(machine, self._bpe, [self._guess], limits)
            # a walker has room for every token: one is enough for all regions
            self._walker = self._walker or found.walker
            known = self._known[region.key] = replace(found, walker=self._walker)
        return known

    def live(self, dfa: Dfa, limits: Limits = LIMITS, joined: bool = False) -> Live:
        """The live edges of a machine; rows of equal regions are the same arrays.

        ``joined``: a prompt stands before the text.

        Raises: LimitError, as ``live_edges``.
        """
        found = regions(dfa, cuts(dfa, neighbours(self._bpe), joined))
        each = [(region, self.region(region, limits)) for region in found]
        states = [dfa.initial, *(s for region, _ in each for s in (region.entry, *region.inner))]
        met = [state for state in dict.fromkeys(states) if state != DEAD]
        number = {state: i for i, state in enumerate(met)}
        free = dfa.finals[met].astype(np.uint8)
        parts: list[dict[bool, Edges]] = [{} for _ in met]
        for region, live in each:
            names = [region.entry, *region.inner]
            for (local, _), inside in live.places.items():
                place = number[names[local]]
                # what a state is left by inside of several regions is the same in all of them
                parts[place][local == 0] = _renamed(live.edges[INSIDE][inside], names)
                free[place] |= local == 0  # a token may always end before a cut
        inside_of = [self._together(list(part.values())) for part in parts]
        places = {(state, self._guess): i for state, i in number.items()}
        ways = inside_of, [_nothing() for _ in met]
        live = Live(self._bpe, Walker(dfa, self._bpe, limits), places, ways, free, self._words)
        return live if joined or self._guess == self._start else self._with_start(live, dfa)

    def _together(self, parts: Sequence[Edges]) -> Edges:
        """The edges of a state, cuts and others; a row that is alone is not copied."""
        if not parts:
            return _nothing()
        one, *others = parts
        for other in others:
            row = judging.as_bits(one.row, self._words) | judging.as_bits(other.row, self._words)
            opened = np.concatenate([one.open, other.open], axis=1)
            dead = np.concatenate([one.waiting, other.waiting], axis=1)
            one = Edges(row, opened, dead, one.count + other.count)
        return one

    def _with_start(self, live: Live, dfa: Dfa) -> Live:
        """The same with the place before a text that stands alone, where all begins anew."""
        inside = live.edges[INSIDE][live.places[dfa.initial, self._guess]]
        opened = inside.open.copy()
        opened[2] = self._guesses.after(self._start, ANEW)[opened[0]]
        places = {**live.places, (dfa.initial, self._start): len(live.places)}
        first = replace(inside, open=opened)
        ways = [*live.edges[INSIDE], _nothing()], [*live.edges[ANEW], first]
        return replace(live, places=places, edges=ways, free=np.append(live.free, np.uint8(0)))


def _nothing() -> Edges:
    """No edges."""
    none = np.empty((3, 0), np.int32)
    return Edges(np.empty(0, np.int32), none, none, 0)


def _renamed(edges: Edges, names: Sequence[State]) -> Edges:
    """The edges of a region where its states have other numbers; the row is not copied."""
    opened: Ints = edges.open.copy()
    opened[1] = np.array(names, np.int32)[opened[1]]
    return replace(edges, open=opened)
