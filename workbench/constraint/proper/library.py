"""Library: the regions of Vegas configurations, their live edges found once for a tokenizer.

In comes a machine; out come its live edges, put together from those of its regions. A region that
was met before, in this machine or another, is not walked again, and its rows are kept once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workbench.automata.dfa import DEAD, Dfa, State
from workbench.automata.fold import fold
from workbench.constraint.marking import used_bytes
from workbench.constraint.proper import judging
from workbench.constraint.proper.edges import Edges, Live
from workbench.constraint.proper.guesses import Guess, Guesses
from workbench.constraint.proper.live import live_edges
from workbench.constraint.proper.tables import ANEW, INSIDE, Ints
from workbench.constraint.proper.vegas import Region, cuts, machine_of, neighbours, regions
from workbench.constraint.proper.walker import Walker
from workbench.errors import VocabularyError
from workbench.limits import LIMITS, Limits
from workbench.vocabulary.bpe.bpe import Bpe

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
