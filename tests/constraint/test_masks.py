"""TokenMask: the same set as bits, ids and booleans, and no more memory than it says."""

from __future__ import annotations

import inspect
import tracemalloc
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.constraint.masks import _MAX_RECENT_BYTES, TokenMask

SIZES = st.integers(1, 200)


@given(SIZES.flatmap(lambda size: st.tuples(st.just(size), st.sets(st.integers(0, size - 1)))))
def test_a_mask_is_the_set(made: tuple[int, set[int]]) -> None:
    size, allowed = made
    mask = TokenMask.of(allowed, size)
    for _ in range(2):
        assert mask.ids.tolist() == sorted(allowed) == list(mask)
    assert len(mask) == len(allowed)
    assert np.flatnonzero(mask.bools).tolist() == sorted(allowed)
    assert len(mask.bools) == size
    assert [i in mask for i in range(-1, size + 1)] == [i in allowed for i in range(-1, size + 1)]
    assert mask == TokenMask.of(sorted(allowed), size)
    assert [mask.bits[i >> 5] >> (i & 31) & 1 for i in range(size)] == mask.bools.tolist()


@given(
    SIZES.flatmap(lambda size: st.tuples(st.just(size), *[st.sets(st.integers(0, size - 1))] * 2))
)
def test_without_is_the_difference(made: tuple[int, set[int], set[int]]) -> None:
    size, allowed, removed = made
    mask = TokenMask.of(allowed, size)
    assert mask.without(removed) == TokenMask.of(allowed - removed, size)
    assert mask == TokenMask.of(allowed, size)
    assert (mask.without(removed) is mask) == allowed.isdisjoint(removed)


def test_arrays_are_read_only() -> None:
    for allowed in ([3], range(90)):
        mask = TokenMask.of(allowed, 100)
        assert mask.ids.dtype == np.int32
        assert mask.bools.dtype == np.bool_
        assert not any(array.flags.writeable for array in (mask.bits, mask.ids, mask.bools))


def test_memory_of_masks_whose_ids_were_requested() -> None:
    """Masks of all kinds over 131k tokens: of what is derived, only the ids requested last are kept."""
    size = 131_072
    masks = [TokenMask.of(range(i * 450), size) for i in range(200)]
    tracemalloc.start()
    try:
        for mask in masks:
            assert len(mask.ids) == len(mask) == int(mask.bools.sum())
        # threads of other tests allocate too
        kept = tracemalloc.take_snapshot().filter_traces(
            [tracemalloc.Filter(True, inspect.getfile(TokenMask))]
        )
        derived = sum(one.size for one in kept.traces)
    finally:
        tracemalloc.stop()
    own = sum(mask.ids.nbytes for mask in masks if mask.ids.nbytes <= mask.bits.nbytes)
    assert derived < own + _MAX_RECENT_BYTES + 4 * size
    assert sum(mask.ids.nbytes for mask in masks) > 2 * _MAX_RECENT_BYTES


def test_ids_of_wide_masks_are_those_of_the_mask() -> None:
    left, right = TokenMask.of(range(90), 100), TokenMask.of(range(10, 100), 100)
    for _ in range(3):
        assert left.ids[0] == 0
        assert right.ids[0] == 10
    assert right.ids is right.ids


def test_error_too_few_words() -> None:
    with pytest.raises(ValueError, match="33 tokens need 2 words, not 1"):
        TokenMask(np.zeros(1, np.uint32), 33)


@pytest.mark.parametrize("size", [1, 31, 32, 4_096, 5_000, 131_072])
def test_the_tokens_of_a_mask_in_order_read_by_parts_or_as_a_whole(size: int) -> None:
    chance = Random(size)
    for count in {0, 1, size // 2, size}:
        ids = sorted(chance.sample(range(size), count))
        assert [*TokenMask.of(ids, size)] == ids
