"""Alphabets: sets of code points come in, the coarsest partition that tells them apart goes out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from workbench.automata.utf8 import SURROGATES
from workbench.syntax.ranges import MAX_CODE_POINT
from workbench.syntax.regex.tree import Ranges

#: A set of code points no machine of an alphabet tells apart.
Atom = int


@dataclass(frozen=True, slots=True)
class Alphabet:
    """The code points cut into pieces, each of which belongs to one atom.

    Surrogates are no characters: they count to the piece before them and are never spelled.
    """

    #: The first code point of each piece, from 0 on.
    starts: tuple[int, ...] = (0,)
    #: The atom of each piece; atoms are numbered as they come.
    atoms: tuple[Atom, ...] = (0,)

    @property
    def size(self) -> int:
        """How many atoms there are."""
        return max(self.atoms) + 1

    def atom(self, code: int) -> Atom:
        """The atom a code point is in."""
        return self.atoms[bisect_right(self.starts, code) - 1]

    def uniform(self, low: int, high: int) -> Atom | None:
        """The atom all code points from ``low`` to ``high`` are in; None where they differ."""
        first, last = bisect_right(self.starts, low) - 1, bisect_right(self.starts, high) - 1
        atom = self.atoms[first]
        return atom if all(other == atom for other in self.atoms[first + 1 : last + 1]) else None

    def pieces(self) -> Iterable[tuple[int, int, Atom]]:
        """The first and last code point and the atom of each piece."""
        ends = (*(start - 1 for start in self.starts[1:]), MAX_CODE_POINT)
        return zip(self.starts, ends, self.atoms, strict=True)

    def atoms_of(self, ranges: Ranges) -> tuple[Atom, ...]:
        """The atoms a set consists of; the alphabet has to be fine enough for it."""
        found: set[Atom] = set()
        for low, high in ranges:
            first, last = bisect_right(self.starts, low) - 1, bisect_right(self.starts, high)
            found.update(self.atoms[first:last])
        return tuple(sorted(found))


#: The alphabet that tells nothing apart.
ANY = Alphabet()


def alphabet_of(sets: Iterable[Ranges]) -> Alphabet:
    """The alphabet that tells apart what the sets tell apart, and no more."""
    return _alphabet_of(tuple(dict.fromkeys(sets)))


@lru_cache(maxsize=512)
def _alphabet_of(sets: tuple[Ranges, ...]) -> Alphabet:
    cuts = {0}
    for ranges in sets:
        for low, high in ranges:
            cuts.update((_before_surrogates(low), _before_surrogates(high + 1)))
    starts = sorted(cut for cut in cuts if cut <= MAX_CODE_POINT)
    place = {start: at for at, start in enumerate(starts)}
    marks = [0] * len(starts)
    for number, ranges in enumerate(sets):
        for low, high in ranges:
            first = place[_before_surrogates(low)]
            last = place.get(_before_surrogates(high + 1), len(starts))
            for at in range(first, last):
                marks[at] |= 1 << number
    return _numbered(starts, marks)


def _before_surrogates(code: int) -> int:
    """The same place where no character lies between: surrogates do not make a piece."""
    first, last = SURROGATES
    return last + 1 if first <= code <= last else code


def _numbered(starts: list[int], marks: list[int] | list[tuple[int, int]]) -> Alphabet:
    """Pieces with equal marks are one atom; neighbours of one atom are one piece."""
    numbers: dict[object, Atom] = {}
    atoms = [numbers.setdefault(mark, len(numbers)) for mark in marks]
    kept = [at for at in range(len(atoms)) if at == 0 or atoms[at] != atoms[at - 1]]
    return Alphabet(tuple(starts[at] for at in kept), tuple(atoms[at] for at in kept))


@lru_cache(maxsize=512)
def joint(
    left: Alphabet, right: Alphabet
) -> tuple[Alphabet, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The coarsest alphabet finer than both, and for each of its atoms that of either."""
    starts = sorted({*left.starts, *right.starts})
    pairs = [(left.atom(start), right.atom(start)) for start in starts]
    found = _numbered(starts, pairs)
    behind = list(dict.fromkeys(pairs))
    return (
        found,
        np.array([a for a, _ in behind], np.intp),
        np.array([b for _, b in behind], np.intp),
    )
