"""Growing: a ``Room`` in, one with twice as much room out; every number in it stays valid."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from workbench.automata.lazy import UNKNOWN
from workbench.kernel import int64, njit
from workbench.pushdown import room as rooms
from workbench.pushdown.interning import hash_of, mixed
from workbench.pushdown.room import Ints, Longs, Room

_PARENT, _SYMBOL, _FROM, _TO = rooms.PARENT, rooms.SYMBOL, rooms.FROM, rooms.TO

Kind = TypeVar("Kind", bound=np.generic)


def grown(room: Room, full: int) -> Room:
    """Twice as much room where a kernel said it was full."""
    if full == rooms.FULL_NODES:
        nodes = _longer(room.nodes)
        slots = np.full(2 * len(nodes), -1, np.int32)
        _enter_nodes(nodes, slots, int(room.used[rooms.NODES]))
        return room._replace(nodes=nodes, node_slots=slots)
    if full == rooms.FULL_OPENINGS:
        return room._replace(
            openings=_longer(room.openings),
            pushes=_longer(room.pushes),
            groups=_longer(room.groups),
        )
    if full == rooms.FULL_CONFIGURATIONS:
        return room._replace(configurations=_longer(room.configurations))
    if full == rooms.FULL_FOUND:
        return room._replace(found=_longer(room.found))
    table = np.full(2 * len(room.table), UNKNOWN, np.int32)
    table[: len(room.table)] = room.table
    about = _longer(room.about)
    slots = np.full(2 * len(about), -1, np.int32)
    _enter_situations(room.configurations, about, slots, int(room.used[rooms.SITUATIONS]))
    return room._replace(about=about, floors=_longer(room.floors), table=table, slots=slots)


def _longer(array: npt.NDArray[Kind]) -> npt.NDArray[Kind]:
    return np.concatenate([array, np.empty_like(array)])


@njit(cache=True, nogil=True, _nrt=False)
def _enter_nodes(nodes: Ints, slots: Ints, count: int) -> None:
    """Make the first nodes known in a new hash table."""
    for node in range(1, count):
        slot = mixed(int64(nodes[node, _PARENT]) + 1, int64(nodes[node, _SYMBOL])) & (
            len(slots) - 1
        )
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = node


@njit(cache=True, nogil=True, _nrt=False)
def _enter_situations(configurations: Longs, about: Ints, slots: Ints, count: int) -> None:
    """Make the first situations known in a new hash table."""
    for situation in range(count):
        marks = hash_of(
            configurations, int64(about[situation, _FROM]), int64(about[situation, _TO])
        )
        slot = marks & (len(slots) - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = situation
