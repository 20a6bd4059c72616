"""Comparison of a peer's masks with ours: counts, examples, exclusions."""

from __future__ import annotations

import numpy as np

from lab.bench.measurements import Masks, compared
from workbench.constraint.masks import TokenMask
from workbench.vocabulary.vocabulary import Vocabulary

WORDS = Vocabulary((b"a", b"b", b"ab", b"<end>"), end=3)


def masks(*allowed: list[int]) -> Masks:
    return np.stack([TokenMask.of(ids, len(WORDS)).bits for ids in allowed])


def test_equal_masks_differ_in_nothing() -> None:
    same = masks([0, 2], [1])
    record = compared(("peer", "1"), "case", WORDS, [0], same, same)
    assert (record.masks, record.expected, record.dropped, record.added) == (2, 2, 0, 0)
    assert record.dropped_examples == ()


def test_dropped_and_added_tokens_are_shown_with_the_text_before() -> None:
    ours, theirs = masks([0, 2], [1], [0]), masks([0, 1], [2], [0])
    record = compared(("peer", "1"), "case", WORDS, [0, 1], ours, theirs)
    assert (record.dropped, record.added) == (2, 2)
    assert record.dropped_examples == (("", "ab"), ("a", "b"))
    assert record.added_examples == (("", "b"), ("a", "ab"))


def test_examples_come_from_different_masks_first() -> None:
    ours, none = masks([0, 1, 2], [0]), masks([], [])
    record = compared(("peer", "1"), "case", WORDS, [0], ours, none)
    assert record.dropped_examples == (("", "a"), ("a", "a"), ("", "b"))


def test_end_token_is_left_out_and_missing_masks_are_counted() -> None:
    record = compared(("peer", "1"), "case", WORDS, [0], masks([0], [3]), masks([0, 3]))
    assert (record.masks, record.expected, record.dropped, record.added) == (1, 2, 0, 0)
