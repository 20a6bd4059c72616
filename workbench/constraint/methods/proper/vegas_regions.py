"""Vegas configurations: regions of a machine that are tokenized independently.

A *cut* is an edge before which a token always ends. A *region* is the part of a machine between
cuts. Each region has a key: regions with equal keys have the same live edges, in this machine and
in every other. So the live edges of a machine are assembled from those of its regions, and a
region that has occurred before, in this machine or another, is not walked again and its rows are
shared.

This is for tokenizers that only merge, or encode unknown characters byte by byte. With a
pre-tokenizer it would have to be done on positions instead of states, which is not implemented.

Source: Tran-Thien 2024, "Is it fast enough?" and figure 6. The paper cuts at states between two
delimiters; here edges are distinguished, because the state after a letter of ``"[a-z]+"`` has
edges for letters and for the closing quote.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from workbench.automata.code_points import fold
from workbench.base.dfa import DEAD, Dfa, State, used_bytes
from workbench.base.errors import VocabularyError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.methods.proper.direct_merge import Label
from workbench.constraint.methods.proper.guide_states import (
    NEW_PIECE,
    SAME_PIECE,
    Guess,
    Guesses,
    Ints,
)
from workbench.constraint.methods.proper.live_edges import Edges, Live, as_bits, live_edges
from workbench.constraint.methods.proper.walker import Walker
from workbench.vocabulary.tokenization.bpe import Bpe, Feature
from workbench.vocabulary.tokenization.merge_kernels import SYMBOL


def symbols(bpe: Bpe) -> tuple[Label, ...]:
    """The tokens with which merging begins."""
    single = (bpe.tables.rank == SYMBOL).nonzero()[0].tolist()
    return tuple(bpe.vocabulary.tokens[token] or b"" for token in single)


#: A state and a byte class that is read from it.
Cut = tuple[State, int]

#: Which bytes are adjacent in some token, (256, 256).
BytePairs = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Region:
    """The part of a machine between cuts, beginning at one state.

    ``inner`` are the states reached through the cuts that leave ``entry`` and then along other
    edges, breadth first. ``key`` numbers the states in this order (the entry is 0) and does not
    include what follows the exits. ``entry`` is ``DEAD`` for the region around the initial state.
    """

    entry: State
    inner: tuple[State, ...]
    exits: frozenset[State]
    #: For each state, the entry first: whether it is an exit, and the target of each byte.
    key: tuple[tuple[bool, tuple[tuple[int, int], ...]], ...]


def adjacent_bytes(bpe: Bpe) -> BytePairs:
    """Which bytes are adjacent in canonical tokens or added texts; cached with the merges.

    Nothing merges across two bytes that never are: every intermediate result of merges is a token.
    """
    return bpe.derived(_adjacent_bytes)


def _adjacent_bytes(bpe: Bpe) -> BytePairs:
    pairs = np.zeros((256, 256), np.bool_)
    texts = [entry.text for entry in bpe.vocabulary.tokenizer.added]
    for token_id, text in enumerate(bpe.vocabulary.tokens):
        if text is not None and bpe.is_canonical(token_id):
            texts.append(text)
    for text in texts:
        data = np.frombuffer(text, np.uint8)
        pairs[data[:-1], data[1:]] = True
    return pairs


def cuts(dfa: Dfa, pairs: BytePairs, joined: bool = False) -> frozenset[Cut]:
    """The edges before which a token always ends, found by adjacent bytes.

    A sufficient condition, cheap to test: no byte that enters the edge's state is adjacent to the
    edge's byte in any token. No cut is inside a character. ``joined``: the text has a prompt.
    """
    bytes_of = _bytes_of(dfa)
    entering: dict[State, set[int]] = defaultdict(set)
    for state, column in zip(*np.nonzero(dfa.table != DEAD), strict=True):
        entering[int(dfa.table[state, column])].update(bytes_of[column])
    result = set()
    for state, column in zip(*np.nonzero(dfa.table != DEAD), strict=True):
        before, after = sorted(entering[int(state)]), bytes_of[column]
        inside = any(byte & 0xC0 == 0x80 for byte in after)
        first = joined and state == dfa.initial
        if not (inside or first or pairs[np.ix_(before, after)].any()):
            result.add((int(state), int(column)))
    return frozenset(result)


def regions(dfa: Dfa, cut_set: frozenset[Cut]) -> list[Region]:
    """The regions between cuts, one for each state with an outgoing cut."""
    entries = sorted({state for state, _ in cut_set})
    result = [
        _region(dfa, cut_set, entry, [c for s, c in cut_set if s == entry]) for entry in entries
    ]
    columns = np.flatnonzero(dfa.table[dfa.initial] != DEAD).tolist()
    if dfa.finals[dfa.initial] or any((dfa.initial, column) not in cut_set for column in columns):
        result.append(_region(dfa, cut_set, DEAD, []))
    return result


def _region(dfa: Dfa, cut_set: frozenset[Cut], entry: State, entering: Iterable[int]) -> Region:
    bytes_of = _bytes_of(dfa)
    number: dict[State, int] = {}
    inner: list[State] = []
    key: list[tuple[bool, tuple[tuple[int, int], ...]]] = []

    def number_of(state: State) -> int:
        if state not in number:
            inner.append(state)
            number[state] = len(inner)
        return number[state]

    def edges(state: State, columns: Iterable[int]) -> tuple[tuple[int, int], ...]:
        labels = sorted((byte, column) for column in columns for byte in bytes_of[column])
        return tuple((byte, number_of(int(dfa.table[state, column]))) for byte, column in labels)

    if entry == DEAD:
        number_of(dfa.initial)
    key.append((False, edges(entry, entering)))
    exits = set()
    for state in inner:  # the list grows during the loop
        columns = np.flatnonzero(dfa.table[state] != DEAD).tolist()
        staying = [column for column in columns if (state, column) not in cut_set]
        leaves = bool(dfa.finals[state]) or len(staying) < len(columns)
        if leaves:
            exits.add(state)
        key.append((leaves, edges(state, staying)))
    return Region(entry, tuple(inner), frozenset(exits), tuple(key))


def machine_of(region: Region) -> Dfa:
    """A region as a separate machine: the entry is initial, the exits are final."""
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


#: The most regions cached for a tokenizer; the oldest are dropped.
_MAX_CACHED_REGIONS = 1_000


#: What a tokenizer may do besides merging.
_SUPPORTED = (Feature.BYTE_FALLBACK, Feature.SPECIAL_TEXTS)


def only_guess(bpe: Bpe) -> Guess | None:
    """The only base of guesses between two tokens; None for a tokenizer that is not supported.

    One that normalises texts is not: marks may compose across the borders of regions.
    """
    guesses = Guesses.of(bpe)
    start = guesses.start
    if bpe.guide is None:
        return start
    if bpe.vocabulary.tokenizer.normal_form:
        return None
    first = _guesses_between(guesses, start, NEW_PIECE)
    if len(first) != 1:
        return None
    (guess,) = first
    is_only = _guesses_between(guesses, guess, SAME_PIECE) == first and not _guesses_between(
        guesses, guess, NEW_PIECE
    )
    return guess if is_only else None


def _guesses_between(guesses: Guesses, guess: Guess, mark: int) -> set[Guess]:
    """The bases of the guesses between characters that tokens lead to."""
    visited = [after for after in np.unique(guesses.after(guess, mark)).tolist() if after >= 0]
    return {guesses.base(after) for after in visited if not guesses.is_within(after)}


class RegionCache:
    """The live edges of regions, for one tokenizer; get it by ``RegionCache.of``.

    Raises: VocabularyError for a tokenizer with a feature that is not supported.
    """

    def __init__(self, bpe: Bpe) -> None:
        guess = only_guess(bpe)
        if guess is None:
            does = " and ".join(each for each in bpe.features if each not in _SUPPORTED)
            raise VocabularyError(
                f"{bpe.vocabulary.name} {does}, which Vegas configurations do not support",
                "the method 'proper' does without them",
            )
        self._bpe, self._guess = bpe, guess
        self._guesses = Guesses.of(bpe)
        self._start = self._guesses.start
        self._words = (len(bpe.vocabulary) + 31) // 32
        self._live_edges: dict[object, Live] = {}
        self._walker: Walker | None = None

    @staticmethod
    def of(bpe: Bpe) -> RegionCache:
        """The cache of a tokenizer."""
        return bpe.derived(RegionCache)

    @staticmethod
    def find(dfa: Dfa, bpe: Bpe, starts: Sequence[Guess], limits: Limits) -> Live:
        """``live`` for a constraint (``proper.Finder``).

        The machine after a region is not considered, so every state must be co-accessible by
        canonical tokens. If the vocabulary lacks tokens for bytes of the machine, or the machine
        reads the text of an added token, regions are not used. A separate text, without a prompt,
        has its own start position.
        """
        cache = RegionCache.of(bpe)
        has_all_bytes = used_bytes(dfa.table, dfa.classes) <= bpe.vocabulary.single_bytes
        added = bpe.vocabulary.tokenizer.added
        reads_added = any(_reads(dfa, entry.text) for entry in added)
        if not has_all_bytes or reads_added or (bpe.guide is not None and fold(dfa).raw):
            return live_edges(dfa, bpe, starts, limits)
        is_separate = tuple(starts) == (cache._start,) and cache._start != cache._guess
        return cache.live(dfa, limits, joined=not is_separate)

    def __len__(self) -> int:
        return len(self._live_edges)

    def region(self, region: Region, limits: Limits = LIMITS) -> Live:
        """The live edges of a region, with its states numbered as in its key."""
        cached = self._live_edges.get(region.key)
        if cached is None:
            while len(self._live_edges) >= _MAX_CACHED_REGIONS:
                del self._live_edges[next(iter(self._live_edges))]
            machine = machine_of(region)
            result = live_edges(machine, self._bpe, [self._guess], limits)
            # a walker has buffers for every token: share one between all regions
            self._walker = self._walker or result.walker
            cached = self._live_edges[region.key] = replace(result, walker=self._walker)
        return cached

    def live(self, dfa: Dfa, limits: Limits = LIMITS, joined: bool = False) -> Live:
        """The live edges of a machine; rows of equal regions are the same arrays.

        ``joined``: the text has a prompt.

        Raises: LimitError, as ``live_edges``.
        """
        all_regions = regions(dfa, cuts(dfa, adjacent_bytes(self._bpe), joined))
        each = [(region, self.region(region, limits)) for region in all_regions]
        states = [dfa.initial, *(s for region, _ in each for s in (region.entry, *region.inner))]
        visited = [state for state in dict.fromkeys(states) if state != DEAD]
        number = {state: i for i, state in enumerate(visited)}
        free = dfa.finals[visited].astype(np.uint8)
        parts: list[dict[bool, Edges]] = [{} for _ in visited]
        for region, live in each:
            names = [region.entry, *region.inner]
            for (local, _), number_there in live.positions.items():
                index = number[names[local]]
                # a state inside several regions has the same edges in all of them
                parts[index][local == 0] = _rename_states(
                    live.edges[SAME_PIECE][number_there], names
                )
                free[index] |= local == 0  # a token may always end before a cut
        same_piece_edges = [self._join(list(part.values())) for part in parts]
        # states that only undecided edges lead to have no positions
        positions = {(state, self._guess): i for state, i in number.items() if parts[i]}
        all_edges = same_piece_edges, [_no_edges() for _ in visited]
        live = Live(
            self._bpe, Walker(dfa, self._bpe, limits), positions, all_edges, free, self._words
        )
        return live if joined or self._guess == self._start else self._with_start(live, dfa)

    def _join(self, parts: Sequence[Edges]) -> Edges:
        """The edges of a state, cuts and others; a single row is not copied."""
        if not parts:
            return _no_edges()
        whole, *others = parts
        for other in others:
            row = as_bits(whole.live_tokens, self._words) | as_bits(other.live_tokens, self._words)
            opened = np.concatenate([whole.undecided, other.undecided], axis=1)
            dead = np.concatenate([whole.unproven, other.unproven], axis=1)
            whole = Edges(row, opened, dead, whole.count + other.count)
        return whole

    def _with_start(self, live: Live, dfa: Dfa) -> Live:
        """The same with the start position of a separate text, where every token begins a piece."""
        same_piece = live.edges[SAME_PIECE][live.positions[dfa.initial, self._guess]]
        opened = same_piece.undecided.copy()
        opened[2] = self._guesses.after(self._start, NEW_PIECE)[opened[0]]
        positions = {**live.positions, (dfa.initial, self._start): len(live.free)}
        first = replace(same_piece, undecided=opened)
        all_edges = [*live.edges[SAME_PIECE], _no_edges()], [*live.edges[NEW_PIECE], first]
        return replace(
            live, positions=positions, edges=all_edges, free=np.append(live.free, np.uint8(0))
        )


def _reads(dfa: Dfa, text: bytes) -> bool:
    """Whether a text can be read from some state."""
    states = np.arange(len(dfa))
    for byte in text:
        states = dfa.table[states, dfa.classes[byte]]
        states = states[states != DEAD]
    return len(states) > 0


def _no_edges() -> Edges:
    """No edges."""
    none = np.empty((3, 0), np.int32)
    return Edges(np.empty(0, np.int32), none, none, 0)


def _rename_states(edges: Edges, names: Sequence[State]) -> Edges:
    """The edges of a region with the states of the machine; the row is not copied."""
    opened: Ints = edges.undecided.copy()
    opened[1] = np.array(names, np.int32)[opened[1]]
    return replace(edges, undecided=opened)
