"""Stacks: a rule being read comes in; the calls that led to it, from the start rule on, go out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

from workbench.pushdown.situations import Reading
from workbench.source import Span

#: Ways back that are followed beyond those of the shortest stack.
_SEARCHED = 512


@dataclass(frozen=True, slots=True)
class Frame:
    """A rule that is being read, and where it was called; the start rule: where it is defined."""

    rule: str
    span: Span


Stack = tuple[Frame, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """From a reading back to where the search began: the frames on it."""

    at: Reading
    frame: Span | None
    inner: _Way | None
    length: int


def stacks_of(reading: Reading, root: Reading, defined: Span, most: int) -> Iterator[Stack]:
    """The shortest stacks, at most so many; the outermost rule first. None goes round in circles.

    Cost: that of the shortest one, and a bounded search for more.
    """
    number = 0
    queue = [(reading.depth, number, _Way(reading, None, None, 1))]
    left = reading.depth + _SEARCHED
    while queue and most > 0 and left > 0:
        _, _, way = heappop(queue)
        left -= 1
        if way.at is root:
            most -= 1
            yield _frames(way, defined)
            continue
        for _, caller, call in way.at.callers:
            if not _is_on(way, caller):
                number += 1
                longer = _Way(caller, call.span, way, way.length + 1)
                # of equally short ways those that are nearly done go first
                heappush(queue, (longer.length + caller.depth, -number, longer))


def _is_on(way: _Way, reading: Reading) -> bool:
    """Whether the way has passed a reading.

    Those that began at one place of the text follow one another on a way.
    """
    here: _Way | None = way
    while here is not None and here.at.began == reading.began:
        if here.at is reading:
            return True
        here = here.inner
    return False


def _frames(way: _Way, defined: Span) -> Stack:
    frames = [Frame(way.at.rule, defined)]
    here: _Way | None = way
    while here is not None and here.inner is not None:
        assert here.frame is not None
        frames.append(Frame(here.inner.at.rule, here.frame))
        here = here.inner
    return tuple(frames)
