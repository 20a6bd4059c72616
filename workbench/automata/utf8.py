"""Code points as bytes: in comes a set of code points, out come UTF-8 byte ranges and machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from workbench.syntax.regex.tree import Ranges

#: One byte range for each byte of a character, in reading order.
ByteSequence = tuple[tuple[int, int], ...]

MAX_CODE_POINT = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)
#: The last code point that fits in one, two, three, four bytes.
_LAST_OF_LENGTH = (0x7F, 0x7FF, 0xFFFF, MAX_CODE_POINT)


def utf8_sequences(low: int, high: int) -> list[ByteSequence]:
    """The UTF-8 encodings of the code points ``low`` to ``high``, as few byte sequences.

    Surrogates are left out. Sequences come sorted and do not overlap.

    Source: the method of R. Cox, "Regular expression matching in the wild" (2010), and of
            Thompson's grep before it: cut where the length or a leading byte changes.
    """
    return [sequence for piece in _without_surrogates(low, high) for sequence in _split(*piece)]


def _without_surrogates(low: int, high: int) -> Iterator[tuple[int, int]]:
    first, last = SURROGATES
    if low < first:
        yield low, min(high, first - 1)
    if high > last:
        yield max(low, last + 1), high


def _split(low: int, high: int) -> Iterator[ByteSequence]:
    """Cut a range until the bytes of its ends, taken place by place, spell all of it."""
    if low > high:
        return
    for last in _LAST_OF_LENGTH:
        if low <= last < high:
            yield from _split(low, last)
            yield from _split(last + 1, high)
            return
    if high > 0x7F:
        for level in range(1, 4):
            tail = (1 << (6 * level)) - 1
            if low & ~tail == high & ~tail:
                break
            if low & tail:
                yield from _split(low, low | tail)
                yield from _split((low | tail) + 1, high)
                return
            if high & tail != tail:
                yield from _split(low, (high & ~tail) - 1)
                yield from _split(high & ~tail, high)
                return
    yield tuple(zip(chr(low).encode(), chr(high).encode(), strict=True))


@dataclass(frozen=True, slots=True)
class CharacterMachine:
    """The smallest machine over bytes that reads exactly one character of a set.

    ``edges[i]`` holds the byte ranges read in node i and the node each leads to. Node 0 is
    the end and reads nothing; the last node is the beginning. A set without members has no
    edges at the beginning.
    """

    edges: tuple[tuple[tuple[int, int, int], ...], ...]


@lru_cache(maxsize=512)
def character_machine(ranges: Ranges) -> CharacterMachine:
    """The machine of a code point set; equal tails are shared, so ``\\w`` has some 250 nodes."""
    sequences = [s for low, high in ranges for s in utf8_sequences(low, high)]
    nodes: dict[tuple[tuple[int, int, int], ...], int] = {(): 0}
    _node(sequences, nodes)
    edges = tuple(nodes)
    return CharacterMachine(edges if len(edges) > 1 else ((), ()))


def _node(sequences: list[ByteSequence], nodes: dict[tuple[tuple[int, int, int], ...], int]) -> int:
    """The node from which exactly these sequences are read, made if there is none like it."""
    edges: list[tuple[int, int, int]] = []
    start = 0
    while start < len(sequences) and sequences[start]:
        lead = sequences[start][0]
        stop = start + 1
        # sorted and disjoint, so sequences that share a leading range stand together
        while stop < len(sequences) and sequences[stop][0] == lead:
            stop += 1
        target = _node([s[1:] for s in sequences[start:stop]], nodes)
        if edges and edges[-1][1] + 1 == lead[0] and edges[-1][2] == target:
            edges[-1] = (edges[-1][0], lead[1], target)
        else:
            edges.append((*lead, target))
        start = stop
    return nodes.setdefault(tuple(edges), len(nodes))
