"""``RowStatus``: what the kernel of mask rows returns."""

from __future__ import annotations

from enum import IntEnum


class RowStatus(IntEnum):
    """What the row kernel returns; it may also return a ``Status`` of the growing machine."""

    #: Done; the row was computed before.
    CACHED = 0
    #: Done; ``bits`` is the row.
    COMPUTED = 1
    #: A self-loop covers the current part of the trie: the loop kernel must compute this part.
    IN_LOOP = 2
    #: So it must for a state that enters a self-loop, …
    ENTERS_LOOP = 3
    #: … for one that may be in a chain, as in a string of bounded length, …
    IN_CHAIN = 4
    #: … and where a configuration loops on more bytes than the whole state does.
    COVERED = 5
    #: The row cache must be enlarged before the call is repeated.
    FULL_ROW_CACHE = -30
