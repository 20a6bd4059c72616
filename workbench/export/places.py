"""Tests whether one character always decides how a regex continues."""

from __future__ import annotations

from workbench.syntax.ranges import intersection
from workbench.syntax.regex.tree import Alternate, Characters, Concat, Ranges, Regex, Repeat

#: Of a regex with more places nobody looks whether it would be read well.
_PLACES = 200


class Places:
    """The places of a regex at which a character is read, with those that may come next.

    Source: Glushkov 1961; Brüggemann-Klein & Wood 1998, "One-unambiguous regular languages".
    """

    def __init__(self, regex: Regex) -> None:
        self._sets: list[Ranges] = []
        self._next: list[set[int]] = []
        #: Whether an option of a choice reads nothing: Python's ``re`` would take it at once.
        self._empty_option = False
        skips, self._first, _ = self._read(regex)
        #: Whether no text is empty.
        self.reads_something = not skips

    @property
    def go_one_way(self) -> bool:
        """Whether a character decides how to go on: then ``re`` finds the longest match."""
        if self._empty_option or len(self._sets) > _PLACES:
            return False
        return all(map(self._apart, (self._first, *self._next)))

    def _apart(self, places: set[int]) -> bool:
        order = sorted(places)
        return not any(
            intersection(self._sets[one], self._sets[other])
            for at, one in enumerate(order)
            for other in order[at + 1 :]
        )

    def _read(self, regex: Regex) -> tuple[bool, set[int], set[int]]:
        """Whether a part may read nothing, and the places it may begin and end at."""
        match regex:
            case Characters(ranges):
                self._sets.append(ranges)
                self._next.append(set())
                here = {len(self._sets) - 1}
                return False, here, here
            case Concat(parts):
                empty, first, last = True, set[int](), set[int]()
                for part in parts:
                    may_skip, begins, ends = self._read(part)
                    self._link(last, begins)
                    first = first | begins if empty else first
                    last = last | ends if may_skip else ends
                    empty = empty and may_skip
                return empty, first, last
            case Alternate(options):
                read = [self._read(option) for option in options]
                self._empty_option |= any(skips for skips, _, _ in read)
                firsts = set[int]().union(*(begins for _, begins, _ in read))
                lasts = set[int]().union(*(ends for _, _, ends in read))
                return any(skips for skips, _, _ in read), firsts, lasts
            case Repeat(part, low, high):
                may_skip, begins, ends = self._read(part)
                if high is None or high > 1:
                    self._link(ends, begins)
                return low == 0 or may_skip, begins, ends
            case _:
                raise AssertionError("all that terms are made of")

    def _link(self, ends: set[int], begins: set[int]) -> None:
        for place in ends:
            self._next[place] |= begins
