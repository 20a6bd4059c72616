"""utf8_table(): the class of each character, and nothing that is not UTF-8."""

from __future__ import annotations

import random

import numpy as np
import numpy.typing as npt
import pytest

from workbench.base.errors import VocabularyError
from workbench.vocabulary.tokenization.pretokenizer import DEAD, END, NONE, Table, utf8_table


def some_classes() -> npt.NDArray[np.uint8]:
    of = np.zeros(0x110000, np.uint8)
    of[0x41], of[0xE9], of[0x4E00:0xA000], of[0x20000:0x30000], of[0x10FFFF] = 1, 2, 3, 4, 5
    of[0xD800:0xE000] = NONE
    return of


def read(table: Table, text: bytes) -> list[int] | None:
    """The classes of the characters, or None if a byte cannot be read or a character is incomplete."""
    node, found = 0, []
    for byte in text:
        node = int(table[node, byte])
        if node == DEAD:
            return None
        if node <= END:
            found.append(END - node)
            node = 0
    return found if node == 0 else None


def test_every_kind_of_character_has_its_class() -> None:
    of = some_classes()
    table = utf8_table(of, NONE)
    edges = (0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0x10FFFF)
    for code in (*edges, *range(0, 0xD800, 37), *range(0xE000, 0x110000, 997), 0x41, 0xE9):
        assert read(table, chr(code).encode()) == [of[code]], hex(code)
    assert len(table) < 40


def test_invalid_utf8_is_not_read() -> None:
    table = utf8_table(some_classes(), NONE)
    rng = random.Random(0)
    edges = [0x41, 0x80, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5]
    counts = {True: 0, False: 0}
    for _ in range(20_000):
        text = bytes(rng.choice(edges) for _ in range(rng.randint(1, 5)))
        try:
            is_text = bool(text.decode())
        except UnicodeDecodeError:
            is_text = False
        counts[is_text] += 1
        assert (read(table, text) is not None) == is_text, text
    assert min(counts.values()) > 100


def test_error_too_scattered() -> None:
    of = np.random.default_rng(0).integers(0, 3, 0x110000).astype(np.uint8)
    with pytest.raises(VocabularyError, match="scattered over too many characters"):
        utf8_table(of, NONE)
