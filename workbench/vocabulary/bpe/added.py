"""Added tokens: their texts come in, the automaton of texts cut right around them goes out.

They are cut out of a text before anything else: the leftmost, of several the longest, and on from
its end. So a sequence is right where no added text begins at a byte outside the added tokens it
has, wherever that text ends, and none that is longer begins with one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from workbench.errors import VocabularyError
from workbench.vocabulary.bpe.utf8 import Table

#: Texts that have begun and must not be completed, as what is read of each.
_Begun = frozenset[bytes]


class AddedTable(NamedTuple):
    """The automaton; state 0 is the start.

    Shape: ``bytes`` (S, 256) int16, the state after a byte outside added tokens, ``tokens`` (S, A)
           the state after each added token; −1 where the text would be cut otherwise.
    """

    bytes: Table
    tokens: Table


def added_table(texts: Sequence[bytes], most: int) -> AddedTable:
    """The automaton of some added texts.

    Raises: VocabularyError where it has more than ``most`` states.
    """
    whole = frozenset(texts)
    beginnings = {text[:size] for text in texts for size in range(1, len(text))}
    signs = sorted({byte for text in texts for byte in text})
    numbers: dict[_Begun, int] = {frozenset(): 0}
    table = AddedTable(*(np.zeros((most + 1, width), np.int16) for width in (256, len(texts))))
    for begun in (queue := [frozenset[bytes]()]):
        reads = [(table.bytes, sign, bytes([sign])) for sign in signs]
        reads += [(table.tokens, place, text) for place, text in enumerate(texts)]
        for part, column, read in reads:
            # one byte that is a text is over at once, but not where it stands for the token
            over = part is table.bytes and read in whole
            after = None if over else _after(begun, read, whole, beginnings)
            if after is not None and after not in numbers:
                queue.append(after)
                numbers[after] = len(numbers)
            part[numbers[begun], column] = -1 if after is None else numbers[after]
        if len(numbers) > most:
            raise VocabularyError("the added tokens overlap in too many ways to follow")
    return AddedTable(table.bytes[: len(numbers)].copy(), table.tokens[: len(numbers)].copy())


def _after(begun: _Begun, read: bytes, whole: _Begun, beginnings: set[bytes]) -> _Begun | None:
    """What has begun after some more bytes; None where a text is complete."""
    found = {read} & beginnings
    for beginning in begun:
        for size in range(1, len(read) + 1):
            grown = beginning + read[:size]
            if grown in whole:
                return None
            if grown not in beginnings:
                break
        else:
            found.add(beginning + read)
    return frozenset(found)
