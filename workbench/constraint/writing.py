"""Writing: has a closing write its rows, gives it room, and looks at the clock meanwhile.

In come a machine's steps, its wide states and the states whose rows are wanted; out comes a
``Closed``, once all of them are written.
"""

from __future__ import annotations

from functools import cache
from typing import TypeVar

import numpy as np

from workbench.automata.dfa import State
from workbench.constraint.closed import Closed
from workbench.constraint.closing import SMALLEST, TRIED, close
from workbench.constraint.layout import (
    DONE,
    EDGES,
    GROW,
    MAPS,
    NODE,
    PAUSE,
    ROW_COLUMNS,
    SPENT,
    START,
    STAYS,
    STRETCH_COLUMNS,
    STRETCHES,
    SUBTREE,
    Ints,
    Records,
    Room,
    Steps,
    Wide,
    Written,
    nodes_of,
)
from workbench.constraint.wide import WideStates, wide_states
from workbench.limits import Limits
from workbench.vocabulary.trie import Trie

Array = TypeVar("Array", Ints, Records)


#: A new installation compiles for seconds; that is nobody's grammar's doing.
_PATIENT = Limits(seconds=600.0)


@cache
def ready() -> None:
    """Have the kernels compiled before a clock runs: one state, to which every byte leads back."""
    trie = Trie.of([bytes([byte]) for byte in range(256)])
    table, classes = np.zeros(1, np.int32), np.zeros(256, np.uint16)
    table.flags.writeable = classes.flags.writeable = False
    steps, found, writer = Steps(table, 1, classes), WideStates(trie), Writer(trie, 1, _PATIENT)
    for state in wide_states(steps):
        found.add(steps, state)
    writer.write(steps, found.arrays(1), np.zeros(1, np.int32))
    writer.closed(found.arrays(1)).targets(0)


class Writer:
    """Writes rows of one machine; rows never asked for stay empty."""

    def __init__(self, trie: Trie, states: int, limits: Limits) -> None:
        self._trie = trie
        self._nodes = nodes_of(trie)
        self._limits = limits
        self._clock = limits.clock()
        at = np.zeros(SPENT + 1, np.int64)
        at[SUBTREE] = at[NODE] = -1
        rows = np.zeros((states, ROW_COLUMNS), np.int32)
        rows[:, STAYS] = -1
        # the kernel wants room for one row of any size; what it does not touch costs nothing
        self._room = Room(
            rows=rows,
            maps=np.empty(2 * states + 1024, np.int32),
            tallies=np.empty(2 * states + 1024, np.int32),
            edges=np.empty(len(trie) + 4096, np.uint64),
            borrowed=np.empty((len(trie) // SMALLEST + 64, STRETCH_COLUMNS), np.int32),
            at=at,
            path=np.empty(trie.height + 1, np.uint32),
            local=np.full(states, -1, np.int32),
            tried=np.full(TRIED, -1, np.int32),
        )

    def write(self, steps: Steps, wide: Wide, starts: Ints) -> bool:
        """Go on writing the rows of ``starts``; False where a step has to be computed first.

        Raises: LimitError past ``limits.token_edges`` edges stored or ``limits.seconds``.
        """
        at = self._room.at
        while (why := close(steps, self._nodes, wide, starts, self._room)) != DONE:
            self._clock.check()
            if why == GROW:
                return False
            if why == PAUSE:
                at[SPENT] = 0
                self._check(int(at[EDGES]))
            else:
                self._make_room()
        at[START] = 0
        self._check(int(at[EDGES]))
        return True

    def missing(self, steps: Steps) -> tuple[State, int]:
        """The state and the byte class whose step is not known yet."""
        node = int(self._room.at[NODE])
        state = int(self._room.path[self._trie.depth[node]]) // steps.width
        return state, int(steps.classes[self._trie.byte[node]])

    def closed(self, wide: Wide) -> Closed:
        """What is written, in arrays of its own."""
        so_far = self.closed_so_far(wide)
        written = so_far.written
        kept = written._replace(
            maps=written.maps.copy(), edges=written.edges.copy(), borrowed=written.borrowed.copy()
        )
        return Closed(self._trie, kept, so_far.tallies.copy())

    def closed_so_far(self, wide: Wide) -> Closed:
        """What is written, in arrays that go on being written."""
        room, at = self._room, self._room.at
        written = Written(
            rows=room.rows,
            maps=room.maps[: at[MAPS]],
            edges=room.edges[: at[EDGES]],
            borrowed=room.borrowed[: at[STRETCHES]],
            stays=wide.stays,
        )
        return Closed(self._trie, written, room.tallies[: at[MAPS]])

    def grow(self, states: int) -> None:
        """Make room for a machine that has become larger."""
        room, known = self._room, len(self._room.rows)
        if states <= known:
            return
        rows = np.zeros((states, ROW_COLUMNS), np.int32)
        rows[:known], rows[known:, STAYS] = room.rows, -1
        local = np.full(states, -1, np.int32)
        local[:known] = room.local
        self._room = room._replace(rows=rows, local=local)
        self._make_room()

    def _check(self, edges: int) -> None:
        self._limits.check("token_edges", edges, "draw a smaller vocabulary, or a smaller grammar")

    def _make_room(self) -> None:
        room, at = self._room, self._room.at
        self._room = room._replace(
            maps=_longer(room.maps, int(at[MAPS]), len(room.local)),
            tallies=_longer(room.tallies, int(at[MAPS]), len(room.local)),
            edges=_longer(room.edges, int(at[EDGES]), len(self._trie)),
            borrowed=_longer(room.borrowed, int(at[STRETCHES]), len(self._trie) // SMALLEST + 1),
        )


def _longer(array: Array, used: int, wanted: int) -> Array:
    """An array with ``wanted`` places free after the used ones: itself, or one twice as long."""
    if len(array) - used >= wanted:
        return array
    longer = np.empty_like(array, shape=(max(2 * len(array), used + wanted), *array.shape[1:]))
    longer[:used] = array[:used]
    return longer
