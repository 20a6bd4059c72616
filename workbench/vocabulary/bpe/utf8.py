"""UTF-8: a class for every code point comes in, an automaton over bytes that tells it goes out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.errors import VocabularyError

#: ``table[node, byte]``: the next node, ``DEAD``, or where a character ends ``END`` − its class.
Table = npt.NDArray[np.int16]

DEAD, END = -1, -2
#: Continuation bytes.
_MORE = slice(0x80, 0xC0)


def utf8_table(of: npt.NDArray[np.uint8], none: int) -> Table:
    """The automaton; node 0 stands between characters.

    Equal stretches of 64 and of 4096 code points share a node, so there are some hundred nodes.

    Shape: ``of`` (0x110000,), ``none`` marks code points that end nowhere.
    Raises: VocabularyError where the nodes are too many.
    """
    ends = np.where(of == none, DEAD, END - of.astype(np.int16)).astype(np.int16)
    nodes: dict[bytes, int] = {}
    lowest = _shared(ends, nodes)
    # what fewer bytes spell is not spelt with more
    middle = _shared(np.where(np.arange(len(lowest)) < 0x800 >> 6, DEAD, lowest), nodes)
    highest = _shared(np.where(np.arange(len(middle)) < 0x10000 >> 12, DEAD, middle), nodes)
    if len(nodes) > 4_000:
        raise VocabularyError("the pre-tokenizer's classes are scattered over too many characters")
    table = np.full((len(nodes) + 1, 256), DEAD, np.int16)
    table[0, :0x80] = ends[:0x80]
    table[0, 0xC2:0xE0] = lowest[2:0x20]
    table[0, 0xE0:0xF0] = middle[:0x10]
    table[0, 0xF0:0xF5] = highest[:5]
    for stretch, node in nodes.items():
        table[node, _MORE] = np.frombuffer(stretch, np.int16)
    return table


def _shared(entries: Table, nodes: dict[bytes, int]) -> Table:
    """The node of every 64 entries, the same for equal ones, dead where all of them are."""
    rows = np.pad(entries, (0, -len(entries) % 64), constant_values=DEAD).reshape(-1, 64)
    dead = np.full(64, DEAD, np.int16).tobytes()
    found = [row.tobytes() for row in rows]
    return np.array(
        [DEAD if row == dead else nodes.setdefault(row, len(nodes) + 1) for row in found], np.int16
    )
