"""Sets of code points or bytes, as sorted disjoint ranges."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

#: Sorted, disjoint, non-adjacent inclusive ranges.
Ranges = tuple[tuple[int, int], ...]

MAX_CODE_POINT = 0x10FFFF
#: Every code point that UTF-8 can encode: all but the surrogates.
ANY_CHARACTER: Ranges = ((0, 0xD7FF), (0xE000, MAX_CODE_POINT))
ANY_BYTE: Ranges = ((0, 0xFF),)


def normalized(pieces: Iterable[tuple[int, int]]) -> Ranges:
    """The ranges sorted, with overlapping and adjacent ranges merged."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pieces):
        if merged and low <= merged[-1][1] + 1:
            if high > merged[-1][1]:
                merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return tuple(merged)


class Gathering:
    """A set to which ranges are added; they are merged meanwhile, so it stays small."""

    #: The most ranges that wait to be merged, if the set itself does not have more.
    _MAX_NEW = 10_000

    def __init__(self) -> None:
        self._merged: Ranges = ()
        self._new: set[tuple[int, int]] = set()

    def add(self, pieces: Iterable[tuple[int, int]]) -> None:
        self._new.update(pieces)
        if len(self._new) > max(self._MAX_NEW, len(self._merged)):
            self._merged, self._new = self.ranges, set()

    @property
    def ranges(self) -> Ranges:
        """The set."""
        return normalized((*self._merged, *self._new)) if self._new else self._merged


def union(*sets: Ranges) -> Ranges:
    """The members of any of the sets."""
    if len(sets) == 1:
        return sets[0]
    return normalized(piece for ranges in sets for piece in ranges)


def intersection(left: Ranges, right: Ranges) -> Ranges:
    """The members of both sets.

    Ranges of the larger set that are inside one of the smaller set are copied together: most
    complements are those of hundreds of ranges in a few.
    """
    few, many = (left, right) if len(left) <= len(right) else (right, left)
    common: list[tuple[int, int]] = []
    for low, high in few:
        begin, end = bisect_left(many, (low,)), bisect_right(many, (high, MAX_CODE_POINT))
        if begin and many[begin - 1][1] >= low:
            begin -= 1
        if begin < end:
            first, last = len(common), end - begin - 1
            common += many[begin:end]
            common[first] = max(common[first][0], low), common[first][1]
            common[first + last] = common[first + last][0], min(common[first + last][1], high)
    return tuple(common)


def difference(left: Ranges, right: Ranges) -> Ranges:
    """The members of the left set that are not in the right one."""
    return intersection(left, _gaps(right))


def symmetric_difference(left: Ranges, right: Ranges) -> Ranges:
    """The members of exactly one of the sets."""
    return union(difference(left, right), difference(right, left))


def contains(ranges: Ranges, member: int) -> bool:
    """Whether a code point or byte is in the set."""
    position = bisect_right(ranges, (member, MAX_CODE_POINT)) - 1
    return position >= 0 and ranges[position][1] >= member


def size(ranges: Ranges) -> int:
    """The number of members of a set."""
    return sum(high - low + 1 for low, high in ranges)


def _gaps(ranges: Ranges) -> Ranges:
    """The complement of a set, from 0 to the last code point, surrogates included."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        if low > start:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= MAX_CODE_POINT:
        gaps.append((start, MAX_CODE_POINT))
    return tuple(gaps)
