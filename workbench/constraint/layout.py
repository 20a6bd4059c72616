"""Layout: the arrays a closing writes and ``reading`` tells, column by column.

What comes in (a machine's steps, a trie, its wide states) and what goes out (rows) are tuples of
arrays, as kernels take them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.vocabulary.trie import Trie

Ints = npt.NDArray[np.int32]
Classes = npt.NDArray[np.uint16]
Local = npt.NDArray[np.int8]
Offsets = npt.NDArray[np.uint32]
Records = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]

#: A row: its slices of the maps, of the edges and of the borrowed stretches, the row of ``stays``
#: it shares (or −1), and how many tokens it has.
MAP, MAP_END, EDGE, EDGE_END, BORROWED, BORROWED_END, STAYS, COUNT = range(8)
ROW_COLUMNS = 8
#: A borrowed stretch: the state whose row it is, the nodes, the slice of that row's edges there.
OWNER, FROM, TO, LENT, LENT_END = range(5)
STRETCH_COLUMNS = 5
#: Where the work stands: the number of the start, its subtree and the node there (−1: not begun),
#: what is written of edges, maps and stretches, and how much since the clock was looked at.
START, SUBTREE, NODE, EDGES, MAPS, STRETCHES, SPENT = range(7)
#: Why the kernel came back: all is written; a step has to be computed; the next row may need more
#: room; it is time to look at the clock.
DONE, GROW, ROOM, PAUSE = range(4)


class Steps(NamedTuple):
    """A machine: its flat table (Q · C,) of ``width`` C, and the class of each byte."""

    table: Ints
    width: int
    classes: Classes


class Nodes(NamedTuple):
    """A trie: its packed records (N,), where the tokens of each node begin (N + 1,), its roots."""

    records: Records
    first: Ints
    roots: Ints


class Wide(NamedTuple):
    """The wide states of a machine, numbered j.

    Shape: ``held`` (Q,) is ``j << 8 | member`` for their members, −1 for other states;
           ``members`` (J, M), ``sizes`` (J,) of them; ``loops`` (J,) rows of ``stays`` (L, N);
           ``tallied`` (J, M) how many tokens stay, by the member they end in; what leaves j is
           ``leaving[j]:leaving[j + 1]`` of ``left``, from the members ``left_from``.
    """

    held: Ints
    members: Ints
    sizes: Ints
    loops: Ints
    tallied: Ints
    leaving: Ints
    left: Ints
    left_from: Local
    stays: Local


class Room(NamedTuple):
    """What is written, by state and from the left, and room for one row's paths and states."""

    rows: Ints
    maps: Ints
    tallies: Ints
    edges: Records
    borrowed: Ints
    at: Numbers
    path: Offsets
    local: Ints
    tried: Ints


class _Roots:
    """The first nodes of a trie, remembered with it."""

    def __init__(self) -> None:
        self._nodes: Ints | None = None

    def of(self, trie: Trie) -> Ints:
        if self._nodes is None:
            self._nodes = np.flatnonzero(trie.depth == 0).astype(np.int32)
        return self._nodes


def nodes_of(trie: Trie) -> Nodes:
    """The trie as kernels read it."""
    return Nodes(trie.records, trie.first, trie.shared(_Roots).of(trie))


class Written(NamedTuple):
    """The arrays of a closing; their columns are told in ``closing``.

    Shape: ``rows`` (Q, 8) int32; ``maps`` (M,) int32, states, or ``DEAD`` where a row lacks what
           it would share; ``edges`` (E,) uint64, ``node << 32 | place in the row's map``, sorted
           within a row; ``borrowed`` (B, 5) int32; ``stays`` (L, N) int8, the vocabulary's: the
           place in the map at each node, or −1.
    """

    rows: Ints
    maps: Ints
    edges: Records
    borrowed: Ints
    stays: Local


class Tokens(NamedTuple):
    """The tokens of a trie, those of node n at ``first[n]:first[n + 1]`` of ``ids``."""

    records: Records
    first: Ints
    ids: Ints


class Edges(NamedTuple):
    """Room for edges told, and one more: tokens, and where they lead."""

    ids: Ints
    targets: Ints
